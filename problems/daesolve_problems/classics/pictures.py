"""The drawings of the classics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daesolve.multibody.drawing import (
    Arrow,
    Camera,
    Circle,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Polar,
    Pose,
    Shape,
    Trace,
    axes_by_turns,
    ring,
    series_of,
    tiles,
    wheel,
)
from daesolve.multibody.drawing.traced import numbers

X, Y, Z = range(3)
DOWN = np.diag([1.0, -1.0, -1.0])
"""From axes whose third points down to axes whose third points up."""
BEHIND = (-0.6, -1.0, 0.45)
"""Towards the eye: from behind, to the right, and from above."""
Document = Mapping[str, Any]


def rattleback(document: Document) -> Drawing:
    """Draw the ellipsoid by three of its sections, and the path of the contact's long axis."""
    x, y, z, alpha, beta, gamma = series_of(document, "x", "y", "z", "alpha", "beta", "gamma")
    p, pose = document["parameters"], Pose("celt")
    positions = np.column_stack([x, y, z]) @ DOWN
    axes = DOWN @ axes_by_turns([(Z, gamma), (X, alpha), (Y, beta)])
    half, middle = (p["a"], p["b"], p["c"]), (0.0, 0.0, -p["h"])
    tip = pose.place((p["a"], 0.0, -p["h"]))
    sections = [pose.places(ring(half, normal, middle)) for normal in (Z, Y, X)]
    labels = ("ellipsoid", "", "")
    return Drawing(
        [
            *tiles(positions, p["a"]),
            Trace(tip, label="path of its tip"),
            *[Outline(section, label=text) for section, text in zip(sections, labels, strict=True)],
            Dot(tip, role="accent"),
        ],
        series=pose.series(positions, axes),
        eye=BEHIND,
    )


def rolling_disc(document: Document) -> Drawing:
    """Draw the disc on its floor, and the track of its contact."""
    x, y, z = series_of(document, "x", "y", "z")
    alpha, beta, gamma = series_of(document, "alpha", "beta", "gamma")
    p, pose = document["parameters"], Pose("disc")
    positions = np.column_stack([x, y, z])
    # Axis 2 is the axle, to the left of the heading, about which it rolls forwards.
    axes = axes_by_turns([(Z, alpha), (X, beta), (Y, gamma)])
    track = np.array([numbers(document["outputs"][f"contact_{letter}"]) for letter in "xy"])
    return Drawing(
        [
            *tiles(positions, 1.5 * p["radius"]),
            Trace(("contact_x", "contact_y", 0.0), label="track"),
            *wheel(pose, p["radius"], Y, "disc"),
            Dot(("contact_x", "contact_y", 0.0), role="accent", label="contact"),
        ],
        series=pose.series(positions, axes),
        camera=Camera(("x", "y", "z"), 2 * float(np.ptp(track, axis=1).max()) + p["radius"]),
        eye=BEHIND,
    )


def bicycle(document: Document) -> Drawing:
    """Draw the two wheels, the frame, the fork with its handlebar, and the tracks."""
    names = ("x", "y", "z", "yaw", "lean", "pitch", "steer", "rear_rotation", "front_rotation")
    x, y, z, yaw, lean, pitch, steer, rear_turn, front_turn = series_of(document, *names)
    p = document["parameters"]
    hub = np.column_stack([x, y, z])
    frame = axes_by_turns([(Z, yaw), (X, lean), (Y, pitch)])
    tilt = np.zeros(len(x)) + p["tilt"]
    fork = frame @ axes_by_turns([(Y, tilt), (Z, steer), (Y, -tilt)])
    foot = numbers([p["wheel_base"] + p["trail"], 0.0, p["rear_radius"]])
    front_hub = numbers([p["wheel_base"], 0.0, p["rear_radius"] - p["front_radius"]])
    places = hub + frame @ foot
    poses = {name: Pose(name) for name in ("frame", "fork", "rear", "front")}
    front = places + np.einsum("kij,j->ki", fork, front_hub - foot)
    spun = {"rear": frame @ axes_by_turns([(Y, rear_turn)])}
    spun["front"] = fork @ axes_by_turns([(Y, front_turn)])
    series = {
        **poses["frame"].series(hub @ DOWN, DOWN @ frame),
        **poses["fork"].series(places @ DOWN, DOWN @ fork),
        **poses["rear"].series(hub @ DOWN, DOWN @ spun["rear"]),
        **poses["front"].series(front @ DOWN, DOWN @ spun["front"]),
    }
    return Drawing(
        [
            *tiles(hub @ DOWN, 1.2),
            Trace(("frame_at_x", "frame_at_y", 0.0), label="below the rear wheel"),
            Trace(("front_at_x", "front_at_y", 0.0), label="below the front wheel"),
            *wheel(poses["rear"], p["rear_radius"], Y, "wheels"),
            *wheel(poses["front"], p["front_radius"], Y, ""),
            *_frame_and_fork(p, poses, front_hub - foot),
        ],
        series=series,
        camera=Camera(("frame_at_x", "frame_at_y", "frame_at_z"), 3.2 * p["wheel_base"]),
        eye=(0.35, -1.0, 0.3),
    )


