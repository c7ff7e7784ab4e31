"""The platform of daesolve: bodies with quaternions and joints."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import daesolve as ds
from daesolve.multibody import (
    GROUND,
    Body,
    Mechanism,
    Prismatic,
    Spherical,
    SpringDamper,
    Universal,
)

from . import platform as numbers
from .platform import LEGS, Leg

SEEN = (
    *(f"plate_{axis}" for axis in "xyz"),
    *(f"plate_{axis}_dot" for axis in "xyz"),
    *(f"plate_w{axis}" for axis in (1, 2, 3)),
)


def mechanism() -> Mechanism:
    """Pose the platform."""
    plate = Body(
        "plate", numbers.PLATE_MASS, numbers.PLATE_INERTIA, position=numbers.PLATE_CENTRE.tolist()
    )
    bodies, joints = [plate], []
    for number, leg in enumerate(LEGS):
        (tube, rod), own = _leg(plate, number, leg)
        bodies += [tube, rod]
        joints += own
    return Mechanism(bodies, joints, gravity=(0, 0, -numbers.GRAVITY))


def _leg(plate: Body, number: int, leg: Leg):
    turned = Rotation.from_matrix(leg.axes).as_quat(scalar_first=True).tolist()
    tube = Body(
        f"tube_{number}", numbers.TUBE_MASS, numbers.TUBE_INERTIA, position=leg.tube.tolist(),
        rotation=turned,
    )  # fmt: skip
    rod = Body(
        f"rod_{number}", numbers.ROD_MASS, numbers.ROD_INERTIA, position=leg.rod.tolist(),
        rotation=turned,
    )  # fmt: skip
    foot = GROUND.frame(tuple(leg.foot.tolist()))
    head = plate.point(*leg.head_in_plate.tolist())
    parts = [
        Universal(f"foot_{number}", foot, tube.frame((0, 0, -numbers.TUBE_CENTRE))),
        Prismatic(f"slide_{number}", tube.frame(), rod.frame(), axis=2),
        Spherical(f"head_{number}", rod.point(0, 0, numbers.ROD_CENTRE), head),
        SpringDamper(
            f"spring_{number}", GROUND.point(*leg.foot.tolist()), head, numbers.STIFFNESS,
            numbers.DAMPING, leg.natural,
        ),
    ]  # fmt: skip
    return (tube, rod), parts
