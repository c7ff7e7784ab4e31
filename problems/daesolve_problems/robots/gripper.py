"""A gripper of two four-bar linkages that closes on a box and lifts it, or lets it slip.

A hand moves up and down on a rail; on each side a crank and a follower carry a finger, which stays
parallel (model file `gripper.xml`). Motors turn the cranks with a torque until the pads of the
fingers press on a box, which slides and turns on a smooth table but does not tilt; then the hand
rises along a smooth path, by a servo that carries the weight of hand and fingers. The reactions of
all joints and contacts are unknown; that of the table is `above_lower`. The planar loops have rows
that depend on each other; the motion is unique. Nothing is conserved: motors, friction and impacts
change the energy.

With the crank's length l and angle θ, m' the mass that moves as a finger (half of crank and
follower, and the finger), the virtual work of a finger at rest gives the load N of its pad,

    τ = N l cos θ + (F + m' g) l sin θ,

F the friction that pulls it down. Where two pads hold a box of the mass m, F = m g / 2, and they do
as long as F <= μ N: as long as the torque is at least

    τ_s = m g l cos θ / (2 μ) + (m g / 2 + m' g) l sin θ.

Below it the pads slip upwards along the box with F = μ N, and the table still carries m g - 2 μ N.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.model_files import FileMechanism
from daesolve.plugins.family import Values
from daesolve_problems.robots.model_file import Starts, drawn

FILE = Path(__file__).with_name("gripper.xml")
SIDES = ("left", "right")
CRANK, FRICTION, SERVO, GRAVITY = 0.12, 0.5, 4000.0, 9.81
"""m; of the pads; N/m; m/s^2: as in the file."""
BOX, HAND, FINGER = 0.42, 1.7, 0.25
"""What is lifted, what the servo carries besides, and what moves as a finger, kg."""
LOWERED = -0.125
"""Where the hand reaches for the box, below its place in the file, m."""
OPEN = -0.35
"""The angle of the cranks at the start, rad."""
RISES = (0.15, 0.45)
"""From when to when the hand rises, s."""
HEIGHT = 0.03
"""m"""


@cache
def mechanism() -> FileMechanism:
    """Return the mechanism of the file."""
    return ds.multibody.read(FILE)


def posed() -> ds.MechanicalSystem:
    """Pose the gripper and its box."""
    return mechanism().system()


def path() -> ca.SX:
    """Return where the servo wants the hand, m."""
    first, last = RISES
    share = ca.fmin(ca.fmax((ds.time - first) / (last - first), 0.0), 1.0)
    return LOWERED + HAND * GRAVITY / SERVO + HEIGHT * (1.0 - ca.cos(np.pi * share)) / 2.0


def gripped_by(torque: float) -> dict[str, Any]:
    """Return the inputs of a gripper that closes with a torque, N m."""
    return {"height": path(), **{f"{side}_grip": torque for side in SIDES}}


def holding_torque(angle: float) -> float:
    """Return the least torque that holds the box, N m, at an angle of the cranks, rad."""
    weight = BOX * GRAVITY / 2.0
    pressing = weight * CRANK * np.cos(angle) / FRICTION
    return float(pressing + (weight + FINGER * GRAVITY) * CRANK * np.sin(angle))


def _values(given: Values, parameters: Values) -> dict[str, float]:
    opened = {f"{side}_drive_angle": OPEN for side in SIDES}
    return {"rail_displacement": LOWERED, **opened, **given}


STARTS = Starts(mechanism, _values)

problem = ds.Problem(
    "gripper",
    title="A gripper of two four-bar linkages that lifts a box",
    models={"linkages": posed},
    sources=[
        "A. Bicchi, V. Kumar, Robotic grasping and contact: a review, Proc. IEEE Int. Conf. on "
        "Robotics and Automation, San Francisco 2000, 348-353"
    ],
    start=STARTS.states,
    start_values=STARTS.names,
    derived=STARTS.counts,
    drawing=drawn(mechanism, (0.35, -1.0, 0.3)),
    cases=[
        ds.Case(
            "lifts",
            until=0.6,
            inputs=gripped_by(0.6),
            redundant="minimum-norm",
            note="with a torque of 0.6 N m, above the least one that holds the box, 0.376 N m",
        ),
        ds.Case(
            "slips",
            until=0.42,
            inputs=gripped_by(0.25),
            redundant="minimum-norm",
            note="with 0.25 N m the pads slip along the box, which stays on the table",
        ),
    ],
)
