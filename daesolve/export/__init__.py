"""What a CasADi function and its names say, written for others."""
