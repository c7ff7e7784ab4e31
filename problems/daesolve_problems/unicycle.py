"""A vehicle on one wheel, which moves like Chaplygin's sleigh.

A frame with one upright wheel slides on a level plane without friction, while the wheel rolls
without slip and without resistance. The two unknown reactions are the forces of the ground along
the axle and across it, in the direction of rolling. Neither does work, and the energy is conserved.
No motor turns the wheel.

The wheel stands upright and is fixed to a frame that slides without friction. x, y is its point of
contact; n is the direction of its axle, turned by psi, and tau = e_z x n that of rolling. The
contact moves with v_n and v_tau along them, the frame turns at omega, the wheel by phi.

    T = m (v_n^2 + v_tau^2) / 2 + m omega (R_n v_tau - R_tau v_n) + J omega^2 / 2 + i phi'^2 / 2
    skate    v_n = 0
    rolling  v_tau + h phi' = 0                                                              (4.1)

m is the mass of the whole, R its centre from the contact, J its moment about the contact, h and i
the wheel's radius and its moment about the axle. In the model `sleigh` the rotation of the wheel
is substituted, and phi is a quadrature. With

    M = m + i / h^2,  d = m R_n / M,  J~ = J - m^2 R_n^2 / M,  u = v_tau + d omega

both are a sleigh, M u' = m R_tau omega^2, J~ omega' = -m R_tau omega u, and move by

    u = V tanh k(t - t*),  omega = W / cosh k(t - t*),
    V^2 = u^2 + J~ omega^2 / M,  W = +-V sqrt(M / J~),  k = m R_tau V / J~,                  (4.3)

turning by pi sqrt(M J~) / (m R_tau) from t = -infinity to infinity. The force of the ground along
the axle is `skate`; the multiplier of the sleigh's blade, `skate_apparent`, is greater by
omega phi' i / h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Camera, Dot, Drawing, Line, Linear, Trace
from daesolve_problems.figures import Document, draw_paths, panels_over_time, series, states
from daesolve_problems.vehicles import fixed, wheel_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, float]


def wheel() -> ds.MechanicalSystem:
    """Pose the vehicle with a wheel that turns: four coordinates, two constraints."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    v = ds.velocities(v_n="m/s", v_tau="m/s", omega="rad/s", phi_dot="rad/s")
    p = ds.parameters(
        mass=(1.3, "kg", ds.POSITIVE),
        wheel_inertia=(0.2, "kg m^2", ds.POSITIVE),
        inertia_about_contact=(0.9, "kg m^2", ds.POSITIVE),
        wheel_radius=(0.4, "m", ds.POSITIVE),
        centre_normal=(0.25, "m"),
        centre_tangential=(0.6, "m"),
    )
    sine, cosine = ca.sin(q.psi), ca.cos(q.psi)
    moment = p.centre_normal * v.v_tau - p.centre_tangential * v.v_n
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (v.v_n**2 + v.v_tau**2) / 2
        + p.mass * v.omega * moment
        + p.inertia_about_contact * v.omega**2 / 2
        + p.wheel_inertia * v.phi_dot**2 / 2,
        velocities=v,
        kinematics=ca.vertcat(
            cosine * v.v_n - sine * v.v_tau, sine * v.v_n + cosine * v.v_tau, v.omega, v.phi_dot
        ),
        goals=[
            ds.Nonholonomic("skate", v.v_n, unit="N"),
            ds.Nonholonomic("rolling", v.v_tau + p.wheel_radius * v.phi_dot, unit="N"),
        ],
    )


def sleigh() -> ds.MechanicalSystem:
    """Pose the sleigh: one constraint, and the wheel's angle integrated along the motion."""
    return ds.nonholonomic.eliminate(wheel(), ["phi"]).system


