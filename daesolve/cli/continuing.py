"""The options `--after` and `--from`: the run on disk that a new run continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daesolve.cli import options
from daesolve.errors import OutOfRangeError

if TYPE_CHECKING:
    from daesolve.core.results.storage import Stored
    from daesolve.core.results.trajectory.results import Continuable
    from daesolve.core.results.trajectory.trajectory import Trajectory
    from daesolve.plugins.bound_case import BoundCase
    from daesolve.plugins.registry import Problem

After = Annotated[
    Path | None,
    typer.Option(
        "--after",
        metavar="DIR",
        help=(
            "Begin where the run in DIR ended: with its case, parameters and inputs, unless you "
            "give others."
        ),
    ),
]
From = Annotated[
    float | None,
    typer.Option("--from", metavar="T", help="With --after: begin at this time of that run, s."),
]


@dataclass(frozen=True, eq=False)
class Begun:
    """A case, and the run that its run continues.

    Parameters
    ----------
    case
        With every value chosen.
    initial
        The run to continue, or a point of it; None if the run begins anew.
    options
        The options of `solve` that it takes over from that run: inputs, and what to do where the
        motion is not unique.
    """

    case: BoundCase
    initial: Continuable | None
    options: Mapping[str, Any]

    def with_options(
        self, inputs: Mapping[str, Any] | None, decided: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return these options, and those taken over that are not given anew."""
        given = {name: value for name, value in decided.items() if value is not None}
        driving = {**self.options.get("inputs", {}), **(inputs or {})}
        return {**self.options, **given, "inputs": driving or None}

    @property
    def time(self) -> float:
        """When the run begins, s."""
        if self.initial is None:
            return self.case.case.start_time
        return self.initial.continuation.time


def begun(
    problem: str,
    name: str | None,
    model: str | None,
    file: Path | None,
    changes: Sequence[str],
    initial: Sequence[str],
    after: tuple[Path | None, float | None],
) -> Begun:
    """Find a case of a problem, and the run to continue.

    Parameters
    ----------
    problem, name, model, file, changes, initial
        As in `options.case`.
    after
        The directory of a run and a time in it, s, if they are given.

    Raises
    ------
    DaesolveError
        A name is unknown, a value is not possible, or the run does not fit.
    """
    directory, moment = after
    if directory is None:
        if moment is not None:
            raise OutOfRangeError("--from is a time of the run that --after names: give --after")
        return Begun(options.case(problem, name, model, file, changes, initial), None, {})
    if initial:
        raise OutOfRangeError("--after gives the start already: leave out --initial")
    from daesolve.core.results.trajectory.trajectory import Trajectory
    from daesolve.plugins import registry

    chosen, stored = registry.problem(problem), _stored(directory)
    identity: Mapping[str, Any] = stored.manifest["identity"]
    _check_problem(chosen.name, identity, directory)
    same = name in (None, identity["case"])
    table = options.parameters_of(file) if file is not None else {}
    given = table | options.pairs("--set", changes)
    own: Mapping[str, Any] = identity["asked"]["set"] if same else {}
    model = identity["model"] if same and model is None else model
    case = chosen.case(identity["case"] if same else name, model=model).changed({**own, **given})
    run = Trajectory.from_run(directory) if moment is None else _opened(stored, chosen).at(moment)
    return Begun(case, run, _taken_over(stored, {*given}) if same else {})


def _stored(directory: Path) -> Stored:
    from daesolve.core.results.trajectory.reading import stored_run

    stored = stored_run(directory)
    if stored.result is None and stored.locked:
        raise OutOfRangeError(f"the run in {directory} is under way: let it end, or stop it")
    return stored


def _check_problem(name: str, identity: Mapping[str, Any], directory: Path) -> None:
    """Refuse a run of something else."""
    other = identity.get("problem")
    if other is None:
        raise OutOfRangeError(
            f"the run in {directory} is of a system without a problem: continue it in Python, "
            f"ds.solve(system, until, ds.Trajectory.from_run({str(directory)!r}))"
        )
    if other != name:
        raise OutOfRangeError(f"the run in {directory} is of the problem {other!r}, not {name!r}")


def _opened(stored: Stored, problem: Problem) -> Trajectory:
    """Return a finished run that can be evaluated at any time."""
    from daesolve.core.results.storage import resuming
    from daesolve.plugins.resuming import reopened

    if stored.result is None:
        raise OutOfRangeError(
            f"--from needs a finished run: `{resuming(stored.directory)}` finishes the one in "
            f"{stored.directory}"
        )
    return reopened(stored.directory, problem, options.say)


def _taken_over(stored: Stored, given: set[str]) -> dict[str, Any]:
    """Return the options that decide about the motion, except inputs that are now given."""
    from daesolve.reporting.document import USUAL

    request: Mapping[str, Any] = stored.manifest["request"]
    inputs = {name: one for name, one in request["inputs"].items() if name not in given}
    kept = {name: one for name, one in inputs.items() if "anew" not in one}
    decided = {name: request[name] for name in USUAL if name != "max_evaluations"}
    return {**decided, "inputs": kept}
