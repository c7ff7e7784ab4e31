"""The guards of a unit: what each depends on, and how the C code watches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daesolve.core.equations.borders import Borders
from daesolve.core.events.guard_table import GuardTable, GuardTraits, Role
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.events.transitions import Ownership
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.system.piecewise import Switching
from daesolve.core.system.poles import without_poles

OF_STATE, OF_TIME, OF_VALUES = range(3)
"""What a guard is watched as: an event indicator, a time that is known before, or a condition on
values alone that resets change."""
TRAITS = (
    "recorded", "switching", "jumping", "whenever", "barriers", "moved", "returns", "stays",
    "sharp", "posed",
)  # fmt: skip
"""The traits by which the C code judges guards, as in `GuardTraits`."""


@dataclass(frozen=True)
class WatchedGuard:
    """A guard in the C code.

    Parameters
    ----------
    event
        The index of its event.
    kind
        `OF_STATE`, `OF_TIME` or `OF_VALUES`.
    way
        The direction in which it counts: 1 rising, -1 falling, 0 either.
    stops
        Whether the motion ends there.
    traits
        Which of `TRAITS` it has.
    bars_start
        Whether no motion may start past it: a barrier of the state.
    border
        The place in p of a sign, or -1 (always) or -2 (never): see `Borders`.
    """

    event: int
    kind: int
    way: int
    stops: bool
    traits: frozenset[str]
    bars_start: bool
    border: int


def watched_guards(prepared: Prepared) -> tuple[WatchedGuard, ...]:
    """Return the guards of a run in their order."""
    problem, dynamics, transitions = prepared.problem, prepared.dynamics, prepared.transitions
    table = GuardTable(problem.events)
    roles: Sequence[Role] = [Role(barrier=True, posed=True)] * len(problem.events)
    if transitions is not None:
        roles = Ownership(table, transitions.laws).roles
    own = np.ones(len(table.guarded), dtype=bool)
    traits = GuardTraits.of(problem, table, roles, own, dynamics.switches)
    borders = Borders.of(dynamics, problem.events).places.tolist()
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    entries = ca.vertsplit(problem.guards(t, x, p)) if table.guarded else []
    return tuple(
        WatchedGuard(
            event=index,
            kind=_kind(entries[number], t, x),
            way=event.direction.value,
            stops=event.then.stops,
            traits=frozenset(name for name in TRAITS if getattr(traits, name)[number]),
            bars_start=roles[index].bars_start
            and not event.then.counts_past
            and bool(ca.depends_on(entries[number], x)),
            border=borders[number],
        )
        for number, (event, (index, _)) in enumerate(zip(table.guarded, table.places, strict=True))
    )


@dataclass(frozen=True, eq=False)
class BoundedGuards:
    """Guards without poles, which change their signs where posed ones do.

    A posed guard n / d that may have poles becomes 2 n d / (n^2 + d^2), which passes zero where n
    or d does.

    Parameters
    ----------
    values
        The guards.
    signs
        Of each: (d^2 - n^2) / (n^2 + d^2), -1 where it has a pole, or None if it has none.
    """

    values: ca.SX
    signs: tuple[ca.SX | None, ...]

    @staticmethod
    def of(prepared: Prepared, guards: ca.SX, fixed: ca.SX) -> BoundedGuards:
        """Return those of a run, whose guards depend on values that the motion does not change.

        Guards of contacts, and others of reactions, have no poles: masses are positive.
        """
        problem, transitions = prepared.problem, prepared.transitions
        table, reactions = GuardTable(problem.events), prepared.dynamics.reactions
        laws = () if transitions is None else transitions.laws
        owners = Ownership(table, laws).owners
        values, signs = list[ca.SX](), list[ca.SX | None]()
        entries = ca.vertsplit(guards) if table.guarded else []
        for event, owner, guard in zip(table.guarded, table.owners, entries, strict=True):
            posed = isinstance(owners[int(owner)], ResetLaw | None)
            posed = posed and not ca.depends_on(event.guards, reactions)
            over, *under = _fraction(guard, fixed) if posed else (guard,)
            if not under:
                values.append(guard)
                signs.append(None)
                continue
            below = under[0]
            for factor in under[1:]:
                below *= factor
            size = over**2 + below**2
            values.append(2 * over * below / size)
            signs.append((below**2 - over**2) / size)
        return BoundedGuards(ca.vertcat(ca.SX(0, 1), *values), tuple(signs))


def _fraction(guard: ca.SX, fixed: ca.SX) -> list[ca.SX]:
    """Return the numerator of a guard, and the factors below it that may change their sign."""
    inputs = ca.symvar(guard)
    function = ca.Function("guard", [ca.vertcat(ca.SX(0, 1), *inputs)], [guard])
    nodes = Switching(
        {entry.element_hash() for entry in ca.vertsplit(fixed)} if fixed.numel() else ()
    )
    numbers: dict[int, int] = {}
    result = -1
    for k in range(function.n_instructions()):
        operation, operands = function.instruction_id(k), function.instruction_input(k)
        outputs = function.instruction_output(k)
        if operation == ca.OP_OUTPUT:
            result = numbers[operands[0]]
        elif operation == ca.OP_INPUT:
            numbers[outputs[0]] = nodes.input(inputs[operands[1]])
        elif operation == ca.OP_CONST:
            numbers[outputs[0]] = nodes.constant(function.instruction_constant(k))
        else:
            numbers[outputs[0]] = nodes.node(operation, *[numbers[one] for one in operands])
    found = without_poles(nodes, result)
    return [guard] if len(found) == 1 else [nodes.of(number) for number in found]


def _kind(guard: ca.SX, t: ca.SX, x: ca.SX) -> int:
    """Return how a guard is watched: one that is affine in time alone is known beforehand."""
    if ca.depends_on(guard, x):
        return OF_STATE
    if not ca.depends_on(guard, t):
        return OF_VALUES
    affine = not ca.depends_on(ca.jacobian(guard, t), t)
    return OF_TIME if affine else OF_STATE
