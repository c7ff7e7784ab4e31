"""The platform in Exudyn: rigid bodies with Euler parameters, joints, implicit integrators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.common.attempts import BrokeDownError, untyped
from benchmarks.peers.exudyn import IMPLICIT, settings_of

from . import platform as numbers
from .platform import LEGS, UNTIL, Ended, Leg

exudyn = untyped("exudyn")
items = untyped("exudyn.itemInterface")

STEPS = (0.01, 0.005, 0.0025, 0.00125, 0.0005)
UNIVERSAL = [1, 1, 1, 0, 0, 1]
"""Constrained: the foot, and the first axis of the ground to the second of the tube."""
SLIDING = [1, 1, 0, 1, 1, 1]
SPHERICAL = [1, 1, 1]


def _body(
    mbs: Any, mass: float, moments: tuple[float, ...], centre: np.ndarray, axes: np.ndarray
) -> tuple[Any, Any]:
    """Add a body at rest; return its node and its number."""
    quaternion = Rotation.from_matrix(axes).as_quat(scalar_first=True)
    node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*centre, *quaternion]))
    body = mbs.AddObject(
        items.ObjectRigidBody(
            nodeNumber=node, physicsMass=mass, physicsInertia=[*moments, 0.0, 0.0, 0.0]
        )
    )
    marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    weight = [0.0, 0.0, -numbers.GRAVITY]
    mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=weight))
    return node, body


def _place(mbs: Any, body: Any, at: tuple[float, ...] | list[float]) -> Any:
    return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=list(at)))


def _leg(mbs: Any, ground: Any, plate: Any, leg: Leg) -> None:
    _, tube = _body(mbs, numbers.TUBE_MASS, numbers.TUBE_INERTIA, leg.tube, leg.axes)
    _, rod = _body(mbs, numbers.ROD_MASS, numbers.ROD_INERTIA, leg.rod, leg.axes)
    foot, head = (
        _place(mbs, ground, leg.foot.tolist()),
        _place(mbs, plate, leg.head_in_plate.tolist()),
    )
    bottom = _place(mbs, tube, (0.0, 0.0, -numbers.TUBE_CENTRE))
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[foot, bottom], constrainedAxes=UNIVERSAL))
    inside = [_place(mbs, body, (0.0, 0.0, 0.0)) for body in (tube, rod)]
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=inside, constrainedAxes=SLIDING))
    top = _place(mbs, rod, (0.0, 0.0, numbers.ROD_CENTRE))
    mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[top, head], constrainedAxes=SPHERICAL))
    mbs.AddObject(
        items.ObjectConnectorSpringDamper(
            markerNumbers=[foot, head], referenceLength=leg.natural,
            stiffness=numbers.STIFFNESS, damping=numbers.DAMPING,
        )
    )  # fmt: skip


def build() -> tuple[Any, Any]:
    """Return the platform, and the node of the plate."""
    mbs = exudyn.SystemContainer().AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    node, plate = _body(
        mbs, numbers.PLATE_MASS, numbers.PLATE_INERTIA, numbers.PLATE_CENTRE, np.eye(3)
    )
    for leg in LEGS:
        _leg(mbs, ground, plate, leg)
    mbs.Assemble()
    return mbs, node


def _solved(method: str, step: float) -> Ended:
    settings = settings_of(method, step, UNTIL)
    settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    mbs, node = build()
    solver = getattr(exudyn.DynamicSolverType, method)
    if not mbs.SolveDynamic(settings, solverType=solver):
        raise BrokeDownError("SolveDynamic did not succeed")
    kinds = exudyn.OutputVariableType
    seen = [
        mbs.GetNodeOutput(node, kind)
        for kind in (kinds.Position, kinds.Velocity, kinds.AngularVelocityLocal)
    ]
    return np.concatenate(seen), round(UNTIL / step)


def settings() -> dict[tuple[str, str], Callable[[], Ended]]:
    """Return functions that solve the platform, by method and setting; building takes some ms."""
    return {
        (method, f"step {step:g}"): partial(_solved, method, step)
        for method in IMPLICIT
        for step in STEPS
    }
