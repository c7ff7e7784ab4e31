"""Andrews' squeezing mechanism: seven bodies in a plane, three loops, a motor.

Rigid rods and plates move in a plane in which no weight acts, hinged without friction; a motor
drives the crank with a constant torque, and a spring pulls at a plate. In seven angles, three loops
that close are six constraints, which leave one freedom. The six unknown reactions are the
components of the forces in the common joint E by which the loops 3, 4 and 6 hold together. The
energy, less the work of the motor, is conserved.

O is the origin; A (xa, ya), B (xb, yb) and C (xc, yc) are fixed. Each body adds an angle:

    1  crank rr from O, beta, driven by the torque mom    2  rod d from its pin to E, beta + theta
    3  plate about B, gamma
    5  plate about A, delta                               4  rod e from it to E, phi + delta
    7  plate about A, epsilon                             6  rod zf from it to E, omega + epsilon

With n(a) = (cos a, sin a), and s(a) = (sin a, -cos a), which is n turned back by a right angle,

    E = rr n(beta) - d n(beta + theta)
      = B + ss s(gamma)                              loop_3
      = A + zt n(delta) + e s(phi + delta)           loop_4
      = A + u s(epsilon) + zf n(omega + epsilon)     loop_6

A spring (stiffness c0, length at rest l0) joins C to D = B + sd n(gamma) + sc s(gamma). The mass
centres lie ra along the crank, da from the pin on rod 2, ea and fa before E on rods 4 and 6, and
(sa, sb), (ta, tb), (ua, ub) off the pivots in axes of the plates.

Letters and signs of the reactions, M q'' = f - G^T u, follow Hairer and Wanner.
"""

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Linear, Polar, Trace
from daesolve.typing import DifferentiableVector, Parameters

ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
POINTS = {"xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072}
LENGTHS = {
    "rr": 7e-3, "ra": 92e-5, "d": 28e-3, "da": 115e-4, "e": 2e-2, "ea": 1421e-5,
    "zf": 2e-2, "fa": 1421e-5, "zt": 4e-2, "u": 4e-2, "ss": 35e-3, "sa": 1874e-5, "sb": 1043e-5,
    "sc": 18e-3, "sd": 2e-2, "ta": 2308e-5, "tb": 916e-5, "ua": 1228e-5, "ub": 449e-5,
    "l0": 7785e-5,
}  # fmt: skip
MASSES = [0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498]
INERTIAS = [2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5]


def bodies() -> ds.MechanicalSystem:
    """Pose the seven bodies by their relative angles."""
    q = ds.coordinates(**dict.fromkeys(ANGLES, ds.ANGLE))
    p = ds.parameters(
        **{name: (value, "m") for name, value in POINTS.items()},
        **{name: (value, "m", ds.POSITIVE) for name, value in LENGTHS.items()},
        **{f"m{i}": (value, "kg", ds.POSITIVE) for i, value in enumerate(MASSES, 1)},
        **{f"i{i}": (value, "kg m^2", ds.POSITIVE) for i, value in enumerate(INERTIAS, 1)},
        c0=(4530.0, "N/m", ds.NON_NEGATIVE),
        mom=(33e-3, "N m"),
    )
    pivot_a, pivot_b = ca.vertcat(p.xa, p.ya), ca.vertcat(p.xb, p.yb)
    end = p.rr * _along(q.beta) - p.d * _along(q.beta + q.theta)
    loops = {
        "loop_3": pivot_b + p.ss * _across(q.gamma),
        "loop_4": pivot_a + p.zt * _along(q.delta) + p.e * _across(q.phi + q.delta),
        "loop_6": pivot_a + p.u * _across(q.epsilon) + p.zf * _along(q.omega + q.epsilon),
    }
    attached = pivot_b + p.sd * _along(q.gamma) + p.sc * _across(q.gamma)
    length = ca.norm_2(attached - ca.vertcat(p.xc, p.yc))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=_kinetic(q, p),
        potential=p.c0 * (length - p.l0) ** 2 / 2,
        force={"beta": p.mom},
        goals=[
            ds.Holonomic(f"{loop}_{axis}", (other - end)[row], unit="N")
            for loop, other in loops.items()
            for row, axis in enumerate("xy")
        ],
    )


