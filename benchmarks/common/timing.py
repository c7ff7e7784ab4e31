"""Timing: wall clock, processor seconds, alternating runs, and parts of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, TypeVar
from unittest.mock import patch

Name = TypeVar("Name")
Result = TypeVar("Result")


def wall_seconds(run: Callable[[], Result]) -> tuple[float, Result]:
    """Return the wall-clock seconds of a function, and its result."""
    begin = time.perf_counter()
    result = run()
    return time.perf_counter() - begin, result


def processor_seconds(run: Callable[[], Result]) -> tuple[float, Result]:
    """Return the processor seconds of a function over all threads, and its result."""
    begin = time.process_time()
    result = run()
    return time.process_time() - begin, result


def least(first: float, again: Callable[[], float], repeats: int, enough: float) -> float:
    """Return the least of several measurements: `repeats` of them, unless they take too long.

    Parameters
    ----------
    first
        s; the first measurement.
    again
        Takes another measurement, s.
    repeats, enough
        Their number, the first included; and the seconds after which further ones stop.
    """
    found = first
    for _ in range(min(repeats - 1, int(enough / max(first, 1e-3)))):
        found = min(found, again())
    return found


def in_turn(runs: Mapping[Name, Callable[[], Result]], repeats: int) -> dict[Name, list[Result]]:
    """Run all functions, then all again, so that a disturbance of the machine affects all alike."""
    found: dict[Name, list[Result]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name].append(run())
    return found


def seconds_in_parts(
    run: Callable[[], object], parts: Mapping[str, tuple[object, str]]
) -> dict[str, float]:
    """Return the processor seconds of a run: in `total`, and in some functions that it calls.

    Parameters
    ----------
    run
        The timed function.
    parts
        A name -> a module or class, and a function in it. If one part calls another, both include
        those seconds; time that a part spends waiting for another thread is excluded.
    """
    found = dict.fromkeys(parts, 0.0)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                found[name] += time.thread_time() - begin

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in parts.items():
            replaced = timed(name, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, replaced))
        total, _ = processor_seconds(run)
    return {"total": total, **found}
