"""Whether constraints may be substituted into the Lagrangian: the Hadamard-Hamel problem.

Coordinates y on which nothing depends but by their rates, constraints solved for these, y' = g, and
the constraints f = 0 that remain. Substituting g into L changes the equations of the other
velocities w by

    N = sum_i p_i [g_i],    p_i = dL/dy_i' where y' = g,

[.] Hamel's operator (`lagrange.hamel`). They keep their form, with other multipliers, if and only
if N is a combination of the df/dw wherever f = 0: N = (df/dw)^T alpha. Then the constraints are
quasi-holonomic, and the multipliers found after the substitution are too large by alpha.

A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics of wheeled
vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, theorems 1 (rates of coordinates) and 2
(quasi-velocities).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from daesolve.consistency import check_named, consistent_state, instantaneous, sample_states
from daesolve.errors import InconsistentStateError, OutOfRangeError, PosingError, is_number
from daesolve.mechanics.solved_rates import (
    Substitution,
    check_free_of,
    check_system,
    constraint_rates,
    independent_rows,
    rate_indices,
    somewhere,
    substitution,
)
from daesolve.starting import parameter_values
from daesolve.system import MechanicalSystem
from daesolve.translation import function_of

CANCELLED = 1e-4
"""What is smaller than this beside the terms that it is the sum of is measured against these."""
RANK_TOLERANCE = 1e-9
"""A singular value of the remaining constraints, rows of unit length, below this counts as zero."""


@dataclass(frozen=True, eq=False)
class QuasiHolonomic:
    """Whether constraints may be substituted into the Lagrangian; true where they may.

    Parameters
    ----------
    holds
        Whether N is a combination of the df/dw, at every point.
    residual
        The largest part of N that is none, relative to sum |p_i| |[g_i]|.
    for_every_lagrangian
        Whether it would be so with any masses.
    each, each_residual
        By the names of y: whether [g_i] alone is such a combination, and what is left of it.
    points, tolerance
        The number of random consistent states that were looked at, and the limit.
    eliminated, by, remaining
        The names of y, of the goals that are solved for y', and of those that remain.
    substitution
        The expressions.
    values
        p as numbers.
    """

    holds: bool
    residual: float
    for_every_lagrangian: bool
    each: Mapping[str, bool]
    each_residual: Mapping[str, float]
    points: int
    tolerance: float
    eliminated: tuple[str, ...]
    by: tuple[str, ...]
    remaining: tuple[str, ...]
    substitution: Substitution = field(repr=False)
    values: np.ndarray = field(repr=False)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        solved = ", ".join(self.by)
        rates = ", ".join(f"{name}'" for name in self.eliminated)
        lines = [
            f"{solved} solved for {rates}: "
            + ("quasi-holonomic" if self.holds else "not quasi-holonomic"),
            f"residual {self.residual:.1e} at {self.points} points (limit {self.tolerance:g})",
            "for every Lagrangian: " + ("yes" if self.for_every_lagrangian else "no"),
        ]
        single = [f"{name} {miss:.1e}" for name, miss in self.each_residual.items()]
        lines.append("each by itself, whatever the masses: " + ", ".join(single))
        lines.append("constraints that remain: " + (", ".join(self.remaining) or "none"))
        return "\n".join(lines)

    def coefficients(
        self,
        state: Mapping[str, float],
        parameters: Mapping[str, float] | None = None,
        time: float = 0.0,
    ) -> dict[str, float]:
        """Return alpha by the names of the remaining goals.

        Their multipliers after the substitution are larger by alpha than their reactions. Where
        the constraints are not quasi-holonomic, alpha is that of the nearest combination.

        Parameters
        ----------
        state
            Values by the names of states; the others are made consistent.
        parameters
            Values in place of those of the test.
        time
            s

        Raises
        ------
        InconsistentStateError, UnknownNameError, OutOfRangeError
            The state or a parameter cannot be.
        """
        held = self.substitution
        numbers = self.values if parameters is None else _numbers(held, parameters)
        x = consistent_state(held.dynamics, numbers, state, time=time).state
        found, _ = instantaneous(held.dynamics, time, x, numbers)
        parts = held.at(time, x, numbers, found[held.kept])
        extra = (parts["hamel"] @ parts["momenta"]).ravel()
        alpha = np.linalg.lstsq(parts["gradients"].T, extra, rcond=RANK_TOLERANCE)[0]
        return {name: float(value) for name, value in zip(self.remaining, alpha, strict=True)}


def is_quasi_holonomic(
    system: MechanicalSystem,
    eliminate: Sequence[str],
    *,
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    points: int = 20,
    tolerance: float = 1e-9,
) -> QuasiHolonomic:
    """Tell whether constraints may be substituted into the Lagrangian.

    Parameters
    ----------
    system
        Lagrangian mechanics, in rates of coordinates or in quasi-velocities. Energies, constraints
        and kinematics must not contain the coordinates y that are eliminated, but for their rates.
        In quasi-velocities each y' must be a velocity of its own.
    eliminate
        The names of y. The goals that contain y' are solved for it; there may be more of them than
        y, then those that are not needed remain. A holonomic goal counts with its rate.
    parameters
        Values in place of the defaults. N is compared with the constraints at these: masses for
        which it vanishes by chance are found out by other values.
    at
        Values by the names of states, near which to look; the others are made consistent. Without
        it the states are random, of order one.
    points
        The number of random consistent states. Those where something is not finite are replaced.
    tolerance
        The limit of the relative residual.

    Returns
    -------
    QuasiHolonomic
        The verdict and its numbers.

    Raises
    ------
    PosingError
        The constraints cannot be solved for y', or something depends on y.
    UnknownNameError, OutOfRangeError
        A coordinate or a parameter is not the system's, or a number is out of range.
    InconsistentStateError
        No random state was found that meets the constraints.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    >>> c, s = ca.cos(q.psi), ca.sin(q.psi)
    >>> skate = ds.Nonholonomic("skate", c * q.dot.y - s * q.dot.x)
    >>> rolling = ds.Nonholonomic("rolling", c * q.dot.x + s * q.dot.y - 0.4 * q.dot.phi)
    >>> kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.psi**2 + q.dot.phi**2) / 2
    >>> unicycle = ds.MechanicalSystem(q, kinetic=kinetic, goals=[skate, rolling])
    >>> bool(ds.is_quasi_holonomic(unicycle, ["phi"]))
    True
    """
    _check_numbers(points, tolerance)
    held = substitution(system, eliminate)
    numbers = _numbers(held, parameters)
    states = _states(held, numbers, at, points)
    generator = np.random.default_rng(22)
    missed = [_missed(held, numbers, t, x, generator) for t, x in states]
    worst = max(together for together, _ in missed)
    each = np.max([alone for _, alone in missed], axis=0)
    alone = {
        name: bool(miss <= tolerance) for name, miss in zip(held.eliminated, each, strict=True)
    }
    return QuasiHolonomic(
        holds=worst <= tolerance,
        residual=worst,
        for_every_lagrangian=all(alone.values()),
        each=alone,
        each_residual={n: float(miss) for n, miss in zip(held.eliminated, each, strict=True)},
        points=len(states),
        tolerance=tolerance,
        eliminated=held.eliminated,
        by=held.by,
        remaining=held.remaining,
        substitution=held,
        values=numbers,
    )


def quasi_holonomic_report(
    system: MechanicalSystem,
    eliminate: Sequence[str] = (),
    *,
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    points: int = 20,
    tolerance: float = 1e-9,
) -> dict[str, Any]:
    """Return the verdict as a table; see `is_quasi_holonomic`, also for what is raised.

    Without names the coordinates are those of `default_coordinates`.

    Returns
    -------
    dict
        `eliminated`, `by` and `remaining` (names), `quasi_holonomic`, its `residual`,
        `for_every_lagrangian`, `each` (by coordinate: `for_every_lagrangian`, `residual`),
        `points`, `tolerance`.
    """
    names = tuple(eliminate) or default_coordinates(system)
    if not names:
        raise PosingError(
            "no coordinate stands in the constraints with its rate alone and a constant "
            "coefficient: name those that are to be eliminated"
        )
    found = is_quasi_holonomic(
        system, names, parameters=parameters, at=at, points=points, tolerance=tolerance
    )
    return {
        "eliminated": list(found.eliminated),
        "by": list(found.by),
        "remaining": list(found.remaining),
        "quasi_holonomic": found.holds,
        "residual": found.residual,
        "for_every_lagrangian": found.for_every_lagrangian,
        "each": {
            name: {"for_every_lagrangian": holds, "residual": found.each_residual[name]}
            for name, holds in found.each.items()
        },
        "points": found.points,
        "tolerance": found.tolerance,
    }


def default_coordinates(system: MechanicalSystem) -> tuple[str, ...]:
    """Return coordinates that one would eliminate: wheel angles, as a rule.

    Nothing depends on them, and the constraints contain their rates with constant coefficients.
    There are no more of them than constraints can be solved for.
    """
    check_system(system)
    dynamics = system.dynamics
    goals = constraint_rates(system, dynamics)
    chosen: list[str] = []
    for name in system.coordinates.names:
        try:
            check_free_of(system, dynamics, goals, [name])
            rates = rate_indices(system, [*chosen, name])
        except PosingError:
            continue
        pivots = ca.jacobian(ca.vertcat(ca.SX(0, 1), *goals.values()), system.v.vector[rates])
        if ca.depends_on(pivots, ca.vertcat(dynamics.x, dynamics.t)):
            continue
        if len(independent_rows(somewhere(dynamics, pivots))) == len(rates):
            chosen.append(name)
    return tuple(chosen)


def _check_numbers(points: int, tolerance: float) -> None:
    if not isinstance(points, int) or isinstance(points, bool) or points < 1:
        raise OutOfRangeError(f"points is {points!r}, but must be a whole number >= 1")
    if not (is_number(tolerance) and 0.0 < tolerance < 1.0):
        raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must lie between 0 and 1")


def _numbers(held: Substitution, parameters: Mapping[str, float] | None) -> np.ndarray:
    values = parameter_values(held.dynamics, check_named("parameters", parameters))
    return held.dynamics.value_vector(values)


# -- numbers at random states --------------------------------------------------------------------


def _states(
    held: Substitution, numbers: np.ndarray, at: Mapping[str, float] | None, points: int
) -> list[tuple[float, np.ndarray]]:
    """Return random consistent states where everything is finite.

    Raises
    ------
    InconsistentStateError
        There are none.
    """
    dynamics = held.dynamics
    around = None if at is None else consistent_state(dynamics, numbers, at).state
    numbers = _with_references(held, numbers, around)
    still = np.zeros(held.velocities.numel())

    def finite(t: float, x: np.ndarray) -> bool:
        parts = held.at(t, x, numbers, still)
        return all(bool(np.all(np.isfinite(part))) for part in parts.values())

    found: list[tuple[float, np.ndarray]] = []
    for count in (points, 2 * points, 4 * points):
        samples = sample_states(dynamics, numbers, around, count=count, at_rest=0)
        found = [(t, x) for t, x in samples if finite(t, x)][:points]
        if len(found) == points:
            return found
    if not found:
        raise InconsistentStateError(
            "no random state was found that meets the constraints and is finite: tell by at= where "
            "such states are"
        )
    return found


def _with_references(
    held: Substitution, numbers: np.ndarray, around: np.ndarray | None
) -> np.ndarray:
    """Return p with the values that invariants on positions are held at: at a state, or unit ones.

    A unit quaternion has the same value wherever one of its coordinates is one, the others zero.

    Raises
    ------
    PosingError
        It is not the same there, and no state was given.
    """
    dynamics = held.dynamics
    p = numbers.copy()
    for row in dynamics.invariants:
        if row.on != "positions":
            continue
        of = function_of("value", [dynamics.t, dynamics.x, dynamics.p], [row.value], (
            ["t", "x", "p"], ["value"]))  # fmt: skip
        units = np.eye(dynamics.x.numel())
        own = [i for i in range(len(units)) if ca.depends_on(row.value, dynamics.x[i])]
        places = units[own] if around is None else [around]
        values = [float(of(0.0, x, numbers)) for x in places]  # pyright: ignore
        if max(values) - min(values) > 1e-12 * max(1.0, *map(abs, values)):
            raise PosingError(
                f"the value that the invariant {row.name!r} is held at is not known: tell a state "
                "by at="
            )
        p[list(dynamics.values).index(f"reference_{row.name}")] = values[0]
    return p


def _missed(
    held: Substitution, p: np.ndarray, t: float, x: np.ndarray, generator: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the parts of N and of each [g_i] that are no combination of the df/dw.

    Accelerations, where there are any, are random with f' = 0.
    """
    parts = held.at(t, x, p, np.zeros(held.velocities.numel()))
    gradients, drift = parts["gradients"], parts["drift"].ravel()
    free = _null_space(gradients)
    falling = np.linalg.lstsq(gradients, -drift, rcond=RANK_TOLERANCE)[0]
    parts = held.at(t, x, p, falling + free @ generator.normal(size=free.shape[1]))
    columns, momenta = parts["hamel"], parts["momenta"].ravel()
    # |[g_i]| and |p_i|; where the terms cancel, so much of theirs that rounding is small beside.
    sizes = np.linalg.norm(columns, axis=0)
    sizes = np.maximum(sizes, CANCELLED * np.linalg.norm(parts["terms"], axis=0))
    loads = np.maximum(np.abs(momenta), CANCELLED * parts["inertia"].ravel())
    together = np.linalg.norm(free.T @ (columns @ momenta))
    alone = np.linalg.norm(free.T @ columns, axis=0)
    return float(_ratio(together, loads @ sizes)), _ratio(alone, sizes)


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what a matrix takes to zero, as columns."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    _, singular, directions = np.linalg.svd(matrix / np.where(lengths > 0.0, lengths, 1.0))
    return directions[int(np.sum(singular > RANK_TOLERANCE)) :].T


def _ratio(parts: Any, sizes: Any) -> np.ndarray:
    """Divide; nothing of nothing is nothing."""
    return np.divide(parts, sizes, out=np.zeros(np.shape(parts)), where=np.asarray(sizes) > 0.0)
