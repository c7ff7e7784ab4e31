"""A Gough-Stewart platform in daesolve and in Exudyn; `python -m benchmarks.stewart --help`."""
