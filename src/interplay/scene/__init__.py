"""What stands there: composition of placed models, contact surfaces, subsystems, posing, and the terms of one state."""
