"""How far a run can be trusted: a second run, a reference, the growth of errors."""
