"""The vehicle on wheels whose rollers are many and light, with motors that drive it into a bend.

Where the rollers are so many and so light that neither their changes nor their inertia matter, a
wheel touches the floor as a torus: its rollers have the radius `roller_radius`, and the wheel with
them l. The floor pushes it along the wheel's own direction t_i alone, by Coulomb's friction in that
direction; along its axle the rollers turn freely. V_i is the rate of a wheel about its axle, seen
from space, and T_i the force of the floor along t_i, which has the lever l' about the axle:

    m v' = sum (N_i e_z + T_i t_i) - m g e_z,    J V_i' = l' T_i + M_i,
    I w' + w x (I w + J sum V_i n_i) = moment of the floor - sum n_i (l' T_i + M_i),

I counts the wheels as bodies that do not turn about their axles. M_i are the torques of the motors,
until `motor_time`; `Bend` says for which bend they are set. On a rigid floor (`light`) a wheel
sticks or slides along t_i, leaves the floor, and lands with an impact. On stiff springs (`sprung`)
it does so without an impact, and any number of wheels share the load.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

import daesolve as ds
from daesolve.multibody import Body
from daesolve.multibody.bodies import rate_of
from daesolve.multibody.compliance import KelvinVoigt
from daesolve.multibody.contribution import AppliedForce, Contribution, merged
from daesolve.multibody.friction_laws import RegularisedCoulomb
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems.omni_lifting.light_sizes import Bend, LightSizes, numbers
from daesolve_problems.omni_wheels import check_counts, numbered


@dataclass(frozen=True, eq=False)
class Touch:
    """A wheel over the floor: its gap, and the velocity at which it slips along its direction.

    Parameters
    ----------
    name
        Of the contact.
    gap
        m
    slip
        m/s
    """

    name: str
    gap: ca.SX
    slip: ca.SX


@dataclass(frozen=True, eq=False)
class LightModel:
    """The symbols of the vehicle.

    Parameters
    ----------
    wheels
        N.
    p
        Parameters.
    """

    wheels: int
    p: Parameters

    @cached_property
    def sizes(self) -> LightSizes:
        """Masses, moments and places."""
        return LightSizes(self.p, self.wheels)

    @cached_property
    def body(self) -> Body:
        """The whole, as if its wheels did not turn about their axles."""
        rows = [ca.horzcat(*map(ca.SX, row)) for row in self.sizes.inertia]
        return Body("vehicle", self.sizes.mass, ca.vertcat(*rows))

    @cached_property
    def chi(self) -> DifferentiableVector:
        """The angles of the wheels."""
        return ds.coordinates(**dict.fromkeys(numbered("chi", self.wheels), ds.ANGLE))

    @cached_property
    def rates(self) -> SymbolVector:
        """V_i."""
        return ds.velocities(**dict.fromkeys(numbered("wheel", self.wheels), "rad/s"))

    @property
    def turning(self) -> ca.SX:
        """Return w, in axes of the platform."""
        return self.body.velocities.vector[3:]

    @cached_property
    def axles(self) -> list[ca.SX]:
        """Return n_i, in axes of the platform."""
        return [ca.SX([*axle]) for axle in self.sizes.axles]

    @property
    def angle_rates(self) -> list[ca.SX]:
        """Return the rates of the wheels in the platform."""
        rates = zip(self.axles, ca.vertsplit(self.rates.vector), strict=True)
        return [rate - ca.dot(axle, self.turning) for axle, rate in rates]

    @cached_property
    def touches(self) -> list[Touch]:
        """Return every wheel over the floor."""
        p, base, up = self.p, self.body.frame(), ca.SX([0, 0, 1])
        found: list[Touch] = []
        for i, axle in enumerate(self.axles):
            hub = p.platform_radius * axle - ca.vertcat(*map(ca.SX, self.sizes.centre))
            along = base.rotation @ axle
            level = ca.cross(along, up)
            towards = level / ca.sqrt(ca.sumsqr(level))
            down = ca.cross(along, towards)
            arm = (p.wheel_radius - p.roller_radius) * down - p.roller_radius * up
            speed = base.velocity + base.rotation @ ca.cross(self.turning, hub)
            turned = self.turning + self.angle_rates[i] * axle
            slip = speed + ca.cross(base.rotation @ turned, arm)
            gap = (base.position + base.rotation @ hub + arm)[2]
            found.append(Touch(f"rim_{i + 1}", gap, ca.dot(towards, slip)))
        return found

    @property
    def torques(self) -> list[ca.SX]:
        """Return M_i, while the motors work."""
        directions = ca.cos(self.p.bend_inside), ca.sin(self.p.bend_inside)
        bend = Bend(self.sizes)
        return [bend.torque(axle, directions, ds.time) for axle in self.sizes.axles]

    @property
    def rim_height(self) -> ca.SX:
        """Return the height of the platform's lowest point over the floor, m."""
        base, (x, y, z) = self.body.frame(), self.sizes.centre
        middle = ca.vertcat(-ca.SX(x), -ca.SX(y), self.p.platform_height - ca.SX(z))
        up = base.axis(2)
        leaning = ca.sqrt(up[0] ** 2 + up[1] ** 2)
        return (base.position + base.rotation @ middle)[2] - self.p.platform_radius * leaning


