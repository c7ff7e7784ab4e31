"""Composes systems that nobody thought of, runs them, and holds each run by its audit."""
