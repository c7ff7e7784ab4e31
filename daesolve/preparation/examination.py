"""What is examined before a run: its initial state, and a system at sample states.

The initial state is a consistent state, the values of p there and the mode in which the run begins.
Sample states say whether goals depend on each other, and what is conserved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.algebra.linear import is_zero
from daesolve.equations.consistency import Start, check_named, complete_start
from daesolve.equations.dynamics import Dynamics
from daesolve.equations.rank import (
    POWER_TOLERANCE,
    Rank,
    Samples,
    check_mass,
    check_weights,
    constraint_rank,
    friction_on_redundant,
    relative_power,
)
from daesolve.errors import (
    DegenerateStartError,
    PosingError,
    RedundantConstraintsError,
    UndeterminedMotionError,
)
from daesolve.formulations import Formulation
from daesolve.modes.contact_law import check_held_goals, check_held_reactions
from daesolve.modes.law import Beginning
from daesolve.modes.transitions import begin
from daesolve.posing.value_names import ValueKind
from daesolve.preparation.request import Redundant, Request
from daesolve.system.consistent_state import parameter_values
from daesolve.system.system import System

TELLING = 3
"""Sample states below which they do not show that reactions do no work."""


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
        A parameter cannot be, no consistent state agrees with the start values, or no motion goes
        on from there.
    """
    start, values = starting_point(dynamics, request)
    values |= formulation.values(dynamics)
    beginning = Beginning(
        request.start_time, request.until, start.state, values, request.variant_policy
    )
    begun = begin(dynamics, beginning)
    return InitialState(
        start=replace(start, state=begun.state),
        values=dict(begun.values),
        resting=begun.resting,
        energy=begun.energy,
        notes=begun.notes,
    )


