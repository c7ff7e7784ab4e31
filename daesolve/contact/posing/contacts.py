"""Supports that only push, with friction: contacts open, close by an impact, stick and slide.

While closed, a contact is a holonomic constraint whose reaction N pushes. If N would pull, the
contact opens and its constraint is released; if the gap is zero again, it closes.
`laws.contact_law` decides for all contacts together which of them open or close at an instant
(Signorini's conditions 0 <= N, 0 <= gap'', N gap'' = 0). If one of them has friction,
`laws.frictional_law` decides for all together which open, stick and slide: a sticking contact is a
constraint on its slip, and a sliding one is pushed against its slip by mu N.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import casadi as ca
import numpy as np

from daesolve.contact.posing.spatial_friction import SpatialFriction, own_values, slips_of
from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import AnyGoal, Expression, Holonomic, Nonholonomic, as_scalar
from daesolve.core.posing.symbols import Interval, Parameters
from daesolve.errors import OutOfRangeError, PosingError

CLOSED = Interval(0.0, 1.0)
"""The allowed values of `contact_<name>` and `sticks_<name>`."""
RATIO = Interval(0.0, math.inf)
"""The allowed values of `stuck_<name>_<name>`."""
LOAD = Interval(0.0, math.inf)
"""The allowed values of `slack_<name>`, N."""
SIDE = Interval(-1.0, 1.0)
"""The allowed values of `slides_<name>`."""


@dataclass(frozen=True, eq=False)
class Contact(Holonomic):
    """A support that can only push.

    Its residual is the gap. Neither the gap nor its reaction, along the gradient of the gap, is
    negative. The contact has a discrete value `contact_<name>`, 1.0 while closed and 0.0 while
    open, and the events `<name>_lost` and `<name>_closed`.

    Parameters
    ----------
    restitution
        e, a number or an expression of parameters and the state: after an impact the gap opens at e
        times the closing speed (Newton's law).
    closed
        Whether the contact is closed at the start. A run overrides it by
        `parameters={"contact_<name>": 0.0}`.
    slip
        The sliding velocity of the bodies at the contact, m/s, linear in the velocities; with it
        the contact has friction. In space give two components at right angles. None for a smooth
        contact.
    friction, static_friction
        Coulomb's mu while it slides, and the mu up to which it sticks, at least as large; numbers
        or expressions of parameters and the state.
    tangential_restitution
        The fraction of the slip that an impact returns (Newton's law), from 0 to 1.

    Notes
    -----
    The discrete value `follows_<name>` is 1.0 while others keep the gap at zero, without it, and
    `slack_<name>` is how far a load of zero may fall by rounding while it stays closed, N. A
    contact with friction has the discrete values `slides_<name>`, the sign of its slip or zero,
    or a part of its friction where others hold it; `sticks_<name>`, whether its slip is held at
    zero; and `rests_<name>`, whether all contacts rest, held by only some of the constraints. It
    has the events `<name>_sticks`, `<name>_slips` and `<name>_reverses`, and the output
    `<name>_friction`, N, along the slip. In space, where the slip has a direction, `slides_<name>`
    is 1.0 or 0.0, and the outputs are `<name>_friction_1` and `<name>_friction_2`.

    Raises
    ------
    PosingError
        It has no reaction along its gradient, something else holds it, or friction has no slip.
    OutOfRangeError
        A constant coefficient is negative, static friction is below friction, or tangential
        restitution is not between 0 and 1.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(y="m")
    >>> floor = ds.Contact("floor", q.y, restitution=0.5, closed=False)
    >>> ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10 * q.y, goals=[floor])
    >>> run = ds.solve(ball, until=0.9, initial={"y": 1.25})
    >>> [(event.name, round(event.time, 9)) for event in run.events]
    [('floor_closed', 0.5)]
    """

    _: KW_ONLY
    restitution: Expression = 0.0
    closed: bool = True
    slip: Expression | Sequence[Expression] | None = None
    friction: Expression = 0.0
    static_friction: Expression | None = None
    tangential_restitution: Expression = 0.0
    values: Parameters = field(init=False)
    events: tuple[Event, Event] = field(init=False)
    sticking: tuple[Nonholonomic, ...] = field(init=False)
    completed_at: ClassVar[str] = "systems with contacts"

    def __post_init__(self) -> None:
        value = f"contact_{self.name}"
        if self.held_by not in ("", value) or not self.ideal:
            raise PosingError(
                f"the contact {self.name!r} must be ideal and must not be held by another "
                "contact: its reaction acts along the gradient of its gap; its friction may "
                "enter the forces"
            )
        if not isinstance(self.closed, bool | int | np.bool_):
            raise PosingError(
                f"the contact {self.name!r}: closed is {self.closed!r}, but must be True or False"
            )
        object.__setattr__(self, "held_by", value)
        super().__post_init__()
        closed = float(bool(self.closed))
        ranges, starts = {value: CLOSED}, {value: closed}
        slips = slips_of(f"of the contact {self.name!r}", self.slip) if self.rubs else ()
        if len(slips) > 1:
            own = own_values(self.name)
            starts, ranges = starts | own[0], ranges | own[1]
        elif slips:
            ranges |= {f"slides_{self.name}": SIDE, f"sticks_{self.name}": CLOSED}
            ranges |= {f"rests_{self.name}": CLOSED}
            starts |= {name: 0.0 for name in ranges if name != value}
        follows, slack = f"follows_{self.name}", f"slack_{self.name}"
        starts, ranges = starts | {follows: 0.0, slack: 0.0}, ranges | {follows: CLOSED}
        ranges |= {slack: LOAD}
        values = Parameters(starts, dict.fromkeys(ranges, ""), ranges, "discrete value")
        object.__setattr__(self, "values", values)
        touches, open_ = values[value], 1.0 - values[value]
        opens = Reset({value: 0.0})
        closes = Reset({value: 1.0}, impose=[self.name], restitution=self.restitution)
        # An inactive guard is one, far from zero.
        pushes = while_moving(touches * (self.reaction + values[slack]) + open_, self.resting)
        lost = Event(f"{self.name}_lost", pushes, FALLING, opens)
        meets = while_moving(open_ * self.residual + touches, values[follows])
        met = Event(f"{self.name}_closed", meets, FALLING, closes)
        object.__setattr__(self, "events", (lost, met))
        self._rub(slips)

    @property
    def touching(self) -> ca.SX:
        """1.0 while it is closed, 0.0 while it is open."""
        return self.values[self.held_by]

    @property
    def resting(self) -> ca.SX:
        """Whether it rests with an undetermined share of the load; zero for a smooth contact."""
        name = f"rests_{self.name}"
        return self.values[name] if name in self.values else ca.SX(0)

    def _rub(self, slips: Sequence[ca.SX]) -> None:
        """Check the friction data, and pose the constraint that holds while it sticks."""
        owner = f"of the contact {self.name!r}"
        own = {"friction": self.friction, "tangential restitution": self.tangential_restitution}
        if self.static_friction is not None:
            own["static friction"] = self.static_friction
        numbers = {what: as_scalar(f"the {what} {owner}", value) for what, value in own.items()}
        known = {what: float(value) for what, value in numbers.items() if value.is_constant()}
        for what, number in known.items():
            most = 1.0 if what == "tangential restitution" else math.inf
            if not 0.0 <= number <= most:
                least = "from 0 to 1" if most == 1.0 else "at least 0"
                raise OutOfRangeError(f"the {what} {owner} is {number:g}, but must be {least}")
        if known.get("static friction", math.inf) < known.get("friction", 0.0):
            raise OutOfRangeError(
                f"the static friction {owner} is {known['static friction']:g}, below its "
                f"friction {known['friction']:g}: it must be at least as large"
            )
        if not slips and (any(number != 0.0 for number in known.values()) or len(known) < len(own)):
            raise PosingError(f"friction {owner} needs its slip: give slip=, linear in velocities")
        stuck, holds = f"{self.name}_stuck", f"sticks_{self.name}"
        places = ("",) if len(slips) == 1 else ("_1", "_2")
        sticking = tuple(
            Nonholonomic(f"{stuck}{place}", slip, held_by=f"{holds}{place}", unit="N")
            for place, slip in zip(places, slips, strict=False)
        )
        object.__setattr__(self, "sticking", sticking)

    @property
    def slips(self) -> tuple[Nonholonomic, ...]:
        """What holds while it sticks."""
        return self.sticking

    @property
    def rubs(self) -> bool:
        """Whether it has a slip."""
        return self.slip is not None

    @property
    def in_space(self) -> SpatialFriction | None:
        """Its friction, if its slip has two directions."""
        if len(self.sticking) == 1 or not self.sticking:
            return None
        return SpatialFriction(
            self.name, self.sticking, self.values, self.reaction, self.friction, self.static
        )

    @property
    def static(self) -> Expression:
        """mu_s, up to which it sticks."""
        return self.friction if self.static_friction is None else self.static_friction

    @property
    def slack(self) -> ca.SX:
        """How far a load of zero may fall by rounding, N."""
        return self.values[f"slack_{self.name}"]

    @property
    def most(self) -> ca.SX:
        """The largest friction while it sticks, N."""
        return self.static * self.touching * self.reaction + self.touching * self.slack

    @property
    def direction(self) -> ca.SX:
        """The direction in which it slides, a column, or the sign in the plane; otherwise zero."""
        space = self.in_space
        return self.values[f"slides_{self.name}"] if space is None else space.direction

    @property
    def traction(self) -> ca.SX:
        """The friction force along its slip, N: from the constraint, or from Coulomb's law."""
        held = ca.vertcat(*[goal.reaction for goal in self.sticking])
        return held - self.friction * self.direction * self.reaction


def while_moving(guard: ca.SX, resting: ca.SX) -> ca.SX:
    """Return a guard that is one while a contact rests, when no reaction is known."""
    return guard if resting.is_zero() else (1.0 - resting) * guard + resting


def contacts_of(goals: Iterable[AnyGoal]) -> list[Contact]:
    """Return the contacts among some goals."""
    return [goal for goal in goals if isinstance(goal, Contact)]
