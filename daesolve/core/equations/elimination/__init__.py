"""Symbolic elimination of the reactions as straight-line code."""
