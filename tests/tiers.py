"""The tiers of the tests, and their limits.

A test without a mark belongs to the default tier, and may use two seconds of CPU; a ``slow`` one
thirty, a ``long`` one any number. The run fails a test that uses more than twice as much: make it
faster, or move it.
``slow_rows("a", "b")`` and ``long_rows("c")`` mark only these rows of a parametrised test, by their
ids; ``default_rows(6)`` leaves six rows, spread evenly over a long list, in the default tier, and
the others to the slow one; ``long_beyond(20)`` leaves twenty rows in the slow tier in the same way.

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

LIMITS = {"default": 2.0, "slow": 30.0}
"""CPU seconds, of a processor that takes `REFERENCE` for the loop."""
SHARED_LIMITS = {"default": 5.0, "slow": 60.0}
"""CPU seconds of a fixture that several tests share."""
REFERENCE = 0.05
"""CPU seconds of `loop` on the processor on which the tiers were made, with its other core idle."""
NOISE = 2.0
"""What is allowed beyond a limit, so that no run fails by the luck of what runs beside a test."""
TIERS = ("slow", "long")
"""The marks of the tiers but the default one."""
BUSY = 1.25
"""The power of the slowness of the loop, which stays in the nearest cache, that is allowed for: a
busy processor delays what needs memory more."""
PACED = 30.0
"""The seconds after which the speed of the processor is looked at again: a busy one changes it."""
ROWS = {"slow_rows": "slow", "long_rows": "long"}
"""The marks that name rows, and the tier of these."""


def mark_rows(items: Sequence[pytest.Item], *, whole: bool) -> None:
    """Mark the rows that their test names as slow or long, or leaves to these tiers.

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
        if item.get_closest_marker("long"):
            _move(item, "long")
    stale: dict[str, set[str]] = {}
    for name, rows in tests.items():
        ids = {row.nodeid.partition("[")[2].removesuffix("]"): row for row in rows}
        for mark_name, tier in ROWS.items():
            mark = rows[0].get_closest_marker(mark_name)
            named = set(mark.args) if mark else set[str]()
            stale |= {name: named - set(ids)} if named - set(ids) else {}
            for identity in named & set(ids):
                _move(ids.pop(identity), tier)
        if not whole:
            continue
        if (mark := rows[0].get_closest_marker("default_rows")) is not None:
            _move_others([*ids.values()], mark.args[0], "slow")
        if (mark := rows[0].get_closest_marker("long_beyond")) is not None:
            slow = [row for row in ids.values() if tier_of(row) == "slow"]
            _move_others(slow, mark.args[0], "long")
    if whole and stale:
        raise pytest.UsageError(f"rows are named that these tests do not have: {stale}")


def _move(item: pytest.Item, tier: str) -> None:
    """Put a row into a tier, whatever the tier of its test is."""
    item.own_markers = [mark for mark in item.own_markers if mark.name not in TIERS]
    if any(item.get_closest_marker(other) for other in TIERS):
        raise pytest.UsageError(f"mark {item.nodeid} itself, not its file: its rows differ in tier")
    item.add_marker(tier)


def _move_others(rows: Sequence[pytest.Item], count: int, tier: str) -> None:
    """Put rows into a tier but so many of them, which are spread evenly."""
    staying = spread(rows, count)
    for row in rows:
        if row not in staying:
            _move(row, tier)


def spread(rows: Sequence[pytest.Item], count: int) -> list[pytest.Item]:
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
        self.pace = 0.0
        self.paced = -PACED

    def begin(self) -> None:
        """Begin a test; look now and then how fast the processor is."""
        if time.monotonic() - self.paced > PACED:
            self.pace, self.paced = loop(), time.monotonic()
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

    def excess(self, tier: str) -> str | None:
        """Return in a sentence what is over the limit of a tier, or None.

        A test during which something was compiled is not judged: what remains compiled on disk
        costs nothing the next time.
        """
        if tier not in LIMITS:
            return None
        over = {"this test": self.used / LIMITS[tier]}
        over |= {name: used / SHARED_LIMITS[tier] for name, used in self.shared.items()}
        if max(over.values()) <= 1.0 or compiled_since(self.begun):
            return None
        slowness = NOISE * max(1.0, self.pace / REFERENCE, loop() / REFERENCE) ** BUSY
        over = {name: part for name, part in over.items() if part > slowness}
        if not over:
            return None
        name = max(over, key=lambda name: over[name])
        limit = (LIMITS if name == "this test" else SHARED_LIMITS)[tier]
        return (
            f"{name} used {over[name] * limit:.1f} CPU seconds, and {slowness * limit:.1f} are "
            f"allowed here in the {tier} tier: make it faster, share what it prepares, or move it "
            "to the next tier"
        )


def tier_of(item: pytest.Item) -> str:
    """Return the tier to which a test belongs."""
    marks = [mark for mark in ("long", "slow") if item.get_closest_marker(mark)]
    return marks[0] if marks else "default"


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
