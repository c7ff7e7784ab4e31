"""The default drawing of a system posed by hand: its points, and the rods that hold them.

Coordinates and outputs in metres that are called x and y, tip_x and tip_y, x1 and y1 are a point. A
holonomic goal whose gradient points from one point to another, or from one fixed place, wherever
they are, is a rod: it holds a distance, however it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.contact.posing.contacts import Contact
from daesolve.core.posing.goals import Holonomic, as_scalar
from daesolve.core.system.posed import with_units
from daesolve.core.system.system import MechanicalSystem, System
from daesolve.multibody.drawing.shapes import (
    BODIES,
    Coordinates,
    Dot,
    Drawing,
    Line,
    Quantity,
    Shape,
    Trace,
)
from daesolve.multibody.drawing.views import FROM_THE_FRONT

NAMED = re.compile(r"(?:(?P<stem>\w+?)_)?(?P<letter>[xyz])(?P<number>_?\d*)")
SAMPLES, WITHIN = 6, 1e-9
"""Random places at which a goal is looked at, and what counts as rounding of size one."""

Places = Mapping[str, tuple[str, ...]]


def points_of(units: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the points among named quantities: by what they are called, their coordinates.

    Parameters
    ----------
    units
        Names and units.
    """
    points: dict[str, dict[str, str]] = {}
    for name, unit in units:
        parts = NAMED.fullmatch(name)
        if unit == "m" and parts is not None:
            title = f"{parts['stem'] or ''}{parts['number']}".strip("_")
            points.setdefault(title, {})[parts["letter"]] = name
    return {
        title or "point": tuple(letters[letter] for letter in sorted(letters))
        for title, letters in points.items()
        if len(letters) > 1
    }


def drawing_of_system(
    system: System, towards_the_eye: Sequence[float]
) -> Callable[[Mapping[str, Any]], Drawing] | None:
    """Return a rule that draws the runs of a system; None if it has no points.

    Parameters
    ----------
    system
        Its states and outputs.
    towards_the_eye
        From where points in space are seen.
    """
    owned = system.coordinates if isinstance(system, MechanicalSystem) else system.states
    moving = points_of(zip(owned.names, owned.units, strict=True))
    outputs = points_of(with_units(system.outputs)[1].items())
    places: Places = {**outputs, **moving}
    if not places:
        return None
    rods = _Rods(system, moving) if isinstance(system, MechanicalSystem) else None
    deep = _deep(places)

    def rule(document: Mapping[str, Any]) -> Drawing:
        held = [] if rods is None else rods.shapes(document["parameters"], deep=deep)
        return _drawing(places, held, towards_the_eye)

    return rule


def drawing_of_points(document: Mapping[str, Any]) -> Drawing | None:
    """Draw the points among the states and outputs of a run; None if there are none."""
    own = [name for kind in ("states", "outputs") for name in document[kind]]
    units = document["units"]
    places = points_of((name, units.get(name, "")) for name in own)
    return _drawing(places, [], FROM_THE_FRONT) if places else None


def _drawing(places: Places, rods: Sequence[Shape], eye: Sequence[float]) -> Drawing:
    shapes, deep = list(rods), _deep(places)
    for number, (title, names) in enumerate(places.items()):
        at = _point(names, names, deep=deep)
        # Of several points, a legend shows by their colours and marks which is which.
        role = BODIES[(number + bool(rods)) % len(BODIES)]
        if len(places) > 1:
            shapes += [Trace(at, role=role), Dot(at, label=title, role=role)]
        else:
            shapes += [Trace(at), Dot(at, label=title, role="accent" if rods else "body")]
    if deep:
        return Drawing(shapes, eye=eye)
    first = [_letter(name) for name in next(iter(places.values()))]
    return Drawing(shapes, x_label=f"{first[0]} (m)", y_label=f"{first[1]} (m)")


def _deep(places: Places) -> bool:
    return any(len(names) == 3 for names in places.values())


