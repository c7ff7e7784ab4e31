"""The motion of a freed system: its equations, and time derivatives along it.

The equations are those of Lagrange, Hamel (in quasi-velocities) or Newton and Euler. The
accelerations are still unknown, so time derivatives are written as gradients and Hessians times
rates. Thus each derivative of a shape (the slope and the curvature of a curve) occurs only once,
whatever the direction in which it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.expressions.identities import vanishes, vanishing
from daesolve.core.expressions.linear import solve_definite, solve_small
from daesolve.core.expressions.singular_values import null_space
from daesolve.core.posing.symbols import time
from daesolve.errors import PosingError

WHOLE = 1e-13
"""Entries closer to whole numbers than this, at random states, may equal them."""
DEPENDENT = 1e-10
"""What counts as zero in combinations of velocities that move no coordinate."""


@dataclass(frozen=True, eq=False)
class FreeMotionEquations:
    """M v' = h of a system without constraints: the mass matrix (nv, nv) and h (nv, 1)."""

    mass: ca.SX
    force: ca.SX


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Coordinates q, velocities v, and q' as an expression of both.

    Parameters
    ----------
    q, v
        Symbols.
    q_dot
        S(q) v; or v itself if the velocities are the rates of the coordinates.
    massless
        Symbols that energies must not contain: implicit unknowns and their rates.
    quasi
        Whether the velocities differ from the rates of the coordinates.
    """

    q: ca.SX
    v: ca.SX
    q_dot: ca.SX
    massless: ca.SX
    quasi: bool


def lagrange(kinetic: ca.SX, potential: ca.SX, k: Kinematics) -> FreeMotionEquations:
    """Derive d/dt dT/dv = S^T d(T - V)/dq (+ brackets), solved for M v' = h.

    Parameters
    ----------
    kinetic, potential
        T(t, q, v) and V(t, q), in J.
    k
        The kinematics.

    Raises
    ------
    PosingError
        An energy depends on symbols that it must not contain.
    """
    if k.massless.numel() and ca.depends_on(kinetic, k.massless):
        raise PosingError("the kinetic energy must not depend on implicit unknowns")
    momentum = ca.gradient(kinetic, k.v)
    mass = ca.jacobian(momentum, k.v)
    if ca.depends_on(mass, k.v):
        raise PosingError("the kinetic energy must be quadratic in the velocities")
    force = _inertial_forces(kinetic, momentum, k)
    return FreeMotionEquations(mass, force + _potential_force(potential, k))


def hamel(functions: ca.SX, k: Kinematics, accelerations: ca.SX) -> ca.SX:
    """Apply Hamel's operator: [u]_a = d/dt(du/dv_a) - S_a(u) - sum over b, c of v_b c^c_ba du/dv_c.

    S_a is column a of S as a derivation, and [S_b, S_a] = sum S_c c^c_ba. In rates of coordinates
    it is Lagrange's operator, d/dt(du/dq') - du/dq; applied to u = L it gives the equations of
    motion.

    Parameters
    ----------
    functions
        u(t, q, v), (m, 1).
    k
        The kinematics.
    accelerations
        v', (nv, 1).

    Returns
    -------
    casadi.SX
        (nv, m), a column for each function.

    Raises
    ------
    PosingError
        The kinematics are not linear in the velocities.
    """
    momenta = ca.jacobian(functions, k.v).T
    columns = [ca.jacobian(momenta[:, i], k.v) @ accelerations for i in range(functions.numel())]
    return ca.horzcat(ca.SX(k.v.numel(), 0), *columns) - _inertial_forces(functions, momenta, k)


def _inertial_forces(functions: ca.SX, momenta: ca.SX, k: Kinematics) -> ca.SX:
    """Return the terms of -[u] without v', for each function u with du/dv, as columns (nv, m)."""
    directions = ca.jacobian(k.q_dot, k.v)
    structure = structure_of(directions, k) if k.quasi else None
    columns: list[ca.SX] = []
    for function, momentum in zip(ca.vertsplit(functions), ca.horzsplit(momenta), strict=True):
        force = (
            directions.T @ ca.gradient(function, k.q)
            - ca.jtimes(momentum, k.q, k.q_dot)
            - ca.jtimes(momentum, time, ca.SX(1))
        )
        columns.append(force if structure is None else force + structure.T @ momentum)
    return ca.horzcat(ca.SX(k.v.numel(), 0), *columns)


