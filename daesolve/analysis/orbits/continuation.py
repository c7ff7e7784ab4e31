"""Orbits followed along a parameter or a first integral, from one end to the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from daesolve.analysis.orbits.bordered import Solution
from daesolve.analysis.orbits.branch import Branch, SpecialPoint, special_point
from daesolve.analysis.orbits.branch_ends import rest_point, shrunk_to, turned_round
from daesolve.analysis.orbits.curve import (
    BranchPoint,
    ContinuationAxis,
    Curve,
    CurvePoint,
    moved_start,
)
from daesolve.analysis.orbits.grazing import passing_rates, touching
from daesolve.analysis.orbits.integrals import pinned
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.remarks import NEAR, nearest_degenerate
from daesolve.analysis.orbits.shooting import Guess, shoot
from daesolve.analysis.orbits.special_points import Kind, Tests, crossings, tests_at, verdict_of
from daesolve.analysis.orbits.stored_results import BranchStore, Special
from daesolve.analysis.orbits.switching import hopf_period
from daesolve.analysis.orbits.verification import multiple_of_least
from daesolve.core.interruptions import noted_interruptions
from daesolve.errors import (
    DaesolveError,
    NotPeriodicError,
    OutOfRangeError,
    check_counts,
    check_names,
    is_number,
    unknown_name,
)

FEW, MANY = 3, 6
"""The numbers of corrections up to which the step grows, and from which it shrinks."""
HALVINGS = 36
"""How often a step is halved to locate the end of the branch."""
NARROWED = 20
"""The same, if the period grows."""
LOOKED_BEYOND = 5
"""How often a step is halved before testing whether a further orbit touches a guard."""
WITHIN = 8.0
"""The number of such steps within which it must touch."""
JUST = 1e-6
"""The distance before the touch, relative to the way there, of the orbit shown for it."""
SLOW = 0.3
"""The rate of a guard, relative to the start of the branch, below which it may soon only touch."""
LONG = 20.0
"""The period, relative to the start, beyond which it counts as growing without bound."""
AT_REST = 1e-3
"""The rate of a guard, relative to the start of the branch, below which it only touches."""
GROWN = 3.0
"""The period, relative to the start, beyond which it counts so where the branch ends."""
Progress = Callable[[int, float], None]
"""Called for each point, with the number of points and the value of the varied quantity."""
DETECTED = ("fold", "doubling", "torus", "grazing", "degenerate")


@dataclass(frozen=True)
class Range:
    """The range, the step in scaled unknowns, and the largest number of points."""

    low: float
    high: float
    step: float
    most: int


@noted_interruptions()
def continue_orbit(
    orbit: PeriodicOrbit,
    over: Mapping[str, tuple[float, float]],
    *,
    step: float = 0.02,
    most: int = 400,
    detect: tuple[str, ...] = DETECTED,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Branch:
    """Follow an orbit along a parameter or a first integral.

    Parameters
    ----------
    orbit
        The first orbit.
    over
        The varied quantity and its range: the name of a parameter, a first integral, or a state
        that names a family, with a pair of values. The orbit must lie in the range; it is followed
        to both ends, through folds.
    step
        The longest step, relative to the range and the sizes of the states.
    most
        The largest number of points in one direction.
    detect
        The kinds of special points to detect: "fold", "doubling", "torus", "grazing" and
        "degenerate".
    out
        A directory for the points. An interrupted branch resumes from it, bit for bit.
    progress
        Called after each point with the number of points and the value there.

    Returns
    -------
    Branch
        The points and the special points.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        There is no such name, or the orbit does not lie in the range.
    StorageError
        The directory contains another branch.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(theta="rad")
    >>> gravity = {"kinetic": q.dot.theta**2 / 2, "potential": -9.81 * ca.cos(q.theta)}
    >>> pendulum = ds.MechanicalSystem(q, **gravity)
    >>> guess = {"theta": 1.0, "theta_dot": 0.0}
    >>> orbit = ds.analysis.periodic_orbit(pendulum, guess, 2.2, family={"theta": 1.0})
    >>> branch = ds.analysis.continue_orbit(orbit, over={"theta": (1.0, 2.0)}, step=0.2)
    >>> round(float(branch.points["period"][-1]), 12)
    2.665870942835
    """
    bounds = _range(over, step, most)
    check_names("kind of special point", detect, DETECTED)
    curve, value = _curve(orbit, next(iter(over)), bounds)
    if not bounds.low <= value <= bounds.high:
        raise OutOfRangeError(
            f"the orbit has {curve.axis.name} = {value:.10g}, but must lie in the range from "
            f"{bounds.low:.10g} to {bounds.high:.10g} over which it is followed"
        )
    store = BranchStore(out, curve, bounds.low, bounds.high, step)
    directions: list[_Direction] = []

    def report(value: float) -> None:
        if progress is not None:
            progress(sum(len(direction.entries) for direction in directions), value)

    for sense in (-1.0, 1.0):
        end = bounds.high if sense > 0.0 else bounds.low
        if abs(end - value) > 1e-12 * curve.axis.scale:
            direction = _Direction(curve, bounds, detect, sense, store, report)
            directions.append(direction)
            direction.follow(orbit.found.shot.guess, value)
    return _joined(curve, directions)


def _range(over: Mapping[str, tuple[float, float]], step: float, most: int) -> Range:
    if not isinstance(over, Mapping) or len(over) != 1:
        raise OutOfRangeError(f"over is {over!r}, but must map one name to a pair of values")
    pair = next(iter(over.values()))
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(map(is_number, pair))):
        raise OutOfRangeError(f"the range is {pair!r}, but must be a pair of numbers")
    low, high = sorted(float(value) for value in pair)
    if not low < high:
        raise OutOfRangeError(f"the range is {pair!r}, but must have two ends")
    if not is_number(step) or not 0.0 < step <= 1.0:
        raise OutOfRangeError(f"the step is {step!r}, but must lie between 0 and 1")
    check_counts(1, most=most)
    return Range(low, high, float(step), most)


def _curve(orbit: PeriodicOrbit, name: str, bounds: Range) -> tuple[Curve, float]:
    """Return the curve over the varied quantity, and its value at the orbit."""
    task, first = orbit.task, orbit.found.shot.guess.nodes[0]
    scale = bounds.high - bounds.low
    own = {integral.name: integral for integral in task.integrals}
    family = {integral.name: integral for integral, _ in task.family}
    if name in task.flow.dynamics.posed_ranges:
        if not task.flow.depends_on(name):
            raise OutOfRangeError(
                f"nothing depends on {name!r}: follow the orbit over another parameter"
            )
        axis = ContinuationAxis(name, task.flow.value_names.index(name), None, scale)
        return Curve(task, axis, orbit.found.shot.guess), float(orbit.values[name])
    if name in family:
        integral = family[name]
    elif len(task.family) == 1 and (name in own or name in task.flow.names):
        integral = own.get(name) or pinned(task.flow, name)
        task = replace(task, family=((integral, integral.value(first)),))
    else:
        known = (*task.flow.dynamics.posed_ranges, *own, *family)
        raise unknown_name("parameter or first integral to vary", name, known)
    axis = ContinuationAxis(name, None, integral, scale)
    return Curve(task, axis, orbit.found.shot.guess), integral.value(first)


class _Direction:
    """A branch in one direction."""

    def __init__(
        self,
        curve: Curve,
        bounds: Range,
        detect: tuple[str, ...],
        sense: float,
        store: BranchStore,
        report: Callable[[float], None],
    ) -> None:
        self.curve, self.bounds, self.detect = curve, bounds, detect
        self.sense, self.store, self._report = sense, store, report
        self.entries: list[BranchPoint] = []
        self.special: list[SpecialPoint] = []
        self.end = ""
        self._step = bounds.step / 4.0
        self._period = 0.0
        self._rates: dict[str, float] = {}

    def follow(self, guess: Guess, value: float) -> None:
        """Follow the branch from an orbit until it ends."""
        curve = self.curve
        for entry, special, end in self.store.stored(self.sense):
            self.entries += [] if entry is None else [entry]
            self.special += [special_point(curve, *one) for one in special]
            self.end = end
        if self.end:
            return
        if self.entries:
            last = self.entries[-1]
            self._step = last.step
            self._period = self.entries[0].period
            point = curve.at_value(last.guess, last.value, last.tangent)
            # The stored tangent makes the continuation bit-identical.
            point = replace(point, tangent=last.tangent, shot=replace(point.shot, guess=last.guess))
        else:
            point = curve.at_value(guess, value, self.sense * curve.upward(guess))
            self._period = point.shot.period
            self._keep(point, tests_at(curve, point), [])
        self._rates = rates_of_events(point)
        here = point, tests_at(curve, point)
        while not self.end and len(self.entries) <= self.bounds.most:
            here = self._on(*here)
        if not self.end:
            self.end = (
                f"stopped at {curve.axis.name} = {here[0].value:.10g} after {self.bounds.most} "
                "points: allow more (most), or a longer step"
            )

    def _on(self, point: CurvePoint, tests: Tests) -> tuple[CurvePoint, Tests]:
        """Take one step."""
        curve, step = self.curve, self._step
        with suppress(DaesolveError):
            other = moved_start(curve, point)
            if other is not None:
                point, tests = other, tests_at(curve, other)
        following = self._tried(point, step)
        if self.end:
            return point, tests
        if following is None or self._near_rest(point, following[0]):
            return self._ended(point, tests)
        step, after = following
        if turned_round(curve, point, after):
            self.end = shrunk_to(curve, point, after)
            self.store.add_point(self.sense, None, [], self.end)
            return point, tests
        low, high = self.bounds.low, self.bounds.high
        if not low <= after.value <= high:
            end = min(max(after.value, low), high)
            after = curve.at_value(after.guess, end, after.tangent)
            self.end = f"reached {curve.axis.name} = {end:.10g}{self._of_less(after)}"
        looked = tests_at(curve, after)
        crossed = self._wanted(crossings(curve, (point, tests), (after, looked), step))
        self._step = step
        if after.corrections <= FEW:
            self._step = min(2.0 * step, self.bounds.step)
        elif after.corrections > MANY:
            self._step = step / 2.0
        crossed = [one for one in crossed if low <= one[1].point.value <= high]
        if not self.end and after.shot.period > LONG * self._period:
            self.end = self._unbounded(after)
        self._keep(after, looked, crossed)
        return after, looked

    def _of_less(self, after: CurvePoint) -> str:
        """Describe orbits that go round more often in their period than the first one.

        An example is a branch of doubled orbits that returns to the doubling; no multiplier shows
        this.
        """
        first = self.entries[0]
        shot = shoot(self.curve.task_at(first.value), first.guess)
        begun = multiple_of_least(self.curve.task_at(first.value), shot)
        times = multiple_of_least(self.curve.task_at(after.value), after.shot)
        if times <= begun:
            return ""
        return (
            f", where orbits go round {times} times in this period instead of {begun} times as at "
            "the start: on the way the branch switched to another that it crosses"
        )

    def _tried(self, point: CurvePoint, step: float) -> tuple[float, CurvePoint] | None:
        """Return the accepted step and the point it leads to; None if no step succeeds."""
        longest = self.bounds.step
        while step > longest * 2.0**-HALVINGS:
            after = self._reached(point, step)
            if after is not None:
                return step, after
            if step / 2.0 <= longest * 2.0**-LOOKED_BEYOND < step and self._touches(point, step):
                return None
            step /= 2.0
        return None

    def _touches(self, point: CurvePoint, step: float) -> bool:
        """End the branch if the orbit touches a guard within about a step; True if it does."""
        for name in self._candidates(point, step):
            try:
                touch, other = touching(self.curve, point, name)
            except NotPeriodicError:
                continue
            place = touch.point
            far = self.curve.vector(place.guess, place.value) - self.curve.vector(
                point.guess, point.value
            )
            if not 0.0 <= float(far @ point.tangent) <= WITHIN * step:
                continue
            entry = self._entry(place, tests_at(other, place))
            with suppress(DaesolveError):
                # At the touch, events have no derivative: use the orbit just before it.
                just = place.value + JUST * (point.value - place.value)
                safe = self.curve.at_value(place.guess, just, point.tangent)
                if safe.shot.sequence == point.shot.sequence:
                    entry = replace(
                        self._entry(safe, tests_at(self.curve, safe)), value=place.value
                    )
            self._end_at_touch(name, place.value, entry)
            return True
        return False

    def _end_at_touch(self, name: str, value: float, entry: BranchPoint) -> None:
        self.end = (
            f"the branch ends at {self.curve.axis.name} = {value:.10g}: the orbit touches {name!r}"
        )
        special: Special = [("grazing", entry, name)] if "grazing" in self.detect else []
        self.special += [special_point(self.curve, *one) for one in special]
        self.store.add_point(self.sense, None, special, self.end)

    def _candidates(self, point: CurvePoint, step: float) -> list[str]:
        """Return the events that pass slowly, or a different number of times one step on."""
        rates = rates_of_events(point)
        slow = [name for name, rate in rates.items() if rate < SLOW * self._rates.get(name, 0.0)]
        return list(dict.fromkeys([*slow, *self._appearing(point, step)]))

    def _appearing(self, point: CurvePoint, step: float) -> list[str]:
        """Return the events that occur a different number of times one step along the tangent."""
        try:
            # There may be no orbit beyond: the guess along the tangent shows which events it would
            # meet.
            beyond = self.curve.predicted(point, step)
        except DaesolveError:
            return []
        known = [event for flight in point.shot.flights for event in flight.sequence]
        others = [event for flight in beyond.flights for event in flight.sequence]
        changed = [e for e in (*others, *known) if others.count(e) != known.count(e)]
        return list(dict.fromkeys(event[0] for event in changed))

    def _near_rest(self, point: CurvePoint, step: float) -> bool:
        """Return whether the period grows while steps shrink to zero."""
        grows = point.shot.period > GROWN * self._period
        return grows and step < self.bounds.step * 2.0**-NARROWED

    def _reached(self, point: CurvePoint, step: float) -> CurvePoint | None:
        try:
            return self.curve.onward(point, step)
        except (DaesolveError, np.linalg.LinAlgError):
            return None

    def _wanted(self, solutions: list[tuple[Kind, Solution]]) -> list[tuple[Kind, Solution]]:
        asked = {
            "fold": ("fold", "branch point", "several at once"),
            "doubling": ("period doubling", "symmetry breaking", "several at once"),
            "torus": ("Neimark-Sacker", "Hopf", "neutral saddle", "several at once"),
            "grazing": ("grazing",),
            "degenerate": ("degenerate passage",),
        }
        kinds = {kind for name in self.detect for kind in asked[name]}
        return [one for one in solutions if one[0] in kinds]

    def _ended(self, point: CurvePoint, tests: Tests) -> tuple[CurvePoint, Tests]:
        """Describe how the branch ends if no step succeeds."""
        name, value = self.curve.axis.name, point.value
        special: Special = []
        touched = self._touched(point)
        if point.shot.period > GROWN * self._period:
            self.end = self._unbounded(point)
        elif touched is not None:
            self._end_at_touch(touched, value, self.entries[-1])
            return point, tests
        elif nearest_degenerate(self.curve.task_at(value), point.shot) < NEAR:
            self.end = (
                f"the branch ends at {name} = {value:.10g}: the orbit runs into a degenerate "
                "point, where constraints depend on each other"
            )
            if "degenerate" in self.detect:
                special.append(("degenerate passage", self.entries[-1], ""))
        else:
            self.end = f"the branch ends at {name} = {value:.10g}: no orbit was found beyond it"
        self.special += [special_point(self.curve, *one) for one in special]
        self.store.add_point(self.sense, None, special, self.end)
        return point, tests

    def _touched(self, point: CurvePoint) -> str | None:
        """Return the event that passes at rest at a point, or that appears just beyond it."""
        for name, rate in rates_of_events(point).items():
            if rate < AT_REST * self._rates.get(name, 0.0):
                return name
        step = self.bounds.step * 2.0**-HALVINGS
        beyond = (self._appearing(point, step * 64.0**k) for k in (1, 2, 3))
        return next((names[0] for names in beyond if names), None)

    def _unbounded(self, point: CurvePoint) -> str:
        task = self.curve.task_at(point.value)
        still = rest_point(task, point.shot)
        listed = [] if still is None else [f"{name} = {value:.6g}" for name, value in still.items()]
        where = (
            (f", because the orbit approaches the rest point {', '.join(listed)}") if listed else ""
        )
        return (
            f"the branch ends at {self.curve.axis.name} = {point.value:.7g}: the period grows "
            f"without bounds, to {point.shot.period:.3g} s{where} (a homoclinic orbit)"
        )

    def _keep(self, point: CurvePoint, tests: Tests, special: list[tuple[Kind, Solution]]) -> None:
        found: Special = [
            (kind, self._entry(one.point, tests_at(self.curve, one.point)), self._detail(kind, one))
            for kind, one in special
        ]
        entry = self._entry(point, tests)
        self.entries.append(entry)
        self.special += [special_point(self.curve, *one) for one in found]
        self.store.add_point(self.sense, entry, found, self.end)
        self._report(entry.value)

    def _detail(self, kind: Kind, solution: Solution) -> str:
        if kind == "several at once":
            fewer, more = sorted(map(int, solution.more))
            return (
                f"{fewer} multipliers are outside the unit circle on one side, {more} on the other"
            )
        if kind != "Hopf":
            return ""
        return (
            f"period {hopf_period(self.curve, solution.point.guess, solution.point.value):.12g} s"
        )

    def _entry(self, point: CurvePoint, tests: Tests) -> BranchPoint:
        return BranchPoint(
            value=point.value,
            guess=point.guess,
            tangent=point.tangent,
            step=self._step,
            period=point.shot.period,
            multipliers=tests.spectrum.values,
            verdict=verdict_of(self.curve, point, tests),
        )


def rates_of_events(point: CurvePoint) -> dict[str, float]:
    """Return the least rate at which the guard of each event passes, by name."""
    rates: dict[str, float] = {}
    for flight in point.shot.flights:
        for name, rate in passing_rates(flight):
            rates[name] = min(rate, rates.get(name, math.inf))
    return rates


def _joined(curve: Curve, directions: list[_Direction]) -> Branch:
    """Return the branch from end to end."""
    entries: list[BranchPoint] = []
    special: list[SpecialPoint] = []
    for direction in directions:
        backwards = direction.sense < 0.0
        own, points = direction.entries, direction.special
        entries += list(_reversed(own, backwards)) if not entries else own[1:]
        special += points[::-1] if backwards else points
    ends = tuple(direction.end for direction in directions)
    return Branch(curve.axis, tuple(entries), tuple(special), ends, curve)


def _reversed(entries: list[BranchPoint], backwards: bool) -> Iterator[BranchPoint]:
    for entry in entries[::-1] if backwards else entries:
        yield replace(entry, tangent=-entry.tangent) if backwards else entry
