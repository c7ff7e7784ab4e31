"""The states that constraints leave: positions and velocities that fulfil them permanently.

There may be more constraints J(q) v + b(q) = 0 than velocities. Combinations n without any
velocity, n(q) J(q) = 0, are conditions n b = 0 on the positions; their rates are constraints again,
and so on until nothing new follows. Thus a wheelset on a straight track without slip keeps two of
its four dimensions, and a rigid bogie with two wheelsets keeps none: the absence of slip does not
model its motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import list_residuals, smallest_residuals
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.projection import Level, Projection, terms_of
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import solve_small
from daesolve.core.expressions.singular_values import rank
from daesolve.core.posing.goals import Goal, Holonomic, Nonholonomic
from daesolve.core.system.system import MechanicalSystem, System
from daesolve.errors import (
    ContradictoryGoalsError,
    InconsistentStateError,
    PosingError,
    unknown_name,
)
from daesolve.nonholonomic.constraint_forms import (
    check_linear,
    check_numbers,
    mechanical,
    parameter_vector,
    regular_block,
    state_vector,
    unit_velocities,
    velocity_level,
    with_references,
)

SEED = 20
"""The seed of the random positions from which consistent ones are searched."""


@dataclass(frozen=True, eq=False)
class NoSlipClosure:
    """The states (q, v) that constraints leave, including all conditions that follow from them.

    Parameters
    ----------
    dimension
        `positions` + `velocities`.
    positions, velocities
        The number of positions that can be chosen freely, and then of velocities.
    free
        The dimension without the constraints.
    hidden
        The number of independent conditions on positions that followed, at each stage.
    goals
        The names of the constraints.
    state
        Positions by name that fulfil all conditions.
    """

    dimension: int
    positions: int
    velocities: int
    free: int
    hidden: tuple[int, ...]
    goals: tuple[str, ...]
    state: Mapping[str, float]


def no_slip_closure(
    system: System,
    goals: Sequence[str | Goal] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    state: Mapping[str, float] | None = None,
    time: float = 0.0,
    points: int = 8,
    tolerance: float = 1e-9,
) -> NoSlipClosure:
    """Find the dimension that constraints leave, including all constraints that follow.

    Forces and masses do not matter: the result shows whether the constraints allow motion at all.

    Parameters
    ----------
    system
        A mechanical system.
    goals
        The constraints: names of the system's goals, or further `Holonomic` and `Nonholonomic`
        goals, such as the slips of a model with creep forces. By default all constraints of the
        system. They must be linear in the velocities and may contain time.
    parameters
        Values that override the defaults.
    state
        Positions near which to search; missing ones are zero. Invariants on positions, such as the
        norm of a quaternion, keep the value that they have there.
    time
        s
    points
        The number of random positions around it from which consistent ones are searched.
    tolerance
        The relative singular value, and the relative condition, that count as zero.

    Returns
    -------
    NoSlipClosure
        The dimensions, and the conditions found.

    Raises
    ------
    PosingError
        A constraint is not linear in the velocities.
    ContradictoryGoalsError
        No positions fulfil the conditions that follow from the constraints.
    InconsistentStateError
        The constraints are not finite at any positions found.
    UnknownNameError, OutOfRangeError
        A name is unknown, or a number is out of range.

    Notes
    -----
    The rank of the constraints is assumed to be the same at almost every position that fulfils
    them.

    Examples
    --------
    A linear, normalised wheelset on a straight track, without slip, keeps two of four dimensions.

    >>> import daesolve as ds
    >>> q = ds.coordinates(y="m", psi="rad")
    >>> across = ds.Nonholonomic("across", q.dot.y - q.psi)
    >>> along = ds.Nonholonomic("along", q.dot.psi + q.y)
    >>> kinetic = (q.dot.y**2 + q.dot.psi**2) / 2
    >>> wheelset = ds.MechanicalSystem(q, kinetic=kinetic)
    >>> found = no_slip_closure(wheelset, [across, along])
    >>> found.dimension, found.free
    (2, 4)
    """
    check_numbers(tolerance, time, points=points)
    dynamics = mechanical(_asked(system, goals))
    refuse_drives(dynamics, "what constraints close to")
    p = parameter_vector(dynamics, parameters)
    centre = state_vector(dynamics.labels.states, state)
    p = with_references(dynamics, p, centre)
    units = unit_velocities(dynamics, time, centre, p)
    closure = _Closure(_posed(dynamics), dynamics, centre, p, units, float(time), tolerance)
    hidden: list[int] = []
    states = closure.states(points)
    while True:
        further = closure.further(states)
        if not further.positions:
            break
        before = max(closure.ranks(x)[0] for x in states)
        closure = replace(closure, conditions=closure.conditions + further)
        states = closure.states(points)
        count = max(closure.ranks(x)[0] for x in states) - before
        if not count:
            break
        hidden.append(count)
    ranks = [closure.ranks(x) for x in states]
    bound, held = max(ranks, key=sum)
    reach = closure.reach(states[0])
    return NoSlipClosure(
        dimension=reach - bound + dynamics.velocity_count - held,
        positions=reach - bound,
        velocities=dynamics.velocity_count - held,
        free=reach + dynamics.velocity_count,
        hidden=tuple(hidden),
        goals=tuple(row.name for row in dynamics.rows),
        state={
            dynamics.labels.states[k]: float(states[ranks.index((bound, held))][k])
            for k in closure.conditions.places
        },
    )


def _asked(system: System, goals: Sequence[str | Goal] | None) -> System:
    """Return the system with the requested constraints.

    Raises
    ------
    UnknownNameError, PosingError
        There is no such constraint.
    """
    mechanical(system)
    if goals is None or not isinstance(system, MechanicalSystem):
        return system
    if isinstance(goals, str) or not isinstance(goals, Sequence):
        raise PosingError(f"goals must be a list of constraints, not {goals!r}")
    own = [goal.name for goal in system.goals if isinstance(goal, Goal)]
    for goal in goals:
        if isinstance(goal, str) and goal not in own:
            raise unknown_name("constraint", goal, own)
        if not isinstance(goal, str | Holonomic | Nonholonomic):
            raise PosingError(
                f"goals must be names, or Holonomic and Nonholonomic goals, not {goal!r}"
            )
    kept = system.without([name for name in own if name not in goals])
    return replace(kept, goals=(*kept.goals, *[goal for goal in goals if isinstance(goal, Goal)]))


# -- conditions and what follows from them -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Conditions:
    """Conditions on positions and on velocities, and the rates of the positions.

    Parameters
    ----------
    positions, velocities
        Residuals, each with its name for messages.
    places, rates
        The indices of positions in x, and their rates.
    """

    positions: tuple[tuple[str, ca.SX], ...]
    velocities: tuple[tuple[str, ca.SX], ...]
    places: np.ndarray
    rates: ca.SX

    def __add__(self, other: _Conditions) -> _Conditions:
        return replace(
            self,
            positions=self.positions + other.positions,
            velocities=self.velocities + other.velocities,
        )


def _posed(dynamics: Dynamics) -> _Conditions:
    """Return the posed conditions.

    Raises
    ------
    PosingError
        A constraint is not linear in the velocities.
    """
    rows, rates, places = velocity_level(dynamics)
    for name, row in rows.items():
        check_linear(dynamics, f"the constraint {name!r}", row)
    positions = [(f"the goal {row.name!r}", row.chain[0]) for row in dynamics.rows
                 if row.kind == "holonomic"]  # fmt: skip
    positions += [(f"the goal {row.name!r}", row.residual) for row in dynamics.implicit_rows]
    positions += [(f"the goal {row.name!r}", row.value - row.reference)
                  for row in dynamics.invariants if row.on == "positions"]  # fmt: skip
    velocities = tuple((name, row) for name, row in rows.items())
    return _Conditions(tuple(positions), velocities, places, rates)


@dataclass(frozen=True, eq=False)
class _Closure:
    """Conditions with the numbers used to check them; `units` measure the velocities."""

    conditions: _Conditions
    dynamics: Dynamics
    centre: np.ndarray
    p: np.ndarray
    units: np.ndarray
    time: float
    tolerance: float

    @cached_property
    def _symbols(self) -> ca.SX:
        places = self.conditions.places
        return ca.vertcat(ca.SX(0, 1), *[self.dynamics.x[int(index)] for index in places])

    def _function(self, *parts: ca.SX) -> Callable[[np.ndarray], list[np.ndarray]]:
        """Return several expressions as a function of the state."""
        dynamics = self.dynamics
        function = ArrayFunction("closure", [dynamics.t, dynamics.x, dynamics.p], parts)
        return lambda x: function(self.time, x, self.p)

    @cached_property
    def _at(self) -> Callable[[np.ndarray], list[np.ndarray]]:
        """Return x -> the gradients of the conditions on positions, S, J and b."""
        conditions, v = self.conditions, self.dynamics.velocities
        gradients = ca.jacobian(_stack(conditions.positions), self._symbols)
        rows = _stack(conditions.velocities)
        still = ca.substitute(rows, v, ca.SX.zeros(*v.shape))
        directions = ca.jacobian(conditions.rates, v)
        return self._function(gradients, directions, ca.jacobian(rows, v), still)

    def states(self, count: int) -> list[np.ndarray]:
        """Return positions that fulfil the conditions, starting from random ones about the centre.

        Raises
        ------
        ContradictoryGoalsError, InconsistentStateError
            None exist, or the constraints are finite at none of them.
        """
        residuals = _stack(self.conditions.positions)
        evaluate = self._function(residuals, ca.jacobian(residuals, self._symbols))
        titles = tuple(title for title, _ in self.conditions.positions)
        places = self.conditions.places

        def at(t: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            residual, jacobian = evaluate(x)
            return residual.ravel(), jacobian

        level = Level(titles, titles, places, at, terms_of(self.dynamics, residuals))
        generator = np.random.default_rng(SEED)
        unweighted = np.eye(len(places))
        starts: list[Projection] = []
        for _ in range(count):
            start = self.centre.copy()
            start[places] += generator.normal(size=len(places))
            starts.append(Projection(level, unweighted, self.time, start, self.p, places))
        states_met = [state for way in starts if (state := way.met(way.guess)) is not None]
        if not states_met:
            raise ContradictoryGoalsError(
                f"no positions fulfil {list_residuals(smallest_residuals(starts[0]))}: the "
                "constraints contradict each other"
            )
        finite = [x for x in states_met if all(np.all(np.isfinite(part)) for part in self._at(x))]
        if not finite:
            raise InconsistentStateError(
                "the constraints are not finite at any of the random positions that fulfil "
                "them: give a state near which they are finite"
            )
        return finite

    def reach(self, x: np.ndarray) -> int:
        """Return the number of dimensions in which positions can move without the constraints."""
        return self._rank(np.eye(len(self.conditions.places)), self._at(x)[1])

    def ranks(self, x: np.ndarray) -> tuple[int, int]:
        """Return the ranks of the conditions on positions and on velocities."""
        gradients, directions, rows, _ = self._at(x)
        return self._rank(gradients, directions @ self.units), self._rank(rows, self.units)

    def _rank(self, rows: np.ndarray, columns: np.ndarray) -> int:
        """Return the rank of a product whose rows are measured by the terms they consist of."""
        sizes = np.linalg.norm(np.abs(rows) @ np.abs(columns), axis=1, keepdims=True)
        scaled = rows @ columns / np.where(sizes > 0.0, sizes, 1.0)
        return rank(scaled, self.tolerance)

    def further(self, states: Sequence[np.ndarray]) -> _Conditions:
        """Return the resulting conditions on positions, and their rates; none if all hold."""
        x = max(states, key=lambda state: self.ranks(state)[1])
        rows, rank = self._at(x)[2], self.ranks(x)[1]
        kept, solved = regular_block(rows, self.units, rank)
        others = [index for index in range(len(rows)) if index not in kept]
        if not others:
            return replace(self.conditions, positions=(), velocities=())
        return self._left(kept, solved, others, states)

    def _left(
        self, kept: list[int], solved: list[int], others: list[int], states: Sequence[np.ndarray]
    ) -> _Conditions:
        """Substitute velocities from some constraints into the others, which then contain none.

        Parameters
        ----------
        kept, solved
            The constraints, and the velocities for which they are solved.
        others
            The constraints that depend on them.
        states
            States at which the remaining conditions may hold already.
        """
        conditions, v = self.conditions, self.dynamics.velocities
        stack = _stack(conditions.velocities)
        still = ca.substitute(stack, v, ca.SX.zeros(*v.shape))
        matrix = ca.jacobian(stack, v)
        if kept:
            moving = solve_small(matrix[kept, solved], still[kept])
            parts = still[others], matrix[others, solved] @ moving
        else:
            parts = still[others], ca.SX.zeros(len(others), 1)
        left = parts[0] - parts[1]
        evaluate = self._function(left, *parts, *[ca.jacobian(z, self._symbols) for z in parts])
        goals = dict.fromkeys(conditions.velocities[index][0] for index in [*kept, *others])
        names = ", ".join(map(repr, goals))
        positions: list[tuple[str, ca.SX]] = []
        velocities: list[tuple[str, ca.SX]] = []
        for index in np.flatnonzero(self._missed(evaluate, states)):
            value = left[int(index)]
            rate = ca.jacobian(value, self._symbols) @ conditions.rates
            rate += ca.jtimes(value, self.dynamics.t, ca.SX(1))
            positions.append((f"what follows from {names}", value))
            velocities.append((conditions.velocities[others[int(index)]][0], rate))
        return replace(conditions, positions=tuple(positions), velocities=tuple(velocities))

    def _missed(
        self, evaluate: Callable[[np.ndarray], list[np.ndarray]], states: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return the conditions that some states violate, relative to the conditions' terms."""
        missed = False
        for x in states:
            left, *parts = evaluate(x)
            values, slopes = parts[:2], parts[2:]
            # At least of order one, like the random positions: the set may be a single point.
            position = np.maximum(np.abs(x[self.conditions.places]), 1.0)
            size = sum(np.abs(z.ravel()) for z in values) + sum(
                np.abs(z) @ position for z in slopes
            )
            missed = missed | (np.abs(left.ravel()) > self.tolerance * size)
        return np.asarray(missed)


def _stack(conditions: Sequence[tuple[str, ca.SX]]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *[value for _, value in conditions])
