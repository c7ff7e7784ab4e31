"""What is optimised: a system, or a case of a problem with its start, values and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import BoundProblem
from daesolve.core.run.solving.solving import solve
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, UnsupportedError, is_number


@runtime_checkable
class ControllableCase(BoundProblem, Protocol):
    """A case of a problem that can be run."""

    def guess(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the guess of the states, and which of them to keep."""
        ...

    def solve(self, until: float | None, initial: Any, **options: Any) -> Trajectory:
        """Run the case."""
        ...


@dataclass(frozen=True, eq=False)
class ControlSubject:
    """What is optimised, and how it is run.

    Parameters
    ----------
    system
        As posed.
    case
        The case whose system it is; None if there is none.
    near, kept
        Start values of the case: those that may change, and those that are kept.
    parameters
        Values and ranges that replace the defaults.
    inputs
        The inputs that are no controls.
    begin, duration
        The start, and the duration of the case, in s.
    """

    system: System
    case: ControllableCase | None
    near: Mapping[str, float]
    kept: Mapping[str, float]
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Any]
    begin: float
    duration: float | None

    def run(
        self,
        until: float,
        state: Mapping[str, float],
        parameters: Mapping[str, float],
        unknowns: Mapping[str, float],
        controls: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Trajectory:
        """Run the system or the case with controls.

        Parameters
        ----------
        until
            s
        state
            The start.
        parameters, unknowns
            All parameters of the system, and those of them that were found.
        controls
            As expressions of time.
        options
            As in `solve`.
        """
        inputs = {**self.inputs, **controls}
        if self.case is None:
            own = {"start_time": self.begin, "parameters": parameters, "inputs": inputs}
            return solve(self.system, until, state, **own, **options)
        case = self.case.changed(unknowns) if unknowns else self.case
        return case.solve(until, state, start_time=self.begin, inputs=inputs, **options)


def subject_of(
    source: System | ControllableCase,
    *,
    controls: Iterable[str] | None,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Any],
    begin: float | None,
) -> ControlSubject:
    """Return what is optimised.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    controls, parameters, inputs, begin
        As in `optimise`.

    Raises
    ------
    UnsupportedError, DaesolveError
        A parameter to find determines others, or the case does not have a value.
    """
    if not isinstance(source, ControllableCase):
        return ControlSubject(source, None, {}, {}, parameters, inputs, begin or 0.0, None)
    ranges = {name: value for name, value in parameters.items() if not is_number(value)}
    case = source.changed({n: value for n, value in parameters.items() if n not in ranges})
    wanted = case.solve_options(None, {})
    _refuse_derived(case, ranges, wanted["parameters"])
    near, kept = case.guess()
    found = set(case.system.inputs.names if controls is None else _names(controls)) - {*inputs}
    given = {name: value for name, value in wanted["inputs"].items() if name not in found}
    values = {name: v for name, v in wanted["parameters"].items() if name not in found}
    first = wanted["start_time"] if begin is None else begin
    return ControlSubject(
        case.system,
        case,
        near,
        kept,
        {**values, **ranges},
        {**given, **inputs},
        first,
        wanted["until"] - wanted["start_time"],
    )


def _refuse_derived(
    case: ControllableCase, ranges: Mapping[str, Any], values: Mapping[str, float]
) -> None:
    """Raise if other values follow from a parameter that is found."""
    for name, given in ranges.items():
        ends = cast("Sequence[Any]", given) if isinstance(given, tuple | list) else ()
        for end in filter(is_number, ends):
            moved = case.changed({name: end}).solve_options(None, {})["parameters"]
            follow = [n for n, value in values.items() if n != name and moved.get(n) != value]
            if follow:
                raise UnsupportedError(
                    f"the parameter {name!r} cannot be found with the motion, because "
                    f"{', '.join(map(repr, follow))} of this case follow from it"
                )


def _names(controls: Iterable[str]) -> tuple[str, ...]:
    return (controls,) if isinstance(controls, str) else tuple(controls)


def duration_of(subject: ControlSubject, time: Any) -> Any:
    """Return the duration, by default that of the case.

    Raises
    ------
    OutOfRangeError
        A system is given without one.
    """
    if time is not None:
        return time
    if subject.duration is None:
        raise OutOfRangeError("the time is missing: a system has no horizon")
    return subject.duration