def _along(angle: ca.SX) -> ca.SX:
    return ca.vertcat(ca.cos(angle), ca.sin(angle))


def _across(angle: ca.SX) -> ca.SX:
    return ca.vertcat(ca.sin(angle), -ca.cos(angle))


def _kinetic(q: DifferentiableVector, p: Parameters) -> ca.SX:
    pin, on_5, on_7 = p.rr * _along(q.beta), p.zt * _along(q.delta), p.u * _across(q.epsilon)
    turning = {
        1: q.dot.beta,
        2: q.dot.beta + q.dot.theta,
        3: q.dot.gamma,
        4: q.dot.phi + q.dot.delta,
        5: q.dot.delta,
        6: q.dot.omega + q.dot.epsilon,
        7: q.dot.epsilon,
    }
    # of the mass centres, from the fixed point about which their chain turns
    place = {
        1: p.ra * _along(q.beta),
        2: pin - p.da * _along(q.beta + q.theta),
        3: p.sa * _along(q.gamma) + p.sb * _across(q.gamma),
        4: on_5 + (p.e - p.ea) * _across(q.phi + q.delta),
        5: p.ta * _along(q.delta) + p.tb * _across(q.delta),
        6: on_7 + (p.zf - p.fa) * _along(q.omega + q.epsilon),
        7: p.ua * _along(q.epsilon) + p.ub * _across(q.epsilon),
    }
    kinetic = ca.SX(0)
    for body, centre in place.items():
        speed = ca.jtimes(centre, q.vector, q.dot.vector)
        kinetic += p[f"m{body}"] * ca.sumsqr(speed) / 2 + p[f"i{body}"] * turning[body] ** 2 / 2
    return kinetic


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the rods and plates, the spring, and the path of the common joint E."""
    quarter = math.pi / 2

    def across(origin: Any, length: str, angle: str) -> Polar:
        return Polar(origin, length, Linear({angle: 1.0}, -quarter))

    origin, pivot_a, pivot_b, fixed = (0.0, 0.0), ("xa", "ya"), ("xb", "yb"), ("xc", "yc")
    pin = Polar(origin, "rr", "beta")
    end = Polar(pin, "d", Linear({"beta": 1.0, "theta": 1.0}, math.pi))
    attached = across(Polar(pivot_b, "sd", "gamma"), "sc", "gamma")
    on_5, on_7 = Polar(pivot_a, "zt", "delta"), across(pivot_a, "u", "epsilon")
    return Drawing(
        [
            Line([fixed, attached], role="force", label="spring"),
            Trace(end, label="path of E"),
            Line([pivot_b, attached, end, pivot_b]),
            Line([pivot_a, on_5, end]),
            Line([pivot_a, on_7, end]),
            Line([pin, end]),
            Line([origin, pin], role="accent", label="crank"),
            *[Dot(point, role="ground") for point in (origin, pivot_a, pivot_b, fixed)],
            Dot(end, role="accent"),
        ]
    )


problem = ds.Problem(
    "andrews",
    title="Andrews' squeezing mechanism",
    models={"angles": bodies},
    sources=[
        "G. C. Andrews, M. K. Ormrod, ADVENT: a simulation program for constrained planar "
        "kinematic and dynamic systems, Design Engineering Technical Conference, Columbus (1986)",
        "W. Schiehlen (ed.), Multibody Systems Handbook (1990)",
        "E. Hairer, G. Wanner, Solving Ordinary Differential Equations II: Stiff and "
        "Differential-Algebraic Problems, 2nd ed. (1996), section VII.7",
        "F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4, "
        "University of Bari (2008)",
    ],
    drawing=drawing,
    cases=[
        ds.Case(
            "start",
            start={
                "beta": -0.0617138900142764496358948458001,
                "theta": 0.0,
                "gamma": 0.455279819163070380255912382449,
                "phi": 0.222668390165885884674473185609,
                "delta": 0.487364979543842550225598953530,
                "omega": -0.222668390165885884674473185609,
                "epsilon": 1.23054744454982119249735015568,
                **{f"{name}_dot": 0.0 for name in ANGLES},
            },
            until=0.03,
            rate=1000.0,
            note="from rest, driven by the torque",
        ),
    ],
)
