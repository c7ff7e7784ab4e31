"""A caster under a cart: it trails, turns round when pushed, and shimmies on a soft pin.

A cart goes along a straight line without friction, on a level plane, and draws a fork with two
wheels on one axle, which swivels about a vertical pin. The wheels roll independently without slip;
the unknown reactions are the force of the ground along the axle, the force in the pin, and the
force that holds the cart on its line. The energy is conserved except for the work of the dampers.

The wheels stand l (`trail`) behind the pin, the mass centre a (`centre`). theta is the direction
of the fork, zero where it trails in the direction of x, s the way of the cart, V = s' its speed.
With the pin fixed to the cart (model `fixed`) the path is known, whatever the speed:

    l theta' = -V sin(theta),    tan(theta/2) = tan(theta_0/2) exp(-s/l)

The fork trails with the eigenvalue -V/l, and pushed, with V < 0, it turns round. With the masses M
of the cart and m of the fork, J_0 its moment of inertia about the mass centre, i, r and b those of
each wheel, its radius and the track, and J = J_0 + i b^2/(2 r^2), the energy gives the speed:

    2 E = V^2 (M + m + (J + m a^2 - 2 m a l) sin(theta)^2/l^2 + 2 i cos(theta)^2/r^2).

On a soft pin (model `soft`), which a spring k and a damper c hold near the line, the pin may go
across by y, and small motions have the characteristic equation

    A z^3 + B z^2 + (l c V + l^2 k) z + l k V = 0,
    A = m (l - a)^2 + J,    B = m (l - a) V + c l^2 + d,

d the damping of the swivel. Without dampers it is stable where m a (l - a) > J, at any speed; else
it shimmies at any. With dampers it shimmies between two speeds, where B (c V + l k) = A k V, or
at none.

A start has the angle `theta` and the `speed` of the cart, and on a soft pin its place `y` and its
speed `y_dot` across the line. The wheels roll.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody import (
    GROUND,
    Bushing,
    Mechanism,
    PlanarBody,
    Prismatic,
    Revolute,
    Slot,
    TorsionDamper,
    WheelPair,
)
from daesolve.multibody.drawing import Camera, Dot, Drawing, Line, Linear, Trace
from daesolve_problems.figures import Document, column, panels_over_time, series
from daesolve_problems.vehicles import fixed, tyre

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.multibody import Part
    from daesolve.typing import Parameters

Values = Mapping[str, float]


def _numbers(*, soft: bool) -> Parameters:
    own = {
        "stiffness": (2000.0, "N/m", ds.NON_NEGATIVE),
        "damping": (0.0, "N s/m", ds.NON_NEGATIVE),
    }
    return ds.parameters(
        cart_mass=(20.0, "kg", ds.POSITIVE),
        mass=(1.0, "kg", ds.POSITIVE),
        inertia=(2e-3, "kg m^2", ds.POSITIVE),
        centre=(0.02, "m"),
        trail=(0.05, "m", ds.POSITIVE),
        wheel_radius=(0.05, "m", ds.POSITIVE),
        wheel_inertia=(2e-4, "kg m^2", ds.NON_NEGATIVE),
        track=(0.04, "m", ds.NON_NEGATIVE),
        swivel_damping=(0.0, "N m s/rad", ds.NON_NEGATIVE),
        **(own if soft else {}),
    )


def caster(
    theta: float = 0.0, speed: float = 0.0, y: float = 0.0, y_dot: float = 0.0, *, soft: bool
) -> Mechanism:
    """Assemble cart and caster, and place them with the wheels rolling."""
    p = _numbers(soft=soft)
    sine, cosine = float(np.sin(theta)), float(np.cos(theta))
    rate = (y_dot * cosine - speed * sine) / p.trail
    cart = PlanarBody("cart", p.cart_mass, 1.0, velocity=(speed, 0.0))
    fork = PlanarBody(
        "fork",
        p.mass,
        p.inertia,
        position=(-p.centre * cosine, y - p.centre * sine),
        angle=theta,
        velocity=(speed + p.centre * sine * rate, y_dot - p.centre * cosine * rate),
        rate=rate,
    )
    on_cart, on_fork = cart.frame((0.0, 0.0)), fork.frame((p.centre, 0.0))
    pin = Revolute("pin", on_cart, on_fork)
    held: list[Part] = [pin]
    if soft:
        springs = (0.0, p.stiffness, 0.0), (0.0, p.damping, 0.0)
        held = [
            Slot("pin", on_cart, on_fork, axis=1),
            Bushing("spring", on_cart, on_fork, *springs),
        ]
    wheels = WheelPair(
        "wheels", fork.frame((p.centre - p.trail, 0.0)), p.wheel_radius, p.track, p.wheel_inertia
    )
    line = Prismatic("line", GROUND.frame((0.0, 0.0)), on_cart)
    swivel = TorsionDamper("swivel", pin, p.swivel_damping)
    return Mechanism([cart, fork], [line, *held, wheels, swivel], p)


def _posed(*, soft: bool) -> ds.MechanicalSystem:
    mechanism = caster(soft=soft)
    pin = mechanism.bodies[1].point(mechanism.parameters.centre, 0.0)
    outputs = {f"pin_{axis}": (pin.position[k], "m") for k, axis in enumerate("xy")}
    return mechanism.system(outputs=outputs)


def fixed_pin() -> ds.MechanicalSystem:
    """Pose the caster whose pin is fixed to the cart."""
    return _posed(soft=False)


def soft_pin() -> ds.MechanicalSystem:
    """Pose the caster whose pin a spring holds near the line."""
    return _posed(soft=True)


def fixed_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Turn the fork by an angle.

    Raises
    ------
    OutOfRangeError
        The start moves the fixed pin: `y` or `y_dot` is not zero.
    """
    for name in ("y", "y_dot"):
        if given.get(name, 0.0) != 0.0:
            raise OutOfRangeError(
                f"the pin is fixed to the cart, so {name} must be 0, not {given[name]:g}: use "
                "the model 'soft'"
            )
    place = (given.get(name, 0.0) for name in ("theta", "speed"))
    return caster(*place, soft=False).start_at(parameters)


