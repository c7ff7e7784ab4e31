"""The bicycle of Whipple: four rigid bodies, two knife-edged wheels, no slip.

Rear frame with its rider, front frame and two wheels are rigid; the hinges have no friction, and
the steering is free. The wheels roll on a level plane without slip and without resistance. The six
unknown reactions are the components of the forces of the ground on both wheels; they do no work,
and the energy is conserved. The upright bicycle is self-stable between two speeds, and the cases
lie below, between and above them.

Axes as in the paper: x forward, y to the right, z down, the ground at z = 0. x, y, z is the centre
of the rear wheel; the rear frame is turned by yaw (about z), lean (about x) and pitch (about y),
the front frame against it by steer, about an axis that is tilted backwards by `tilt` (lambda) and
meets the ground `trail` (c) ahead of the front contact. The wheels are turned by `rear_rotation`
and `front_rotation`. Velocities are measured along the heading (`speed`, forwards, and
`lateral_speed`, to the right), so that nothing depends on x, y, yaw or the angles of the wheels,
and a steady turn is a steady motion.

With e the axle of a wheel of radius r, k the vertical and s = sqrt(1 - (e.k)^2), its lowest point
lies r (k - (e.k) e) / s below its centre, and moves with the wheel:

    centre_z + r s = 0,    v_contact . (e x k) / s = 0,    v_contact . (k x (e x k)) / s = 0

clearance, rolling along the wheel and across it. Reactions are the forces of the ground on the
wheel in N: upwards, forwards along it, to the right across it.

Meijaard, Papadopoulos, Ruina, Schwab, Linearized dynamics equations for the balance and steer of a
bicycle, Proc. R. Soc. A 463 (2007) 1955-1982: the equations in lean and steer, to which this model
is linearised by `analyse`, and the parameters (table 1). The manoeuvres are the IFToMM benchmark's.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters, SymbolVector
from daesolve_problems.classics import pictures


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: its centre from the rear wheel's, its velocities, all seen along the heading.

    Parameters
    ----------
    centre, velocity
        (3,): in the axes of the heading.
    turning
        (3,): the angular velocity, in the axes of the body.
    mass, inertia
        kg, and (3, 3) in the axes of the body.
    """

    centre: ca.SX
    velocity: ca.SX
    turning: ca.SX
    mass: ca.SX
    inertia: ca.SX

    @property
    def kinetic(self) -> ca.SX:
        """The kinetic energy, J."""
        rotation = ca.dot(self.turning, self.inertia @ self.turning)
        return (self.mass * ca.sumsqr(self.velocity) + rotation) / 2


def whipple() -> ds.MechanicalSystem:
    """Pose the bicycle, with the contact of either wheel and no slip there as constraints."""
    q = ds.coordinates(
        x="m", y="m", z="m", yaw=ds.ANGLE, lean=ds.ANGLE, pitch=ds.ANGLE, steer=ds.ANGLE,
        rear_rotation=ds.ANGLE, front_rotation=ds.ANGLE,
    )  # fmt: skip
    v = ds.velocities(
        speed="m/s", lateral_speed="m/s", z_dot="m/s",
        yaw_dot="rad/s", lean_dot="rad/s", pitch_dot="rad/s", steer_dot="rad/s",
        rear_rotation_dot="rad/s", front_rotation_dot="rad/s",
    )  # fmt: skip
    p = parameters()
    sine, cosine = ca.sin(q.yaw), ca.cos(q.yaw)
    kinematics = ca.vertcat(
        cosine * v.speed - sine * v.lateral_speed,
        sine * v.speed + cosine * v.lateral_speed,
        v.vector[2:],
    )
    bodies = _bodies(q, v, p)
    total = sum((body.kinetic for body in bodies.values()), ca.SX(0))
    potential = -sum(
        (p.gravity * body.mass * (q.z + body.centre[2]) for body in bodies.values()), ca.SX(0)
    )
    frames = {"rear": _rear_frame(q), "front": _rear_frame(q) @ _steering(q, p)}
    goals = [
        goal
        for wheel, frame in frames.items()
        for goal in _contact(wheel, bodies[f"{wheel}_wheel"], frame, q.z, p[f"{wheel}_radius"])
    ]
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=total,
        potential=potential,
        velocities=v,
        kinematics=kinematics,
        goals=goals,
    )


