"""What tests are spared on a machine without heyoka, whose wheels are for Linux alone.

- What asks for Taylor's method by name meets the library's refusal, and what asks heyoka for
  ground truth that of the stand-in below; both are skipped for that, not failed.
- What leaves the solver to the library runs with CVODES. Where its bounds hold at the accuracy of
  Taylor's method alone, it is listed in `needs_taylor.txt` and skipped.

A line of that list which is no longer needed is found by ``DAESOLVE_CHECK_NEEDS_TAYLOR=1``.
With ``DAESOLVE_REQUIRE_HEYOKA=1`` none of these is skipped. On Windows, tests that send signals
which it does not have are skipped.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# This imports daesolve, which finds out by itself that heyoka is missing, before the stand-in is.
from daesolve.errors import MissingBackendError
from daesolve.solvers import Taylor

WITHOUT_HEYOKA = find_spec("heyoka") is None and "DAESOLVE_REQUIRE_HEYOKA" not in os.environ
WINDOWS = sys.platform == "win32"
REASON = "heyoka is not installed"
CHECK_LIST = "DAESOLVE_CHECK_NEEDS_TAYLOR"
NEEDS_TAYLOR = Path(__file__).with_name("needs_taylor.txt")


class _Absent(ModuleType):
    """Stands for heyoka, so that a module which needs it in some of its functions is imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ModuleNotFoundError(REASON, name="heyoka")


_checked = Taylor.__post_init__


def _unless_missing(solver: Taylor) -> None:
    with suppress(MissingBackendError):
        _checked(solver)


if WITHOUT_HEYOKA:
    sys.modules["heyoka"] = _Absent("heyoka")

    def _refuse(solver: Taylor, *_: Any, **__: Any) -> None:
        _checked(solver)

    # A solver that a module makes when it is imported, for some of its tests, refuses in those.
    for _method in ("refusal", "configured", "compile", "segment", "refined"):
        setattr(Taylor, _method, _refuse)


def needs_taylor() -> tuple[str, ...]:
    """Return what is skipped without heyoka: `cli/test_x.py::test_y`, or all of `cli/test_x.py`."""
    lines = NEEDS_TAYLOR.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only the files that have a core test where nothing but the core is asked for."""
    if config.option.markexpr == "core" and collection_path.match("test_*.py"):
        return "mark.core" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Skip what is listed, and what has a solver of Taylor's method as its parameter.

    Listed is a file, or a test with all its parameters or with one, as in `test_x[a]`. To check the
    list (``DAESOLVE_CHECK_NEEDS_TAYLOR=1``) all that is listed runs, and a test that passes fails.
    """
    if not WITHOUT_HEYOKA:
        return
    listed = set(needs_taylor())
    mark = pytest.mark.skip(reason=f"needs Taylor's method: {REASON}")
    if CHECK_LIST in os.environ:
        mark = pytest.mark.xfail(reason=f"needs Taylor's method: {REASON}", strict=True)
    for item in items:
        if any(isinstance(value, Taylor) for value in _parameters(item)):
            item.add_marker(pytest.mark.skip(reason=REASON))
        path = item.path.relative_to(NEEDS_TAYLOR.parent).as_posix()
        name = f"{path}::{item.name}"
        if listed & {path, name, name.partition("[")[0]}:
            item.add_marker(mark)


def _parameters(item: pytest.Item) -> Sequence[object]:
    return tuple(item.callspec.params.values()) if hasattr(item, "callspec") else ()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, Any, pytest.CollectReport]:
    """Let a module make Taylor's solver when it is imported; skip one that asks heyoka then."""
    with pytest.MonkeyPatch.context() as patched:
        if WITHOUT_HEYOKA:
            patched.setattr(Taylor, "__post_init__", _unless_missing)
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
            case MissingBackendError() if WITHOUT_HEYOKA and "needs heyoka" in str(error):
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
