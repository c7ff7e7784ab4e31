"""The friction of a contact in space, whose slip c has two components: Coulomb's cone, as posed.

While the contact slides, T = -mu N d with the direction d = c / |c|. This is smooth as long as |c|
is not zero. |c| reaches zero in finite time without a change of sign, so the guard watches its
size. Where a slip begins, c is zero and the decision about the contacts gives its direction: that
of heading + turning (t - begun), the first two terms of its series, until |c| is large enough. From
then on `heading` is updated each time the direction has turned by a right angle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daesolve.contact.posing.names import SET_OUT
from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import Expression, Nonholonomic, as_scalar
from daesolve.core.posing.symbols import Interval, Parameters, time
from daesolve.errors import PosingError, UnsupportedError

NOTHING = 1e-200
"""m^2/s^2, so small that it is lost when added to the square of any slip."""
FLAG, ANY = Interval(0.0, 1.0), Interval(-math.inf, math.inf)
COUNT = 2
"""The number of directions of slip in space."""


def slips_of(owner: str, slip: Expression | Sequence[Expression] | None) -> tuple[ca.SX, ...]:
    """Return the components of a slip, one or two.

    Raises
    ------
    PosingError
        They are not one or two scalar expressions.
    """
    parts: Sequence[Any] = [slip]
    if isinstance(slip, ca.SX) and slip.numel() == COUNT:
        parts = ca.vertsplit(ca.vec(slip))
    elif isinstance(slip, Sequence) and not isinstance(slip, str):
        parts = slip
    if not 1 <= len(parts) <= COUNT:
        raise PosingError(
            f"the slip {owner} is {len(parts)} expressions, but must be one velocity, or in space "
            "two at right angles"
        )
    return tuple(as_scalar(f"the slip {owner}", part) for part in parts)


def check_directions(counts: Mapping[str, int]) -> None:
    """Refuse a mixture of contacts with one and with two directions of slip.

    Parameters
    ----------
    counts
        The number of directions of slip of each contact with friction, by name.

    Raises
    ------
    UnsupportedError
        Both kinds occur.
    """
    by_count = {count: name for name, count in counts.items()}
    if len(by_count) > 1:
        raise UnsupportedError(
            f"the contact {by_count[1]!r} has one direction of slip and {by_count[2]!r} has "
            "two, but contacts are decided together, in the plane or in space: give both the "
            "same number"
        )


def own_values(name: str) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return the discrete values of the friction of a contact in space, and their ranges."""
    ranges = {f"{what}_{name}": FLAG for what in ("slides", "heads")}
    ranges |= {f"sticks_{name}_{k}": FLAG for k in (1, 2)}
    ranges |= {f"{what}_{name}_{k}": ANY for what in ("heading", "turning") for k in (1, 2)}
    ranges |= {f"{what}_{name}": ANY for what in ("begun", "still", "bears")}
    starts = dict.fromkeys(ranges, 0.0) | {f"still_{name}": 1e-13, f"bears_{name}": 1.0}
    return starts, ranges


def split_values(names: Sequence[str]) -> Parameters:
    """Return the discrete values that split friction among contacts that stick together."""
    kinds = ("split", "shift", "along")
    ranges = {f"{kind}_{name}_{k}": ANY for name in names for kind in kinds for k in (1, 2)}
    return Parameters(
        dict.fromkeys(ranges, 0.0), dict.fromkeys(ranges, ""), ranges, "discrete value"
    )