def newton_euler(mass: ca.SX, potential: ca.SX, k: Kinematics) -> FreeMotionEquations:
    """Return the motion for a given mass matrix; the forces contain everything else.

    Raises
    ------
    PosingError
        The matrix has the wrong shape, or the potential depends on velocities or other symbols that
        it must not contain.
    """
    count = k.v.numel()
    if mass.shape != (count, count):
        raise PosingError(f"the mass matrix must be {count} by {count}, not {mass.shape}")
    return FreeMotionEquations(mass, _potential_force(potential, k))


def _potential_force(potential: ca.SX, k: Kinematics) -> ca.SX:
    if ca.depends_on(potential, ca.vertcat(k.v, k.massless)):
        raise PosingError("the potential must depend only on coordinates and time")
    return -ca.jacobian(k.q_dot, k.v).T @ ca.gradient(potential, k.q)


def structure_of(directions: ca.SX, k: Kinematics) -> ca.SX:
    """Return the sums over b of v_b c^c_ba, row c and column a: [S_b, S_a] = sum S_c c^c_ba.

    If S contains time, dS_a/dt is added to the brackets.
    """
    if not vanishes(k.q_dot - directions @ k.v):
        raise PosingError("kinematics must be linear in the quasi-velocities: q' = S(q) v")
    brackets = [
        ca.jtimes(directions[:, a], k.q, k.q_dot) - ca.jtimes(k.q_dot, k.q, directions[:, a])
        for a in range(k.v.numel())
    ]
    commutators = ca.sparsify(ca.horzcat(*brackets))
    if not commutators.nnz() and not ca.depends_on(directions, time):
        return ca.SX(k.v.numel(), k.v.numel())
    _check_independent(directions, k.v)
    structure = _with_whole_numbers(_in_directions(directions, commutators), k.v)
    turning = ca.sparsify(ca.jtimes(directions, time, ca.SX(1)))
    return structure + _in_directions(directions, turning) if turning.nnz() else structure


def _check_independent(directions: ca.SX, v: ca.SX) -> None:
    """Refuse velocities of which some combination moves no coordinate: their brackets are open."""
    symbols = ca.symvar(directions)
    numbers = np.random.default_rng(5).normal(size=len(symbols))
    matrix = np.array(ca.DM(ca.substitute(directions, ca.vertcat(*symbols), ca.DM(numbers))))
    null = null_space(matrix, DEPENDENT)
    if null.shape[1]:
        taking_part = np.any(np.abs(null) > DEPENDENT, axis=1)
        names = [repr(v[k].name()) for k in np.flatnonzero(taking_part).tolist()]
        raise PosingError(
            f"the quasi-velocities {', '.join(names)} move no coordinate, alone or together: give "
            "each way in which the coordinates move one velocity"
        )


def _in_directions(directions: ca.SX, columns: ca.SX) -> ca.SX:
    """Return the coefficients of columns that are combinations of given directions."""
    if directions.shape[0] == directions.shape[1]:
        return solve_small(directions, columns)
    return solve_definite(directions.T @ directions, directions.T @ columns)


