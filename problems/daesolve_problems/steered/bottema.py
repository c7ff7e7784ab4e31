"""Bottema's car: two hinged bodies on skates, which nothing drives.

A frame on a level plane has a rear axle that cannot move sideways; a front axle turns freely about
a pin of the frame, in its own middle and its own mass centre, and cannot move sideways either. The
two unknown reactions are the forces of the ground along the axles; the pin turns without friction.
The energy is conserved, and so is the absolute rate at which the front axle turns.

Q, the middle of the rear axle, is at x, y; the frame points to psi, the front axle goes towards
`direction`, phi = direction - psi. With the wheelbase L, the speed w of the pin along the front
wheels and C = direction',

    u = w cos(phi),  psi' = w sin(phi) / L,  phi' = C - psi',
    w^2 mu(phi) = V^2,  mu = m cos(phi)^2 + (m a^2 + J) sin(phi)^2 / L^2 + m_f,

u the speed of Q, m, a and J mass, mass centre (ahead of Q) and moment of inertia of the frame, m_f
the front mass. If |C| is larger than |psi'| can be, phi goes round and round, and the path of Q has
infinitely many cusps (cos phi = 0) and inflections (sin phi = 0); else phi comes to rest where
psi' = C, and the car ends up going round a circle. Where mu is constant, the pin moves evenly on a
circle, and Q draws a circle's tractrix.

A start has the `angle` phi, the `speed` w and the `rate` C.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import scipy

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Linear, Polar, Shape, Trace
from daesolve.typing import BoundCase
from daesolve_problems.figures import Document, column, draw_paths, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Values = Mapping[str, float]
ORIGIN = ("x", "y")


def car() -> ds.MechanicalSystem:
    """Pose the car by the middle of its rear axle and the directions of both bodies."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, direction=ds.ANGLE)
    p = ds.parameters(
        mass=(3.0, "kg", ds.POSITIVE),
        centre=(0.4, "m"),
        inertia=(0.5, "kg m^2", ds.POSITIVE),
        wheelbase=(1.0, "m", ds.POSITIVE),
        front_mass=(0.5, "kg", ds.NON_NEGATIVE),
        front_inertia=(0.02, "kg m^2", ds.POSITIVE),
    )
    sine, cosine = ca.sin(q.psi), ca.cos(q.psi)
    along = cosine * q.dot.x + sine * q.dot.y
    aside = cosine * q.dot.y - sine * q.dot.x
    pin = aside + p.wheelbase * q.dot.psi
    phi = q.direction - q.psi
    frame = p.mass * (along**2 + (aside + p.centre * q.dot.psi) ** 2) + p.inertia * q.dot.psi**2
    front = p.front_mass * (along**2 + pin**2) + p.front_inertia * q.dot.direction**2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(frame + front) / 2,
        goals=[
            ds.Nonholonomic("rear", aside, unit="N"),
            ds.Nonholonomic("front", pin * ca.cos(phi) - along * ca.sin(phi), unit="N"),
            ds.Invariant("front_turn", q.dot.direction),
        ],
        independent={
            "speed": along * ca.cos(phi) + pin * ca.sin(phi),
            "turning": q.dot.direction,
        },
        outputs={
            "phi": (phi, "rad"),
            "rear_speed": (along, "m/s"),
            "speed": (along * ca.cos(phi) + pin * ca.sin(phi), "m/s"),
        },
    )


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Place Q at the origin, the frame along x."""
    phi, speed = given["angle"], given["speed"]
    return {
        "x": 0.0,
        "y": 0.0,
        "psi": 0.0,
        "direction": phi,
        "x_dot": speed * math.cos(phi),
        "y_dot": 0.0,
        "psi_dot": speed * math.sin(phi) / parameters["wheelbase"],
        "direction_dot": given["rate"],
    }


def masses(phi: Any, parameters: Values) -> Any:
    """Return mu(phi), kg; of arrays as well."""
    p = parameters
    turning = (p["mass"] * p["centre"] ** 2 + p["inertia"]) / p["wheelbase"] ** 2
    return p["mass"] * np.cos(phi) ** 2 + turning * np.sin(phi) ** 2 + p["front_mass"]


def kind(case: BoundCase) -> ds.Answer:
    """Report which of Bottema's two cases a motion is, by the closed forms.

    `largest_turn` is the largest |psi'|; where phi comes to rest, `angle` and `radius` are those of
    the circle at last; else `period` is the time of a whole turn of phi.
    """
    p, given = case.full_parameters, case.full_start
    level = given["speed"] * math.sqrt(float(masses(given["angle"], p)))

    def turn(phi: float) -> float:
        return level * math.sin(phi) / (p["wheelbase"] * math.sqrt(float(masses(phi, p))))

    # psi'^2 is sin^2 / (A + B sin^2) with A > 0: it is largest where the front axle stands across.
    largest = abs(turn(math.pi / 2))
    rate = given["rate"]
    if abs(rate) > largest:
        time, _ = scipy.integrate.quad(lambda phi: 1.0 / abs(rate - turn(phi)), 0.0, 2 * math.pi)
        return ds.Answer({"settles": False, "largest_turn": largest, "period": float(time)})
    sense = math.copysign(1.0, level)
    first: float = scipy.optimize.brentq(
        lambda phi: turn(phi) - rate, -math.pi / 2, math.pi / 2, xtol=1e-15
    )
    # phi' = C - psi' comes to rest stably where psi' grows with phi: on the side of w > 0 ahead.
    angle = first if sense > 0.0 else math.copysign(math.pi, first) - first
    return ds.Answer(
        {
            "settles": True,
            "largest_turn": largest,
            "angle": float(angle),
            "radius": p["wheelbase"] / abs(math.tan(angle)) if rate else math.inf,
        }
    )


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the frame, both axles and the path of the middle of the rear one."""
    base = document["parameters"]["wheelbase"]
    half = 0.25 * base
    frame, front = Linear({"psi": 1.0}), Linear({"direction": 1.0})
    pin = Polar(ORIGIN, base, frame)

    def axle(middle: Any, turned: Linear) -> list[Any]:
        quarter = math.pi / 2
        return [Polar(middle, half, Linear(turned.terms, way * quarter)) for way in (1.0, -1.0)]

    shapes: list[Shape] = [
        Trace(ORIGIN, label="path of the rear axle"),
        Line([ORIGIN, pin], label="frame"),
        Line(axle(ORIGIN, frame), role="detail"),
        Line(axle(pin, front), role="accent", label="front axle"),
        Dot(pin, role="accent"),
    ]
    return Drawing(shapes, x_label="x (m)", y_label="y (m)")


