"""How far a run can be trusted: the second run, a reference, the growth of errors."""
