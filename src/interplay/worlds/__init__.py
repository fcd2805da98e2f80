"""Worlds: from a solution to the next state."""
