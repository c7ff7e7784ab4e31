"""A wheel without a rim that comes down a slope on its spokes.

Spokes of the length l, 2 alpha apart, carry a hub with all of the mass m, or, with the radius of
gyration k, a part of it spread out. The wheel turns about the tip of the spoke that stands, which
does not slip, until the next one strikes the slope, without bounce. In the model `tip` the reaction
of the slope is eliminated; in `contacts` those of every tip, along the normal and along the slope,
are unknown. Nothing is conserved over a step: impacts dissipate the work of gravity.

theta is the angle of the spoke that stands, from the vertical, forwards:

    (l^2 + k^2) theta'' = g l sin(theta)
    theta -> theta - 2 alpha,  theta' -> mu theta'     at theta = slope + alpha,
    mu = (l^2 cos(2 alpha) + k^2)/(l^2 + k^2)

from the angular momentum about the tip that lands. With the energy of one step, the wheel that
comes down steadily leaves each strike with

    theta'^2 = mu^2/(1 - mu^2) 4 g l sin(alpha) sin(slope)/(l^2 + k^2)

and the multiplier of this orbit is mu^2. It exists where that takes the wheel over its upright
position, theta'^2 > 2 g l (1 - cos(slope - alpha))/(l^2 + k^2): at the least slope its period grows
without bounds. A wheel that is too slow falls back on the spoke behind (event `falls_back`), one
that is too fast leaves the ground (`lifts_off`): both end a run of `tip`. In `contacts` the wheel
continues: it rocks to rest, or jumps.

`spokes`, their number, sets alpha to pi over it; in `tip`, alpha may also be any `half_angle`.

A start has the `rate` (rad/s) just after a strike, by default that of the steady wheel; `contacts`
starts later in this step, where the spoke is normal to the slope.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import scipy

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import (
    Camera,
    Circle,
    Drawing,
    Line,
    Polar,
    Trace,
    sum_over_events,
)
from daesolve.multibody.drawing.traced import numbers
from daesolve_problems.figures import Document, column, new_figure, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.typing import Parameters

Values = Mapping[str, float]
FEWEST = 5
"""Spokes: with four, a strike takes all of the rate."""


def _numbers(**more: Any) -> Parameters:
    return ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        length=(1.0, "m", ds.POSITIVE),
        slope=(0.08, "rad", ds.Interval(-math.pi / 2, math.pi / 2)),
        gravity=(9.81, "m/s^2", ds.POSITIVE),
        **more,
    )


def _checked(spokes: int) -> int:
    if spokes < FEWEST:
        raise OutOfRangeError(
            f"the wheel has {spokes} spokes, but needs at least {FEWEST} to roll on them"
        )
    return spokes


def about_a_tip(spokes: int = 8) -> ds.MechanicalSystem:
    """Pose the wheel about the spoke that stands, with its strikes as resets.

    Raises
    ------
    OutOfRangeError
        It has fewer than five spokes.
    """
    q = ds.coordinates(theta="rad")
    p = _numbers(
        half_angle=(
            math.pi / _checked(spokes),
            "rad",
            ds.Interval(0.0, math.pi / 4, open_low=True),
        ),
        gyration=(0.0, "m", ds.NON_NEGATIVE),
    )
    length, square = p.length, p.length**2 + p.gyration**2
    kept = (length**2 * ca.cos(2 * p.half_angle) + p.gyration**2) / square
    strike = ds.Reset({"theta": q.theta - 2 * p.half_angle, "theta_dot": kept * q.dot.theta})
    turning = p.gravity * length * ca.sin(q.theta) / square
    # The force of the slope carries the weight, and accelerates the hub about the tip.
    sine, cosine, turned = ca.sin(q.theta), ca.cos(q.theta), q.dot.theta**2
    ahead = p.mass * length * (turning * cosine - turned * sine)
    up = p.mass * (p.gravity - length * (turning * sine + turned * cosine))
    normal = ahead * ca.sin(p.slope) + up * ca.cos(p.slope)
    along = ahead * ca.cos(p.slope) - up * ca.sin(p.slope)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * square * q.dot.theta**2 / 2,
        potential=p.mass * p.gravity * length * ca.cos(q.theta),
        events=[
            ds.Event("strike", q.theta - p.slope - p.half_angle, ds.RISING, strike),
            ds.Event("falls_back", q.theta - p.slope + p.half_angle, ds.FALLING, ds.Stop()),
            ds.Event("lifts_off", normal, ds.FALLING, ds.Stop(whenever_past=True)),
        ],
        outputs={"normal": (normal, "N"), "friction": (along, "N")},
    )


def on_contacts(spokes: int = 8) -> ds.MechanicalSystem:
    """Pose the wheel in the plane, each tip a contact that slides, sticks and strikes.

    Raises
    ------
    OutOfRangeError
        It has fewer than five spokes.
    """
    angles = [2 * math.pi * k / spokes for k in range(_checked(spokes))]
    q = ds.coordinates(x="m", y="m", phi="rad")
    p = _numbers(gyration=(0.3, "m", ds.POSITIVE), grip=(1.5, "", ds.NON_NEGATIVE))
    tips: list[ds.Contact] = []
    for k, apart in enumerate(angles):
        angle = q.phi + apart
        place = q.x - p.length * ca.sin(angle)
        tips.append(
            ds.Contact(
                f"tip_{k}",
                q.y - p.length * ca.cos(angle),
                slip=ca.jacobian(place, q.vector) @ q.dot.vector,
                friction=p.grip,
                closed=k == 0,
            )
        )
    moving = q.dot.x**2 + q.dot.y**2 + p.gyration**2 * q.dot.phi**2
    height = q.y * ca.cos(p.slope) - q.x * ca.sin(p.slope)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * moving / 2,
        potential=p.mass * p.gravity * height,
        goals=tips,
    )


# -- the steady wheel in closed form -------------------------------------------------------------


def keeps(p: Values) -> float:
    """Return mu, the part of its rate that the wheel keeps at a strike."""
    length, gyration = p["length"] ** 2, p["gyration"] ** 2
    return (length * math.cos(2.0 * p["half_angle"]) + gyration) / (length + gyration)


def steady_rate(p: Values) -> float:
    """Return the rate of the steady wheel just after a strike, rad/s; 0 where it goes uphill."""
    kept, square = keeps(p) ** 2, p["length"] ** 2 + p["gyration"] ** 2
    fall = 4.0 * p["gravity"] * p["length"] * math.sin(p["half_angle"]) / square
    return math.sqrt(max(kept / (1.0 - kept) * fall * math.sin(p["slope"]), 0.0))


def rate_at(p: Values, theta: float, rate: float) -> float:
    """Return the rate at an angle of a step, rad/s, 0 if it is not reached; from that at first."""
    square = p["length"] ** 2 + p["gyration"] ** 2
    first = math.cos(p["slope"] - p["half_angle"])
    gained = 2.0 * p["gravity"] * p["length"] * (first - math.cos(theta)) / square
    return math.sqrt(max(rate**2 + gained, 0.0))


def step_time(p: Values) -> float | None:
    """Return the period of the steady wheel, s; None if it does not come over its spoke."""
    rate, half, slope = steady_rate(p), p["half_angle"], p["slope"]
    if rate == 0.0 or (slope < half and rate_at(p, 0.0, rate) == 0.0):
        return None
    found = scipy.integrate.quad(
        lambda theta: 1.0 / rate_at(p, theta, rate),
        slope - half,
        slope + half,
        epsabs=0.0,
        epsrel=1e-13,
        limit=500,
    )
    return float(found[0])


def closed_form(case: Any) -> ds.Answer:
    """Return the steady wheel of a case in closed form."""
    p = _with_angle(case.full_parameters, case.full_structure)
    period = step_time(p)
    if period is None:
        return ds.Answer({"steady": "none: the wheel does not come over its spoke"})
    return ds.Answer({"rate": steady_rate(p), "period": period, "multiplier": keeps(p) ** 2})


def _with_angle(p: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    return {"half_angle": math.pi / structure["spokes"], **p}


def start_on_tip(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Begin a step: the spoke in front has just struck."""
    p = parameters
    return {
        "theta": p["slope"] - p["half_angle"],
        "theta_dot": given.get("rate", steady_rate(p)),
    }


