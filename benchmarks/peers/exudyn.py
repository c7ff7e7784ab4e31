"""Exudyn: rigid bodies and joints as in its IFToMM examples, with its implicit integrators.

The pendulum, an open chain, is also modelled as a kinematic tree in joint coordinates for Exudyn's
explicit methods of order 4 and 6, which do not support joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.attempts import BrokeDownError, untyped

from .contestant import Contestant, Motion, Ready, timed
from .tasks import GRAVITY, Task
from .tree import TREES, Tree

exudyn = untyped("exudyn")
items = untyped("exudyn.itemInterface")

IMPLICIT = {"TrapezoidalIndex2": 1.0, "GeneralizedAlpha": 0.95}
"""The method and its spectral radius."""
IMPLICIT_STEPS = (1e-2, 1e-3, 2.5e-4, 1.25e-4, 1e-5)
EXPLICIT = {"RK44": (0.02, 0.005, 1e-3), "RK67": (0.1, 0.05, 0.02, 0.01, 0.005, 0.002)}
SAMPLES = 1000


def add_links(mbs: Any, tree: Tree) -> list[int]:
    """Add bars, sliders and joints; return their nodes."""
    ground = mbs.AddObject(items.ObjectGround())
    nodes: list[int] = []
    heads: list[int] = []
    for k, link in enumerate(tree.links):
        at = [link.anchor, 0, 0]
        base = (
            mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=at))
            if link.parent < 0
            else heads[link.parent]
        )
        node, foot, head = (_point if link.slides or link.tipped else _bar)(mbs, tree, k)
        nodes.append(node)
        heads.append(head)
        if link.slides:
            height = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=1))
            fixed = mbs.AddNode(items.NodePointGround())
            zero = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0))
            mbs.AddObject(items.CoordinateConstraint(markerNumbers=[zero, height]))
        elif link.tipped:
            rod = items.DistanceConstraint(markerNumbers=[base, foot], distance=link.length)
            mbs.AddObject(rod)
        else:
            mbs.AddObject(items.RevoluteJoint2D(markerNumbers=[base, foot]))
    for a, b in tree.loops:
        mbs.AddObject(items.RevoluteJoint2D(markerNumbers=[heads[a], heads[b]]))
    return nodes


def _angles(tree: Tree, relative: np.ndarray) -> np.ndarray:
    """Return the links' angles, or rates, relative to the x-axis."""
    found = np.array(relative)
    for k, link in enumerate(tree.links):
        if link.parent >= 0:
            found[k] += found[link.parent]
    return found


def _point(mbs: Any, tree: Tree, k: int) -> tuple[int, int, int]:
    """Add a point mass; return its node and its marker, the latter twice."""
    (place,), (speed,) = tree.ends(tree.start[None], tree.start_rate[None])[k]
    node = mbs.AddNode(
        items.NodePoint2D(referenceCoordinates=list(place), initialVelocities=list(speed))
    )
    mbs.AddObject(items.MassPoint2D(physicsMass=1.0, nodeNumber=node))
    marker = mbs.AddMarker(items.MarkerNodePosition(nodeNumber=node))
    mbs.AddLoad(items.Force(markerNumber=marker, loadVector=[0, -GRAVITY, 0]))
    return node, marker, marker


def _bar(mbs: Any, tree: Tree, k: int) -> tuple[int, int, int]:
    """Add a bar; return its node and the markers at its foot and its head."""
    link = tree.links[k]
    (end,), (speed,) = tree.ends(tree.start[None], tree.start_rate[None])[k]
    angle, rate = _angles(tree, tree.start)[k], _angles(tree, tree.start_rate)[k]
    arm = link.length / 2 * np.array([np.cos(angle), np.sin(angle)])
    velocity = speed - rate * np.array([-arm[1], arm[0]])
    node = mbs.AddNode(
        items.NodeRigidBody2D(
            referenceCoordinates=[*(end - arm), angle], initialVelocities=[*velocity, rate]
        )
    )
    body = mbs.AddObject(
        items.RigidBody2D(nodeNumber=node, physicsMass=1.0, physicsInertia=link.inertia)
    )
    mass = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=[0, -GRAVITY, 0]))
    foot, head = (
        mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[place, 0, 0]))
        for place in (-link.length / 2, link.length / 2)
    )
    return node, foot, head


def _kinematic_tree(mbs: Any, tree: Tree) -> list[int]:
    """Add an open chain in joint coordinates; return its node."""
    count = len(tree.links)
    inertias = [np.diag([0, link.inertia, link.inertia]) for link in tree.links]
    node = mbs.AddNode(
        items.NodeGenericODE2(
            referenceCoordinates=[0.0] * count,
            initialCoordinates=list(tree.start),
            initialCoordinates_t=list(tree.start_rate),
            numberOfODE2Coordinates=count,
        )
    )
    mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node,
            gravity=[0, -GRAVITY, 0],
            jointTypes=[exudyn.JointType.RevoluteZ] * count,
            linkParents=[link.parent for link in tree.links],
            jointTransformations=exudyn.Matrix3DList([np.eye(3)] * count),
            jointOffsets=exudyn.Vector3DList([[link.anchor, 0, 0] for link in tree.links]),
            linkInertiasCOM=exudyn.Matrix3DList(inertias),
            linkCOMs=exudyn.Vector3DList([[link.centre, 0, 0] for link in tree.links]),
            linkMasses=[1.0] * count,
        )
    )
    return [node]


