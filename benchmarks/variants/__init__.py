"""Algorithms that find the loaded supports, compared on trains of prisms."""
