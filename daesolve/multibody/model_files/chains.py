"""Several joints of one body in a row, as one joint without bodies between.

A model file may give a body several joints, each of which moves it further: slides along axes,
turns about others. Between them are no bodies with masses. So the rows that the whole chain holds,
and the motion of each of its joints, are written in the two bodies at its ends.

With E the axes of the parent, C those of the body, a_k and p_k the axis and the anchor of the k-th
turn in the axes of the body, and R_k the axes after it (R_0 = E, R_n = C), the body's origin is at

    sum of slides + E p_1 - C p_n + sum over 0 < k < n of R_k (p_{k+1} - p_k)

from that of the parent's frame. Turns leave their own axes alone: e_1 = E a_1, e_n = C a_n. Two
turns hold e_1 . e_2 = a_1 . a_2. Of three, the middle axis follows from e_1 . e_2 = a_1 . a_2,
e_2 . e_3 = a_2 . a_3 and its length, but for a sign; where e_1 and e_3 are parallel it is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import casadi as ca
import numpy as np

from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.symbols import Parameters
from daesolve.errors import UnsupportedError
from daesolve.multibody.bodies import rate_of
from daesolve.multibody.contribution import NO_VALUES, SIGNED, Contribution, discrete_values
from daesolve.multibody.joint_rows import AnyFrame, Row, same_orientation
from daesolve.multibody.joints import Joint
from daesolve.multibody.model_files.kinematics import turned_about
from daesolve.multibody.model_files.model import FileJoint
from daesolve.multibody.places import Frame, axes_with_third

PARALLEL = 1e-6
"""The sine of an angle below which axes count as parallel."""
IN_ONE_PLANE = 1e-4
"""The volume that three axes of length one span, below which they are in one plane."""


@dataclass(frozen=True, eq=False)
class Chain(Joint):
    """Several joints in a row between two bodies.

    Parameters
    ----------
    name
        A word; its goals are called after it.
    first, second
        Frames of the parent and of the body, which coincide where no joint is moved.
    links
        The joints, from the parent outwards.

    Raises
    ------
    UnsupportedError
        The chain has other joints than slides and up to three turns about independent axes, or
        slides and a ball; or slides with a turn between them.
    """

    first: AnyFrame
    second: AnyFrame
    links: Sequence[FileJoint]
    kind = "chain of joints"

    def _check(self) -> None:
        names = ", ".join(link.name for link in self.links)
        kinds = [link.kind for link in self.links]
        turns = [kind for kind in kinds if kind != "slide"]
        axes = [link.axis for link in self.links if link.kind == "hinge"]
        if "free" in kinds or (len(turns) > 1 and "ball" in turns) or len(turns) > 3:
            raise UnsupportedError(
                f"the joints {names} of one body cannot be combined: a chain can have slides, "
                "and up to three hinges or one ball"
            )
        for one, other in pairwise(axes):
            if np.linalg.norm(np.cross(one, other)) < PARALLEL:
                raise UnsupportedError(
                    f"two hinges in a row of one body, among {names}, have parallel axes, and "
                    "no mass is between them: give each its own body"
                )
        slides = [link.axis for link in self.links if link.kind == "slide"]
        sizes = singular_directions(np.array(slides).reshape(-1, 3)).values
        if len(slides) > 3 or bool(np.any(sizes < PARALLEL)):
            raise UnsupportedError(
                f"the slides among {names} of one body have directions that depend on each other"
            )
        if len({sum(kind != "slide" for kind in kinds[:place])
                for place, kind in enumerate(kinds) if kind == "slide"}) > 1:  # fmt: skip
            raise UnsupportedError(
                f"the slides among {names} of one body have a hinge between them: give the "
                "outer ones their own body"
            )

    @cached_property
    def _frames(self) -> tuple[Frame, Frame]:
        return self._in_space()

    @cached_property
    def _turns(self) -> list[FileJoint]:
        return [link for link in self.links if link.kind != "slide"]

    @cached_property
    def _slides(self) -> list[FileJoint]:
        return [link for link in self.links if link.kind == "slide"]

    @property
    def _has_ball(self) -> bool:
        return any(link.kind == "ball" for link in self.links)

    @cached_property
    def axes(self) -> list[ca.SX]:
        """The axes of its hinges in space, each (3, 1)."""
        if self._has_ball or not self._turns:
            return []
        own = [link.axis for link in self._turns]
        first, second = self._frames
        outer, inner = first.rotation @ own[0], second.rotation @ own[-1]
        if len(own) == 1:
            return [outer]
        if len(own) == 2:
            return [outer, inner]
        return [outer, self._middle(outer, inner), inner]

    def _middle(self, outer: ca.SX, inner: ca.SX) -> ca.SX:
        """Return the middle axis of three, by the angles that it keeps with the others."""
        a, b, c = (link.axis for link in self._turns)
        before, after = float(a @ b), float(b @ c)
        normal, between = ca.cross(outer, inner), ca.dot(outer, inner)
        squared = 1 - between**2
        along = (before - after * between) / squared
        other = (after - before * between) / squared
        height = ca.sqrt(self._volume_squared) / squared
        return along * outer + other * inner + self.side.vector * height * normal

    @cached_property
    def _volume_squared(self) -> ca.SX:
        """The square of the volume that three axes span."""
        a, b, c = (link.axis for link in self._turns)
        before, after = float(a @ b), float(b @ c)
        first, second = self._frames
        between = ca.dot(first.rotation @ a, second.rotation @ c)
        return 1 + 2 * before * after * between - before**2 - after**2 - between**2

    @cached_property
    def side(self) -> Parameters:
        """On which side of the plane of the outer axes the middle one of three is: 1 or -1."""
        if len(self.axial) < 3:
            return NO_VALUES
        name = f"side_{self.name}"
        return discrete_values({name: (self.side_at(0.0), SIGNED)})

    def side_at(self, middle: float) -> float:
        """Return the side where the second of three hinges is turned by an angle, rad."""
        a, b, c = self.axial
        volume = float(b @ np.cross(a, turned_about(b, middle) @ c))
        return -1.0 if volume < 0.0 else 1.0

    @property
    def axial(self) -> list[np.ndarray]:
        """The axes of its hinges where none is moved."""
        return [link.axis for link in self.links if link.kind == "hinge"]

    @cached_property
    def contribution(self) -> Contribution:
        """What it adds to a mechanism: of three hinges the side of the middle one as well."""
        own = super().contribution
        if not len(self.side):
            return own
        why = (
            f"the axes of the three hinges {', '.join(link.name for link in self.links)} come "
            "into one plane, where their turns cannot be distinguished"
        )
        guard = self._volume_squared - IN_ONE_PLANE**2
        locked = Event(f"{self.name}_locked", guard, FALLING, Stop(why, whenever_past=True))
        return replace(own, discrete=self.side, events=(locked,))

    @cached_property
    def turns(self) -> list[tuple[ca.SX, ca.SX]]:
        """Cosine and sine of the turns of its hinges from where they are not moved.

        Both times the same, so that they determine the angle.
        """
        if not self.axes:
            return []
        first, second = self._frames
        own = [link.axis for link in self._turns]
        if len(own) == 1:
            normal = axes_with_third(own[0].tolist())[:, 0]
            return [_turn(self.axes[0], first.rotation @ normal, second.rotation @ normal)]
        found = [_turn(self.axes[0], first.rotation @ own[1], self.axes[1])]
        if len(own) == 3:
            begun = _number_angle(own[1], own[0], own[2])
            found.append(_turn(self.axes[1], self.axes[0], self.axes[2], begun))
        return [*found, _turn(self.axes[-1], self.axes[-2], second.rotation @ own[-2])]

    @cached_property
    def _orientations(self) -> list[ca.SX]:
        """The axes after each of its turns, before the first as well, as far as they are needed."""
        first, second = self._frames
        found = [first.rotation, *[ca.SX(3, 3)] * (len(self._turns) - 1), second.rotation]
        if len(self._turns) == 0:
            return [first.rotation]
        if self._bent and len(self._turns) >= 2:
            found[1] = first.rotation @ _turn_matrix(self._turns[0].axis, self.turns[0], 1)
        if self._bent and len(self._turns) == 3:
            found[2] = second.rotation @ _turn_matrix(self._turns[2].axis, self.turns[2], -1)
        return found

    @cached_property
    def _bent(self) -> bool:
        """Whether axes between turns are needed: anchors differ, or it slides after some turns."""
        places = [link.position for link in self._turns]
        apart = any(not np.allclose(place, places[0], rtol=0.0, atol=1e-12) for place in places)
        return apart or 0 < self._slides_after < len(self._turns)

    @cached_property
    def _slides_after(self) -> int:
        """After how many turns it slides."""
        kinds = [link.kind for link in self.links]
        return 0 if "slide" not in kinds else kinds.index("slide")

    @cached_property
    def _way(self) -> ca.SX:
        """How far it has slid, in axes of space, (3, 1)."""
        first, second = self._frames
        way = second.position - first.position
        if not self._turns:
            return way
        places = [link.position for link in self._turns]
        way = way - first.rotation @ places[0] + second.rotation @ places[-1]
        for number in range(1, len(places)):
            step = places[number] - places[number - 1]
            if np.any(np.abs(step) > 1e-12):
                way = way - self._orientations[number] @ step
        return way

    @cached_property
    def _directions(self) -> np.ndarray:
        """The directions of its slides, as columns."""
        return np.array([link.axis for link in self._slides]).T

    @property
    def rows(self) -> list[Row]:
        """Forces in axes of space, or normal to the slides; torques."""
        return [*self._held_ways(), *self._held_turns()]

    def _held_ways(self) -> list[Row]:
        if not self._slides:
            return [(component, "N") for component in ca.vertsplit(self._way)]
        axes = self._orientations[self._slides_after]
        normals = singular_directions(self._directions).left[:, len(self._slides) :]
        return [(ca.dot(axes @ normal, self._way), "N") for normal in normals.T]

    def _held_turns(self) -> list[Row]:
        first, second = self._frames
        if self._has_ball or len(self._turns) == 3:
            return []
        if not self._turns:
            return same_orientation(first, second)
        own = [link.axis for link in self._turns]
        if len(own) == 1:
            one, two = axes_with_third(own[0].tolist())[:, :2].T
            along = second.rotation @ own[0]
            return [
                (-ca.dot(first.rotation @ two, along), "N m"),
                (ca.dot(first.rotation @ one, along), "N m"),
            ]
        sine = float(np.linalg.norm(np.cross(own[0], own[1])))
        held = float(own[0] @ own[1]) - ca.dot(self.axes[0], self.axes[1])
        return [(held / sine, "N m")]

    @cached_property
    def slides(self) -> list[ca.SX]:
        """How far each of its slides has gone, m."""
        if not self._slides:
            return []
        axes = self._orientations[self._slides_after]
        duals = np.linalg.pinv(self._directions)
        return [ca.dot(axes @ dual, self._way) for dual in duals]

    @cached_property
    def slide_rates(self) -> list[ca.SX]:
        """The rates of its slides, m/s."""
        if not self._slides:
            return []
        if self._bent or self._slides_after:
            owners = (self.first.body, self.second.body)
            return [rate_of(slide, owners) for slide in self.slides]
        first, second = self._frames
        place = self._turns[-1].position if self._turns else np.zeros(3)
        arm = second.rotation @ place
        speed = second.velocity + ca.cross(second.angular_velocity, arm)
        carried = first.velocity + ca.cross(first.angular_velocity, second.position + arm
                                            - first.position)  # fmt: skip
        duals = np.linalg.pinv(self._directions)
        return [ca.dot(first.rotation @ dual, speed - carried) for dual in duals]

    @cached_property
    def turn_rates(self) -> list[ca.SX]:
        """The rates of its hinges, rad/s; of a ball those about the axes of the body."""
        first, second = self._frames
        turning = second.angular_velocity - first.angular_velocity
        if self._has_ball:
            return ca.vertsplit(second.rotation.T @ turning)
        axes = self.axes
        if len(axes) == 1:
            return [ca.dot(axes[0], turning)]
        if len(axes) == 2:
            own = [link.axis for link in self._turns]
            cosine = float(own[0] @ own[1])
            one, other = (ca.dot(axis, turning) for axis in axes)
            return [(one - cosine * other) / (1 - cosine**2),
                    (other - cosine * one) / (1 - cosine**2)]  # fmt: skip
        if not axes:
            return []
        across = [ca.cross(axes[1], axes[2]), ca.cross(axes[2], axes[0]),
                  ca.cross(axes[0], axes[1])]  # fmt: skip
        volume = ca.dot(axes[0], across[0])
        return [ca.dot(way, turning) / volume for way in across]


def _turn(axis: ca.SX, start: ca.SX, end: ca.SX, begun: float = 0.0) -> tuple[ca.SX, ca.SX]:
    """Return cosine and sine of the turn about an axis from one direction to another.

    Parameters
    ----------
    axis, start, end
        (3, 1)
    begun
        A turn that is taken off it, rad.
    """
    cosine = ca.dot(start, end) - ca.dot(axis, start) * ca.dot(axis, end)
    sine = ca.dot(axis, ca.cross(start, end))
    c, s = float(np.cos(begun)), float(np.sin(begun))
    return c * cosine + s * sine, c * sine - s * cosine


def _number_angle(axis: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    cosine = start @ end - (axis @ start) * (axis @ end)
    return float(np.arctan2(axis @ np.cross(start, end), cosine))


def _turn_matrix(axis: np.ndarray, turn: tuple[ca.SX, ca.SX], sense: int) -> ca.SX:
    """Return the rotation about a fixed axis by a turn, or back by it, (3, 3)."""
    x, y, z = axis
    cross = ca.DM([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    size = ca.sqrt(turn[0] ** 2 + turn[1] ** 2)
    cosine, sine = turn[0] / size, sense * turn[1] / size
    return ca.SX(np.eye(3) + sine * cross + (1 - cosine) * (cross @ cross))
