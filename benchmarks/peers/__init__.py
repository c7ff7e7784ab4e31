"""daesolve and other packages on the same mechanisms; `python -m benchmarks.peers --help`."""