def _with_whole_numbers(structure: ca.SX, v: ca.SX) -> ca.SX:
    """Replace entries by whole-number combinations of velocities where these are proved equal.

    The structure constants of a rotation are 0 and 1, but its quaternion hides this.
    """
    by_velocity = ca.jacobian(ca.vec(structure), v)
    free = ca.vertcat(*ca.symvar(by_velocity))
    function = ca.Function("structure", [free], [ca.densify(by_velocity)])
    generator = np.random.default_rng(5)
    found = np.array(
        [np.asarray(function(generator.uniform(0.5, 1.5, size=free.numel()))) for _ in range(4)]
    )
    whole = np.rint(found[0])
    near = np.abs(found - whole).max(axis=(0, 2), initial=0.0) < WHOLE
    candidates: list[int] = np.flatnonzero(near).tolist()
    proved = vanishing(by_velocity[candidates, :] - ca.DM(whole[candidates, :])).all(axis=1)
    places = {candidates[k] for k in np.flatnonzero(proved).tolist()}
    rows = [
        ca.dot(ca.sparsify(ca.DM(whole[index])), v) if index in places else ca.vec(structure)[index]
        for index in range(len(near))
    ]
    return ca.reshape(ca.vertcat(*rows), structure.shape)


@dataclass(frozen=True, eq=False)
class Tracked:
    """Implicit unknowns: s, the symbols of s', the equations g(t, q, s) = 0 and their rates."""

    unknowns: ca.SX
    rates: ca.SX
    equations: ca.SX
    feedback: ca.SX


@dataclass(frozen=True, eq=False)
class AuxiliaryQuantities:
    """Auxiliary quantities: y, the symbols of y', and their definitions Y(t, q, s)."""

    symbols: ca.SX
    rates: ca.SX
    meanings: ca.SX


@dataclass(frozen=True, eq=False)
class Rate:
    """A derivative that is affine in the accelerations: bias + jacobian @ v'."""

    bias: ca.SX
    jacobian: ca.SX


