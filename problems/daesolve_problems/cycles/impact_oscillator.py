"""A driven oscillator that strikes a wall: impacts, grazing, and how its stability is lost.

A mass on a spring with a damper is driven by F cos(w t), and strikes a rigid wall, which throws it
back with r times its speed. The one unknown reaction is the force of the wall. Nothing is
conserved.

    m x'' + c x' + k x = F cos(w t),     x <= clearance,     x'+ = -r x'- there

Without impacts the motion is a sine X(t) of the amplitude F/sqrt((k - m w^2)^2 + (c w)^2), which
grazes the wall where that is as large as `clearance`. Beyond, there is an orbit with one impact
each period. What is left of a flight without the sine, z = (x - X, x' - X'), is a free motion, so
that it is known in closed form: with the matrix E that takes z over the time T between two impacts
and the speed u with which it strikes,

    (E - 1) z+ = (0, (1 + r) u),     z+ = (clearance - X, -r u - X')

gives X and X' at the impact as multiples of u, and X^2 + X'^2/w^2 = amplitude^2 then u. The product
of the multipliers is r^2 exp(-c T/m), and their sum grows without bounds, as 1/u, where the orbit
comes to graze the wall.

A start is at phase 0 of the drive. Without `x` and `x_dot` it is on the sine if that does not reach
the wall, otherwise on the orbit with one impact in `periods` periods of the drive (1).
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
from daesolve.multibody.drawing import Drawing, Line, Linear, Outline
from daesolve_problems.figures import Document, draw_curve, new_figure, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Values = Mapping[str, float]
ROUNDING = 1e-12
"""What a free motion comes back to itself with."""
LOOKS = 1001
"""The looks at a flight for a touch between its impacts."""


def posed() -> ds.MechanicalSystem:
    """Pose the mass, its spring, its damper and the wall."""
    q = ds.coordinates(x="m")
    p = ds.parameters(
        mass=(1.0, "kg", ds.POSITIVE),
        stiffness=(1.0, "N/m", ds.POSITIVE),
        damping=(0.1, "N s/m", ds.NON_NEGATIVE),
        force=(7.0, "N"),
        frequency=(2.8, "rad/s", ds.POSITIVE),
        clearance=(1.0, "m"),
        restitution=(0.8, "", ds.Interval(0.0, 1.0)),
    )
    drive = p.force * ca.cos(p.frequency * ds.time)
    wall = ds.Contact("wall", p.clearance - q.x, restitution=p.restitution, closed=False)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": drive - p.damping * q.dot.x},
        goals=[wall],
        outputs={"drive": (drive, "N")},
    )


# -- orbits in closed form -----------------------------------------------------------------------


def response(p: Values) -> complex:
    """Return the sine that the drive makes without a wall, X = Re(response exp(i w t)), m.

    Raises
    ------
    OutOfRangeError
        It would grow without bounds.
    """
    resisting = resistance(p)
    if resisting == 0.0:
        raise OutOfRangeError(
            "without a damper the drive is at resonance, so there is no periodic motion: start "
            "from x and x_dot, or set damping"
        )
    return p["force"] / resisting


def resistance(p: Values) -> complex:
    """Return the force that drives a sine of 1 m at the frequency of the drive, N."""
    frequency = p["frequency"]
    return complex(p["stiffness"] - p["mass"] * frequency**2, p["damping"] * frequency)


def sine(p: Values, time: float | np.ndarray) -> np.ndarray:
    """Return X and X' of this sine, (2,) or (2, n), m and m/s."""
    turning = response(p) * np.exp(1j * p["frequency"] * np.asarray(time))
    return np.array([turning.real, -p["frequency"] * turning.imag])


def free(p: Values, time: float) -> np.ndarray:
    """Return the matrix that takes a free motion (x, x') over a time, (2, 2)."""
    rates = [[0.0, 1.0], [-p["stiffness"] / p["mass"], -p["damping"] / p["mass"]]]
    return scipy.linalg.expm(time * np.array(rates))


