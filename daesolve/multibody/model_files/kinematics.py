"""Where bodies are by the coordinates of their joints, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.multibody.model_files.model import FileJoint, FileModel


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """Where a frame is and how it moves.

    Parameters
    ----------
    position, rotation
        Of its origin, m, (3,), and a matrix (3, 3) of its axes.
    velocity, angular_velocity
        m/s and rad/s, in axes of space, (3,).
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray

    def then(self, position: np.ndarray, rotation: np.ndarray) -> FrameMotion:
        """Return a frame that is fixed in this one."""
        way = self.rotation @ position
        return FrameMotion(
            self.position + way,
            self.rotation @ rotation,
            self.velocity + np.cross(self.angular_velocity, way),
            self.angular_velocity,
        )


AT_ORIGIN = FrameMotion(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))


def matrix_of(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) of a quaternion (w, x, y, z) of any length."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """Return the quaternion (4,) of a rotation, its largest entry positive."""
    r = rotation
    squares = np.array(
        [
            1 + r[0, 0] + r[1, 1] + r[2, 2],
            1 + r[0, 0] - r[1, 1] - r[2, 2],
            1 - r[0, 0] + r[1, 1] - r[2, 2],
            1 - r[0, 0] - r[1, 1] + r[2, 2],
        ]
    )
    largest = int(np.argmax(squares))
    skew = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    both = {1: r[0, 1] + r[1, 0], 2: r[0, 2] + r[2, 0], 3: r[1, 2] + r[2, 1]}
    rows = {
        0: [squares[0], *skew],
        1: [skew[0], squares[1], both[1], both[2]],
        2: [skew[1], both[1], squares[2], both[3]],
        3: [skew[2], both[2], both[3], squares[3]],
    }
    found = np.array(rows[largest])
    return found / np.linalg.norm(found)


def turned_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about an axis of length one."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def poses(model: FileModel, qpos: np.ndarray, qvel: np.ndarray) -> list[FrameMotion]:
    """Return where the frames of all bodies are.

    Parameters
    ----------
    qpos, qvel
        The coordinates and velocities of all joints, as MuJoCo orders them.
    """
    found = [AT_ORIGIN]
    for number, body in enumerate(model.bodies[1:], 1):
        pose = found[body.parent].then(body.position, matrix_of(body.rotation))
        for joint in model.joints_of(number):
            pose = _moved(pose, joint, qpos, qvel)
        found.append(pose)
    return found


def _moved(pose: FrameMotion, joint: FileJoint, qpos: np.ndarray, qvel: np.ndarray) -> FrameMotion:
    """Return a frame after a joint has moved it."""
    at, rate = qpos[joint.place :], qvel[joint.rate :]
    if joint.kind == "free":
        axes = matrix_of(at[3:7])
        return FrameMotion(at[:3], axes, rate[:3], axes @ rate[3:6])
    if joint.kind == "slide":
        axis = pose.rotation @ joint.axis
        moved = pose.then(joint.axis * (at[0] - joint.reference[0]), np.eye(3))
        return FrameMotion(
            moved.position, moved.rotation, moved.velocity + axis * rate[0], moved.angular_velocity
        )
    if joint.kind == "hinge":
        turn = turned_about(joint.axis, at[0] - joint.reference[0])
        spin = pose.rotation @ joint.axis * rate[0]
    else:
        turn = matrix_of(at[:4])
        spin = pose.rotation @ turn @ rate[:3]
    anchor = pose.then(joint.position, turn)
    turning = pose.angular_velocity + spin
    return FrameMotion(anchor.position, anchor.rotation, anchor.velocity, turning).then(
        -joint.position, np.eye(3)
    )


def relative_to_root(model: FileModel) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return position and rotation of each body in the frame of the body that it is welded to."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for number, body in enumerate(model.bodies):
        if body.welded == number:
            found.append((np.zeros(3), np.eye(3)))
            continue
        position, axes = found[body.parent]
        found.append((position + axes @ body.position, axes @ matrix_of(body.rotation)))
    return found


def composed(
    parts: Sequence[tuple[float, np.ndarray, np.ndarray]],
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, mass centre and inertia about it of several parts.

    Parameters
    ----------
    parts
        Mass (kg), mass centre (3,) and inertia about that (3, 3), all in one frame.
    """
    mass = sum(part[0] for part in parts)
    centre = sum((part[0] * part[1] for part in parts), start=np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for own, place, moments in parts:
        arm = place - centre
        inertia += moments + own * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, centre, inertia
