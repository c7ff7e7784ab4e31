"""Tools of those who develop daesolve."""