def settings_of(method: str, step: float, until: float) -> Any:
    """Return the settings of a method with fixed steps."""
    settings = exudyn.SimulationSettings()
    integration = settings.timeIntegration
    integration.numberOfSteps = round(until / step)
    integration.endTime = until
    integration.automaticStepSize = False
    integration.adaptiveStep = False
    integration.generalizedAlpha.spectralRadius = IMPLICIT.get(method, 1.0)
    integration.newton.useModifiedNewton = True
    integration.newton.modifiedNewtonJacUpdatePerStep = True
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = until / SAMPLES
    return settings


def _by_steps(task: Task, method: str, step: float) -> Ready:
    tree = TREES[task.kind]
    jointed = method in IMPLICIT
    settings = settings_of(method, step, task.until)
    solver = getattr(exudyn.DynamicSolverType, method)

    def build(watched: bool) -> tuple[Any, list[int]]:
        mbs = exudyn.SystemContainer().AddSystem()
        nodes = (add_links if jointed else _kinematic_tree)(mbs, tree)
        sensors: list[int] = []
        for node in nodes if watched else ():
            for kind in ("Coordinates", "Coordinates_t"):
                variable = getattr(exudyn.OutputVariableType, kind)
                sensor = items.SensorNode(
                    nodeNumber=node, storeInternal=True, outputVariableType=variable
                )
                sensors.append(mbs.AddSensor(sensor))
        mbs.Assemble()
        return mbs, sensors

    mbs, _ = build(watched=False)

    def motion(_: Any) -> Motion:
        seen, sensors = build(watched=True)
        if not seen.SolveDynamic(settings, solverType=solver):
            raise BrokeDownError("SolveDynamic did not succeed")
        data = [seen.GetSensorStoredData(sensor)[1:] for sensor in sensors]
        if abs(data[0][-1, 0] - task.until) > step / 2:
            raise BrokeDownError(f"ended at t = {data[0][-1, 0]:.3g} s")
        positions = [entry[:, 1:] for entry in data[::2]]
        velocities = [entry[:, 1:] for entry in data[1::2]]
        count = round(task.until / step)
        if not jointed:
            return tree.motion(positions[0], velocities[0], count)
        return _from_bodies(tree, positions, velocities, count)

    return Ready(timed(lambda: mbs.SolveDynamic(settings, solverType=solver)), motion)


def _from_bodies(
    tree: Tree, positions: list[np.ndarray], velocities: list[np.ndarray], count: int
) -> Motion:
    """Return the motion from the coordinates of bodies, which are displacements, (k, 2 or 3).

    The ends of each bar follow from its own coordinates, so the gaps of the joints lie between
    them.
    """
    angles = _angles(tree, tree.start)
    starts = tree.ends(tree.start[None], tree.start_rate[None])
    heads: list[np.ndarray] = []
    speeds: list[np.ndarray] = []
    feet: list[np.ndarray | None] = []
    for k, (link, q, v) in enumerate(zip(tree.links, positions, velocities, strict=True)):
        if link.slides or link.tipped:
            heads.append(starts[k][0] + q)
            speeds.append(v)
            feet.append(None)
            continue
        centre = starts[k][0] - link.length / 2 * np.array([[np.cos(angles[k]), np.sin(angles[k])]])
        turned = angles[k] + q[:, 2]
        arm = link.length / 2 * np.column_stack([np.cos(turned), np.sin(turned)])
        heads.append(centre + q[:, :2] + arm)
        feet.append(centre + q[:, :2] - arm)
        speeds.append(v[:, :2] + np.column_stack([-arm[:, 1], arm[:, 0]]) * v[:, 2:])
    gaps = [np.linalg.norm(heads[a] - heads[b], axis=1) for a, b in tree.loops]
    for link, foot in zip(tree.links, feet, strict=True):
        if foot is not None:
            base = np.array([[link.anchor, 0.0]]) if link.parent < 0 else heads[link.parent]
            gaps.append(np.linalg.norm(foot - base, axis=1))
    return Motion(
        np.column_stack([heads[link][:, axis] for link, axis in tree.coordinates]),
        np.column_stack([speeds[link][:, axis] for link, axis in tree.coordinates]),
        count,
        np.max(gaps, axis=0) if gaps else None,
    )


def contestants(task: Task) -> list[Contestant]:
    """Return each method with smaller and smaller steps."""
    steps = dict.fromkeys(IMPLICIT, IMPLICIT_STEPS)
    if task.kind == "pendulum":
        steps |= EXPLICIT
    return [
        Contestant(
            method,
            f"step {step:g}",
            lambda method=method, step=step: _by_steps(task, method, step),
        )
        for method, sizes in steps.items()
        for step in sizes
    ]
