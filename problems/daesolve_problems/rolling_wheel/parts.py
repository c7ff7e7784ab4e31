"""The common parts of all models of the wheel: parameters, energies, the drive, stops."""

from __future__ import annotations

import casadi as ca

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.typing import Auxiliaries, DifferentiableVector, Parameters
from daesolve_problems.curves import Curve, Entry

DRIVE: dict[str, Entry] = {
    "drive_torque": (0.02, "N m"),
    "drive_damping": (0.0, "N m s", ds.NON_NEGATIVE),
}
"""The parameters of a drive on the axle: its stall torque, and its loss with speed."""
GRIP: dict[str, Entry] = {"grip": (1.0, "", ds.NON_NEGATIVE)}
"""The parameter of a wheel that rolls as long as friction can hold it."""


def torque_of_the_drive(q: DifferentiableVector, p: Parameters) -> ca.SX:
    """Return the torque on the pendulum, towards +x; the wheel has the opposite one."""
    return p.drive_torque - p.drive_damping * (q.dot.phi - q.dot.theta)


def with_the_drive(force: dict[str, ca.SX], drive: ca.SX | None) -> dict[str, ca.SX]:
    """Add what a drive does to the forces on the wheel and its pendulum."""
    if drive is None:
        return force
    return force | {"theta": force.get("theta", ca.SX(0)) - drive, "phi": drive}


def check_drive(pendulum: bool, drive: bool) -> None:
    """Refuse a drive that has nothing to push against.

    Raises
    ------
    PosingError
        There is no pendulum.
    """
    if drive and not pendulum:
        raise PosingError("the drive pushes the wheel off a pendulum: set pendulum = true")


def check_energy(drive: bool) -> None:
    """Refuse a drive in a model that holds the energy.

    Raises
    ------
    PosingError
        There is a drive.
    """
    if drive:
        raise PosingError(
            "this model keeps the energy constant, but a drive changes it: use 'physical' "
            "or 'friction'"
        )


def parameters(curve: Curve, pendulum: bool, **more: Entry) -> Parameters:
    """Declare the parameters of wheel, pendulum and curve."""
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


def stops() -> Parameters:
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
                f"the curve {curve.label!r} has a parameter {name!r}, which is reserved for "
                "the wheel; rename it"
            )
    return entries | dict(curve.parameters)


def energies(q: DifferentiableVector, p: Parameters, *, pendulum: bool) -> tuple[ca.SX, ca.SX]:
    """Return the kinetic energy and the potential of wheel and pendulum, J."""
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


def room(at: Auxiliaries, stops: Parameters, clearance: ca.SX) -> ca.SX:
    """Return quantities that are positive while the wheel touches the curve in only one point.

    The curve must not bend more than the wheel. Before the curve comes back to itself, the wheel
    touches it a second time: there the contact enters one of two small circles (of radius 0 if
    nothing stops the wheel).
    """
    room = clearance
    for side in ("1", "2"):
        x, z, radius = (stops[f"stop_{name}_{side}"] for name in ("x", "z", "radius"))
        away = (at.contact_x - x) ** 2 + (at.contact_z - z) ** 2
        room = ca.fmin(room, away - radius**2)
    return room
