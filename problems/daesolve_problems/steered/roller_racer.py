"""A roller racer: its rider wriggles the handlebar, and it moves ahead.

A seat on an axle with two wheels is joined by a pin to a handlebar on another axle, on a level
plane. The wheels roll independently without slip, and none of them is driven; the unknown reactions
are the forces of the ground along both axles, the force in the pin, and, if the rider's motion is
given, the torque at the pin. The energy is conserved except for the work of the rider and of the
damper at the pin.

v is the speed of the rear axle, omega the rate of the seat, phi the angle of the handlebar
against it. The pin is l (`rear_length`) ahead of the rear axle, the front axle d
(`front_length`) ahead of the pin, or behind it where that is negative. The front axle does not
slide along itself where

    (l cos(phi) + d) omega - sin(phi) v + d phi' = 0,

and continues without phi' along the motion xi = (v, omega) = (l cos(phi) + d, sin(phi)). The
momentum along it, p = <dT/dq', xi>, is not conserved: with no force along xi

    p' = <dT/dq', xi'>,

which is linear in p phi' and quadratic in phi' (Krishnaprasad and Tsakiris, 2001): the effects of
going to and fro do not cancel, and the racer gains speed.

In the model `steered` the rider's motion is given, phi = mean + swing sin(2 pi t / period); in
`torque` it is the torque (`torque` sin(2 pi t / period)) that the rider puts in, against a
spring and a damper at the pin.

With the front axle behind the pin (d < 0) it goes ahead, with the front axle before the pin back.

A start has the `heading` of the seat and the `speed` of the rear axle; in `torque` the `angle`
of the handlebar and its `rate` too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.multibody import (
    Mechanism,
    Motor,
    PlanarBody,
    Revolute,
    TorsionDamper,
    TorsionSpring,
    WheelPair,
)
from daesolve.multibody.drawing import Camera, Dot, Drawing, Line, Linear, Trace
from daesolve_problems.figures import Document, column, draw_paths, panels_over_time, series
from daesolve_problems.vehicles import fixed, tyre

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daesolve.multibody import Part
    from daesolve.typing import Parameters

Values = Mapping[str, float]


def _numbers(*, steered: bool) -> Parameters:
    given = {"mean": (0.0, "rad"), "swing": (0.6, "rad")}
    driven = {
        "torque": (3.0, "N m"),
        "stiffness": (4.0, "N m/rad", ds.NON_NEGATIVE),
        "damping": (0.5, "N m s/rad", ds.NON_NEGATIVE),
    }
    return ds.parameters(
        seat_mass=(40.0, "kg", ds.POSITIVE),
        seat_inertia=(2.5, "kg m^2", ds.POSITIVE),
        seat_centre=(0.15, "m"),
        rear_length=(0.5, "m", ds.POSITIVE),
        handle_mass=(2.0, "kg", ds.POSITIVE),
        handle_inertia=(0.08, "kg m^2", ds.POSITIVE),
        handle_centre=(-0.05, "m"),
        front_length=(-0.1, "m"),
        wheel_radius=(0.04, "m", ds.POSITIVE),
        wheel_inertia=(2e-4, "kg m^2", ds.NON_NEGATIVE),
        rear_track=(0.4, "m", ds.NON_NEGATIVE),
        front_track=(0.2, "m", ds.NON_NEGATIVE),
        period=(1.0, "s", ds.POSITIVE),
        **(given if steered else driven),
    )


def racer(
    start: Mapping[str, float] | None = None, values: Values | None = None, *, steered: bool
) -> tuple[Mechanism, Revolute, list[WheelPair]]:
    """Assemble the racer; with a start and the parameters' values, place it rolling."""
    p = _numbers(steered=steered)
    motions = [((0.0, 0.0), 0.0, (0.0, 0.0), 0.0)] * 2
    if start is not None and values is not None:
        motions = _motions(start, values)
    sizes = ("seat", p.seat_mass, p.seat_inertia), ("handle", p.handle_mass, p.handle_inertia)
    seat, handle = (
        PlanarBody(*size, position=place, angle=angle, velocity=velocity, rate=rate)
        for size, (place, angle, velocity, rate) in zip(sizes, motions, strict=True)
    )
    pin = Revolute(
        "pin",
        seat.frame((p.rear_length - p.seat_centre, 0.0)),
        handle.frame((-p.handle_centre, 0.0)),
    )
    wheels = [
        WheelPair(name, frame, p.wheel_radius, track, p.wheel_inertia)
        for name, frame, track in (
            ("rear", seat.frame((-p.seat_centre, 0.0)), p.rear_track),
            ("front", handle.frame((p.front_length - p.handle_centre, 0.0)), p.front_track),
        )
    ]
    wave = ca.sin(2 * ca.pi * ds.time / p.period)
    rider: list[Part] = (
        [Motor("rider", pin, angle=p.mean + p.swing * wave)]
        if steered
        else [
            Motor("rider", pin, torque=p.torque * wave),
            TorsionSpring("arms", pin, p.stiffness),
            TorsionDamper("grip", pin, p.damping),
        ]
    )
    return Mechanism([seat, handle], [pin, *wheels, *rider], p), pin, wheels


