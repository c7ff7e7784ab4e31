"""Laws of dry friction: the force against a slip as a function of the normal reaction.

A slip u has one or two components; a positive normal reaction N pushes. A law is any object with
the method `act` of `FrictionLaw`. The library has

- `RegularisedCoulomb`: -mu N u / max(|u|, delta), a function of the slip;
- `Coulomb`: -mu N u / |u| while it slips; while it sticks, u = 0 and the force is a reaction R,
  which holds as long as |R| <= mu_s N.

Between events the motion is smooth: a discrete value selects the branch. A value that does not
agree with the state is corrected, also at the start (`Reset(whenever_past=True)`), so you need not
set it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import casadi as ca

from daesolve.contact.posing.brakes import Sticking
from daesolve.contact.posing.names import friction_work
from daesolve.core.posing.events import FALLING, RISING, Event, Reset
from daesolve.core.posing.goals import Expression, Goal, as_scalar
from daesolve.core.posing.symbols import Interval, Parameters, time
from daesolve.errors import OutOfRangeError, PosingError, is_number
from daesolve.multibody.checks import check_name, check_size
from daesolve.multibody.contribution import (
    NO_VALUES,
    SIGNED,
    SWITCHED,
    AppliedForce,
    Contribution,
    discrete_values,
)

SET_OUT = 10.0
"""The slip with two components at which its direction is first recorded, over `Coulomb.still`."""
SMALLER = 1e-3
"""The slip with two components below which its direction fades, over `Coulomb.still`."""
LOST = 1e-9
"""A slip, over delta, whose square is lost beside a saturated slip; without any slip it keeps a
denominator from being zero."""
LEAST = 1e-150
"""m/s, replaces a slip of zero in denominators; its square is still positive."""
DRIVEN = 1e-12
"""Sticking bears at least this fraction more than the friction of slip: a slip that begins is then
driven, and not only by rounding."""
LONG_AGO = -1e30
"""s, before any start."""


@dataclass(frozen=True, eq=False)
class Friction:
    """The contribution of a law at one contact.

    Parameters
    ----------
    slip
        u, (k, 1), in m/s (or rad/s).
    force
        (k, 1), in N (or N m), on the body that slips: its power is force . slip. Linear in the
        reactions.
    goals
        Constraints that hold while it sticks, one for each component of the slip. They are ideal,
        so their reactions are forces along the slip too.
    discrete, events
        The branches, and where they change.
    """

    slip: ca.SX
    force: ca.SX
    goals: tuple[Goal, ...] = ()
    discrete: Parameters = NO_VALUES
    events: tuple[Event, ...] = ()

    @property
    def total(self) -> ca.SX:
        """The total force, including the reactions while it sticks, (k, 1)."""
        if not self.goals:
            return self.force
        return self.force + ca.vertcat(*[goal.reaction for goal in self.goals])

    @property
    def power(self) -> ca.SX:
        """The power of friction, W; never positive if the normal reaction pushes."""
        return ca.dot(self.force, self.slip)

    def contribution(self, name: str, unit: str) -> Contribution:
        """Return its contribution to a mechanism, with its force in a unit as an output."""
        return Contribution(
            goals=self.goals,
            forces=[AppliedForce(self.slip, self.force)],
            discrete=self.discrete,
            events=self.events,
            outputs={f"{name}_friction": (self.total, unit)},
            meters={friction_work(name): (self.power, "J")},
        )


@runtime_checkable
class FrictionLaw(Protocol):
    """A law of dry friction, for any part with a slip and a normal reaction."""

    def act(
        self,
        contact: str,
        slip: ca.SX,
        normal: ca.SX,
        touching: Expression = 1.0,
        unit: str = "N",
        size: Expression | None = None,
    ) -> Friction:
        """Return the friction of one contact.

        Parameters
        ----------
        contact
            A word from which the names of its discrete values, events and goals are made.
        slip
            (1, 1) or (2, 1): the slip velocity along orthogonal directions, m/s or rad/s, linear in
            the velocities. It is measured against the ground or another body.
        normal
            The normal reaction, N, positive where it pushes; linear in the reactions of the system.
            In a joint with a known lever arm, the reaction times this arm, N m.
        touching
            1.0 while the contact is closed and 0.0 while it is open, an expression of discrete
            values.
        unit
            Of the friction, "N" or "N m".
        size
            The size of the normal reaction, if `normal` contains signs that are discrete values. It
            need not be linear; it limits sticking.

        Returns
        -------
        Friction
            The caller adds its force along the slip (`Action(friction.slip, friction.force)`), its
            goals, discrete values and events to the system.

        Raises
        ------
        PosingError
            The slip does not have one or two components, or the normal reaction is not a scalar.
        """
        ...


@dataclass(frozen=True)
class RegularisedCoulomb:
    """Dry friction -mu N u / max(|u|, delta), linear for a small slip.

    The force is continuous, with a kink at |u| = delta. There the discrete value
    `saturated_<contact>` changes at the event `<contact>_saturation`: it is 1.0 beyond and 0.0
    below. So does `heading_<contact>_1` (and `_2`), the direction of slip, which is updated when it
    has turned by a right angle: so a passage through the linear part that is shorter than a step,
    and reverses the slip, is not missed.

    Parameters
    ----------
    coefficient
        mu, a number or an expression of parameters, time and positions.
    slip_velocity
        delta, m/s: a number or an expression of parameters.
    smooth
        Whether to use -mu N u / sqrt(u^2 + delta^2) instead, which has no kink and no event, and
        also works backwards in time.

    Raises
    ------
    OutOfRangeError
        The coefficient is negative, or delta not positive.
    """

    coefficient: Expression
    slip_velocity: Expression
    smooth: bool = False

    def __post_init__(self) -> None:
        check_size("the coefficient of friction", self.coefficient)
        check_size("the slip velocity", self.slip_velocity, "> 0")

    def act(
        self,
        contact: str,
        slip: ca.SX,
        normal: ca.SX,
        touching: Expression = 1.0,
        unit: str = "N",
        size: Expression | None = None,
    ) -> Friction:
        """Return the friction of one contact; see `FrictionLaw`."""
        slip, normal = _checked(contact, slip, normal)
        delta = ca.SX(self.slip_velocity)
        squared = ca.sumsqr(slip)
        pressed = self.coefficient * normal
        if self.smooth:
            return Friction(slip, -pressed * slip / ca.sqrt(squared + delta**2))
        name = f"saturated_{contact}"
        heading = _heading_names(contact, slip)
        values = discrete_values({name: (0.0, SWITCHED), **dict.fromkeys(heading, (0.0, SIGNED))})
        saturated = values[name]
        # What does not hold is kept away from where it has no derivative.
        beyond = ca.sqrt(squared + (1 - saturated + LOST**2) * delta**2)
        over = saturated * beyond + (1 - saturated) * delta
        outside = (1 - 2 * saturated) * _beyond(squared, delta)
        ahead = ca.dot(ca.vertcat(*[values[part] for part in heading]), slip)

        def branch(fired: ca.SX) -> dict[str, ca.SX]:
            within = fired[0] * saturated + (1 - fired[0]) * (squared < delta**2)
            return {name: 1 - within, **_directed(heading, slip)}

        kink = Event(
            f"{contact}_saturation",
            [outside, -saturated * ahead - (1 - saturated)],
            RISING,
            Reset(branch, whenever_past=True),
        )
        return Friction(slip, -pressed * slip / over, discrete=values, events=(kink,))


@dataclass(frozen=True)
class Coulomb:
    """Dry friction with sticking: -mu N u / |u| while it slips, a reaction R while it sticks.

    The discrete value `sticks_<contact>` is 1.0 while the goals `<contact>_stick_1` (and `_2`) hold
    the slip at zero; their reactions are then the friction. At `<contact>_sticks` the slip ends; at
    `<contact>_slips` the reaction reaches mu_s N, and the slip begins against it. It also begins
    where a reset or a step of an input makes it larger than `still`. If the slip ends and sticking
    would need more than mu_s N, both happen at one instant: the slip reverses, or continues.

    With one component, `sense_<contact>` is the sign of the slip, 0.0 as long as it is unknown; the
    event `<contact>_sense` sets it at the start and after an impact. `ended_<contact>` is the time
    when the slip last ended: a slip that begins at that very instant is a reversal, whatever the
    reaction is. (At the dead centre of a crank no reaction holds the slider, and its sign is only
    rounding.) With two components the slip ends where |u| falls to `still`; an impulse removes the
    rest at once. The slip begins in the direction of the forces: below `still` / 1000 the direction
    of slip fades, so that it is defined at rest. `heading_<contact>_1` and `_2` are the direction
    recorded at `<contact>_turns`, when the slip has begun and each time it has turned by a right
    angle: a slip that goes straight through zero is stopped there. `begun_<contact>` is 1.0 from
    the start on.

    Parameters
    ----------
    coefficient
        mu while slipping: a number or an expression of parameters, time and positions.
    static
        mu_s while sticking, not below mu. None means mu, which also replaces an expression that is
        smaller.
    still
        m/s (or rad/s): the slip that counts as zero at the start and after an impact, and, with two
        components, where the slip ends.

    Raises
    ------
    OutOfRangeError
        A coefficient is negative, the static one is smaller than the sliding one, or `still` is not
        positive.

    Notes
    -----
    Laws that hold one slip (two feet of a rigid block) act as one under the sum of their limits,
    and share its reaction in proportion to these. With one component, laws whose slips depend on
    each other in another way, and laws beside contacts, are decided together with all contacts; the
    sense is then zero while they stick, or a part of the friction that others leave to them.
    """

    coefficient: Expression
    static: Expression | None = None
    still: float = 1e-7

    def __post_init__(self) -> None:
        check_size("the coefficient of friction", self.coefficient)
        check_size("the slip that counts as none", self.still, "> 0")
        if self.static is None:
            return
        check_size("the static coefficient of friction", self.static)
        numbers = is_number(self.static) and is_number(self.coefficient)
        if numbers and float(self.static) < float(self.coefficient):  # pyright: ignore
            raise OutOfRangeError(
                f"the static coefficient of friction is {self.static!r}, but must be at least "
                f"the sliding coefficient, {self.coefficient!r}"
            )

    def act(
        self,
        contact: str,
        slip: ca.SX,
        normal: ca.SX,
        touching: Expression = 1.0,
        unit: str = "N",
        size: Expression | None = None,
    ) -> Friction:
        """Return the friction of one contact; see `FrictionLaw`."""
        slip, normal = _checked(contact, slip, normal)
        held_by = f"sticks_{contact}"
        bears = normal if size is None else as_scalar(f"the normal reaction of {contact!r}", size)
        least = ca.SX((1 + DRIVEN) * self.coefficient)
        static = least if self.static is None else ca.fmax(self.static, least)
        limit = static * bears
        goals = tuple(
            Sticking(
                f"{contact}_stick_{k}",
                part,
                held_by=held_by,
                unit=unit,
                bears=limit,
                law=contact,
                presses=bears,
                friction=self.coefficient,
                static_friction=static,
                touching=touching,
                still=self.still,
            )
            for k, part in enumerate(ca.vertsplit(slip), 1)
        )
        along = self._on_a_line if len(goals) == 1 else self._in_a_plane
        return along(contact, goals, (slip, self.coefficient * normal, limit), ca.SX(touching))

    def _on_a_line(
        self,
        contact: str,
        goals: tuple[Goal, ...],
        pressed: tuple[ca.SX, ca.SX, ca.SX],
        touching: ca.SX,
    ) -> Friction:
        slip, rubbing, limit = pressed
        stick, sense = f"sticks_{contact}", f"sense_{contact}"
        ended = f"ended_{contact}"
        values = discrete_values(
            {stick: (0.0, SWITCHED), sense: (0.0, SIGNED), ended: (LONG_AGO, Interval())}
        )
        sticks, sign = values[stick], values[sense]
        reaction = goals[0].reaction

        def begins(fired: ca.SX) -> dict[str, ca.SX]:
            driven = fired[1] - fired[0]
            along = ca.if_else(driven == 0, sign, driven)
            along = ca.if_else(time <= values[ended], -sign, along)
            return {
                stick: ca.SX(0),
                sense: ca.if_else(fired[2], ca.if_else(slip < 0, -1, 1), along),
            }

        found = {
            stick: touching * (ca.fabs(slip) < self.still),
            sense: ca.if_else(slip <= -self.still, -1, 1),
        }
        events = (
            _ends(contact, sign * slip, (1 - sticks) * touching, Reset({stick: 1.0, ended: time})),
            _begins(
                contact,
                (sticks, touching),
                [reaction - limit, -reaction - limit, _beyond(slip**2, self.still)],
                begins,
            ),
            Event(
                f"{contact}_sense",
                [1 - 2 * sign**2, (1 - sticks) * (-sign * slip - self.still) - sticks],
                RISING,
                Reset(found, whenever_past=True),
                listed=False,
            ),
        )
        return Friction(slip, -(1 - sticks) * sign * rubbing, goals, values, events)

    def _in_a_plane(
        self,
        contact: str,
        goals: tuple[Goal, ...],
        pressed: tuple[ca.SX, ca.SX, ca.SX],
        touching: ca.SX,
    ) -> Friction:
        slip, rubbing, limit = pressed
        stick, begun = f"sticks_{contact}", f"begun_{contact}"
        heading = _heading_names(contact, slip)
        switches = dict.fromkeys((stick, begun), (0.0, SWITCHED))
        values = discrete_values(switches | dict.fromkeys(heading, (0.0, SIGNED)))
        sticks, known = values[stick], ca.vertcat(*[values[part] for part in heading])
        headed = ca.sumsqr(known)
        reaction = ca.vertcat(*[goal.reaction for goal in goals])
        squared, counts = ca.sumsqr(slip), (1 - sticks) * headed * touching
        still = touching * (squared <= self.still**2)
        no_heading = dict.fromkeys(heading, ca.SX(0))
        unknown = (1 - sticks) * (1 - headed)
        taken_down = [
            1 - 2 * values[begun],
            unknown * _beyond(squared, SET_OUT * self.still) - (1 - unknown),
            -counts * ca.dot(known, slip) - (1 - counts),
        ]
        found = {begun: 1.0, stick: still, **_directed(heading, slip, 1 - still)}
        names = [goal.name for goal in goals]
        caught = Reset({stick: 1.0, **no_heading}, impose=names)
        events = (
            _ends(contact, _beyond(squared, self.still), counts, caught),
            _begins(
                contact,
                (sticks, touching),
                [ca.sumsqr(reaction) - limit**2, _beyond(squared, self.still)],
                lambda _: {stick: ca.SX(0), **no_heading},
            ),
            Event(
                f"{contact}_turns",
                taken_down,
                RISING,
                Reset(found, whenever_past=True),
                listed=False,
            ),
        )
        fading = ca.sqrt(squared + (SMALLER * self.still) ** 2)
        return Friction(slip, -(1 - sticks) * rubbing * slip / fading, goals, values, events)


def _beyond(squared: ca.SX, size: Expression) -> ca.SX:
    """Return a number without unit that is zero where a slip has a size."""
    return (squared - size**2) / (squared + size**2)  # pyright: ignore


def _heading_names(contact: str, slip: ca.SX) -> list[str]:
    return [f"heading_{contact}_{k}" for k in range(1, slip.numel() + 1)]


def _directed(heading: Sequence[str], slip: ca.SX, counts: Expression = 1.0) -> dict[str, ca.SX]:
    """Return the direction of a slip as changes; none if there is no slip."""
    size = ca.fmax(ca.sqrt(ca.sumsqr(slip)), LEAST)
    return {name: counts * slip[k] / size for k, name in enumerate(heading)}


def _ends(contact: str, ahead: ca.SX, counts: ca.SX, then: Reset) -> Event:
    """Return the event at which a slip ends; what does not count is one, far from zero."""
    return Event(f"{contact}_sticks", counts * ahead + 1 - counts, FALLING, then)


def _begins(
    contact: str,
    modes: tuple[ca.SX, ca.SX],
    excess: Sequence[ca.SX],
    changes: Callable[[ca.SX], Mapping[str, ca.SX]],
) -> Event:
    """Return the event at which a slip begins.

    Sticking asks for too much, a kick has set the bodies in motion, or the contact opens.
    """
    sticks, touching = modes
    guards = [sticks * part - (1 - sticks) for part in excess]
    if not touching.is_constant():
        guards.append(2 * sticks * (1 - touching) - 1)
    return Event(f"{contact}_slips", guards, RISING, Reset(changes, whenever_past=True))


def _checked(contact: str, slip: ca.SX, normal: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return slip and normal reaction, or say what is wrong with them."""
    check_name(contact, "a contact with friction")
    slip = ca.SX(slip)
    if slip.shape not in ((1, 1), (2, 1)):
        raise PosingError(
            f"the slip of {contact!r} must have one component or a column of two, not the shape "
            f"{slip.shape}"
        )
    return slip, as_scalar(f"the normal reaction of {contact!r}", normal)
