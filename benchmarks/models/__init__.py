"""Other authors' model files, which the user supplies; `python -m benchmarks.models --help`."""
