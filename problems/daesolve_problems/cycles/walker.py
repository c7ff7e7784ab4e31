"""The simplest walker: two legs that come down a slope without a motor.

Two stiff legs of length one without mass are hinged at the hip, which carries all the mass; the
feet are points whose mass is vanishingly small against it. The foot that stands does not slip; at
heel-strike the other one takes over, without bounce. There are no constraints left in these
equations, and so no unknown reactions. Nothing is conserved over a step: heel-strikes dissipate the
work of gravity on the slope. Times are in units of sqrt(leg length/gravity).

theta is the angle of the leg that stands, from the normal of the slope, phi that between the legs:

    theta'' = sin(theta - slope)
    phi'' = theta'' + sin(phi) (theta'^2 - cos(theta - slope))

The swinging foot is on the ground where phi = 2 theta. At mid-step, where the legs pass, it goes
through it (a walker on knees would lift it); it counts with theta < 0, `armed`. Then the legs
change places, and the angular momentum about the foot that lands leaves

    theta -> -theta,     theta' -> cos(2 theta) theta'
    phi -> -2 theta,     phi' -> cos(2 theta) (1 - cos(2 theta)) theta'

so theta and theta' determine the state after a strike. Periodic walks of two kinds exist
down from slope zero. As slope -> 0, theta = (slope tanh(tau/2)^2)^(1/3) and theta' = -theta
coth(tau/2), with the period tau = 3.812091795 (long), the root of tan(tau/2) = -3 tanh(tau/2), or
tau = pi (short). The long one is stable up to the slope 0.01508843794; beyond, periods double.

A walker falls where the leg that stands comes to lie on the slope: the event `falls` ends the run.

A start has `theta` and `theta_dot` after a heel-strike; `phi` and `phi_dot` follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import (
    Camera,
    Circle,
    Dot,
    Drawing,
    Line,
    Polar,
    Trace,
    sum_over_events,
)
from daesolve_problems.figures import Document, new_figure, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Values = Mapping[str, float]


def walker() -> ds.ControlSystem:
    """Pose both legs, the heel-strike, and the fall."""
    x = ds.states(theta="rad", phi="rad", theta_dot="rad", phi_dot="rad")
    p = ds.parameters(slope=(0.009, "rad", ds.Interval(0.0, np.pi / 2)))
    d = ds.discrete(armed=0.0)
    falls_over = ca.sin(x.theta - p.slope)
    swings = ca.sin(x.phi) * (x.theta_dot**2 - ca.cos(x.theta - p.slope))
    rate = {
        "theta": x.theta_dot,
        "phi": x.phi_dot,
        "theta_dot": falls_over,
        "phi_dot": falls_over + swings,
    }
    kept = ca.cos(2 * x.theta)
    lands = {
        "theta": -x.theta,
        "phi": -2 * x.theta,
        "theta_dot": kept * x.theta_dot,
        "phi_dot": kept * (1 - kept) * x.theta_dot,
        "armed": 0.0,
    }
    # What does not count is minus one, far from zero.
    strikes = d.armed * (x.phi - 2 * x.theta) - (1 - d.armed)
    lying = [-x.theta - np.pi / 2, x.theta - np.pi / 2]
    return ds.ControlSystem(
        x,
        rate,
        p,
        discrete=d,
        events=[
            ds.Event("mid_step", x.theta, ds.FALLING, ds.Reset({"armed": 1.0})),
            ds.Event("heel_strike", strikes, ds.RISING, ds.Reset(lands)),
            ds.Event("falls", lying, ds.RISING, ds.Stop()),
        ],
        outputs={
            "swing_foot_height": (ca.cos(x.theta) - ca.cos(x.theta - x.phi), ""),
            "energy_of_the_hip": (x.theta_dot**2 / 2 + ca.cos(x.theta - p.slope), ""),
        },
    )


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Let a step begin: both feet are on the ground, and the legs have just changed places."""
    theta, rate = given["theta"], given["theta_dot"]
    return {
        "theta": theta,
        "phi": 2.0 * theta,
        "theta_dot": rate,
        "phi_dot": (1.0 - np.cos(2.0 * theta)) * rate,
    }


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw both legs on the slope, which falls to the right, and the path of the hip."""
    slope = document["parameters"]["slope"]
    # How far down the slope the foot that stands is, in legs.
    foot = sum_over_events(
        document, "heel_strike", lambda event: 2.0 * np.sin(event["after"]["theta"])
    )
    theta, phi = (series(document, "states", name) for name in ("theta", "phi"))
    # The normal of the slope points up and ahead, to the right.
    normal = np.pi / 2 - slope
    columns = {
        "foot_x": foot * np.cos(slope),
        "foot_y": -foot * np.sin(slope),
        "standing": normal + theta,
        "swinging": normal + theta - phi + np.pi,
    }
    standing = ("foot_x", "foot_y")
    hip = Polar(standing, 1.0, "standing")
    swinging = Polar(hip, 1.0, "swinging")
    ends = [float(foot.min()) - 2.0, float(foot.max()) + 2.0]
    ground = [(end * np.cos(slope), -end * np.sin(slope)) for end in ends]
    return Drawing(
        [
            Line(ground, role="ground"),
            Trace(hip, label="path of the hip"),
            Line([standing, hip], label="leg that stands"),
            Line([hip, swinging], role="accent", label="leg that swings"),
            Circle(hip, 0.08, label="hip"),
            Dot(swinging, role="accent"),
        ],
        x_label="x (legs)",
        y_label="y (legs)",
        series=columns,
        camera=Camera(hip, 3.0),
    )


def steps(document: Document) -> Figure:
    """Draw both angles over time."""
    times = series(document, "times")
    figure, (angles, height) = panels_over_time(2)
    for name in ("theta", "phi"):
        angles.plot(times, series(document, "states", name), linewidth=1.0, label=name)
    angles.set_ylabel("angle (rad)")
    angles.legend(frameon=False)
    height.plot(times, series(document, "outputs", "swing_foot_height"), linewidth=1.0)
    height.axhline(0.0, color="0.6", linewidth=0.8)
    height.set_ylabel("height of the swinging foot (legs)")
    for axes in (angles, height):
        axes.set_xlabel("t (sqrt(leg/g))")
    return figure


def portrait(document: Document) -> Figure:
    """Draw the rates of both angles over the angles."""
    figure = new_figure(8.0, 3.6)
    for axes, name in zip(figure.subplots(1, 2), ("theta", "phi"), strict=True):
        angle, rate = (series(document, "states", key) for key in (name, f"{name}_dot"))
        axes.plot(angle, rate, ".", markersize=1.5)
        axes.set_xlabel(f"{name} (rad)")
        axes.set_ylabel(f"rate of {name}")
    return figure


problem = ds.Problem(
    "walker",
    title="The simplest walker",
    models={"legs": walker},
    sources=[
        "M. Garcia, A. Chatterjee, A. Ruina, M. Coleman, The simplest walking model: stability, "
        "complexity, and scaling, J. Biomech. Eng. 120 (1998) 281-288",
        "T. McGeer, Passive dynamic walking, Int. J. Robotics Research 9 (1990) 62-82",
    ],
    start=start,
    start_values=lambda structure: ("theta", "theta_dot"),
    drawing=drawing,
    figures={"steps": steps, "portrait": portrait},
    cases=[
        ds.Case(
            "long",
            start={"theta": 0.20031090054424552, "theta_dot": -0.19983247300495058},
            until=40.0,
            note="the stable walk, steps of 3.88246375285139",
        ),
        ds.Case(
            "short",
            start={"theta": 0.19393736981017895, "theta_dot": -0.2038669274420039},
            until=30.0,
            note="the unstable walk, steps of 3.09610586807816; errors grow fourfold with each",
        ),
        ds.Case(
            "doubling",
            parameters={"slope": 0.01508843794111632},
            start={"theta": 0.23716586359156125, "theta_dot": -0.23192707642399873},
            until=40.0,
            note="the slope at which the long walk begins to limp",
        ),
        ds.Case(
            "limps",
            parameters={"slope": 0.01538843794111632},
            start={"theta": 0.23527326063943774, "theta_dot": -0.23065373336631279},
            until=80.0,
            note="a long step and a short one, 7.81792019417884 together",
        ),
        ds.Case(
            "second-doubling",
            parameters={"slope": 0.017669374862461222},
            start={"theta": 0.2395417930446612, "theta_dot": -0.23517685828976498},
            until=80.0,
            note="from here on the walk repeats after four steps",
        ),
        ds.Case(
            "falls",
            parameters={"slope": 0.025},
            start={"theta": 0.25, "theta_dot": -0.25},
            until=100.0,
            note="too steep: no walk lasts",
        ),
    ],
)
