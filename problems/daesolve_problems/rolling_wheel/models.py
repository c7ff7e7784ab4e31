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

* `physical`: all of the above. That the torque is the moment of R is an equation of its own, which
  keeps the system regular at turning points. The energy is a consequence.
* `printed`: the paper's residuals. alpha has a second derivative of its own, alpha_control; the
  energy takes the place of the torque balance, and no slip is posed as

      x_a'^2 + z_a'^2 - (r theta')^2 - (r alpha')^2 = 0,    (x_a, z_a) the contact,

  which lacks the cross term 2 r^2 theta' alpha' (so that the wheel rolls at another pace wherever
  the curve bends) and is, like the energy, quadratic in the velocities: neither determines the
  reactions at rest, nor the sense of the spin after it.
* `blend`: energy and torque balance in one row that never vanishes, s = v . t,

      s (E' + rate (E - E_0)) + blending (R . t - torque / r) = 0.

* `friction`: what happens where the wheel is not held. gap is its distance from the curve, along n:

      f(x + (r + gap) cos alpha, z + (r + gap) sin alpha) = 0,

  and in place of contact and rolling stands a contact with friction: the wheel rolls as long as
  friction can hold it, slips, leaves the curve, flies, lands, and rolls again.

The paper counts m l^2 phi'^2 / 2 beside the bob's whole kinetic energy; `bob_inertia` = m l^2
reproduces that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.typing import (
    AnyGoal,
    Auxiliaries,
    DifferentiableVector,
    Output,
    Parameters,
    SymbolVector,
)
from daesolve_problems.curves import Curve, Entry

RIM = 16
"""Points of the rim, at equal angles from the contact; those off the contact are watched.

A flat piece of curve is 1 - cos(pi / RIM) of the radius, 2 %, inside the wheel at most before one
of them meets it."""


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
        """What the reactions do to the wheel."""
        return {"x": self.u.reaction_x, "z": self.u.reaction_z, "theta": self.u.torque}


def _wheel(
    curve: Curve, pendulum: bool, *, controls: dict[str, str] | None = None, **more: Entry
) -> _Wheel:
    """Name everything; with `controls` of its own, alpha is a coordinate.

    Raises
    ------
    PosingError
        The curve is none, or one of its parameters has a name of the wheel's.
    """
    p = _parameters(curve, pendulum, **more)
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
    kinetic, potential = _energies(q, p, pendulum=pendulum)
    return _Wheel(
        q=q,
        w=w,
        p=p,
        stops=_stops(),
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
    )


def _parameters(curve: Curve, pendulum: bool, **more: Entry) -> Parameters:
    """Declare what wheel, pendulum and curve are made of."""
    entries: dict[str, Entry] = {
        "wheel_mass": (1.0, "kg", ds.POSITIVE),
        "radius": (0.01, "m", ds.POSITIVE),
        "gravity": (9.81, "m/s^2"),
        **more,
    }
    if pendulum:
        entries |= {
            "bob_mass": (0.5, "kg", ds.POSITIVE),
            "pendulum_length": (0.008, "m", ds.POSITIVE),
            "bob_inertia": (0.0, "kg m^2", ds.NON_NEGATIVE),
        }
    return ds.parameters(**_with_the_curves(curve, entries))


def _stops() -> Parameters:
    """Declare the circles in which the wheel touches the curve a second time."""
    names = [f"stop_{name}_{side}" for side in (1, 2) for name in ("x", "z", "radius")]
    return ds.discrete(**dict.fromkeys(names, 0.0))


def _with_the_curves(curve: Curve, entries: dict[str, Entry]) -> dict[str, Entry]:
    """Add the curve's parameters to the wheel's."""
    if not isinstance(curve, Curve):
        raise PosingError(
            f"the curve must be 'quartic', 'circle', or one from daesolve_problems.curves "
            f"(explicit, implicit), not {curve!r}"
        )
    for name in curve.parameters:
        if name in entries:
            raise PosingError(
                f"the curve {curve.label!r} has a parameter {name!r}, which is the wheel's own; "
                "rename it"
            )
    return entries | dict(curve.parameters)


def _energies(q: DifferentiableVector, p: Parameters, *, pendulum: bool) -> tuple[ca.SX, ca.SX]:
    kinetic = p.wheel_mass * (q.dot.x**2 + q.dot.z**2) / 2
    kinetic += p.wheel_mass * p.radius**2 * q.dot.theta**2 / 2
    potential = p.wheel_mass * p.gravity * q.z
    if pendulum:
        bob_x_dot = q.dot.x + p.pendulum_length * ca.cos(q.phi) * q.dot.phi
        bob_z_dot = q.dot.z + p.pendulum_length * ca.sin(q.phi) * q.dot.phi
        kinetic += p.bob_mass * (bob_x_dot**2 + bob_z_dot**2) / 2
        kinetic += p.bob_inertia * q.dot.phi**2 / 2
        potential += p.bob_mass * p.gravity * (q.z - p.pendulum_length * ca.cos(q.phi))
    return kinetic, potential


def _system(
    wheel: _Wheel,
    goals: list[AnyGoal],
    one_sided: bool,
    *,
    outputs: dict[str, Output] | None = None,
    kinetic: ca.SX | None = None,
    force: dict[str, ca.SX] | None = None,
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
            ds.Event("contact_lost", wheel.pressure, *lost),
            ds.Event(
                "not_admissible",
                _room(wheel.at, wheel.stops, wheel.clearance),
                ds.FALLING,
                ds.Stop(),
            ),
        ],
    )


