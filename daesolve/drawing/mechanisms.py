"""What a mechanism looks like where nothing else is said: its bodies as stars of their places.

A body is drawn as lines from its mass centre to every place at which a part sits on it, a body that
is held nowhere as a dot with its path. In space it is seen along a direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.drawing.shapes import Dot, Drawing, Line, Shape, Trace
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import Ground, Place, PlanarPoint, Point, axes_with_third

FROM_THE_FRONT = (0.3, -1.0, 0.25)
"""Towards the eye: the third axis of space points upwards."""


def drawing_of(
    mechanism: Mechanism, towards_the_eye: Sequence[float] = FROM_THE_FRONT
) -> Callable[[Mapping[str, Any]], Drawing]:
    """Return a rule that draws the runs of a mechanism, for `Problem(drawing=...)`.

    Parameters
    ----------
    mechanism
        Its bodies and parts; the parts' `first` and `second` are the places that are drawn.
    towards_the_eye
        In space: where it is seen from, three coordinates of any length.

    Raises
    ------
    PosingError
        The eye is nowhere.
    """
    plane = np.eye(2) if mechanism.planar else _plane(towards_the_eye)
    places = _places(mechanism)
    centres = [body.centre for body in mechanism.bodies]
    positions = ca.horzcat(*[place.position for place in (*centres, *places)])
    states = [name for body in mechanism.bodies for name in body.coordinates.names]
    q = ca.vertcat(*[body.coordinates.vector for body in mechanism.bodies])
    seen = ca.Function("seen", [q, mechanism.parameters.vector], [ca.SX(plane) @ positions])

    def rule(document: Mapping[str, Any]) -> Drawing:
        parameters = [document["parameters"][name] for name in mechanism.parameters.names]
        rows = np.array([document["states"][name] for name in states], dtype=float)
        table = [np.array(seen(row, parameters), dtype=float) for row in rows.T]
        series = {
            f"{_title(number)}_{letter}": [found[side, number] for found in table]
            for number in range(positions.shape[1])
            for side, letter in enumerate("xy")
        }
        shapes = _shapes(mechanism, places)
        labels = ("x (m)", "y (m)") if mechanism.planar else ("across (m)", "up (m)")
        return Drawing(shapes, x_label=labels[0], y_label=labels[1], series=series)

    return rule


def _shapes(mechanism: Mechanism, places: Sequence[Place]) -> list[Shape]:
    shapes: list[Shape] = []
    grounded: list[Shape] = []
    for number, body in enumerate(mechanism.bodies):
        centre = _at(number)
        held = [
            _at(len(mechanism.bodies) + other)
            for other, place in enumerate(places)
            if place.body is body
        ]
        # One entry of the legend for each body.
        labels = [body.name] + [""] * len(held)
        shapes += [
            Line([centre, end], label=label) for end, label in zip(held, labels, strict=False)
        ]
        shapes += [Dot(centre, role="detail")] if held else [Dot(centre, label=body.name)]
        shapes += [] if held else [Trace(centre)]
    for other, place in enumerate(places):
        at = _at(len(mechanism.bodies) + other)
        if isinstance(place.body, Ground):
            grounded.append(Dot(at, role="ground"))
        else:
            shapes.append(Dot(at, role="accent"))
    return shapes + grounded


def _places(mechanism: Mechanism) -> list[Place]:
    found = [getattr(part, side, None) for part in mechanism.parts for side in ("first", "second")]
    return [place for place in found if isinstance(place, Point | PlanarPoint)]


def _plane(towards: Sequence[float]) -> np.ndarray:
    """Return the directions across and up, (2, 3), of what is seen; the vertical is upright."""
    eye = axes_with_third(towards)[:, 2]
    across = np.cross((0.0, 0.0, 1.0), eye)
    size = float(np.linalg.norm(across))
    across = across / size if size > 0.0 else np.array([1.0, 0.0, 0.0])
    return np.array([across, np.cross(eye, across)])


def _title(number: int) -> str:
    return f"place_{number}"


def _at(number: int) -> tuple[str, str]:
    return f"{_title(number)}_x", f"{_title(number)}_y"
