"""The constraints of a mechanical system as forms in its velocities: theta = A(q) v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import scipy

from daesolve.core.equations.consistency import (
    check_named,
    complete_start,
    sample_states,
    start_value,
)
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.projection import metrics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.linear import solve_small
from daesolve.core.expressions.singular_values import (
    singular_directions,
    singular_values,
    unit_length,
)
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.system.consistent_state import check_system, parameter_values
from daesolve.core.system.system import MechanicalSystem, System, unswitched
from daesolve.errors import (
    DegenerateStartError,
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    check_counts,
    check_names,
    is_number,
)

TAKES_PART = 1e-6
"""A goal takes part in a dependence of unit length if its entry exceeds this."""


# -- the constraints as forms --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Forms:
    """The exterior derivatives of the constraints, on the velocities that they leave, at a state.

    Parameters
    ----------
    matrix
        (d (d - 1) / 2, m): dtheta_i(a, b) for pairs a < b of a basis of D, orthonormal in given
        units of the velocities, theta_i of unit length there, relative to the terms of the sums.
    singular_values
        The singular values of `matrix`, (m,), padded with zeros.
    lengths
        The lengths of the constraints, (m,), in the same units.
    """

    matrix: np.ndarray
    singular_values: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True, eq=False)
class Independence:
    """The rank of constraints at a state, the dependent ones, and the velocities that they leave.

    Parameters
    ----------
    rank
        The rank of the constraints.
    dependent
        The names, for a message, of the goals that take part in dependences.
    free
        (nv, nv - rank): the remaining velocities, orthonormal in the units of the velocities.
    """

    rank: int
    dependent: str
    free: np.ndarray


@dataclass(frozen=True, eq=False)
class PfaffSystem:
    """The constraints A(q) v = 0 of a mechanical system with q' = S(q) v.

    Parameters
    ----------
    dynamics
        The equations.
    goals
        The names of the m constraints.
    places
        The indices in x of the positions q: coordinates and implicit unknowns.
    coefficients, directions
        A (m, nv) and S (nq, nv).
    """

    dynamics: Dynamics
    goals: tuple[str, ...]
    places: np.ndarray
    coefficients: ca.SX
    directions: ca.SX

    @staticmethod
    def of(system: System) -> PfaffSystem:
        """Build it from the constraints of a system.

        Raises
        ------
        PosingError
            It is not a mechanical system, or a constraint is not linear and homogeneous in the
            velocities, or contains time.
        """
        dynamics = mechanical(system)
        rows, rates, places = velocity_level(dynamics)
        described = [(f"the constraint {name!r}", value) for name, value in rows.items()]
        described += [(f"the rate of {dynamics.labels.states[k]!r}", rates[i])
                      for i, k in enumerate(places)]  # fmt: skip
        for what, value in described:
            _check_homogeneous(dynamics, what, value)
        v = dynamics.velocities
        stack = ca.vertcat(ca.SX(0, 1), *rows.values())
        return PfaffSystem(
            dynamics, tuple(rows), places, ca.jacobian(stack, v), ca.jacobian(rates, v)
        )

    @property
    def positions(self) -> ca.SX:
        """The symbols of q."""
        return ca.vertcat(ca.SX(0, 1), *[self.dynamics.x[int(index)] for index in self.places])

    @property
    def velocity_count(self) -> int:
        """The number of velocities."""
        return self.dynamics.velocity_count

    def numbers(
        self,
        parameters: Mapping[str, float] | None,
        at: Mapping[str, float] | None,
        time: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return p as numbers, and the requested consistent state, None if there was no request.

        Raises
        ------
        PosingError
            The state does not determine the values of invariants on positions.
        UnknownNameError, OutOfRangeError, InconsistentStateError
            A name is unknown, a number is out of range, or no consistent state exists.
        """
        dynamics = self.dynamics
        refuse_drives(dynamics, "what constraints are worth")
        p = parameter_vector(dynamics, parameters)
        if at is None:
            return with_references(dynamics, p, np.zeros(dynamics.x.numel())), None
        x = complete_start(dynamics, p, check_named("state", at), time=time).state
        return with_references(dynamics, p, x), x

    def named(self, x: np.ndarray) -> dict[str, float]:
        """Return the positions in a state by name."""
        return {self.dynamics.labels.states[k]: float(x[k]) for k in self.places}

    @cached_property
    def _function(self) -> ArrayFunction:
        parts = [self.coefficients, self.directions]
        gradients = [ca.jacobian(ca.vec(part), self.positions) for part in parts]
        arguments = [self.dynamics.t, self.dynamics.x, self.dynamics.p]
        return ArrayFunction("pfaff", arguments, parts + gradients)

    def parts(self, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return A (m, nv), S (nq, nv) and their derivatives (m, nv, nq) and (nq, nv, nq)."""
        forms, directions, *gradients = self._function(0.0, x, p)
        by_positions = [
            gradient.reshape(*part.T.shape, len(self.places)).transpose(1, 0, 2)
            for part, gradient in zip((forms, directions), gradients, strict=True)
        ]
        return forms, directions, *by_positions

    def random_states(self, p: np.ndarray, count: int) -> list[np.ndarray]:
        """Return random finite states that fulfil the holonomic constraints.

        Raises
        ------
        InconsistentStateError
            No such state was found.
        """
        samples = sample_states(self.dynamics, p, count=count, at_rest=4 * count)
        states = [x for _, x in samples if all(np.all(np.isfinite(z)) for z in self.parts(x, p))]
        if not states:
            raise InconsistentStateError(
                "no random state fulfils the constraints with finite numbers: give parameters= "
                "for which one exists"
            )
        return states

    def rank(
        self, x: np.ndarray, p: np.ndarray, units: np.ndarray, tolerance: float
    ) -> Independence:
        """Return the rank of the constraints at a state, with velocities measured in `units`."""
        directions = singular_directions(unit_length(self.parts(x, p)[0] @ units, 1))
        dependent = np.any(np.abs(directions.dependences(tolerance)) > TAKES_PART, axis=1)
        names = [name for name, part in zip(self.goals, dependent, strict=True) if part]
        rank, free = directions.rank(tolerance), directions.null_space(tolerance)
        return Independence(rank, ", ".join(map(repr, names)), free)

    def regular(
        self, states: Sequence[np.ndarray], p: np.ndarray, tolerance: float
    ) -> tuple[list[int], list[int]]:
        """Return independent constraints, and the velocities that they determine.

        Raises
        ------
        DegenerateStartError
            At the first state, which counts, more constraints depend on each other than at others.
        """
        here = states[0]
        units = unit_velocities(self.dynamics, 0.0, here, p)
        own = self.rank(here, p, units, tolerance)
        check_regular(own, max(self.rank(x, p, units, tolerance).rank for x in states))
        return regular_block(self.parts(here, p)[0], units, own.rank)

    def basis(self, kept: list[int], solved: list[int], free: list[int]) -> ca.SX:
        """Return the velocities (nv, free) that constraints leave, solved for some of them."""
        basis = ca.SX(self.velocity_count, len(free))
        basis[free, :] = ca.SX.eye(len(free))
        if free and solved:
            rows = self.coefficients[kept, :]
            basis[solved, :] = -solve_small(rows[:, solved], rows[:, free])
        return basis

    def forms(self, x: np.ndarray, p: np.ndarray, units: np.ndarray, tolerance: float) -> Forms:
        """Return the exterior derivatives of the independent constraints at a state.

        Raises
        ------
        PosingError
            Kinematics that are not among the constraints restrict the velocities.
        """
        lengths = np.linalg.norm(self.parts(x, p)[0] @ units, axis=1)
        free = units @ self.rank(x, p, units, tolerance).free
        forms, terms = _exterior(self.parts(x, p), free, tolerance)
        size = float(np.linalg.norm(terms / lengths)) or 1.0
        matrix = forms / lengths / size
        return Forms(matrix, singular_values(matrix, len(lengths)), lengths)


def check_regular(here: Independence, usual: int) -> None:
    """Refuse a state where the constraints become dependent.

    Raises
    ------
    DegenerateStartError
        The message names the dependent goals.
    """
    if here.rank < usual:
        raise DegenerateStartError(
            f"at this state the constraints {here.dependent} depend on each other, but not "
            "elsewhere: the remaining velocities have another dimension here than nearby; "
            "choose a neighbouring state"
        )


def _exterior(
    parts: tuple[np.ndarray, ...], free: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return dtheta_i(a, b) for pairs of columns of `free`, and the summed sizes of their terms.

    dtheta(a, b) = Sa(theta(b)) - Sb(theta(a)) - theta([Sa, Sb]), a and b constant in v.
    """
    first, second = np.triu_indices(free.shape[1], 1)
    derivatives = _turned(parts, free)[:, first, second].T
    terms = _turned(tuple(map(np.abs, parts)), np.abs(free), 1.0)[:, first, second].T
    forms, directions = parts[0], parts[1]
    brackets = _turned((directions, directions, parts[3]), free)[:, first, second]
    inverse = np.linalg.pinv(directions)
    own = inverse @ brackets
    turning = _turned(tuple(map(np.abs, (directions, directions, parts[3]))), np.abs(free), 1.0)[
        :, first, second
    ]
    missed = np.linalg.norm(directions @ own - brackets)
    if missed > tolerance * np.linalg.norm(turning):
        raise PosingError(
            "the kinematics restrict the velocities more than the constraints do (the brackets "
            "of their columns leave them): pose these restrictions as constraints"
        )
    sizes = np.abs(forms) @ np.abs(inverse) @ turning
    return derivatives - (forms @ own).T, terms + sizes.T


def _turned(parts: tuple[np.ndarray, ...], free: np.ndarray, sign: float = -1.0) -> np.ndarray:
    """Return the derivative of rows b along S a, with `sign` times that of a along S b."""
    along = np.einsum("ijk,kl,la,jb->iab", parts[2], parts[1], free, free, optimize=True)
    return along + sign * along.transpose(0, 2, 1)


# -- velocity-level constraints ------------------------------------------------------------------


def mechanical(system: System) -> Dynamics:
    """Return the equations of a mechanical system.

    Raises
    ------
    PosingError
        It is not a mechanical system.
    """
    check_system(system)
    if not isinstance(system, MechanicalSystem):
        raise PosingError(
            "a ControlSystem has no constraints on velocities; this needs a MechanicalSystem"
        )
    return unswitched(system).dynamics


def parameter_vector(dynamics: Dynamics, parameters: Mapping[str, float] | None) -> np.ndarray:
    """Return p with the given parameters, and the defaults of others."""
    return dynamics.value_vector(parameter_values(dynamics, check_named("parameters", parameters)))


def state_vector(names: Sequence[str], state: Mapping[str, float] | None) -> np.ndarray:
    """Return the values of a state in the order of its names; those that are missing are zero."""
    given = check_named("state", state)
    check_names("state", given, names)
    return np.array([start_value(name, given.get(name, 0.0)) for name in names])


def velocity_level(dynamics: Dynamics) -> tuple[dict[str, ca.SX], ca.SX, np.ndarray]:
    """Return the constraints on velocities by name, and q' with the indices of q in x.

    Holonomic constraints contribute their rates, without feedback.

    Raises
    ------
    PosingError
        A constraint is measured from its value at the start, or does not always hold.
    """
    coordinates = np.arange(dynamics.coordinate_count)
    first = dynamics.position_count - len(dynamics.implicit_rows)
    places = np.concatenate([coordinates, np.arange(first, dynamics.position_count)])
    rows: dict[str, ca.SX] = {}
    for row in dynamics.rows:
        if row.from_start:
            raise PosingError(
                f"the constraint {row.name!r} is measured from its value at the start, so it "
                "is not a form in the velocities: leave it out "
                f"(system.without([{row.name!r}]))"
            )
        if row.hold is not None:
            raise PosingError(
                f"the constraint {row.name!r} is released at times: leave it out "
                f"(system.without([{row.name!r}])), or pose one that always holds"
            )
        rows[row.name] = ca.sparsify(dynamics.without_feedback(row.chain[-1]))
    rates = ca.vertcat(ca.SX(0, 1), *[dynamics.position_rates[int(index)] for index in places])
    return rows, ca.sparsify(dynamics.without_feedback(rates)), places


def with_references(
    dynamics: Dynamics, p: np.ndarray, x: np.ndarray, time: float = 0.0
) -> np.ndarray:
    """Return p with the values, at a state, of the invariants that positions keep.

    Raises
    ------
    PosingError
        An invariant is stationary there, such as the norm of a zero quaternion.
    """
    kept = [row for row in dynamics.invariants if row.on == "positions"]
    stack = ca.vertcat(ca.SX(0, 1), *[row.value for row in kept])
    parts = [stack, ca.jacobian(stack, dynamics.x)]
    function = ArrayFunction("kept", [dynamics.t, dynamics.x, dynamics.p], parts)
    values, gradients = function(time, x, p)
    changed = p.copy()
    for row, value, gradient in zip(kept, values.ravel(), gradients, strict=True):
        if not np.any(gradient):
            raise PosingError(
                f"the positions keep the value of {row.name!r}, but it is stationary in the state "
                "that should determine it; give one where it is not, such as a quaternion of "
                "length 1"
            )
        changed[ValueKind.REFERENCE.place(row.name, dynamics.values)] = value
    return changed


def unit_velocities(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return velocities (nv, nv), as columns, in which the mass matrix at a state is the identity.

    Quantities measured in them do not depend on the units of coordinates.
    """
    return np.linalg.inv(np.linalg.cholesky(metrics(dynamics, t, x, p)[1])).T


def check_linear(dynamics: Dynamics, what: str, value: ca.SX) -> ca.SX:
    """Return the part of an expression that does not contain velocities.

    Raises
    ------
    PosingError
        It is not linear in the velocities.
    """
    v = dynamics.velocities
    if ca.depends_on(ca.jacobian(value, v), v):
        raise PosingError(
            f"{what} is not linear in the velocities; leave it out (system.without), or pose "
            "it as a linear constraint"
        )
    return ca.SX(ca.sparsify(ca.substitute(value, v, ca.SX.zeros(*v.shape))))


def _check_homogeneous(dynamics: Dynamics, what: str, value: ca.SX) -> None:
    rest = check_linear(dynamics, what, value)
    if rest.nnz() and not vanishes(rest):
        raise PosingError(f"{what} does not vanish with the velocities, as a form must")
    if ca.depends_on(ca.jacobian(value, dynamics.velocities), dynamics.t):
        raise PosingError(f"{what} contains time, but forms depend only on positions")


def regular_block(rows: np.ndarray, units: np.ndarray, rank: int) -> tuple[list[int], list[int]]:
    """Return as many rows as the rank of a matrix, and velocities for which they can be solved.

    Parameters
    ----------
    rows
        (m, nv)
    units
        From `unit_velocities`.
    rank
        The rank of the rows.
    """
    kept = pivots(unit_length(rows @ units, 1).T, rank)
    heaviness = np.linalg.norm(np.linalg.inv(units), axis=0)
    return kept, pivots(rows[kept] / heaviness, rank)


def pivots(matrix: np.ndarray, count: int) -> list[int]:
    """Return some columns of a matrix that are as independent as possible, in order."""
    if count == 0:
        return []
    order = np.asarray(scipy.linalg.qr(matrix, mode="r", pivoting=True)[-1])
    return sorted(int(column) for column in order[:count])


def independent_columns(
    basis: np.ndarray, columns: np.ndarray, candidates: Sequence[int], tolerance: float
) -> list[int]:
    """Return which candidates among unit columns extend an orthonormal basis, one after another."""
    chosen: list[int] = []
    for index in candidates:
        rest = columns[:, index]
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > tolerance:
            chosen.append(index)
            basis = np.column_stack([basis, rest / length])
    return chosen


def check_numbers(tolerance: float, time: float = 0.0, **counts: int) -> None:
    """Refuse an invalid tolerance, time or count.

    Raises
    ------
    OutOfRangeError
        The message names it.
    """
    if not (is_number(tolerance) and 0.0 < tolerance < 1.0):
        raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must lie between 0 and 1")
    check_time(time)
    check_counts(1, **counts)


def check_time(time: float) -> None:
    """Refuse a time that is no finite number."""
    if not is_number(time):
        raise OutOfRangeError(f"the time is {time!r}, but must be a finite number of seconds")
