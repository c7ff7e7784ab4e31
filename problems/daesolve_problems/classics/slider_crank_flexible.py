"""A slider-crank whose rod bends and stretches; the crank turns at a constant rate.

A rigid crank and a slider, joined by an elastic rod, move in a plane without weight and without
friction. Two sine waves across the rod and a parabola along it describe its deformation, four
coordinates besides the two angles and the place of the slider. The three unknown reactions are the
components of the force in the wrist, and the torque by which a motor keeps the crank's rate. The
motor does work, so the energy is not conserved; minus this work it is constant.

The crank (length l1, inertia about its pivot J1, angle phi1) turns by phi1 = Omega t. The rod (l2,
J2 about the pin, angle phi2) leads to the slider (M3) at x3. In axes of the rod, at the part xi of
its length from the pin, its points move by

    u = q3 4 xi (1 - xi) + q4 xi (2 xi - 1)             along,
    w = q1 sin(pi xi) + q2 sin(2 pi xi)                 across,

with linear stiffness (E, width d, height h) and no damping; the displacements' kinetic energy is
that of a line of density rho d h. The wrist moves along with q4.

    l1 sin(phi1) + (l2 + q4) sin(phi2) = 0              wrist_y
    x3 - l1 cos(phi1) - (l2 + q4) cos(phi2) = 0         wrist_x
    phi1 - Omega t = 0                                  motor

The reactions have the signs of the literature, M q'' = f - G^T u.

* `physical`: the mass of the displacements along is the integral over the line,
  rho d h l2 [8 1; 1 2]/15.
* `printed`: the published solution follows from rho d h l2 [8 1; 1 2] (which makes the rod's own
  vibrations along four times as slow) and pi = 3.1415927.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.typing import DifferentiableVector, Parameters
from daesolve_problems.classics import pictures

PRINTED_PI = 3.1415927
START = {
    "q1": 0.0,
    "q2": 0.0,
    "q3": 0.103339863e-4,
    "q4": 0.169327969e-4,
    "q1_dot": 0.444896105,
    "q2_dot": 0.463434311e-2,
    "q3_dot": -0.178591076e-5,
    "q4_dot": -0.268938672e-5,
}
"""The published start of the rod; the crank lies along x."""


def rod(along: float, pi: float) -> ds.MechanicalSystem:
    """Pose the crank, the rod with its four displacements, and the slider.

    Parameters
    ----------
    along
        The factor of [8 1; 1 2] in the mass of the displacements along the rod.
    pi
        The value of pi in the integrals across the rod.
    """
    q = ds.coordinates(
        phi1=ds.ANGLE, phi2=ds.ANGLE, x3="m", **dict.fromkeys(("q1", "q2", "q3", "q4"), "m")
    )
    p = ds.parameters(
        l1=(0.15, "m", ds.POSITIVE),
        l2=(0.30, "m", ds.POSITIVE),
        J1=(0.002727, "kg m^2", ds.POSITIVE),
        J2=(0.0045339259, "kg m^2", ds.POSITIVE),
        M3=(0.075552, "kg", ds.POSITIVE),
        d=(0.008, "m", ds.POSITIVE),
        h=(0.008, "m", ds.POSITIVE),
        rho=(7870.0, "kg/m^3", ds.POSITIVE),
        E=(2e11, "N/m^2", ds.POSITIVE),
        Omega=(150.0, "rad/s"),
    )
    reach = p.l2 + q.q4
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=_kinetic(q, p, along, pi),
        potential=_potential(q, p, pi),
        goals=[
            ds.Holonomic("wrist_y", -p.l1 * ca.sin(q.phi1) - reach * ca.sin(q.phi2), unit="N"),
            ds.Holonomic(
                "wrist_x", p.l1 * ca.cos(q.phi1) + reach * ca.cos(q.phi2) - q.x3, unit="N"
            ),
            ds.Holonomic("motor", p.Omega * ds.time - q.phi1, unit="N m"),
        ],
    )


def _kinetic(q: DifferentiableVector, p: Parameters, along: float, pi: float) -> ca.SX:
    """Sum the crank's, the slider's and the rod's: of a stiff rod, and what displacements add.

    A point's velocity in axes of the rod is that of the pin, l1 phi1' (-sin, cos)(phi1 - phi2),
    plus (u' - phi2' w, w' + phi2' (xi l2 + u)); products of the shapes are integrated over xi.
    """
    shapes = np.diag([0.5, 0.5, 8.0 * along, 2.0 * along])
    shapes[2, 3] = shapes[3, 2] = along
    u_w = np.zeros((4, 4))
    u_w[2, 0], u_w[3, 0], u_w[3, 1] = 16 / pi**3, 1 / pi - 8 / pi**3, -1 / (2 * pi)
    mean_u, mean_w = ca.DM([0, 0, 2 / 3, 1 / 6]), ca.DM([2 / pi, 0, 0, 0])
    lever_u, lever_w = ca.DM([0, 0, 1 / 3, 1 / 6]), ca.DM([1 / pi, -1 / (2 * pi), 0, 0])
    shape = ca.vertcat(q.q1, q.q2, q.q3, q.q4)
    rate = ca.vertcat(q.dot.q1, q.dot.q2, q.dot.q3, q.dot.q4)
    turn = q.dot.phi2
    pin_along = -p.l1 * q.dot.phi1 * ca.sin(q.phi1 - q.phi2)
    pin_across = p.l1 * q.dot.phi1 * ca.cos(q.phi1 - q.phi2)
    added = (
        ca.bilin(shapes, rate, rate) / 2
        + turn * (p.l2 * ca.dot(lever_w, rate) + ca.bilin(u_w, shape, rate))
        - turn * ca.bilin(u_w, rate, shape)
        + turn**2 * (p.l2 * ca.dot(lever_u, shape) + ca.bilin(shapes, shape, shape) / 2)
        + pin_along * (ca.dot(mean_u, rate) - turn * ca.dot(mean_w, shape))
        + pin_across * (ca.dot(mean_w, rate) + turn * ca.dot(mean_u, shape))
    )
    mass = p.rho * p.d * p.h * p.l2
    stiff = (p.J1 + mass * p.l1**2) * q.dot.phi1**2 / 2 + p.J2 * turn**2 / 2
    stiff += mass * p.l2 / 2 * turn * pin_across
    return stiff + p.M3 * q.dot.x3**2 / 2 + mass * added


def _potential(q: DifferentiableVector, p: Parameters, pi: float) -> ca.SX:
    bending = pi**4 * (p.h / p.l2) ** 2 * (q.q1**2 / 24 + 2 * q.q2**2 / 3)
    stretching = (16 * q.q3**2 - 16 * q.q3 * q.q4 + 7 * q.q4**2) / 3
    return p.E * p.d * p.h / p.l2 * (bending + stretching) / 2


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Stretch the mechanism along x, the crank turning at its rate."""
    reach = parameters["l2"] + given["q4"]
    speed = parameters["l1"] * parameters["Omega"]
    return {
        **given,
        "phi1_dot": parameters["Omega"],
        "phi2_dot": -speed / reach,
        "x3": parameters["l1"] + reach,
        "x3_dot": given["q4_dot"],
    }


problem = ds.Problem(
    "slider-crank-flexible",
    title="A slider-crank with a flexible rod",
    models={
        "physical": partial(rod, 1 / 15, math.pi),
        "printed": partial(rod, 1.0, PRINTED_PI),
    },
    sources=[
        "B. Simeon, Modelling a flexible slider crank mechanism by a mixed system of DAEs and "
        "PDEs, Mathematical Modelling of Systems 2 (1996) 1-18",
        "F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4, "
        "University of Bari (2008)",
    ],
    start=start,
    drawing=pictures.flexible_slider_crank,
    cases=[
        ds.Case(
            "published",
            model="printed",
            start=START,
            until=0.1,
            rate=1000.0,
            note="the published start and solution",
        ),
    ],
)
