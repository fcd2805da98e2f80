"""Spacetime: optimal motions of several characters from short clips (liu2006)."""
