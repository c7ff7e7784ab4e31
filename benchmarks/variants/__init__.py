"""Algorithms that find which supports are loaded, side by side on trains of prisms."""
