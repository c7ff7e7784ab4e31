"""From a request to its result: the loop of a run, and those who call it."""
