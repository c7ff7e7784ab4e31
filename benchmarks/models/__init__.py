"""Model files of others, given by hand; `python -m benchmarks.models --help`."""
