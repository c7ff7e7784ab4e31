"""Robots with motors, from model files: they land, stand, and are pushed."""
