"""Which supports are loaded: piecewise linear equations for reactions, and all their solutions."""
