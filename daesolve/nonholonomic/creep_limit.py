"""The limit of stiff creep as its stiffness grows without bound: rolling or Dirac's constraints.

Bodies touch at points whose slips u = B(q) v + b(t, q) are held by forces of stiffness 1/eps. In
the slow motion slips are as small as eps, but so may be their terms B_ki v_i. If w.u is small
compared with its terms, the slip w.u may be neglected: the limit has the rolling constraint w.u =
0. If w.u is as large as its terms, it must not be neglected, however small it is: creep and the
other forces determine the slip, and the limit has Dirac's primary constraint. The paper's condition
for this is that the terms are as small as eps: the columns of B for finite velocities, and the
velocities of the other columns.

The combinations w are principal ones: they make |w.u| / |w.terms| stationary over several states.
The ratios are generalised singular values of two matrices, and their orders in eps describe the
limit.

Source: A. V. Vlakhova, On "non-holonomic motions" of gyroscopic and wheeled systems, Vestnik
Moskovskogo Universiteta, Ser. 1, Mat. Mekh. (2013) no. 5, 67-73, (6)-(10).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from daesolve.core.equations.consistency import start_value
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import NoSlowManifoldError, OutOfRangeError, PosingError
from daesolve.nonholonomic.slow_slips import (
    Slip,
    SlipEquations,
    SlipSample,
    Values,
    check_slips,
    with_creep,
)

Family = Callable[[float], tuple[Values, Values]]
Kind = Literal["rolling", "dirac", "mixed", "none"]

SIZES = tuple(1e-3 / 2**k for k in range(5))
"""The values of eps at which a limit is examined."""
HALF_WAY = 0.25
"""Larger orders count as nonzero: between 0 and 1/2, the smallest order that creep causes."""
TERMS = 1e-10
"""Combinations of slips whose terms are below this share of the largest count as having none."""
VANISHING = 1e-3
"""Weights below this share of the largest go to zero with eps, and are not listed."""
ROUNDING = 1e-11
"""Values up to this share of their size count as rounding, and no slope is fitted to them."""


@dataclass(frozen=True, eq=False)
class PrincipalSlip:
    """A combination of slips, and its size relative to its terms.

    Parameters
    ----------
    weights
        Weights by the names of slips; the largest is 1.
    order
        The order of |w.u| / |w.terms| in eps; infinite if it is zero to rounding.
    share
        |w.u| / |w.terms| at the smallest eps.
    """

    weights: Mapping[str, float]
    order: float
    share: float

    @property
    def kind(self) -> Literal["rolling", "dirac"]:
        """The constraint in the limit: w.u = 0, or Dirac's."""
        return "rolling" if self.order > HALF_WAY else "dirac"


@dataclass(frozen=True, eq=False)
class CreepLimit:
    """The limit of stiff creep at a state.

    Parameters
    ----------
    slips
        The names of the held slips.
    principal
        Independent combinations of the slips, largest share first.
    velocity_orders
        The order of each velocity in the slow motion: 0 if it stays finite, 1 if it is as small as
        eps.
    column_orders
        The order of each entry of B, by slip and velocity; infinite for zeros.
    slip_orders
        The order of each slip in the slow motion.
    fast_orders
        The orders of the rates of the fast motion, one for each independent slip, fastest first.
    reason
        Why there is no limit; empty if there is one.
    """

    slips: tuple[str, ...]
    principal: tuple[PrincipalSlip, ...] = ()
    velocity_orders: Mapping[str, float] = field(default_factory=dict[str, float])
    column_orders: Mapping[str, Mapping[str, float]] = field(
        default_factory=dict[str, Mapping[str, float]]
    )
    slip_orders: Mapping[str, float] = field(default_factory=dict[str, float])
    fast_orders: tuple[float, ...] = ()
    reason: str = ""

    @property
    def kind(self) -> Kind:
        """Rolling or Dirac's if all combinations are, else mixed; none without a slow motion."""
        if not self.principal:
            return "none"
        first = self.principal[0].kind
        return first if all(slip.kind == first for slip in self.principal) else "mixed"

    @property
    def finite(self) -> tuple[str, ...]:
        """The velocities that are largest in the limit."""
        least = min(self.velocity_orders.values(), default=0.0)
        return tuple(n for n, order in self.velocity_orders.items() if order <= least + HALF_WAY)

    def __str__(self) -> str:
        """Return a sentence that describes the limit."""
        listed = ", ".join(self.slips)
        if self.reason:
            return f"stiff creep by {listed} has no limit: {self.reason}"
        named = {"rolling": "rolling", "dirac": "Dirac's constraints", "mixed": "mixed"}
        parts = [
            f"{' + '.join(f'{v:.3g} {n}' for n, v in one.weights.items())} is "
            f"{one.share:.2g} of its terms (order {one.order:.2f}): {one.kind}"
            for one in self.principal
        ]
        return f"the limit of stiff creep by {listed} is {named[self.kind]}; {'; '.join(parts)}"


