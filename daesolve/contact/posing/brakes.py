"""Laws of dry friction beside contacts: brakes, on which the law of the contacts decides.

A brake is a contact under a given normal reaction, a number or the reaction of a constraint. It
sticks and slides as a contact does, but never opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca

from daesolve.contact.posing.contacts import Contact, contacts_of
from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import Expression, Nonholonomic, Relation, expression_of
from daesolve.core.posing.symbols import Parameters
from daesolve.core.system.posed import PosedMechanics


@dataclass(frozen=True, eq=False)
class Sticking(Nonholonomic):
    """A slip that dry friction holds until its reaction reaches a limit.

    Besides the parameters of `Goal` it takes:

    Parameters
    ----------
    bears
        The limit, in the unit of the reaction.
    law
        The name of the law whose slip it holds, or a component of it.
    presses, friction, static_friction
        The size of the normal reaction, mu while it slides, and mu up to which it sticks.
    touching, still
        1.0 while the law acts, and the slip that counts as none.
    """

    posed_at: ClassVar[str] = "slips that stick"
    bears: Expression = 0.0
    law: str = ""
    presses: Expression = 0.0
    friction: Expression = 0.0
    static_friction: Expression = 0.0
    touching: Expression = 1.0
    still: float = 1e-7


@dataclass(frozen=True, eq=False)
class Brake:
    """A law of dry friction whose slip has one component.

    Parameters
    ----------
    goal
        What holds while it sticks.
    values
        The discrete values of its system.
    """

    goal: Sticking
    values: Parameters = field(repr=False)

    @property
    def name(self) -> str:
        """The word from which its discrete values and events are named."""
        return self.goal.law

    @property
    def sticking(self) -> tuple[Sticking]:
        """What holds while it sticks."""
        return (self.goal,)

    @property
    def direction(self) -> ca.SX:
        """The sign of its slip, or a part of its friction while others hold it."""
        return self.values[f"sense_{self.name}"]

    @property
    def resting(self) -> ca.SX:
        """Whether its normal reaction is unknown, which it never is."""
        return ca.SX(0)

    @property
    def most(self) -> ca.SX:
        """The largest friction while it sticks."""
        return ca.SX(self.goal.bears)

    @property
    def traction(self) -> ca.SX:
        """The friction force along its slip: from the constraint, or from Coulomb's law."""
        slides = self.direction * (1.0 - self.values[self.goal.held_by])
        return self.goal.reaction - self.goal.friction * slides * self.goal.presses

    @property
    def in_space(self) -> None:
        """Its friction in space, which it has none of."""

    @property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events that the law poses where nothing else decides."""
        return tuple(f"{self.name}_{what}" for what in ("sticks", "slips", "sense"))


Rubbing = Contact | Brake
"""What sticks and slides."""


def shared_name(one: Rubbing, other: Rubbing) -> str:
    """Return the discrete value by which one also holds another's slip: how much it moves."""
    return f"stuck_{one.name}_{other.name}"


def friction_limit(one: Rubbing, rubbing: Sequence[Rubbing], discrete: Parameters) -> ca.SX:
    """Return the largest friction of what sticks and of what it holds with it, N."""
    limit = one.most
    for other in rubbing:
        if other is not one:
            limit += discrete[shared_name(one, other)] * other.most
    return limit


def brakes_of(system: PosedMechanics) -> list[Brake]:
    """Return the laws on which the law of the contacts decides.

    It does so beside contacts in the plane, if no law is pressed by a contact: their own events
    then say when such laws act.
    """
    contacts = contacts_of(system.goals)
    laws = [goal for goal in system.goals if isinstance(goal, Sticking)]
    if not contacts or not laws or any(contact.in_space is not None for contact in contacts):
        return []
    if len({goal.law for goal in laws}) < len(laws):
        return []  # A slip with two components.
    pushes = ca.vertcat(*[contact.reaction for contact in contacts])
    acting = [expression_of(goal) for goal in system.goals if isinstance(goal, Relation)]
    acting += [ca.SX(goal.presses) for goal in laws]
    if ca.depends_on(ca.veccat(system.applied_force, *acting), pushes):
        return []
    if not all(ca.SX(goal.touching).is_one() for goal in laws):
        return []
    return [Brake(goal, system.discrete) for goal in laws]


def without_own_events(system: PosedMechanics, brakes: Sequence[Brake]) -> list[Event]:
    """Return the events of a system without those by which brakes decide alone."""
    own = {name for brake in brakes for name in brake.event_names}
    return [event for event in system.events if event.name not in own]