def soft_start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Turn the fork by an angle, the pin off its line."""
    place = (given.get(name, 0.0) for name in ("theta", "speed", "y", "y_dot"))
    return caster(*place, soft=True).start_at(parameters)


# -- small motions -------------------------------------------------------------------------------


def characteristic(p: Values, speed: float) -> np.ndarray:
    """Return the coefficients of the characteristic equation, (4,), the highest power first."""
    trail, mass = p["trail"], p["mass"]
    behind, stiffness, damping = trail - p["centre"], p["stiffness"], p["damping"]
    return np.array(
        [
            mass * behind**2 + _moment(p),
            mass * behind * speed + damping * trail**2 + p["swivel_damping"],
            trail * damping * speed + trail**2 * stiffness,
            trail * stiffness * speed,
        ]
    )


def critical_speeds(p: Values) -> np.ndarray:
    """Return the speeds at which the trailing caster begins or ceases to shimmy, m/s, rising."""
    trail, stiffness, damping = p["trail"], p["stiffness"], p["damping"]
    first, second = p["mass"] * (trail - p["centre"]), damping * trail**2 + p["swivel_damping"]
    whole = p["mass"] * (trail - p["centre"]) ** 2 + _moment(p)
    polynomial = [
        first * damping,
        first * trail * stiffness + second * damping - whole * stiffness,
        second * trail * stiffness,
    ]
    found = np.roots(polynomial)
    return np.sort(found[(found.imag == 0.0) & (found.real > 0.0)].real)


def _moment(p: Values) -> float:
    return p["inertia"] + p["wheel_inertia"] * p["track"] ** 2 / (2.0 * p["wheel_radius"] ** 2)


def shimmy(case: Any) -> ds.Answer:
    """Report the growth of small motions, and the speeds between which the caster shimmies."""
    p = case.full_parameters
    speed = case.full_start.get("speed", 0.0)
    if "stiffness" not in p:
        return ds.Answer({"eigenvalues": [[-speed / p["trail"], 0.0]]})
    roots = np.roots(characteristic(p, speed))
    return ds.Answer(
        {
            "eigenvalues": [[float(root.real), float(root.imag)] for root in roots],
            "critical speeds": [float(speed) for speed in critical_speeds(p)],
        }
    )


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw fork and wheels from above, and the line along which the pin is towed."""
    p = document["parameters"]
    centre, angle = ("fork_x", "fork_y"), Linear({"fork_angle": 1.0})
    pin, axle = ("pin_x", "pin_y"), p["centre"] - p["trail"]
    half = p["track"] / 2.0
    ends = [fixed(centre, angle, axle, side * half) for side in (1.0, -1.0)]
    x = series(document, "outputs", "pin_x")
    width = 4.0 * (p["trail"] + p["wheel_radius"])
    line = [(float(np.min(x)) - width, 0.0), (float(np.max(x)) + width, 0.0)]
    return Drawing(
        [
            Line(line, role="ground", label="line of the cart"),
            Line([pin, fixed(centre, angle, axle, 0.0)], label="fork"),
            Line(ends, role="detail"),
            *[
                tyre(end, angle, p["wheel_radius"], role="accent", label=label)
                for end, label in zip(ends, ("wheels", ""), strict=True)
            ],
            Dot(pin, role="accent", label="pin"),
            Trace(fixed(centre, angle, axle, 0.0), label="path of the wheels"),
        ],
        camera=Camera(pin, width),
    )


