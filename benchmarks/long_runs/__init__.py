"""Long runs of the rolling hoop; `python -m benchmarks.long_runs --help`."""