def _motions(start: Mapping[str, float], p: Values) -> list[Any]:
    """Return places and velocities of both bodies, rolling.

    Raises
    ------
    OutOfRangeError
        The front axle stands so that the speed does not determine how the seat turns.
    """
    heading, speed, phi, phi_dot = (
        start.get(name, 0.0) for name in ("heading", "speed", "angle", "rate")
    )
    lever = p["rear_length"] * np.cos(phi) + p["front_length"]
    if abs(lever) < 1e-6 * p["rear_length"]:
        raise OutOfRangeError(
            f"at the angle {phi:g} rad both axles meet in the rear one, so the speed does not "
            "determine how the seat turns; start at another angle"
        )
    omega = (speed * np.sin(phi) - p["front_length"] * phi_dot) / lever
    along = np.exp(1j * heading)
    pin, moving = p["rear_length"] * along, (speed + 1j * omega * p["rear_length"]) * along
    ahead, turning = p["handle_centre"] * along * np.exp(1j * phi), omega + phi_dot
    centre = p["seat_centre"] * along
    found = (
        (centre, heading, (speed + 1j * omega * p["seat_centre"]) * along, omega),
        (pin + ahead, heading + phi, moving + 1j * turning * ahead, turning),
    )
    return [
        ((place.real, place.imag), angle, (velocity.real, velocity.imag), rate)
        for place, angle, velocity, rate in found
    ]


def _momentum(mechanism: Mechanism, pin: Revolute, wheels: list[WheelPair]) -> ca.SX:
    """Return the momentum along the motion that both axles allow at a fixed angle."""
    p = mechanism.parameters
    rear = wheels[0].frame
    speed = p.rear_length * ca.cos(pin.angle) + p.front_length
    turn = ca.sin(pin.angle)
    velocities = ca.vertcat(*[body.coordinates.dot.vector for body in mechanism.bodies])
    going: list[ca.SX] = []
    for body in mechanism.bodies:
        arm = body.centre.position - rear.position
        going += [speed * rear.direction(0) + turn * ca.vertcat(-arm[1], arm[0]), turn]
    allowed = ca.vertcat(*going)
    masses = ca.diagcat(*[body.mass_matrix for body in mechanism.bodies])
    found = ca.dot(velocities, masses @ allowed)
    for spin in (spin for pair in wheels for spin in pair.spins):
        found += p.wheel_inertia * spin * (ca.jacobian(spin, velocities) @ allowed)
    return found


def _posed(*, steered: bool) -> ds.MechanicalSystem:
    mechanism, pin, wheels = racer(steered=steered)
    momentum = _momentum(mechanism, pin, wheels)
    return mechanism.system(
        outputs={"handlebar": (pin.angle, "rad"), "momentum": (momentum, "kg m^2/s")}
    )


def steered() -> ds.MechanicalSystem:
    """Pose the racer whose rider's motion is given."""
    return _posed(steered=True)


def torque() -> ds.MechanicalSystem:
    """Pose the racer whose rider's torque is given."""
    return _posed(steered=False)