def sleigh_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start in the given state."""
    return dict(given)


def wheel_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start in the given state, with a wheel that rolls."""
    return {**given, "phi_dot": -given["v_tau"] / parameters["wheel_radius"]}


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the wheel from above, and the frame between it and the mass centre."""
    numbers = document["parameters"]
    contact, axle = ("x", "y"), Linear({"psi": 1.0})
    radius = numbers["wheel_radius"]
    normal, tangential = numbers["centre_normal"], numbers["centre_tangential"]
    centre = fixed(contact, axle, normal, tangential)
    state = states(document)
    rates = {
        "x_dot": -np.sin(state["psi"]) * state["v_tau"],
        "y_dot": np.cos(state["psi"]) * state["v_tau"],
        "psi_dot": state["omega"],
    }
    return Drawing(
        [
            Trace(contact, label="path of the contact"),
            Line([contact, centre], role="accent", label="frame"),
            *wheel_above(contact, axle, radius, "phi", "wheel"),
            Dot(centre, role="accent", label="mass centre"),
        ],
        series=rates,
        camera=Camera(contact, 6.0 * float(max(radius, np.hypot(normal, tangential)))),
    )


def _places(document: Document) -> dict[str, np.ndarray]:
    """Return where the contact and the mass centre are, x + i y, m."""
    state, numbers = states(document), document["parameters"]
    contact = state["x"] + 1j * state["y"]
    arm = complex(numbers["centre_normal"], numbers["centre_tangential"])
    centre = contact + arm * np.exp(1j * state["psi"])
    return {"contact": contact, "mass centre": centre}


def paths(document: Document) -> Figure:
    """Draw the paths of the contact and of the mass centre."""
    return draw_paths(document, _places)


def velocities(document: Document) -> Figure:
    """Draw u and omega, scaled so that u^2 + omega^2 is the energy."""
    state, numbers = states(document), document["parameters"]
    mass = numbers["mass"] + numbers["wheel_inertia"] / numbers["wheel_radius"] ** 2
    offset = numbers["mass"] * numbers["centre_normal"] / mass
    moment = numbers["inertia_about_contact"] - mass * offset**2
    figure, (axes,) = panels_over_time(1)
    for values, label in (
        (np.sqrt(mass / 2.0) * (state["v_tau"] + offset * state["omega"]), "√(M/2) u"),
        (np.sqrt(moment / 2.0) * state["omega"], "√(J̃/2) ω"),
    ):
        axes.plot(series(document, "times"), values, linewidth=1.2, label=label)
    axes.set_ylabel("√J")
    axes.legend()
    return figure


def forces(document: Document) -> Figure:
    """Draw the forces of the ground, and the force on the blade of the sleigh along the axle."""
    state, numbers = states(document), document["parameters"]
    lever = numbers["wheel_inertia"] / numbers["wheel_radius"]
    swept = -lever * state["omega"] * state["v_tau"] / numbers["wheel_radius"]
    times = series(document, "times")
    figure, (above, below) = panels_over_time(2)
    along = series(document, "reactions", "skate")
    above.plot(times, along, linewidth=1.2, label="on the wheel")
    above.plot(times, along + swept, "--", linewidth=1.2, label="on a blade")
    above.set_ylabel("along the axle (N)")
    above.legend()
    below.plot(times, series(document, "reactions", "rolling"), linewidth=1.2)
    below.set_ylabel("across the axle (N)")
    return figure


problem = ds.Problem(
    "unicycle",
    title="A vehicle on one wheel, and the sleigh that moves like it",
    models={"wheel": wheel, "sleigh": sleigh},
    sources=[
        "A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics "
        "of wheeled vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, section 4.1",
    ],
    start={"wheel": wheel_start, "sleigh": sleigh_start},
    drawing=drawing,
    figures={
        "paths of the contact and the mass centre": paths,
        "velocities": velocities,
        "forces of the ground": forces,
    },
    cases=[
        ds.Case(
            "free",
            start={"x": 0.0, "y": 0.0, "psi": 0.4, "phi": 0.0, "v_tau": -0.9, "omega": 0.7},
            until=20.0,
            note="it rolls backwards, turns by 5.079 of its 5.960 rad, and goes straight",
        ),
    ],
)
