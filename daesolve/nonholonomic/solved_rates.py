"""Constraints solved for rates of coordinates, and their substitution into a Lagrangian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.generic_state import value_at_generic_state
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import solve_small
from daesolve.core.expressions.singular_values import independent_rows
from daesolve.core.posing.goals import Goal, Holonomic
from daesolve.core.posing.symbols import symbol
from daesolve.core.system.free_motion import Kinematics, hamel
from daesolve.core.system.system import MechanicalSystem, unswitched
from daesolve.errors import PosingError, unknown_name

INDEPENDENT = 1e-6
"""A goal adds to the rank if its singular value, for rows of unit length, exceeds this."""


@dataclass(frozen=True, eq=False)
class Substitution:
    """Constraints solved for rates, y' = g(t, z, w), and the effect of substituting g into L.

    All fields are expressions of (t, x, p) of the system's dynamics, without y' (replaced by g) and
    y.

    Parameters
    ----------
    system, dynamics
        The posed system, and its equations.
    eliminated
        The names of y, m of them.
    by, remaining
        The names of the solved goals, and of the k remaining ones.
    lost, kept
        The indices of y' and of all other velocities w among the velocities.
    rates, velocities
        The symbols of y', (m, 1), and of w, (nw, 1).
    accelerations
        Symbols of w', (nw, 1).
    g, f
        (m, 1) and (k, 1).
    momenta
        p = dT/dy', (m, 1).
    hamel
        [g_i] as columns, (nw, m). With g linear in w it is free of accelerations.
    pivot
        The derivative of the solved goals by y', (m, m).
    cross
        The derivative of the remaining goals by y', (k, m).
    moving, moving_rates
        The symbols of the remaining coordinates and of implicit unknowns, and their rates.
    """

    system: MechanicalSystem
    dynamics: Dynamics
    eliminated: tuple[str, ...]
    by: tuple[str, ...]
    remaining: tuple[str, ...]
    lost: list[int]
    kept: list[int]
    rates: ca.SX
    velocities: ca.SX
    accelerations: ca.SX
    g: ca.SX
    f: ca.SX
    momenta: ca.SX
    hamel: ca.SX
    pivot: ca.SX
    cross: ca.SX
    moving: ca.SX
    moving_rates: ca.SX

    @property
    def rate_names(self) -> tuple[str, ...]:
        """The names of the velocities y'."""
        return tuple(self.system.v.names[index] for index in self.lost)

    @property
    def slopes(self) -> ca.SX:
        """dg/dw, (m, nw)."""
        return ca.jacobian(self.g, self.velocities)

    @property
    def extra(self) -> ca.SX:
        """N, (nw, 1): the change of the equations of w."""
        return self.hamel @ self.momenta

    @property
    def gradients(self) -> ca.SX:
        """df/dw, (k, nw)."""
        return ca.jacobian(self.f, self.velocities)

    def along(self, expressions: ca.SX) -> ca.SX:
        """Differentiate a column of expressions of (t, z, w) by time."""
        return (
            ca.jacobian(expressions, self.moving) @ self.moving_rates
            + ca.jacobian(expressions, self.velocities) @ self.accelerations
            + ca.jtimes(expressions, self.dynamics.t, ca.SX(1))
        )

    @cached_property
    def _function(self) -> tuple[list[str], ArrayFunction]:
        slopes = self.slopes.T
        by_position = ca.jacobian(ca.vec(slopes), self.moving)
        turned = ca.fabs(ca.jacobian(self.moving_rates, self.velocities)).T
        terms = ca.reshape(ca.fabs(by_position) @ ca.fabs(self.moving_rates), slopes.shape)
        terms = terms + turned @ ca.fabs(ca.jacobian(self.g, self.moving)).T
        inertia = ca.fabs(self.dynamics.mass[self.lost, :]) @ ca.fabs(self.dynamics.velocities)
        still = ca.SX.zeros(*self.accelerations.shape)
        whole = self.dynamics.velocities
        doubled = ca.dot(whole, self.dynamics.mass @ whole)
        parts = {
            "momenta": self.momenta,
            "inertia": ca.substitute(inertia, self.rates, self.g),
            "hamel": self.hamel,
            "terms": terms,
            "gradients": self.gradients,
            "drift": ca.substitute(self.along(self.f), self.accelerations, still),
            "energy": ca.substitute(doubled, self.rates, self.g),
            "masses": ca.diag(self.dynamics.mass)[self.kept],
        }
        d = self.dynamics
        arguments = [d.t, d.x, d.p, self.accelerations]
        return [*parts], ArrayFunction("substitution", arguments, [*parts.values()])

    def at(
        self, t: float, x: np.ndarray, p: np.ndarray, accelerations: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Evaluate the quantities for the test at a state.

        Parameters
        ----------
        t, x, p
            Time in s, the state (nx,) and p as numbers.
        accelerations
            w', (nw,).

        Returns
        -------
        dict
            `momenta` (m, 1); `hamel` (nw, m); the summed sizes of their terms (`inertia`, `terms`);
            `gradients` (k, nw); `drift`, f' without accelerations; `energy`, v.M v; and `masses`,
            the diagonal entries of M for w, (nw, 1).
        """
        names, function = self._function
        return dict(zip(names, function(t, x, p, accelerations), strict=True))


def substitution(system: MechanicalSystem, eliminate: Sequence[str]) -> Substitution:
    """Solve constraints for the rates of coordinates.

    Parameters
    ----------
    system, eliminate
        As in `is_quasi_holonomic`, which also lists the errors.
    """
    check_system(system)
    names = _checked_names(system, eliminate)
    dynamics = unswitched(system).dynamics
    goals = constraint_rates(system, dynamics)
    check_free_of(system, dynamics, goals, names)
    v = system.v.vector
    lost = rate_indices(system, names)
    kept = [index for index in range(v.numel()) if index not in lost]
    rates, w = v[lost], v[kept]
    by = _solved((system, dynamics), goals, rates, names)
    remaining = tuple(name for name in goals if name not in by)
    solved = ca.vertcat(*[goals[name] for name in by])
    left = ca.vertcat(ca.SX(0, 1), *[goals[name] for name in remaining])
    pivot = ca.jacobian(solved, rates)
    g = -solve_small(pivot, ca.substitute(solved, rates, ca.SX.zeros(*rates.shape)))

    def put(expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, rates, g)

    accelerations = symbol("accelerations", w.numel())
    positions, position_rates = _positions(system, dynamics, names)
    own = len(system.coordinates) - len(names)
    kinematics = Kinematics(
        positions[:own], w, position_rates[:own], ca.SX(0, 1), system.velocities is not None
    )
    return Substitution(
        system=system,
        dynamics=dynamics,
        eliminated=names,
        by=by,
        remaining=remaining,
        lost=lost,
        kept=kept,
        rates=rates,
        velocities=w,
        accelerations=accelerations,
        g=g,
        f=put(left),
        momenta=put(ca.gradient(kinetic_energy(dynamics), rates)),
        hamel=_hamel(g, kinematics, accelerations, positions[own:], position_rates[own:]),
        pivot=pivot,
        cross=put(ca.jacobian(left, rates)),
        moving=positions,
        moving_rates=position_rates,
    )


def _hamel(
    g: ca.SX, kinematics: Kinematics, accelerations: ca.SX, unknowns: ca.SX, moving: ca.SX
) -> ca.SX:
    """Return [g_i] as columns, where g may contain implicit unknowns, and their rates are known."""
    columns = hamel(g, kinematics, accelerations)
    if not unknowns.numel():
        return columns
    turned = ca.jacobian(moving, kinematics.v).T
    through = [
        ca.jtimes(ca.gradient(g[i], kinematics.v), unknowns, moving)
        - turned @ ca.gradient(g[i], unknowns)
        for i in range(g.numel())
    ]
    return columns + ca.horzcat(*through)


# -- the request, and whether it can be answered -------------------------------------------------


def check_system(system: MechanicalSystem) -> None:
    """Refuse a system without a Lagrangian.

    Raises
    ------
    PosingError
        The system is not mechanical, or has no kinetic energy.
    """
    if not isinstance(system, MechanicalSystem) or system.kinetic is None:
        raise PosingError(
            "constraints are substituted into a Lagrangian: pose a MechanicalSystem with kinetic="
        )


def _checked_names(system: MechanicalSystem, eliminate: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the coordinates to eliminate.

    Raises
    ------
    PosingError, UnknownNameError
        The list is empty or contains all, one is named twice, or one is not a coordinate.
    """
    if isinstance(eliminate, str) or not isinstance(eliminate, Sequence) or not len(eliminate):
        raise PosingError(
            f"eliminate must be a list of coordinates, at least one, not {eliminate!r}"
        )
    for name in eliminate:
        if not isinstance(name, str) or name not in system.coordinates:
            raise unknown_name("coordinate", name, system.coordinates.names)
    if len(set(eliminate)) < len(eliminate):
        raise PosingError(f"eliminate names a coordinate twice: {', '.join(eliminate)}")
    if len(eliminate) == len(system.coordinates):
        raise PosingError("no coordinate would be left: eliminate fewer of them")
    return tuple(eliminate)


def constraint_rates(system: MechanicalSystem, dynamics: Dynamics) -> dict[str, ca.SX]:
    """Return the constraints on velocities by name.

    Raises
    ------
    PosingError
        A constraint is not ideal, is measured from its value at the start, or does not always hold.
    """
    for goal in system.goals:
        if isinstance(goal, Goal) and (goal.from_start or not goal.ideal):
            why = "is measured from its value at the start" if goal.from_start else "is not ideal"
            raise PosingError(
                f"the goal {goal.name!r} {why}: substitution needs constraints with their own "
                "reaction along the gradient"
            )
        if isinstance(goal, Goal) and goal.held_by:
            raise PosingError(
                f"the goal {goal.name!r} is released at times: only constraints that always "
                "hold are substituted"
            )
    return {row.name: dynamics.without_feedback(row.chain[-1]) for row in dynamics.rows}


def _positions(
    system: MechanicalSystem, dynamics: Dynamics, names: Sequence[str]
) -> tuple[ca.SX, ca.SX]:
    """Return the remaining coordinates and the implicit unknowns, and their rates."""
    indices = [i for i, name in enumerate(system.coordinates.names) if name not in names]
    indices += range(dynamics.position_count - len(system.implicit), dynamics.position_count)
    rates = dynamics.without_feedback(dynamics.position_rates)
    return dynamics.x[indices], rates[indices]


def kinetic_energy(dynamics: Dynamics) -> ca.SX:
    """Return the kinetic energy of a system that was checked to have one."""
    assert dynamics.kinetic is not None
    return dynamics.kinetic


def rate_indices(system: MechanicalSystem, names: Sequence[str]) -> list[int]:
    """Return the indices of velocities that are the rates of coordinates, and of nothing else.

    Raises
    ------
    PosingError
        The rate of a coordinate is not a separate velocity.
    """
    rows = [system.coordinates.names.index(name) for name in names]
    if system.kinematics is None:
        return rows
    slopes = ca.sparsify(ca.jacobian(system.kinematics, system.v.vector))
    entries = list(zip(*slopes.sparsity().get_triplet(), strict=True))
    indices: list[int] = []
    for name, row in zip(names, rows, strict=True):
        columns = [column for i, column in entries if i == row]
        alone = len(columns) == 1 and sum(column == columns[0] for _, column in entries) == 1
        if not alone or not ca.is_equal(system.kinematics[row], system.v.vector[columns[0]]):
            raise PosingError(
                f"the rate of {name!r} must be a separate velocity, which moves no other "
                "coordinate: choose quasi-velocities that include it"
            )
        indices.append(columns[0])
    return indices


def check_free_of(
    system: MechanicalSystem, dynamics: Dynamics, goals: Mapping[str, ca.SX], names: Sequence[str]
) -> None:
    """Refuse coordinates that appear other than through their rates.

    Raises
    ------
    PosingError
        The message names the expression that contains a coordinate.
    """
    auxiliaries = system.auxiliaries
    potential = ca.substitute(ca.SX(system.potential), auxiliaries.vector, auxiliaries.meanings)
    owners = [("the kinetic energy", kinetic_energy(dynamics)), ("the potential", potential)]
    owners.append(("a rate in the kinematics", dynamics.without_feedback(dynamics.position_rates)))
    owners += [(f"the goal {name!r}", residual) for name, residual in goals.items()]
    owners += [(f"the goal {row.name!r}", row.residual) for row in dynamics.implicit_rows]
    for name in names:
        for owner, expression in owners:
            if ca.depends_on(expression, system.coordinates[name]):
                raise PosingError(
                    f"{owner} contains {name!r} itself, not only its rate: it cannot be eliminated"
                )


def _solved(
    posed: tuple[MechanicalSystem, Dynamics],
    goals: Mapping[str, ca.SX],
    rates: ca.SX,
    names: Sequence[str],
) -> tuple[str, ...]:
    """Choose the goals to solve for the rates of y, holonomic ones first.

    Raises
    ------
    PosingError
        A goal is not linear in the rates, or the goals do not determine them.
    """
    system, dynamics = posed
    holonomic = {goal.name for goal in system.goals if isinstance(goal, Holonomic)}
    ordered = sorted(goals, key=lambda name: name not in holonomic)
    pivots = ca.jacobian(ca.vertcat(ca.SX(0, 1), *[goals[name] for name in ordered]), rates)
    for index, name in enumerate(ordered):
        if ca.depends_on(pivots[index, :], rates):
            raise PosingError(f"the goal {name!r} is not linear in the rates that it is solved for")
    chosen = independent_rows(value_at_generic_state(dynamics, pivots), INDEPENDENT)
    if len(chosen) < len(names):
        rest = f"{', '.join(names)}: the goals determine {len(chosen)} of {len(names)} rates"
        raise PosingError(f"the constraints cannot be solved for the rates of {rest}")
    return tuple(name for name in goals if name in {ordered[index] for index in chosen})
