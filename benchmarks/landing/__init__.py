"""Model files that land, by daesolve and by MuJoCo."""
