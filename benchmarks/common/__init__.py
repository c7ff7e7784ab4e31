"""Shared parts of the benchmarks: options, conditions, timing, processes, errors, tables."""
