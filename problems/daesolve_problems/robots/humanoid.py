"""A humanoid of capsules that falls on a floor and comes to rest.

Eleven bodies, read from the model file `humanoid.xml`: a trunk with a head, two arms of two links,
and a pelvis with two legs of two. Fifteen hinges join them, each with a spring and a damper, the
inertia of a rotor and a limit at both ends. Its head, chest and pelvis, its hands and elbows, knees
and feet are round, and touch the floor with Coulomb's friction; nothing rebounds. The reactions of
all joints, limits and contacts are unknown. Nothing is conserved: energy falls by the work of
dampers and friction and by impacts, and never grows.

No spring is wound at the start, so until the first contact the humanoid falls freely as one body:
for sqrt(2 d / g), d the height of its lowest point at the start. Then it clatters from contact to
contact: what one impact stops lifts others off. Once friction holds all that touches, springs and
dampers bring the joints to rest, as an exponential function does.

A start has values of joints (`left_knee_angle`, ...) and the place of the trunk (`base_q0`, ...),
by default the pose of the case, `drop` above the floor.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import daesolve as ds
from daesolve.multibody.model_files import FileMechanism
from daesolve.plugins.family import Values
from daesolve_problems.robots.model_file import Starts, drawn

FILE = Path(__file__).with_name("humanoid.xml")
SIDES = ("left", "right")
PRONE = {"base_q0": 0.7, "base_q1": 0.1, "base_q2": 0.7}
"""The attitude of the trunk at the start, not normalised: face down, and turned a little."""
UNWOUND = {"shoulder_x": 10.0, "elbow": 30.0, "hip_x": 5.0, "knee": 30.0}
"""Where the springs of joints have no torque, degrees, as in the file; elsewhere at zero."""
LOWEST = 0.21347139420265238
"""How far the lowest point of this pose, on the right hand, is below the trunk's origin, m."""


@cache
def mechanism() -> FileMechanism:
    """Return the mechanism of the file."""
    return ds.multibody.read(FILE)


def posed() -> ds.MechanicalSystem:
    """Pose the humanoid above its floor."""
    return mechanism().system()


def _values(given: Values, parameters: Values) -> dict[str, float]:
    bent = {
        f"{side}_{joint}_angle": math.radians(angle)
        for side in SIDES
        for joint, angle in UNWOUND.items()
    }
    height = LOWEST + given.get("drop", 0.0)
    others = {name: value for name, value in given.items() if name != "drop"}
    return {"base_z": height, **PRONE, **bent, **others}


STARTS = Starts(mechanism, _values, ("drop",))

problem = ds.Problem(
    "humanoid",
    title="A humanoid that falls and comes to rest",
    models={"capsules": posed},
    sources=["R. Featherstone, Rigid Body Dynamics Algorithms, Springer, New York 2008"],
    start=STARTS.states,
    start_values=STARTS.names,
    derived=STARTS.counts,
    drawing=drawn(mechanism, (0.6, -1.0, 0.4)),
    cases=[
        ds.Case(
            "falls",
            start={"drop": 1.0},
            until=3.0,
            redundant="minimum-norm",
            note="from a metre above the floor, face down",
        ),
    ],
)
