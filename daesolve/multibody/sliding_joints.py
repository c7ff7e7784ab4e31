"""A block on a table, and a nut on a spindle: joints in space that slide and turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import pi

import casadi as ca

from daesolve.core.posing.goals import Expression
from daesolve.multibody.bodies import at_start
from daesolve.multibody.checks import check_size
from daesolve.multibody.joint_rows import (
    AnyFrame,
    Row,
    ahead,
    alignment,
    axis_of,
    normals,
    separation,
)
from daesolve.multibody.joints import Cylindrical, Turning


@dataclass(frozen=True, eq=False)
class Planar(Turning):
    """A block on a table, in space: it slides in a plane of the first frame, and turns in it.

    It holds the second origin in the plane, and the normal of the second frame along the normal of
    the first or against it, as in `Revolute`.

    Parameters
    ----------
    name
        A word; its goals are named after it.
    first, second
        The frames that it joins, of two bodies, or of a body and the ground.
    axis
        The axis of both frames that is the normal: 0, 1 or 2.
    """

    first: AnyFrame
    second: AnyFrame
    axis: int = 2
    kind = "planar joint"

    def _check(self) -> None:
        self._in_space()
        self._check_axis(self.axis)
        self._check_spin(self.first, self.second, axis=self.axis)

    @property
    def rows(self) -> list[Row]:
        """The force along the parent's normal; torques about its other two axes."""
        along = ca.dot(axis_of(self.first, self.axis), separation(self.first, self.second))
        return [(along, "N"), *alignment(*self._in_space(), self.axis)]

    @cached_property
    def displacements(self) -> tuple[ca.SX, ca.SX]:
        """How far the second origin is along the parent's other two axes, m."""
        way = separation(self.first, self.second)
        one, two = normals(self.first, self.axis)
        return ca.dot(one, way), ca.dot(two, way)


@dataclass(frozen=True, eq=False)
class Screw(Cylindrical):
    """A nut on a spindle, in space: as it turns about an axis it moves along it.

    It adds a row to those of a cylindrical joint: displacement - lead / 2 pi angle keeps the value
    that it has at the start of the bodies. The thread is the same after each whole turn, so the row
    feeds back errors after any number of turns. Its reaction is the axial force F (N) on the second
    body, which also feels the torque -F lead / 2 pi.

    Parameters
    ----------
    name
        A word; its goals are named after it, the thread's is `<name>_5`.
    first, second
        The frames that it joins, of two bodies, or of a body and the ground.
    lead
        m per turn, positive for a right-handed thread: a number or an expression of parameters.
    axis
        The common axis of both frames: 0, 1 or 2.

    Raises
    ------
    OutOfRangeError
        The lead is zero or not finite.
    """

    lead: Expression = field(kw_only=True)
    kind = "screw"

    def _check(self) -> None:
        super()._check()
        self._check_spin(self.first, self.second)
        check_size(
            f"the lead of {self}",
            self.lead,
            "a number other than 0",
            "m",
            ": for sliding without turning use a Prismatic joint, for turning alone a Revolute",
        )

    @property
    def rows(self) -> list[Row]:
        """Those of a cylindrical joint; the axial force."""
        slope = ca.SX(self.lead) / (2 * pi)
        turned = self.displacement / slope
        turned = turned - at_start(turned - self.angle, (self.first.body, self.second.body))
        thread = slope * ahead(turned, self.first, self.second, self.axis)
        return [*super().rows, (thread, "N")]
