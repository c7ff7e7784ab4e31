"""Four closed loops in daesolve and in MuJoCo; `python -m benchmarks.referee --help`."""
