"""The default drawing of a mechanism: each body as a star of its places.

A body is drawn as lines from its mass centre to every place where a part is attached, or as a dot
with its path if nothing is attached; colours and the marks of mass centres tell bodies apart.
Springs and dampers are drawn between their ends. In space all is seen along a direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.system.system import System
from daesolve.errors import PosingError
from daesolve.multibody.clearance import Clearance
from daesolve.multibody.contact_geometry import material
from daesolve.multibody.drawing.model_file_wires import drawing_of_file
from daesolve.multibody.drawing.shapes import BODIES, Coordinates, Dot, Drawing, Line, Shape, Trace
from daesolve.multibody.drawing.springs import across, lines_of
from daesolve.multibody.drawing.system_drawing import drawing_of_system
from daesolve.multibody.drawing.traced import applied, numbers
from daesolve.multibody.drawing.views import FROM_THE_FRONT
from daesolve.multibody.elements import SpringDamperSeries
from daesolve.multibody.loads import LineForce
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.places import Ground, Place, PlanarFrame, PlanarPoint, Point
from daesolve.multibody.wheels import Skate, WheelPair


def drawing_of(
    mechanism: Mechanism | System, towards_the_eye: Sequence[float] = FROM_THE_FRONT
) -> Callable[[Mapping[str, Any]], Drawing]:
    """Return a rule that draws the runs of a mechanism or a system, for `Problem(drawing=...)`.

    Parameters
    ----------
    mechanism
        A mechanism is drawn by its bodies and by the places `first` and `second` of its parts; one
        from a file by the geoms of the file. A system posed by hand is drawn by its points
        (coordinates and outputs in m called x and y, bob_x and bob_y, x1 and y1) with their paths,
        and with rods for the holonomic goals that hold two points, or a point and a fixed place, at
        a distance. This is also the default for problems without a drawing.
    towards_the_eye
        In space: the direction from which it is seen, three coordinates of any length.

    Raises
    ------
    PosingError
        The direction of the eye is zero, or a system has no points.
    """
    if not isinstance(mechanism, Mechanism):
        found = drawing_of_system(mechanism, towards_the_eye)
        if found is None:
            raise PosingError(
                "the system has no points to draw: no two coordinates or outputs in m are "
                "called x and y, or tip_x and tip_y; add such outputs"
            )
        return found
    if isinstance(mechanism, FileMechanism) and mechanism.assembly.model.geoms:
        return drawing_of_file(mechanism, towards_the_eye)
    letters = _letters(mechanism)
    wheels = _wheels(mechanism)
    places = [*_places(mechanism), *(end for ends in wheels for end in ends)]
    centres = [body.centre for body in mechanism.bodies]
    positions = ca.horzcat(*[place.position for place in (*centres, *places)])
    states = [name for body in mechanism.bodies for name in body.coordinates.names]
    q = ca.vertcat(*[body.coordinates.vector for body in mechanism.bodies])
    seen = ca.Function("seen", [q, mechanism.parameters.vector], [positions])

    springs = [p for p in mechanism.parts if isinstance(p, LineForce | SpringDamperSeries)]

    def ends_of(part: LineForce | SpringDamperSeries) -> list[int]:
        """Return the numbers of the places of the ends of a spring."""
        numbers = {id(place): len(centres) + at for at, place in enumerate(places)}
        return [numbers[id(end)] for end in (part.first, part.second)]

    def rule(document: Mapping[str, Any]) -> Drawing:
        parameters = [document["parameters"][name] for name in mechanism.parameters.names]
        rows = numbers([document["states"][name] for name in states])
        table = [applied(seen, row, parameters) for row in rows.T]
        series = {
            f"{_title(number)}_{letter}": [found[side, number] for found in table]
            for number in range(positions.shape[1])
            for side, letter in enumerate(letters)
        }
        held = places[: len(places) - 2 * len(wheels)]
        shapes = _shapes(mechanism, held)
        shown: list[Shape] = []
        for number, part in enumerate(springs):
            first, second = (_at(at, letters) for at in ends_of(part))
            ways = across(*(np.array([series[str(n)] for n in end]).T for end in (first, second)))
            names = [_beside(number, way, letters) for way in range(len(ways))]
            for own, way in zip(names, ways, strict=True):
                series |= {str(name): way[:, side].tolist() for side, name in enumerate(own)}
            shown += lines_of(part, (first, second), names)
        shapes = [*shown, *shapes]
        first = len(mechanism.bodies) + len(held)
        shapes += [
            Line([_at(number, letters), _at(number + 1, letters)], role="accent")
            for number in range(first, first + 2 * len(wheels), 2)
        ]
        return Drawing(shapes, series=series, eye=towards_the_eye)

    return rule


def _shapes(mechanism: Mechanism, places: Sequence[Place]) -> list[Shape]:
    shapes: list[Shape] = []
    grounded, joints, centred = list[Shape](), list[Shape](), list[Shape]()
    letters = _letters(mechanism)
    for number, body in enumerate(mechanism.bodies):
        centre = _at(number, letters)
        held = [
            _at(len(mechanism.bodies) + other, letters)
            for other, place in enumerate(places)
            if place.body is body
        ]
        role = BODIES[number % len(BODIES)]
        shapes += [Line([centre, end], role=role) for end in held]
        shapes += [] if held else [Trace(centre, role=role)]
        centred.append(Dot(centre, role=role, label=body.name))
    for other, place in enumerate(places):
        at = _at(len(mechanism.bodies) + other, letters)
        if isinstance(place.body, Ground):
            grounded.append(Dot(at, role="ground"))
        else:
            joints.append(Dot(at, role="detail"))
    return shapes + grounded + joints + centred


def _places(mechanism: Mechanism) -> list[Place]:
    joined = [part.joint if isinstance(part, Clearance) else part for part in mechanism.parts]
    places = [getattr(part, side, None) for part in joined for side in ("first", "second")]
    for part in mechanism.parts:
        places += [part.frame] if isinstance(part, Skate | WheelPair) else []
    return [place for place in places if isinstance(place, Point | PlanarPoint)]


def _wheels(mechanism: Mechanism) -> list[tuple[PlanarPoint, PlanarPoint]]:
    """Return the ends of the lines that show pairs of wheels: axles, and each wheel."""
    wheels: list[tuple[PlanarPoint, PlanarPoint]] = []
    for part in mechanism.parts:
        if isinstance(part, WheelPair):
            frame, half = part.frame, ca.SX(part.track) / 2
            ahead, across = part.radius * frame.direction(0), half * frame.direction(1)
            wheels.append((_next_to(frame, across), _next_to(frame, -across)))
            wheels += [
                (_next_to(frame, side + ahead), _next_to(frame, side - ahead))
                for side in (across, -across)
            ]
    return wheels


def _next_to(frame: PlanarFrame, way: ca.SX) -> PlanarPoint:
    return PlanarPoint(frame.body, frame.position + way, material(frame, way))


def _title(number: int) -> str:
    return f"place_{number}"


def _letters(mechanism: Mechanism) -> str:
    return "xy" if mechanism.planar else "xyz"


def _at(number: int, letters: str) -> Coordinates:
    return _named(_title(number), letters)


def _beside(number: int, way: int, letters: str) -> Coordinates:
    return _named(f"beside_{number}_{way}", letters)


def _named(title: str, letters: str) -> Coordinates:
    x, y, *z = (f"{title}_{letter}" for letter in letters)
    return (x, y, z[0]) if z else (x, y)
