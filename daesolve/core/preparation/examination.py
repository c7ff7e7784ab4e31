"""Examines a system before a run: its initial state, and its properties at sample states.

The initial state is a consistent state, the values of p there and the mode in which the run begins.
Sample states say whether goals depend on each other, and what is not conserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.core.equations.conservation import enter_forces
from daesolve.core.equations.consistency import (
    Start,
    check_named,
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
from daesolve.core.equations.starting import continued, drifted, started
from daesolve.core.events.law import Beginning
from daesolve.core.events.transitions import begin
from daesolve.core.formulations import Feedback, Formulation
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.conservation import conserved_invariants
from daesolve.core.preparation.held_constraints import (
    are_unilateral,
    check_held_goals,
    check_held_reactions,
    may_share_loads,
)
from daesolve.core.preparation.redundancy import Dependent, NonredundantSystem, check_redundant
from daesolve.core.preparation.request import Request
from daesolve.core.preparation.restitution import check_restitution
from daesolve.core.results.trajectory.in_words import continued_run
from daesolve.core.system.consistent_state import parameter_values
from daesolve.core.system.system import System
from daesolve.errors import DegenerateStartError, OutOfRangeError


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
        request.variant_policy,
        request.contact_policy,
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
    kept = continued(dynamics, request.begun or {}, request.start_time)
    values |= kept
    values |= parameter_values(dynamics, check_named("parameters", request.parameters))
    start, values = started(
        dynamics,
        values,
        request.initial,
        guess=request.guess,
        time=request.start_time,
        kept=kept,
        drift=drifted(dynamics, (request.continues or {}).get("drift", {})),
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