def start_on_contacts(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Let the spoke that stands be normal to the slope, as the step takes it there."""
    p = _with_angle(parameters, structure)
    rate = rate_at(p, p["slope"], given.get("rate", steady_rate(p)))
    return {
        "x": 0.0,
        "y": p["length"],
        "phi": 0.0,
        "x_dot": p["length"] * rate,
        "y_dot": 0.0,
        "phi_dot": rate,
    }


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the spokes and the hub on the slope, with the path of the hub."""
    p = document["parameters"]
    length, slope = p["length"], p["slope"]
    count = _spokes(document)
    spacing = 2.0 * p["half_angle"] if "half_angle" in p else 2.0 * math.pi / count
    hub, angle = _placed(document)
    across = numbers([np.cos(slope), -np.sin(slope)])
    normal = numbers([np.sin(slope), np.cos(slope)])
    places = hub[:, :1] * across + hub[:, 1:] * normal
    # Forwards is clockwise; a spoke points from the hub down.
    columns = {"hub_x": places[:, 0], "hub_y": places[:, 1]}
    columns |= {f"spoke_{k}": -math.pi / 2 - slope - angle - k * spacing for k in range(count)}
    centre = ("hub_x", "hub_y")
    return Drawing(
        [
            Line([tuple(end * across) for end in _ends(document)], role="ground"),
            Trace(centre, label="path of the hub"),
            *[
                Line(
                    [centre, Polar(centre, length, f"spoke_{k}")],
                    role="accent" if k == 0 else "body",
                )
                for k in range(count)
            ],
            Circle(centre, 0.12 * length, label="hub"),
        ],
        series=columns,
        camera=Camera(centre, 3.2 * length),
    )


def _spokes(document: Document) -> int:
    p = document["parameters"]
    if "half_angle" in p:
        return int(math.pi / p["half_angle"] + 1e-9)
    return int(document["structure"]["spokes"])


def _placed(document: Document) -> tuple[np.ndarray, np.ndarray]:
    """Return the hub along and across the slope, (n, 2), and how far the wheel has turned, (n,)."""
    p = document["parameters"]
    if "half_angle" not in p:
        states = [series(document, "states", name) for name in ("x", "y", "phi")]
        return np.column_stack(states[:2]), states[2]
    steps = _steps(document)
    leaning = series(document, "states", "theta") - p["slope"]
    along = 2.0 * p["length"] * np.sin(p["half_angle"]) * steps
    hub = [along + p["length"] * np.sin(leaning), p["length"] * np.cos(leaning)]
    return np.column_stack(hub), leaning + 2.0 * p["half_angle"] * steps


def _steps(document: Document) -> np.ndarray:
    return sum_over_events(document, "strike", lambda event: 1.0)


def _ends(document: Document) -> list[Any]:
    """Return where the ground that is drawn begins and ends, along the slope."""
    p = document["parameters"]
    if "half_angle" in p:
        stride, ways = 2.0 * p["length"] * np.sin(p["half_angle"]), _steps(document)
    else:
        stride, ways = 1.0, series(document, "states", "x")
    margin = 3.0 * p["length"]
    return [float(ways.min()) * stride - margin, float(ways.max()) * stride + margin]


def portrait(document: Document) -> Figure:
    """Draw the rate over time, and over the angle."""
    name = "theta" if "theta" in document["states"] else "phi"
    rate = column(document, f"{name}_dot")
    figure = new_figure(8.0, 3.2)
    over_time, over_angle = figure.subplots(1, 2)
    over_time.plot(series(document, "times"), rate, linewidth=0.8)
    over_angle.plot(series(document, "states", name), rate, ".", markersize=1.5)
    over_time.set_xlabel("t (s)")
    over_angle.set_xlabel(f"{name} (rad)")
    for axes in (over_time, over_angle):
        axes.set_ylabel("rate (rad/s)")
    return figure


problem = ds.Problem(
    "rimless-wheel",
    title="A rimless wheel on a slope",
    models={"tip": about_a_tip, "contacts": on_contacts},
    structure={"spokes": 8},
    sources=[
        "T. McGeer, Passive dynamic walking, Int. J. Robotics Research 9 (1990) 62-82",
        "M. J. Coleman, A. Chatterjee, A. Ruina, Motions of a rimless spoked wheel: a simple 3D "
        "system with impacts, Dyn. Stab. Systems 12 (1997) 139-159",
    ],
    start={"tip": start_on_tip, "contacts": start_on_contacts},
    start_values=lambda structure: ("rate",),
    analyses={"closed-form": closed_form},
    drawing=drawing,
    figures={"rates": portrait},
    cases=[
        ds.Case(
            "steady",
            until=20.0,
            note="a step takes 1.0345498114232793 s; each step halves a deviation",
        ),
        ds.Case(
            "settles",
            start={"rate": 2.5},
            until=20.0,
            note="from a faster start it reaches the same steps",
        ),
        ds.Case(
            "unit",
            parameters={"half_angle": 0.3, "slope": 0.05, "gravity": 1.0},
            until=40.0,
            note="in units of spoke and gravity",
        ),
        ds.Case(
            "falls-back",
            parameters={"slope": 0.06},
            until=20.0,
            note="below a slope of 0.0682294524522872 no steady wheel comes over its spoke",
        ),
        ds.Case(
            "contacts",
            model="contacts",
            until=20.0,
            note="eight tips that strike, stick and leave",
        ),
        ds.Case(
            "rocks-to-rest",
            model="contacts",
            parameters={"slope": 0.05},
            start={"rate": 1.5},
            until=20.0,
            note="too slow: it rocks between two spokes, ever faster, and comes to rest",
        ),
    ],
)