class _Rods:
    """The goals of a system that hold distances."""

    def __init__(self, system: MechanicalSystem, moving: Places) -> None:
        self.names = system.parameters.names
        self.points = moving
        self.owner = {name: title for title, names in moving.items() for name in names}
        q, p = system.coordinates.vector, system.parameters.vector
        self.coordinates = system.coordinates.names
        self.goals: list[tuple[tuple[str, ...], ca.Function]] = []
        for goal in system.goals:
            if not isinstance(goal, Holonomic) or isinstance(goal, Contact) or goal.held_by:
                continue
            residual = as_scalar(goal.name, goal.residual)
            known = {entry.element_hash() for entry in ca.vertsplit(ca.vertcat(q, p))}
            used = ca.symvar(residual)
            if any(entry.element_hash() not in known for entry in used):
                continue
            mine = {entry.name() for entry in used} & {*self.coordinates}
            titles = tuple(dict.fromkeys(self.owner.get(name, "") for name in self.coordinates
                                         if name in mine))  # fmt: skip
            if "" in titles or len(titles) not in (1, 2):
                continue
            gradient = ca.Function("gradient", [q, p], [ca.densify(ca.gradient(residual, q))])
            self.goals.append((titles, gradient))

    def shapes(self, parameters: Mapping[str, float], *, deep: bool) -> list[Shape]:
        """Return a line for each rod, and a dot where it is held."""
        values = [parameters[name] for name in self.names]
        shapes: list[Shape] = []
        for titles, gradient in self.goals:
            named = [self.points[title] for title in titles]
            ends = [_point(names, names, deep=deep) for names in named]
            table, rates = self._looked_at(titles, gradient, values)
            if len(titles) == 2:
                if _between(table, rates):
                    shapes.append(Line(ends))
                continue
            centre = _centre(table[:, 0], rates[:, 0])
            if centre is not None:
                fixed = _point(named[0], centre.tolist(), deep=deep)
                shapes += [Line([fixed, *ends]), Dot(fixed, role="ground")]
        return shapes

    def _looked_at(
        self, titles: Sequence[str], gradient: ca.Function, values: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return places and gradients at random states, each (samples, points, dimensions)."""
        random = np.random.default_rng(1)
        index = {name: place for place, name in enumerate(self.coordinates)}
        where = [[index[name] for name in self.points[title]] for title in titles]
        states = random.uniform(-1.0, 1.0, (SAMPLES, len(self.coordinates)))
        slopes = np.array([np.array(gradient(row, values), dtype=float).ravel() for row in states])
        return states[:, where], slopes[:, where]


def _between(places: np.ndarray, rates: np.ndarray) -> bool:
    """Return whether gradients are opposite, along the line between two points."""
    way = places[:, 1] - places[:, 0]
    size = np.linalg.norm(rates[:, 0], axis=1)
    if not np.all(np.isfinite(rates)) or np.min(size) == 0.0:
        return False
    opposite = np.linalg.norm(rates[:, 0] + rates[:, 1], axis=1) / size
    along = np.abs(np.sum(way * rates[:, 0], axis=1)) / (np.linalg.norm(way, axis=1) * size)
    return bool(np.max(opposite) < WITHIN and np.min(along) > 1 - WITHIN)


def _centre(places: np.ndarray, rates: np.ndarray) -> np.ndarray | None:
    """Return the place through which the gradients at all places go; None if there is none."""
    size = np.linalg.norm(rates, axis=1)
    if not np.all(np.isfinite(rates)) or np.min(size) == 0.0:
        return None
    along = rates / size[:, None]
    across = np.eye(places.shape[1]) - along[:, :, None] * along[:, None, :]
    whole = across.sum(axis=0)
    if np.linalg.cond(whole) > 1 / np.sqrt(WITHIN):
        return None
    centre = np.array(np.linalg.solve(whole, np.einsum("kij,kj->i", across, places)), dtype=float)
    missed = np.einsum("kij,kj->ki", across, places - centre)
    return centre if np.max(np.abs(missed)) < WITHIN * (1.0 + np.max(np.abs(centre))) else None


def _letter(name: str) -> str:
    parts = NAMED.fullmatch(name)
    assert parts is not None
    return parts["letter"]


def _point(names: Sequence[str], values: Sequence[Quantity], *, deep: bool) -> Coordinates:
    """Return a point by the letters of its coordinates; one that it has not is zero in space."""
    if not deep:
        return values[0], values[1]
    known = {_letter(name): value for name, value in zip(names, values, strict=True)}
    return known.get("x", 0.0), known.get("y", 0.0), known.get("z", 0.0)
