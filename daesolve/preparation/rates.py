"""The rate that a short run without feedback suggests, and what is to be said against a rate.

An error of a goal is to die within a few steps, and feedback is not to be what makes steps short.
With a step h an explicit method of high order answers to feedback best at rate * h of 0.03 to 0.1
(measured with DOP853 on the rolling wheel: below, drift adds up; above, its stages, which are of
low order, feel the feedback; beyond 6.4 it is unstable). The probe's steps, at a tolerance of 1e-8,
are about three times those at 1e-12: so rate = 0.3 over the probe's typical step. It is chosen
once: a rate that followed the current step, c / h, would shorten the step that it follows.

Where constraints lose rank at isolated positions, an error d of a goal throws the motion off its
branch by d / sqrt(epsilon) at the edge of what the proximal shift epsilon covers. It must have
died before the next such position, T later: critically damped, it falls by (1 + rate T)
exp(-rate T). This is to be epsilon, so that an error loses in between twice the digits that a
passage costs.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from daesolve.elimination.saddle import PROXIMAL_EPSILON
from daesolve.preparation.sizes import PROBE_RTOL, Probe
from daesolve.solvers import Dop853, Solver, Taylor

PER_STEP = 0.3
"""Rate times the probe's typical step."""
TAYLOR_STEP = 0.7
"""The step of Taylor's method at machine precision over the probe's."""
STABLE = {Taylor.name: 8.8, Dop853.name: 6.4}
"""Where the stability functions of the methods (Taylor's of order 20) leave the unit circle along
the negative real axis: the greatest stable rate * step."""


def automatic_rate(probe: Probe, *, passes: bool) -> tuple[float, str]:
    """Choose a rate for all goals from a short run without feedback.

    Parameters
    ----------
    probe
        The short run.
    passes
        Whether positions where constraints lose rank are to be passed.

    Returns
    -------
    tuple of float and str
        The rate in 1/s, positive, and why it is this one.
    """
    rate = PER_STEP / probe.typical_step
    reason = f"{PER_STEP:g} over the median step by time, {probe.typical_step:.3g} s"
    if passes and passing_rate(probe) > rate:
        rate = passing_rate(probe)
        reason = f"positions where constraints lose rank, {probe.between:.3g} s apart"
    return rate, reason


def passing_rate(probe: Probe) -> float:
    """Return the rate (1/s) at which errors die between positions where constraints lose rank."""

    def digits(decay: float) -> float:
        return float(np.log1p(decay)) - decay - float(np.log(PROXIMAL_EPSILON))

    return brentq(digits, 1.0, 100.0) / probe.between


def stiffness_warning(solver: Solver, rate: float, probe: Probe) -> str | None:
    """Say so where a rate is beyond what an explicit method can follow at its own step.

    Parameters
    ----------
    solver
        The method; None is returned for those whose stability does not limit the step.
    rate
        The largest rate of the run, 1/s.
    probe
        The short run without feedback.

    Returns
    -------
    str or None
        A sentence with the numbers.
    """
    bound = STABLE.get(solver.name)
    if bound is None:
        return None
    step = _own_step(solver, probe)
    if rate * step <= bound:
        return None
    told = solver.tolerances().get("fixed_step")
    follows = (
        "the run is unstable; take a shorter step or a lower rate"
        if told is not None
        else f"feedback makes the steps at least {rate * step / bound:.2g} times shorter; lower it"
    )
    return (
        f"the rate {rate:.4g} 1/s is stiff for {solver.name}: rate * step is {rate * step:.3g} "
        f"with a step of {step:.3g} s, beyond the method's stability bound of {bound:g}: {follows}"
    )


def _own_step(solver: Solver, probe: Probe) -> float:
    """Return about the step that a method would take without feedback."""
    settings = solver.tolerances()
    if "fixed_step" in settings:
        return settings["fixed_step"]
    if solver.name == Taylor.name:
        return TAYLOR_STEP * probe.typical_step
    return probe.typical_step * (settings["rtol"] / PROBE_RTOL) ** (1.0 / 8.0)