def turning(document: Document) -> Figure:
    """Draw the angle of the fork, the place of the pin and the force along the axle."""
    times = series(document, "times")
    figure, (angle, place, force) = panels_over_time(3)
    angle.plot(times, column(document, "fork_angle"), linewidth=1.0)
    angle.set_ylabel("angle of the fork (rad)")
    place.plot(times, 1e3 * column(document, "pin_y"), linewidth=1.0)
    place.set_ylabel("pin off its line (mm)")
    force.plot(times, column(document, "wheels"), linewidth=1.0)
    force.set_ylabel("force along the axle (N)")
    return figure


problem = ds.Problem(
    "caster",
    title="A caster that trails, turns round and shimmies",
    models={"fixed": fixed_pin, "soft": soft_pin},
    sources=[
        "G. Stépán, Delay, nonlinear oscillations and shimmying wheels, in: Applications of "
        "Nonlinear and Chaotic Dynamics in Mechanics (1999) 373-386",
        "H. B. Pacejka, Tire and Vehicle Dynamics, 3rd ed. (2012), chapter 6",
    ],
    start={"fixed": fixed_start, "soft": soft_start},
    start_values=lambda structure: ("theta", "speed", "y", "y_dot"),
    analyses={"shimmy": shimmy},
    drawing=drawing,
    figures={"angle, pin and force": turning},
    cases=[
        ds.Case(
            "trails",
            start={"theta": 2.5, "speed": 1.0},
            until=1.0,
            note="from 2.5 rad it turns behind the pin, by a closed form",
        ),
        ds.Case(
            "pushed",
            start={"theta": 1e-3, "speed": -1.0},
            until=1.0,
            note="pushed back it turns round, and trails in the other direction",
        ),
        ds.Case(
            "shimmy",
            model="soft",
            parameters={"damping": 3.0},
            start={"theta": 0.0, "y": 1e-4, "speed": 3.0},
            until=5.0,
            note="on a soft pin it begins to sway, between two speeds",
        ),
    ],
)
