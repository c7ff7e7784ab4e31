"""The result of a run."""
