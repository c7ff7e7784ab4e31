"""The request of a run, and checks that it makes sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from daesolve.core.equations.consistency import check_named
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.choices import (
    LAWS,
    ON_AMBIGUOUS,
    ON_GAIN,
    ON_JAM,
    Choices,
    Law,
    OnAmbiguous,
    OnGain,
    OnJam,
    VariantPolicy,
)
from daesolve.core.formulations import Formulation
from daesolve.core.posing.goals import check_feedback
from daesolve.core.solvers import Solver
from daesolve.core.system.driving import driven_by
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, UnsupportedError, is_number, is_one_of, unknown_name

Redundant = Literal["error", "drop", "minimum-norm"]
RankLoss = Literal["stop", "pass", "raise", "viscous"]

DEFAULT_RATE = 10.0


@dataclass(frozen=True)
class Request:
    """The request of a run.

    Parameters
    ----------
    until
        The end, s.
    start_time
        The start, s.
    parameters
        Values that replace the defaults.
    initial
        Start values to keep, by the names of states.
    guess
        Start values that may change to make the state consistent.
    formulation, solver
        None lets the library choose.
    rtol, atol
        Tolerances of the automatically chosen solver; None means its own.
    default_rate
        The rate of goals without a rate of their own, 1/s.
    scales
        The scale of goals by name.
    redundant
        What to do with constraints that depend on each other everywhere.
    redundant_weights
        How "minimum-norm" divides a shared load, by the goal's name; 1 for the others.
    rank_loss
        What to do where constraints lose rank at isolated positions.
    max_evaluations
        How many right-hand sides the run may evaluate; None sets no bound.
    variant_policy
        How to continue where another support of a guide becomes loaded.
    impact, impact_order, on_gain
        The impact law of contacts, the order of sequential impacts, and what to do if an impact
        would add energy to the bodies.
    on_jam, on_ambiguous
        What to do if no forces let contacts slide on, and if several motions are possible.
    inputs
        Inputs by name; see `system.driving`.
    begun
        The discrete values at the end of another run that this one continues; None if there is
        none.
    continues
        Which run that is, from when this one continues it, and how it ended; see
        `Continuation.described`.
    """

    until: float
    start_time: float = 0.0
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    initial: Mapping[str, float] = field(default_factory=dict[str, float])
    guess: Mapping[str, float] = field(default_factory=dict[str, float])
    formulation: Formulation | None = None
    solver: Solver | None = None
    rtol: float | None = None
    atol: float | None = None
    default_rate: float = DEFAULT_RATE
    scales: Mapping[str, float] = field(default_factory=dict[str, float])
    redundant: Redundant = "error"
    redundant_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    rank_loss: RankLoss = "stop"
    max_evaluations: int | None = None
    variant_policy: VariantPolicy = "continuity"
    impact: Law = "newton"
    impact_order: Sequence[str] | None = None
    on_gain: OnGain = "refuse"
    on_jam: OnJam = "end"
    on_ambiguous: OnAmbiguous = "refuse"
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    begun: Mapping[str, float] | None = None
    continues: Mapping[str, Any] | None = None

    @property
    def choices(self) -> Choices:
        """How the motion continues where the equations leave it open."""
        order = None if self.impact_order is None else tuple(self.impact_order)
        springs = self.redundant == "minimum-norm"
        names = "variant_policy", "impact", "on_gain", "on_jam", "on_ambiguous"
        given = {name: getattr(self, name) for name in names}
        return Choices(**given, impact_order=order, springs=springs)


@runtime_checkable
class ChecksRequest(Protocol):
    """What a feature adds to a system and what some requests may contradict."""

    def check_request(self, request: Request) -> None:
        """Refuse a request that contradicts what this adds."""
        ...


def with_inputs(system: System, request: Request) -> tuple[System, Request]:
    """Return the system with the inputs of a request, and the request without them.

    Raises
    ------
    DaesolveError
        An input is unknown, invalid or missing.
    """
    given, others = (
        check_named(what, value)
        for what, value in (("inputs", request.inputs), ("parameters", request.parameters))
    )
    system, numbers = driven_by(system, given, others)
    return system, replace(request, parameters=numbers, inputs={})


def checked(system: System, request: Request) -> tuple[System, Request]:
    """Check the request, then return the result of `with_inputs`.

    Raises
    ------
    DaesolveError
        See `with_inputs` and `check_request`.
    """
    system, request = with_inputs(system, request)
    check_request(system.dynamics, request)
    return system, request


def check_request(dynamics: Dynamics, request: Request) -> None:
    """Refuse times, options and scales that make no sense.

    Raises
    ------
    OutOfRangeError, UnknownNameError, UnsupportedError
        The message names what is wrong, and what would be right.
    """
    for option, given, known in (
        ("redundant", request.redundant, get_args(Redundant)),
        ("rank_loss", request.rank_loss, get_args(RankLoss)),
        ("variant_policy", request.variant_policy, get_args(VariantPolicy)),
        ("impact", request.impact, LAWS),
        ("on_gain", request.on_gain, ON_GAIN),
        ("on_jam", request.on_jam, ON_JAM),
        ("on_ambiguous", request.on_ambiguous, ON_AMBIGUOUS),
    ):
        if not is_one_of(given, known):
            raise OutOfRangeError(f"{option} is {given!r}, but must be one of {', '.join(known)}")
    _check_options(dynamics, request)
    _check_tolerances(request)
    _check_rank_loss(request)
    check_named("redundant_weights", request.redundant_weights)
    if request.redundant_weights and request.redundant != "minimum-norm":
        raise OutOfRangeError(
            "redundant_weights need redundant = 'minimum-norm', because they set how "
            "reactions are shared"
        )
    for name, scale in check_named("scales", request.scales).items():
        if name not in dynamics.goal_names:
            raise unknown_name("goal with a scale", name, dynamics.goal_names)
        check_feedback(name, None, scale)
    _check_times(dynamics, request)
    if not is_number(request.default_rate) or request.default_rate < 0:
        raise OutOfRangeError(f"the rate is {request.default_rate!r}, but must be >= 0")


def _check_options(dynamics: Dynamics, request: Request) -> None:
    """Refuse options that concern nothing in the system, or not what it has."""
    options = {option for addition in dynamics.additions for option in addition.options}
    if request.variant_policy != "continuity" and "variant_policy" not in options:
        raise UnsupportedError(
            f"variant_policy = {request.variant_policy!r} applies to pairs of supports, but "
            "the system has none: leave it out"
        )
    others = replace(request.choices, variant_policy="continuity", springs=False)
    if others != Choices() and "impact" not in options:
        raise UnsupportedError(
            "impact, impact_order, on_gain, on_jam and on_ambiguous apply to contacts, but the "
            "system has none: leave them out"
        )
    for addition in dynamics.additions:
        if isinstance(addition, ChecksRequest):
            addition.check_request(request)


def _check_tolerances(request: Request) -> None:
    """Refuse invalid tolerances, and tolerances beside a solver object, which has its own."""
    for name, value in (("rtol", request.rtol), ("atol", request.atol)):
        if value is None:
            continue
        if not is_number(value) or value <= 0:
            raise OutOfRangeError(f"{name} is {value!r}, but must be a number > 0")
        if request.solver is not None:
            raise OutOfRangeError(
                f"{name} applies only to the automatically chosen solver, but "
                f"{request.solver.name!r} is requested: give the tolerance to that solver"
            )


def _check_rank_loss(request: Request) -> None:
    """Refuse a formulation that contradicts `rank_loss`, and an empty budget."""
    given, budget = request.formulation, request.max_evaluations
    if request.rank_loss == "viscous" and given is not None and not given.replaces_constraints:
        raise UnsupportedError(
            f"rank_loss = 'viscous' needs the formulation 'viscous', but {given.title!r} is "
            "requested: leave one of them out"
        )
    if budget is not None and not (type(budget) is int and budget > 0):
        raise OutOfRangeError(
            f"max_evaluations is {budget!r}, but must be a whole number of right-hand sides > 0"
        )


def _check_times(dynamics: Dynamics, request: Request) -> None:
    """Refuse a start and an end that leave no time for a run."""
    for name, value in (("until", request.until), ("the start time", request.start_time)):
        if not is_number(value):
            raise OutOfRangeError(f"{name} is {value!r}, but must be a finite time in s")
    if dynamics.resets and request.until < request.start_time:
        raise OutOfRangeError(
            f"until = {request.until:g} s lies before the start at {request.start_time:g} s, "
            "but resets cannot be undone: run forwards in time"
        )
    if request.until == request.start_time:
        raise OutOfRangeError(
            f"the horizon is zero: the run starts and ends at t = {request.until:g} s; give "
            "another until"
        )
