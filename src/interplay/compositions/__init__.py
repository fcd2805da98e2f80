"""Compositions that come with Interplay, one file each."""
