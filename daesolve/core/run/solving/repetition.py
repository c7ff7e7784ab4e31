"""The repetition that verifies a run, as far as the core knows of it: a feature makes it."""

from __future__ import annotations

from collections.abc import Callable

from daesolve.core.features import added
from daesolve.core.preparation.choosing import check_pair
from daesolve.core.preparation.naming import solver_of
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import By
from daesolve.core.solvers import Solver
from daesolve.errors import OutOfRangeError, UnsupportedError

VERIFICATION = "verification"
"""The point at which a feature adds what `verifier` returns."""
CERTIFICATION = "certification"
"""The point at which a feature adds what `certifier` returns."""
Verifier = Callable[[Prepared, Trajectory, By, int | None], Trajectory]
"""Returns a run with its repetition, compared at so many samples at most; None stands for all."""


def verifier() -> Verifier:
    """Return what verifies runs.

    Raises
    ------
    UnsupportedError
        Nothing does.
    """
    found = added(VERIFICATION)
    if not found:
        raise UnsupportedError(
            "the run is to be verified, but no installed feature verifies runs: leave out verify"
        )
    return found[0]


def certifier() -> Callable[..., Trajectory]:
    """Return what makes certified runs, from the arguments of `solve`, the options in a mapping.

    Raises
    ------
    UnsupportedError
        Nothing does.
    """
    found = added(CERTIFICATION)
    if not found:
        raise UnsupportedError("no installed feature certifies runs: leave out certify")
    return found[0]


def repeating(given: bool | Solver | str | None) -> bool | By:
    """Return how to repeat a run, from the option `verify`.

    Raises
    ------
    OutOfRangeError
        The option is invalid.
    UnknownNameError
        The name of the solver is unknown.
    UnsupportedError
        Nothing verifies runs.
    """
    if given is None or isinstance(given, bool) or given == "same":
        by = given or False
    elif isinstance(given, Solver | str):
        by = solver_of(given)
    else:
        raise OutOfRangeError(
            f"verify is {given!r}, but must be True, False, 'same', a solver or its name"
        )
    if by:
        verifier()
    return by


def check_verifier(prepared: Prepared, solver: Solver) -> None:
    """Refuse a solver that cannot repeat a run, before the run.

    Raises
    ------
    UnsupportedError
        It cannot integrate the run.
    """
    check_pair(prepared.formulation, solver)
    refusal = solver.refusal(prepared.problem)
    if refusal is not None:
        raise UnsupportedError(refusal)
