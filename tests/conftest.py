"""Tiers of tests, and what tests skip on a machine without heyoka, which has wheels for Linux only.

Code that requests heyoka by name gets the library's refusal, and code that uses it for ground truth
gets the refusal of the stand-in below; both count as skipped, not failed. The tests listed in
`needs_heyoka.txt` are skipped too; ``DAESOLVE_CHECK_NEEDS_HEYOKA=1`` finds lines there that are no
longer needed. With ``DAESOLVE_REQUIRE_HEYOKA=1`` nothing is skipped. On Windows, tests that send
signals which it lacks are skipped; with ``DAESOLVE_CORE_ALONE=1``, in a copy of the library without
features, those that need a feature.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from daesolve.core.preparation import lately

# It must detect the missing heyoka before the stand-in exists.
from daesolve.core.solvers.heyoka_code import hy
from daesolve.errors import MissingBackendError, UnsupportedError

from . import tiers

# Tests check fresh preparations; tests of kept ones set their own directory.
os.environ["DAESOLVE_CACHE"] = "off"

WITHOUT_HEYOKA = hy is None and "DAESOLVE_REQUIRE_HEYOKA" not in os.environ
WINDOWS = sys.platform == "win32"
ALONE = "DAESOLVE_CORE_ALONE" in os.environ
"""Whether the core is tested without features (`test_floors.py`)."""
FEATURES = ("daesolve.", "daesolve_problems", "tests.")
REASON = "heyoka is not installed"
CHECK_LIST = "DAESOLVE_CHECK_NEEDS_HEYOKA"
NEEDS_HEYOKA = Path(__file__).with_name("needs_heyoka.txt")


class _Absent(ModuleType):
    """Replaces heyoka, so that modules that need it only in some functions can be imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ModuleNotFoundError(REASON, name="heyoka")


if WITHOUT_HEYOKA:
    sys.modules["heyoka"] = _Absent("heyoka")


def needs_heyoka() -> tuple[str, ...]:
    """Return what to skip without heyoka: `cli/test_x.py::test_y`, or all of `cli/test_x.py`."""
    lines = NEEDS_HEYOKA.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only files with a core test if only core tests are requested."""
    if config.option.markexpr == "core" and collection_path.match("test_*.py"):
        return "mark.core" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_configure() -> None:
    """Let tests be interrupted where the process ignores Ctrl-C, as in a shell's background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_cmdline_main(config: pytest.Config) -> None:
    """Give each worker whole files, so that what the tests of a file share is made once."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadfile"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Skip what is listed: a file, or a test with all its parameters or with one, as `test_x[a]`.

    With ``DAESOLVE_CHECK_NEEDS_HEYOKA=1`` they run instead, and a test that passes counts as
    failed.
    """
    tiers.mark_rows(items, whole=_is_whole(config))
    if not WITHOUT_HEYOKA:
        return
    listed = set(needs_heyoka())
    mark = pytest.mark.skip(reason=REASON)
    if CHECK_LIST in os.environ:
        mark = pytest.mark.xfail(reason=REASON, strict=True)
    for item in items:
        path = item.path.relative_to(NEEDS_HEYOKA.parent).as_posix()
        name = f"{path}::{item.name}"
        if listed & {path, name, name.partition("[")[0]}:
            item.add_marker(mark)


def pytest_collection_finish() -> None:
    """Exclude modules and collected tests from garbage collection, a tenth of the time of tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, Any, pytest.CollectReport]:
    """Skip a module that needs heyoka when it is imported."""
    report = yield
    if report.failed and (reason := _missing(report.call.excinfo)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, reason)
    return report


def _is_whole(config: pytest.Config) -> bool:
    """Tell whether all rows of each test are collected, so that their tiers are known."""
    return not any("::" in argument for argument in config.args)


METER = tiers.Meter()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Measure how a test begins."""
    METER.begin()
    with METER.running():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call() -> Generator[None]:
    """Measure what a test runs."""
    with METER.running():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Measure by itself what several tests share."""
    if fixturedef.scope == "function":
        return (yield)
    with METER.sharing(f"the fixture {fixturedef.argname!r}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that requests something missing; fail one that is too slow for its tier."""
    report = yield
    if report.passed and call.when == "call" and _is_whole(item.config):
        excess = METER.excess(tiers.tier_of(item))
        if excess is not None:
            report.outcome, report.longrepr = "failed", excess
    if report.failed and (reason := _missing(call.excinfo)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, reason)
    return report


def _missing(excinfo: pytest.ExceptionInfo[BaseException] | None) -> str:
    """Return why a test or a module could not continue here; None if it failed."""
    for error in _chain(None if excinfo is None else excinfo.value):
        match error:
            case ModuleNotFoundError(name="heyoka") if WITHOUT_HEYOKA:
                return f"Skipped: {REASON}"
            case MissingBackendError() if WITHOUT_HEYOKA and "heyoka" in str(error):
                return f"Skipped: {REASON}"
            case ModuleNotFoundError(name=str(name)) if ALONE and name.startswith(FEATURES):
                return f"Skipped: the core has no {name}"
            case UnsupportedError() if ALONE and "no installed feature" in str(error):
                return f"Skipped: {error}"
            case AttributeError(obj=module, name=name) if module is signal and WINDOWS:
                return f"Skipped: there is no signal.{name} here"
            case _:
                pass
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


@pytest.fixture(autouse=True, scope="module")
def _nothing_prepared_before() -> None:
    """Prepare the systems of a file afresh; its tests share what they prepare."""
    lately.forget()


@pytest.fixture(autouse=True)
def _nothing_prepared_with_replaced_parts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Share nothing with a test that replaces parts of the library."""
    replaces = "monkeypatch" in request.fixturenames
    if replaces:
        lately.forget()
    yield
    if replaces:
        lately.forget()
