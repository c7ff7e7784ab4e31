"""Several laws of dry friction that hold one slip: it rests under the sum of what each bears.

At rest nothing tells their shares, but the motion is determined: it depends on their sum alone. One
constraint holds the slip while any of them sticks. Each law bears a share of its reaction in
proportion to its limit, so that all of them give way at one instant, as they stop at one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import casadi as ca
import numpy as np

from daesolve.contact.posing.brakes import Sticking, brakes_of, ratio_of
from daesolve.core.posing.events import RISING, Action, Event, Reset, joined
from daesolve.core.posing.goals import AnyGoal, Expression, Nonholonomic, Relation
from daesolve.core.posing.symbols import Interval, Parameters
from daesolve.core.system.posed import PosedMechanics, outputs_changed

LEAST = 1e-150
"""N, keeps a sum of limits that are all zero from being divided by."""
Written = Callable[[Expression], ca.SX]
"""Writes an expression with the shares."""
_Posed = TypeVar("_Posed", bound=PosedMechanics)


class _SharedSlip(Nonholonomic):
    """A slip that several laws hold."""

    bears_impulses: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class _Group:
    """Laws that hold one slip.

    Parameters
    ----------
    goals, ratios
        What holds it for each, and the ratio of its slip to that of the first.
    sticks
        The discrete values by which they hold it.
    row
        The constraint that holds the slip for all.
    """

    goals: tuple[Sticking, ...]
    ratios: tuple[float, ...]
    sticks: tuple[ca.SX, ...]
    row: Nonholonomic

    @property
    def kind(self) -> tuple[str, tuple[float, ...]]:
        """What the components of a slip in a plane have in common."""
        return self.row.held_by, tuple(map(abs, self.ratios))

    def held(self, changes: Mapping[str, ca.SX]) -> ca.SX:
        """Return whether any of them sticks after some changes."""
        free = ca.SX(1)
        for goal, stick in zip(self.goals, self.sticks, strict=True):
            free *= 1 - changes.get(goal.held_by, stick)
        return 1 - free

    def shares(self) -> list[ca.SX]:
        """Return what each law bears."""
        pairs = zip(self.goals, self.sticks, strict=True)
        borne = [stick * ca.SX(goal.bears) for goal, stick in pairs]
        total = ca.SX(LEAST)
        for ratio, own in zip(self.ratios, borne, strict=True):
            total += abs(ratio) * own
        signs = np.sign(self.ratios).tolist()
        return [c * self.row.reaction * own / total for c, own in zip(signs, borne, strict=True)]


def with_shared_slips(system: _Posed) -> _Posed:
    """Return the system with one constraint for each slip that several laws hold."""
    groups = [] if brakes_of(system) else _groups(system)
    if not groups:
        return system
    goals = [goal for group in groups for goal in group.goals]
    shares = [share for group in groups for share in group.shares()]
    reactions = ca.vertcat(*[goal.reaction for goal in goals])

    def written(expression: Expression) -> ca.SX:
        return ca.substitute(ca.SX(expression), reactions, ca.vertcat(*shares))

    values = _values(system, groups)
    # The components of a slip in a plane are held by one value.
    by_value = {group.row.held_by: group for group in groups}
    rows = {group.goals[0].name: group.row for group in groups}
    dropped = {goal.name for goal in goals} - rows.keys()
    own = {
        goal.reaction_label: (share, goal.unit) for goal, share in zip(goals, shares, strict=True)
    }
    return replace(
        system,
        goals=tuple(
            _with_shares(rows.get(goal.name, goal), written)
            for goal in system.goals
            if goal.name not in dropped
        ),
        force=written(system.applied_force),
        discrete=system.discrete.joined(values),
        events=(
            *(_holding(event, groups, written) for event in system.events),
            *(_agreeing(group, values[name]) for name, group in by_value.items()),
        ),
        outputs=outputs_changed(written, system.outputs),
        meters=outputs_changed(written, system.meters),
        recovered=outputs_changed(written, system.recovered) | own,
        after=_renamed(system.after, groups),
    )


def _renamed(
    after: Mapping[str, Sequence[str]], groups: Sequence[_Group]
) -> dict[str, tuple[str, ...]]:
    """Return what is eliminated before each goal, with one goal for those that share a slip."""
    rows = {goal.name: group.row.name for group in groups for goal in group.goals}
    found: dict[str, tuple[str, ...]] = {}
    for goal, before in after.items():
        name = rows.get(goal, goal)
        named = (rows.get(one, one) for one in before)
        found[name] = tuple(dict.fromkeys([*found.get(name, ()), *named]))
    return found


def _groups(system: PosedMechanics) -> list[_Group]:
    """Return the laws that hold one slip, where there are several.

    In a plane they must share both components: of one alone nothing tells which gives way first.
    """
    found: list[list[tuple[Sticking, float]]] = []
    for goal in system.goals:
        if not isinstance(goal, Sticking):
            continue
        for known in found:
            ratio = ratio_of(ca.SX(goal.residual), ca.SX(known[0][0].residual))
            if ratio:
                known.append((goal, ratio))
                break
        else:
            found.append([(goal, 1.0)])
    groups = [_group(system, known) for known in found if len(known) > 1]
    slips = Counter(goal.held_by for goal in system.goals if isinstance(goal, Sticking))
    alike = Counter(group.kind for group in groups)
    return [
        group
        for group in groups
        if all(slips[goal.held_by] == alike[group.kind] for goal in group.goals)
    ]


def _group(system: PosedMechanics, known: Sequence[tuple[Sticking, float]]) -> _Group:
    goals, ratios = zip(*known, strict=True)
    first: Sticking = goals[0]
    row = _SharedSlip(
        "_and_".join(goal.name for goal in goals),
        first.residual,
        rate=first.rate,
        scale=first.scale,
        unit=first.unit,
        held_by="_or_".join(goal.held_by for goal in goals),
    )
    return _Group(goals, ratios, tuple(system.discrete[goal.held_by] for goal in goals), row)


def _values(system: PosedMechanics, groups: Sequence[_Group]) -> Parameters:
    """Return the discrete values by which the slips are held."""
    defaults = {
        group.row.held_by: max(system.discrete.defaults[goal.held_by] for goal in group.goals)
        for group in groups
    }
    units, intervals = dict.fromkeys(defaults, ""), dict.fromkeys(defaults, Interval(0.0, 1.0))
    return Parameters(defaults, units, intervals, "discrete value")


def _with_shares(goal: AnyGoal, written: Written) -> AnyGoal:
    """Return a goal in which relations contain shares."""
    return replace(goal, residual=written(goal.residual)) if isinstance(goal, Relation) else goal


def _holding(event: Event, groups: Sequence[_Group], written: Written) -> Event:
    """Return an event whose guards contain shares, and whose reset holds or frees the slips."""
    parts = [_part(event, part, groups, written) for part in event.then.parts]
    guard = written(event.guards)
    if all(new is old for new, old in zip(parts, event.then.parts, strict=True)):
        return event if ca.is_equal(guard, event.guards, 1) else replace(event, guard=guard)
    return replace(event, guard=guard, then=joined(parts))


def _agreeing(group: _Group, hold: ca.SX) -> Event:
    """Return the event that lets what holds a slip follow from start values of the laws."""
    name, held = group.row.held_by, group.held({})
    reset = Reset({name: held}, whenever_past=True)
    return Event(f"{name}_agrees", 2.0 * (hold - held) ** 2 - 1.0, RISING, reset, listed=False)


def _part(event: Event, part: Action, groups: Sequence[_Group], written: Written) -> Action:
    if not isinstance(part, Reset):
        return part
    names = part.changes_where(event.name, ca.SX.ones(event.count))
    held = [group for group in groups if any(goal.held_by in names for goal in group.goals)]
    rows = {goal.name: group.row.name for group in groups for goal in group.goals}
    impose = [rows.get(goal, goal) if isinstance(goal, str) else goal for goal in part.impose]
    if not held and impose == [*part.impose]:
        return part

    def changes(fired: ca.SX) -> dict[str, ca.SX]:
        own = part.changes_where(event.name, fired)
        own = {name: written(value) for name, value in own.items()}
        return own | {group.row.held_by: group.held(own) for group in held}

    return replace(part, changes=changes, impose=[*dict.fromkeys(impose)])
