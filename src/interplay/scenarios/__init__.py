"""Scenarios: each in a file of its own, found by itself; they use the public API only."""
