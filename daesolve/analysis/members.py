"""One analysis of several motions of the same equations, in the lanes of one processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from daesolve.core.preparation.request import Request
from daesolve.core.run.integration.run_options import BoundProblem, RunOptions, Source, requested_of
from daesolve.core.run.integration.sampling import At
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError, OutOfRangeError

if TYPE_CHECKING:
    from daesolve.core.solvers.lanes import Batch

Found = TypeVar("Found")
Work = Callable[[System, Request, At, "Batch | None"], Found]
"""The analysis of a prepared run and its sample times, in a lane of a batch."""


def of_members(
    work: Work[Found],
    source: Source,
    members: Sequence[Mapping[str, float]],
    until: float | None,
    options: RunOptions,
) -> list[Found | DaesolveError]:
    """Analyse several motions, in parallel lanes where possible.

    Parameters
    ----------
    work
        The analysis.
    source, until, options
        As in `requested_of`.
    members
        Parameters and start values of each motion, by name.

    Returns
    -------
    list
        The result for each member, in order, or its error.

    Raises
    ------
    OutOfRangeError
        There are no members, or one is not a mapping.
    """
    listed = isinstance(members, Sequence) and not isinstance(members, str)
    if not listed or not members or not all(isinstance(one, Mapping) for one in members):
        raise OutOfRangeError(
            f"members is {members!r}, but must be a list of at least one mapping of names to values"
        )
    system = source.system if isinstance(source, BoundProblem) else source
    check_system(system)
    # numba is imported only when lanes are used.
    from daesolve.core.solvers.lanes import batch_of

    batch = batch_of(len(members))
    lanes = batch if len(members) > 1 else None

    def analyse(member: Mapping[str, float]) -> Found:
        return work(*requested_with(source, until, member, options), lanes)

    return batch.run([partial(analyse, member) for member in members])


def requested_with(
    source: Source, until: float | None, numbers: Mapping[str, float], options: RunOptions
) -> tuple[System, Request, At]:
    """Return what is requested of a source with some parameters and start values, by name."""
    system = source.system if isinstance(source, BoundProblem) else source
    known = system.dynamics.posed_ranges
    given: RunOptions = {**options}
    if parameters := {name: value for name, value in numbers.items() if name in known}:
        given["parameters"] = {**(options.get("parameters") or {}), **parameters}
    starts = {name: value for name, value in numbers.items() if name not in known}
    return requested_of(source, until, starts, given)
