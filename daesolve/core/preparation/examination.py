"""Examines a system before a run: its initial state, and its properties at sample states.

The initial state is a consistent state, the values of p there and the mode in which the run begins.
Sample states say whether goals depend on each other, and what is not conserved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.core.equations.conservation import enter_forces
from daesolve.core.equations.consistency import (
    Start,
    check_named,
)
from daesolve.core.equations.consistent_start import (
    accepted_drift,
    start_with_modes,
    values_to_continue_with,
)
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import (
    Rank,
    Samples,
    check_mass,
    check_weights,
    constraint_rank,
    friction_on_redundant,
)
from daesolve.core.equations.regular_samples import regular_samples
from daesolve.core.events.law import Beginning
from daesolve.core.events.transitions import begin
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import Feedback, Formulation
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.conserved_invariants import conserved_invariants
from daesolve.core.preparation.redundant_rows import Dependent, NonredundantSystem, check_redundant
from daesolve.core.preparation.request import Request
from daesolve.core.results.trajectory.in_words import continued_run
from daesolve.core.system.consistent_state import parameter_values
from daesolve.core.system.system import System
from daesolve.errors import (
    DegenerateStartError,
    OutOfRangeError,
    RedundantConstraintsError,
    UnsupportedError,
)


@dataclass(frozen=True, eq=False)
class InitialState:
    """Where a run starts.

    Parameters
    ----------
    start
        The consistent start and what was changed for it.
    values
        p by name.
    resting
        Whether dry friction holds the body at rest from the start on.
    energy
        The kinetic energy that a body in guides has or would reach, J; None without guides.
    notes
        What the laws of its modes have chosen, in words.
    """

    start: Start
    values: dict[str, float]
    resting: bool
    energy: float | None
    notes: tuple[str, ...]


def initial_state(dynamics: Dynamics, formulation: Formulation, request: Request) -> InitialState:
    """Choose the mode and the discrete values that fit the consistent start.

    Raises
    ------
    DaesolveError
        A parameter is invalid, no consistent state agrees with the start values, or no motion
        continues from there.
    """
    start, values = starting_point(dynamics, request)
    check_restitution(dynamics, values)
    values |= formulation.values(dynamics)
    beginning = Beginning(
        request.start_time,
        request.until,
        start.state,
        values,
        request.choices,
    )
    begun = begin(dynamics, beginning)
    return InitialState(
        start=replace(start, state=begun.state),
        values=dict(begun.values),
        resting=begun.resting,
        energy=begun.energy,
        notes=(*continued_run(request.continues), *begun.notes),
    )


def mode_at(
    dynamics: Dynamics, start: Mapping[str, float], values: Mapping[str, float], time: float
) -> dict[str, float]:
    """Return the discrete values with which a run would begin in a given state, by name.

    Parameters
    ----------
    dynamics
        The equations.
    start
        A consistent state by name.
    values
        Parameters and inputs that override their defaults; inputs without a value count as zero.
    time
        When the run would begin, s.

    Raises
    ------
    DaesolveError
        As in `initial_state`.
    """
    given = {name: value for name, value in values.items() if name in dynamics.posed_ranges}
    request = Request(until=time + 1.0, start_time=time, parameters=given, initial=start)
    found = initial_state(dynamics, Feedback(), request).values
    return {name: found[name] for name in dynamics.discrete}


def starting_point(dynamics: Dynamics, request: Request) -> tuple[Start, dict[str, float]]:
    """Return the consistent start, and the values of p by name, the references there included.

    Raises
    ------
    DaesolveError
        A parameter is invalid, no consistent state agrees with the start values, or the run to
        continue lacks states.
    """
    values = dict(dynamics.values)
    if request.begun is not None:
        _check_whole(dynamics, request.initial)
    kept = values_to_continue_with(dynamics, request.begun or {}, request.start_time)
    values |= kept
    values |= parameter_values(dynamics, check_named("parameters", request.parameters))
    start, values = start_with_modes(
        dynamics,
        values,
        request.initial,
        guess=request.guess,
        time=request.start_time,
        kept=kept,
        drift=accepted_drift(dynamics, (request.continues or {}).get("drift", {})),
    )
    return start, values | _references(dynamics, start.state, request.start_time, values)


def _check_whole(dynamics: Dynamics, ended: Mapping[str, float]) -> None:
    """Refuse to continue a run of a system without some of the states: they would be zero."""
    missing = [name for name in dynamics.labels.states if name not in ended]
    if missing:
        raise OutOfRangeError(
            f"the run to continue has no value for the states {', '.join(missing)} of this system: "
            "give them beside its own, initial={**run.end_state, ...}, with "
            "start_time=run.end_time"
        )


def _references(
    dynamics: Dynamics, state: np.ndarray, time: float, values: Mapping[str, float]
) -> dict[str, float]:
    held = {row.name: row.held for row in dynamics.invariants}
    held |= {row.name: row.chain[0] for row in dynamics.rows if row.from_start}
    if not held:
        return {}
    function = ca.Function(
        "held", [dynamics.t, dynamics.x, dynamics.p], [ca.vertcat(*held.values())]
    )
    numbers = dynamics.value_vector(
        {**values, **{ValueKind.REFERENCE.name_of(name): 0.0 for name in held}}
    )
    found = np.asarray(function(time, state, numbers)).ravel()
    return {
        ValueKind.REFERENCE.name_of(name): float(v) for name, v in zip(held, found, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Examined:
    """The properties of a system at sample states.

    Parameters
    ----------
    system, dynamics
        The system, without the goals that were dropped, and its equations.
    kept
        The discrete values that say which dependent goals are kept, by name.
    samples
        Those states at which the rank is known.
    rank
        The rank of its constraints.
    proximal
        Whether its elimination is proximal.
    conserved
        By invariant, whether it is.
    """

    system: System
    dynamics: Dynamics
    kept: Mapping[str, float]
    samples: Samples
    rank: Rank
    proximal: bool
    conserved: Mapping[str, bool]


def examined(
    system: System,
    values: Mapping[str, float],
    samples: Samples,
    request: Request,
    formulation: Formulation,
    notes: list[str],
) -> Examined:
    """Apply the rules for dependent constraints, and decide which invariants are conserved.

    Parameters
    ----------
    system, values
        The equations, and p by name.
    samples
        Consistent states near the start.
    request, formulation
        The requested run.
    notes
        Receives notes about the choices and their reasons.

    Raises
    ------
    DaesolveError
        Goals depend on each other and the request has no rule for it, or a driven invariant is not
        conserved.
    """
    dynamics = system.dynamics
    numbers = dynamics.value_vector(values)
    check_mass(dynamics, samples, numbers)
    check_weights(dynamics, request.redundant_weights)
    check_held_goals(dynamics, formulation, values)
    moded = dynamics.in_mode(numbers)
    samples = regular_samples(moded, samples, numbers)
    rank = constraint_rank(moded, samples, numbers)
    shares = may_share_loads(dynamics, formulation, request.redundant)
    chosen = NonredundantSystem(system, dynamics, shares or request.rank_loss == "pass")
    if shares and request.redundant == "error" and are_unilateral(dynamics, rank):
        # On these it rests, or the start would have been refused.
        rank = replace(rank, groups=(), droppable=())
    if rank.groups:
        check_held_reactions(dynamics, rank, request.redundant)
        moving = friction_on_redundant(dynamics, samples, numbers)
        moving = moving or enter_forces(dynamics, rank.redundant, values)
        note = check_redundant(rank, moving, request.redundant)
        if request.redundant == "minimum-norm":
            notes.append(note)
        chosen = Dependent(system, values, rank, samples).kept(request, formulation, notes)
        if request.redundant == "drop" or not chosen.proximal:
            rank = replace(rank, groups=(), droppable=())
    elif rank.degenerate_at_start and not chosen.proximal and not formulation.replaces_constraints:
        raise _degenerate_start(dynamics, rank)
    kept = restricted(chosen.system.dynamics, values)
    conserved = conserved_invariants(chosen.system.dynamics, samples, kept, notes)
    return Examined(
        chosen.system, chosen.dynamics, chosen.values, samples, rank, chosen.proximal, conserved
    )


def restricted(dynamics: Dynamics, values: Mapping[str, float]) -> dict[str, float]:
    """Return those of the values that these equations contain."""
    return {name: values.get(name, default) for name, default in dynamics.values.items()}


def _degenerate_start(dynamics: Dynamics, rank: Rank) -> DegenerateStartError:
    """Say why no motion continues where goals depend on each other at the start alone."""
    names = ", ".join(map(repr, rank.degenerate_at_start))
    singular = {row.name for row in dynamics.rows if row.typical is not None}
    if set(rank.degenerate_at_start) <= singular:
        return DegenerateStartError(
            f"at the start no reaction influences the goals {names} (rank {rank.at_start} of "
            f"{len(dynamics.rows)}), because it is at rest; start in motion, or write the "
            "goals linear in the velocities"
        )
    if len(rank.degenerate_at_start) == 1:
        return DegenerateStartError(
            f"at the start the residual of the goal {names} has no slope, as (r^2 - 1)^2 has none "
            "where r = 1, so no reaction can hold it: write it so that it passes zero with a "
            "slope, as r^2 - 1 does; if it has none at this position alone, start away from it, or "
            "set rank_loss = 'pass'"
        )
    return DegenerateStartError(
        f"at the start the goals {names} depend on each other, but not elsewhere; start away "
        "from this position, or set rank_loss = 'pass'"
    )


def check_restitution(dynamics: Dynamics, values: Mapping[str, float]) -> None:
    """Refuse a restitution that follows from the parameters and does not lie in [0, 1].

    One that depends on time, the state or discrete values is known only at an impact.

    Parameters
    ----------
    dynamics
        The equations.
    values
        p by name.

    Raises
    ------
    OutOfRangeError
        The message names the event or the goal.
    """
    lasting = dynamics.lasting(values)
    symbols = zip(dynamics.values, ca.vertsplit(dynamics.p), strict=True)
    own = [symbol for name, symbol in symbols if name in lasting]
    known = [(name, value) for name, value in _restitutions(dynamics) if _is_of(value, own)]
    if not known:
        return
    column = ca.vertcat(*[value for _, value in known])
    function = function_of("restitution", [dynamics.p], [column], (["p"], ["restitution"]))
    found = np.asarray(function(dynamics.value_vector(values))).ravel()
    for (name, _), number in zip(known, found.tolist(), strict=True):
        if not 0.0 <= number <= 1.0:
            raise OutOfRangeError(
                f"the restitution of {name} is {number:.6g}, but must lie in [0, 1]"
            )


def _restitutions(dynamics: Dynamics) -> Iterator[tuple[str, ca.SX]]:
    for addition in dynamics.additions:
        yield from addition.restitutions.items()
    for index, reset in dynamics.resets.items():
        yield f"the event {dynamics.events[index].name!r}", reset.restitution


def _is_of(expression: ca.SX, symbols: list[ca.SX]) -> bool:
    """Return whether an expression depends on these symbols and on nothing else."""
    found = {symbol.element_hash() for symbol in ca.symvar(expression)}
    return bool(found) and found <= {symbol.element_hash() for symbol in symbols}


FEWEST: Mapping[str, int] = {"minimum-norm": 1, "error": 4}
"""The least number of unilateral goals that may come to share loads, by the option `redundant`.

