"""The cheapest step of a walker on level ground, with a motor at its hip.

Two straight legs of 1 m, each with a mass of 5 kg in its middle, are hinged at the hip, which has a
mass of 10 kg. The foot that stands is fixed to the ground by two constraints; the unknown reactions
are the force of the ground on it, `ground` upwards and `foothold` along. A motor turns the leg that
swings against the one that stands with the `torque` u. Where the other foot lands, both legs change
their places, and an impact without bounce fixes the new foot: the impulse at it is the only one,
so the moment of momentum about it is kept. Nothing else is conserved: impacts
dissipate what the motor has done.

x and y are the place of the hip, `stance` and `swing` the angles of the legs from the vertical,
positive where the hip is ahead of the foot:

    foot that stands: (x - l sin(stance), y - l cos(stance)) = (place, 0)
    it lands where the height of the other one, y - l cos(swing), returns to zero

At mid-step, where the legs pass, the foot that swings goes through the ground (a walker with knees
would lift it); it counts after that, `armed`.

On level ground no walk is free. The case `cheapest` begins with the step of 0.4 m in 0.7 s that has
the least integral of u^2, found by `daesolve.optimise`: the motion ends with the event
`heel_strike`, and after its reset all angles and rates are those of the start. The torque of the
case is a polynomial of time that comes within 1e-9 of the least cost; the run ends shortly after
the heel-strike. The analysis `optimum` finds the step anew.

A start has `stance`, `stance_dot` and `swing_dot` after a heel-strike; the others follow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Camera, Circle, Dot, Drawing, Line, Polar, Trace
from daesolve.plugins.bound_case import BoundCase
from daesolve_problems.figures import series

STEP, PERIOD = 0.4, 0.7
"""The length of a step, m, and its time, s."""
ANGLE = math.asin(STEP / 2.0)
RATES = (0.9045983679717515, 0.3389144127199791)
"""Of the leg that stands and of the one that swings after a heel-strike, rad/s."""
TORQUE = (
    -14.651774105702652, 7.327972696062498, -25.480459237602876, -3.142532659863515,
    -0.9010736261006159, 0.14413627815852814, -0.060502950377844575, 0.111170489378758,
    -0.013841007942552028, -0.001017866329026188, 0.016448431140017577, -0.008878225179094673,
    -0.003092612405161463, 0.0032683603589271568, -0.0013121414952726577,
)  # fmt: skip
"""Coefficients of Chebyshev's polynomials over a step, N m. Their integral of u^2 is 9e-10 of it
above the least one; the first two and the rates are those with which the step repeats itself."""


def walker() -> ds.MechanicalSystem:
    """Pose both legs, the motor and the heel-strike."""
    q = ds.coordinates(x="m", y="m", stance="rad", swing="rad")
    u, d = ds.inputs(torque=(0.0, "N m")), ds.discrete(armed=0.0, place=0.0)
    p = ds.parameters(
        hip=(10.0, "kg", ds.POSITIVE),
        leg=(5.0, "kg", ds.POSITIVE),
        length=(1.0, "m", ds.POSITIVE),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
    )

    def below(angle: ca.SX, along: Any) -> ca.SX:
        """Return a place on a leg, below the hip."""
        x: ca.SX = q.x - along * ca.sin(angle)
        y: ca.SX = q.y - along * ca.cos(angle)
        return ca.vertcat(x, y)

    masses = [
        (p.hip, ca.vertcat(q.x, q.y)),
        (p.leg, below(q.stance, p.length / 2)),
        (p.leg, below(q.swing, p.length / 2)),
    ]
    kinetic, potential = ca.SX(0), ca.SX(0)
    for mass, where in masses:
        kinetic += mass * ca.sumsqr(ca.jacobian(where, q.vector) @ q.dot.vector) / 2
        potential += mass * p.gravity * where[1]
    foot, other = below(q.stance, p.length), below(q.swing, p.length)
    lands = ds.Reset(
        {
            "stance": q.swing,
            "swing": q.stance,
            "stance_dot": q.dot.swing,
            "swing_dot": q.dot.stance,
            "place": other[0],
            "armed": 0.0,
        },
        impose=["foothold", "ground"],
    )
    # What does not count is minus one, far from zero.
    strikes = -d.armed * other[1] - (1 - d.armed)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        force={"stance": -u.torque, "swing": u.torque},
        goals=[ds.Holonomic("foothold", foot[0] - d.place), ds.Holonomic("ground", foot[1])],
        discrete=d,
        inputs=u,
        events=[
            ds.Event("legs_pass", q.stance - q.swing, ds.RISING, ds.Reset({"armed": 1.0})),
            ds.Event("heel_strike", strikes, ds.RISING, lands),
            ds.Event("falls", ca.fabs(q.stance) - np.pi / 2, ds.RISING, ds.Stop()),
        ],
        outputs={"swing_foot_height": (other[1], "m")},
    )


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Let a step begin: both feet are on the ground, and the legs have just changed places."""
    angle, rate = given["stance"], given["stance_dot"]
    length = parameters["length"]
    return {
        "x": length * math.sin(angle),
        "y": length * math.cos(angle),
        "stance": angle,
        "swing": -angle,
        "stance_dot": rate,
        "swing_dot": given["swing_dot"],
        "x_dot": length * math.cos(angle) * rate,
        "y_dot": -length * math.sin(angle) * rate,
    }


