"""Chooses the formulation, solver and rate of a run, and refuses pairs that do not fit.

Taylor's method is chosen where nothing is stiff, and `radau` with the exact Jacobian for stiff
equations: BDF is unstable for oscillations from order 3 on, begins at order 1
again after each event, and finds events by polynomials. Measured with the reduced omni vehicle with
dry friction in straight motion for 1 s, 30 to 80 events, by the share of mass of the rollers
(processor time on a loaded machine, with that of preparation):

    share  rate     rtol    solver              steps    s      x (1 s)
    1e-1   9.8e5    1e-6    radau, 3 stages      1011    0.8    0.94407475
    1e-1   9.8e5    1e-10   radau, 5 stages      2233    2.5    0.94407476014
    1e-3   9.8e7    1e-6    radau, 3 stages      1572    1.3    0.98808087
    1e-3   9.8e7    1e-6    sundae-cvode, bdf    9011    14     0.98800809
    1e-6   9.8e10   1e-6    radau, 3 stages      2235    2.1    0.99881389

An explicit method would take 1.5e5 steps in the first row, and 1.5e10 in the last. The eigenvalues
of the exact Jacobian at the start show it: -Re of the fastest decay, |Im| of the fastest
oscillation. An explicit method takes steps of a few times one over the fastest rate, whatever the
tolerance is, while the motion itself asks for steps of a part of the oscillations. An eigenvalue on
the imaginary axis is an oscillation to be followed, and no stiffness.

An error of a goal is to die within a few steps, and feedback is not to be what makes steps short.
With a step h an explicit method of high order answers to feedback best at rate * h of 0.03 to 0.1
(measured with DOP853 on the rolling wheel: below, drift adds up; above, its stages, which are of
low order, feel the feedback; beyond 6.4 it is unstable). The probe's steps, at a tolerance of 1e-8,
are about three times those at 1e-12: so rate = 0.3 over the probe's typical step. It is chosen
once: a rate that followed the current step, c / h, would shorten the step that it follows.

Where constraints lose rank at isolated positions, an error d of a goal throws the motion off its
branch by d / sqrt(epsilon) at the edge of what the proximal shift epsilon covers. It must have
died before the next such position, T later: critically damped, it falls by (1 + rate T)
exp(-rate T). This is set to epsilon, so that an error loses in between twice the digits that a
passage costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.saddle import PROXIMAL_EPSILON
from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.formulations import (
    Feedback,
    Formulation,
    OdeProblem,
    Projected,
    Viscous,
)
from daesolve.core.preparation.extensions import formulations, solver_kind, solvers
from daesolve.core.preparation.request import Request
from daesolve.core.preparation.sizes import PROBE_RTOL, Probe
from daesolve.core.solvers import SOLVERS, Cvodes, Dop853, RadauIIA, Solver, Taylor
from daesolve.core.solvers.jacobians import bordered, exact_jacobian, independent_motion
from daesolve.errors import MissingBackendError, UnsupportedError

MADE = {
    "ode": "an ordinary differential equation",
    "index-1": "a differential-algebraic equation of index 1",
    "index-2": "a differential-algebraic equation of index 2",
    "index-3": "a differential-algebraic equation of index 3",
    "overdetermined": "more equations than unknowns",
}
"""The kinds of equations that formulations produce, in words."""
Tolerances = tuple[float | None, float | None]
"""rtol and atol; None means the solver's own."""
TAKES_NO_ATOL = "solver cvodes instead of taylor, which has no absolute tolerance"
"""The note if tolerances change the choice of the solver."""
MANY = 1e4
"""Steps for stability alone below which an explicit method ends sooner: an implicit step costs
30 to 100 times one of its own."""
RESTARTED, OFTEN = 300.0, 30.0
"""An implicit method restarts at each reset, which costs as much as so many explicit steps: where
fewer reach the first reset, it pays only from so many times as many steps on."""
FASTER = 30.0
"""A decay is stiff if it is this many times as fast as the fastest oscillation and the rates of
feedback."""
WRITTEN_TO = 1000
"""Instructions of the rate up to which a Jacobian is found soon in any way."""
LARGE = 600
"""States beyond which eigenvalues take seconds; then those of independent velocities are taken."""
EXPLICIT_COST, IMPLICIT_COST, OVERHEAD = 1e-7, 4e-8, 1e-3
"""Seconds for an instruction of the rate in a step of Taylor's method (6e-8 if they are few, 1.5e-7
if they are many) and in one of radau, and for anything else in a step of radau."""
TURN = 0.9
"""How far the fastest motion turns in a step of radau at its default tolerance, rad."""
BEGINS = 10.0
"""Steps of radau until they are as long as the motion allows."""
WORTH, SAVED = 1.5, 1.0
"""Where the times of both are estimated, an implicit method is to take less by this factor, and by
this many seconds."""
BOUND = 0.5
"""Rate times the probe's step, over what is stable, from which stability limits the step."""
FEEDBACK_PER_STEP = 0.3
"""Rate times the probe's typical step."""
TAYLOR_STEP = 0.7
"""The step of Taylor's method at machine precision over the probe's."""
STABLE = {Taylor.name: 8.8, Dop853.name: 6.4}
"""Where the stability functions of the methods (Taylor's of order 20) leave the unit circle along
the negative real axis: the greatest stable rate * step."""


