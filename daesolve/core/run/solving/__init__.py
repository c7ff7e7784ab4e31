"""`solve`, runs on disk, and the comparison of formulations and solvers."""
