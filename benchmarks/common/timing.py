"""How long things take: by the clock, in seconds of the processor, in turn, and in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, TypeVar
from unittest.mock import patch

Name = TypeVar("Name")
Result = TypeVar("Result")


def wall_seconds(run: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds that a function took by the clock, and its result."""
    begin = time.perf_counter()
    result = run()
    return time.perf_counter() - begin, result


def processor_seconds(run: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds that all threads worked for a function, and its result."""
    begin = time.process_time()
    result = run()
    return time.process_time() - begin, result


def least(first: float, again: Callable[[], float], repeats: int, enough: float) -> float:
    """Return the least of some measurements: `repeats` of them, unless they last too long.

    Parameters
    ----------
    first
        s; the one that is known.
    again
        Measures once more, s.
    repeats, enough
        How many, the first among them; and the s after which those that follow it end.
    """
    found = first
    for _ in range(min(repeats - 1, int(enough / max(first, 1e-3)))):
        found = min(found, again())
    return found


def in_turn(runs: Mapping[Name, Callable[[], Result]], repeats: int) -> dict[Name, list[Result]]:
    """Run all, then all again: what disturbs the machine for a while disturbs all alike."""
    found: dict[Name, list[Result]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name].append(run())
    return found


def seconds_in_parts(
    run: Callable[[], object], parts: Mapping[str, tuple[object, str]]
) -> dict[str, float]:
    """Return the processor's seconds of a run: in `total`, and in some functions that it calls.

    Parameters
    ----------
    run
        What is timed.
    parts
        A name -> the module or class, and the function in it. Of one that calls another, the
        seconds are in both; those for which it waits for another thread are not its own.
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
