"""A slider-crank of rigid bodies in absolute coordinates: six constraints, one freedom.

Crank, rod and slider move in a vertical plane under their weight, joined by hinges and a guide
without friction. Each body has its own coordinates, but the slider only the one along its guide;
the six unknown reactions are the components of the forces in the pivot, in the pin and in the
wrist. Nothing drives the crank, and the energy is conserved.

The crank (body 1) turns about the origin, the rod (body 2) joins it to the slider (body 3), which
moves along y = 0. Crank and rod are thin and uniform; x_i, y_i is the mass centre of body i, phi_i
its angle from the x axis. With r, l their lengths,

    (x_1, y_1) - r/2 (cos phi_1, sin phi_1) = 0                                      pivot
    (x_2, y_2) - (x_1, y_1) - r/2 (cos phi_1, sin phi_1) - l/2 (cos phi_2, sin phi_2) = 0   pin
    (x_3, 0) - (x_2, y_2) - l/2 (cos phi_2, sin phi_2) = 0                           wrist

A reaction is the force on the body that stands first in its constraint.
"""

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Dot, Drawing, Line, Outline, Polar, Trace


def bodies() -> ds.MechanicalSystem:
    """Pose the three bodies and their joints."""
    q = ds.coordinates(x_1="m", y_1="m", phi_1=ds.ANGLE, x_2="m", y_2="m", phi_2=ds.ANGLE, x_3="m")
    p = ds.parameters(
        crank_length=(0.5, "m", ds.POSITIVE),
        crank_mass=(1.0, "kg", ds.POSITIVE),
        rod_length=(1.0, "m", ds.POSITIVE),
        rod_mass=(1.0, "kg", ds.POSITIVE),
        slider_mass=(1.0, "kg", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
    )
    crank = p.crank_length / 2 * ca.vertcat(ca.cos(q.phi_1), ca.sin(q.phi_1))
    rod = p.rod_length / 2 * ca.vertcat(ca.cos(q.phi_2), ca.sin(q.phi_2))
    centre_1, centre_2 = ca.vertcat(q.x_1, q.y_1), ca.vertcat(q.x_2, q.y_2)
    joints = {
        "pivot": centre_1 - crank,
        "pin": centre_2 - centre_1 - crank - rod,
        "wrist": ca.vertcat(q.x_3, 0) - centre_2 - rod,
    }
    crank_inertia = p.crank_mass * p.crank_length**2 / 12
    rod_inertia = p.rod_mass * p.rod_length**2 / 12
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.crank_mass * (q.dot.x_1**2 + q.dot.y_1**2) / 2
        + crank_inertia * q.dot.phi_1**2 / 2
        + p.rod_mass * (q.dot.x_2**2 + q.dot.y_2**2) / 2
        + rod_inertia * q.dot.phi_2**2 / 2
        + p.slider_mass * q.dot.x_3**2 / 2,
        potential=p.gravity * (p.crank_mass * q.y_1 + p.rod_mass * q.y_2),
        goals=[
            ds.Holonomic(f"{joint}_{axis}", residual[row], unit="N")
            for joint, residual in joints.items()
            for row, axis in enumerate("xy")
        ],
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Close the loop for an angle of the crank, the slider on the right, and its rate."""
    crank, rod = parameters["crank_length"], parameters["rod_length"]
    angle, rate = given["phi_1"], given["phi_dot_1"]
    height = crank * math.sin(angle)
    if abs(height) >= rod:
        raise OutOfRangeError(
            f"the crank's pin is {abs(height):g} m off the slider's line, farther than the "
            f"{rod:g} m rod can reach"
        )
    rod_angle = -math.asin(height / rod)
    rod_rate = -crank * rate * math.cos(angle) / (rod * math.cos(rod_angle))
    pin = crank * math.cos(angle)
    return {
        "phi_1": angle,
        "phi_dot_1": rate,
        "x_1": pin / 2,
        "y_1": height / 2,
        "x_dot_1": -height / 2 * rate,
        "y_dot_1": pin / 2 * rate,
        "phi_2": rod_angle,
        "phi_dot_2": rod_rate,
        "x_2": pin + rod / 2 * math.cos(rod_angle),
        "y_2": height / 2,
        "x_dot_2": -height * rate - rod / 2 * math.sin(rod_angle) * rod_rate,
        "y_dot_2": pin / 2 * rate,
        "x_3": pin + rod * math.cos(rod_angle),
        "x_dot_3": -height * rate - rod * math.sin(rod_angle) * rod_rate,
    }


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the rods, the slider on its rail and the path of the rod's mass centre."""
    crank, rod = (document["parameters"][name] for name in ("crank_length", "rod_length"))
    half = 0.12 * crank
    pin = Polar((0.0, 0.0), "crank_length", "phi_1")
    box = [(-1.6 * half, -half), (1.6 * half, -half), (1.6 * half, half), (-1.6 * half, half)]
    return Drawing(
        [
            Line([(0.0, 0.0), (crank + rod, 0.0)], role="ground", label="rail"),
            Trace(pin, label="path of the pin"),
            Trace(("x_2", "y_2"), label="path of the rod's centre"),
            Outline(box, at=("x_3", 0.0), label="slider"),
            Line([pin, ("x_3", 0.0)], label="rod"),
            Line([(0.0, 0.0), pin], role="accent", label="crank"),
            Dot(pin, role="accent"),
        ]
    )


problem = ds.Problem(
    "slider-crank",
    title="A slider-crank of rigid bodies",
    models={"bodies": bodies},
    sources=[
        "E. J. Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems, volume I: "
        "Basic Methods (1989)",
    ],
    start=start,
    drawing=drawing,
    cases=[
        ds.Case(
            "spin",
            start={"phi_1": 0.0, "phi_dot_1": 12.0},
            until=10.0,
            note="the crank turns twelve times, at 4.7 to 12.3 rad/s",
        ),
    ],
)
