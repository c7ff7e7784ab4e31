"""Surfaces on which a ball rolls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Line, Shape, tiles

alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface f(x, y, z) = 0 with the ball where f < 0.

    Parameters
    ----------
    level
        (x, y, z, p) -> f, a CasADi expression of coordinates in m; p holds every parameter of the
        problem by name.
    parameters
        The surface's own parameters, as in `daesolve.parameters`.
    label
        A name for the report.

    Examples
    --------
    A round tube that stands upright, the ball inside:

    >>> tube = Surface(lambda x, y, z, p: x**2 + y**2 - p["tube_radius"] ** 2, {"tube_radius": 1.0})
    """

    level: Callable[[Any, Any, Any, Any], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    label: str = "surface"

    def __str__(self) -> str:
        return self.label


INCLINE = Surface(
    lambda x, y, z, p: -(alike.sin(p["slope"]) * x + alike.cos(p["slope"]) * z),
    {"slope": (0.3, "rad")},
)
"""A plane that falls towards +x."""
PARABOLOID = Surface(
    lambda x, y, z, p: (x**2 + y**2) / (2 * p["curvature_radius"]) - z,
    {"curvature_radius": (1.0, "m", ds.POSITIVE)},
)
"""A bowl z = (x^2 + y^2) / (2 R)."""
SURFACES = {"incline": INCLINE, "paraboloid": PARABOLOID}


def lines_on(document: Mapping[str, Any], contact: np.ndarray, margin: float) -> list[Shape]:
    """Return lines on the surface of a run, about the places (k, 3) of a contact, for a drawing.

    None of a surface that has no name, which may lie above and below any place.
    """
    surface = SURFACES.get(document["structure"].get("surface"))
    if surface is None:
        return []
    found: list[Shape] = []
    for tile in tiles(contact, margin):
        assert isinstance(tile, Line)
        ends = np.array(tile.points, dtype=float)
        line = ends[0] + np.linspace(0.0, 1.0, 25)[:, None] * (ends[1] - ends[0])
        # Both surfaces are linear in z.
        levels = [surface.level(line[:, 0], line[:, 1], z, document["parameters"]) for z in (0, 1)]
        line[:, 2] = levels[0] / (levels[0] - levels[1])
        found.append(Line(line, role="detail"))
    return found
