"""Maps of a circle: an angle from section to section of a motion.

If one angle determines all other states at a section, the motion is a map F of a circle, whose lift
counts whole turns. Its rotation number is the mean of F - id. The map is locked at an angle with
F^q = id + p for whole numbers p, q.

S. Das, Y. Saiki, E. Sander, J. A. Yorke, Nonlinearity 30 (2017) 4111: the weighted Birkhoff mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from daesolve.analysis.members import requested_with
from daesolve.analysis.orbits.flight_derivatives import derivatives
from daesolve.analysis.orbits.flow import Flow
from daesolve.analysis.orbits.nodes import Flight, Node, flown
from daesolve.analysis.orbits.tongues import Misses, Tongue, tongue, zeros
from daesolve.analysis.variational import differentiated
from daesolve.core.interruptions import noted_interruptions
from daesolve.core.preparation.examination import starting_point
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.run_options import RunOptions, Source, check_options
from daesolve.core.run.integration.sampling import At, every
from daesolve.core.system.system import System
from daesolve.errors import NotPeriodicError, OutOfRangeError, check_counts, check_names, is_number

MOST = 64
"""The largest denominator of a ratio in the search."""
NEAR = 1e-3
"""The distance, as a fraction of a turn, within which a ratio is tried."""
STEP = 1e-3
"""The first step, as a fraction of the circle, for differentiating the start."""

Start = Callable[..., Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """An angle with F^q = id + p, and the derivative of F^q there."""

    angle: float
    multiplier: float

    @property
    def stable(self) -> bool:
        """Whether nearby angles approach it."""
        return abs(self.multiplier) < 1.0


@dataclass(frozen=True, eq=False)
class RotationNumber:
    """The mean advance of a circle map, in circles per period.

    Parameters
    ----------
    value
        The ratio if the map is locked; otherwise the weighted mean.
    uncertainty
        The difference from the mean over half as many periods; zero if the map is locked.
    ratio
        p and q if the map is locked, otherwise None.
    point
        The angle that repeats if the map is locked.
    """

    value: float
    uncertainty: float
    ratio: tuple[int, int] | None
    point: FixedPoint | None


@dataclass(frozen=True, eq=False)
class CircleMap:
    """The map of an angle over a period. See `circle_map`.

    Parameters
    ----------
    source, options
        The system or case, and its run options.
    start
        Angle and values -> start values and parameters by name.
    angle
        The state that is the angle.
    modulo
        The circumference of the circle.
    period
        The time between visits, s; a function of values if it depends on them.
    values
        Further numbers on which the start depends.
    """

    source: Source
    options: RunOptions
    start: Start
    angle: str
    modulo: float
    period: float | Callable[..., float]
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    _kept: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def at(self, **values: float) -> CircleMap:
        """Return the map with other values."""
        return replace(self, values={**self.values, **values})

    def __call__(self, angle: float, turns: int = 1) -> tuple[float, float]:
        """Return the lift F^n at an angle, and its derivative.

        Raises
        ------
        NotPeriodicError
            The motion ends too early.
        """
        slope = 1.0
        for _ in range(turns):
            angle, factor = self._once(angle)
            slope *= factor
        return angle, slope

    @property
    def seconds(self) -> float:
        """The period, s."""
        return float(self.period(**self.values) if callable(self.period) else self.period)

    def lift(self, angle: float, turns: int = 1) -> float:
        """Return the lift F^n at an angle, without its derivative."""
        for _ in range(turns):
            flight = self._flown(angle)[2]
            index = self.flow.names.index(self.angle)
            angle += float(flight.end.x[index] - flight.start.x[index])
        return angle

    def _flown(self, angle: float) -> tuple[float, Node, Flight]:
        """Return the angle within the circle, its place, and the motion over a period."""
        inside = angle - math.floor(angle / self.modulo) * self.modulo
        node = self._node(inside)
        return inside, node, self.flow.fly(node, self.seconds)

    def _once(self, angle: float) -> tuple[float, float]:
        flow = self.flow
        inside, node, flight = self._flown(angle)
        index = flow.names.index(self.angle)

        def states(beside: float) -> np.ndarray:
            return self._node(beside).x

        along, _ = differentiated(states, inside, STEP * self.modulo)
        slopes = np.zeros((len(node.x) + len(flow.whole.values), 1))
        slopes[: len(along), 0] = along
        factor = derivatives(flow, flight, slopes).state[index, 0]
        return angle + float(flight.end.x[index] - node.x[index]), float(factor)

    @property
    def flow(self) -> Flow:
        """The motions, prepared once."""
        if "flow" not in self._kept:
            system, request, _ = self._requested(0.3 * self.modulo)
            self._kept["flow"] = Flow(prepare(system, request))
        return self._kept["flow"]

    def _requested(self, angle: float, periods: float = 1.0) -> tuple[System, Request, At]:
        until = (self.options.get("start_time") or 0.0) + periods * self.seconds
        return requested_with(self.source, until, self.start(angle, **self.values), self.options)

    def _node(self, angle: float) -> Node:
        """Return the place at an angle."""
        system, request, _ = self._requested(angle)
        system, request = with_inputs(system, request)
        x, values = starting_point(system.dynamics, request)
        flow = self.flow
        p = flow.prepared.values.copy()
        for name, value in values.items():
            if name in system.dynamics.posed_ranges or name in system.dynamics.discrete:
                p[flow.value_names.index(name)] = value
        return flow.with_references(Node(request.start_time, x.state, p))

    # -- means and locks ----------------------------------------------------------------------

    def rotation_number(self, periods: int = 4000, angle: float = 0.0) -> RotationNumber:
        """Return the mean advance in circles per period, exact where the map is locked.

        Parameters
        ----------
        periods
            The number of periods in the mean.
        angle
            The angle at the start.

        Raises
        ------
        OutOfRangeError
            The number of periods is below 16.
        NotPeriodicError
            The motion ends earlier.
        """
        check_counts(16, periods=periods)
        system, request, _ = self._requested(angle, periods)
        run = flown(prepare(system, request), every(self.seconds))
        if run.outcome is not Outcome.COMPLETED:
            raise NotPeriodicError(f"the motion ends earlier: {run.message}")
        advances = np.diff(run.states[self.angle]) / self.modulo
        mean, half = weighted_mean(advances), weighted_mean(advances[: len(advances) // 2])
        locked = self._locked(mean, float(run.states[self.angle][-1]))
        if locked is not None:
            (p, q), point = locked
            return RotationNumber(p / q, 0.0, (p, q), point)
        return RotationNumber(mean, abs(mean - half), None, None)

    def _locked(self, mean: float, last: float) -> tuple[tuple[int, int], FixedPoint] | None:
        """Return the ratio at which the motion reached a fixed point, if it did."""
        for most in (1, 2, 4, 8, 16, 32, MOST):
            ratio = Fraction(mean).limit_denominator(most)
            p, q = ratio.numerator, ratio.denominator
            if abs(mean - p / q) > NEAR / q:
                continue
            point = self._refined(last % self.modulo, p, q)
            if point is not None:
                return (p, q), point
        return None

    def _refined(self, angle: float, p: int, q: int) -> FixedPoint | None:
        """Return the fixed point that Newton's method finds close to an angle."""
        first = angle
        for _ in range(12):
            reached, slope = self(angle, q)
            miss = reached - angle - p * self.modulo
            if slope == 1.0 or abs(angle - first) > 0.05 * self.modulo:
                return None
            step = -miss / (slope - 1.0)
            angle += step
            if abs(step) <= 1e-13 * self.modulo:
                return FixedPoint(angle % self.modulo, slope)
        return None

    def fixed_points(self, ratio: tuple[int, int]) -> tuple[FixedPoint, ...]:
        """Return the angles with F^q = id + p, for p and q, in order; none if not locked.

        Raises
        ------
        OutOfRangeError
            The ratio is not a pair of whole numbers.
        NotPeriodicError
            The motion does not continue from any angle.
        """
        p, q = _ratio(ratio)
        angles = zeros(self._misses(p, q), self.modulo)
        return tuple(FixedPoint(angle, self(angle, q)[1]) for angle in angles)

    def _misses(self, p: int, q: int) -> Misses:
        """Return F^q - id - p as a function of the angle."""
        return lambda angle: self.lift(angle, q) - angle - p * self.modulo

    def tongue(self, over: Mapping[str, tuple[float, float]], ratio: tuple[int, int]) -> Tongue:
        """Return the range in which the map is locked at a ratio.

        Parameters
        ----------
        over
            The name of one of the values and its range; the map must not be locked at the ends.
        ratio
            p and q, for p circles in q periods.

        Raises
        ------
        OutOfRangeError
            The ratio or the range is invalid, or the tongue does not lie inside the range.
        """
        p, q = _ratio(ratio)
        name, (low, high) = next(iter(over.items()))
        check_names("value of the start", [name], tuple(self.values))
        refined = self.flow.solved_by(self.flow.prepared.solver.refined())
        exact = replace(self, _kept={"flow": refined})
        return tongue(
            lambda value: self.at(**{name: value})._misses(p, q),
            lambda value: exact.at(**{name: value})._misses(p, q),
            self.modulo,
            (name, float(low), float(high)),
            (p, q),
        )


