"""Joints with play: a pin in a wider hole, a block in a wider guide.

Contacts that open and close replace the joint: a pin touches its hole at one point, a block its
guide at up to two of its four corners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import pi

import casadi as ca

from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import Expression
from daesolve.core.system.system import Output
from daesolve.errors import PosingError, UnsupportedError
from daesolve.multibody.bodies import rate_of
from daesolve.multibody.checks import check_part, check_size
from daesolve.multibody.compliance import ComplianceLaw
from daesolve.multibody.contact_geometry import PinInHole, material
from daesolve.multibody.contribution import SWITCHED, Contribution, discrete_values, merged
from daesolve.multibody.joints import Prismatic, Revolute
from daesolve.multibody.places import PlanarFrame
from daesolve.multibody.plane_contact import PlaneContact
from daesolve.multibody.supports import BodySupport, Rubs


@dataclass(frozen=True, eq=False)
class Clearance:
    """A revolute or prismatic joint in the plane with play; it replaces the joint.

    For a hinge, the second body has a pin with a radius, and the first a hole that is wider by the
    clearance: one contact, called `<name>`. For a slider, the second body is a block with a length,
    and the clearance is its total play across the guide of the first: its corners are four
    contacts, `<name>_1` (front) and `<name>_2` (rear) below, `<name>_3` and `<name>_4` above. They
    start open; a contact that touches at the start without a speed, and is pressed, closes. Outputs
    and events are the same as for a `PlaneContact`.

    Parameters
    ----------
    name
        A word.
    joint
        The `Revolute` or `Prismatic` joint in the plane. It does not become a part of the
        mechanism.
    clearance
        m: for a hinge the radius of the hole minus the radius of the pin, for a slider the width of
        the guide minus the width of the block.
    radius
        Of the pin, m; zero for a point, where friction has no lever arm.
    length
        Of the block, m; required for a slider, and only there.
    friction, restitution
        Of each contact, as in `PlaneContact` with `unilateral=True`; zero for none.
    compliance
        `HuntCrossley` or `KelvinVoigt` instead of rigid contacts; friction must then be a
        `RegularisedCoulomb`.

    Raises
    ------
    PosingError
        The name is not a word, the joint is of another kind, a radius or a length does not apply,
        or the options of friction and impacts contradict each other.
    UnsupportedError
        The joint is in space.
    OutOfRangeError
        The clearance or the length is a number that is not positive, or the radius is negative.
    """

    name: str
    joint: Revolute | Prismatic
    clearance: Expression
    radius: Expression = 0.0
    length: Expression | None = None
    friction: Rubs = None
    restitution: Expression = 0.0
    compliance: ComplianceLaw | None = None

    def __post_init__(self) -> None:
        what = check_part(self, clearance="> 0", radius=">= 0")
        if not isinstance(self.joint, Revolute | Prismatic):
            raise PosingError(f"the {what} needs a revolute or prismatic joint, not {self.joint}")
        if not self.joint.planar:
            raise UnsupportedError(
                f"the {what} cannot model {self.joint} in space, where a pin may touch its "
                "hole along its whole length: use a planar joint, or contacts such as "
                "RoundContact(inside=True)"
            )
        slides = isinstance(self.joint, Prismatic)
        if slides != (self.length is not None) or (slides and not ca.SX(self.radius).is_zero()):
            raise PosingError(
                f"the {what} needs the length of the block for a slider, or the radius of the "
                "pin for a hinge"
            )
        if self.length is not None:
            check_size(f"the length of the {what}", self.length, "> 0")
        _ = self._support

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        if isinstance(self.joint, Prismatic):
            return merged([contact.contribution for contact in self._corners])
        return self._pin()

    def _pin(self) -> Contribution:
        hole, pin = self.joint.first, self.joint.second
        assert isinstance(hole, PlanarFrame)
        assert isinstance(pin, PlanarFrame)
        play, radius = ca.SX(self.clearance), ca.SX(self.radius)
        touch = PinInHole(pin, hole, radius, play)
        if self.compliance is None:
            contribution = self._support.contribution(touch, self._support.goal(touch))
        else:
            contribution = self._compliant(touch, self.compliance)
        true_gap: Output = (play - ca.sqrt(touch.squared), "m")
        return replace(contribution, outputs={**contribution.outputs, f"{self.name}_gap": true_gap})

    def _compliant(self, rigid: PinInHole, law: ComplianceLaw) -> Contribution:
        """Return what a compliant contact of the pin adds, which has a mode near the middle."""
        name = f"near_{self.name}"
        values = discrete_values({name: (0.0, SWITCHED)})
        (near,) = ca.vertsplit(values.vector)
        touch = replace(rigid, near=near)
        rate = rate_of(touch.gap, (touch.pin.body, touch.hole.body))
        push = law.push(self.name, -touch.gap, -rate)
        contribution = self._support.compliant(touch, push, rate, values)
        beyond = 4 * touch.squared / touch.clearance**2 - 1
        change = Reset({name: 1 - near}, whenever_past=True)
        event = Event(name, (1 - 2 * near) * beyond, FALLING, change, listed=False)
        return replace(contribution, events=(event, *contribution.events))

    @cached_property
    def _support(self) -> BodySupport:
        rigid = self.compliance is None
        return BodySupport(
            self.name,
            self.friction,
            unilateral=rigid,
            restitution=self.restitution,
            closed=not rigid,
            compliance=self.compliance,
        )

    @cached_property
    def _corners(self) -> tuple[PlaneContact, ...]:
        joint, rigid = self.joint, self.compliance is None
        guide, block = joint.first, joint.second
        assert isinstance(joint, Prismatic)
        assert isinstance(guide, PlanarFrame)
        assert isinstance(block, PlanarFrame)
        assert self.length is not None
        turn = joint.axis * pi / 2
        ends = [
            _shifted(block, side * ca.SX(self.length) / 2 * block.direction(joint.axis))
            for side in (1, -1)
        ]
        across = ca.SX(self.clearance) / 2 * _turned(guide, turn).direction(1)
        below, above = _shifted(guide, -across), _shifted(guide, across)
        walls = _turned(below, turn), _turned(above, turn + pi)
        places = [(end, wall) for wall in walls for end in ends]
        return tuple(
            PlaneContact(
                f"{self.name}_{number}",
                end,
                friction=self.friction,
                unilateral=rigid,
                plane=wall,
                restitution=self.restitution,
                closed=not rigid,
                compliance=self.compliance,
            )
            for number, (end, wall) in enumerate(places, 1)
        )


def _shifted(frame: PlanarFrame, way: ca.SX) -> PlanarFrame:
    """Return a frame of the same body, from a frame of it on, by a way in axes of space."""
    return PlanarFrame(
        frame.body, frame.position + way, material(frame, way), frame.angle, frame.rate
    )


def _turned(frame: PlanarFrame, angle: float) -> PlanarFrame:
    return PlanarFrame(frame.body, frame.position, frame.velocity, frame.angle + angle, frame.rate)
