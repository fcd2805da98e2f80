"""Captured motion from files, brought to our characters."""
