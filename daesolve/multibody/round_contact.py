"""Spheres that touch each other, circles in the plane, and points on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.contact.posing.contacts import Contact
from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import Expression
from daesolve.core.posing.symbols import Parameters, time
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.bodies import at_start
from daesolve.multibody.checks import check_size
from daesolve.multibody.compliance import ComplianceLaw
from daesolve.multibody.contact_geometry import RoundOnRound, tangents_of
from daesolve.multibody.contribution import NO_VALUES, SIGNED, discrete_values
from daesolve.multibody.places import Frame, Place, PlanarFrame, PlanarPoint
from daesolve.multibody.supports import Rubs, Supporting

FAR, FARTHEST = 0.25, 0.75
"""How far beyond the equator the normal is when the other end of the axis takes over: while the
contact is open, and while it is closed."""


@dataclass(frozen=True, eq=False)
class RoundContact(Supporting):
    """Two spheres that touch, or two circles in the plane; either may be a point.

    Its goal carries its name, and its reaction is the force along the line of centres, N. Outputs
    are `<name>_gap` (m), and `<name>_slip_1`, `<name>_slip_2`, the velocity (m/s) of the first
    material relative to the second; in the plane only `<name>_slip`. With friction,
    `<name>_friction_work` (J) is metered, between impacts.

    Parameters
    ----------
    name
        A word.
    first, second
        The centres: frames of bodies or of the ground; or a point if the radius is zero.
    radii
        Of the first and the second, m: numbers or expressions of parameters.
    friction, unilateral, restitution, closed, static_friction, tangential_restitution, compliance
        As in `PlaneContact`.
    inside
        Whether the first is inside the second, which is hollow.

    Raises
    ------
    PosingError
        One is in the plane, the other in space; a sphere or circle is given on a point, which has
        no orientation; or the options of friction and impacts contradict each other.
    OutOfRangeError
        A radius is negative, both are zero, or the first does not fit into the second.

    Notes
    -----
    In space, no directions of slip are smooth everywhere. The shortest rotation of the axis z onto
    the normal (from the second to the first) turns x and y onto the directions of slip. Far below
    the equator -z is used instead; the discrete value `<name>_side`, 1.0 or -1.0, says which, and
    the event `<name>_side`, which is not listed, changes it.

    If the centres coincide there is no normal: a point that starts in the middle of a hollow sphere
    has no equations.
    """

    name: str
    first: Place
    second: Place
    radii: tuple[Expression, Expression]
    friction: Rubs = None
    unilateral: bool = False
    restitution: Expression = 0.0
    closed: bool = True
    inside: bool = False
    static_friction: Expression | None = None
    tangential_restitution: Expression = 0.0
    compliance: ComplianceLaw | None = None

    def __post_init__(self) -> None:
        _ = self.support
        self._check()
        _ = self.values

    @cached_property
    def values(self) -> Parameters:
        """Which end of the axis z is turned onto the normal, in space."""
        if self._planar:
            return NO_VALUES
        side = f"{self.name}_side"
        first = _first_side(self.first, self.second, self.inside)
        return discrete_values({side: (first, SIGNED)})

    def _check(self) -> None:
        own = f"the contact {self.name!r}"
        if isinstance(self.first, PlanarPoint) is not isinstance(self.second, PlanarPoint):
            raise PosingError(f"{own} must be between two bodies in space, or two in the plane")
        if len(self.radii) != 2:
            raise PosingError(
                f"{own} needs two radii, of the first and the second, not {self.radii!r}"
            )
        known: list[float] = []
        for place, radius in zip((self.first, self.second), self.radii, strict=True):
            given = check_size(f"a radius of {own}", radius, ">= 0", "m")
            known += [float(given)] if given.is_constant() else []
            if not given.is_zero() and not isinstance(place, Frame | PlanarFrame):
                raise PosingError(
                    f"{own} has a radius at a point, which has no orientation: give a frame"
                )
        if len(known) == 2 and (known[1] <= known[0] if self.inside else sum(known) == 0.0):
            raise OutOfRangeError(
                f"{own} is between radii of {known[0]:g} and {known[1]:g} m: "
                + ("the first does not fit in" if self.inside else "two points do not meet")
            )

    @property
    def _planar(self) -> bool:
        return isinstance(self.first, PlanarPoint)

    @cached_property
    def touch(self) -> RoundOnRound:
        """Its geometry."""
        radii = ca.SX(self.radii[0]), ca.SX(self.radii[1])
        side = 1.0 if self._planar else self._side
        pressed = self.compliance is not None
        return RoundOnRound(self.first, self.second, radii, self.inside, side, pressed)

    @property
    def _side(self) -> ca.SX:
        return self.values[f"{self.name}_side"]

    @property
    def _owners(self) -> list[object]:
        return [self.first.body, self.second.body]

    def _events(self, discrete: Parameters) -> tuple[Event, ...]:
        if self._planar:
            return ()
        rigid = self.goal if self.push is None else None
        own = rigid.values if isinstance(rigid, Contact) else NO_VALUES
        return (self._turns(own, discrete),)

    def _turns(self, *values: Parameters) -> Event:
        """Return the event at which the other end of the axis is turned onto the normal.

        Parameters
        ----------
        *values
            Discrete values of the contact and of a law: directions among them turn with it.
        """
        name, normal, side = f"{self.name}_side", self.touch.normal, self._side
        changes: dict[str, ca.SX] = {name: -side}
        turn = tangents_of(normal, -side).T @ self.touch.tangents
        for known in values:
            for what in ("heading", "turning"):
                names = [f"{what}_{self.name}_{k}" for k in (1, 2)]
                if names[0] in known:
                    new = turn @ ca.vertcat(*[known[part] for part in names])
                    changes |= dict(zip(names, ca.vertsplit(new), strict=True))
        beyond = ca.SX(FARTHEST)
        if self.push is None and isinstance(self.goal, Contact):
            beyond = FAR + (FARTHEST - FAR) * self.goal.values[self.goal.held_by]
        reset = Reset(changes, whenever_past=True)
        return Event(name, side * normal[2] + beyond, FALLING, reset, listed=False)


def _first_side(first: Place, second: Place, inside: bool) -> float:
    """Return which end of the axis z is turned onto the normal at the start that bodies have.

    Where that is written in parameters it is z. The event puts it right.
    """
    apart = at_start((first.position - second.position)[2], (first.body, second.body))
    along = ca.SX(ca.substitute(apart, time, 0.0))
    below = along.is_constant() and (float(along) < 0.0) is not inside
    return -1.0 if below else 1.0
