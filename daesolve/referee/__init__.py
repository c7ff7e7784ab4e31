"""The same model file in MuJoCo and in daesolve, from the same start, side by side."""