def _room(at: Auxiliaries, stops: Parameters, clearance: ca.SX) -> ca.SX:
    """Return what is positive while the wheel touches the curve in one point alone.

    The curve must not bend more than the wheel. Where it comes back to itself, the wheel touches
    it a second time before: there the contact enters one of two small circles (of radius 0 where
    nothing stops the wheel).
    """
    room = clearance
    for side in ("1", "2"):
        x, z, radius = (stops[f"stop_{name}_{side}"] for name in ("x", "z", "radius"))
        away = (at.contact_x - x) ** 2 + (at.contact_z - z) ** 2
        room = ca.fmin(room, away - radius**2)
    return room


def friction(pendulum: bool, one_sided: bool, curve: Curve) -> ds.MechanicalSystem:
    """Pose the wheel with a contact that rubs, opens and closes.

    Raises
    ------
    PosingError
        The contact is to hold both ways.
    """
    if not one_sided:
        raise PosingError(
            "the model 'friction' has a contact that opens: it knows no one_sided = false"
        )
    p = _parameters(
        curve,
        pendulum,
        friction=(0.5, "", ds.NON_NEGATIVE),
        restitution=(0.0, "", ds.NON_NEGATIVE),
    )
    q = ds.coordinates(x="m", z="m", theta=ds.ANGLE, **({"phi": ds.ANGLE} if pendulum else {}))
    w = ds.implicit(alpha=ds.ANGLE, gap="m")
    normal = ca.vertcat(ca.cos(w.alpha), ca.sin(w.alpha))
    tangent = ca.vertcat(-normal[1], normal[0])
    away = p.radius + w.gap
    at = ds.auxiliaries(
        contact_x=(q.x + away * normal[0], "m"), contact_z=(q.z + away * normal[1], "m")
    )
    f = ca.SX(curve.residual(at.contact_x, at.contact_z, p))
    gradient = ca.vertcat(ca.jacobian(f, at.contact_x), ca.jacobian(f, at.contact_z))
    bend = ca.jacobian(gradient, at.vector)
    clearance = ca.dot(gradient, normal) - away * ca.dot(tangent, bend @ tangent)
    speed = q.dot.x * tangent[0] + q.dot.z * tangent[1]
    kinetic, potential = _energies(q, p, pendulum=pendulum)
    stops = _stops()
    elsewhere = _clear_of_the_curve(curve, p, q, normal, tangent)
    room = ca.fmin(_room(at, stops, clearance), elsewhere)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        implicit=w,
        auxiliaries=at,
        discrete=stops,
        goals=[
            ds.Contact(
                "contact",
                w.gap,
                slip=speed + p.radius * q.dot.theta,
                friction=p.friction,
                restitution=p.restitution,
            ),
            ds.Implicit("tangency", gradient[0] * normal[1] - gradient[1] * normal[0], w.alpha),
            ds.Implicit("reach", f, w.gap),
        ],
        outputs={
            "contact_x": (at.contact_x, "m"),
            "contact_z": (at.contact_z, "m"),
            "speed": (speed, "m/s"),
        },
        events=[ds.Event("not_admissible", room, ds.FALLING, ds.Stop())],
    )


def _clear_of_the_curve(
    curve: Curve, p: Parameters, q: DifferentiableVector, normal: ca.SX, tangent: ca.SX
) -> ca.SX:
    """Return what is positive while no other piece of the curve has come into the wheel.

    The contact knows the piece from which the wheel left. So points of the rim are watched, all but
    the one that is next to that piece: RIM in all, n among them, at equal angles.
    """
    room = ca.SX(ca.inf)
    for k in range(1, RIM):
        angle = 2 * math.pi * k / RIM
        x, z = (
            centre + p.radius * (math.cos(angle) * n + math.sin(angle) * t)
            for centre, n, t in zip(
                (q.x, q.z), ca.vertsplit(normal), ca.vertsplit(tangent), strict=True
            )
        )
        room = ca.fmin(room, -ca.SX(curve.residual(x, z, p)))
    return room


def physical(pendulum: bool, one_sided: bool, curve: Curve) -> ds.MechanicalSystem:
    """Pose the wheel in its regular form: the torque is the moment of the reaction."""
    wheel = _wheel(curve, pendulum)
    return _system(
        wheel,
        [
            ds.Holonomic("contact", wheel.contact, ideal=False),
            ds.Implicit("tangency", wheel.tangency, wheel.alpha),
            ds.Nonholonomic("rolling", wheel.slip, ideal=False),
            ds.Relation("torque_balance", wheel.u.torque - wheel.p.radius * wheel.friction),
        ],
        one_sided,
    )


def printed(pendulum: bool, one_sided: bool, curve: Curve) -> ds.MechanicalSystem:
    """Pose the wheel as the paper does: four residuals, four controls."""
    wheel = _wheel(curve, pendulum, controls={"alpha_control": "rad/s^2"})
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
    )


def blend(pendulum: bool, one_sided: bool, curve: Curve) -> ds.MechanicalSystem:
    """Pose the wheel with energy and torque balance in one row."""
    wheel = _wheel(curve, pendulum, blending=(0.01, "m^2/s^2", ds.POSITIVE))
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
    )