def one_impact(p: Values, periods: int = 1) -> tuple[float, float]:
    """Return time (s, in the first period) and speed (m/s) of the impacts of an orbit.

    Parameters
    ----------
    p
        The parameters.
    periods
        Of the drive, between two impacts.

    Raises
    ------
    OutOfRangeError
        There is no such orbit, or it would come to the wall in between; without a damper, all
        motions come back after this time.
    """
    frequency, wall, r = p["frequency"], p["clearance"], p["restitution"]
    between = periods * 2.0 * math.pi / frequency
    back = free(p, between) - np.eye(2)
    rates = np.roots([p["mass"], p["damping"], p["stiffness"]])
    if np.min(np.abs(np.exp(between * rates) - 1.0)) < ROUNDING:
        raise OutOfRangeError(
            f"after {periods} periods of the drive the undamped mass returns to its place, "
            "whatever the impact: start from x and x_dot, or set damping"
        )
    a, b = np.linalg.solve(back, [0.0, 1.0 + r])
    square = a**2 + ((r + b) / frequency) ** 2
    roots = np.roots([square, -2.0 * a * wall, wall**2 - abs(response(p)) ** 2])
    speeds = [float(root.real) for root in roots if root.imag == 0.0 and root.real > 0.0]
    for speed in sorted(speeds, reverse=True):
        x, rate = wall - a * speed, -(r + b) * speed
        phase = math.atan2(-rate / frequency, x) - np.angle(response(p))
        time = float(phase % (2.0 * math.pi)) / frequency
        if not _touches_between(p, time, speed, between):
            return time, speed
    raise OutOfRangeError(
        f"no orbit strikes the wall once in {periods} periods of the drive for these parameters: "
        "start from x and x_dot"
    )


def _flown(p: Values, struck: float, speed: float, after: float) -> np.ndarray:
    """Return x and x' some time after an impact, (2,)."""
    left = np.array([p["clearance"], -p["restitution"] * speed]) - sine(p, struck)
    return free(p, after) @ left + sine(p, struck + after)


def _touches_between(p: Values, struck: float, speed: float, between: float) -> bool:
    """Return whether a flight from one impact to the next is seen beyond the wall."""
    times = between * np.linspace(0.0, 1.0, LOOKS)[1:-1]
    gaps = [p["clearance"] - _flown(p, struck, speed, time)[0] for time in times]
    return min(gaps) < 0.0


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Put the mass on the orbit of one impact, or on the sine, at phase 0 of the drive.

    Raises
    ------
    OutOfRangeError
        `periods` is not a whole number, the orbit does not exist, or only one of `x` and `x_dot`
        is given.
    """
    p = parameters
    if ("x" in given) != ("x_dot" in given):
        raise OutOfRangeError("a start needs both x and x_dot: give both, or neither")
    if "x" in given:
        return {"x": given["x"], "x_dot": given["x_dot"]}
    if abs(response(p)) <= p["clearance"]:
        place = sine(p, 0.0)
    else:
        periods = given.get("periods", 1.0)
        if periods < 1.0 or periods != int(periods):
            raise OutOfRangeError(f"periods must be 1, 2, ..., not {periods:g}")
        struck, speed = one_impact(p, int(periods))
        between = int(periods) * 2.0 * math.pi / p["frequency"]
        struck -= between
        place = _flown(p, struck, speed, -struck)
    return {"x": float(place[0]), "x_dot": float(place[1])}


def trace(p: Values, struck: float, speed: float, periods: int = 1) -> float:
    """Return the sum of the multipliers of an orbit of one impact.

    Parameters
    ----------
    p
        The parameters.
    struck, speed, periods
        Of the orbit, from `one_impact`.
    """
    r, mass = p["restitution"], p["mass"]
    held = p["force"] * math.cos(p["frequency"] * struck) - p["stiffness"] * p["clearance"]
    before, after = held - p["damping"] * speed, held + p["damping"] * r * speed
    impact = np.array([[-r, 0.0], [(r * before + after) / (mass * speed), -r]])
    return float(np.trace(free(p, periods * 2.0 * math.pi / p["frequency"]) @ impact))


def closed_form(case: Any) -> ds.Answer:
    """Return where the sine grazes the wall, and the orbit of one impact."""
    p, periods = case.full_parameters, int(case.full_start.get("periods", 1.0))
    found: dict[str, Any] = {"grazing force": abs(resistance(p)) * abs(p["clearance"])}
    if abs(response(p)) > p["clearance"]:
        struck, speed = one_impact(p, periods)
        between = periods * 2.0 * math.pi / p["frequency"]
        product = p["restitution"] ** 2 * math.exp(-p["damping"] * between / p["mass"])
        roots = np.roots([1.0, -trace(p, struck, speed, periods), product])
        found |= {
            "time": struck,
            "speed after": -p["restitution"] * speed,
            "multipliers": [[float(root.real), float(root.imag)] for root in roots],
        }
    return ds.Answer(found)


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the mass on its spring, and the wall."""
    wall = document["parameters"]["clearance"]
    x = series(document, "states", "x")
    reach = max(float(np.max(np.abs(x))), abs(wall), 1e-12)
    half, left = 0.1 * reach, -1.8 * reach
    box = [(-2 * half, -half), (0.0, -half), (0.0, half), (-2 * half, half)]
    turns = 12
    spring = [
        (
            Linear({"x": k / turns}, left + (-2 * half - left) * k / turns),
            0.5 * half * (0, 1, 0, -1)[k % 4],
        )
        for k in range(turns + 1)
    ]
    return Drawing(
        [
            Line([(left, -3 * half), (left, 3 * half)], role="ground"),
            Line([(wall, -3 * half), (wall, 3 * half)], role="ground", label="wall"),
            Line(spring, role="detail", label="spring"),
            Outline(box, at=("x", 0.0), label="mass"),
        ],
        y_label="",
    )


