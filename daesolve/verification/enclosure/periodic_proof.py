"""Proofs that a motion is periodic: one fixed point of the return map in a box.

The map P takes the start to the state one period later, through events. With F(z) = P(z) - z,
Krawczyk's operator z - C F(z) + (I - C F'(Z)) (Z - z) maps a box Z into its interior: then Z
contains exactly one periodic motion. The multipliers are eigenvalues of P'(Z), in discs after
Gershgorin.

Without a drive the period is unknown, too: in z it takes the place of the state that changes
fastest, which keeps its value. The multipliers are then those of the map of this section to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.core.formulations import Feedback
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import with_inputs
from daesolve.core.run.integration.run_options import requested
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.system.system import System
from daesolve.errors import NoProofError, OutOfRangeError, check_names, is_number
from daesolve.verification.enclosure.crossings import NotCertifiedError
from daesolve.verification.enclosure.enclosing import TOLERANCE, Enclosure
from daesolve.verification.enclosure.exact import (
    exact,
    flint,
    from_exact,
    to_exact,
    weighted,
)
from daesolve.verification.enclosure.exact_constants import with_exact_constants
from daesolve.verification.enclosure.expected_events import ExpectedEvent, expected_events
from daesolve.verification.enclosure.interval_matrices import UP, IntervalMatrix
from daesolve.verification.enclosure.state_sets import StateSet

REFINEMENTS = 5
"""Steps of Newton's method towards the fixed point: three are enough from ten digits on."""
CLOSE = 1e-24
"""The distance from the fixed point, relative to the state (at least 1), that is close enough."""
LAST_PART = 1e-3
"""The part of the period that is left for its last step, whose end is no double."""
SINGULAR = 1e12
"""The condition of F' from which it has no inverse."""
FIRST_RADIUS = 1e-20
"""Of the first box that is tried, relative to the state (at least 1)."""


@dataclass(frozen=True, eq=False)
class PeriodicProof:
    """A proof that a box of starts contains exactly one periodic motion.

    Parameters
    ----------
    period
        (3,) the period, s: within the third of the sum of the first two.
    start
        Name -> (centre, offset, radius) of each state at the start.
    free
        The names of the states that determine the others.
    multipliers
        The middles of discs that contain the multipliers, as many as there are free states.
    radii
        Their radii.
    events
        How many events a period has.
    """

    period: tuple[float, float, float]
    start: Mapping[str, tuple[float, float, float]]
    free: tuple[str, ...]
    multipliers: np.ndarray
    radii: np.ndarray
    events: int

    @property
    def stable(self) -> bool | None:
        """Whether it is proved to be stable (True), to be unstable (False), or neither (None)."""
        sizes = np.abs(self.multipliers)
        if np.all(sizes + self.radii < 1.0):
            return True
        # A group of discs apart from the others contains as many multipliers as it has discs.
        return False if self._one_outside() else None

    def _one_outside(self) -> bool:
        outside = np.abs(self.multipliers) - self.radii > 1.0
        apart = np.abs(self.multipliers[outside, None] - self.multipliers[None, ~outside])
        touching = apart <= self.radii[outside, None] + self.radii[None, ~outside]
        return bool(outside.any() and not touching.any())