def _frame_and_fork(
    p: Mapping[str, float], poses: Mapping[str, Pose], front_hub: np.ndarray
) -> list[Shape]:
    """Return lines from hub to hub by way of the saddle, the rider and the handlebar."""
    up = p["rear_radius"]
    axis = numbers([np.sin(p["tilt"]), 0.0, np.cos(p["tilt"])])
    head = -0.75 * axis  # along the steering axis, up from its foot
    rider = numbers([p["body_x"], 0.0, p["body_z"] + up])
    saddle = numbers([0.25 * p["wheel_base"], 0.0, 0.2 * p["body_z"]])
    foot = numbers([p["wheel_base"] + p["trail"], 0.0, up])
    grips = [head + np.array([-0.1, side, -0.1]) for side in (-0.25, 0.25)]
    frame, fork = poses["frame"], poses["fork"]
    hub, ahead = np.zeros(3), np.array([0.25, 0.0, 0.0])
    return [
        Line(frame.places([hub, saddle, foot + head, ahead, hub]),
             role="accent", label="frame with its rider"),
        Line(frame.places([saddle, rider]), role="accent"),
        Dot(frame.place(rider), role="accent"),
        Line(fork.places([front_hub, head]), role="force", label="fork and handlebar"),
        Line(fork.places([grips[0], head, grips[1]]), role="force"),
    ]  # fmt: skip


def sleigh(document: Document) -> Drawing:
    """Draw the body, its blade, its mass centre ahead of it, and the paths of both."""
    centre = abs(document["parameters"]["centre"]) or 0.1
    blade, mass = ("x", "y"), Polar(("x", "y"), "centre", "phi")
    hull = [(-0.6, 0.0), (-0.3, 0.7), (1.2, 0.7), (2.2, 0.0), (1.2, -0.7), (-0.3, -0.7)]
    return Drawing(
        [
            Trace(blade, label="track of the blade"),
            Trace(mass, role="detail"),
            Outline([(centre * a, centre * b) for a, b in hull], blade, "phi", label="sleigh"),
            *_blade(0.9 * centre),
            Dot(mass, role="accent", label="mass centre"),
        ],
        camera=Camera(blade, 12 * centre),
    )


def knife_edge(document: Document) -> Drawing:
    """Draw the blade on the slope, seen from above it, and the force across it.

    x, down the slope, points downwards.
    """
    size = 0.25 * max(float(np.ptp(series_of(document, "x")[0])), 0.2)
    place, down = ("y", Linear({"x": -1.0})), Linear({"phi": 1.0}, -np.pi / 2)
    ends: Sequence[Any] = [Polar(place, side * size, down) for side in (-1.0, 1.0)]
    return Drawing(
        [
            Trace(place, label="path"),
            Arrow((0.0, 0.0), (0.0, -size), role="ground", label="down the slope"),
            Line(ends, label="blade"),
            Dot(place, role="accent", label="mass centre"),
        ],
        x_label="y, along the level line (m)",
        y_label="-x, up the slope (m)",
    )


def _blade(half: float) -> list[Shape]:
    ends: Sequence[Any] = [Polar(("x", "y"), side * half, "phi") for side in (-1.0, 1.0)]
    return [Line(ends, role="force", label="blade")]


def particle(document: Document) -> Drawing:
    """Draw the particle on its circle."""
    place = ("x", "y")
    return Drawing(
        [
            Circle((0.0, 0.0), 1.0, role="ground"),
            Line([(0.0, 0.0), place], role="detail"),
            Trace(place),
            Dot(place, role="accent", label="particle"),
        ],
        x_label="x",
        y_label="y",
    )


def car_axis(document: Document) -> Drawing:
    """Draw the axis on its two springs, the left one on the ground, the right one on the road."""
    left, right, road = ("xl", "yl"), ("xr", "yr"), ("xb", "yb")
    return Drawing(
        [
            Line([(-0.25, 0.0), (0.25, 0.0)], role="ground", label="ground, and the moving road"),
            Line([(Linear({"xb": 1.0}, -0.25), "yb"), (Linear({"xb": 1.0}, 0.25), "yb")],
                 role="ground"),
            Line([(0.0, 0.0), left], role="force", label="springs"),
            Line([road, right], role="force"),
            Line([left, right], label="axis"),
            Trace(right),
            *[Dot(place, role="accent") for place in (left, right)],
        ],
        x_label="x",
        y_label="y",
    )  # fmt: skip


PARTS = np.linspace(0.0, 1.0, 13)
"""Fractions of the length of a bending rod, from the pin."""
ENLARGED = 50.0


def flexible_slider_crank(document: Document) -> Drawing:
    """Draw the crank, the slider, and the rod with its deformation enlarged."""
    p = document["parameters"]
    phi_1, phi_2, q_1, q_2 = series_of(document, "phi1", "phi2", "q1", "q2")
    q_3, q_4 = series_of(document, "q3", "q4")
    columns: dict[str, np.ndarray] = {}
    for number, part in enumerate(PARTS):
        along = q_3 * 4 * part * (1 - part) + q_4 * part * (2 * part - 1)
        across = q_1 * np.sin(np.pi * part) + q_2 * np.sin(2 * np.pi * part)
        reach, aside = part * p["l2"] + ENLARGED * along, ENLARGED * across
        cosine, sine = np.cos(phi_2), np.sin(phi_2)
        columns[f"rod_{number}_x"] = p["l1"] * np.cos(phi_1) + reach * cosine - aside * sine
        columns[f"rod_{number}_y"] = p["l1"] * np.sin(phi_1) + reach * sine + aside * cosine
    pin = Polar((0.0, 0.0), "l1", "phi1")
    half = 0.12 * p["l1"]
    box = [(half * a, half * b) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    points = [(f"rod_{number}_x", f"rod_{number}_y") for number in range(len(PARTS))]
    return Drawing(
        [
            Line([(-p["l1"], -half), (1.2 * (p["l1"] + p["l2"]), -half)], role="ground"),
            Circle((0.0, 0.0), "l1", role="detail"),
            Line([(0.0, 0.0), pin], label="crank"),
            Line(points, role="accent", label="rod, its deformation 50 times enlarged"),
            Outline(box, at=("x3", 0.0), label="slider"),
            Dot(pin, role="accent"),
        ],
        series=columns,
    )
