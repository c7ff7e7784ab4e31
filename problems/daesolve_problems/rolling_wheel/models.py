"""The wheel's equations: the regular form, the paper's own, and the paper's idea repaired.

x, z is the centre, n = (cos alpha, sin alpha) points from it to the contact, t = (-sin alpha,
cos alpha); theta turns from x towards z, so that rolling is v . t + r theta' = 0 (rolling to +x:
theta' < 0). phi is the absolute angle of the pendulum from the downward vertical. On flat ground
alpha = -pi/2. The curve is f(x, z) = 0, the wheel (a hoop of mass M and radius r) where f < 0.

    contact         f(x + r cos alpha, z + r sin alpha) = 0
    tangency        f_x sin alpha - f_z cos alpha = 0
    rolling         v . t + r theta' = 0
    torque_balance  torque = r R . t

The reaction R = (reaction_x, reaction_z) and the torque are free unknowns, as in the paper.

* `physical`: all of the above. A separate equation makes the torque the moment of R, which keeps
  the system regular at turning points. The energy is a consequence.
* `printed`: the paper's residuals. alpha has an independent second derivative, alpha_control; the
  energy takes the place of the torque balance, and no slip is posed as

      x_a'^2 + z_a'^2 - (r theta')^2 - (r alpha')^2 = 0,    (x_a, z_a) the contact,

  which lacks the cross term 2 r^2 theta' alpha' (so the wheel rolls at a different speed wherever
  the curve bends) and is, like the energy, quadratic in the velocities: neither determines the
  reactions at rest, nor the sense of the spin after it.
* `blend`: energy and torque balance in one row that never vanishes, s = v . t,

      s (E' + rate (E - E_0)) + blending (R . t - torque / r) = 0.

* `friction`: the motion of a wheel that is not held. gap is its distance from the curve, along n:

      f(x + (r + gap) cos alpha, z + (r + gap) sin alpha) = 0,

  and a contact with friction replaces contact and rolling: the wheel rolls as long as friction can
  hold it, slips, leaves the curve, flies, lands, and rolls again.

With `drive` a motor on the axle pushes the wheel off the pendulum, with drive_torque -
drive_damping (phi' - theta'), positive towards +x: the paper's propelled pendulum. With `limited`
rolling ends where it needs more friction than `grip` times the pressure.

The paper counts m l^2 phi'^2 / 2 beside the bob's whole kinetic energy; `bob_inertia` = m l^2
reproduces that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.typing import (
    AnyGoal,
    Auxiliaries,
    DifferentiableVector,
    Output,
    Parameters,
    SymbolVector,
)
from daesolve_problems.curves import Curve, Entry
from daesolve_problems.rolling_wheel.parts import (
    DRIVE,
    GRIP,
    check_drive,
    check_energy,
    energies,
    parameters,
    room,
    stops,
    torque_of_the_drive,
    with_the_drive,
)

BLENDING: dict[str, Entry] = {"blending": (0.01, "m^2/s^2", ds.POSITIVE)}
"""The parameter of the model `blend`: the squared speed below which the torque balance counts."""


@dataclass(frozen=True, eq=False)
class _Wheel:
    """The symbols of a wheel on a curve, and what all models say in them.

    Parameters
    ----------
    q, w, p, stops, u, at
        Coordinates, implicit unknowns, parameters, what stops the wheel, reactions, the contact.
    alpha, alpha_dot
        The direction of the contact: a coordinate, or an implicit unknown.
    normal, tangent, velocity, reaction
        n, t, v and R, (2, 1).
    contact, tangency
        Residuals.
    clearance
        (1 - r kappa) |grad f|, kappa the curvature of the curve towards the wheel.
    kinetic, potential
        Of wheel and pendulum, J.
    drive
        The torque of the drive on the pendulum, N m; None if there is none.
    """

    q: DifferentiableVector
    w: DifferentiableVector
    p: Parameters
    stops: Parameters
    u: SymbolVector
    at: Auxiliaries
    alpha: ca.SX
    alpha_dot: ca.SX
    normal: ca.SX
    tangent: ca.SX
    velocity: ca.SX
    reaction: ca.SX
    contact: ca.SX
    tangency: ca.SX
    clearance: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    drive: ca.SX | None

    @property
    def speed(self) -> ca.SX:
        """The velocity of the centre along t, in m/s."""
        return ca.dot(self.velocity, self.tangent)

    @property
    def slip(self) -> ca.SX:
        """The velocity of the wheel's material point at the contact along t, in m/s."""
        return self.speed + self.p.radius * self.q.dot.theta

    @property
    def pressure(self) -> ca.SX:
        """The reaction that pushes the wheel off the curve, in N."""
        return -ca.dot(self.reaction, self.normal)

    @property
    def friction(self) -> ca.SX:
        """The reaction along t, in N."""
        return ca.dot(self.reaction, self.tangent)

    @property
    def force(self) -> dict[str, ca.SX]:
        """The generalised forces of the reactions and the drive."""
        own = {"x": self.u.reaction_x, "z": self.u.reaction_z, "theta": self.u.torque}
        return with_the_drive(own, self.drive)


