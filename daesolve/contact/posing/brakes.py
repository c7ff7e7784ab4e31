"""Laws of dry friction beside contacts: brakes, on which the law of the contacts decides.

A brake is a contact under a given normal reaction, a number or the reaction of a constraint. It
sticks and slides as a contact does, but never opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np

from daesolve.contact.posing.contacts import Contact, contacts_of
from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.singular_values import rank
from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import (
    Expression,
    Goal,
    Holonomic,
    Nonholonomic,
    Relation,
    expression_of,
)
from daesolve.core.posing.symbols import Parameters
from daesolve.core.system.posed import PosedMechanics
from daesolve.errors import UnsupportedError

DIGITS = 12
"""To how many digits the ratio of two slips that are one is known."""
STEPS = 30
"""Steps of Newton's method to a place that fulfils the constraints."""


@dataclass(frozen=True, eq=False)
class Sticking(Nonholonomic):
    """A slip that dry friction holds until its reaction reaches a limit, and in no impact.

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

    completed_at: ClassVar[str] = "systems with contacts"
    posed_at: ClassVar[str] = "slips that stick"
    bears_impulses: ClassVar[bool] = False
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

    It does so beside contacts in the plane, if no law is pressed by a contact, and where several
    slips depend on each other. Otherwise the own events of laws say when they act.
    """
    contacts = contacts_of(system.goals)
    laws = [goal for goal in system.goals if isinstance(goal, Sticking)]
    if not laws or len({goal.law for goal in laws}) < len(laws):
        return []  # There is none, or one has a slip with two components.
    if system.pairs or any(contact.in_space is not None for contact in contacts):
        return []
    if not all(ca.SX(goal.touching).is_one() for goal in laws):
        return []
    pushes = ca.vertcat(ca.SX(0, 1), *[contact.reaction for contact in contacts])
    acting = [expression_of(goal) for goal in system.goals if isinstance(goal, Relation)]
    acting += [ca.SX(goal.presses) for goal in laws]
    if ca.depends_on(ca.veccat(system.applied_force, *acting), pushes):
        return []
    if not contacts and not _depend(system, laws):
        return []
    return [Brake(goal, system.discrete) for goal in laws]


def check_laws_in_space(system: PosedMechanics) -> None:
    """Refuse laws that hold what contacts in space hold as well.

    Each bears a share of one reaction then, which is a vector, under a limit of its own.

    Raises
    ------
    UnsupportedError
        The slip of a law depends on those of a contact in space.
    """
    contacts = [one for one in contacts_of(system.goals) if one.in_space is not None]
    laws: dict[str, list[ca.SX]] = {}
    for goal in system.goals:
        if isinstance(goal, Sticking):
            laws.setdefault(goal.law, []).append(ca.SX(goal.residual))
    for law, slips in laws.items():
        for contact in contacts:
            own = [ca.SX(goal.residual) for goal in contact.sticking]
            count, rows = slip_rows(system, [*own, *slips])
            if rank(rows) < rank(rows[: count + len(own)]) + len(slips):
                raise UnsupportedError(
                    f"the law of dry friction {law!r} and the contact {contact.name!r} hold the "
                    "same slip in space, and which of them gives way first is not decided: let "
                    "one of them bear the friction of both, or use a smooth law"
                )


def _depend(system: PosedMechanics, laws: Sequence[Sticking]) -> bool:
    """Return whether slips that are not multiples of one depend on each other, as constrained.

    They do if they do so at a place that fulfils the constraints, taken at random.
    """
    several: list[ca.SX] = []
    for goal in laws:
        slip = ca.SX(goal.residual)
        if not any(ratio_of(slip, known) for known in several):
            several.append(slip)
    if len(several) < 2:
        return False
    count, rows = slip_rows(system, several)
    return rank(rows) < rank(rows[:count]) + len(several)


def slip_rows(system: PosedMechanics, slips: Sequence[ca.SX]) -> tuple[int, np.ndarray]:
    """Return how many constraints always hold, and their gradients followed by those of slips.

    They are those at a place that fulfils the constraints, taken at random.
    """
    q, v = system.coordinates.vector, system.v.vector
    always = [goal for goal in system.goals if isinstance(goal, Goal) and not goal.held_by]
    places = ca.vertcat(
        ca.SX(0, 1), *[ca.SX(goal.residual) for goal in always if isinstance(goal, Holonomic)]
    )
    moved = v if system.kinematics is None else ca.SX(system.kinematics)
    speeds = ca.vertcat(
        ca.jtimes(places, q, moved),
        *[ca.SX(goal.residual) for goal in always if isinstance(goal, Nonholonomic)],
    )
    rows = ca.jacobian(system.in_velocities(ca.vertcat(speeds, *slips)), v)
    symbols = ca.vertcat(q, v, *_others(ca.veccat(rows, places), ca.vertcat(q, v)))
    numbers = np.random.default_rng(1).uniform(0.5, 1.5, symbols.numel())
    known = system.parameters.defaults
    given = [
        number if (value := known.get(name)) is None else value
        for name, number in zip(_names(symbols), numbers.tolist(), strict=True)
    ]
    where = _fulfilling(ca.Function("places", [symbols], [places, ca.jacobian(places, q)]), given)
    matrix = np.array(ca.Function("rows", [symbols], [ca.densify(rows)])(where), dtype=float)
    return speeds.numel(), matrix


def _fulfilling(constraints: ca.Function, numbers: Sequence[float]) -> np.ndarray:
    """Return numbers of which the first, the positions, are moved to where constraints hold."""
    found = np.array(numbers)
    for _ in range(STEPS):
        missed, slopes = (np.array(part, dtype=float) for part in constraints(found))
        if not missed.size:
            break
        found[: slopes.shape[1]] -= (np.linalg.pinv(slopes) @ missed).ravel()
    return found if np.all(np.isfinite(found)) else np.array(numbers)


def _others(expression: ca.SX, known: ca.SX) -> list[ca.SX]:
    """Return the symbols of an expression without some of them."""
    names = _names(known)
    return [symbol for symbol in ca.symvar(expression) if symbol.name() not in names]


def _names(symbols: ca.SX) -> list[str]:
    return [symbol.name() for symbol in ca.vertsplit(symbols)]


def ratio_of(slip: ca.SX, other: ca.SX) -> float:
    """Return the constant ratio of a slip to another; zero if there is none."""
    symbols = ca.symvar(ca.vertcat(slip, other))
    numbers = np.random.default_rng(1).uniform(0.5, 1.5, len(symbols))
    both = ca.Function("slips", symbols, [ca.vertcat(slip, other)])
    one, two = np.array(both(*numbers), dtype=float).ravel().tolist()
    ratio = float(f"{one / two:.{DIGITS}g}") if one and two else 0.0
    return ratio if ratio and vanishes(slip - ratio * other) else 0.0


def without_own_events(system: PosedMechanics, brakes: Sequence[Brake]) -> list[Event]:
    """Return the events of a system without those by which brakes decide alone."""
    own = {name for brake in brakes for name in brake.event_names}
    return [event for event in system.events if event.name not in own]
