"""The equations of one omni-wheel: with friction and contacts, or rolling without slip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody import GROUND, Body, Frame, PlaneContact, Spindle
from daesolve.multibody.contact_geometry import SurfaceOnPlane
from daesolve.typing import AnyGoal, DifferentiableVector, Output, Parameters, SymbolVector
from daesolve_problems import spindle
from daesolve_problems.omni_wheels import FEWEST_ROLLERS, equal_directions, numbered

SHARE = ds.Interval(0.0, 1.0)
"""The range of restitution, and of the rollers' share of the mass."""
ROLLING = ("rolling_1", "rolling_2")


def numbers(*, rubs: bool) -> Parameters:
    """Return the parameters, with those of friction and impacts or without."""
    contact = {
        "friction": (0.3, "", ds.NON_NEGATIVE),
        "restitution": (0.3, "", SHARE),
    }
    return ds.parameters(
        mass=(0.15, "kg", ds.POSITIVE),
        roller_share=(0.3, "", ds.Interval(0.0, 1.0, open_low=True)),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        roller_end_radius=(0.003, "m", ds.NON_NEGATIVE),
        **(contact if rubs else {}),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )


def wheel_of(p: Any, rollers: int) -> spindle.Wheel:
    """Return masses and moments of the wheel, numbers or expressions of parameters.

    Raises
    ------
    OutOfRangeError
        There are too few rollers.
    """
    if rollers < FEWEST_ROLLERS:
        raise OutOfRangeError(
            f"rollers is {rollers}, but must be at least {FEWEST_ROLLERS}: fewer leave gaps in "
            "which the wheel touches nothing"
        )
    roller = spindle.Spindle(p["wheel_radius"], rollers, p["roller_end_radius"])
    return spindle.Wheel(p["mass"], p["roller_share"], roller)


@dataclass(frozen=True, eq=False)
class Model:
    """The symbols of the wheel.

    Parameters
    ----------
    rollers
        n.
    p
        Parameters.
    """

    rollers: int
    p: Parameters

    @cached_property
    def wheel(self) -> spindle.Wheel:
        """Masses and moments."""
        return wheel_of(self.p, self.rollers)

    @cached_property
    def body(self) -> Body:
        """The wheel with its rollers, as if these did not spin; axis 3 is the axle."""
        wheel = self.wheel
        return Body("wheel", wheel.mass, (wheel.upright, wheel.upright, wheel.axial))

    @property
    def q(self) -> DifferentiableVector:
        """Place and orientation."""
        return self.body.coordinates

    @cached_property
    def spins(self) -> SymbolVector:
        """W_j."""
        return ds.velocities(**dict.fromkeys(numbered("spin", self.rollers), "rad/s"))

    @cached_property
    def v(self) -> SymbolVector:
        """v, w and W_j."""
        return self.body.velocities.joined(self.spins)

    @property
    def turning(self) -> ca.SX:
        """Return w, in the wheel's axes."""
        return self.body.velocities.vector[3:]

    @cached_property
    def axes(self) -> list[ca.DM]:
        """Return e_j, in the wheel's axes."""
        return [ca.DM([cosine, sine, 0.0]) for cosine, sine in equal_directions(self.rollers)]

    @cached_property
    def frames(self) -> list[Frame]:
        """Return the frames of the rollers; axis 3 is their own."""
        found: list[Frame] = []
        reach = self.wheel.roller.axis_distance
        for axis, spin in zip(self.axes, ca.vertsplit(self.spins.vector), strict=True):
            along = ca.SX(axis)
            out, axle = ca.vertcat(-along[1], along[0], 0), ca.SX([0.0, 0.0, 1.0])
            own = ca.horzcat(axle, ca.cross(along, axle), along)
            carried = self.body.frame(reach * out, own)
            more = (spin - ca.dot(axis, self.turning)) * carried.axis(2)
            angular = carried.angular_velocity + more
            found.append(replace(carried, angular_velocity=angular, turning=True))
        return found

    @cached_property
    def surface(self) -> Spindle:
        """The surface of a roller."""
        roller = self.wheel.roller
        return Spindle(self.p.wheel_radius, roller.axis_distance, roller.half_length)

    def system(
        self,
        goals: Sequence[AnyGoal],
        *,
        upright: bool,
        events: Sequence[ds.Event],
        discrete: Parameters,
        outputs: dict[str, Output],
    ) -> ds.MechanicalSystem:
        """Put a model together.

        Parameters
        ----------
        goals, events, discrete, outputs
            The goals, events, values and outputs of the contact with the floor.
        upright
            Whether the axle is kept level.
        """
        body, wheel, spins = self.body, self.wheel, self.spins.vector
        axle, along = body.frame().axis(2), wheel.roller_along
        held = [ds.Holonomic("upright", axle[2], unit="N m")] if upright else []
        momentum = along * sum(
            (spin * axis for spin, axis in zip(ca.vertsplit(spins), self.axes, strict=True)),
            start=ca.SX(3, 1),
        )
        carried = ca.vertcat(ca.SX(3, 1), -ca.cross(self.turning, momentum))
        shown: dict[str, Output] = {
            "axle_x": (axle[0], ""),
            "axle_y": (axle[1], ""),
            "axle_z": (axle[2], ""),
        }
        return ds.MechanicalSystem(
            self.q,
            self.p,
            velocities=self.v,
            kinematics=body.kinematics,
            mass_matrix=ca.diagcat(body.mass_matrix, along * ca.SX.eye(self.rollers)),
            gyroscopic=ca.vertcat(body.gyroscopic + carried, ca.SX(self.rollers, 1)),
            kinetic=body.kinetic + along * ca.sumsqr(spins) / 2,
            potential=wheel.mass * self.p.gravity * self.q.wheel_z,
            goals=[body.norm, *held, *goals],
            events=list(events),
            outputs=shown | outputs,
            discrete=discrete,
        )