class MotionDerivatives:
    """Derivatives along the motion, with v' still unknown.

    Implicit unknowns are differentiated by the implicit function theorem: their rates sigma stay
    symbols until the end, and sigma' follows from (g' + rate g)' = 0. Auxiliary quantities are
    symbols too, differentiated by the chain rule.

    Parameters
    ----------
    t, q, v
        Symbols of time, coordinates and velocities.
    q_dot
        q' as an expression of (t, q, v).
    tracked, named
        Implicit unknowns and auxiliary quantities; None if there are none.
    """

    def __init__(
        self,
        t: ca.SX,
        q: ca.SX,
        v: ca.SX,
        q_dot: ca.SX,
        tracked: Tracked | None = None,
        named: AuxiliaryQuantities | None = None,
    ) -> None:
        empty = ca.SX(0, 1)
        self._tracked = tracked or Tracked(empty, empty, empty, empty)
        self._named = named or AuxiliaryQuantities(empty, empty, empty)
        self.t, self.velocities = t, v
        self.positions = ca.vertcat(q, self._tracked.unknowns)
        self._shape = ca.vertcat(self.positions, self._named.symbols)
        self._rates = ca.vertcat(q_dot, self._tracked.rates, self._named.rates)
        position_rates = ca.vertcat(q_dot, self._tracked.rates)
        meanings = self._named.meanings
        self._by_position = ca.jacobian(meanings, self.positions)
        self._named_rates = self._by_position @ position_rates + self._by_time(meanings)
        q_second = Rate(ca.jacobian(q_dot, q) @ q_dot + self._by_time(q_dot), ca.jacobian(q_dot, v))
        solved, s_second = self._track(q, q_dot, q_second)
        self.position_rates = self._without_names(ca.vertcat(q_dot, solved))
        self._solved = solved
        x_second = _stack(q_second, s_second)
        y_second = Rate(
            self._quadratic(meanings, self.positions, position_rates)
            + self._by_position @ x_second.bias,
            self._by_position @ x_second.jacobian,
        )
        self._second = _stack(x_second, y_second)
        self._hidden = ca.vertcat(self._tracked.rates, self._named.rates)
        self._hidden_second = _stack(s_second, y_second)

    def _track(self, q: ca.SX, q_dot: ca.SX, q_second: Rate) -> tuple[ca.SX, Rate]:
        """Solve for sigma, and for sigma' as an affine function of v'."""
        equations, feedback = self._tracked.equations, self._tracked.feedback
        count = self._tracked.unknowns.numel()
        if count == 0:
            return ca.SX(0, 1), Rate(ca.SX(0, 1), ca.SX(0, self.velocities.numel()))
        shape = ca.jacobian(equations, self._shape)
        direct = shape[:, : self.positions.numel()]
        named = shape[:, self.positions.numel() :]
        total = direct + named @ self._by_position
        by_q, by_s = total[:, : q.numel()], total[:, q.numel() :]
        moving = self._by_time(equations) + named @ self._by_time(self._named.meanings)
        solved = -solve_small(by_s, by_q @ q_dot + moving + feedback * equations)
        rates = ca.vertcat(q_dot, self._tracked.rates)
        curvature = (
            self._quadratic(equations, self._shape, self._rates)
            + named @ self._quadratic(self._named.meanings, self.positions, rates)
            + by_q @ q_second.bias
            - feedback**2 * equations
        )
        return solved, Rate(
            -solve_small(by_s, curvature), -solve_small(by_s, by_q @ q_second.jacobian)
        )

    def _by_time(self, expressions: ca.SX) -> ca.SX:
        return ca.jtimes(expressions, self.t, ca.SX(1))

    def _quadratic(self, expressions: ca.SX, arguments: ca.SX, rates: ca.SX) -> ca.SX:
        """Return the part of the second time derivative that is quadratic in the rates."""
        parts: list[ca.SX] = []
        for index in range(expressions.numel()):
            expression = expressions[index]
            gradient = ca.jacobian(expression, arguments).T
            drift = self._by_time(expression)
            hessian = ca.jacobian(gradient, arguments)
            parts.append(
                _quadratic_form(hessian, rates)
                + 2 * (ca.jacobian(drift, arguments) @ rates)
                + self._by_time(drift)
            )
        return ca.vertcat(ca.SX(0, 1), *parts)

    def first(self, expression: ca.SX) -> Rate:
        """Differentiate an expression of positions and velocities by time."""
        bias = ca.jacobian(expression, self._shape) @ self._rates + self._by_time(expression)
        by_hidden = ca.jacobian(expression, self._hidden)
        return Rate(
            bias + by_hidden @ self._hidden_second.bias,
            ca.jacobian(expression, self.velocities) + by_hidden @ self._hidden_second.jacobian,
        )

    def second(self, expression: ca.SX) -> tuple[ca.SX, Rate]:
        """Differentiate an expression of positions twice: the first rate, and the second."""
        gradient = ca.jacobian(expression, self._shape)
        rate = gradient @ self._rates + self._by_time(expression)
        bias = self._quadratic(expression, self._shape, self._rates)
        second = Rate(bias + gradient @ self._second.bias, gradient @ self._second.jacobian)
        return rate, second

    def explicit(self, expressions: ca.SX) -> ca.SX:
        """Substitute the definitions of auxiliary symbols and of the rates sigma."""
        if self._named.symbols.numel():
            expressions = ca.substitute(expressions, self._named.rates, self._named_rates)
        if self._tracked.rates.numel():
            expressions = ca.substitute(expressions, self._tracked.rates, self._solved)
        return self._without_names(expressions)

    def _without_names(self, expressions: ca.SX) -> ca.SX:
        if not self._named.symbols.numel():
            return expressions
        return ca.substitute(expressions, self._named.symbols, self._named.meanings)


def _quadratic_form(symmetric: ca.SX, vector: ca.SX) -> ca.SX:
    """Return v . A v from one triangle of A, so that the products v_i v_j are shared."""
    total = ca.SX(0)
    for row, column in zip(*symmetric.sparsity().get_triplet(), strict=True):
        if row == column:
            total = total + symmetric[row, row] * vector[row] ** 2
        elif row < column:
            total = total + 2 * symmetric[row, column] * (vector[row] * vector[column])
    return total


def _stack(first: Rate, second: Rate) -> Rate:
    return Rate(ca.vertcat(first.bias, second.bias), ca.vertcat(first.jacobian, second.jacobian))