def _wheel(
    curve: Curve,
    pendulum: bool,
    *,
    controls: dict[str, str] | None = None,
    drive: bool = False,
    more: Mapping[str, Entry] | None = None,
) -> _Wheel:
    """Name everything; with `controls` of its own, alpha is a coordinate.

    Raises
    ------
    PosingError
        The curve is not valid, or one of its parameters has the name of a parameter of the wheel.
    """
    p = parameters(curve, pendulum, **(DRIVE if drive else {}), **(more or {}))
    angles = (("alpha",) if controls else ()) + (("phi",) if pendulum else ())
    q = ds.coordinates(x="m", z="m", theta=ds.ANGLE, **dict.fromkeys(angles, ds.ANGLE))
    w = ds.implicit(**({} if controls else {"alpha": ds.ANGLE}))
    u = ds.reactions(reaction_x="N", reaction_z="N", torque="N m", **(controls or {}))
    owner = q if controls else w
    normal = ca.vertcat(ca.cos(owner.alpha), ca.sin(owner.alpha))
    tangent = ca.vertcat(-normal[1], normal[0])
    at = ds.auxiliaries(
        contact_x=(q.x + p.radius * normal[0], "m"), contact_z=(q.z + p.radius * normal[1], "m")
    )
    f = ca.SX(curve.residual(at.contact_x, at.contact_z, p))
    # By one coordinate at a time: derivatives of Horner's form come out shorter than together.
    gradient = ca.vertcat(ca.jacobian(f, at.contact_x), ca.jacobian(f, at.contact_z))
    bend = ca.jacobian(gradient, at.vector)
    kinetic, potential = energies(q, p, pendulum=pendulum)
    return _Wheel(
        q=q,
        w=w,
        p=p,
        stops=stops(),
        u=u,
        at=at,
        alpha=owner.alpha,
        alpha_dot=owner.dot.alpha,
        normal=normal,
        tangent=tangent,
        velocity=ca.vertcat(q.dot.x, q.dot.z),
        reaction=ca.vertcat(u.reaction_x, u.reaction_z),
        contact=f,
        tangency=gradient[0] * normal[1] - gradient[1] * normal[0],
        clearance=ca.dot(gradient, normal) - p.radius * ca.dot(tangent, bend @ tangent),
        kinetic=kinetic,
        potential=potential,
        drive=torque_of_the_drive(q, p) if drive else None,
    )


def _system(
    wheel: _Wheel,
    goals: list[AnyGoal],
    one_sided: bool,
    *,
    outputs: dict[str, Output] | None = None,
    kinetic: ca.SX | None = None,
    force: dict[str, ca.SX] | None = None,
    limited: bool = False,
) -> ds.MechanicalSystem:
    """Put a model together: what is shown and watched is the same for all."""
    lost = (ds.FALLING, ds.Stop()) if one_sided else (ds.EITHER, ds.Record())
    shown: dict[str, Output] = {
        "contact_x": (wheel.at.contact_x, "m"),
        "contact_z": (wheel.at.contact_z, "m"),
        "speed": (wheel.speed, "m/s"),
        "slip": (wheel.slip, "m/s"),
        "normal": (wheel.pressure, "N"),
        "friction": (wheel.friction, "N"),
        "required_friction": ca.fabs(wheel.friction / wheel.pressure),
    }
    skids = (
        [
            ds.Event(
                "friction_exceeded",
                wheel.p.grip * wheel.pressure - ca.fabs(wheel.friction),
                ds.FALLING,
                ds.Stop(),
            )
        ]
        if limited
        else []
    )
    return ds.MechanicalSystem(
        wheel.q,
        wheel.p,
        kinetic=wheel.kinetic if kinetic is None else kinetic,
        potential=wheel.potential,
        force=wheel.force if force is None else force,
        implicit=wheel.w,
        auxiliaries=wheel.at,
        reactions=wheel.u,
        discrete=wheel.stops,
        goals=goals,
        outputs=shown | (outputs or {"alpha_dot": (wheel.alpha_dot, "rad/s")}),
        events=[
            *skids,
            ds.Event("contact_lost", wheel.pressure, *lost),
            ds.Event(
                "not_admissible",
                room(wheel.at, wheel.stops, wheel.clearance),
                ds.FALLING,
                ds.Stop(),
            ),
        ],
        peaks=["required_friction"],
    )


