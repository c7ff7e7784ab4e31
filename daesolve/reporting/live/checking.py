"""Holds the motion of a page against the stored run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.simulation import simulate
from daesolve.errors import DaesolveError
from daesolve.reporting.facts import short
from daesolve.reporting.live.posing import LiveRun
from daesolve.reporting.live.running import Machine
from daesolve.verification.auditor import Auditor
from daesolve.verification.second_preparation import prepare_differently

TOLERANCE = 3e-15
"""Of a step, relative to the size of each state: the method is more exact than rounding."""
TRUSTED = 1e-11
"""How far the end may be from the stored run, relative to the largest value of each state."""


@dataclass(frozen=True)
class Check:
    """The motion of a page against the stored run at a time.

    Parameters
    ----------
    time
        s
    difference
        Relative to the largest value of each state (at least 1); infinite if it ends before.
    worst
        The state that is farthest off.
    repeated
        Where a page cannot be trusted: the same for a second run with another solver instead of
        the page, infinite if that ends before, NaN if there is none.
    """

    time: float
    difference: float
    worst: str
    repeated: float = math.nan

    @property
    def trusted(self) -> bool:
        """Whether the page computes what the run did."""
        return self.difference <= TRUSTED

    @property
    def size(self) -> str:
        """The difference in words."""
        known = math.isfinite(self.difference)
        return (
            f"{short(self.difference, 2)} from the stored run"
            if known
            else "nowhere near the stored run"
        )

    @property
    def own(self) -> str:
        """How far the run itself can be trusted, in a sentence; empty if nobody asked."""
        if math.isnan(self.repeated):
            return ""
        if not math.isfinite(self.repeated):
            return "Repeated with another solver, the run itself ends elsewhere."
        return f"Repeated with another solver, the run itself ends {short(self.repeated, 2)} away."


def checked(live: LiveRun, module: bytes, end: float, count: int) -> tuple[list[Check], np.ndarray]:
    """Hold the motion of a page against the stored run, at the ends of both.

    Parameters
    ----------
    live, module
        The run, and the module of its page.
    end, count
        The end of the page's motion, and its rows.

    Returns
    -------
    tuple
        What was found, that at the end of the page first; and the states there.
    """
    begin, last = live.prepared.start_time, float(live.run.end_time)
    names = [state.name for state in live.states]
    checks: list[Check] = []
    found = np.empty(0)
    with Machine(module) as machine:
        for time in dict.fromkeys([last, end]):
            # To the bit as in the page; beyond its end there are no rows.
            rows = machine.rows((begin, time), count if time == end else 1, TOLERANCE)
            found = rows[-1][1 : 1 + len(names)]
            early = abs(rows[-1][0] - time) > 1e-9 * max(1.0, abs(time))
            own = math.inf if early else None
            checks.append(_check(live, time, dict(zip(names, found.tolist(), strict=True)), own))
    return checks[::-1], found


def _check(live: LiveRun, time: float, found: Mapping[str, float], known: float | None) -> Check:
    difference, worst = _difference(live, time, found)
    check = Check(time, difference if known is None else known, worst)
    return check if check.trusted else replace(check, repeated=_repeated(live, time))


def _difference(live: LiveRun, time: float, found: Mapping[str, float]) -> tuple[float, str]:
    """Return how far states are from those of the run, and which is farthest off."""
    run = live.run
    known = run.end_state if time == run.end_time else run.at(time)
    off = {
        name: abs(value - known[name]) / max(1.0, float(np.nanmax(np.abs(run.states[name]))))
        for name, value in found.items()
    }
    off = {name: value if math.isfinite(value) else math.inf for name, value in off.items()}
    worst = max(off, key=lambda name: off[name])
    return off[worst], worst


def _repeated(live: LiveRun, time: float) -> float:
    """Return how far another solver ends from the run; NaN if none can repeat it."""
    auditor = live.run.auditor
    assert isinstance(auditor, Auditor)
    try:
        other = prepare_differently(replace(auditor.prepared, until=time))
        again = simulate(other, [time])
    except DaesolveError:
        return math.nan
    if again.outcome is not Outcome.COMPLETED and again.end_time != time:
        return math.inf
    names = [state.name for state in live.states]
    return _difference(live, time, {name: again.end_state[name] for name in names})[0]
