"""The events and samples of a recorded run, from boundary to boundary."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.record import Boundary, Happening, RunRecord


def legs_of(record: RunRecord, prepared: Prepared) -> list[list[Happening]]:
    """Return the events at each boundary since the previous one, beginning with the start."""
    sign = 1.0 if prepared.until >= prepared.start_time else -1.0
    pending = list(record.events)
    legs: list[list[Happening]] = []
    for boundary in record.boundaries:
        last = [k for k, event in enumerate(pending) if event.after is boundary]
        count = last[-1] + 1 if last else sum(1 for _ in _passing(pending, sign, boundary.time))
        legs.append(pending[:count])
        pending = pending[count:]
    legs[-1] += pending
    return legs


def _passing(events: Sequence[Happening], sign: float, until: float) -> Iterator[Happening]:
    return itertools.takewhile(
        lambda event: event.after is None and sign * (event.time - until) <= 0.0, events
    )


def samples_of(record: RunRecord, sign: float) -> tuple[list[int], list[int], list[list[int]]]:
    """Return which samples lie before what happens at the start, after it, and in each leg.

    A sample at an event lies in the leg that ends there; one after all that happens at the end of
    the run is in none.
    """
    boundaries, first, last = record.boundaries, record.boundaries[0], record.boundaries[-1]
    before: list[int] = []
    after: list[int] = []
    legs: list[list[int]] = [[] for _ in boundaries[1:]]
    ends = [sign * boundary.time for boundary in boundaries[1:]]
    for k, (time, place) in enumerate(zip(record.sample_times, record.sampled_at, strict=True)):
        if time == first.time:
            (after if _lies_after(place, first) else before).append(k)
        elif place is not last:
            legs[min(bisect.bisect_left(ends, sign * time), len(legs) - 1)].append(k)
    return before, after, legs


def _lies_after(place: Boundary, start: Boundary) -> bool:
    """Return whether a sample at the start shows where the motion begins."""
    return place is start or (place.mode == start.mode and np.array_equal(place.state, start.state))