@dataclass(frozen=True, eq=False)
class SpatialFriction:
    """The friction of a contact in space, in the symbols of its system.

    Parameters
    ----------
    name
        The name of the contact.
    sticking
        The constraints on its slip.
    values
        The discrete values of the contact.
    normal
        Its normal reaction, N.
    friction, static
        mu while it slides, and mu up to which it sticks.
    """

    name: str
    sticking: tuple[Nonholonomic, ...]
    values: Parameters
    normal: ca.SX
    friction: Expression
    static: Expression

    def value(self, what: str, *place: int) -> ca.SX:
        """Return one of its discrete values."""
        return self.values["_".join([what, self.name, *map(str, place)])]

    def pair(self, what: str, values: Mapping[str, ca.SX] | Parameters | None = None) -> ca.SX:
        """Return two of its discrete values, or of other ones, as a column."""
        known = self.values if values is None else values
        return ca.vertcat(*[known[f"{what}_{self.name}_{k}"] for k in (1, 2)])

    @property
    def slip(self) -> ca.SX:
        """c, a column."""
        return ca.vertcat(*[ca.SX(goal.residual) for goal in self.sticking])

    @property
    def direction(self) -> ca.SX:
        """d, the direction of sliding, a column; zero while it does not slide."""
        slides, heads = self.value("slides"), self.value("heads")
        own = slides * (1.0 - heads)
        turned = self.pair("turning") * (time - self.value("begun"))
        # It turns at a right angle to where it heads, and stays of length one.
        given = (self.pair("heading") + turned) / ca.sqrt(1.0 + ca.sumsqr(turned))
        # An inactive direction divides by one, and nothing divides by zero in a sample state at
        # rest.
        size = ca.sqrt(own * ca.sumsqr(self.slip) + (1.0 - own) + NOTHING)
        return slides * heads * given + own * self.slip / size

    def held(self, others: Sequence[SpatialFriction], split: Parameters | None) -> ca.SX:
        """Return the friction while it sticks, a column; its share if several stick together."""
        own = ca.vertcat(*[goal.reaction for goal in self.sticking])
        if split is None:
            return own
        along = ca.SX(0)
        for other in others:
            reactions = ca.vertcat(*[goal.reaction for goal in other.sticking])
            along += ca.dot(other.pair("along", split), reactions)
        return own + self.pair("split", split) + self.pair("shift", split) * along

    def events(
        self, others: Sequence[SpatialFriction], split: Parameters | None
    ) -> tuple[Event, ...]:
        """Return the events: sticks, slips, reverses, and two internal ones."""
        slides, heads = self.value("slides"), self.value("heads")
        still, heading = self.value("still"), self.pair("heading")
        own, sets_out = slides * (1.0 - heads), slides * heads
        squared, far = ca.sumsqr(self.slip), SET_OUT * still
        # Late times, and the end of a slip, have no more digits than this.
        least = still * ca.sqrt(1.0 + time**2)
        speed = ca.sqrt(own * squared + (1.0 - own) + NOTHING)
        stops = own * (speed - least) / far + (1.0 - own)
        # A slip that passes straight through zero does change its sign. At its beginning a slip is
        # only rounding, of any sign.
        along = slides * ca.dot(heading, self.slip) + sets_out * still
        ahead = along / far + (1.0 - slides)
        gone = sets_out * (1.0 - squared / far**2) + (1.0 - sets_out)
        stuck = self.values[f"contact_{self.name}"] * (1.0 - slides)
        slack, bears = self.value("slack"), self.value("bears")
        limit = ca.SX(self.static) * self.normal + slack
        # A load that is rounding at first may become as large as it likes.
        size = bears**2 + (slack / bears * limit) ** 2
        within = (limit**2 - ca.sumsqr(self.held(others, split))) / size
        none = Reset({f"slides_{self.name}": 0.0})
        never = ca.SX(1.0) + 0.0 * slides
        return (
            Event(f"{self.name}_sticks", ca.vertcat(stops, ahead), FALLING, none),
            Event(f"{self.name}_slips", stuck * within + (1.0 - stuck), FALLING, none),
            Event(f"{self.name}_reverses", never, FALLING, none),
            Event(f"{self.name}_sets_out", gone, FALLING, none, listed=False),
            Event(f"{self.name}_shares", never, FALLING, none, listed=False),
        )


def split_of(in_space: Sequence[SpatialFriction], discrete: Parameters) -> Parameters | None:
    """Return the values that split friction among contacts in space, if there are several."""
    return discrete if len(in_space) > 1 else None