def creep_limit(
    system: MechanicalSystem,
    slips: Iterable[Slip],
    family: Family,
    *,
    times: Sequence[float] = (0.0,),
    sizes: Sequence[float] = SIZES,
) -> CreepLimit:
    """Decide whether the limit of stiff creep is rolling or has Dirac's constraints.

    Parameters
    ----------
    system
        A system whose goals always hold, as for `small_velocities`; the forces of slips are added
        to it.
    slips
        The slips with creep.
    family
        eps -> (state, parameters) by name, those that differ from zero and from the defaults: how
        stiffness, sizes and the state depend on eps. Give a moving state, because a slip at rest is
        not small compared with anything. Only the slow part of the state counts (positions, and the
        momenta that creep does not change). Nearby states, with all numbers changed by up to half,
        are examined too, each moved to the nearest one that fulfils the goals.
    times
        Instants, s, at which the state is examined: if forces change with time, a combination of
        slips that vanishes at one of them need not vanish at the others.
    sizes
        The values of eps, at least three, falling.

    Returns
    -------
    CreepLimit
        The kind, with its combinations and orders. Orders are logarithmic slopes, without values
        that are zero to rounding.

    Raises
    ------
    PosingError
        The system is of another kind, a slip is not linear in the velocities or contains none of
        them, or nothing holds the slips.
    NoSlowManifoldError
        The fast motion grows, or no slow motion is found.
    UnknownNameError, OutOfRangeError
        A name is unknown, or a number is out of range.

    Examples
    --------
    A pushed body drives a roller by creep: both velocities stay finite, and the limit is rolling.

    >>> import daesolve as ds
    >>> from daesolve.nonholonomic import Slip, creep_limit
    >>> q, p = ds.coordinates(x="m", z="m"), ds.parameters(eps=1.0, column=1.0)
    >>> body = ds.MechanicalSystem(
    ...     q, p, kinetic=(q.dot.x**2 + q.dot.z**2) / 2, force={"x": 1.0}
    ... )
    >>> slip = q.dot.x - p.column * q.dot.z
    >>> held = [Slip("along", slip, -slip / p.eps)]
    >>> moving = {"x_dot": 1.0, "z_dot": 1.0}
    >>> creep_limit(body, held, lambda eps: (moving, {"eps": eps})).kind
    'rolling'
    >>> creep_limit(body, held, lambda eps: (moving, {"eps": eps, "column": eps})).kind
    'dirac'
    """
    given = tuple(slips)
    check_slips(system, given)
    values, instants = _checked_sizes(sizes), _checked_times(times)
    equations = SlipEquations(with_creep(system, given, given), given)
    at = [equations.seen(*family(eps), instants) for eps in values]
    return _limit(given, equations.names, values, at)


