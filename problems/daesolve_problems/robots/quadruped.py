"""A quadruped with twelve joints that falls on its feet, is pushed, and stands on a slope.

A trunk on four legs, read from the model file `quadruped.xml`: each leg has a hip that leads it
aside (`abduct`), one that swings it (`swing`) and a `knee`, each with the inertia of a rotor, and
ends in a round foot, which touches the floor with Coulomb's friction. The reactions of all joints
and feet are unknown. Nothing is conserved: energy changes by the work of the motors, by impacts and
by what slides. Motors hold the joints near a stance, each with the torque

    τ = k (θ_s - θ) - c θ'.

Where the feet stick each leg is a chain with two ends, and twelve rows hold eighteen freedoms; so
the torques determine the loads of the feet, whatever these are on a stiff table. At rest the loads
carry the weight, and the joints are off their stance by as much as that takes.

`fl`, `fr`, `rl`, `rr` are the legs, front and rear, left and right; x points ahead and y to the
left. The floor falls ahead by `incline`. The input `push` is a force on the trunk to the left. A
start has values of joints (`fl_knee_angle`, ...) and the place of the trunk (`base_z`, ...), by
default the stance with the feet `drop` above the floor.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody import PointForce
from daesolve.plugins.family import Values
from daesolve.typing import Parameters
from daesolve_problems.robots.model_file import Starts, drawn, torques_towards, with_parts

FILE = Path(__file__).with_name("quadruped.xml")
LEGS = ("fl", "fr", "rl", "rr")
FEET = tuple(f"{leg}_foot_floor" for leg in LEGS)
JOINTS = ("abduct", "swing", "knee")
LINK, FOOT = 0.25, 0.03
"""The length of thigh and shank, and the radius of a foot, m: as in the file."""
PERIOD = 0.02
"""Of the sampled law, s."""
PUSH, PUSHED = 20.0, (0.4, 0.6)
"""N; from when to when, s."""
STEPPING, STEP, LIFT = "fl", (0.3, 0.42), 0.12
"""The leg that the law bends more, from when to when, s, and by how much, rad."""
BENT = {f"{STEPPING}_swing": LIFT, f"{STEPPING}_knee": -2.0 * LIFT}


@cache
def legged() -> tuple[ds.multibody.FileMechanism, Parameters]:
    """Return the mechanism on its slope, with its parameters."""
    p = ds.parameters(
        stiffness=(120.0, "N m/rad", ds.NON_NEGATIVE),
        damping=(4.0, "N m s/rad", ds.NON_NEGATIVE),
        swing=(0.6, "rad"),
        knee=(-1.2, "rad"),
        incline=(0.0, "rad"),
        gravity=(9.81, "m/s^2"),
    )
    read = ds.multibody.read(FILE)
    (trunk,) = [body for body in read.bodies if body.name == "trunk"]
    push = ds.inputs(push=(0.0, "N"))
    fall = [p.gravity * ca.sin(p.incline), 0.0, -p.gravity * ca.cos(p.incline)]
    pushed = PointForce(trunk.centre, [0.0, push.push, 0.0])
    return with_parts(read, [pushed], p, push, gravity=fall), p


def posed() -> ds.MechanicalSystem:
    """Pose the quadruped on its floor."""
    return legged()[0].system()


def stance(p: Any) -> dict[str, Any]:
    """Return the angle of each joint in the stance; of symbols as of numbers."""
    angles = {"abduct": 0.0, "swing": p["swing"], "knee": p["knee"]}
    return {f"{leg}_{joint}": angles[joint] for leg in LEGS for joint in JOINTS}


@cache
def torques(*, stepping: bool = False) -> dict[str, ca.SX]:
    """Return the torques that hold the stance, or make a step, by the names of the motors."""
    mechanism, p = legged()
    angles, bends = stance(p), ca.logic_and(ds.time >= STEP[0], ds.time < STEP[1])
    if stepping:
        angles |= {name: angles[name] + ca.if_else(bends, by, 0.0) for name, by in BENT.items()}
    return torques_towards(mechanism, angles, p.stiffness, p.damping)


def held(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the motors' torques."""
    return torques()


def pushed(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the motors' torques, and a push that lasts for a while."""
    first, last = PUSHED
    acting = ca.logic_and(ds.time >= first, ds.time < last)
    return {**torques(), "push": ca.if_else(acting, PUSH, 0.0)}


def sampled(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques of a computer that holds them between its samples."""
    return {name: ds.sampled(name, period=PERIOD, law=law) for name, law in torques().items()}


def stepping(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques of a computer that lifts a foot and puts it down."""
    laws = torques(stepping=True)
    return {name: ds.sampled(name, period=PERIOD, law=law) for name, law in laws.items()}


def _values(given: Values, parameters: Values) -> dict[str, float]:
    swing, knee = parameters["swing"], parameters["knee"]
    reach = LINK * (np.cos(swing) + np.cos(swing + knee))
    values = {f"{name}_angle": angle for name, angle in stance(parameters).items()}
    values["base_z"] = FOOT + float(reach) + given.get("drop", 0.0)
    return values | {name: value for name, value in given.items() if name != "drop"}


STARTS = Starts(lambda: legged()[0], _values, ("drop",))

problem = ds.Problem(
    "quadruped",
    title="A quadruped that lands on its feet and stands",
    models={"legs": posed},
    sources=["R. Featherstone, Rigid Body Dynamics Algorithms, Springer, New York 2008"],
    start=STARTS.states,
    start_values=STARTS.names,
    derived=STARTS.counts,
    drawing=drawn(lambda: legged()[0], (0.8, -1.0, 0.45)),
    cases=[
        ds.Case(
            "stands",
            start={"drop": 0.04},
            until=2.0,
            inputs=held,
            note="falls from 4 cm; all feet land at once and stick, and the legs yield",
        ),
        ds.Case(
            "pushed",
            start={"drop": 0.0},
            until=1.2,
            inputs=pushed,
            note="from its stance it settles; 20 N from the right for 0.2 s make it sway",
        ),
        ds.Case(
            "slope",
            start={"drop": 0.01},
            parameters={"incline": 0.2},
            until=0.8,
            inputs=sampled,
            note="lands on a slope of 11 degrees, under a law that is sampled every 20 ms",
        ),
        ds.Case(
            "steps",
            start={"drop": 0.0},
            parameters={"incline": 0.1},
            until=0.58,
            inputs=stepping,
            note="the sampled law lifts a front foot on a slope, and puts it down",
        ),
    ],
)
