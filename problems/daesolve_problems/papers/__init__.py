"""The papers that gave daesolve its first problems, made again: a module each."""
