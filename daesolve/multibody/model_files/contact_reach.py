"""Which geoms of a model file can never meet, however its joints turn.

Along a chain of hinges and balls the anchors of consecutive joints keep their distances, and so
does a geom from the last one. So it stays in a ball about the first anchor, which is fixed in the
body that both chains have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.multibody.collision import HalfSpace, Shape, bounding_radius
from daesolve.multibody.model_files.kinematics import FrameMotion, matrix_of, poses
from daesolve.multibody.model_files.model import FileModel

ROUNDING = 1e-9
"""m; a place that is nearer to a joint is on it."""
Shaped = tuple[int, Shape]
"""A geom by number, and its shape."""


@dataclass(frozen=True, eq=False)
class Reach:
    """How far geoms reach.

    Parameters
    ----------
    model
        The model in the file.
    placed
        Where its bodies are before a joint moves.
    """

    model: FileModel
    placed: Sequence[FrameMotion]

    @classmethod
    def of(cls, model: FileModel) -> Reach:
        """Return the reach of the geoms of a model."""
        return cls(model, poses(model, model.qpos0, np.zeros(model.rates)))

    def meet(self, first: Shaped, second: Shaped, margin: float) -> bool:
        """Return whether the distance of two geoms may fall to a margin."""
        for one, other in ((first, second), (second, first)):
            if isinstance(other[1], HalfSpace):
                return self._meets_plane(one, other[0], margin)
        lines = [self._line(number) for number, _ in (first, second)]
        common = next(body for body in lines[0] if body in lines[1])
        (anchor, far), (its, away) = (
            self._ball(number, line, common)
            for (number, _), line in zip((first, second), lines, strict=True)
        )
        sizes = bounding_radius(first[1]) + bounding_radius(second[1])
        return float(np.linalg.norm(anchor - its)) <= far + away + sizes + margin

    def bodies_at(self, carrier: int, place: np.ndarray) -> set[int]:
        """Return the bodies that move in which a place of one is fixed, by number.

        Besides that one they are its parent and its children, if the place is on all joints
        between.

        Parameters
        ----------
        carrier
            The outermost of the bodies that are welded together.
        place
            Where it is before a joint moves, m.
        """
        found = {carrier}
        for number, body in enumerate(self.model.bodies):
            parent = self.model.bodies[body.parent].welded
            if carrier in (number, parent) and self._holds(number, place):
                found |= {number, parent}
        return found

    def _holds(self, body: int, place: np.ndarray) -> bool:
        """Return whether no joint of a body, of which there are some, moves a place."""
        joints = self.model.joints_of(body)
        for joint in joints:
            anchor = self.placed[body].then(joint.position, np.eye(3))
            way = place - anchor.position
            if joint.kind == "hinge":
                way = np.cross(anchor.rotation @ joint.axis, way)
            if joint.kind in ("free", "slide") or np.linalg.norm(way) > ROUNDING:
                return False
        return bool(joints)

    def _meets_plane(self, geom: Shaped, plane: int, margin: float) -> bool:
        anchor, far = self._ball(geom[0], self._line(geom[0]), 0)
        origin, axes = self._place(plane)
        height = float(axes[:, 2] @ (anchor - origin))
        return height <= far + bounding_radius(geom[1]) + margin

    def _place(self, geom: int) -> tuple[np.ndarray, np.ndarray]:
        entry = self.model.geoms[geom]
        pose = self.placed[entry.body].then(entry.position, matrix_of(entry.rotation))
        return pose.position, pose.rotation

    def _line(self, geom: int) -> list[int]:
        """Return the bodies from that of a geom inwards to the ground."""
        return self.model.line_to_ground(self.model.geoms[geom].body)

    def _ball(self, geom: int, line: Sequence[int], common: int) -> tuple[np.ndarray, float]:
        """Return centre and radius of a ball, fixed in a body, that the centre of a geom keeps."""
        place, radius = self._place(geom)[0], 0.0
        for body in line[: line.index(common)]:
            for joint in reversed(self.model.joints_of(body)):
                if joint.kind in ("free", "slide"):
                    return place, math.inf
                anchor = self.placed[body].then(joint.position, np.eye(3)).position
                place, radius = anchor, radius + float(np.linalg.norm(anchor - place))
        return place, radius
