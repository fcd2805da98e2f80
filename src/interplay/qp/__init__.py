"""The quadratic program: layout of its variables and rows, fixed sparsity patterns, solvers, relaxation of conflicts."""
