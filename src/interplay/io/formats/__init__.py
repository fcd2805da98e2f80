"""Formats: one file each, with its own options; a new one is a new file here that defines ``FORMAT``."""
