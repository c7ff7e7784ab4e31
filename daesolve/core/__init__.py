"""The core: what every run needs; it knows no feature."""
