"""SUNDIALS IDAS through CasADi: semi-explicit equations of index 1 and 2, exact Jacobians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.formulations import DaeProblem, OdeProblem
from daesolve.solvers.casadi_grid import (
    UNITS,
    Grid,
    IntegrationError,
    Parts,
    engine_of,
    run,
)
from daesolve.solvers.error_control import (
    IdaControlled,
    consistent_start,
    control,
)
from daesolve.solvers.segment import State

NEWTON = 0.01
"""The fraction of the tolerance to which Newton's iteration converges. With SUNDIALS' third, errors
of the iteration pass for errors of the step: nearly twice the steps in index 2."""


@dataclass(frozen=True)
class Idas(IdaControlled):
    """Backward differentiation formulas of variable order and step for index 1 and 2.

    CasADi hides the accepted steps; monitors see a grid that is at least twice as dense.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance; the test of a step gets a part of them, see
        `error_control`.
    """

    name = "idas"
    forms = frozenset({"index-1", "index-2"})

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Grid:
        """Return CasADi's integrator at work."""
        assert isinstance(problem, DaeProblem)

        def integrate(start: State, end: float, parts: Parts) -> tuple[np.ndarray, dict[str, Any]]:
            return self._integrate(problem, start, end, parts)

        return Grid(problem, integrate)

    def _integrate(
        self, problem: DaeProblem, state: State, until: float, parts: Parts
    ) -> tuple[np.ndarray, dict[str, Any]]:
        pace = (until - state.time) / UNITS
        judged = control(problem, self.rtol, self.atol, state.x)
        start = consistent_start(problem, state, until - state.time, judged)
        if not start.finite:
            raise IntegrationError("idas: the rate of the state is not finite")
        tau, x, z, p = (problem.differential.sx_in(k) for k in range(4))
        arguments = (state.time + pace * tau, x, z, p)
        dae = {
            "t": tau,
            "x": x,
            "z": z,
            "p": p,
            "ode": pace * problem.differential(*arguments),
            "alg": problem.algebraic(*arguments),
        }
        options = {
            "reltol": judged.rtol,
            "abstolv": judged.atol.tolist(),
            "suppress_algebraic": True,
            "nonlin_conv_coeff": NEWTON,
            "max_multistep_order": judged.highest_order,
            "calc_ic": False,
            "init_xdot": (pace * start.rate).tolist(),
            "step0": start.first_step / abs(pace),
        }
        known = {"x0": state.x, "z0": start.unknowns, "p": state.p}
        return run("idas", engine_of("idas", dae, parts, options), known)
