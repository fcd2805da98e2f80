"""Skills that bid for a character, and the supervisor that lets the best one act (faloutsos2001)."""
