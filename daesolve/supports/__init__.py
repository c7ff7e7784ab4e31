"""Supports with dry friction: which are loaded, which slide, and which stick."""
