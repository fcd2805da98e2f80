"""Two hands of an operator, and a character who does what they mean: pushes, carries, lets go (liu2012)."""