def posed_light(wheels: int, rollers: int) -> ds.MechanicalSystem:
    """Pose the vehicle on a rigid floor; the number of rollers does not matter.

    Raises
    ------
    OutOfRangeError
        There are too few wheels.
    """
    check_counts(wheels, rollers)
    model = LightModel(wheels, numbers(sprung=False))
    contacts = [
        ds.Contact(
            touch.name,
            touch.gap,
            slip=touch.slip,
            friction=model.p.friction,
            restitution=model.p.restitution,
        )
        for touch in model.touches
    ]
    return _posed(model, Contribution(contacts))


def posed_sprung(wheels: int, rollers: int) -> ds.MechanicalSystem:
    """Pose the vehicle on stiff springs; the number of rollers does not matter.

    Raises
    ------
    OutOfRangeError
        There are too few wheels.
    """
    check_counts(wheels, rollers)
    model = LightModel(wheels, numbers(sprung=True))
    return _posed(model, merged([_sprung(model, touch) for touch in model.touches]))


def _sprung(model: LightModel, touch: Touch) -> Contribution:
    p, rate = model.p, rate_of(touch.gap, [model.body])
    push = KelvinVoigt(p.stiffness, p.damping).push(touch.name, -touch.gap, -rate)
    friction = RegularisedCoulomb(p.friction, p.slip_velocity).act(
        touch.name, touch.slip, push.force
    )
    pushed = Contribution(
        forces=[AppliedForce(rate, push.force)],
        events=push.events,
        discrete=push.discrete,
        outputs={touch.name: (push.force, "N"), f"{touch.name}_slip": (touch.slip, "m/s")},
        meters={f"{touch.name}_work": (push.force * rate, "J")},
    )
    return merged([pushed, friction.contribution(touch.name, "N")])


def _posed(model: LightModel, floor: Contribution) -> ds.MechanicalSystem:
    body, sizes, turning, wheels = model.body, model.sizes, model.turning, model.wheels
    switch = ds.parameters(motors=(1.0, "", ds.Interval(0.0, 1.0)))
    torques = [switch.motors * torque for torque in model.torques]
    velocities = body.velocities.joined(model.rates)
    on_body, carried, power = ca.SX(3, 1), ca.SX(3, 1), ca.SX(0)
    for k, (axle, torque) in enumerate(zip(model.axles, torques, strict=True)):
        on_body -= torque * axle
        carried -= sizes.axial * model.rates.vector[k] * ca.cross(turning, axle)
        power += torque * model.angle_rates[k]
    force = ca.vertcat(ca.SX(3, 1), on_body, *torques)
    for action in floor.forces:
        force += ca.jtimes(action.velocity, velocities.vector, action.force, True)
    up, on = body.frame().axis(2), switch.motors
    stopping = on * (model.p.motor_time - ds.time) + 1 - on
    return ds.MechanicalSystem(
        body.coordinates.joined(model.chi),
        model.p,
        velocities=velocities,
        kinematics=ca.vertcat(body.kinematics, *model.angle_rates),
        mass_matrix=ca.diagcat(body.mass_matrix, sizes.axial * ca.SX.eye(wheels)),
        gyroscopic=ca.vertcat(body.gyroscopic + ca.vertcat(ca.SX(3, 1), carried), ca.SX(wheels, 1)),
        force=force,
        kinetic=body.kinetic + sizes.axial * ca.sumsqr(model.rates.vector) / 2,
        potential=sizes.mass * model.p.gravity * body.coordinates.vehicle_z,
        goals=[body.norm, *floor.goals],
        events=[
            *floor.events,
            ds.Event("motors_stop", stopping, ds.FALLING, ds.Reset({"motors": 0.0})),
            ds.Event(
                "tipped_over",
                model.rim_height,
                ds.FALLING,
                ds.Stop(),
            ),
        ],
        discrete=switch.joined(floor.discrete),
        meters={**floor.meters, "motor_work": (power, "J")},
        outputs={
            **floor.outputs,
            **{f"{touch.name}_gap": (touch.gap, "m") for touch in model.touches},
            **{f"up_{letter}": (up[k], "") for k, letter in enumerate("xyz")},
        },
    )
