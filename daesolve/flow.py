"""Time derivatives along the motion of a system whose accelerations are still unknown."""

from __future__ import annotations

import casadi as ca

from daesolve.linear import solve_small


class Flow:
    """Derivatives along the motion, with v' still unknown.

    Implicit unknowns are differentiated through the implicit function theorem: their rates are
    symbols of their own (sigma) until the end, and sigma' follows from r = g' + rate g = 0, r' = 0.
    That writes half of what differentiating the solved form would.

    Parameters
    ----------
    t, positions, velocities
        Symbols of time, of (q, s) and of v.
    coordinate_rates
        q' as an expression of (t, q, s, v).
    sigma
        The symbols of s'.
    equations
        The implicit residuals g.
    tracking_rates
        Their feedback rates.
    """

    def __init__(
        self,
        t: ca.SX,
        positions: ca.SX,
        velocities: ca.SX,
        coordinate_rates: ca.SX,
        sigma: ca.SX,
        equations: ca.SX,
        tracking_rates: ca.SX,
    ) -> None:
        self.t, self.positions, self.velocities, self.sigma = t, positions, velocities, sigma
        self.rates = ca.vertcat(coordinate_rates, sigma)
        self.position_rates = self.rates
        if sigma.numel() == 0:
            return
        unknowns = positions[-sigma.numel() :]
        drift = self._along(equations)
        gradient = ca.jacobian(equations, unknowns)
        known = ca.substitute(drift, sigma, ca.SX.zeros(*sigma.shape))
        solved = -solve_small(gradient, known + tracking_rates * equations)
        self.position_rates = ca.vertcat(coordinate_rates, solved)
        curvature = self._along(drift) - tracking_rates**2 * equations
        by_velocity = ca.jacobian(drift, velocities)
        self._sigma_bias = -solve_small(gradient, curvature)
        self._sigma_jacobian = -solve_small(gradient, by_velocity)

    def _along(self, expressions: ca.SX) -> ca.SX:
        moved = ca.jtimes(expressions, self.positions, self.rates)
        return moved + ca.jtimes(expressions, self.t, ca.SX(1))

    def derivative(self, expressions: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Differentiate a column by time: (bias, jacobian) of `bias + jacobian @ v'`."""
        bias = self._along(expressions)
        jacobian = ca.jacobian(expressions, self.velocities)
        if self.sigma.numel() and ca.depends_on(expressions, self.sigma):
            by_sigma = ca.jacobian(expressions, self.sigma)
            bias = bias + by_sigma @ self._sigma_bias
            jacobian = jacobian + by_sigma @ self._sigma_jacobian
        return bias, jacobian

    def explicit(self, expressions: ca.SX) -> ca.SX:
        """Put the solved rates of the implicit unknowns in place of their symbols."""
        if self.sigma.numel() == 0:
            return expressions
        solved = self.position_rates[-self.sigma.numel() :]
        return ca.substitute(expressions, self.sigma, solved)
