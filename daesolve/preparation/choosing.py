"""Which solver takes what a formulation makes: refusals before anything is built, and choices.

Taylor's method is chosen where nothing is stiff, and `radau` with the exact Jacobian for stiff
equations (see `stiffness`): BDF is unstable for oscillations from order 3 on, begins at order 1
again after each event, and finds events by polynomials. Measured with the reduced omni vehicle with
dry friction in straight motion for 1 s, 30 to 80 events, by the share of mass of the rollers
(processor time on a loaded machine, with that of preparation):

    share  rate     rtol    solver              steps    s      x (1 s)
    1e-1   9.8e5    1e-6    radau, 3 stages      1011    0.8    0.94407475
    1e-1   9.8e5    1e-10   radau, 5 stages      2233    2.5    0.94407476014
    1e-3   9.8e7    1e-6    radau, 3 stages      1572    1.3    0.98808087
    1e-3   9.8e7    1e-6    sundae-cvode, bdf    9011    14     0.98800809
    1e-6   9.8e10   1e-6    radau, 3 stages      2235    2.1    0.99881389

An explicit method would take 1.5e5 steps in the first row, and 1.5e10 in the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from daesolve.equations.dynamics import Dynamics
from daesolve.errors import MissingBackendError, UnsupportedError
from daesolve.formulations import (
    Feedback,
    Formulation,
    OdeProblem,
    Projected,
    Viscous,
)
from daesolve.preparation.extensions import formulations, solver_kind, solvers
from daesolve.preparation.request import Request
from daesolve.preparation.stiffness import Stiffness
from daesolve.solvers import SOLVERS, Cvodes, Dop853, RadauIIA, Solver, Taylor
from daesolve.solvers.taylor import available as taylor_is_available

MADE = {
    "ode": "an ordinary differential equation",
    "index-1": "a differential-algebraic equation of index 1",
    "index-2": "a differential-algebraic equation of index 2",
    "index-3": "a differential-algebraic equation of index 3",
    "overdetermined": "more equations than unknowns",
}
"""What formulations make, in words."""
Tolerances = tuple[float | None, float | None]
"""rtol and atol; None leaves the solver its own."""
TAKES_NO_ATOL = "solver cvodes in place of taylor, which takes no absolute tolerance"
"""What is noted where another solver is taken than without tolerances."""


def check_pair(formulation: Formulation, solver: Solver) -> None:
    """Refuse a solver that cannot take what a formulation makes, before anything is built.

    Raises
    ------
    UnsupportedError
        It cannot; the formulations and solvers that go together are told.
    """
    form = formulation.form
    if form in solver.forms:
        return
    fitting = [name for name, kind in solvers()[0].items() if form in kind.forms]
    taken = [name for name, kind in formulations()[0].items() if kind.makes in solver.forms]
    raise UnsupportedError(
        f"the formulation {formulation.name!r} makes {MADE[form]}, which the solver "
        f"{solver.name!r} cannot take; take {formulation.name!r} with {', '.join(fitting)}, or "
        f"{solver.name!r} with {', '.join(taken)}"
    )


def choose_formulation(dynamics: Dynamics, request: Request, notes: list[str]) -> Formulation:
    """Return what was asked for, else feedback, or friction where that is to replace constraints.

    Where constraints lose rank, what throws the motion off its branch is the error with which it
    arrives: there each step is projected besides.
    """
    if request.formulation is not None:
        return request.formulation
    if request.rank_loss == "pass" and dynamics.position_count and dynamics.rows:
        notes.append(
            "formulation projected, since positions where constraints lose rank are passed"
        )
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
    """Return the solver asked for, or one that takes the problem, with every choice made.

    Parameters
    ----------
    asked
        The solver asked for, None for an automatic choice.
    formulation, problem
        What made the problem, and the problem.
    steps
        How many steps the run is expected to take where it is not stiff.
    notes
        Takes up what was chosen and why.
    stiffness
        What the Jacobian at the start says; None where nothing is known.
    tolerances
        Of a solver that is chosen automatically.

    Raises
    ------
    UnsupportedError
        It lacks an operation.
    MissingBackendError
        None that takes the problem is installed.
    """
    if asked is None:
        chosen = _automatic(formulation, problem, steps, notes, stiffness)
        asked = _within(chosen, tolerances, notes)
    elif stiffness is not None and stiffness.recognised and _is_explicit(asked):
        notes.append(
            f"the equations are stiff for {asked.name}: {stiffness.told}; stability alone asks for "
            f"about {stiffness.steps:.1g} steps; radau takes far fewer"
        )
    refusal = asked.refusal(problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return asked.configured(problem, steps)


def _within(chosen: Solver, tolerances: Tolerances, notes: list[str]) -> Solver:
    """Return a solver that was chosen with the tolerances asked for."""
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
        notes.append(f"stiff: {stiffness.told}; solver radau with the exact Jacobian")
        return RadauIIA()
    if not taylor_is_available():
        notes.append("solver cvodes, since heyoka is not installed here")
        return Cvodes()
    taylor = Taylor()
    refusal = taylor.refusal(problem)
    if refusal is not None:
        notes.append(f"solver cvodes, since {refusal}")
        return Cvodes()
    notes.append(f"solver taylor for about {steps:.2g} steps")
    return taylor


def _is_explicit(solver: Solver) -> bool:
    """Tell whether the stability of a method limits its step: Adams' formulas as well."""
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
    raise MissingBackendError(f"no solver for {MADE[form]} is installed here: {'; '.join(missing)}")
