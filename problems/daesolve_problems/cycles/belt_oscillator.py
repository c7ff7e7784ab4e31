"""A mass on a belt, held by a spring: it sticks, slips back, and sticks again.

A mass lies on a belt that runs on with a steady speed v; a spring and a damper tie it to a wall.
The belt takes it along until the spring pulls it off; it slips back, and is caught where it comes
to the speed of the belt again. The one unknown reaction is the friction while it sticks, up to mu_s
N; while it slips, mu_k N. Nothing is conserved: the belt does work, and friction and damper
dissipate it.

    m x'' + c x' + k x = F,     |F| <= mu_s N where x' = v,     F = mu_k N where x' < v

It begins to slip at x_s = (mu_s N - c v)/k. Its speed then is that of a free damped oscillator
which starts with v and the acceleration -(mu_s - mu_k) N/m; it sticks where that is v again, if it
ever comes so far. Without a damper, with D = (mu_s - mu_k) N/k and w^2 = k/m, that is after (2/w)
(pi - atan(D w/v)) at x_s - 2 D, and the period is 2 D/v longer. With a damper the cycle ends at a
speed of the belt at which the mass comes to that speed with no acceleration: beyond, it slips for
ever and comes to rest at mu_k N/k.

The multipliers of the cycle are 1, for a shift of time, and 0: sticking forgets the state before.

A start without `x` sticks to the belt, where it is pulled by mu_k N: on the cycle, if there is one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

import daesolve as ds
from daesolve.multibody import Coulomb
from daesolve.multibody.drawing import Circle, Drawing, Line, Linear, Outline
from daesolve_problems.figures import Document, column, draw_curve, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Values = Mapping[str, float]


def posed() -> ds.MechanicalSystem:
    """Pose the mass, the spring, the damper and the friction of the belt."""
    q = ds.coordinates(x="m")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        stiffness=(100.0, "N/m", ds.POSITIVE),
        damping=(0.0, "N s/m", ds.NON_NEGATIVE),
        load=(10.0, "N", ds.NON_NEGATIVE),
        static_friction=(0.4, "", ds.NON_NEGATIVE),
        kinetic_friction=(0.3, "", ds.NON_NEGATIVE),
        belt_speed=(0.1, "m/s", ds.POSITIVE),
    )
    law = Coulomb(p.kinetic_friction, p.static_friction)
    belt = law.act("belt", q.dot.x - p.belt_speed, p.load)
    works = ds.states(heat="J")
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": belt.force - p.damping * q.dot.x},
        goals=belt.goals,
        discrete=[belt.discrete],
        events=belt.events,
        outputs={"friction": (belt.total, "N"), "slip": (belt.slip, "m/s")},
        quadratures=works,
        integrands={"heat": -belt.power},
    )


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Let the mass stick to the belt, pulled by as much as friction of slip."""
    p = parameters
    speed = p["belt_speed"]
    pulled = p["kinetic_friction"] * p["load"] - p["damping"] * speed
    return {
        "x": given.get("x", pulled / p["stiffness"]),
        "x_dot": given.get("x_dot", speed),
        "heat": 0.0,
    }


# -- the cycle in closed form --------------------------------------------------------------------


@dataclass(frozen=True)
class Cycle:
    """A stick-slip cycle.

    Parameters
    ----------
    slips_from, sticks_from
        Where it begins to slip, and to stick, m.
    slip_time, stick_time
        For how long, s.
    """

    slips_from: float
    sticks_from: float
    slip_time: float
    stick_time: float

    @property
    def period(self) -> float:
        """Of the cycle, s."""
        return self.slip_time + self.stick_time


def cycle(p: Values) -> Cycle | None:
    """Return the cycle of these parameters, None if there is none."""
    mass, speed, load = p["mass"], p["belt_speed"], p["load"]
    decay = p["damping"] / (2.0 * mass)
    squared = p["stiffness"] / mass - decay**2
    excess = (p["static_friction"] - p["kinetic_friction"]) * load
    if squared <= 0.0 or excess <= 0.0:
        return None
    turning = math.sqrt(squared)
    sine = (decay * speed - excess / mass) / turning

    def over(time: float) -> float:
        """Return by how much the mass is faster than the belt, if friction did not reverse."""
        swing = speed * math.cos(turning * time) + sine * math.sin(turning * time)
        return math.exp(-decay * time) * swing - speed

    # The speed has its extrema where tan(turning t) is this slope; the least one comes first.
    least = (
        math.atan2(turning * sine - decay * speed, turning * speed + decay * sine)
        % math.pi
        / turning
    )
    most = least + math.pi / turning
    if over(most) <= 0.0:
        return None
    slip_time = float(scipy.optimize.brentq(over, least, most, xtol=1e-16, rtol=1e-15))
    slips_from = (p["static_friction"] * load - p["damping"] * speed) / p["stiffness"]
    # The equation of motion gives the place by speed and acceleration.
    swing = turning * (sine * math.cos(turning * slip_time) - speed * math.sin(turning * slip_time))
    acceleration = math.exp(-decay * slip_time) * swing - decay * speed
    pulled = p["kinetic_friction"] * load - p["damping"] * speed - mass * acceleration
    sticks_from = pulled / p["stiffness"]
    return Cycle(slips_from, sticks_from, slip_time, (slips_from - sticks_from) / speed)


