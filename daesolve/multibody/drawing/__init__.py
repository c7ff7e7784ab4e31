"""What the bodies of a problem look like: the data behind pictures and animations.

A drawing is a list of shapes in a plane or in space. Their quantities are numbers, names of a
run's series (states, outputs, reactions, the time "t"), names of its parameters, or forms of these;
angles are in rad. `evaluate` places the shapes at a sample, which is all that a renderer needs;
`Pose` and `ring` help with bodies in space, `sum_over_events` with what
events add up to. `to_json` and `from_json` keep a drawing in the file of
its run.

Examples
--------
A pendulum that hangs from the origin, phi its angle from the downward vertical:

>>> import math
>>> import numpy as np
>>> bob = Polar((0.0, 0.0), "length", Linear({"phi": 1.0}, -math.pi / 2))
>>> swing = Drawing([Line([(0.0, 0.0), bob]), Dot(bob, role="accent"), Trace(bob)])
>>> line, dot, trace = evaluate(swing, {"phi": np.array([0.0, 0.5])}, {"length": 2.0}, index=0)
>>> dot.points.round(9).tolist()
[[0.0, -2.0]]
"""

from daesolve.multibody.drawing.mechanism_drawing import drawing_of
from daesolve.multibody.drawing.placement import Placed, angles, check, evaluate, moves, names
from daesolve.multibody.drawing.shapes import (
    Arrow,
    Camera,
    Circle,
    Column,
    Cosine,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Point,
    Polar,
    Quantity,
    Role,
    Shape,
    Trace,
    Triple,
    from_json,
    to_json,
)
from daesolve.multibody.drawing.solids import (
    Pose,
    axes_by_quaternions,
    axes_by_turns,
    ring,
    series_of,
    tiles,
    wheel,
)
from daesolve.multibody.drawing.sums import sum_over_events

__all__ = [
    "Arrow",
    "Camera",
    "Circle",
    "Column",
    "Cosine",
    "Dot",
    "Drawing",
    "Line",
    "Linear",
    "Outline",
    "Placed",
    "Point",
    "Polar",
    "Pose",
    "Quantity",
    "Role",
    "Shape",
    "Trace",
    "Triple",
    "angles",
    "axes_by_quaternions",
    "axes_by_turns",
    "check",
    "drawing_of",
    "evaluate",
    "from_json",
    "moves",
    "names",
    "ring",
    "series_of",
    "sum_over_events",
    "tiles",
    "to_json",
    "wheel",
]