def starting_point(dynamics: Dynamics, request: Request) -> tuple[Start, dict[str, float]]:
    """Return the consistent start, and the values of p by name, the references there included.

    Raises
    ------
    DaesolveError
        A parameter cannot be, or no consistent state agrees with the start values.
    """
    values = dict(dynamics.values)
    values |= parameter_values(dynamics, check_named("parameters", request.parameters))
    start = complete_start(
        dynamics,
        dynamics.value_vector(values),
        request.initial,
        guess=request.guess,
        time=request.start_time,
    )
    return start, values | _references(dynamics, start.state, request.start_time, values)


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
    """What sample states say of a system.

    Parameters
    ----------
    system
        The system, without the goals that were dropped.
    rank
        What its constraints are worth.
    proximal
        Whether its elimination is to be proximal.
    conserved
        By invariant, whether it is.
    """

    system: System
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
        What the run is to be.
    notes
        Takes up what was chosen and why.

    Raises
    ------
    DaesolveError
        Goals depend on each other and no rule was asked for, or an invariant that is to be driven
        is not conserved.
    """
    dynamics = system.dynamics
    numbers = dynamics.value_vector(values)
    check_mass(dynamics, samples, numbers)
    check_weights(dynamics, request.redundant_weights)
    check_held_goals(dynamics, formulation, values)
    rank = constraint_rank(dynamics.in_mode(numbers), samples, numbers)
    passes = request.rank_loss == "pass"
    proximal = passes or (bool(rank.groups) and request.redundant != "drop")
    if rank.groups:
        check_held_reactions(dynamics, rank)
        moving = friction_on_redundant(dynamics, samples, numbers)
        notes.append(_selection(rank, moving, request.redundant))
    if rank.groups and request.redundant == "drop":
        system = system.without(rank.droppable)
        rank = replace(rank, groups=(), droppable=())
    elif rank.degenerate_at_start and not proximal and not formulation.replaces_constraints:
        raise _degenerate_start(dynamics, rank)
    kept = restricted(system.dynamics, values)
    conserved = _conserved(system.dynamics, samples, system.dynamics.value_vector(kept), notes)
    return Examined(system, rank, proximal, conserved)


def restricted(dynamics: Dynamics, values: Mapping[str, float]) -> dict[str, float]:
    """Return the values that there are in these equations, of those of more goals."""
    return {name: values.get(name, default) for name, default in dynamics.values.items()}


def _degenerate_start(dynamics: Dynamics, rank: Rank) -> DegenerateStartError:
    """Say why no motion goes on from where goals depend on each other at the start alone."""
    names = ", ".join(map(repr, rank.degenerate_at_start))
    singular = {row.name for row in dynamics.rows if row.typical is not None}
    if set(rank.degenerate_at_start) <= singular:
        return DegenerateStartError(
            f"at the start no reaction influences the goals {names} (rank {rank.at_start} of "
            f"{len(dynamics.rows)}), since it is at rest; start in motion, or pose them "
            "linear in the velocities"
        )
    return DegenerateStartError(
        f"at the start the goals {names} depend on each other, though not elsewhere; start "
        "beside this position, or ask for rank_loss = 'pass'"
    )


def _selection(rank: Rank, moving: Sequence[str], redundant: Redundant) -> str:
    """Say by which rule undetermined reactions are chosen, or why none may be.

    Raises
    ------
    RedundantConstraintsError
        No rule was asked for.
    UndeterminedMotionError
        The reactions enter a force, and no rule for sharing them was asked for.
    """
    first, *others = [", ".join(map(repr, group)) for group in rank.groups]
    depend = f"the goals {first} depend on each other everywhere" + "".join(
        f", and so do {other}" for other in others
    )
    surplus = ", ".join(map(repr, rank.droppable))
    if moving and redundant != "minimum-norm":
        raise UndeterminedMotionError(
            f"{depend}, and the reactions {', '.join(map(repr, moving))}, which they do not "
            f"determine, enter a force: neither is the motion; leave out {surplus}, or ask for "
            "redundant = 'minimum-norm', which shares them by redundant_weights"
        )
    if redundant == "error":
        raise RedundantConstraintsError(
            f"{depend}, so their reactions are not determined; leave out {surplus}, or ask for "
            "redundant = 'drop' or 'minimum-norm'"
        )
    if redundant == "drop":
        return f"dropped as redundant: {', '.join(rank.droppable)}; the motion is the same"
    chosen = f"{depend}: their reactions are not unique, shown are those of minimum norm"
    if moving:
        return f"{chosen}; they enter a force, so the motion is one of many, that of this choice"
    return f"{chosen}; the motion is unique"


def _conserved(
    dynamics: Dynamics, samples: Samples, values: np.ndarray, notes: list[str]
) -> dict[str, bool]:
    """Decide which invariants are, at consistent states, the power of reactions included."""
    conserved: dict[str, bool] = {}
    few = len(samples) < TELLING and not _is_ideal(dynamics)
    for row in dynamics.invariants:
        doubt = row.doubt
        if row.automatic and few and not doubt:
            doubt = "reactions may do work, and hardly a consistent state was found to see it at"
        if doubt:
            conserved[row.name] = False
            notes.append(
                f"{row.name} may not be conserved, for {doubt}: its power is metered as work, "
                "and it is not driven"
            )
            continue
        power = relative_power(dynamics, row, samples, values)
        conserved[row.name] = power <= POWER_TOLERANCE
        if conserved[row.name]:
            if row.automatic and row.note:
                notes.append(f"{row.name} is conserved: {row.note}")
            continue
        if row.automatic:
            notes.append(
                f"{row.name} is not conserved (relative power {power:.2g} at sample states): its "
                "power is metered as work, and it is not driven"
            )
        elif row.drive:
            raise PosingError(
                f"the invariant {row.name!r} is to be driven, but is not conserved: its rate is "
                f"{power:.2g} of its terms at a sample state; set drive=False"
            )
        else:
            notes.append(f"{row.name} is not conserved (relative rate {power:.2g})")
    return conserved


def _is_ideal(dynamics: Dynamics) -> bool:
    """Tell whether every reaction acts along the gradient of its goal."""
    directed = dynamics.reactions.numel() - len(dynamics.rows)
    return not directed and all(
        row.reaction is not None
        and is_zero(ca.SX(ca.sparsify(dynamics.influence[:, row.reaction] - row.jacobian.T)))
        for row in dynamics.rows
    )