def _places(document: Document) -> dict[str, np.ndarray]:
    rear = column(document, "x") + 1j * column(document, "y")
    base = document["parameters"]["wheelbase"]
    return {"rear axle": rear, "pin": rear + base * np.exp(1j * column(document, "psi"))}


def paths(document: Document) -> Figure:
    """Draw the paths of both axles: the rear one's has cusps."""
    return draw_paths(document, _places)


def speeds(document: Document) -> Figure:
    """Draw the speed of the rear axle, and the angle of the front one against the frame."""
    times = series(document, "times")
    figure, panels = panels_over_time(2)
    for axes, name, label in zip(
        panels, ("rear_speed", "phi"), ("speed of the rear axle (m/s)", "φ (rad)"), strict=True
    ):
        axes.plot(times, column(document, name), linewidth=1.0)
        axes.set_ylabel(label)
    return figure


problem = ds.Problem(
    "bottema-car",
    title="Bottema's car: two hinged bodies on skates",
    models={"skates": car},
    sources=[
        "O. Bottema, Die Bewegung eines einfachen Wagenmodells, Z. angew. Math. Mech. 44 (1964) "
        "585-593",
        "A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics "
        "of wheeled vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, introduction",
    ],
    start=start,
    drawing=drawing,
    figures={"paths": paths, "speed and angle": speeds},
    analyses={"kind": kind},
    cases=[
        ds.Case(
            "round-and-round",
            start={"angle": 0.3, "speed": 1.0, "rate": 3.0},
            until=20.0,
            note="the front axle keeps turning round: endless cusps and inflections",
        ),
        ds.Case(
            "settling",
            start={"angle": 2.5, "speed": 1.0, "rate": 0.4},
            until=20.0,
            note="one cusp, and a circle at last",
        ),
        ds.Case(
            "tractrix",
            parameters={"mass": 3.0, "centre": 0.8, "inertia": 1.08},
            start={"angle": 0.3, "speed": 1.0, "rate": 2.0},
            until=20.0,
            note="m = (m a^2 + J) / L^2: the pin moves evenly round a circle, the rear axle "
            "follows a tractrix of it",
        ),
    ],
)
