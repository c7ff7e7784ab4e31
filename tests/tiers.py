"""The tiers of the tests, and the limit of the default one.

A test without a mark belongs to the default tier, and may use two seconds of CPU. The run fails a
test that uses more: make it faster, or mark it ``slow``. ``slow_rows("a", "b")`` marks only these
rows of a parametrised test, by their ids; ``default_rows(6)`` leaves six rows, spread evenly over
a long list, in the default tier, and the others to the slow one.

What a fixture of a wider scope takes does not count for the test that happens to be the first to
need it; the fixture has a limit of its own.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from numba import config as numba_config

import daesolve

LIMIT = 2.0
"""CPU seconds, of a processor that takes `REFERENCE` for the loop."""
SHARED_LIMIT = 5.0
"""CPU seconds of a fixture that several tests share."""
REFERENCE = 0.05
"""CPU seconds of `loop` on the processor on which the tiers were made, with its other core idle."""
UNLIMITED = ("slow", "long")


def mark_slow_rows(items: Sequence[pytest.Item], *, whole: bool) -> None:
    """Mark the rows that their test names as slow, or leaves to the slow tier.

    Parameters
    ----------
    items
        What was collected.
    whole
        Whether all rows of each test were collected, so that a name that no row has is an error.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    stale: dict[str, set[str]] = {}
    for name, rows in tests.items():
        ids = [row.nodeid.partition("[")[2].removesuffix("]") for row in rows]
        slow: set[str] = set()
        if (mark := rows[0].get_closest_marker("slow_rows")) is not None:
            slow |= set(mark.args)
            stale |= {name: slow - set(ids)} if slow - set(ids) else {}
        if whole and (mark := rows[0].get_closest_marker("default_rows")) is not None:
            slow |= set(ids) - set(spread(ids, mark.args[0]))
        for row, identity in zip(rows, ids, strict=True):
            if identity in slow:
                row.add_marker(pytest.mark.slow)
    if whole and stale:
        raise pytest.UsageError(f"slow_rows names rows that these tests do not have: {stale}")


def spread(rows: Sequence[str], count: int) -> list[str]:
    """Return so many rows of a list, spread evenly over it."""
    if count >= len(rows):
        return list(rows)
    return [rows[round(place * (len(rows) - 1) / max(1, count - 1))] for place in range(count)]


class Meter:
    """CPU seconds of the test that runs, without those of shared fixtures."""

    def __init__(self) -> None:
        self.used = 0.0
        self.begun = 0.0
        self.shared: dict[str, float] = {}

    def begin(self) -> None:
        """Begin a test."""
        self.used, self.begun = 0.0, time.time()
        self.shared = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what runs within as the test's."""
        before = cpu_seconds() - sum(self.shared.values())
        try:
            yield
        finally:
            self.used += cpu_seconds() - sum(self.shared.values()) - before

    @contextmanager
    def sharing(self, name: str) -> Iterator[None]:
        """Count what runs within as that of a shared fixture."""
        before = cpu_seconds()
        inner = sum(self.shared.values())
        try:
            yield
        finally:
            inner = sum(self.shared.values()) - inner
            self.shared[name] = cpu_seconds() - before - inner

    def excess(self) -> str | None:
        """Return in a sentence what is over the limit, or None.

        A test during which something was compiled is not judged: what remains compiled on disk
        costs nothing the next time.
        """
        over = {"this test": self.used / LIMIT}
        over |= {name: used / SHARED_LIMIT for name, used in self.shared.items()}
        if max(over.values()) <= 1.0 or compiled_since(self.begun):
            return None
        slowness = max(1.0, loop() / REFERENCE)
        over = {name: part for name, part in over.items() if part > slowness}
        if not over:
            return None
        name = max(over, key=lambda name: over[name])
        limit = LIMIT if name == "this test" else SHARED_LIMIT
        return (
            f"{name} used {over[name] * limit:.1f} CPU seconds, and {slowness * limit:.1f} are "
            "allowed here in the default tier: make it faster, share what it prepares, or mark the "
            "test slow"
        )


def is_limited(item: pytest.Item) -> bool:
    """Tell whether a test belongs to the default tier."""
    return not any(item.get_closest_marker(mark) for mark in UNLIMITED)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the processes that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def loop() -> float:
    """Return the CPU seconds of a fixed loop: what this processor is worth under its load."""
    before = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number & 7
    return time.process_time() - before


def compiled_since(instant: float) -> bool:
    """Tell whether compiled code of the library was written since an instant of `time.time`."""
    return any(folder.stat().st_mtime >= instant for folder in folders_of_compiled_code())


@functools.cache
def folders_of_compiled_code() -> tuple[Path, ...]:
    """Return where Python and numba keep compiled code, and Hypothesis its tables."""
    roots = [Path(".hypothesis", "unicode_data")]
    if numba_config.CACHE_DIR:
        roots.append(Path(numba_config.CACHE_DIR))
    folders = [path for root in roots for path in root.rglob("*") if path.is_dir()]
    return (*Path(daesolve.__file__).parent.rglob("__pycache__"), *folders)
