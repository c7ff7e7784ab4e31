"""Mechanisms assembled from rigid bodies, joints, forces and contacts."""

from daesolve.mechanics.multibody.bodies import Body, PlanarBody
from daesolve.mechanics.multibody.gears import Gear
from daesolve.mechanics.multibody.joints import (
    Cylindrical,
    Distance,
    Fixed,
    Prismatic,
    Revolute,
    Slot,
    Spherical,
    Universal,
)
from daesolve.mechanics.multibody.mechanism import Action, Contribution, Mechanism, Part
from daesolve.mechanics.multibody.places import GROUND, Frame, PlanarFrame, PlanarPoint, Point
from daesolve.mechanics.multibody.rotations import quaternion

__all__ = [
    "GROUND",
    "Action",
    "Body",
    "Contribution",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Frame",
    "Gear",
    "Mechanism",
    "Part",
    "PlanarBody",
    "PlanarFrame",
    "PlanarPoint",
    "Point",
    "Prismatic",
    "Revolute",
    "Slot",
    "Spherical",
    "Universal",
    "quaternion",
]
