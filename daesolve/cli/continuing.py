"""The options `--after` and `--from`: the run on disk that a new run continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daesolve.cli import options
from daesolve.cli.option_sets import DrivenCaseOptions
from daesolve.errors import OutOfRangeError

if TYPE_CHECKING:
    from daesolve.core.results.storage import Stored
    from daesolve.core.results.trajectory.results import Continuable
    from daesolve.core.results.trajectory.trajectory import Trajectory
    from daesolve.plugins.bound_case import BoundCase
    from daesolve.plugins.registry import Problem


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


@dataclass(frozen=True)
class ContinuingCaseOptions(DrivenCaseOptions):
    """A case of a problem, and the run that its run continues."""

    after: Annotated[
        Path | None,
        typer.Option(
            "--after",
            metavar="DIR",
            help=(
                "Begin where the run in DIR ended: with its case, parameters and inputs, unless "
                "you give others."
            ),
        ),
    ] = None
    from_: Annotated[
        float | None,
        typer.Option(
            "--from", metavar="T", help="With --after: begin at this time of that run, s."
        ),
    ] = None

    def begin(self, problem: str) -> Begun:
        """Return the case of a problem, and the run to continue.

        Raises
        ------
        DaesolveError
            A name is unknown, a value is not possible, or the run does not fit.
        """
        if self.after is not None:
            if self.initial:
                raise OutOfRangeError("--after gives the start already: leave out --initial")
            return self._continued(problem, self.after)
        if self.from_ is not None:
            raise OutOfRangeError("--from is a time of the run that --after names: give --after")
        return Begun(self.of(problem), None, {})

    def _continued(self, problem: str, directory: Path) -> Begun:
        from daesolve.core.results.trajectory.trajectory import Trajectory
        from daesolve.plugins import registry

        chosen, stored = registry.problem(problem), _stored(directory)
        identity: Mapping[str, Any] = stored.manifest["identity"]
        _check_problem(chosen.name, identity, directory)
        same = self.case in (None, identity["case"])
        given = self.changes
        own: Mapping[str, Any] = identity["asked"]["set"] if same else {}
        model = identity["model"] if same and self.model is None else self.model
        case = chosen.case(identity["case"] if same else self.case, model=model)
        case = case.changed({**own, **given})
        if self.from_ is None:
            run = Trajectory.from_run(directory)
        else:
            run = _opened(stored, chosen).at(self.from_)
        return Begun(case, run, _taken_over(stored, {*given}) if same else {})


def _stored(directory: Path) -> Stored:
    from daesolve.core.results.trajectory.stored_trajectories import stored_run

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
