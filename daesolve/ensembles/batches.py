"""Batches: runs of one structure, integrated together in the SIMD lanes of a processor.

`daesolve.core.solvers.lanes` explains how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from daesolve.core.preparation.beside import in_lane
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.naming import made_by_name, solver_of
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import (
    RunOptions,
    check_options,
    requested_by,
    with_values,
)
from daesolve.core.run.solving.repetition import repeating
from daesolve.core.run.solving.solving import SolveOptions, integrated
from daesolve.core.solvers import Solver, Taylor
from daesolve.core.solvers.lanes import LANES, Batch, BatchedTaylor
from daesolve.errors import DaesolveError, OutOfRangeError, UnsupportedError
from daesolve.plugins.bound_case import BoundCase

MOST_LANES = 64
"""More lanes than fill the widest registers several times over would only wait for each other."""

Result = Trajectory | DaesolveError


def run_batch(
    case: BoundCase,
    members: Sequence[Mapping[str, float]],
    until: float | None = None,
    *,
    initial: Mapping[str, float] | None = None,
    lanes: int | None = None,
    **options: Unpack[SolveOptions],
) -> list[Result]:
    """Run the members of an ensemble together in the SIMD lanes of one processor.

    A member's result equals that of a single run to rounding, and is the same in every bit
    whichever members run beside it. Ctrl-C ends all of them.

    Parameters
    ----------
    case
        The case that all members share.
    members
        The values in which they differ: parameters, start values of the case and states, by name.
    until
        The end of the runs, s; None takes the case's horizon.
    initial
        Start values that all members share.
    lanes
        How many members run together; None means sixteen.
    **options
        As in `BoundCase.solve`, the same for all, but without `store` and `atol`. The solver is
        `Taylor` or its name; if it is left out, `rtol` is its tolerance.

    Returns
    -------
    list
        The trajectory of each member, in order; for a member that could not run, its error.

    Raises
    ------
    UnsupportedError
        Another solver, an absolute tolerance or storage is requested, or members differ in
        structure.
    OutOfRangeError
        The number of lanes or the tolerance is invalid, or `rtol` is given with a solver.
    """
    check_options("run_batch", options, more=tuple(SolveOptions.__annotations__))
    solver = batch_solver(solver_of(options.get("solver")), options.get("rtol"))
    if type(solver) is not Taylor:
        raise UnsupportedError(
            f"batches need the solver 'taylor', not {solver!r}: leave the solver out, or run "
            "the members one by one"
        )
    if solver.engine == "heyoka" or solver.code != "auto" or solver.optimisation is not None:
        raise UnsupportedError(
            "batches run in the kernel: leave out engine, code and optimisation of the solver "
            "'taylor', or run the members one by one"
        )
    _check(case, members, lanes, options)
    batch = Batch(lanes or LANES)
    together = BatchedTaylor(solver.tolerance, engine="kernel", batch=batch)
    case = with_values(case, initial, options)
    options |= {"solver": together, "rtol": None, "parameters": None}

    def run(number: int) -> Trajectory:
        return case.with_values(members[number]).solve(until, **options)

    return batch.run([partial(run, number) for number in range(len(members))])


def run_in_lanes(
    case: BoundCase,
    members: Sequence[Mapping[str, float]],
    until: float | None = None,
    *,
    verify: bool | Solver | str = False,
    **options: Unpack[RunOptions],
) -> list[Result]:
    """Run the members of an ensemble, each by the method chosen for it.

    Members for which that is Taylor's method run together in lanes if they can; the others run one
    by one.

    Parameters
    ----------
    case, members, until, **options
        As in `run_batch`, but with any solver and formulation.
    verify
        As in `daesolve.solve`; a repetition by Taylor's method uses the same lanes.

    Returns
    -------
    list
        The trajectory of each member, in order; for a member that could not run, its error.
    """
    batch, made, by = Batch(LANES), made_by_name(options), repeating(verify)

    def run(number: int) -> Trajectory:
        member = case.with_values(members[number])
        request, at = requested_by(member, until, made)
        prepared = prepare_once(member.system, request)
        return member.of_problem(integrated(in_lane(prepared, batch), at, by=by))

    return batch.run([partial(run, number) for number in range(len(members))])


def batch_solver(solver: Solver | None, rtol: float | None) -> Solver:
    """Return the solver of a batch: the requested one, or Taylor's method.

    Parameters
    ----------
    solver
        The requested solver; None means Taylor's method.
    rtol
        The tolerance if no solver is given; None means the default.

    Raises
    ------
    OutOfRangeError
        The tolerance is invalid, or is given with a solver.
    """
    if rtol is None:
        return Taylor() if solver is None else solver
    if solver is not None:
        raise OutOfRangeError(
            f"rtol applies only to the automatically chosen solver, but {solver.name!r} is "
            "requested: give the tolerance to that solver"
        )
    return Taylor(tolerance=rtol)


def _check(
    case: BoundCase,
    members: Sequence[Mapping[str, float]],
    lanes: int | None,
    options: Mapping[str, Any],
) -> None:
    """Refuse runs that cannot form a batch."""
    if options.get("atol") is not None:
        raise UnsupportedError(
            "batches use Taylor's method, which has no absolute tolerance: leave out atol, or "
            "run the members one by one"
        )
    structural = {name for member in members for name in member if name in case.problem.structure}
    if structural:
        raise UnsupportedError(
            f"the members of a batch share one structure, but differ in "
            f"{', '.join(sorted(structural))}: make a batch for each structure"
        )
    if lanes is not None and not (type(lanes) is int and 1 <= lanes <= MOST_LANES):
        raise OutOfRangeError(
            f"the number of lanes is {lanes!r}, but must be a whole number from 1 to {MOST_LANES}"
        )
    if options.get("max_evaluations") is not None:
        raise UnsupportedError(
            "max_evaluations limits a single run, but the runs of a batch advance together: "
            "leave it out, or run the members one by one"
        )
    if options.get("store") is not None:
        raise UnsupportedError(
            "the runs of a batch cannot be stored, because resuming one alone would change the "
            "last bits: leave out store, or run the members one by one"
        )