def steered_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Put the handlebar where the rider's motion begins.

    Raises
    ------
    OutOfRangeError
        `angle` or `rate` is given, which follow from the rider's motion.
    """
    p = parameters
    for name in ("angle", "rate"):
        if name in given:
            raise OutOfRangeError(
                f"the {name} of the start follows from the rider's mean, swing and period: "
                "leave it out, or use the model 'torque'"
            )
    own = {"angle": p["mean"], "rate": 2 * np.pi * p["swing"] / p["period"]}
    return racer({**given, **own}, p, steered=True)[0].start_at(p)


def torque_start(
    given: Values, parameters: Values, structure: Mapping[str, Any]
) -> dict[str, float]:
    """Put the handlebar at an angle."""
    return racer(given, parameters, steered=False)[0].start_at(parameters)


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw seat and handlebar from above with their wheels, and the path of the pin."""
    p = document["parameters"]
    seat, seat_angle = ("seat_x", "seat_y"), Linear({"seat_angle": 1.0})
    handle, handle_angle = ("handle_x", "handle_y"), Linear({"handle_angle": 1.0})
    rear, front = -p["seat_centre"], p["front_length"] - p["handle_centre"]
    pin = fixed(seat, seat_angle, p["rear_length"] - p["seat_centre"], 0.0)
    shapes = [
        Line([fixed(seat, seat_angle, rear, 0.0), pin], label="seat"),
        Line([pin, fixed(handle, handle_angle, front, 0.0)], role="accent", label="handlebar"),
    ]
    axles = (
        (seat, seat_angle, rear, p["rear_track"]),
        (handle, handle_angle, front, p["front_track"]),
    )
    for origin, angle, along, track in axles:
        ends = [fixed(origin, angle, along, side * track / 2.0) for side in (1.0, -1.0)]
        shapes.append(Line(ends, role="detail"))
        shapes += [tyre(end, angle, p["wheel_radius"]) for end in ends]
    shapes += [Dot(pin, role="accent"), Trace(pin, label="path of the pin")]
    width = 6.0 * (p["rear_length"] + abs(p["front_length"]))
    return Drawing(shapes, camera=Camera(seat, width))


def way(document: Document) -> Figure:
    """Draw the handlebar, the speed of the rear axle, and the momentum."""
    times = series(document, "times")
    figure, panels = panels_over_time(3)
    for axes, name, label in zip(
        panels,
        ("handlebar", "rear_speed", "momentum"),
        ("handlebar (rad)", "speed (m/s)", "momentum (kg m²/s)"),
        strict=True,
    ):
        axes.plot(times, column(document, name), linewidth=1.0)
        axes.set_ylabel(label)
    return figure


def _places(document: Document) -> dict[str, np.ndarray]:
    """Return where both mass centres are, x + i y, m."""
    return {
        name: column(document, f"{name}_x") + 1j * column(document, f"{name}_y")
        for name in ("seat", "handle")
    }


def path(document: Document) -> Figure:
    """Draw the paths of both mass centres."""
    return draw_paths(document, _places)


problem = ds.Problem(
    "roller-racer",
    title="A roller racer, which moves ahead by wriggling",
    models={"steered": steered, "torque": torque},
    sources=[
        "P. S. Krishnaprasad, D. P. Tsakiris, Oscillations, SE(2)-snakes and motion control: a "
        "study of the roller racer, Dynamical Systems 16 (2001) 347-397",
    ],
    start={"steered": steered_start, "torque": torque_start},
    start_values=lambda structure: ("heading", "speed", "angle", "rate"),
    drawing=drawing,
    figures={"handlebar, speed, momentum": way, "paths": path},
    cases=[
        ds.Case(
            "wriggle",
            start={"heading": 0.0, "speed": 0.0},
            until=10.0,
            note="from rest, the handlebar to and fro once a second",
        ),
        ds.Case(
            "push",
            model="torque",
            start={"heading": 0.0, "speed": 0.0},
            until=20.0,
            note="from rest, by a torque that swings",
        ),
    ],
)
