"""The slow motion of a system with slips held by stiff creep, at a state.

It is found without following the fast motion: in the slow motion the second derivatives of the fast
velocities are not large (the principle of vanishing derivatives), and the quantities that creep
does not change are given.

Source: C. W. Gear, T. J. Kaper, I. G. Kevrekidis, A. Zagaris, Projecting to a slow manifold:
singularly perturbed systems and legacy codes, SIAM J. Appl. Dyn. Syst. 4 (2005) 711-732.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import check_named, complete_start
from daesolve.core.equations.drives import drive_values_at_start
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.singular_values import singular_directions, unit_length
from daesolve.core.posing.goals import Expression, as_scalar
from daesolve.core.system.consistent_state import parameter_values
from daesolve.core.system.system import MechanicalSystem, unswitched
from daesolve.errors import NoSlowManifoldError, PosingError
from daesolve.nonholonomic.constraint_forms import state_vector
from daesolve.nonholonomic.independent_motion import IndependentMotion
from daesolve.nonholonomic.reducible import check_goals

Values = Mapping[str, float]

RANK = 1e-9
"""The rank tolerance for slips scaled to unit length."""
STEPS = 40
"""The number of steps of Newton's method."""
CONVERGED = 1e-11
"""The tolerance of velocities, relative to the largest."""


@dataclass(frozen=True, eq=False)
class Slip:
    """A direction in which two bodies slip on each other, with the force of its creep.

    Parameters
    ----------
    name
        A word.
    velocity
        u, linear in the velocities, such as ``q.dot.x - p.radius * q.dot.phi``, m/s.
    force
        P along u, as in the paper's (6); it acts on the system as B^T P. It may contain reactions
        of goals, such as the load of a wheel. Zero if the system already contains it.
    sliding
        The force that replaces P if this slip is not in a combination, such as dry friction.
    """

    name: str
    velocity: Expression
    force: Expression = 0.0
    sliding: Expression = 0.0


@dataclass(frozen=True, eq=False)
class SlipSample:
    """The values at one eps, per slip and velocity, at the state and states near it.

    Parameters
    ----------
    slips
        u, (m, states).
    terms
        B_ki v_i and b, (m, states * (n + 1)).
    columns
        |B|, (m, n), the largest values.
    velocities
        |v|, (n,), the largest values.
    rates
        The eigenvalues of the fast motion, (r,), fastest first.
    """

    slips: np.ndarray
    terms: np.ndarray
    columns: np.ndarray
    velocities: np.ndarray
    rates: np.ndarray


