"""Mechanisms assembled from rigid bodies, joints, forces and contacts."""

from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.clearance import Clearance
from daesolve.multibody.collision import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    TriaxialEllipsoid,
    contacts_between,
)
from daesolve.multibody.compliance import HuntCrossley, KelvinVoigt
from daesolve.multibody.contribution import AppliedForce, Contribution, GearedInertia, Part
from daesolve.multibody.drives import Actuator, Belt, Gear, Motor, RackAndPinion
from daesolve.multibody.elements import Bushing, ElastoGap, SpringDamperSeries
from daesolve.multibody.friction_laws import Coulomb, RegularisedCoulomb
from daesolve.multibody.joint_friction import JointFriction
from daesolve.multibody.joints import (
    Cylindrical,
    Distance,
    Fixed,
    Prismatic,
    Revolute,
    Slot,
    Spherical,
    Universal,
)
from daesolve.multibody.loads import (
    Damper,
    PointForce,
    Spring,
    SpringDamper,
    Torque,
    TorsionDamper,
    TorsionSpring,
)
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.model_files import FileMechanism, FileStart, Freedom, LeftOut, read
from daesolve.multibody.painleve import friction_margin
from daesolve.multibody.places import GROUND, Frame, PlanarFrame, PlanarPoint, Point, quaternion
from daesolve.multibody.plane_contact import PlaneContact, Rolling, corners, feet
from daesolve.multibody.round_contact import RoundContact
from daesolve.multibody.sliding_joints import Planar, Screw
from daesolve.multibody.surfaces import Disc, Ellipsoid, Sphere, Spindle, Torus
from daesolve.multibody.wheels import Skate, WheelPair

__all__ = [
    "GROUND",
    "Actuator",
    "AppliedForce",
    "Belt",
    "Body",
    "Box",
    "Bushing",
    "Capsule",
    "Clearance",
    "Contribution",
    "ConvexHull",
    "Coulomb",
    "Cylinder",
    "Cylindrical",
    "Damper",
    "Disc",
    "Distance",
    "ElastoGap",
    "Ellipsoid",
    "FileMechanism",
    "FileStart",
    "Fixed",
    "Frame",
    "Freedom",
    "Gear",
    "GearedInertia",
    "HalfSpace",
    "HuntCrossley",
    "JointFriction",
    "KelvinVoigt",
    "LeftOut",
    "Mechanism",
    "Motor",
    "Part",
    "Planar",
    "PlanarBody",
    "PlanarFrame",
    "PlanarPoint",
    "PlaneContact",
    "Point",
    "PointForce",
    "Prismatic",
    "RackAndPinion",
    "RegularisedCoulomb",
    "Revolute",
    "Rolling",
    "RoundContact",
    "Screw",
    "Skate",
    "Slot",
    "Sphere",
    "Spherical",
    "Spindle",
    "Spring",
    "SpringDamper",
    "SpringDamperSeries",
    "Torque",
    "TorsionDamper",
    "TorsionSpring",
    "Torus",
    "TriaxialEllipsoid",
    "Universal",
    "WheelPair",
    "contacts_between",
    "corners",
    "feet",
    "friction_margin",
    "quaternion",
    "read",
]
