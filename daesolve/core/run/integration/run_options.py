"""The options of a run, which have the same names in every function that runs a motion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    get_type_hints,
    runtime_checkable,
)

from daesolve.core.events.choices import Law, OnAmbiguous, OnGain, OnJam, VariantPolicy
from daesolve.core.formulations import Formulation
from daesolve.core.posing.value_names import instants
from daesolve.core.preparation.naming import made_by_name
from daesolve.core.preparation.request import RankLoss, Redundant, Request
from daesolve.core.results.trajectory.results import Continuable, Continuation
from daesolve.core.run.integration.sampling import At
from daesolve.core.solvers import Solver
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System
from daesolve.errors import (
    OutOfRangeError,
    UnsupportedError,
    is_number,
    unknown_name,
)

Function = TypeVar("Function", bound=Callable[..., Any])


class RunOptions(TypedDict, total=False):
    """The options of a run besides `until` and `initial`.

    `solve`, `sensitivity`, `sections`, `lyapunov_exponent`, `compare`, `reference_run`, `sweep`
    and the methods of a case take these options by the same names. An option that is None or left
    out has its default; a case may set its own defaults. An option that makes no sense somewhere is
    refused with a sentence.

    Parameters
    ----------
    start_time
        The start, s; by default 0, or the end of a run that is continued.
    guess
        Start values that may change to make the state consistent.
    parameters
        Values that replace the defaults.
    inputs
        Inputs by name: a number, an expression of time, states and parameters (also as a string, "2
        * sin(t)"), a `table`, or a `sampled` law.
    formulation
        The formulation of the equations: an object, or a name as on the command line, such as
        "index-2", "projected:index-1", "viscous:1e-7" (its mobility) or "regularised:1e-3" (its
        speed). By default feedback, or projected if rank_loss is "pass".
    solver
        The solver: an object, or a name such as "idas". By default Taylor's method, or CVODES where
        Taylor's method is not possible.
    rtol, atol
        Relative and absolute tolerance of a step of the automatically chosen solver. Setting `atol`
        selects CVODES instead of Taylor's method, which has none. A solver given as an object has
        its own tolerances.
    at
        Sample times, `every(interval)`, `every_event()`, or None for 1001 even samples. The last
        sample is the end of the run, wherever that is; but a list of times that the run reaches
        completely is not extended.
    default_rate
        The rate of goals without a rate of their own, 1/s; 10 by default.
    scales
        The scales of goals by name; that of the energy is {"energy": ...}, in J.
    redundant
        What to do with constraints that depend on each other everywhere: "error", "drop" the
        dependent ones, or share the reactions by "minimum-norm". Contradictory constraints are
        always refused. If their reactions enter a force (friction), only "minimum-norm" determines
        the motion.
    redundant_weights
        How "minimum-norm" divides a shared load, by the goal's name: of two goals that yield
        equally, one with the weight 2 carries twice as much as one with the weight 1, the default.
    rank_loss
        What to do where constraints begin to depend on each other. "stop" ends the run as
        `degenerate`, with everything up to there; "raise" also raises an error; "pass" goes through
        isolated positions; "viscous" uses the formulation `Viscous`, which replaces constraints on
        velocities by friction, on which the motion then depends.
    max_evaluations
        How many right-hand sides the run may evaluate before it ends with the results so far.
        Taylor's method counts one for each order of a step.
    variant_policy
        What to do where the loaded supports of a guide are not unique. At the start the answer is
        the continuation of the one without friction. During the run "continuity" lets the other
        support of a pair take over as long as the reactions stay continuous, and otherwise ends the
        run as `degenerate`; "homotopy" then continues with another physical answer; "strict" ends
        the run wherever there is more than one answer.
    impact
        The impact law of contacts: "newton" (each separates with e times its approach speed),
        "poisson" (e times the impulse of compression), "sequential" (one contact after the other)
        or "routh" (also sequential, in the plane; the slip may stop or reverse within an impact).
    impact_order
        The names of the contacts in the order in which they collide with "sequential" or "routh"
        when they close together. Without it the run ends if orders lead to different motions.
    on_gain
        What to do if an impact would add energy to the bodies, which Newton's law may do with
        friction: "refuse" ends the run, "report" continues, "poisson" uses Poisson's law for this
        impact.
    on_jam
        What to do if no forces let contacts slide on (Painleve's paradox) or if their reactions
        grow without bounds: "end" ends the run as `degenerate`, "impact" continues with the impact
        without collision that ends the slip, if there is one.
    on_ambiguous
        What to do if contacts can continue in several ways: "refuse" ends the run as `degenerate`,
        "keep" stays in the current mode if that is one of them.
    """

    start_time: float | None
    guess: Mapping[str, float] | None
    parameters: Mapping[str, object] | None
    inputs: Mapping[str, Any] | None
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
    impact: Law | None
    impact_order: Sequence[str] | None
    on_gain: OnGain | None
    on_jam: OnJam | None
    on_ambiguous: OnAmbiguous | None


def shows_options(options: type, defaults: type) -> Callable[[Function], Function]:
    """Let `help` and completion show each of a function's `**options`, with its default.

    Parameters
    ----------
    options
        The typed dictionary of them.
    defaults
        A dataclass with fields of the same names; what it does not have is None by default.
    """
    named, known = get_type_hints(options), {entry.name: entry for entry in fields(defaults)}

    def shown(function: Function) -> Function:
        signature = inspect.signature(function)
        *own, rest = signature.parameters.values()
        listed = [
            inspect.Parameter(
                name, rest.KEYWORD_ONLY, default=_default(known.get(name)), annotation=hint
            )
            for name, hint in named.items()
        ]
        changed: Any = function
        changed.__signature__ = signature.replace(parameters=[*own, *listed, rest])
        return function

    return shown


def _default(entry: Field[Any] | None) -> object:
    return None if entry is None or entry.default is MISSING else entry.default


def check_options(
    owner: str,
    options: Mapping[str, object],
    senseless: Mapping[str, str] | None = None,
    more: tuple[str, ...] = (),
) -> None:
    """Refuse unknown options, and options that make no sense.

    Parameters
    ----------
    owner
        The recipient of the options, as messages name it.
    options
        The given options.
    senseless
        The options that make no sense there, and what to do instead.
    more
        Further options that it takes.

    Raises
    ------
    UnknownNameError
        An option is unknown; the message names the nearest.
    UnsupportedError
        An option makes no sense here.
    """
    refused = senseless or {}
    known = [name for name in (*RunOptions.__annotations__, *more) if name not in refused]
    for name, value in options.items():
        if name in refused:
            if value is not None:
                raise UnsupportedError(f"{owner} takes no {name!r}: {refused[name]}")
        elif name not in known:
            raise unknown_name(f"option of {owner}", name, known)


By = Solver | Literal["same", True]
"""How to repeat a run: with a solver; with its own, tightened; or, if True, with other choices."""
Initial = Mapping[str, float] | Continuable
"""Start values by name; or a run to continue, from its end or from a point of it."""


def requested(
    until: float, initial: Initial | None, options: RunOptions | Mapping[str, Any]
) -> tuple[Request, At]:
    """Return the request of a run, and its sample times.

    Parameters
    ----------
    until
        The end, s.
    initial
        Start values to keep, by the names of states; or a run to continue, or a point of one: with
        its state, its discrete values and, unless `options` has a start time, its time.
    options
        Those of `RunOptions`; None leaves the default.

    Raises
    ------
    UnknownNameError, UnsupportedError, MissingBackendError
        A formulation or a solver is unknown, invalid, or not installed.
    """
    given = {name: value for name, value in options.items() if value is not None}
    at: Any = given.pop("at", None)
    kept: Mapping[str, float] = {}
    if isinstance(initial, Continuable):
        place = initial.continuation
        given = {"start_time": place.time, **given}
        given["begun"] = _by_another_clock(place, given["start_time"])
        given["continues"] = place.described()
        kept = place.state
    elif initial is not None:
        kept = initial
    return Request(until=until, initial=kept, **made_by_name(given)), at


def _by_another_clock(place: Continuation, start_time: Any) -> dict[str, float]:
    """Return the discrete values at a place in a run, if that place is now at another time."""
    values = dict(place.values)
    if is_number(start_time) and start_time != place.time:
        for name in instants(values):
            values[name] += start_time - place.time
    return values


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
"""What can be run: a system with start values, or a case of a problem, which has its own."""
Bound = TypeVar("Bound", bound=BoundProblem)


def with_values(
    case: Bound, initial: Mapping[str, float] | None, options: Mapping[str, Any]
) -> Bound:
    """Return a case with the given start values and parameters.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or a value is not possible.
    """
    parameters = options.get("parameters")
    changed = case if parameters is None else case.changed(parameters)
    inputs: Mapping[str, Any] = options.get("inputs") or {}
    numbers = {name: value for name, value in inputs.items() if is_number(value)}
    changed = changed.changed(numbers) if numbers else changed
    return changed.starting({} if initial is None else initial)


def by_name(initial: Initial | None) -> Mapping[str, float] | None:
    """Return the start values that are given by name, none if a run is to be continued."""
    return None if isinstance(initial, Continuable) else initial


def arguments_of(
    case: BoundProblem,
    until: float | None,
    initial: Initial | None,
    options: RunOptions | Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments of `daesolve.solve` for a case, which may continue a run.

    Raises
    ------
    OutOfRangeError
        The run to continue has passed the end of the case.
    """
    wanted = case.solve_options(until, options)
    if not isinstance(initial, Continuable):
        return wanted
    place, start = initial.continuation, options.get("start_time")
    asked: Mapping[str, Any] = options.get("parameters") or {}
    ended = {*place.values} - {*asked}
    parameters = {name: v for name, v in wanted["parameters"].items() if name not in ended}
    if until is None and start is None:
        first, last = wanted["start_time"] or 0.0, wanted["until"]
        if place.time == last or not min(first, last) <= place.time <= max(first, last):
            raise OutOfRangeError(
                f"the run to continue is at t = {place.time:.10g} s, and the case goes from "
                f"{first:g} to {last:g} s: give the end of the new run (until=..., --until)"
            )
    begin = {"initial": initial, "guess": None, "start_time": start, "at": options.get("at")}
    return {**wanted, **begin, "parameters": parameters}


def requested_by(
    case: BoundProblem, until: float | None, options: RunOptions | Mapping[str, Any]
) -> tuple[Request, At]:
    """Return the request of a case, and its sample times."""
    wanted: dict[str, Any] = case.solve_options(until, options)
    return requested(wanted.pop("until"), wanted.pop("initial"), wanted)


def requested_of(
    source: Source,
    until: float | None,
    initial: Initial | None,
    options: RunOptions,
) -> tuple[System, Request, At]:
    """Return the system of a source, the request, and its sample times.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    until
        The end, s; None takes the horizon of a case.
    initial
        Start values to keep; for a case, also by its own names. Or a run: the new run continues
        from its end, or from a point of it.
    options
        Further options.

    Raises
    ------
    PosingError
        It is neither a system nor a case.
    OutOfRangeError
        A system is given without a horizon.
    UnknownNameError
        The name of a start value is unknown.
    """
    if isinstance(source, BoundProblem):
        case = with_values(source, by_name(initial), options)
        wanted = arguments_of(case, until, initial, options)
        return case.system, *requested(wanted.pop("until"), wanted.pop("initial"), wanted)
    check_system(source)
    if until is None:
        raise OutOfRangeError("until is missing: a system has no horizon")
    return source, *requested(until, initial, options)
