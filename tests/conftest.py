"""What tests are spared on a machine without heyoka, whose wheels are for Linux alone.

What asks for heyoka by name meets the library's refusal, and what asks it for ground truth that of
the stand-in below; both are skipped for that, not failed. So is what `needs_heyoka.txt` lists: a
line that is no longer needed there is found by ``DAESOLVE_CHECK_NEEDS_HEYOKA=1``. With
``DAESOLVE_REQUIRE_HEYOKA=1`` none is skipped. On Windows, tests that send signals which it does not
have are skipped.
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

from daesolve.errors import MissingBackendError
from daesolve.preparation import lately

# It finds out by itself that heyoka is missing, before the stand-in is there.
from daesolve.solvers.heyoka_code import hy

# What is tested is what is prepared now; tests of what is kept say where.
os.environ["DAESOLVE_CACHE"] = "off"

WITHOUT_HEYOKA = hy is None and "DAESOLVE_REQUIRE_HEYOKA" not in os.environ
WINDOWS = sys.platform == "win32"
REASON = "heyoka is not installed"
CHECK_LIST = "DAESOLVE_CHECK_NEEDS_HEYOKA"
NEEDS_HEYOKA = Path(__file__).with_name("needs_heyoka.txt")


class _Absent(ModuleType):
    """Stands for heyoka, so that a module which needs it in some of its functions is imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ModuleNotFoundError(REASON, name="heyoka")


if WITHOUT_HEYOKA:
    sys.modules["heyoka"] = _Absent("heyoka")


def needs_heyoka() -> tuple[str, ...]:
    """Return what is skipped without heyoka: `cli/test_x.py::test_y`, or all of `cli/test_x.py`."""
    lines = NEEDS_HEYOKA.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only the files that have a core test where nothing but the core is asked for."""
    if config.option.markexpr == "core" and collection_path.match("test_*.py"):
        return "mark.core" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Skip what is listed: a file, or a test with all its parameters or with one, as `test_x[a]`.

    To check the list (``DAESOLVE_CHECK_NEEDS_HEYOKA=1``) it runs, and a test that passes fails.
    """
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
    """Take modules and collected tests out of garbage collections, a tenth of the time of tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, Any, pytest.CollectReport]:
    """Skip a module that asks heyoka when it is imported."""
    report = yield
    if report.failed and (reason := _missing(report.call.excinfo)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that asks for what is missing, itself or by a fixture."""
    report = yield
    if report.failed and (reason := _missing(call.excinfo)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, reason)
    return report


def _missing(excinfo: pytest.ExceptionInfo[BaseException] | None) -> str:
    """Return why a test or a module could not go on here; nothing where it failed."""
    for error in _chain(None if excinfo is None else excinfo.value):
        match error:
            case ModuleNotFoundError(name="heyoka") if WITHOUT_HEYOKA:
                return f"Skipped: {REASON}"
            case MissingBackendError() if WITHOUT_HEYOKA and "heyoka" in str(error):
                return f"Skipped: {REASON}"
            case AttributeError(obj=module, name=name) if module is signal and WINDOWS:
                return f"Skipped: there is no signal.{name} here"
            case _:
                pass
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


@pytest.fixture(autouse=True)
def _nothing_prepared_before() -> None:
    """Prepare what a test poses anew: others may have prepared the same with other parts."""
    lately.forget()