@noted_interruptions()
def circle_map(
    source: Source,
    start: Start,
    angle: str,
    *,
    modulo: float = 2.0 * math.pi,
    period: float | Callable[..., float],
    values: Mapping[str, float] | None = None,
    **options: Unpack[RunOptions],
) -> CircleMap:
    """Return the map of an angle over one period of a motion.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    start
        A function of the angle, and of `values` by name, that returns the start values and
        parameters by name.
    angle
        The name of the state that is the angle.
    modulo
        The circumference of the circle, after which everything repeats.
    period
        The time after which all other states depend on the angle in the same way, s; a function of
        `values` by name if it depends on them.
    values
        Numbers on which the start depends; `tongue` varies one of them.
    **options
        See `RunOptions`.

    Raises
    ------
    OutOfRangeError, UnknownNameError
        A number is out of range, or a name is unknown.

    Examples
    --------
    An angle with the rate 1 + sin(theta) / 2 has the mean rate sqrt(3) / 2:

    >>> import casadi as ca
    >>> import math
    >>> import daesolve as ds
    >>> x = ds.states(theta="rad")
    >>> system = ds.ControlSystem(x, {"theta": 1.0 + ca.sin(x.theta) / 2})
    >>> circle = ds.analysis.circle_map(
    ...     system, lambda theta: {"theta": theta}, "theta", period=2 * math.pi
    ... )
    >>> found = circle.rotation_number(400)
    >>> abs(found.value - math.sqrt(3) / 2) < 1e-11
    True
    """
    check_options("circle_map", options, {"at": "it samples after each period", "inputs": "none"})
    if not is_number(modulo) or not modulo > 0.0:
        raise OutOfRangeError(f"modulo is {modulo!r}, but must be a positive number")
    circle = CircleMap(source, options, start, angle, float(modulo), period, dict(values or {}))
    names = circle.flow.names
    check_names("state", [angle], names)
    return circle


def weighted_mean(advances: np.ndarray) -> float:
    """Return the Birkhoff mean with a weight that vanishes with all derivatives at the ends."""
    count = len(advances)
    t = (np.arange(count) + 1.0) / (count + 1.0)
    weights = np.exp(-1.0 / (t * (1.0 - t)))
    return float(weights @ advances / np.sum(weights))


def _ratio(ratio: tuple[int, int]) -> tuple[int, int]:
    if not (
        isinstance(ratio, tuple)
        and len(ratio) == 2
        and all(isinstance(n, int) and not isinstance(n, bool) for n in ratio)
        and ratio[1] >= 1
    ):
        raise OutOfRangeError(f"the ratio is {ratio!r}, but must be a pair of whole numbers (p, q)")
    return ratio
