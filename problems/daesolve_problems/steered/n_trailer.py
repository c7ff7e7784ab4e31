"""A tractor and its trailers: a chain of bodies in the plane, each on an axle with two wheels.

A tractor with a steered front wheel draws any number of trailers over a level plane. Every axle has
two wheels that roll independently without slip; the unknown reactions are the forces of the ground
along the axles and across the steered wheel, and two components of the force in every hitch. They
do no work, not even while the driver steers: the energy is conserved except for the work of the
motors at the wheels of the tractor.

The hitch of a trailer may lie behind the axle that draws it by c (`hitch`), on it (0), or ahead of
it. With v_k the speed of the axle k, psi_k the direction of its body, L (`drawbar`) from hitch to
axle and the hitch angle beta_k = psi_k - psi_(k-1), what was drawn sideways is

    L psi_k' = -v_(k-1) sin(beta_k) - c psi_(k-1)' cos(beta_k)
    v_k = v_(k-1) cos(beta_k) - c psi_(k-1)' sin(beta_k)

so one freedom is left, the speed. On a straight line the first angle dies out with the way s
of the tractor, tan(beta/2) = tan(beta_0/2) exp(-s/L), whatever the speed; going back it grows so,
and the train folds up. On a circle of the radius R_0 of the tractor's axle the trailers come to

    R_k^2 = R_(k-1)^2 + c^2 - L^2.

The steered wheel is turned against the tractor by delta = steer + swing sin(2 pi t / period). It
has no mass: its own is part of the tractor's. `steer` is an input: a number, an expression of time,
or a table of measurements. The wheels at the axles have moments of inertia.

A start has the place `x`, `y` of the tractor's axle, its `heading`, the `speed` of the steered
wheel, and the hitch angles `hitch_1`, `hitch_2`, ..., zero by default. The run ends
where a hitch angle comes to `fold`, at which bodies would strike each other (the event
`folded`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody import Mechanism, PlanarBody, Revolute, Skate, WheelPair
from daesolve.multibody.drawing import Camera, Drawing, Line, Linear, Outline, Shape, Trace
from daesolve_problems.figures import Document, column, draw_paths, panels_over_time, series
from daesolve_problems.vehicles import fixed, tyre

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.typing import Parameters

Values = Mapping[str, float]
Motions = list[tuple[complex, float, complex, float]]
"""For each body: its mass centre, its direction, and the rates of both."""


def _numbers() -> Parameters:
    return ds.parameters(
        tractor_mass=(2000.0, "kg", ds.POSITIVE),
        tractor_inertia=(1200.0, "kg m^2", ds.POSITIVE),
        tractor_centre=(0.6, "m"),
        wheelbase=(1.6, "m", ds.POSITIVE),
        trailer_mass=(900.0, "kg", ds.POSITIVE),
        trailer_inertia=(500.0, "kg m^2", ds.POSITIVE),
        trailer_centre=(0.1, "m"),
        drawbar=(2.0, "m", ds.POSITIVE),
        hitch=(0.6, "m"),
        track=(1.2, "m", ds.NON_NEGATIVE),
        wheel_radius=(0.3, "m", ds.POSITIVE),
        wheel_inertia=(1.5, "kg m^2", ds.NON_NEGATIVE),
        swing=(0.0, "rad"),
        period=(10.0, "s", ds.POSITIVE),
        drive=(0.0, "N m"),
        fold=(1.9, "rad", ds.Interval(0.0, float(np.pi), open_low=True)),
    )


def train(
    trailers: int, motions: Motions | None = None
) -> tuple[Mechanism, list[Revolute], Parameters, ca.SX]:
    """Assemble the train.

    Parameters
    ----------
    trailers
        How many.
    motions
        Of the tractor and the trailers at the start; by default all at rest at the origin.

    Returns
    -------
    mechanism, hitches, inputs, steering
        The mechanism and its hitches, the inputs, and the angle of the steered wheel, rad.

    Raises
    ------
    OutOfRangeError
        There is no trailer.
    """
    if trailers < 1:
        raise OutOfRangeError(f"trailers is {trailers}, but must be at least 1")
    p = _numbers()
    motions = motions or [(0j, 0.0, 0j, 0.0)] * (trailers + 1)
    bodies = [
        PlanarBody(
            name,
            p.trailer_mass if name != "tractor" else p.tractor_mass,
            p.trailer_inertia if name != "tractor" else p.tractor_inertia,
            position=(place.real, place.imag),
            angle=angle,
            velocity=(velocity.real, velocity.imag),
            rate=rate,
        )
        for name, (place, angle, velocity, rate) in zip(_names(trailers), motions, strict=True)
    ]
    tractor, *drawn = bodies
    inputs = ds.inputs(steer=(0.0, "rad"))
    steering = inputs.steer + p.swing * ca.sin(2 * ca.pi * ds.time / p.period)
    ahead = tractor.frame((p.wheelbase - p.tractor_centre, 0.0), steering)
    centres = [p.tractor_centre, *[p.trailer_centre] * trailers]
    hitches = [
        Revolute(
            f"hitch_{k}",
            leader.frame((-centre - p.hitch, 0.0)),
            body.frame((p.drawbar - p.trailer_centre, 0.0)),
        )
        for k, (leader, centre, body) in enumerate(zip(bodies, centres, drawn, strict=False), 1)
    ]
    axles = [
        WheelPair(
            f"axle_{k}",
            body.frame((-centre, 0.0)),
            p.wheel_radius,
            p.track,
            p.wheel_inertia,
            torques=None if k else (p.drive, p.drive),
        )
        for k, (body, centre) in enumerate(zip(bodies, centres, strict=True))
    ]
    parts = [Skate("steered", ahead), *axles, *hitches]
    return Mechanism(bodies, parts, p), hitches, inputs, steering


def _names(trailers: int) -> list[str]:
    return ["tractor", *[f"trailer_{k}" for k in range(1, trailers + 1)]]


def posed(trailers: int) -> ds.MechanicalSystem:
    """Pose the train, which ends its run where it folds up."""
    mechanism, hitches, inputs, steering = train(trailers)
    fold = mechanism.parameters.fold
    folded = [ca.cos(hitch.angle) - ca.cos(fold) for hitch in hitches]
    angles = {f"hitch_angle_{k}": (hitch.angle, "rad") for k, hitch in enumerate(hitches, 1)}
    return mechanism.system(
        inputs=inputs,
        events=[ds.Event("folded", folded, ds.FALLING, ds.Stop())],
        outputs={"steering": (steering, "rad"), **angles},
    )


def start(given: Values, parameters: Values, structure: Mapping[str, Any]) -> dict[str, float]:
    """Put the tractor in its place, the trailers behind it at their angles, all rolling.

    Raises
    ------
    OutOfRangeError
        A hitch angle is beyond the angle of a folded train.
    """
    p, trailers = parameters, structure["trailers"]
    angle, steer = given.get("heading", 0.0), p["steer"]
    axle = complex(given.get("x", 0.0), given.get("y", 0.0))
    speed, rate = _tractor(given.get("speed", 0.0), steer, p)
    motions = [_motion(axle, angle, speed, rate, p["tractor_centre"])]
    for k in range(1, trailers + 1):
        beta = given.get(f"hitch_{k}", 0.0)
        if np.cos(beta) <= np.cos(p["fold"]):
            raise OutOfRangeError(
                f"hitch_{k} is {beta:g} rad at the start, but the train is folded at "
                f"{p['fold']:g} rad: start with a smaller angle, or set a larger fold"
            )
        axle -= p["hitch"] * np.exp(1j * angle)
        speed, rate = (
            speed * np.cos(beta) - p["hitch"] * rate * np.sin(beta),
            -(speed * np.sin(beta) + p["hitch"] * rate * np.cos(beta)) / p["drawbar"],
        )
        angle += beta
        axle -= p["drawbar"] * np.exp(1j * angle)
        motions.append(_motion(axle, angle, speed, rate, p["trailer_centre"]))
    mechanism = train(trailers, motions)[0]
    # Inputs count as parameters in rules.
    return mechanism.start_at({name: parameters[name] for name in mechanism.parameters.names})


def _tractor(speed: float, steer: float, p: Values) -> tuple[float, float]:
    """Return the speed of the tractor's axle and its rate from the speed of the steered wheel."""
    return speed * float(np.cos(steer)), speed * float(np.sin(steer)) / p["wheelbase"]


