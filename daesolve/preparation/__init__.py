"""From a request to a run that can start."""
