"""Drift tests: run a motion, and hold its conserved quantities to limits.

The pytest plugin `daesolve_pytest` gives a `DriftTest` to each test that asks for `drift`.
"""

from daesolve.reporting.drift_testing.baseline import Baseline, DriftError, read_baseline
from daesolve.reporting.drift_testing.drift_report import summary_lines, write_report
from daesolve.reporting.drift_testing.testing import DriftTest

__all__ = [
    "Baseline",
    "DriftError",
    "DriftTest",
    "read_baseline",
    "summary_lines",
    "write_report",
]
