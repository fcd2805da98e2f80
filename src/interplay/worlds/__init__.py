"""Worlds: what becomes of a plan. Each is a file with one class; see ``world`` for what it must do."""
