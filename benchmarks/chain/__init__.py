"""The planar chain of N rods in several packages; `python -m benchmarks.pendulum_chain --help`."""