def closed_form(case: Any) -> ds.Answer:
    """Return the cycle of a case in closed form."""
    found = cycle(case.full_parameters)
    if found is None:
        return ds.Answer({"cycle": "none: the mass slips for ever, or never"})
    return ds.Answer(
        {
            "slips from": found.slips_from,
            "sticks from": found.sticks_from,
            "slip time": found.slip_time,
            "stick time": found.stick_time,
            "period": found.period,
        }
    )


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the mass on the belt, with marks that go along, and the spring."""
    x, times = series(document, "states", "x"), series(document, "times")
    reach = max(float(np.ptp(x)), 1e-6)
    half = 0.25 * reach
    low, high = float(x.min()) - 3 * reach, float(x.max()) + 2 * reach
    belt = document["parameters"]["belt_speed"] * times
    gap = 1.5 * reach
    count = max(int((high - low) / gap), 1)
    marks = {f"mark_{k}": low + (belt + k * gap) % (count * gap) for k in range(count)}
    turns = 12
    spring = [
        (
            Linear({"x": k / turns}, low + (-half - low) * k / turns),
            half + 0.4 * half * (0, 1, 0, -1)[k % 4],
        )
        for k in range(turns + 1)
    ]
    box = [(-half, 0.0), (half, 0.0), (half, 2 * half), (-half, 2 * half)]
    return Drawing(
        [
            Line([(low, 0.0), (high, 0.0)], role="ground", label="belt"),
            Line([(low, -half), (low, 3 * half)], role="ground"),
            *[Circle((name, -0.3 * half), 0.2 * half, role="detail") for name in marks],
            Line(spring, role="detail", label="spring"),
            Outline(box, at=("x", 0.0), label="mass"),
        ],
        y_label="",
        series=marks,
    )


def cycles(document: Document) -> Figure:
    """Draw the speed over time and over the place, and the friction."""
    times = series(document, "times")
    speed = series(document, "states", "x_dot")
    figure, (over_time, over_place, friction) = panels_over_time(3)
    over_time.axhline(document["parameters"]["belt_speed"], color="0.6", linewidth=0.8)
    over_time.plot(times, speed, linewidth=1.0)
    over_time.set_ylabel("speed (m/s)")
    draw_curve(over_place, document, "x", "x_dot", linewidth=1.0)
    over_place.set_xlabel("x (m)")
    over_place.set_ylabel("speed (m/s)")
    friction.plot(times, column(document, "friction"), linewidth=1.0)
    friction.set_ylabel("friction (N)")
    return figure


problem = ds.Problem(
    "belt-oscillator",
    title="A mass that sticks to a belt and slips",
    models={"mass": posed},
    sources=[
        "J. P. den Hartog, Mechanical Vibrations (1934)",
        "R. I. Leine, H. Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems "
        "(2004)",
    ],
    start=start,
    start_values=lambda structure: ("x", "x_dot"),
    analyses={"closed-form": closed_form},
    drawing=drawing,
    figures={"cycle": cycles},
    cases=[
        ds.Case("undamped", until=10.0, note="a period of 0.671238898038469 s, 0.2 s of it stuck"),
        ds.Case(
            "slow",
            parameters={"static_friction": 0.6, "kinetic_friction": 0.2, "belt_speed": 0.05},
            until=20.0,
            note="long sticking, short slips: a relaxation oscillation",
        ),
        ds.Case(
            "damped",
            parameters={"damping": 0.4, "belt_speed": 0.05},
            until=10.0,
            note="the cycle exists up to a belt speed of 0.188327991447274 m/s",
        ),
        ds.Case(
            "slips-for-ever",
            parameters={"damping": 0.4, "belt_speed": 0.5},
            until=60.0,
            note="the belt is too fast: after one slip the mass comes to rest over it",
        ),
    ],
)