def creep_limits(
    system: MechanicalSystem,
    slips: Iterable[Slip],
    family: Family,
    *,
    times: Sequence[float] = (0.0,),
    sizes: Sequence[float] = SIZES,
) -> dict[tuple[str, ...], CreepLimit]:
    """Decide the limit for each combination of slips: those in it creep, the others slide.

    In motions near the surfaces u_k = 0 of some slips only, the other slips have left their
    surfaces and have the bounded force `Slip.sliding`.

    Parameters
    ----------
    system, slips, family, times, sizes
        As in `creep_limit`.

    Returns
    -------
    dict of tuple of str, CreepLimit
        By the names of the slips that creep, fewest first. A combination without a slow motion has
        the kind "none", with the reason.

    Raises
    ------
    PosingError, UnknownNameError, OutOfRangeError
        As in `creep_limit`.
    """
    given = tuple(slips)
    check_slips(system, given)
    values, instants = _checked_sizes(sizes), _checked_times(times)
    limits: dict[tuple[str, ...], CreepLimit] = {}
    for count in range(1, len(given) + 1):
        for chosen in itertools.combinations(given, count):
            names = tuple(slip.name for slip in chosen)
            equations = SlipEquations(with_creep(system, given, chosen), chosen)
            try:
                at = [equations.seen(*family(eps), instants) for eps in values]
                limits[names] = _limit(chosen, equations.names, values, at)
            except NoSlowManifoldError as error:
                limits[names] = CreepLimit(names, reason=str(error))
    return limits


def slip_shares(
    system: MechanicalSystem,
    slips: Iterable[Slip],
    states: Mapping[str, Sequence[float] | np.ndarray],
    times: Sequence[float] | np.ndarray,
    parameters: Values | None = None,
) -> np.ndarray:
    """Return the sizes of combinations of slips relative to their terms along a motion.

    These are the same numbers as `PrincipalSlip.share`, but for states from an integration of the
    system: over several eps they give the orders independently of `creep_limit`.

    Parameters
    ----------
    system, slips
        As in `creep_limit`; forces do not matter.
    states
        Positions and velocities by name, (s,) each, after the fast motion has decayed.
    times
        (s,) s
    parameters
        Values that override the defaults.

    Returns
    -------
    numpy.ndarray
        (k,) falling.

    Raises
    ------
    PosingError, UnknownNameError
        As in `creep_limit`, or a state is missing.
    """
    given = tuple(slips)
    check_slips(system, given)
    equations = SlipEquations(system, given)
    labels = equations.dynamics.labels.states
    for name in labels:
        if name not in states:
            raise PosingError(f"the motion has no values of the state {name!r}")
    values = equations.values(parameters)
    rows = np.column_stack([np.asarray(states[name], dtype=float) for name in labels])
    samples = [
        equations.parts(float(t), x, equations.numbers(values, float(t), x))
        for t, x in zip(times, rows, strict=True)
    ]
    moved, terms = (
        np.column_stack([u for u, *_ in samples]),
        np.hstack([part for _, part, _ in samples]),
    )
    return _stationary([slip.name for slip in given], moved, terms)[0]


# -- orders --------------------------------------------------------------------------------------


def _limit(
    slips: Sequence[Slip],
    velocities: Sequence[str],
    sizes: Sequence[float],
    at: Sequence[SlipSample],
) -> CreepLimit:
    """Fit orders to the values seen at each eps."""

    def order(values: Sequence[float], size: float = 1.0) -> float:
        return fitted_order(sizes, values, size)

    names = tuple(slip.name for slip in slips)
    rates = [[complex(value) for value in one.rates] for one in at]
    largest = max(abs(value) for row in rates for value in row)
    fast = tuple(order([abs(v) for v in row], largest) for row in zip(*rates, strict=True))
    if max(fast) > -HALF_WAY:
        raise PosingError(
            f"nothing holds the slips {', '.join(map(repr, names))} more firmly as eps falls: the "
            "rates of the fast motion must grow"
        )
    # Without damping, fast motions may grow as slowly as the slow ones proceed.
    growth = [max(value.real for value in row) / abs(row[0]) for row in rates]
    if growth[-1] > 0.0 and order([max(g, 0.0) for g in growth]) < HALF_WAY:
        raise NoSlowManifoldError(
            f"the fast motion of the slips {', '.join(map(repr, names))} grows, by "
            f"{max(value.real for value in rates[-1]):.3g} 1/s where eps is {sizes[-1]:.3g}"
        )
    columns = np.array([one.columns for one in at])
    entries = np.max(columns, axis=(0, 2))
    fastest = max(float(np.max(one.velocities)) for one in at)
    moving = np.max([np.max(np.abs(one.terms), axis=1) for one in at], axis=0)
    return CreepLimit(
        slips=names,
        principal=_principal(names, sizes, at),
        velocity_orders={
            name: order([float(one.velocities[i]) for one in at], fastest)
            for i, name in enumerate(velocities)
        },
        column_orders={
            slip: {
                name: order(columns[:, k, i].tolist(), float(entries[k]))
                for i, name in enumerate(velocities)
            }
            for k, slip in enumerate(names)
        },
        slip_orders={
            name: order([float(np.max(np.abs(one.slips[k]))) for one in at], float(moving[k]))
            for k, name in enumerate(names)
        },
        fast_orders=fast,
    )


