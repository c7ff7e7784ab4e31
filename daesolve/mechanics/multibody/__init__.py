"""Mechanisms assembled from rigid bodies, joints, forces and contacts."""

from daesolve.mechanics.multibody.bodies import Body, PlanarBody
from daesolve.mechanics.multibody.mechanism import Action, Contribution, Mechanism, Part
from daesolve.mechanics.multibody.places import GROUND, Frame, PlanarFrame, PlanarPoint, Point
from daesolve.mechanics.multibody.rotations import quaternion

__all__ = [
    "GROUND",
    "Action",
    "Body",
    "Contribution",
    "Frame",
    "Mechanism",
    "Part",
    "PlanarBody",
    "PlanarFrame",
    "PlanarPoint",
    "Point",
    "quaternion",
]
