"""Drift tests: a motion is run, and what is conserved in it is held to limits.

The pytest plugin `daesolve_pytest` gives a `DriftTest` to each test that asks for `drift`.
"""

from daesolve.drift_testing.limits import Baseline, DriftError, read_baseline
from daesolve.drift_testing.messages import summary_lines
from daesolve.drift_testing.page import write_report
from daesolve.drift_testing.testing import DriftTest

__all__ = [
    "Baseline",
    "DriftError",
    "DriftTest",
    "read_baseline",
    "summary_lines",
    "write_report",
]
