"""Tools for developers of daesolve."""
