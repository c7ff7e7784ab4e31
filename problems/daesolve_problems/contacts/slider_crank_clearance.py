"""A slider-crank whose slider rubs in its guide, with clearance and without.

A crank drives a slider by a massless rod; the slider moves between two walls and rubs on them. With
clearance it strikes the walls, slides on them and leaves them; the unknown reactions are the force
of the rod, and the normal force and the friction of each wall. Nothing is conserved: friction and
impacts take energy.

With the angle theta of the crank, its length r and its moment of inertia J, the rod l, the slider
(x, y) of the mass m and the clearance d to either side,

    (x - r cos theta)^2 + (y - r sin theta)^2 = l^2,    -d <= y <= d,    T = -mu N sgn x'.

At its dead centres the slider stands still for an instant and turns round: its slip passes through
zero without sticking, as the crank moves on. In the model `guides` there is no clearance, y = 0: a
pair of supports of which one at most is loaded. A torque may drive the crank.

A start has the angle `theta` and the rate `theta_dot` of the crank, the slider on the lower wall.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Dot, Drawing, Line, Outline, Polar
from daesolve_problems.figures import Document, column, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.typing import AnyGoal, DifferentiableVector, Parameters


def _numbers(**more: tuple[float, str, ds.Interval]) -> Parameters:
    return ds.parameters(
        crank_length=(0.1, "m", ds.POSITIVE),
        rod_length=(0.3, "m", ds.POSITIVE),
        crank_inertia=(0.05, "kg m^2", ds.POSITIVE),
        slider_mass=(1.0, "kg", ds.POSITIVE),
        friction=(0.2, "", ds.NON_NEGATIVE),
        torque=(0.0, "N m"),
        gravity=(9.81, "m/s^2"),
        **more,
    )


def _crank(
    q: DifferentiableVector,
    p: Parameters,
    goals: Sequence[AnyGoal],
    pairs: Sequence[ds.friction.VariantPair] = (),
) -> ds.MechanicalSystem:
    """Pose crank, rod and slider with what holds the slider."""
    pin = p.crank_length * ca.vertcat(ca.cos(q.theta), ca.sin(q.theta))
    reach = ca.vertcat(q.x, q.y) - pin
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.crank_inertia * q.dot.theta**2 / 2
        + p.slider_mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.slider_mass * p.gravity * q.y,
        force={"theta": p.torque},
        meters={"drive_work": (p.torque * q.dot.theta, "J")},
        goals=[ds.Holonomic("rod", ca.dot(reach, reach) - p.rod_length**2), *goals],
        pairs=pairs,
    )


def between_walls() -> ds.MechanicalSystem:
    """Pose the slider between two walls that it may leave."""
    q = ds.coordinates(theta="rad", x="m", y="m")
    p = _numbers(
        clearance=(1e-3, "m", ds.POSITIVE),
        restitution=(0.0, "", ds.NON_NEGATIVE),
    )
    walls = [
        ds.Contact(
            wall,
            p.clearance - side * q.y,
            slip=q.dot.x,
            friction=p.friction,
            restitution=p.restitution,
            closed=wall == "bottom",
        )
        for wall, side in (("bottom", -1.0), ("top", 1.0))
    ]
    return _crank(q, p, walls)


def in_guides() -> ds.MechanicalSystem:
    """Pose the slider in a guide without clearance."""
    q = ds.coordinates(theta="rad", x="m", y="m")
    p = _numbers()
    top, bottom = (
        ds.friction.Support(velocity=(q.dot.x, q.dot.y), normal=(0.0, push), friction=p.friction)
        for push in (-1.0, 1.0)
    )
    across = ds.Holonomic("across", q.y, ideal=False)
    return _crank(q, p, [across], [ds.friction.VariantPair("guide", [top, bottom])])


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Put the slider on the lower wall, moving as the crank does."""
    p, theta, rate = parameters, given["theta"], given["theta_dot"]
    r, y = p["crank_length"], -p.get("clearance", 0.0)
    rise = r * math.sin(theta) - y
    if abs(rise) >= p["rod_length"]:
        raise OutOfRangeError(
            f"the crank's pin is {abs(rise):g} m off the slider, farther than the rod of "
            f"{p['rod_length']:g} m can reach"
        )
    ahead = math.sqrt(p["rod_length"] ** 2 - rise**2)
    return {
        "theta": theta,
        "theta_dot": rate,
        "x": r * math.cos(theta) + ahead,
        "y": y,
        "x_dot": -rate * r * (math.sin(theta) + math.cos(theta) * rise / ahead),
        "y_dot": 0.0,
    }


def guide(document: Document) -> Figure:
    """Draw the position of the slider between its walls, and the rate of the crank."""
    times = series(document, "times")
    figure, (across, rate) = panels_over_time(2)
    across.plot(times, 1e3 * column(document, "y"), linewidth=1.0)
    across.set_ylabel("slider across its guide (mm)")
    rate.plot(times, series(document, "states", "theta_dot"), linewidth=1.2)
    rate.set_ylabel("rate of the crank (rad/s)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw crank, rod and slider; the clearance is drawn as it is."""
    p = document["parameters"]
    crank, rod = p["crank_length"], p["rod_length"]
    half = 0.25 * crank
    pin = Polar((0.0, 0.0), "crank_length", "theta")
    box = [(-1.6 * half, -half), (1.6 * half, -half), (1.6 * half, half), (-1.6 * half, half)]
    reach = rod - crank - 2.0 * half, rod + crank + 2.0 * half
    walls = [side * (half + p.get("clearance", 0.0)) for side in (-1.0, 1.0)]
    return Drawing(
        [
            *[Line([(reach[0], y), (reach[1], y)], role="ground") for y in walls],
            Outline(box, at=("x", "y"), label="slider"),
            Line([pin, ("x", "y")], label="rod"),
            Line([(0.0, 0.0), pin], role="accent", label="crank"),
            Dot(pin, role="accent"),
        ]
    )


SPUN = {"theta": 0.001, "theta_dot": 40.0}

problem = ds.Problem(
    "slider-crank-clearance",
    title="A slider-crank with friction and clearance in its guide",
    models={"walls": between_walls, "guides": in_guides},
    sources=[
        "P. Flores, J. Ambrosio, J. C. P. Claro, H. M. Lankarani, Kinematics and Dynamics of "
        "Multibody Systems with Imperfect Joints (2008)",
    ],
    start=start,
    figures={"guide": guide},
    drawing=drawing,
    cases=[
        ds.Case(
            "clearance",
            start=SPUN,
            until=1.8,
            note="ten turns with 1 mm to either side: 40 impacts; it turns round 19 times",
        ),
        ds.Case(
            "guided",
            model="guides",
            start=SPUN,
            until=1.80145309,
            note="ten turns without clearance: friction takes 11.954 J, the slip turns 20 times",
        ),
        ds.Case(
            "driven",
            model="guides",
            parameters={"torque": 0.19},
            start=SPUN,
            until=180.0,
            note="a torque compensates friction: a thousand turns",
        ),
    ],
)