def prove_periodic(
    system: System,
    initial: Mapping[str, float],
    *,
    frequency: float | str | None = None,
    period: float | None = None,
    turns: int = 1,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> PeriodicProof:
    """Prove that a system has a periodic motion near a start.

    Parameters
    ----------
    system
        A system that depends on time through sines and cosines of multiples of frequency times t.
    initial
        An approximate start on the periodic motion, by the names of states.
    frequency
        The angular frequency of what drives it, rad/s: a number, or the name of the parameter.
    period
        Without a drive, instead: the approximate period, s. The start must not be at an event.
    turns
        The period in turns of the drive, 2 pi/frequency.
    parameters, **options
        As in `solve`.

    Raises
    ------
    NoProofError
        There is no proof; the message says why.
    OutOfRangeError
        The frequency, the period or the number of turns is not positive; or not exactly one of
        frequency and period is given.
    MissingBackendError
        python-flint is not installed.

    Notes
    -----
    That a driven system has this period is taken from you; that one without a drive does not depend
    on time is checked.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(angle="rad")
    >>> force = {"angle": ca.cos(ds.time) - 0.1 * q.dot.angle}
    >>> pendulum = ds.MechanicalSystem(
    ...     q, kinetic=q.dot.angle**2 / 2, potential=-ca.cos(q.angle), force=force
    ... )
    >>> start = {"angle": 2.634272633, "angle_dot": 0.026029423}
    >>> proof = ds.analysis.prove_periodic(pendulum, start, frequency=1.0)
    >>> proof.stable
    False
    """
    flint()
    if not isinstance(turns, int) or turns < 1:
        raise OutOfRangeError(f"turns is {turns!r}, but must be a whole number >= 1")
    given = {**options, "parameters": dict(parameters or {})}
    if (frequency is None) == (period is None):
        raise OutOfRangeError("give either the frequency of the drive or the approximate period")
    if frequency is not None:
        omega = _frequency(system, frequency, given["parameters"])
        exactly = 2 * turns * flint().arb.pi() / exact(omega)
    else:
        if not (is_number(period) and np.isfinite(period) and period > 0.0):
            raise OutOfRangeError(f"the period is {period!r}, but must be a number > 0")
        exactly = exact(float(period))
    request, _ = requested(float(exactly.mid()), dict(initial), given)
    system, request = with_inputs(system, replace(request, formulation=Feedback(), solver=None))
    prepared = prepare(with_exact_constants(system), request)
    try:
        return _proof(prepared, exactly, autonomous=frequency is None)
    except NotCertifiedError as reason:
        raise NoProofError(f"the periodic motion is not proved: {reason}") from None


def _frequency(system: System, given: float | str, parameters: Mapping[str, float]) -> float:
    if isinstance(given, str):
        known = {**system.dynamics.values, **parameters}
        check_names("parameter", [given], known)
        given = known[given]
    if not (is_number(given) and np.isfinite(given) and given > 0.0):
        raise OutOfRangeError(f"the frequency is {given!r}, but must be a number > 0")
    return float(given)


@dataclass(frozen=True, eq=False)
class _Return:
    """The return map at a point: which states are free, how much they miss, and F'^-1 times that.

    `inverse` is an approximate inverse of F'. `kept` is the place among the free states of the one
    for which the period stands in, -1 where the period is known.
    """

    start: StateSet
    period: Any
    events: list[ExpectedEvent]
    free: list[int]
    kept: int
    inverse: np.ndarray
    change: list[Any]

    @property
    def distance(self) -> np.ndarray:
        """How far the fixed point is, about, for each unknown."""
        return np.array([float(abs(change).abs_upper()) for change in self.change])

    @property
    def sizes(self) -> np.ndarray:
        """The sizes of the unknowns, at least 1."""
        sizes = np.abs(self.start.centre[self.free, 0])
        if self.kept >= 0:
            sizes[self.kept] = float(self.period.mid())
        return np.maximum(sizes, 1.0)

    def moved(self) -> tuple[np.ndarray, Any]:
        """Return the start and the period after a step of Newton's method."""
        state, period = self.start.centre.copy(), self.period
        for place, (k, change) in enumerate(zip(self.free, self.change, strict=True)):
            if place == self.kept:
                period = (period - change).mid()
            else:
                state[k] = from_exact(to_exact((*state[k], 0.0)) - change)[:2]
        return state, period


def _proof(prepared: Prepared, period: Any, *, autonomous: bool) -> PeriodicProof:
    until = prepared.start_time + (prepared.until - prepared.start_time) * (1.0 - LAST_PART)
    shorter = replace(prepared, until=until)
    state = np.column_stack([prepared.start.state, np.zeros(len(prepared.start.state))])
    here = _returned(shorter, state, period, autonomous=autonomous)
    for _ in range(REFINEMENTS):
        if np.all(here.distance < CLOSE * here.sizes):
            break
        here = _returned(shorter, *here.moved(), autonomous=autonomous)
    names, free, kept = prepared.problem.labels.states, here.free, here.kept
    radius = np.maximum(10.0 * here.distance, FIRST_RADIUS * here.sizes)
    moving = [place for place in range(len(free)) if place != kept]
    radii = {names[free[place]]: float(radius[place]) for place in moving}
    wide = Enclosure(shorter, here.events, np.empty(0), radii, slope_tolerance=TOLERANCE)
    start, _ = wide.begin((), here.start.centre)
    period = here.period + flint().arb(0, float(radius[kept])) if autonomous else here.period
    end = _after(wide, start, period)
    slopes = end.by_start
    whole = IntervalMatrix(slopes.centre[np.ix_(free, free)], slopes.radius[np.ix_(free, free)])
    unit = IntervalMatrix.exact(np.eye(len(free)))
    change = whole + -unit
    if autonomous:
        rates = _rates(wide, end.box, free)
        change.centre[:, kept], change.radius[:, kept] = rates.centre[:, 0], rates.radius[:, 0]
    rest = unit + -(IntervalMatrix.exact(here.inverse) @ change)
    if not np.all((here.distance + rest.size @ radius) * UP < radius):
        raise NotCertifiedError("the box is not mapped into itself; give a closer start")
    boxes = {name: (b[0], b[1], b[2]) for name, b in zip(names, start.box.tolist(), strict=True)}
    names = tuple(names[free[place]] for place in moving)
    if autonomous:
        whole = _on_section(wide, end.box, whole, (free, kept))
    return PeriodicProof(from_exact(period), boxes, names, *discs(whole), len(here.events))


def _returned(shorter: Prepared, state: np.ndarray, period: Any, *, autonomous: bool) -> _Return:
    """Follow a point for a period."""
    started = replace(shorter, start=replace(shorter.start, state=state[:, 0]))
    events = expected_events(started, simulate_recorded(started)[1])
    point = Enclosure(shorter, events, np.empty(0))
    resets = [event.reset for event in events if event.reset is not None]
    if autonomous and point.equations.depends_on_time(resets):
        raise NotCertifiedError("the system depends on time: give the frequency of its drive")
    start, dependent = point.begin((), state)
    free = [k for k in range(len(state)) if k not in dependent]
    end = _after(point, start, period)
    missed = [to_exact(b) - to_exact(a) for a, b in zip(start.box, end.box, strict=True)]
    slopes = end.by_start.centre[np.ix_(free, free)] - np.eye(len(free))
    kept = -1
    if autonomous:
        rates = _rates(point, end.box, free).centre[:, 0]
        kept = int(np.argmax(np.abs(rates)))
        slopes[:, kept] = rates
    if not np.all(np.isfinite(slopes)) or np.linalg.cond(slopes) > SINGULAR:
        raise NotCertifiedError("a multiplier is one: the motion is not isolated")
    inverse = np.linalg.inv(slopes)
    change = weighted(inverse, [missed[k] for k in free])
    return _Return(start, period, events, free, kept, inverse, change)


def _rates(enclosure: Enclosure, box: np.ndarray, free: list[int]) -> IntervalMatrix:
    """Return the rates of the free states over a box, as a column."""
    rates = enclosure.rates_at(box)
    return IntervalMatrix.of_balls(np.array([from_exact(rates[k]) for k in free])[:, None])


def _on_section(
    enclosure: Enclosure, box: np.ndarray, whole: IntervalMatrix, which: tuple[list[int], int]
) -> IntervalMatrix:
    """Return the derivatives of the map of a section, on which one free state keeps its value."""
    free, kept = which
    rates = enclosure.rates_at(box)
    others = [place for place in range(len(free)) if place != kept]
    rate = rates[free[kept]]
    if rate.contains(0):
        raise NotCertifiedError("the motion may touch its section without passing it")
    shares = np.array([from_exact(rates[free[place]] / rate) for place in others])
    column = IntervalMatrix.of_balls(shares.reshape(-1, 1, 3))
    own = np.ix_(others, others)
    row = IntervalMatrix(
        whole.centre[kept : kept + 1, others], whole.radius[kept : kept + 1, others]
    )
    return IntervalMatrix(whole.centre[own], whole.radius[own]) + -(column @ row)


def _after(enclosure: Enclosure, start: StateSet, period: Any) -> StateSet:
    """Return the set after a period."""
    prepared = enclosure.prepared
    almost = enclosure.follow(start, prepared.until)
    return enclosure.follow_on(almost, exact(prepared.start_time) + period)


def discs(matrix: IntervalMatrix) -> tuple[np.ndarray, np.ndarray]:
    """Return middles and radii of discs that contain the eigenvalues of all matrices in one."""
    _, vectors = np.linalg.eig(matrix.centre)
    inverse = np.linalg.inv(vectors)
    near = _product(_parts(inverse), (matrix, _zero(matrix)))
    turned = _product(near, _parts(vectors))
    unit = _product(_parts(inverse), _parts(vectors))
    off = (unit[0] + IntervalMatrix.exact(-np.eye(len(vectors)))).size + unit[1].size
    norm = float(np.max(np.sum(off, axis=1))) * UP
    if not norm < 1.0:
        return np.diag(turned[0].centre) + 0j, np.full(len(vectors), np.inf)
    size = turned[0].size + turned[1].size
    # Eigenvalues are those of (I + E)^-1 N, which differs from N by at most |E| |N|/(1 - |E|).
    more = norm / (1.0 - norm) * np.max(size, axis=0, keepdims=True)
    middles = np.diag(turned[0].centre) + 1j * np.diag(turned[1].centre)
    spread = (turned[0].radius + turned[1].radius + more) * UP
    beside = size * UP
    np.fill_diagonal(beside, 0.0)
    return middles, (np.sum(beside + spread, axis=1)) * UP


Pair = tuple[IntervalMatrix, IntervalMatrix]
"""Real and imaginary part."""


def _parts(matrix: np.ndarray) -> Pair:
    real, imaginary = np.real(matrix).copy(), np.imag(matrix).copy()
    return IntervalMatrix.exact(real), IntervalMatrix.exact(imaginary)


def _zero(matrix: IntervalMatrix) -> IntervalMatrix:
    return IntervalMatrix.exact(np.zeros_like(matrix.centre))


def _product(a: Pair, b: Pair) -> Pair:
    return (a[0] @ b[0]) + -(a[1] @ b[1]), (a[0] @ b[1]) + (a[1] @ b[0])
