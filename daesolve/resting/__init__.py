"""Rest: whether a body begins to slide, and how it stops."""
