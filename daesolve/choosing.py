"""Which solver takes what a formulation makes: refusals before anything is built, and choices."""

from __future__ import annotations

from daesolve.errors import MissingBackendError, UnsupportedError
from daesolve.formulations import FORMULATIONS, Formulation, OdeProblem, Regularised
from daesolve.solvers import SOLVERS, Cvodes, Lsoda, RadauIIA, Solver, Taylor
from daesolve.solvers.taylor import available as taylor_is_available

MADE = {
    "ode": "an ordinary differential equation",
    "index-1": "a differential-algebraic equation of index 1",
    "index-2": "a differential-algebraic equation of index 2",
    "index-3": "a differential-algebraic equation of index 3",
    "overdetermined": "more equations than unknowns",
}
"""What formulations make, in words."""


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
    fitting = [name for name, kind in SOLVERS.items() if form in kind.forms]
    taken = [name for name, kind in FORMULATIONS.items() if kind.makes in solver.forms]
    raise UnsupportedError(
        f"the formulation {formulation.name!r} makes {MADE[form]}, which the solver "
        f"{solver.name!r} cannot take; take {formulation.name!r} with {', '.join(fitting)}, or "
        f"{solver.name!r} with {', '.join(taken)}"
    )


def choose_solver(
    asked: Solver | None,
    formulation: Formulation,
    problem: OdeProblem,
    steps: float,
    notes: list[str],
) -> Solver:
    """Return the solver asked for, or one that takes the problem, with every choice made.

    Raises
    ------
    UnsupportedError
        It lacks an operation.
    MissingBackendError
        None that takes the problem is installed.
    """
    if asked is None:
        asked = _automatic(formulation, problem, steps, notes)
    refusal = asked.refusal(problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
    return asked.resolved(problem, steps)


def _automatic(
    formulation: Formulation, problem: OdeProblem, steps: float, notes: list[str]
) -> Solver:
    """Choose Taylor's method, CVODES where that cannot be, else the first that is installed."""
    if formulation.form != "ode":
        return _first_installed(formulation.form, notes)
    if isinstance(formulation, Regularised):
        notes.append("solver lsoda, since friction that fades is stiff at low speed alone")
        return Lsoda()
    if problem.stiff:
        notes.append("solver radau, for stiff equations")
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
