"""The core: what every run needs; it imports no feature."""
