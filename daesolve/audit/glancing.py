"""A glance at a run: what can be seen at the ends of its accepted steps, whatever it costs little.

The start, the goals and the contacts are held against what was posed at these instants alone, and
between two of them a guard that has changed its sign must have had its event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.audit.certificate import Certificate
from daesolve.audit.expressions import Expressions, UnknownSymbolsError, names_of_states
from daesolve.audit.goals import LEFT, check_goals
from daesolve.audit.passages import posed_events
from daesolve.audit.rounding import ROUNDING, measured
from daesolve.posing.events import Event
from daesolve.trajectory.findings import Audit, Finding, Verdict, judged, unchecked

TURN = 2.0 * np.pi
START = 1e-7
"""The part of its largest value that a state may begin away from where it was asked to."""
PASSED = 1e-9
"""The part of its terms that a guard is away from zero at least where its sign is certain."""
STEPS_OFF = 1e4
"""How many times the accuracy of its steps the guards of other methods may be off."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Instants(Certificate):
    """A run for a glance: n instants, in its order, each with one value of everything.

    Parameters
    ----------
    smooth
        (n,) the number of the stretch between two resets in which an instant lies.
    within
        (n,) whether it is no instant of an event, where what is closed may be about to open.
    turning
        The states of which whole turns were taken out.
    """

    smooth: np.ndarray
    within: np.ndarray
    turning: Sequence[str]

    @property
    def times(self) -> np.ndarray:
        """(n, 1) s."""
        return self.starts[:, None]

    def time_at(self, step: int, node: int) -> float:
        """Return the time of an instant, s."""
        return float(self.starts[step])

    def only(self, chosen: np.ndarray) -> Instants:
        """Return some of the instants."""
        return replace(
            self,
            starts=self.starts[chosen],
            lengths=self.lengths[chosen],
            columns={name: rows[chosen] for name, rows in self.columns.items()},
            values={name: rows[chosen] for name, rows in self.values.items()},
            smooth=self.smooth[chosen],
            within=self.within[chosen],
        )


def glance(run: Instants) -> Audit:
    """Hold what is seen of a run at some instants against what was posed.

    Parameters
    ----------
    run
        The instants.
    """
    if not len(run.starts):
        return Audit((unchecked("run", "", "it took no step"),))
    try:
        along = Expressions(run)
        found = [*_start(run, along), *check_passages(run, along)]
        if run.within.all():
            found += check_goals(run, along)
        elif run.within.any():
            inside = run.only(run.within)
            found += check_goals(inside, Expressions(inside))
    except UnknownSymbolsError as error:
        return Audit((unchecked("run", "", str(error)),))
    return Audit(tuple(found))


def _start(run: Instants, along: Expressions) -> list[Finding]:
    """Check that the run begins as it was asked to."""
    states = set(names_of_states(run.system))
    # What rests has velocities that are rounding of the largest there could be, or nothing.
    rounding = {
        name: (ROUNDING * largest + LEFT) / START
        for vector, largest in zip(along.moving, along.largest, strict=True)
        for name in vector.names
    }
    found: list[Finding] = []
    for name, given in run.given.items():
        if name not in states:
            continue
        begun, asked = float(run.columns[name][0, 0]), float(given)
        off = begun - asked
        if name in run.turning:
            off = float(np.remainder(off + TURN / 2.0, TURN) - TURN / 2.0)
        size = max(run.scale(name, run.columns[name]), abs(asked)) + 1e-300
        size += rounding.get(name, 0.0)
        said = f"{name} begins at {begun:.6g}, not at {asked:.6g}"
        when = float(run.starts[0])
        found.append(judged("start", name, abs(off) / size, START, when, said))
    return found


def check_passages(run: Instants, along: Expressions) -> list[Finding]:
    """Check that guards that have changed their sign had their events.

    A guard that may jump, or has poles, changes its sign elsewhere too.
    """
    if any(not event.listed for event in posed_events(run.system)):
        return [unchecked("event", "", "runs do not list all events")]
    found: list[Finding] = []
    for event in posed_events(run.system):
        guards = enumerate(ca.vertsplit(event.guards))
        named = {f"{event.name}, {place}": guard for place, guard in guards}
        try:
            if not all(along.is_continuous(("sign", key), guard) for key, guard in named.items()):
                found.append(unchecked("event", event.name, "its guard may jump, or has poles"))
                continue
            missed = _missed(run, along, event, named)
        except UnknownSymbolsError as error:
            found.append(unchecked("event", event.name, str(error)))
            continue
        if missed is None:
            found.append(Finding("event", event.name, Verdict.HOLDS))
            continue
        before, after = missed
        said = f"its guard passes zero between t = {before:.6g} s and {after:.6g} s without it"
        found.append(Finding("event", event.name, Verdict.CONTRADICTED, None, before, said))
    return found


def _missed(
    run: Instants, along: Expressions, event: Event, guards: Mapping[str, ca.SX]
) -> tuple[float, float] | None:
    """Return the first two times between which a guard passes without its event; None if none."""
    for place, (key, guard) in enumerate(guards.items()):
        values, sizes, beside = measured(along, ("guard", key), guard)
        least = max(PASSED, STEPS_OFF * run.accuracy) * sizes + beside
        row, zero, changing = values[:, 0], least[:, 0], _changing(run, guard)
        known = np.flatnonzero(np.abs(row) > zero)
        before, after = known[:-1], known[1:]
        turns = np.sign(row[before]) != np.sign(row[after])
        if event.direction.value:
            turns &= np.sign(row[after]) == event.direction.value
        turns &= run.smooth[before] == run.smooth[after]
        turns &= ~np.any(changing[:, before] != changing[:, after], axis=0)
        fired = [e.time for e in run.events if e.name == event.name and place in e.fired]
        own = np.array(fired, dtype=float)
        for k in np.flatnonzero(turns).tolist():
            low, high = sorted((float(run.starts[before[k]]), float(run.starts[after[k]])))
            if not np.any((own >= low) & (own <= high)):
                return float(run.starts[before[k]]), float(run.starts[after[k]])
    return None


def _changing(run: Instants, guard: ca.SX) -> np.ndarray:
    """Return the rows of the values on which a guard depends, (k, n)."""
    used = {symbol.element_hash() for symbol in ca.symvar(guard)}
    known = {n: vector[n] for vector in (run.system.discrete, run.system.inputs) for n in vector}
    names = [n for n in run.values if n in known and known[n].element_hash() in used]
    return np.array([run.values[name] for name in names]).reshape(len(names), len(run.starts))
