"""A biped whose legs are four-bar linkages lands on its feet, lowers itself, and is pushed.

A trunk on two legs, read from the model file `biped.xml`: in each leg a thigh carries the shank,
and a crank at the hip turns the shank through a rod, which stays parallel to the thigh; so the
motors of both are at the hip. Each foot touches the floor at a heel, with Coulomb's friction, and
at a toe, a roller without friction. The reactions of all joints, loops, heels and toes are unknown.
Nothing is conserved: motors, the push and impacts change the energy. Motors hold the joints near a
stance, each with the torque

    τ = k (θ_s - θ) - c θ'.

The rod turns in balls at both ends, so no row of its loop follows from others, and all loads are
determined: where heels stick, eight rows hold fourteen freedoms (and the rods spin freely).

With α the angle of thigh and rod to the vertical, β that of shank and crank, and l the length of
thigh and shank, the hips are above the ankles by l (sin α + sin β) ahead and l (cos α + cos β) up.
Where both legs move alike on flat feet, α, β and the angle θ of the trunk are all that moves.
The stance has α = -b, β = b, θ = 0: the hips are 2 l cos b above the ankles. At rest each foot
carries half the weight W, and heel and toe, at -x_h and x_t from the ankle, with x that of the mass
centre,

    N_h = W/2 (x_t - x) / (x_t + x_h),  N_t = W/2 (x + x_h) / (x_t + x_h).

x points ahead and y to the left; `l`, `r` are the legs. The input `push` is a force on the trunk,
ahead. A start has values of joints (`l_swing_angle`, ...) and the place of the trunk (`base_z`,
...), by default the stance with the feet `drop` above the floor.
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

FILE = Path(__file__).with_name("biped.xml")
LEGS = ("l", "r")
FEET = tuple(f"{leg}_{end}_floor" for leg in LEGS for end in ("heel", "toe"))
LINK, SOLE = 0.22, 0.05
"""The length of thigh and shank, and of ankles above the floor, m: as in the file."""
LOWERING = (0.1, 0.6)
"""From when to when it lowers itself, s."""
PUSH, PUSHED = 6.0, (0.3, 0.45)
"""N; from when to when, s."""


@cache
def legged() -> tuple[ds.multibody.FileMechanism, Parameters]:
    """Return the mechanism with its parameters."""
    p = ds.parameters(
        stiffness=(200.0, "N m/rad", ds.NON_NEGATIVE),
        damping=(6.0, "N m s/rad", ds.NON_NEGATIVE),
        bend=(0.4, "rad"),
        lowered=(0.7, "rad"),
    )
    read = ds.multibody.read(FILE)
    (trunk,) = [body for body in read.bodies if body.name == "trunk"]
    push = ds.inputs(push=(0.0, "N"))
    return with_parts(read, [PointForce(trunk.centre, [push.push, 0.0, 0.0])], p, push), p


def posed() -> ds.MechanicalSystem:
    """Pose the biped on its floor."""
    return legged()[0].system()


def stance(bend: Any) -> dict[str, Any]:
    """Return the angles of the joints with motors in a stance; of a symbol as of a number."""
    angles = {"abduct": 0.0, "swing": -bend, "drive": bend, "ankle": -bend}
    return {f"{leg}_{joint}": angle for leg in LEGS for joint, angle in angles.items()}


def torques(bend: Any) -> dict[str, ca.SX]:
    """Return the torques that hold a stance, by the names of the motors."""
    mechanism, p = legged()
    return torques_towards(mechanism, stance(bend), p.stiffness, p.damping)


def standing(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques that hold the stance."""
    return torques(legged()[1].bend)


def lowering(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques of a stance that bends the legs more, on a smooth path."""
    p, (first, last) = legged()[1], LOWERING
    share = ca.fmin(ca.fmax((ds.time - first) / (last - first), 0.0), 1.0)
    return torques(p.bend + (p.lowered - p.bend) * (1.0 - ca.cos(np.pi * share)) / 2.0)


def pushed(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques that lower it, and a push that lasts for a while."""
    first, last = PUSHED
    acting = ca.logic_and(ds.time >= first, ds.time < last)
    return {**lowering(system), "push": ca.if_else(acting, PUSH, 0.0)}


def _values(given: Values, parameters: Values) -> dict[str, float]:
    bend = parameters["bend"]
    values = {f"{name}_angle": angle for name, angle in stance(bend).items()}
    values["base_z"] = SOLE + 2.0 * LINK * float(np.cos(bend)) + given.get("drop", 0.0)
    return values | {name: value for name, value in given.items() if name != "drop"}


STARTS = Starts(lambda: legged()[0], _values, ("drop",))

problem = ds.Problem(
    "biped",
    title="A biped on two four-bar legs that lowers itself",
    models={"legs": posed},
    sources=[
        "R. Featherstone, Rigid Body Dynamics Algorithms, Springer, New York 2008",
        "C. Hubicki et al., ATRIAS: design and validation of a tether-free 3D-capable "
        "spring-mass bipedal robot, Int. J. Robotics Research 35(12), 2016, 1497-1521",
    ],
    start=STARTS.states,
    start_values=STARTS.names,
    derived=STARTS.counts,
    drawing=drawn(lambda: legged()[0], (0.8, -1.0, 0.35)),
    cases=[
        ds.Case(
            "lowers",
            start={"drop": 0.0},
            until=1.0,
            inputs=lowering,
            note="settles in its stance, and bends its legs from 0.1 to 0.6 s",
        ),
        ds.Case(
            "lands",
            start={"drop": 0.02},
            until=0.6,
            inputs=standing,
            note="falls from 2 cm; heels and toes land at once and stick, and the legs yield",
        ),
        ds.Case(
            "pushed",
            start={"drop": 0.0},
            until=0.8,
            inputs=pushed,
            note="6 N from behind for 0.15 s, while it lowers itself, make it sway",
        ),
    ],
)
