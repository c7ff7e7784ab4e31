"""Mechanisms assembled from rigid bodies, joints, forces and contacts."""

from daesolve.mechanics.multibody.bodies import Body, PlanarBody
from daesolve.mechanics.multibody.friction_laws import Coulomb, RegularisedCoulomb
from daesolve.mechanics.multibody.gears import Gear
from daesolve.mechanics.multibody.joint_friction import JointFriction
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
from daesolve.mechanics.multibody.loads import (
    Damper,
    PointForce,
    Spring,
    SpringDamper,
    Torque,
    TorsionDamper,
    TorsionSpring,
)
from daesolve.mechanics.multibody.mechanism import Action, Contribution, Mechanism, Part
from daesolve.mechanics.multibody.motors import Actuator, Motor
from daesolve.mechanics.multibody.painleve import friction_margin
from daesolve.mechanics.multibody.places import GROUND, Frame, PlanarFrame, PlanarPoint, Point
from daesolve.mechanics.multibody.plane_contact import PlaneContact
from daesolve.mechanics.multibody.rolling import Rolling
from daesolve.mechanics.multibody.rotations import quaternion
from daesolve.mechanics.multibody.surfaces import Disc, Ellipsoid, Sphere, Spindle, Torus

__all__ = [
    "GROUND",
    "Action",
    "Actuator",
    "Body",
    "Contribution",
    "Coulomb",
    "Cylindrical",
    "Damper",
    "Disc",
    "Distance",
    "Ellipsoid",
    "Fixed",
    "Frame",
    "Gear",
    "JointFriction",
    "Mechanism",
    "Motor",
    "Part",
    "PlanarBody",
    "PlanarFrame",
    "PlanarPoint",
    "PlaneContact",
    "Point",
    "PointForce",
    "Prismatic",
    "RegularisedCoulomb",
    "Revolute",
    "Rolling",
    "Slot",
    "Sphere",
    "Spherical",
    "Spindle",
    "Spring",
    "SpringDamper",
    "Torque",
    "TorsionDamper",
    "TorsionSpring",
    "Torus",
    "Universal",
    "friction_margin",
    "quaternion",
]
