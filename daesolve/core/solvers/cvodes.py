"""SUNDIALS CVODES through CasADi: multistep, with Jacobians by automatic differentiation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.core.solvers.casadi_grid import UNITS, Grid, Parts, engine_of, run
from daesolve.core.solvers.error_control import Multistep
from daesolve.core.solvers.segment import State


@dataclass(frozen=True)
class Cvodes(Multistep):
    """Variable-order, variable-step multistep method.

    CasADi hides the accepted steps; monitors see a grid that is at least twice as dense.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    name = "cvodes"

    def integrator(self, problem: OdeProblem, start: State, until: float) -> Grid:
        """Return CasADi's integrator at work."""

        def integrate(start: State, end: float, parts: Parts) -> tuple[np.ndarray, dict[str, Any]]:
            pace = (end - start.time) / UNITS
            values = np.concatenate([start.p, [start.time, pace]])
            engine = self._engine(problem, parts)
            return run("cvodes", engine, {"x0": start.x, "p": values})

        return Grid(problem, integrate)

    def _engine(self, problem: OdeProblem, parts: Parts) -> ca.Function:
        """Return an integrator; those of even parts are kept: to make one takes long."""
        known = _engines.setdefault(problem, {})
        if isinstance(parts, int) and (self, parts) in known:
            return known[self, parts]
        tau, x, p = (problem.rhs.sx_in(k) for k in range(3))
        start, pace = symbol("start"), symbol("pace")
        dae = {
            "t": tau,
            "x": x,
            "p": ca.vertcat(p, start, pace),
            "ode": pace * problem.rhs(start + pace * tau, x, p),
        }
        options = {
            "reltol": self.rtol,
            "abstol": self.atol,
            "linear_multistep_method": self.method,
        }
        made = engine_of("cvodes", dae, parts, options)
        if isinstance(parts, int):
            known[self, parts] = made
        return made


_engines: WeakKeyDictionary[OdeProblem, dict[tuple[Cvodes, int], ca.Function]]
_engines = WeakKeyDictionary()