def check_pair(formulation: Formulation, solver: Solver) -> None:
    """Refuse, before anything is built, a solver that does not fit a formulation.

    Raises
    ------
    UnsupportedError
        It cannot; the message lists the formulations and solvers that fit.
    """
    form = formulation.form
    if form in solver.forms:
        return
    fitting = [name for name, kind in solvers()[0].items() if form in kind.forms]
    taken = [name for name, kind in formulations()[0].items() if kind.makes in solver.forms]
    raise UnsupportedError(
        f"the formulation {formulation.name!r} makes {MADE[form]}, which the solver "
        f"{solver.name!r} cannot integrate; use {formulation.name!r} with "
        f"{', '.join(fitting)}, or {solver.name!r} with {', '.join(taken)}"
    )


def choose_formulation(dynamics: Dynamics, request: Request, notes: list[str]) -> Formulation:
    """Return the requested formulation, or else feedback, or friction if that replaces constraints.

    Where constraints lose rank, an error on arrival throws the motion off its branch, so each step
    is also projected there.
    """
    if request.formulation is not None:
        return request.formulation
    if request.rank_loss == "pass" and dynamics.position_count and dynamics.rows:
        notes.append("formulation projected, to pass positions where constraints lose rank")
        return Projected()
    if request.rank_loss == "viscous":
        return Viscous()
    return Feedback()