def parameters() -> Parameters:
    """Declare the parameters of table 1 of the paper, by its letters."""
    mass, inertia = "kg", "kg m^2"
    return ds.parameters(
        wheel_base=(1.02, "m", ds.POSITIVE),
        trail=(0.08, "m"),
        tilt=(float(ca.pi) / 10, "rad"),
        gravity=(9.81, "m/s^2"),
        rear_radius=(0.3, "m", ds.POSITIVE),
        rear_mass=(2.0, mass, ds.POSITIVE),
        rear_xx=(0.0603, inertia, ds.POSITIVE),
        rear_yy=(0.12, inertia, ds.POSITIVE),
        body_x=(0.3, "m"),
        body_z=(-0.9, "m"),
        body_mass=(85.0, mass, ds.POSITIVE),
        body_xx=(9.2, inertia, ds.POSITIVE),
        body_yy=(11.0, inertia, ds.POSITIVE),
        body_zz=(2.8, inertia, ds.POSITIVE),
        body_xz=(2.4, inertia),
        handlebar_x=(0.9, "m"),
        handlebar_z=(-0.7, "m"),
        handlebar_mass=(4.0, mass, ds.POSITIVE),
        handlebar_xx=(0.05892, inertia, ds.POSITIVE),
        handlebar_yy=(0.06, inertia, ds.POSITIVE),
        handlebar_zz=(0.00708, inertia, ds.POSITIVE),
        handlebar_xz=(-0.00756, inertia),
        front_radius=(0.35, "m", ds.POSITIVE),
        front_mass=(3.0, mass, ds.POSITIVE),
        front_xx=(0.1405, inertia, ds.POSITIVE),
        front_yy=(0.28, inertia, ds.POSITIVE),
    )


def _rear_frame(q: DifferentiableVector) -> ca.SX:
    """Return the axes of the rear frame, seen along the heading, as columns."""
    return _about_x(q.lean) @ _about_y(q.pitch)


def _steering(q: DifferentiableVector, p: Parameters) -> ca.SX:
    """Return the axes of the front frame, seen in the rear one: turned about the steering axis."""
    return _about_y(p.tilt) @ _about_z(q.steer) @ _about_y(-p.tilt)


def _bodies(q: DifferentiableVector, v: SymbolVector, p: Parameters) -> dict[str, Body]:
    """Return the bodies; the wheels in the axes of the frames in which they turn."""
    rear, steering = _rear_frame(q), _steering(q, p)
    front = rear @ steering
    hub = ca.vertcat(0, 0, -p.rear_radius)
    axis_foot = ca.vertcat(p.wheel_base + p.trail, 0, 0)
    foot = rear @ (axis_foot - hub)
    centres = {
        "rear_wheel": ca.SX(3, 1),
        "body": rear @ (ca.vertcat(p.body_x, 0, p.body_z) - hub),
        "handlebar": foot + front @ (ca.vertcat(p.handlebar_x, 0, p.handlebar_z) - axis_foot),
        "front_wheel": foot + front @ (ca.vertcat(p.wheel_base, 0, -p.front_radius) - axis_foot),
    }
    rear_turning = (
        rear.T @ ca.vertcat(v.lean_dot, 0, v.yaw_dot) + ca.vertcat(0, v.pitch_dot, 0)
    )  # fmt: skip
    axis = ca.vertcat(ca.sin(p.tilt), 0, ca.cos(p.tilt))
    front_turning = steering.T @ rear_turning + axis * v.steer_dot
    turnings = {
        "rear_wheel": rear_turning + ca.vertcat(0, v.rear_rotation_dot, 0),
        "body": rear_turning,
        "handlebar": front_turning,
        "front_wheel": front_turning + ca.vertcat(0, v.front_rotation_dot, 0),
    }
    inertias = {
        "rear_wheel": _inertia(p.rear_xx, p.rear_yy, p.rear_xx, 0),
        "body": _inertia(p.body_xx, p.body_yy, p.body_zz, p.body_xz),
        "handlebar": _inertia(p.handlebar_xx, p.handlebar_yy, p.handlebar_zz, p.handlebar_xz),
        "front_wheel": _inertia(p.front_xx, p.front_yy, p.front_xx, 0),
    }
    masses = {
        "rear_wheel": p.rear_mass,
        "body": p.body_mass,
        "handlebar": p.handlebar_mass,
        "front_wheel": p.front_mass,
    }
    moving = ca.vertcat(v.speed, v.lateral_speed, v.z_dot)
    yawing = ca.vertcat(0, 0, v.yaw_dot)
    shape = ca.vertcat(q.lean, q.pitch, q.steer)
    shape_rates = ca.vertcat(v.lean_dot, v.pitch_dot, v.steer_dot)
    return {
        name: Body(
            centre,
            moving + ca.cross(yawing, centre) + ca.jtimes(centre, shape, shape_rates),
            turnings[name],
            masses[name],
            inertias[name],
        )
        for name, centre in centres.items()
    }