def rubs(rollers: int, upright: bool) -> ds.MechanicalSystem:
    """Pose the wheel whose rollers each touch the floor with friction."""
    model = Model(rollers, numbers(rubs=True))
    contacts = [
        PlaneContact(
            name,
            frame,
            model.surface,
            friction=model.p.friction,
            unilateral=True,
            restitution=model.p.restitution,
            closed=False,
        ).contribution
        for name, frame in zip(numbered("roller", rollers), model.frames, strict=True)
    ]
    first, *others = [contact.discrete for contact in contacts]
    for other in others:
        first = first.joined(other)
    return model.system(
        [goal for contact in contacts for goal in contact.goals],
        upright=upright,
        events=[event for contact in contacts for event in contact.events],
        discrete=first,
        outputs={name: out for contact in contacts for name, out in contact.outputs.items()},
    )


def rolls(rollers: int, upright: bool) -> ds.MechanicalSystem:
    """Pose the wheel that is held upright and rolls on one roller after the other, without slip.

    Raises
    ------
    PosingError
        It is not held upright.
    """
    if not upright:
        raise PosingError(
            "a wheel that rolls without slip stands on one roller at a time: leave upright True, "
            "or use the model 'rubs'"
        )
    model = Model(rollers, numbers(rubs=False))
    discrete = ds.discrete(contact=1.0)
    (number,) = ca.vertsplit(discrete.vector)
    level = GROUND.frame((0.0, 0.0, 0.0))
    assert isinstance(level, Frame)
    touch = SurfaceOnPlane(_chosen(model, number), model.surface, level)
    cosine, slips = touch.cosine, ca.vertsplit(touch.slip)
    edge = model.wheel.roller.half_length / model.p.wheel_radius

    def rolled_on(fired: ca.SX) -> dict[str, ca.SX]:
        following = number + ca.sign(cosine)
        return {"contact": following + rollers * ((following < 1) - (following > rollers))}

    switch = ds.Event(
        "roller_switch",
        edge**2 - cosine**2,
        ds.FALLING,
        ds.Reset(rolled_on, impose=list(ROLLING)),
    )
    support = ds.Holonomic("support", model.q.wheel_z - model.p.wheel_radius, unit="N")
    rolling = [ds.Nonholonomic(name, slip) for name, slip in zip(ROLLING, slips, strict=True)]
    return model.system(
        [support, *rolling], upright=True, events=[switch], discrete=discrete, outputs={}
    )


def _chosen(model: Model, number: ca.SX) -> Frame:
    """Return the frame of the roller of a number."""
    chosen = [number == j for j in range(1, model.rollers + 1)]

    def of_it(quantity: str) -> ca.SX:
        pairs = zip(chosen, model.frames, strict=True)
        return sum((is_it * getattr(frame, quantity) for is_it, frame in pairs), start=ca.SX(0))

    parts = [of_it(name) for name in ("position", "velocity", "rotation", "angular_velocity")]
    return Frame(model.body, *parts, turning=True)
