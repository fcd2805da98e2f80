"""Mathematics that every room uses: smooth steps, rotations, hulls."""