def motion(document: Document) -> Figure:
    """Draw the place over time, beside the wall, and the speed over the place."""
    times, x = series(document, "times"), series(document, "states", "x")
    figure, (place, speed) = panels_over_time(2)
    place.axhline(document["parameters"]["clearance"], color="0.6", linewidth=0.8)
    place.plot(times, x, linewidth=1.0)
    place.set_ylabel("x (m)")
    draw_curve(speed, document, "x", "x_dot", linewidth=0.8)
    speed.set_xlabel("x (m)")
    speed.set_ylabel("speed (m/s)")
    return figure


def impacts(document: Document) -> Figure:
    """Draw the speed of each impact over the phase of the drive."""
    from daesolve.reporting.figures.style import settle

    frequency = document["parameters"]["frequency"]
    found = [
        (math.remainder(frequency * event["time"], 2.0 * math.pi), event["detail"]["x_dot"])
        for event in document["events"]
        if event["name"] == "wall_closed" and "detail" in event
    ]
    figure = new_figure(5.0, 4.0)
    axes = figure.add_subplot()
    axes.plot(*np.array(found).reshape(-1, 2).T, ".", markersize=3)
    settle(axes, [np.array([speed for _, speed in found])])
    axes.set_xlim(-math.pi, math.pi)
    axes.set_xlabel("phase of the impact (rad)")
    axes.set_ylabel("speed of the impact (m/s)")
    return figure


problem = ds.Problem(
    "impact-oscillator",
    title="A driven oscillator that strikes a wall",
    models={"contact": posed},
    sources=[
        "S. W. Shaw, P. J. Holmes, A periodically forced piecewise linear oscillator, J. Sound "
        "Vib. 90 (1983) 129-155",
        "A. B. Nordmark, Non-periodic motion caused by grazing incidence in an impact oscillator, "
        "J. Sound Vib. 145 (1991) 279-297",
    ],
    start=start,
    start_values=lambda structure: ("x", "x_dot", "periods"),
    analyses={"closed-form": closed_form},
    drawing=drawing,
    figures={"motion": motion, "impacts": impacts},
    cases=[
        ds.Case(
            "struck",
            parameters={"force": 8.0, "frequency": 2.4},
            until=60.0,
            note="one impact a period, stable",
        ),
        ds.Case(
            "every-other",
            parameters={"force": 12.0, "frequency": 3.4},
            start={"periods": 2.0},
            until=60.0,
            note="one impact in two periods of the drive, stable",
        ),
        ds.Case(
            "near-grazing",
            until=20.0,
            note="one weak impact per period, so unstable that errors grow 193-fold in each",
        ),
        ds.Case(
            "below-grazing",
            parameters={"force": 6.5},
            until=60.0,
            note="the sine does not reach the wall; it would at 6.84572859526289 N",
        ),
        ds.Case(
            "chaos",
            parameters={"force": 9.0},
            start={"x": 0.0, "x_dot": 0.0},
            until=400.0,
            note="beyond the grazing no orbit of one impact is stable",
        ),
    ],
)
