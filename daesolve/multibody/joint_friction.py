"""Dry friction in joints, by a given preload or by the reactions of the joint itself.

A law of dry friction needs a normal reaction whose sign is known and which is linear in the
unknowns. The reaction of a joint rarely is: in space, and in every hinge, it is a force of unknown
direction, whose size sqrt(Fx^2 + Fy^2) is not linear in its components. There a preload determines
the friction, as in bearings and brakes. In the plane a slider presses with a force along one line:
a pin in a slot with N, a bush of length b with forces at both its ends,

    N_a = N / 2 + M / b,    N_b = N / 2 - M / b,

where M is the torque that keeps it straight. The normal force of friction is |N|, or |N_a| + |N_b|.
The signs are discrete values, `side_<name>_1` (and `_2`); where one of them changes, at
`<name>_side`, the slider presses on the other side of its guide. Friction vanishes there, so the
motion is continuous.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.core.posing.events import FALLING, Event, Reset
from daesolve.core.posing.goals import Expression
from daesolve.errors import PosingError, UnsupportedError
from daesolve.multibody.checks import check_part, check_size
from daesolve.multibody.contribution import SIGNED, Contribution, discrete_values, merged
from daesolve.multibody.friction_laws import FrictionLaw
from daesolve.multibody.joints import Prismatic, Revolute, Slot


@dataclass(frozen=True, eq=False)
class JointFriction:
    """Dry friction in a joint that turns or slides.

    Its discrete values and events carry its name, as the law defines. The friction, on the
    second body, is the output `<name>_friction` (N or N m); its work is metered as
    `<name>_friction_work` (J).

    Parameters
    ----------
    name
        A word.
    joint
        A revolute or prismatic joint, or a slot; in a cylindrical joint friction acts against the
        slide.
    law
        `Coulomb`, `RegularisedCoulomb`, or your own law.
    preload
        For a joint that slides, the normal force, N; for one that turns, the normal force times its
        radius, N m: a number or an expression, not negative. Without it, the reaction of the joint
        determines the friction.
    bush
        Without a preload, the length of the bush of a prismatic joint, m.

    Raises
    ------
    PosingError
        The name is not a word, the joint neither turns nor slides, or the bush does not apply.
    OutOfRangeError
        The preload is negative, or the length of the bush is not positive.
    UnsupportedError
        The joint's reaction has an unknown direction, and there is no preload.
    """

    name: str
    joint: Revolute | Slot
    law: FrictionLaw
    preload: Expression | None = None
    bush: Expression | None = None

    def __post_init__(self) -> None:
        what = check_part(self)
        if not isinstance(self.joint, Revolute | Slot):
            raise PosingError(f"the {what} needs a joint that turns or slides, not {self.joint}")
        if not isinstance(self.law, FrictionLaw):
            raise PosingError(f"the {what} needs a law of friction, not {self.law!r}")
        if self.preload is not None:
            check_size(f"the preload of the {what}", self.preload)
        else:
            self._check_reaction(what)
        wanted = self.preload is None and isinstance(self.joint, Prismatic)
        if wanted != (self.bush is not None):
            raise PosingError(
                f"the {what} needs the length of a bush if its friction comes from the "
                "reaction of a prismatic joint, and only then"
            )
        if self.bush is not None:
            check_size(f"the length of the bush of the {what}", self.bush, "> 0")

    def _check_reaction(self, what: str) -> None:
        if isinstance(self.joint, Slot) and self.joint.planar:
            return
        raise UnsupportedError(
            f"the {what} has no preload, and the reaction of {self.joint} has an unknown "
            "direction, so its size is not linear in its components: give a preload, or use "
            "contacts instead of the joint"
        )

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        joint = self.joint
        slip, unit = (joint.rate, "N m") if isinstance(joint, Revolute) else (joint.speed, "N")
        if self.preload is not None:
            pressed = ca.SX(self.preload)
            return self.law.act(self.name, slip, pressed, unit=unit).contribution(self.name, unit)
        forces = self._forces()
        names = [f"side_{self.name}_{k}" for k in range(1, len(forces) + 1)]
        sides = discrete_values(dict.fromkeys(names, (1.0, SIGNED)))
        pressing = [sides[name] * force for name, force in zip(names, forces, strict=True)]

        def other_sides(fired: ca.SX) -> dict[str, ca.SX]:
            return {name: sides[name] * (1 - 2 * fired[k]) for k, name in enumerate(names)}

        changed = Reset(other_sides, whenever_past=True)
        event = Event(f"{self.name}_side", pressing, FALLING, changed)
        normal = sum(pressing, start=ca.SX(0))
        size = sum((ca.fabs(force) for force in forces), start=ca.SX(0))
        friction = self.law.act(self.name, slip, normal, unit=unit, size=size)
        own = Contribution(events=[event], discrete=sides)
        return merged([own, friction.contribution(self.name, unit)])

    def _forces(self) -> list[ca.SX]:
        """Return the forces with which a planar slider presses, along one line."""
        force, *torque = [goal.reaction for goal in self.joint.goals]
        if self.bush is None:
            return [force]
        return [force / 2 + torque[0] / self.bush, force / 2 - torque[0] / self.bush]
