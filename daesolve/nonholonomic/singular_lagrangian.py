"""Singular Lagrangians, given directly: their constraints by the algorithm of Dirac and Bergmann.

A Lagrangian L = v.W(t, q) v/2 + a(t, q).v - V(t, q) whose Hessian W does not have full rank (some
velocities have no inertia) does not determine the accelerations. With the velocities v1 of a
regular block W11, the momenta fulfil the primary constraints

    Phi = p2 - a2 - W21 W11^-1 (p1 - a1) = 0,

and the motion has the Hamiltonian H0(t, q, p1) + Phi.lambda and forces Q(t, q, v):

    q' = dH0/dp + Phi_p^T lambda,    p' = -dH0/dq - Phi_q^T lambda + Q.

Constraints chi must persist, h + D lambda = 0 with D = dchi'/dlambda. If D has a left kernel on the
constraints, h must vanish along it. These secondary constraints must persist too, and so on until
nothing new follows. Then D determines a part of lambda, and the rest is arbitrary (gauge).

Sources: P. A. M. Dirac, Generalized Hamiltonian dynamics, Canadian J. Math. 2 (1950) 129-148;
A. V. Vlakhova, On "non-holonomic motions" of gyroscopic and wheeled systems, Vestnik Moskovskogo
Universiteta, Ser. 1, Mat. Mekh. (2013) no. 5, 67-73, (1) and (2); M. Henneaux, C. Teitelboim,
Quantization of Gauge Systems (1992), chapter 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy

from daesolve.core.equations.consistency import check_named, start_value
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import is_zero, solve_small
from daesolve.core.posing.goals import Expression, Goal, as_scalar
from daesolve.core.posing.symbols import DifferentiableVector, Parameters, SymbolVector, time
from daesolve.core.posing.symbols import parameters as declared
from daesolve.core.system.system import ControlSystem
from daesolve.errors import (
    ContradictoryGoalsError,
    OutOfRangeError,
    PosingError,
    check_names,
    is_number,
)
from daesolve.nonholonomic.constraint_forms import state_vector
from daesolve.nonholonomic.persistence import Constraints, ConstraintSurface, persistent

Values = Mapping[str, float]

SAMPLES = 6
"""The number of states at which ranks are examined."""
RANK = 1e-8
"""Singular values below this share of the largest count as zero."""


@dataclass(frozen=True, eq=False)
class SingularLagrangian:
    """A singular Lagrangian with all its constraints.

    Parameters
    ----------
    coordinates
        The coordinates of the Lagrangian.
    states
        Symbols of the coordinates and of all momenta, `momentum_<coordinate>`.
    rank
        The rank of the Hessian W.
    constraints
        Expressions of the states, by name: `primary_<coordinate>`, then `secondary_1`, ...,
        including those of later stages.
    stages
        The number of constraints at each stage, the primary ones first.
    first_class, second_class
        The number of constraints whose brackets with all others vanish, on the constraints, and the
        number of the rest.
    multipliers
        The names of the velocities v2, which are Dirac's multipliers.
    undetermined
        The multipliers that may be chosen (gauge freedom), as many as primary constraints of the
        first class.
    """

    coordinates: DifferentiableVector
    states: SymbolVector
    rank: int
    constraints: Mapping[str, ca.SX]
    stages: tuple[int, ...]
    first_class: int
    second_class: int
    multipliers: tuple[str, ...]
    undetermined: tuple[str, ...]
    _found: Constraints
    _own: _Hamiltonian
    _parameters: Parameters

    @property
    def freedom(self) -> float:
        """Degrees of freedom: half the dimension that constraints and gauge leave."""
        return len(self.coordinates) - self.first_class - self.second_class / 2

    def system(self, gauge: Mapping[str, Expression] | None = None) -> ControlSystem:
        """Pose the motion: states q and p, with goals that keep the constraints.

        Parameters
        ----------
        gauge
            Undetermined multipliers by name, each as an expression of time and states.

        Raises
        ------
        PosingError
            An undetermined multiplier is missing.
        UnknownNameError
            A name is not an undetermined multiplier.
        """
        given = dict(gauge or {})
        check_names("undetermined multiplier", given, self.undetermined)
        for name in self.undetermined:
            if name not in given:
                raise PosingError(
                    f"the multiplier {name!r} is not determined by the Lagrangian: give it in "
                    "gauge=, as an expression of time and states"
                )
        equations, surface = self._own, self._found
        kept = [name for name in self.multipliers if name not in self.undetermined]
        units = dict(zip(self.coordinates.rates.names, self.coordinates.rates.units, strict=True))
        controls = SymbolVector(
            tuple(f"{name}_multiplier" for name in kept),
            tuple(units[name] for name in kept),
            "reaction",
        )
        chosen = {name: as_scalar(f"the multiplier {name!r}", v) for name, v in given.items()}
        whole = ca.vertcat(
            *[
                chosen[name] if name in chosen else controls.vector[kept.index(name)]
                for name in self.multipliers
            ]
        )
        rate = ca.substitute(equations.rate, equations.multipliers, whole)
        names = list(self.constraints)
        goals = [
            Goal(names[place], surface.functions[place], ideal=False, at_start=True)
            for place in surface.roots()
        ]
        return ControlSystem(
            self.states,
            rate,
            parameters=self._parameters,
            controls=controls,
            goals=goals,
            outputs={
                name: (value, "")
                for name, value in self.constraints.items()
                if name not in {goal.name for goal in goals}
            }
            | {
                f"{name}_velocity": (whole[place], units[name])
                for place, name in enumerate(self.multipliers)
            },
        )

    def start(
        self, state: Values, parameters: Values | None = None, at: float = 0.0
    ) -> dict[str, float]:
        """Return the nearest state that fulfils all constraints.

        Parameters
        ----------
        state
            Values by name; missing ones are zero.
        parameters
            Values that differ from the defaults.
        at
            The time, s.

        Raises
        ------
        ContradictoryGoalsError
            There is no such state nearby.
        UnknownNameError, OutOfRangeError
            A name is unknown, or a number is out of range.
        """
        z = state_vector(self.states.names, state)
        p = _numbers(self._parameters, parameters)
        surface = ConstraintSurface(self._own, self._found.functions, p)
        found = surface.nearest(start_value("at", at), z)
        if found is None:
            raise ContradictoryGoalsError(
                "no state near the start fulfils all constraints "
                f"{', '.join(map(repr, self.constraints))}"
            )
        return dict(zip(self.states.names, found.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class _Hamiltonian:
    """Dirac's equations: (t, z, lambda, p) with z = (q, p).

    Parameters
    ----------
    t, states, multipliers, p
        Symbols.
    primary
        Phi, (m, 1).
    rate
        z', (2n, 1), linear in the multipliers.
    """

    t: ca.SX
    states: ca.SX
    multipliers: ca.SX
    p: ca.SX
    primary: ca.SX
    rate: ca.SX


def singular_lagrangian(
    coordinates: DifferentiableVector,
    lagrangian: Expression,
    parameters: Parameters | None = None,
    *,
    force: Mapping[str, Expression] | None = None,
    values: Values | None = None,
) -> SingularLagrangian:
    """Find all constraints of a singular Lagrangian, and pose its motion.

    Parameters
    ----------
    coordinates
        q, from `coordinates`.
    lagrangian
        L(t, q, q'), at most quadratic in the velocities.
    parameters
        From `parameters`.
    force
        Generalised forces that L does not contain, such as friction, by the name of a coordinate;
        they must be linear in the velocities without inertia.
    values
        Parameter values, overriding the defaults, at which ranks are examined.

    Returns
    -------
    SingularLagrangian
        Its constraints with their classes, and methods to build a system.

    Raises
    ------
    PosingError
        L is regular, or not quadratic in the velocities; its rank changes from state to state;
        forces are not linear; or constraints are not independent where they hold, such as z^2 = 0.
    ContradictoryGoalsError
        No motion fulfils the consequences of L, as for L = q.
    UnknownNameError, OutOfRangeError
        A name is unknown, or a number is out of range.

    Notes
    -----
    Ranks are determined at random states that fulfil the constraints, from singular values relative
    to the largest. They hold at almost every state.

    Examples
    --------
    A body on two springs in series with a massless node between them:

    >>> import daesolve as ds
    >>> from daesolve.nonholonomic import singular_lagrangian
    >>> q = ds.coordinates(x="m", s="m")
    >>> found = singular_lagrangian(q, (q.dot.x**2 - 3 * (q.x - q.s) ** 2 - 6 * q.s**2) / 2)
    >>> list(found.constraints), found.second_class, found.freedom
    (['primary_s', 'secondary_1'], 2, 1.0)
    >>> run = ds.solve(found.system(), 1.0, found.start({"x": 1.0}))
    >>> print(f"{run['s'][-1] / run['x'][-1]:.9f}")  # 3 / (3 + 6)
    0.333333333
    """
    given = declared() if parameters is None else parameters
    numbers = _numbers(given, values)
    hamiltonian, rank, small, states = _hamiltonian(
        coordinates, lagrangian, given, force or {}, numbers
    )
    surface = persistent(hamiltonian, numbers, SAMPLES, RANK)
    names = [f"primary_{coordinates.names[k]}" for k in small]
    later = len(surface.functions) - len(names)
    names += [f"secondary_{k + 1}" for k in range(later)]
    multipliers = tuple(coordinates.rates.names[k] for k in small)
    return SingularLagrangian(
        coordinates=coordinates,
        states=states,
        rank=rank,
        constraints=dict(zip(names, surface.functions, strict=True)),
        stages=surface.stages,
        first_class=len(surface.functions) - surface.second_class,
        second_class=surface.second_class,
        multipliers=multipliers,
        undetermined=tuple(multipliers[k] for k in surface.undetermined),
        _found=surface,
        _own=hamiltonian,
        _parameters=given,
    )


def _hamiltonian(
    coordinates: DifferentiableVector,
    lagrangian: Expression,
    parameters: Parameters,
    force: Mapping[str, Expression],
    numbers: np.ndarray,
) -> tuple[_Hamiltonian, int, list[int], SymbolVector]:
    """Return Dirac's equations, the rank of the Hessian, the indices of v2, and the states."""
    q, v, count = coordinates.vector, coordinates.dot.vector, len(coordinates)
    whole = as_scalar("the Lagrangian", lagrangian)
    gradient = ca.gradient(whole, v)
    hessian = ca.jacobian(gradient, v)
    if ca.depends_on(hessian, v):
        raise PosingError(
            "the Lagrangian is not quadratic in the velocities: its momenta are not linear in them"
        )
    check_names("coordinate", force, coordinates.names)
    rest = ca.SX.zeros(count)
    at_rest, linear = ca.substitute([whole, gradient], [v], [rest])
    large = _regular(hessian, q, parameters.vector, numbers)
    small = [k for k in range(count) if k not in large]
    if not small:
        raise PosingError(
            "the Lagrangian is regular: every velocity has inertia; pose a MechanicalSystem"
        )
    states = _phase_space(coordinates)
    # The states have separate symbols.
    own_q, own_p = states.vector[:count], states.vector[count:]
    multipliers = ca.SX.sym("multiplier", len(small))
    hessian, linear, at_rest = ca.substitute([hessian, linear, at_rest], [q], [own_q])
    free = (own_p - linear)[large] if large else ca.SX(0, 1)
    if large:
        heavy, mixed = hessian[large, large], hessian[large, small]
        moved, ties = solve_small(heavy, free), solve_small(heavy, mixed).T
    else:
        moved, ties = ca.SX(0, 1), ca.SX(len(small), 0)
    hamiltonian = ca.dot(free, moved) / 2 - at_rest
    primary = (own_p - linear)[small] - ties @ free
    velocities = ca.SX.zeros(count)
    first = moved - ties.T @ multipliers
    for place, index in enumerate(large):
        velocities[index] = first[place]
    for place, index in enumerate(small):
        velocities[index] = multipliers[place]
    forces = ca.vertcat(*[as_scalar(f"the force {n!r}", force.get(n, 0.0))
                          for n in coordinates.names])  # fmt: skip
    forces = ca.substitute(forces, ca.vertcat(q, v), ca.vertcat(own_q, velocities))
    pushed = forces - ca.gradient(hamiltonian, own_q) - ca.jtimes(primary, own_q, multipliers, True)
    rate = ca.vertcat(velocities, pushed)
    if ca.depends_on(ca.jacobian(rate, multipliers), multipliers):
        raise PosingError(
            "forces are not linear in the velocities that have no inertia: use small "
            "velocities of a regular system instead of a singular Lagrangian"
        )
    equations = _Hamiltonian(time, states.vector, multipliers, parameters.vector, primary, rate)
    return equations, len(large), small, states


def _phase_space(coordinates: DifferentiableVector) -> SymbolVector:
    """Return symbols of the coordinates and of their momenta."""
    momenta = [f"J s/{unit}" if unit else "J s" for unit in coordinates.units]
    return SymbolVector(
        (*coordinates.names, *(f"momentum_{name}" for name in coordinates.names)),
        (*coordinates.units, *momenta),
        "state",
    )


def _regular(hessian: ca.SX, q: ca.SX, p: ca.SX, numbers: np.ndarray) -> list[int]:
    """Return indices of a regular block of the Hessian, as large as its rank.

    Raises
    ------
    PosingError
        The rank, or the block, changes from state to state.
    """
    if is_zero(hessian):
        return []
    function = ArrayFunction("hessian", [time, q, p], [hessian])
    generator = np.random.default_rng(7)
    count = q.numel()
    matrices = [
        function(float(k), generator.normal(size=count), numbers)[0] for k in range(SAMPLES)
    ]
    matrices = _in_own_units(matrices)
    # In a symmetric matrix, independent rows form a regular block.
    _, _, order = scipy.linalg.qr(matrices[0], pivoting=True)
    rank = int(np.linalg.matrix_rank(matrices[0], tol=RANK * np.linalg.norm(matrices[0], 2)))
    large = sorted(int(k) for k in order[:rank])
    for matrix in matrices:
        size = RANK * float(np.linalg.norm(matrix, 2))
        block = matrix[np.ix_(large, large)]
        same = int(np.linalg.matrix_rank(matrix, tol=size)) == rank
        if not (same and int(np.linalg.matrix_rank(block, tol=size)) == rank):
            raise PosingError(
                "the Hessian of the Lagrangian has another rank in other states: its "
                "constraints do not belong to one system"
            )
    return large


def _in_own_units(matrices: list[np.ndarray]) -> list[np.ndarray]:
    """Return symmetric matrices with coordinates in units that make their inertia about one.

    In other units a regular matrix may look singular, for example with 1 kg and 1e-12 kg m^2.
    """
    sizes = np.max(np.abs(matrices), axis=0)
    own, rows = np.diag(sizes), np.max(sizes, axis=1)
    inertia = np.where(own > 0.0, own, np.where(rows > 0.0, rows, 1.0))
    units = 1.0 / np.sqrt(inertia)
    return [units[:, None] * matrix * units for matrix in matrices]


def _numbers(parameters: Parameters, values: Values | None) -> np.ndarray:
    """Return the values of the parameters as a column."""
    given = check_named("parameters", values)
    for name, value in given.items():
        check_names("parameter", [name], parameters.names)
        if not is_number(value):
            raise OutOfRangeError(f"the parameter {name!r} is {value!r}, but must be a number")
    return np.array([float(given.get(n, parameters.defaults[n])) for n in parameters.names])
