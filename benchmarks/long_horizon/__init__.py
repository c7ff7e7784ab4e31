"""Motions over 1e5 to 1e7 s; `python -m benchmarks.long_horizon --help`."""
