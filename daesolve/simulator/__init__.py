"""A system that advances step by step from Python, prepared once and saved at will."""
