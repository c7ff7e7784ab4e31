"""How small deviations from a motion grow: along a run, at a guard, through a reset."""