def _motion(
    axle: complex, angle: float, speed: float, rate: float, centre: float
) -> tuple[complex, float, complex, float]:
    along = complex(np.exp(1j * angle))
    return axle + centre * along, angle, (speed + 1j * centre * rate) * along, rate


def start_values(structure: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a start."""
    hitches = [f"hitch_{k}" for k in range(1, structure["trailers"] + 1)]
    return ("x", "y", "heading", "speed", *hitches)


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the train from above: bodies, drawbars and wheels, and the paths of the axles."""
    p, trailers = document["parameters"], int(document["structure"]["trailers"])
    shapes: list[Shape] = []
    for number, name in enumerate(_names(trailers)):
        centre, angle = (f"{name}_x", f"{name}_y"), Linear({f"{name}_angle": 1.0})
        ahead = p["trailer_centre"] if number else p["tractor_centre"]
        nose = p["drawbar"] if number else p["wheelbase"]
        front, half = nose * (0.6 if number else 1.15) - ahead, p["track"] / 2 or 0.3 * nose
        rear = -ahead - 0.3 * nose
        box = [(front, half), (rear, half), (rear, -half), (front, -half)]
        label = ("tractor" if number == 0 else "trailers") if number < 2 else ""
        shapes.append(Outline(box, centre, angle, label=label))
        if number:
            bar = [fixed(centre, angle, along, 0.0) for along in (front, nose - ahead)]
            shapes.append(Line(bar, role="detail"))
        if number < trailers:
            behind = [fixed(centre, angle, along, 0.0) for along in (rear, -ahead - p["hitch"])]
            shapes.append(Line(behind, role="detail"))
        shapes += [
            tyre(fixed(centre, angle, -ahead, side * half), angle, p["wheel_radius"])
            for side in (1.0, -1.0)
        ]
    tractor = ("tractor_x", "tractor_y"), Linear({"tractor_angle": 1.0})
    place = fixed(*tractor, p["wheelbase"] - p["tractor_centre"], 0.0)
    steered = Linear({"tractor_angle": 1.0, "steering": 1.0})
    shapes.append(tyre(place, steered, p["wheel_radius"], role="accent", label="steered wheel"))
    shapes.append(Trace((f"trailer_{trailers}_x", f"trailer_{trailers}_y"), label="last trailer"))
    width = 1.5 * (p["wheelbase"] + trailers * (p["drawbar"] + abs(p["hitch"]))) + 4.0
    middle = _names(trailers)[trailers // 2]
    return Drawing(shapes, camera=Camera((f"{middle}_x", f"{middle}_y"), width))


def hitch_angles(document: Document) -> Figure:
    """Draw the steering, the hitch angles, and the speed of the tractor."""
    times = series(document, "times")
    figure, (angles, speed) = panels_over_time(2)
    angles.plot(times, column(document, "steering"), "k--", linewidth=1.0, label="steering")
    for k in range(1, document["structure"]["trailers"] + 1):
        angles.plot(times, column(document, f"hitch_angle_{k}"), linewidth=1.2, label=f"hitch {k}")
    angles.set_ylabel("angle (rad)")
    angles.legend()
    speed.plot(times, column(document, "axle_0_speed"), linewidth=1.2)
    speed.set_ylabel("speed of the tractor (m/s)")
    return figure


def _places(document: Document) -> dict[str, np.ndarray]:
    """Return where the axles are, x + i y, m."""
    p = document["parameters"]
    drawn: dict[str, np.ndarray] = {}
    for number, name in enumerate(_names(document["structure"]["trailers"])):
        place = column(document, f"{name}_x") + 1j * column(document, f"{name}_y")
        ahead = p["trailer_centre"] if number else p["tractor_centre"]
        label = name.replace("_", " ")
        drawn[label] = place - ahead * np.exp(1j * column(document, f"{name}_angle"))
    return drawn


def paths(document: Document) -> Figure:
    """Draw the paths of the axles."""
    return draw_paths(document, _places)


problem = ds.Problem(
    "n-trailer",
    title="A tractor with any number of trailers",
    models={"wheels": posed},
    sources=[
        "R. M. Murray, S. S. Sastry, Nonholonomic motion planning: steering using sinusoids, IEEE "
        "Transactions on Automatic Control 38 (1993) 700-716",
        "C. Altafini, Some properties of the general n-trailer, International Journal of Control "
        "74 (2001) 409-424: hitches off the axles",
    ],
    structure={"trailers": 3},
    start=start,
    start_values=start_values,
    drawing=drawing,
    figures={"angles and speed": hitch_angles, "paths of the axles": paths},
    cases=[
        ds.Case(
            "slalom",
            parameters={"swing": 0.35, "drive": 40.0},
            start={"speed": 2.0},
            until=30.0,
            note="the driver steers to and fro, and speeds up",
        ),
        ds.Case(
            "straight",
            start={"speed": 3.0, "hitch_1": 1.2, "hitch_2": -0.9, "hitch_3": 0.6},
            until=12.0,
            note="a folded train is pulled straight; the first angle is known in closed form",
        ),
        ds.Case(
            "back",
            start={"speed": -1.0, "hitch_1": 1e-3},
            until=60.0,
            note="pushed back from 1 mrad it folds up, and the run ends there",
        ),
    ],
)