def physical(
    pendulum: bool, one_sided: bool, curve: Curve, drive: bool = False, limited: bool = False
) -> ds.MechanicalSystem:
    """Pose the wheel in its regular form: the torque is the moment of the reaction.

    Raises
    ------
    PosingError
        There is a drive, but no pendulum for it.
    """
    check_drive(pendulum, drive)
    wheel = _wheel(curve, pendulum, drive=drive, more=GRIP if limited else None)
    return _system(
        wheel,
        [
            ds.Holonomic("contact", wheel.contact, ideal=False),
            ds.Implicit("tangency", wheel.tangency, wheel.alpha),
            ds.Nonholonomic("rolling", wheel.slip, ideal=False),
            ds.Relation("torque_balance", wheel.u.torque - wheel.p.radius * wheel.friction),
        ],
        one_sided,
        limited=limited,
    )


def printed(
    pendulum: bool, one_sided: bool, curve: Curve, drive: bool = False, limited: bool = False
) -> ds.MechanicalSystem:
    """Pose the wheel as in the paper: four residuals, four controls.

    Raises
    ------
    PosingError
        There is a drive, which changes the energy that this model holds.
    """
    check_energy(drive)
    wheel = _wheel(
        curve, pendulum, controls={"alpha_control": "rad/s^2"}, more=GRIP if limited else None
    )
    radius, theta_dot, alpha_dot = wheel.p.radius, wheel.q.dot.theta, wheel.alpha_dot
    contact_velocity = wheel.velocity + radius * alpha_dot * wheel.tangent
    rolling = ca.sumsqr(contact_velocity) - radius**2 * (theta_dot**2 + alpha_dot**2)
    energy = wheel.kinetic + wheel.potential
    return _system(
        wheel,
        [
            ds.Holonomic("contact", wheel.contact, ideal=False),
            ds.Holonomic("tangency", wheel.tangency, ideal=False),
            ds.Nonholonomic("rolling", rolling, ideal=False, singular_at_rest=True),
            ds.Nonholonomic("energy", energy, ideal=False, from_start=True, singular_at_rest=True),
        ],
        one_sided,
        # A unit inertia makes the control of alpha its second derivative.
        kinetic=wheel.kinetic + alpha_dot**2 / 2,
        force=wheel.force | {"alpha": wheel.u.alpha_control},
        outputs={"energy": (energy, "J")},
        limited=limited,
    )


def blend(
    pendulum: bool, one_sided: bool, curve: Curve, drive: bool = False, limited: bool = False
) -> ds.MechanicalSystem:
    """Pose the wheel with energy and torque balance in one row.

    Raises
    ------
    PosingError
        There is a drive, which changes the energy that this model holds.
    """
    check_energy(drive)
    wheel = _wheel(curve, pendulum, more=BLENDING | (GRIP if limited else {}))
    energy = ds.Invariant("energy", wheel.kinetic + wheel.potential)
    power = ca.dot(wheel.reaction, wheel.velocity) + wheel.u.torque * wheel.q.dot.theta
    imbalance = wheel.friction - wheel.u.torque / wheel.p.radius
    row = wheel.speed * (power + energy.correction) + wheel.p.blending * imbalance
    return _system(
        wheel,
        [
            ds.Holonomic("contact", wheel.contact, ideal=False),
            ds.Implicit("tangency", wheel.tangency, wheel.alpha),
            ds.Nonholonomic("rolling", wheel.slip, ideal=False),
            ds.Relation("torque_balance", row),
            energy,
        ],
        one_sided,
        limited=limited,
    )