class SlipEquations:
    """The equations of a system as functions of (t, x, p).

    Parameters
    ----------
    system, slips
        The system with the forces of creep, and the held slips.
    """

    def __init__(self, system: MechanicalSystem, slips: Sequence[Slip]) -> None:
        plain = unswitched(system)
        self.dynamics = d = plain.dynamics
        self.names = system.v.names
        self.slips = slips
        v, q = d.velocities, d.x[: d.position_count]
        acceleration = IndependentMotion(d).accelerations
        moving = ca.vertcat(d.t, q, v)
        jerk = ca.jtimes(acceleration, moving, ca.vertcat(1, d.position_rates, acceleration))
        slip = written(system, slips)
        at_rest = ca.substitute(slip, v, ca.SX.zeros(v.numel()))
        parts = [
            d.mass, acceleration, ca.jacobian(acceleration, v), jerk, ca.jacobian(jerk, v),
            slip, at_rest, ca.jacobian(slip, v), d.gradients,
        ]  # fmt: skip
        self._function = ArrayFunction("creep", [d.t, d.x, d.p], parts)

    def at(self, t: float, x: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
        """Return mass, a, a_v, jerk, jerk_v, u, b, B, J, columns as (n,)."""
        values = self._function(t, x, p)
        return [
            part.ravel() if place in (1, 3, 5, 6) else part for place, part in enumerate(values)
        ]

    def seen(self, state: Values, parameters: Values, times: Sequence[float]) -> SlipSample:
        """Evaluate the slow motion at a state and states near it, at several instants."""
        values = self.values(parameters)
        x = self._completed(state, values, times[0])
        count = self.dynamics.position_count
        # Multiply by factors, so that quantities as small as eps stay so.
        factors = np.random.default_rng(13).uniform(0.5, 1.5, (len(self.slips) + 3, len(x)))
        factors[0] = 1.0
        slips: list[np.ndarray] = []
        terms: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        speeds: list[np.ndarray] = []
        rates: list[np.ndarray] = []
        for t, row in itertools.product(times, factors):
            p = self.numbers(values, t, x * row)
            near = self._near(t, x * row, p)
            v, fast = self.slow(t, near, p)
            u, parts, matrix = self.parts(t, np.append(near[:count], v), p)
            slips.append(u)
            terms.append(parts)
            columns.append(np.abs(matrix))
            speeds.append(np.abs(v))
            rates.append(fast)
        return SlipSample(
            np.column_stack(slips),
            np.hstack(terms),
            np.max(columns, axis=0),
            np.max(speeds, axis=0),
            rates[0],
        )

    def parts(
        self, t: float, x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return slips (m,), their terms B_ki v_i and b (m, n + 1), and B (m, n) at a state."""
        *_, u, b, matrix, _ = self.at(t, x, p)
        terms = np.column_stack([matrix * x[self.dynamics.position_count :], b])
        return u, terms, matrix

    def values(self, parameters: Values | None) -> dict[str, float]:
        """Return the numbers in p by name, before tables are looked up."""
        return dict(parameter_values(self.dynamics, check_named("parameters", parameters)))

    def numbers(self, values: Values, t: float, x: np.ndarray) -> np.ndarray:
        """Return p at a state, with each table in the right piece."""
        looked_up = (
            drive_values_at_start(self.dynamics, values, x, t) if self.dynamics.drives else {}
        )
        return self.dynamics.value_vector({**values, **looked_up})

    def _completed(self, state: Values, values: Values, t: float) -> np.ndarray:
        """Return a state; beside goals, what is not given follows from them."""
        names = self.dynamics.labels.states
        x = state_vector(names, state)
        if not self.dynamics.rows:
            return x
        given = {name: float(value) for name, value in state.items()}
        return complete_start(self.dynamics, self.numbers(values, t, x), given, time=t).state

    def _near(self, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the nearest state that fulfils the goals, and has no slips.

        Loads may depend on creep, so that far from the slow motion there may be another.
        """
        if not self.dynamics.rows:
            return x
        guess = dict(zip(self.dynamics.labels.states, x.tolist(), strict=True))
        near = complete_start(self.dynamics, p, {}, guess=guess, time=t).state
        count = self.dynamics.position_count
        mass, *_, matrix, goals = self.at(t, near, p)
        along = np.linalg.solve(mass, self._left_free(unit_length(matrix, 1), goals, mass).T)
        slips = self.at(t, near, p)[5]
        near[count:] -= along @ np.linalg.lstsq(matrix @ along, slips, rcond=RANK)[0]
        return near

    def slow(self, t: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocities of the slow motion, and the eigenvalues of the fast one.

        Raises
        ------
        NoSlowManifoldError
            There is no slow motion.
        PosingError
            The goals leave no slip free.
        """
        count = self.dynamics.position_count
        q, v = x[:count], x[count:].copy()
        mass, *_, matrix, goals = self.at(t, x, p)
        rows = self._left_free(unit_length(matrix, 1), goals, mass)
        directions = singular_directions(rows)
        fast = directions.right[: directions.rank(RANK * directions.values[0])]
        along = np.linalg.solve(mass, fast.T)
        along /= np.linalg.norm(along, axis=0)
        for place in (1, 3):
            v = self._solved(place, t, q, v, p, fast, along)
        _, _, steep, *_ = self.at(t, np.append(q, v), p)
        rates = _rates(fast @ along, fast @ steep @ along)
        return v, rates[np.argsort(-np.abs(rates))]

    def _left_free(self, rows: np.ndarray, goals: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return slips without what goals determine of them, in the metric of the masses.

        Raises
        ------
        PosingError
            The goals determine a slip.
        """
        if not len(goals):
            return rows
        pushed = np.linalg.solve(mass, goals.T)
        free = rows - (rows @ pushed) @ np.linalg.solve(goals @ pushed, goals)
        # In the metric of the masses, as lengths of rows depend on the units of velocities.
        left = np.sum(free * np.linalg.solve(mass, free.T).T, axis=1)
        whole = np.sum(rows * np.linalg.solve(mass, rows.T).T, axis=1)
        if np.any(left <= RANK**2 * whole):
            name = self.slips[int(np.argmin(left / whole))].name
            raise PosingError(f"the goals determine the slip {name!r}: creep does not hold it")
        return unit_length(free, 1)

    def _solved(
        self,
        place: int,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        p: np.ndarray,
        fast: np.ndarray,
        along: np.ndarray,
    ) -> np.ndarray:
        """Move velocities along fast directions until a derivative has no fast part.

        Parameters
        ----------
        place
            The index of the derivative in `at`: 1 for v', 3 for v''.
        t, q, v, p
            Time, positions, velocities, numbers.
        fast, along
            (r, n) and (n, r): the part of the derivative that must vanish, and the directions of
            change.

        Raises
        ------
        NoSlowManifoldError
            Newton's method does not converge.
        """
        for _ in range(STEPS):
            values = self.at(t, np.append(q, v), p)
            slope = fast @ values[place + 1] @ along
            if not (np.all(np.isfinite(slope)) and np.linalg.matrix_rank(slope) == len(fast)):
                break
            step = along @ np.linalg.solve(slope, fast @ values[place])
            v = v - step
            if np.linalg.norm(step) <= CONVERGED * np.linalg.norm(v):
                return v
        raise NoSlowManifoldError(
            f"creep by {self._listed()} has no slow motion at this state: no small slips balance "
            "the other forces"
        )

    def _listed(self) -> str:
        return ", ".join(repr(slip.name) for slip in self.slips)


def with_creep(
    system: MechanicalSystem, slips: Sequence[Slip], chosen: Sequence[Slip]
) -> MechanicalSystem:
    """Return the system with the forces of slips: creep for the chosen ones."""
    forces = [
        as_scalar(f"the force of the slip {slip.name!r}", slip.force if slip in chosen
                  else slip.sliding)
        for slip in slips
    ]  # fmt: skip
    matrix = ca.jacobian(written(system, slips), system.v.vector)
    added = matrix.T @ ca.vertcat(*forces)
    if all(force.is_zero() for force in forces):
        return system
    return replace(system, force=system.applied_force + added)


def written(system: MechanicalSystem, slips: Sequence[Slip]) -> ca.SX:
    """Return the slips in terms of the velocities of the system."""
    column = [as_scalar(f"the slip {slip.name!r}", slip.velocity) for slip in slips]
    return system.in_velocities(ca.vertcat(*column))


def check_slips(system: MechanicalSystem, slips: Sequence[Slip]) -> None:
    """Refuse systems and slips without such a limit.

    Raises
    ------
    PosingError
        The message names the obstacle.
    """
    if not isinstance(system, MechanicalSystem):
        raise PosingError(f"creep needs a MechanicalSystem, not a {type(system).__name__}")
    check_goals(system)
    names = [slip.name for slip in slips]
    if not names or len(set(names)) < len(names):
        raise PosingError(f"slips must name at least one slip, each once, not {names!r}")
    v = system.v.vector
    for slip in slips:
        row = ca.jacobian(written(system, [slip]), v)
        if ca.depends_on(row, v):
            raise PosingError(f"the slip {slip.name!r} is not linear in the velocities")
        if row.nnz() == 0:
            raise PosingError(f"the slip {slip.name!r} contains no velocity")


def _rates(inertia: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of inertia^-1 stiffness."""
    matrix: np.ndarray = np.linalg.solve(inertia, stiffness)
    return np.asarray(np.linalg.eigvals(matrix), dtype=complex)