With "error", the default, three in a line are refused.
"""


def check_held_goals(
    dynamics: Dynamics, formulation: Formulation, values: Mapping[str, float]
) -> None:
    """Refuse to release constraints in a formulation that cannot do so, or to hold one by half.

    Raises
    ------
    UnsupportedError, OutOfRangeError
        The message names the goal that does not always hold.
    """
    for row in dynamics.rows:
        if row.hold is None:
            continue
        name = row.hold.name()
        if not formulation.releases:
            raise UnsupportedError(
                f"the formulation {formulation.title!r} cannot release constraints such as "
                f"{row.name!r}: use 'feedback', without rank_loss = 'pass' or 'viscous'"
            )
        if values[name] not in (0.0, 1.0):
            raise OutOfRangeError(
                f"the goal {row.name!r} is held by {name!r}, which is {values[name]:g}, but "
                "must be 1.0 (it holds) or 0.0 (it is released)"
            )


def may_share_loads(dynamics: Dynamics, formulation: Formulation, redundant: str) -> bool:
    """Return whether unilateral goals share loads because more hold than are independent.

    A body on four feet has a determined motion, although the loads of its feet are not determined.
    """
    count = sum(row.shares_loads for row in dynamics.unilateral)
    shares = formulation.chooses_goals or redundant == "minimum-norm"
    return shares and count >= FEWEST.get(redundant, count + 1)


def are_unilateral(dynamics: Dynamics, rank: Rank) -> bool:
    """Return whether unilateral goals alone depend on each other."""
    gaps = {dynamics.rows[one.row].name for one in dynamics.unilateral}
    return all(gaps.issuperset(group) for group in rank.groups)


def check_held_reactions(dynamics: Dynamics, rank: Rank, redundant: str) -> None:
    """Refuse dependent constraints whose unknown reactions decide when they are released.

    On request, unilateral goals share loads like equal springs, and are then accepted.

    Raises
    ------
    RedundantConstraintsError
        A goal that does not always hold depends on others.
    """
    held = {row.name for row in dynamics.rows if row.hold is not None}
    if redundant == "minimum-norm":
        sharing = [one for one in dynamics.unilateral if one.shares_loads]
        held -= {dynamics.rows[row].name for one in sharing for row in (one.row, *one.slips)}
    for group in rank.groups:
        if held.intersection(group):
            slips = {row.name for row in dynamics.rows if row.hold is not None and row.degree == 1}
            one = "let one law of friction bear the load of both"
            instead = one if slips.issuperset(group) else "leave out one of them"
            raise RedundantConstraintsError(
                f"the goals {', '.join(map(repr, group))} depend on each other everywhere, so "
                f"their reactions do not show which of them opens; {instead}"
            )
