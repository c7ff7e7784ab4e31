"""What all benchmarks share: options, conditions, timing, processes, errors, tables."""
