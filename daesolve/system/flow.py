"""Time derivatives along the motion of a system whose accelerations are still unknown.

Derivatives are written as gradients and Hessians times rates, so that the derivatives of a shape
(the slope and the bend of a curve) occur once, whatever the direction in which they are taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from daesolve.algebra.linear import solve_small


@dataclass(frozen=True, eq=False)
class Tracked:
    """Implicit unknowns: s, the symbols of s', the equations g(t, q, s) = 0 and their rates."""

    unknowns: ca.SX
    rates: ca.SX
    equations: ca.SX
    feedback: ca.SX


@dataclass(frozen=True, eq=False)
class AuxiliaryQuantities:
    """Auxiliary quantities: y, the symbols of y', and their meanings, Y(t, q, s)."""

    symbols: ca.SX
    rates: ca.SX
    meanings: ca.SX


@dataclass(frozen=True, eq=False)
class Rate:
    """A derivative that is affine in the accelerations: bias + jacobian @ v'."""

    bias: ca.SX
    jacobian: ca.SX


class Flow:
    """Derivatives along the motion, with v' still unknown.

    Implicit unknowns are differentiated through the implicit function theorem: their rates sigma
    are symbols until the end, and sigma' follows from (g' + rate g)' = 0. Auxiliary quantities
    are symbols too, differentiated by the chain rule.

    Parameters
    ----------
    t, q, v
        Symbols of time, coordinates and velocities.
    q_dot
        q' as an expression of (t, q, v).
    tracked, named
        Implicit unknowns and auxiliary quantities, None where there are none.
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
        """Put their meanings in place of auxiliary symbols and of the rates sigma."""
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
