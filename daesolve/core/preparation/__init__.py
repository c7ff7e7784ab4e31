"""Prepares a request into a run that can start."""
