"""Motion over time: finite-state machine, conditions, building blocks, live controls."""
