"""daesolve beside other packages on the same mechanisms; `python -m benchmarks.peers --help`."""
