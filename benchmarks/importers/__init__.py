"""Which tools simulate an exported unit, and how far from a run of daesolve they end."""
