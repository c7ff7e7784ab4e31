"""Motions that repeat: orbits, limit cycles, and how they lose their stability."""