def choose_solver(
    asked: Solver | None,
    formulation: Formulation,
    problem: OdeProblem,
    steps: float,
    notes: list[str],
    stiffness: Stiffness | None = None,
    tolerances: Tolerances = (None, None),
) -> Solver:
    """Return the requested solver, or one that fits the problem, with every choice made.

    Parameters
    ----------
    asked
        The requested solver; None for an automatic choice.
    formulation, problem
        The formulation, and its problem.
    steps
        The expected number of steps if the run is not stiff.
    notes
        Receives notes about the choices and their reasons.
    stiffness
        The stiffness from the Jacobian at the start; None if unknown.
    tolerances
        Of a solver that is chosen automatically.

    Raises
    ------
    UnsupportedError
        It lacks an operation.
    MissingBackendError
        No installed solver fits the problem.
    """
    if asked is None:
        chosen = _automatic(formulation, problem, steps, notes, stiffness)
        asked = _within(chosen, tolerances, notes)
    elif stiffness is not None and stiffness.recognised and _is_explicit(asked):
        notes.append(
            f"the equations are stiff for {asked.name}: {stiffness.words}; stability alone "
            f"requires about {stiffness.steps:.1g} steps; radau needs far fewer"
        )
    refusal = asked.refusal(problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return asked.configured(problem, steps)


def _within(chosen: Solver, tolerances: Tolerances, notes: list[str]) -> Solver:
    """Return a solver that was chosen, with the requested tolerances."""
    rtol, atol = tolerances
    if atol is not None and "atol" not in chosen.tolerances():
        notes.append(TAKES_NO_ATOL)
        chosen = Cvodes()
    relative = "rtol" if "rtol" in chosen.tolerances() else "tolerance"
    given = {name: value for name, value in ((relative, rtol), ("atol", atol)) if value is not None}
    # Every solver is a dataclass, which their base does not say.
    return cast(Solver, replace(cast(Any, chosen), **given)) if given else chosen


def _automatic(
    formulation: Formulation,
    problem: OdeProblem,
    steps: float,
    notes: list[str],
    stiffness: Stiffness | None,
) -> Solver:
    """Choose Taylor's method, CVODES where that cannot be, else the first that is installed."""
    if formulation.form != "ode":
        return _first_installed(formulation.form, notes)
    if formulation.solved_best_by is not None:
        name, why = formulation.solved_best_by
        notes.append(f"solver {name}, {why}")
        return solver_kind(name)()
    if problem.stiff:
        notes.append("solver radau, for stiff equations")
        return RadauIIA()
    if stiffness is not None and stiffness.recognised:
        notes.append(f"stiff: {stiffness.words}; solver radau with the exact Jacobian")
        return RadauIIA()
    taylor = Taylor()
    refusal = taylor.refusal(problem)
    if refusal is not None:
        notes.append(f"solver cvodes, because {refusal}")
        return Cvodes()
    notes.append(f"solver taylor for about {steps:.2g} steps")
    return taylor


def _is_explicit(solver: Solver) -> bool:
    """Return whether the stability of a method limits its step: Adams' formulas as well."""
    return isinstance(solver, Taylor | Dop853) or getattr(solver, "method", None) == "adams"


def _first_installed(form: str, notes: list[str]) -> Solver:
    missing: list[str] = []
    for name, kind in SOLVERS.items():
        if form not in kind.forms:
            continue
        try:
            solver = kind()
        except MissingBackendError as error:
            missing.append(str(error))
            continue
        notes.append(f"solver {name}, for {MADE[form]}")
        return solver
    raise MissingBackendError(f"no installed solver handles {MADE[form]}: {'; '.join(missing)}")


@dataclass(frozen=True)
class Stiffness:
    """The stiffness shown by the Jacobian at the start.

    Parameters
    ----------
    decay
        The rate of the fastest decay, 1/s.
    motion
        The fastest oscillation, growth or feedback, 1/s.
    span
        The duration of the run, s.
    stretch
        The time up to its first reset, s, as far as a short run shows one.
    step
        The typical step of a short run with an explicit method, s; zero if unknown.
    instructions
        Of the rate, if an implicit method need not evaluate it; zero if it must.
    """

    decay: float
    motion: float
    span: float
    stretch: float = math.inf
    step: float = 0.0
    instructions: int = 0

    @property
    def steps(self) -> float:
        """About how many steps an explicit method needs for stability alone."""
        return self.decay * self.span / STABLE[Dop853.name]

    @property
    def recognised(self) -> bool:
        """Whether a method for stiff equations is worth its cost."""
        return self.evident or self._saves

    @property
    def evident(self) -> bool:
        """Whether it is worth its cost whatever a step costs."""
        often = self.stretch * self.decay < RESTARTED * STABLE[Dop853.name]
        many = OFTEN * MANY if often else MANY
        return self.steps > many and self.decay > FASTER * max(self.motion, 1.0 / self.span)

    @property
    def implicit_step(self) -> float:
        """About how long a step of radau is where only stability shortens explicit ones, s."""
        if not self.motion or self.evident or not self._limited:
            return 0.0
        return min(TURN / self.motion, self.span)

    @property
    def _limited(self) -> bool:
        """Whether a short run of an explicit method showed that stability limits its steps."""
        return self.decay * self.step >= BOUND * STABLE[Dop853.name]

    @property
    def _saves(self) -> bool:
        """Whether stability limits the steps, and an implicit method takes less time by far."""
        if not self._limited:
            return False
        stable = self.decay * self.span / STABLE[Taylor.name]
        turns = self.motion * self.span / TURN + BEGINS * (1.0 + self.span / self.stretch)
        explicit = stable * EXPLICIT_COST * self.instructions
        implicit = turns * (OVERHEAD + IMPLICIT_COST * self.instructions)
        return explicit > SAVED + WORTH * implicit

    @property
    def words(self) -> str:
        """The rates in words."""
        return (
            f"decays at {self.decay:.2g} 1/s, the motion at {self.motion:.2g} 1/s, over "
            f"{self.span:.4g} s"
        )


def stiffness(
    problem: OdeProblem,
    values: np.ndarray,
    place: tuple[float, np.ndarray],
    until: float,
    rate: float,
    counts: tuple[int, int],
) -> Stiffness | None:
    """Examine a problem at the start of a run; None if its Jacobian gives no information.

    Parameters
    ----------
    problem, values
        Its functions and p, without feedback.
    place
        The start: time and x.
    until
        The end of the run, s.
    rate
        The largest rate of feedback, 1/s.
    counts
        The numbers of positions and velocities, with which x begins.
    """
    matrix, time = _linearised(problem, values, place, counts), place[0]
    if matrix is None or not matrix.size or not np.all(np.isfinite(matrix)):
        return None
    sign = 1.0 if until >= time else -1.0
    eigenvalues = sign * np.linalg.eigvals(matrix)
    along, across = eigenvalues.real, np.abs(eigenvalues.imag)
    turning = across > np.abs(along)
    motion = max(
        float(np.max(across, where=turning, initial=0.0)),
        float(np.max(along, initial=0.0)),
        rate,
    )
    decay = float(np.max(-along, where=~turning, initial=0.0))
    instructions = problem.rhs.n_instructions() if bordered(problem) else 0
    return Stiffness(decay, motion, abs(until - time), instructions=instructions)


def _linearised(
    problem: OdeProblem,
    values: np.ndarray,
    place: tuple[float, np.ndarray],
    counts: tuple[int, int],
) -> np.ndarray | None:
    """Return a matrix with the eigenvalues of the motion; None if that takes too long."""
    if problem.size > LARGE:
        if not bordered(problem) or problem.equations is None:
            return None
        return independent_motion(problem.equations, values, *place, counts)
    if problem.rhs.n_instructions() >= WRITTEN_TO:
        matrix = StateFunction(problem.rhs, values).jacobian(*place)
        if matrix is not None:
            return matrix
    return exact_jacobian(problem, values)(*place)


def automatic_rate(probe: Probe, *, passes: bool) -> tuple[float, str]:
    """Choose a rate for all goals from a short run without feedback.

    Parameters
    ----------
    probe
        The short run.
    passes
        Whether the run passes positions where constraints lose rank.

    Returns
    -------
    tuple of float and str
        The rate in 1/s, positive, and the reason for it.
    """
    rate = FEEDBACK_PER_STEP / probe.typical_step
    reason = f"{FEEDBACK_PER_STEP:g} over the median step by time, {probe.typical_step:.3g} s"
    if passes and passing_rate(probe) > rate:
        rate = passing_rate(probe)
        reason = f"positions where constraints lose rank, {probe.between:.3g} s apart"
    return rate, reason


def passing_rate(probe: Probe) -> float:
    """Return the rate (1/s) at which errors die between positions where constraints lose rank."""

    def digits(decay: float) -> float:
        return float(np.log1p(decay)) - decay - float(np.log(PROXIMAL_EPSILON))

    return scipy.optimize.brentq(digits, 1.0, 100.0) / probe.between


def stiffness_warning(solver: Solver, rate: float, probe: Probe) -> str | None:
    """Return a warning if an explicit method cannot follow a rate at its own step.

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
    follows = (
        "the run is unstable; use a shorter step or a lower rate"
        if "fixed_step" in solver.tolerances()
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
