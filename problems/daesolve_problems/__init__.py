"""Constrained mechanical systems as plugins of daesolve, one module a family."""
