"""What the cast wants: one file per feature; an objective is a feature's (error, velocity, Jacobian, bias)."""
