"""The options of a run: one set, by the same names in every function that runs a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, TypedDict, TypeVar, runtime_checkable

from daesolve.errors import OutOfRangeError, UnsupportedError, unknown_name
from daesolve.formulations import Formulation
from daesolve.friction.sliding import VariantPolicy
from daesolve.integration.sample_times import At
from daesolve.preparation.naming import made_by_name
from daesolve.preparation.request import RankLoss, Redundant, Request
from daesolve.solvers import Solver
from daesolve.system.consistent_state import check_system
from daesolve.system.system import System


class RunOptions(TypedDict, total=False):
    """What may be chosen of a run besides `until` and `initial`.

    `solve`, `sensitivity`, `sections`, `lyapunov_exponent`, `compare`, `reference_run`, `sweep`
    and the methods of a case take these, by the same names; an option left out, or None, is the
    default (of a case: its own). Where one makes no sense, it is refused in a sentence.

    Parameters
    ----------
    start_time
        The start, s.
    guess
        Start values that may be changed to make the state consistent.
    parameters
        Values in place of the defaults.
    formulation
        How the equations are made integrable: an object or a name as on the command line,
        "index-2", "projected:index-1", "viscous:1e-7" (its mobility), "regularised:1e-3" (its
        speed). By default feedback, projected where rank loss is passed.
    solver
        What integrates them: an object or a name such as "idas". By default Taylor's method, or
        CVODES where that cannot be.
    rtol, atol
        Relative and absolute tolerance of a step of the automatically chosen solver. Setting `atol`
        selects CVODES in place of Taylor's method, which has none. A solver that is given has its
        own.
    at
        Sample times, `every(interval)`, `every_event()`, or None for 1001 even samples.
    default_rate
        The rate of goals for which nothing else is chosen, 1/s; 10 by default.
    scales
        The scale of goals by name: the energy scale is {"energy": ...}, in J.
    redundant
        What to do with constraints that depend on each other everywhere: "error", "drop" the
        dependent ones, or share the reactions by "minimum-norm". Contradictory ones are refused
        whatever is chosen; where their reactions enter a force (friction), only "minimum-norm"
        determines the motion.
    redundant_weights
        How a shared load is divided with "minimum-norm", by the goal's name: of goals on which the
        body yields alike, 2 takes twice as much as 1, which holds for the others.
    rank_loss
        What to do where constraints come to depend on each other: "stop" ends the run as
        `degenerate`, with everything up to there; "raise" does so and raises; "pass" goes through
        isolated positions; "viscous" takes the formulation `Viscous`, friction in place of
        constraints on velocities, on which what follows depends.
    max_evaluations
        How many right-hand sides the run may take; it ends there with what it has. Taylor's
        method counts one for each order of a step.
    variant_policy
        What to do where it is unknown which supports of a guide are loaded. The start takes the
        answer to which that without friction leads. On the way "continuity" lets the other support
        of a pair take over as long as the reactions go on continuously, and ends the run as
        `degenerate` where they do not; "homotopy" goes on there with another physical answer;
        "strict" ends the run wherever there is more than one answer.
    """

    start_time: float | None
    guess: Mapping[str, float] | None
    parameters: Mapping[str, object] | None
    formulation: Formulation | str | None
    solver: Solver | str | None
    rtol: float | None
    atol: float | None
    at: At
    default_rate: float | None
    scales: Mapping[str, float] | None
    redundant: Redundant | None
    redundant_weights: Mapping[str, float] | None
    rank_loss: RankLoss | None
    max_evaluations: int | None
    variant_policy: VariantPolicy | None


def check_options(
    owner: str,
    options: Mapping[str, object],
    senseless: Mapping[str, str] | None = None,
    more: tuple[str, ...] = (),
) -> None:
    """Refuse names that no option has, and options that make no sense.

    Parameters
    ----------
    owner
        What takes the options, as a sentence names it.
    options
        Those that were given.
    senseless
        Those that make no sense there, and what to do instead.
    more
        What it takes besides.

    Raises
    ------
    UnknownNameError
        There is no such option; the nearest are named.
    UnsupportedError
        One that makes no sense is given.
    """
    refused = senseless or {}
    known = [name for name in (*RunOptions.__annotations__, *more) if name not in refused]
    for name, value in options.items():
        if name in refused:
            if value is not None:
                raise UnsupportedError(f"{owner} takes no {name!r}: {refused[name]}")
        elif name not in known:
            raise unknown_name(f"option of {owner}", name, known)


def requested(
    until: float, initial: Mapping[str, float] | None, options: RunOptions | Mapping[str, Any]
) -> tuple[Request, At]:
    """Return what is to be run, and its sample times.

    Parameters
    ----------
    until
        The end, s.
    initial
        Start values to keep, by the names of states.
    options
        Those of `RunOptions`; None leaves the default.

    Raises
    ------
    UnknownNameError, UnsupportedError, MissingBackendError
        A formulation or a solver is none, or not installed.
    """
    given = {name: value for name, value in options.items() if value is not None}
    at: Any = given.pop("at", None)
    return Request(until=until, initial=initial or {}, **made_by_name(given)), at


@runtime_checkable
class BoundProblem(Protocol):
    """A case of a problem with every value chosen."""

    @property
    def system(self) -> System:
        """The system, posed."""
        ...

    def changed(self, overrides: Mapping[str, Any], /) -> Self:
        """Return the case with other parameters."""
        ...

    def starting(self, values: Mapping[str, float], /) -> Self:
        """Return the case with other start values."""
        ...

    def solve_options(self, until: float | None, options: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the arguments of `daesolve.solve` for the case."""
        ...


Source = System | BoundProblem
"""What can be run: a system with its start values, or a case of a problem that has its own."""
Bound = TypeVar("Bound", bound=BoundProblem)


def with_values(
    case: Bound, initial: Mapping[str, float] | None, options: Mapping[str, Any]
) -> Bound:
    """Return a case with the start values and the parameters that were given.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name that nothing carries, or a value that cannot be.
    """
    parameters = options.get("parameters")
    return (case.changed(parameters) if parameters else case).starting(initial or {})


def requested_by(
    case: BoundProblem, until: float | None, options: RunOptions | Mapping[str, Any]
) -> tuple[Request, At]:
    """Return what is to be run of a case, and its sample times."""
    wanted: dict[str, Any] = case.solve_options(until, options)
    return requested(wanted.pop("until"), wanted.pop("initial"), wanted)


def requested_of(
    source: Source,
    until: float | None,
    initial: Mapping[str, float] | None,
    options: RunOptions,
) -> tuple[System, Request, At]:
    """Return the system of a source, what is to be run of it, and its sample times.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    until
        The end, s; None takes the horizon of a case.
    initial
        Start values to keep; of a case, by its own names too.
    options
        What else is chosen.

    Raises
    ------
    PosingError
        It is neither a system nor a case.
    OutOfRangeError
        A system has no horizon of its own.
    UnknownNameError
        Nothing has the name of a start value.
    """
    if isinstance(source, BoundProblem):
        case = with_values(source, initial, options)
        return case.system, *requested_by(case, until, options)
    check_system(source)
    if until is None:
        raise OutOfRangeError("until is missing: a system has no horizon of its own")
    return source, *requested(until, initial, options)