def _principal(
    names: Sequence[str], sizes: Sequence[float], at: Sequence[SlipSample]
) -> tuple[PrincipalSlip, ...]:
    """Return combinations that make |w.u| / |w.terms| stationary, the largest first."""
    slips = [_stationary(names, one.slips, one.terms) for one in at]
    count = min(len(shares) for shares, _ in slips)
    weights = slips[-1][1]
    rows = [[float(shares[place]) for shares, _ in slips] for place in range(count)]
    return tuple(
        PrincipalSlip(_by_name(names, weights[:, place]), fitted_order(sizes, row), row[-1])
        for place, row in enumerate(rows)
    )


def _stationary(
    names: Sequence[str], slips: np.ndarray, terms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return `stationary_shares`.

    Raises
    ------
    PosingError
        A slip has no terms.
    """
    lengths = np.linalg.norm(terms, axis=1)
    if not np.all(lengths > 0.0):
        still = names[int(np.argmin(lengths))]
        raise PosingError(f"no part of the slip {still!r} moves in this state: give a moving state")
    return stationary_shares(slips, terms, TERMS)


def _by_name(names: Sequence[str], column: np.ndarray) -> dict[str, float]:
    """Return weights, scaled to a largest of 1, without those that vanish in the limit."""
    scaled = column / column[np.argmax(np.abs(column))]
    pairs = zip(names, scaled.tolist(), strict=True)
    return {name: value for name, value in pairs if abs(value) > VANISHING}


# -- the request ---------------------------------------------------------------------------------


def _checked_times(times: Sequence[float]) -> tuple[float, ...]:
    values = tuple(start_value("a time", value) for value in times)
    if not values:
        raise OutOfRangeError("give at least one instant")
    return values


def _checked_sizes(sizes: Sequence[float]) -> tuple[float, ...]:
    values = tuple(start_value("a size of eps", value) for value in sizes)
    falling = all(b < a for a, b in itertools.pairwise(values))
    if len(values) < 3 or not falling or values[-1] <= 0.0:
        raise OutOfRangeError(
            f"sizes of eps must be at least three, positive and falling, not {list(sizes)!r}"
        )
    return values


def fitted_order(sizes: Sequence[float], values: Sequence[float], size: float = 1.0) -> float:
    """Return the least-squares slope of log(values) over log(sizes).

    Parameters
    ----------
    sizes
        The values of the small parameter, positive.
    values
        Nonnegative values. Those that are zero to rounding are left out.
    size
        The reference for small and large values, in their unit.

    Returns
    -------
    float
        Infinite if fewer than three values remain: the quantity vanishes to rounding.
    """
    pairs = [(a, b) for a, b in zip(sizes, values, strict=True) if b > ROUNDING * size]
    if len(pairs) < 3:
        return float("inf")
    x = np.log([size for size, _ in pairs])
    y = np.log([value for _, value in pairs])
    return float(np.polyfit(x, y, 1)[0])


def stationary_shares(
    parts: np.ndarray, wholes: np.ndarray, negligible: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return combinations w of rows that make |w.parts| / |w.wholes| stationary.

    Parameters
    ----------
    parts, wholes
        (m, s) and (m, n), no row of wholes zero.
    negligible
        Combinations whose wholes are below this share of the largest, with rows of unit length, are
        ignored.

    Returns
    -------
    shares, weights
        (k,) falling, and (m, k), for the k <= m combinations that are independent.
    """
    lengths = np.linalg.norm(wholes, axis=1)[:, None]
    whole = singular_directions(wholes / lengths, whole=False)
    kept = whole.values > negligible * whole.values[0]
    scale = whole.left[:, kept] / whole.values[kept]
    part = singular_directions(scale.T @ (parts / lengths))
    shares = np.zeros(scale.shape[1])
    shares[: len(part.values)] = part.values
    return shares, (scale @ part.left) / lengths
