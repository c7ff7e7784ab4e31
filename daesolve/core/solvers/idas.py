"""SUNDIALS IDAS through CasADi: semi-explicit equations of index 1 and 2, exact Jacobians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.solvers.casadi_grid import (
    UNITS,
    Grid,
    IntegrationError,
    Parts,
    engine_of,
    run,
)
from daesolve.core.solvers.error_control import (
    Control,
    IdaControlled,
    consistent_start,
    control,
)
from daesolve.core.solvers.segment import State

NEWTON = 0.01
"""The fraction of the tolerance to which Newton's iteration converges. With SUNDIALS' third, errors
of the iteration pass for errors of the step: nearly twice the steps in index 2."""
EXACT = 1e-2
"""The fraction of the tolerance to which an explicit step must be exact that replaces others."""


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
        try:
            return run("idas", engine_of("idas", dae, parts, options), known)
        except IntegrationError:
            short = _explicit(problem, state, until, parts, judged)
            if short is None:
                raise
            return short


def _explicit(
    problem: DaeProblem, state: State, until: float, parts: Parts, judged: Control
) -> tuple[np.ndarray, dict[str, Any]] | None:
    """Integrate a span in one step of the classical method of order 4; None if it is too long.

    In index 2 rounding grows as steps become shorter, until Newton's iteration does not converge.
    Where an event is located, a span may be as short as that.
    """

    def after(start: float, x: np.ndarray, end: float) -> np.ndarray:
        return _step(problem, start, x, state.p, end)

    middle = 0.5 * (state.time + until)
    whole = after(state.time, state.x, until)
    halves = after(middle, after(state.time, state.x, middle), until)
    limits = EXACT * (judged.atol[: len(halves)] + judged.rtol * np.abs(halves))
    if not np.all(np.abs(whole - halves) <= limits):
        return None
    inside = np.arange(1, parts + 1) / parts if isinstance(parts, int) else parts
    times = state.time + (until - state.time) * inside
    states = np.array([after(state.time, state.x, end) for end in times.tolist()])
    return states, {"nsteps": 1, "nfevals": 12 + 4 * len(inside)}


def _step(problem: DaeProblem, time: float, x: np.ndarray, p: np.ndarray, end: float) -> np.ndarray:
    step = end - time

    def rate(part: float, state: np.ndarray) -> np.ndarray:
        return np.asarray(problem.rhs(time + part * step, state, p)).ravel()

    first = rate(0.0, x)
    second = rate(0.5, x + 0.5 * step * first)
    third = rate(0.5, x + 0.5 * step * second)
    fourth = rate(1.0, x + step * third)
    return x + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