def _contact(
    wheel: str, body: Body, frame: ca.SX, depth: ca.SX, radius: ca.SX
) -> list[ds.Holonomic | ds.Nonholonomic]:
    """Return the three goals of a wheel: it touches the ground and does not slip.

    Parameters
    ----------
    wheel, body
        Its name, and its motion.
    frame
        The axes in which it turns, about the second.
    depth, radius
        z of the rear wheel's centre, and its own radius, m.
    """
    down, axle = ca.vertcat(0, 0, 1), frame[:, 1]
    sine = axle[2]
    cosine = ca.sqrt(1 - sine**2)
    arm = radius * (down - sine * axle) / cosine
    velocity = body.velocity + ca.cross(frame @ body.turning, arm)
    along = ca.cross(axle, down) / cosine
    return [
        ds.Holonomic(f"{wheel}_normal", -(depth + body.centre[2] + radius * cosine), unit="N"),
        ds.Nonholonomic(f"{wheel}_longitudinal", ca.dot(velocity, along), unit="N"),
        ds.Nonholonomic(f"{wheel}_lateral", ca.dot(velocity, ca.cross(down, along)), unit="N"),
    ]


def _inertia(xx: ca.SX, yy: ca.SX, zz: ca.SX, xz: ca.SX | float) -> ca.SX:
    return ca.vertcat(ca.horzcat(xx, 0, xz), ca.horzcat(0, yy, 0), ca.horzcat(xz, 0, zz))


def _about_x(angle: ca.SX) -> ca.SX:
    s, c = ca.sin(angle), ca.cos(angle)
    return ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c))


def _about_y(angle: ca.SX) -> ca.SX:
    s, c = ca.sin(angle), ca.cos(angle)
    return ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))


def _about_z(angle: ca.SX) -> ca.SX:
    s, c = ca.sin(angle), ca.cos(angle)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def _ride(name: str, speed: float, lean_dot: float, until: float, note: str) -> ds.Case:
    """Start upright and straight ahead, all that is free given."""
    start = {"speed": speed, "lean": 0.0, "steer": 0.0, "lean_dot": lean_dot, "steer_dot": 0.0}
    return ds.Case(name, start=start, until=until, note=note)


problem = ds.Problem(
    "bicycle",
    title="The bicycle of Whipple, nonlinear",
    models={"whipple": whipple},
    sources=[
        "J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Linearized dynamics equations "
        "for the balance and steer of a bicycle, Proc. R. Soc. A 463 (2007) 1955-1982",
        "IFToMM Technical Committee for Multibody Dynamics, Library of Computational "
        "Benchmark Problems, Uncontrolled bicycle",
    ],
    drawing=pictures.bicycle,
    cases=[
        _ride("steady", 5.0, 0.0, 5.0, "straight ahead, self-stable"),
        _ride("m1", 4.0, 0.05, 5.0, "below the weave speed of 4.292 m/s: a growing weave"),
        _ride("m2", 4.6, 0.5, 5.0, "self-stable, a hard push"),
        _ride("m3", 8.0, 0.05, 5.0, "above the capsize speed of 6.024 m/s"),
    ],
)