PERIODIC = ("stance", "swing", "stance_dot", "swing_dot")
GUESS = {
    "stance": (-ANGLE, ANGLE),
    "swing": (ANGLE, -ANGLE),
    "x": (-STEP / 2, STEP / 2),
    "y": (math.cos(ANGLE),),
    "stance_dot": (2 * ANGLE / PERIOD,),
    "swing_dot": (-2 * ANGLE / PERIOD,),
    "x_dot": (STEP / PERIOD,),
}


def cheapest(source: ds.MechanicalSystem | BoundCase, **options: Any) -> ds.analysis.Optimum:
    """Return the periodic step that costs least."""
    return ds.optimise(
        source,
        "torque**2",
        time=PERIOD,
        start={"stance": -ANGLE, "swing": ANGLE, "x": -STEP / 2, "y": math.cos(ANGLE)},
        periodic=PERIODIC,
        event="heel_strike",
        mode={"armed": 1.0},
        bounds={"ground": (0.0, math.inf)},
        guess=GUESS,
        nodes=8,
        **options,
    )


def optimum(case: BoundCase) -> ds.Answer:
    """Find the step of 0.4 m in 0.7 s that costs least."""
    found = cheapest(case)
    values = {
        "cost": found.cost,
        "digits": found.digits,
        "objection": found.objection,
        "rates": {name: float(found[name][0]) for name in ("stance_dot", "swing_dot")},
        "period_missed_by": max(
            size for name, size in found.excesses.items() if name.startswith("period")
        ),
    }
    return ds.Answer(values, words=str(found))


def torque() -> ca.SX:
    """Return the torque of the case as an expression of time."""
    place = 2.0 * ds.time / PERIOD - 1.0
    before, now = ca.SX(1), place
    found = TORQUE[0] * before + TORQUE[1] * now
    for coefficient in TORQUE[2:]:
        before, now = now, 2.0 * place * now - before
        found += coefficient * now
    return found


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw both legs on the ground, and the path of the hip."""
    stance, swing = (series(document, "states", name) for name in ("stance", "swing"))
    hip = ("x", "y")
    columns = {"to_foot": -np.pi / 2 - stance, "to_other": -np.pi / 2 - swing}
    foot, other = Polar(hip, 1.0, "to_foot"), Polar(hip, 1.0, "to_other")
    return Drawing(
        [
            Line([(-1.0, 0.0), (1.0, 0.0)], role="ground"),
            Trace(hip, label="path of the hip"),
            Line([foot, hip], label="leg that stands"),
            Line([hip, other], role="accent", label="leg that swings"),
            Circle(hip, 0.08, label="hip"),
            Dot(other, role="accent"),
        ],
        x_label="x (m)",
        y_label="y (m)",
        series=columns,
        camera=Camera(hip, 2.6),
    )


problem = ds.Problem(
    "walker-cheapest",
    title="The cheapest step of a walker on level ground",
    models={"legs": walker},
    sources=[
        "A. Goswami, B. Thuilot, B. Espiau, A study of the passive gait of a compass-like biped "
        "robot: symmetry and chaos, Int. J. Robotics Research 17 (1998) 1282-1301",
        "M. Kelly, An introduction to trajectory optimization: how to do your own direct "
        "collocation, SIAM Review 59 (2017) 849-904",
    ],
    start=start,
    start_values=lambda structure: ("stance", "stance_dot", "swing_dot"),
    drawing=drawing,
    analyses={"optimum": optimum},
    cases=[
        ds.Case(
            "cheapest",
            start={"stance": -ANGLE, "stance_dot": RATES[0], "swing_dot": RATES[1]},
            until=PERIOD + 0.02,
            inputs={"torque": torque()},
            note="a step of 0.4 m in 0.7 s; the integral of u^2 is 203.605246 N^2 m^2 s",
        )
    ],
)
