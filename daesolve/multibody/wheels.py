"""Skates and pairs of wheels for vehicles in the plane, seen from above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from daesolve.core.posing.goals import Expression, Nonholonomic, as_scalar
from daesolve.core.posing.symbols import SymbolVector
from daesolve.core.system.system import Output
from daesolve.errors import PosingError
from daesolve.multibody.checks import check_part, is_of_ground
from daesolve.multibody.contact_geometry import material
from daesolve.multibody.contribution import AppliedForce, Contribution, GearedInertia
from daesolve.multibody.joint_rows import AnyFrame, axis_of
from daesolve.multibody.places import Frame, PlanarFrame


@dataclass(frozen=True, eq=False)
class Skate:
    """A blade, or a massless wheel, that moves only along its first axis and turns freely.

    Its goal carries its name: the velocity of the frame's origin along the frame's second axis is
    zero. The reaction is the force of the ground along that axis, N. The output `<name>_speed`
    (m/s) is its speed along the blade.

    Parameters
    ----------
    name
        A word.
    frame
        Of a body in the plane, or of one in space that other joints keep upright: its first axis is
        the blade.

    Raises
    ------
    PosingError
        The name is not a word, or the frame is not a frame, or belongs to the ground or an
        axisymmetric body.
    """

    name: str
    frame: AnyFrame

    def __post_init__(self) -> None:
        _check_frame(check_part(self), self.frame)

    @cached_property
    def goal(self) -> Nonholonomic:
        """Its constraint."""
        across = ca.dot(axis_of(self.frame, 1), self.frame.velocity)
        return Nonholonomic(self.name, across, unit="N")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        speed = ca.dot(axis_of(self.frame, 0), self.frame.velocity)
        return Contribution(goals=(self.goal,), outputs={f"{self.name}_speed": (speed, "m/s")})


@dataclass(frozen=True, eq=False)
class WheelPair:
    """Two wheels on one axle that turn independently and roll without slip.

    The axle is the second axis of a frame. The wheels roll across it and turn with u_k / radius,
    where u_k is the velocity of the k-th wheel's centre along the first axis: the first wheel is at
    +track / 2 along the axle, the second at -track / 2. Like a `Skate` they do not slide along the
    axle; this goal carries the pair's name, and its reaction is the force of the ground on both, N.
    The wheels' inertia about the axle acts on the body without further states: the equations
    contain rolling exactly, and the reaction is the true one.

    The turns of the wheels, `<name>_angle_1` and `_2` (rad), are states of the run on which nothing
    depends; `<name>_spin_1` and `_2` (rad/s) are outputs. The work of torques is metered as
    `<name>_work` (J).

    Parameters
    ----------
    name
        A word.
    frame
        Of a body in the plane: its origin in the middle of the axle, its first axis ahead.
    radius, track
        The radius of the wheels and the distance between them, m: numbers or expressions of
        parameters. With zero track they are one wheel, or two side by side.
    inertia
        Of each wheel about the axle, kg m^2. Their masses, and their moments about the vertical,
        are part of the body.
    torques
        Of motors and brakes between the body and the first and the second wheel, N m, positive if
        they drive forwards: numbers or expressions of time, states and parameters.

    Raises
    ------
    PosingError
        The name is not a word; the frame is not in the plane, or belongs to the ground; or there
        are not two torques.
    OutOfRangeError
        The radius is not positive, or the track or the inertia is negative.

    Notes
    -----
    Put a wheel on an axle that turns about the vertical (a castor, a steered axle) on a separate
    body, with a `Revolute` joint to the vehicle.
    """

    name: str
    frame: PlanarFrame
    radius: Expression
    track: Expression
    inertia: Expression = 0.0
    torques: tuple[Expression, Expression] | None = None

    def __post_init__(self) -> None:
        what = check_part(self, radius="> 0", track=">= 0", inertia=">= 0")
        _check_frame(what, self.frame)
        if not isinstance(self.frame, PlanarFrame):
            raise PosingError(
                f"the {what} needs a body in the plane, seen from above; for a wheel in space "
                "use a Rolling disc"
            )
        if self.torques is not None:
            if not isinstance(self.torques, Sequence) or len(self.torques) != 2:
                raise PosingError(f"the {what} needs two torques, not {self.torques!r}")
            for torque in self.torques:
                as_scalar(f"a torque of the {what}", torque)

    @cached_property
    def skate(self) -> Skate:
        """Its axle, which does not slide along itself."""
        return Skate(self.name, self.frame)

    @cached_property
    def spins(self) -> tuple[ca.SX, ca.SX]:
        """The rates of both wheels, rad/s, positive as they roll forwards."""
        ahead, across = axis_of(self.frame, 0), axis_of(self.frame, 1)
        one, two = (
            ca.dot(ahead, material(self.frame, side * self.track / 2 * across)) / self.radius
            for side in (1, -1)
        )
        return one, two

    @cached_property
    def turns(self) -> SymbolVector:
        """The turns of both wheels, rad."""
        names = (f"{self.name}_angle_1", f"{self.name}_angle_2")
        return SymbolVector(names, ("rad", "rad"), "quadrature")

    @cached_property
    def contribution(self) -> Contribution:
        """Its contribution to a mechanism."""
        own, spins = self.skate.contribution, self.spins
        outputs: dict[str, Output] = {
            f"{self.name}_spin_{k}": (spin, "rad/s") for k, spin in enumerate(spins, 1)
        }
        massless = ca.SX(self.inertia).is_zero()
        driven = ca.vertcat(*map(ca.SX, self.torques)) if self.torques else None
        both = ca.vertcat(*spins)
        return Contribution(
            goals=own.goals,
            forces=[] if driven is None else [AppliedForce(both, driven)],
            inertias=[] if massless else [GearedInertia(spin, self.inertia) for spin in spins],
            quadratures=self.turns,
            integrands=dict(zip(self.turns.names, spins, strict=True)),
            start=dict.fromkeys(self.turns.names, 0.0),
            outputs={**own.outputs, **outputs},
            meters={} if driven is None else {f"{self.name}_work": (ca.dot(both, driven), "J")},
        )


def _check_frame(what: str, frame: object) -> None:
    if not isinstance(frame, Frame | PlanarFrame) or is_of_ground(frame):
        raise PosingError(f"the {what} must be on a frame of a body, not on {frame!r}")
    if isinstance(frame, Frame) and frame.turning:
        raise PosingError(
            f"the {what} needs axes that spin with {frame.body.name!r}: create that body with "
            "axisymmetric=False"
        )
