"""The pytest plugin: the fixture `drift`, `--drift-report=DIR` and `--drift-baseline=FILE`.

Loading it costs nothing: daesolve is imported only for the fixture or a baseline. The measurements
of a test travel with its report, so that they also arrive from another process.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from daesolve.reporting.drift_testing import Baseline, DriftTest

TEST: pytest.StashKey[DriftTest] = pytest.StashKey()
BASELINE: pytest.StashKey[Baseline] = pytest.StashKey()
ENTRIES = "daesolve_drift"
"""The attribute of a test's report that holds its measurements."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("daesolve", "drift tests of daesolve")
    group.addoption(
        "--drift-report",
        metavar="DIR",
        help="write drift.html and drift.json: what each use of the fixture 'drift' measured",
    )
    group.addoption(
        "--drift-baseline",
        metavar="FILE",
        help="fail where a drift is more than ten times that of an earlier drift.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Create the directory and read the baseline now, rather than after hours of runs."""
    here = config.invocation_params.dir
    file, directory = config.option.drift_baseline, config.option.drift_report
    if file is not None:
        from daesolve.reporting.drift_testing import DriftError, read_baseline

        try:
            config.stash[BASELINE] = read_baseline(here / file)
        except DriftError as error:
            raise pytest.UsageError(f"--drift-baseline: {error}") from None
    if hasattr(config, "workerinput"):  # a pytest-xdist worker sends its reports elsewhere
        return
    if directory is not None:
        try:
            (here / directory).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(
                f"--drift-report: {directory!r} cannot be made a directory: {error.strerror}"
            ) from None
    config.pluginmanager.register(
        Collector(None if directory is None else here / directory), "daesolve-drift-collector"
    )


@pytest.fixture
def drift(request: pytest.FixtureRequest) -> DriftTest:
    """Run a case of a problem, or a system, and check its drift against limits.

    drift(problem.case("hoop"), until=1800.0, limits={"energy": 1e-12}, accuracy=1e-8)
    returns the trajectory.
    """
    from daesolve.reporting.drift_testing import DriftTest

    node = request.node
    baseline = request.config.stash.get(BASELINE, None)
    node.stash[TEST] = DriftTest(node.nodeid, fail=pytest.fail, baseline=baseline)
    return node.stash[TEST]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the measurements of a test to the last of its reports."""
    report = yield
    if call.when == "teardown" and TEST in item.stash:
        setattr(report, ENTRIES, item.stash[TEST].entries)
        del item.stash[TEST]
    return report


@dataclass(eq=False)  # pytest keeps its plugins in sets
class Collector:
    """The measurements of all tests; printed at the end and written on request."""

    directory: Path | None
    tests: dict[str, Sequence[Mapping[str, Any]]] = field(
        default_factory=dict[str, Sequence[Mapping[str, Any]]]
    )
    written: str = ""

    @property
    def entries(self) -> list[Mapping[str, Any]]:
        """Measurements by test name, because workers finish in any order."""
        return [entry for _, entries in sorted(self.tests.items()) for entry in entries]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect; if a test is repeated, its last run counts."""
        entries = getattr(report, ENTRIES, ())
        if entries:
            self.tests[report.nodeid] = entries

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report."""
        if self.directory is None:
            return
        if not self.tests:
            self.written = "no test used the fixture 'drift': there is no drift report to write"
            return
        from daesolve.reporting.drift_testing import write_report

        try:
            page = write_report(self.directory, self.entries)
        except OSError as error:
            self.written = f"the drift report cannot be written: {error}"
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        else:
            self.written = f"drift report: {page}"

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Print each test's worst drift (with -v), gaps in the baseline, and the report's path."""
        lines: list[str] = []
        if self.tests:
            from daesolve.reporting.drift_testing import summary_lines

            lines = summary_lines(self.entries, verbose=config.get_verbosity() > 0)
        lines += [self.written] if self.written else []
        if lines:
            terminalreporter.section("drift")
            for line in lines:
                terminalreporter.line(line)
