"""A five-bar linkage: two driven cranks, two rods, and the tip in which these meet.

Four uniform bars in a vertical plane: the cranks turn on the ground, a rod hangs on each, and the
rods are joined at their ends. The two unknown reactions are the components of the force in that
joint; the torques of two motors on the cranks are inputs. Joints have no friction: without torques
energy is conserved, otherwise it is metered as work.

With φ_1, φ_3 the angles of the cranks (length a) and φ_2, φ_4 those of the rods (length b), from
the x axis, and the feet of the cranks at (∓ c/2, 0), the loop closes where

    -c/2 + a cos φ_1 + b cos φ_2 = c/2 + a cos φ_3 + b cos φ_4,
           a sin φ_1 + b sin φ_2 =       a sin φ_3 + b sin φ_4.

It has two freedoms. The angles are `left`, `left_rod`, `right`, `right_rod`, the torques
`motor_left` and `motor_right`, the outputs `tip_x` and `tip_y` are the position of the tip.

The case `pd` holds the cranks by a controller that reads angles and rates every 5 ms and sets

    M_k = -k (φ_k - ψ_k) - d φ_k',

within ±`most` N m, and holds them in between. `circle` leads the tip round a circle by computed
torque: with e the distance from the wanted place, e'' + 2 ω e' + ω² e = 0 for any masses of the
bars.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Linear, Polar, Shape
from daesolve.typing import Parameters

ANGLES = ("left", "left_rod", "right", "right_rod")
PERIOD = 0.005
"""s, of the controller."""
MOST = 6.0
"""N m"""


def _parameters() -> Parameters:
    return ds.parameters(
        base=(0.3, "m", ds.NON_NEGATIVE),
        crank=(0.25, "m", ds.POSITIVE),
        rod=(0.4, "m", ds.POSITIVE),
        crank_mass=(0.8, "kg", ds.POSITIVE),
        rod_mass=(0.5, "kg", ds.POSITIVE),
        gravity=(9.81, "m/s^2"),
        target_left=(2.3, "rad"),
        target_right=(0.9, "rad"),
        stiffness=(60.0, "N m/rad", ds.NON_NEGATIVE),
        damping=(4.0, "N m s/rad", ds.NON_NEGATIVE),
        radius=(0.06, "m", ds.NON_NEGATIVE),
        turning=(4.0, "rad/s"),
        centre=(0.48, "m"),
        sharpness=(20.0, "1/s", ds.NON_NEGATIVE),
    )


def linkage() -> ds.MechanicalSystem:
    """Pose the linkage."""
    q = ds.coordinates(**dict.fromkeys(ANGLES, ds.ANGLE))
    u = ds.inputs(motor_left=(0.0, "N m"), motor_right=(0.0, "N m"))
    p = _parameters()
    kinetic = potential = ca.SX(0)
    tips: list[ca.SX] = []
    for side, sign in (("left", -1.0), ("right", 1.0)):
        place = ca.vertcat(sign * p.base / 2, 0)
        bars = ((side, p.crank, p.crank_mass), (f"{side}_rod", p.rod, p.rod_mass))
        for name, length, mass in bars:
            along = length * ca.vertcat(ca.cos(q[name]), ca.sin(q[name]))
            centre = place + along / 2
            speed = ca.jacobian(centre, q.vector) @ q.dot.vector
            kinetic += mass * (ca.sumsqr(speed) / 2 + length**2 / 24 * q.dot[name] ** 2)
            potential += mass * p.gravity * centre[1]
            place = place + along
        tips.append(place)
    gap = tips[0] - tips[1]
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        goals=[ds.Holonomic("joint_x", gap[0]), ds.Holonomic("joint_y", gap[1])],
        force={"left": u.motor_left, "right": u.motor_right},
        outputs={"tip_x": (tips[0][0], "m"), "tip_y": (tips[0][1], "m")},
        inputs=u,
    )


def controlled(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the digital controllers of both motors."""

    def law(seen: Mapping[str, Any], side: str) -> Any:
        error, rate = seen[side] - seen[f"target_{side}"], seen[f"{side}_dot"]
        return -seen["stiffness"] * error - seen["damping"] * rate

    return {
        f"motor_{side}": ds.sampled(
            side, period=PERIOD, law=partial(law, side=side), limits=(-MOST, MOST)
        )
        for side in ("left", "right")
    }


def wanted(p: Parameters) -> ca.SX:
    """Return the wanted place of the tip in the case `circle`, (2,) m, as a function of time."""
    angle = p.turning * ds.time
    return ca.vertcat(p.radius * ca.sin(angle), p.centre + p.radius * ca.cos(angle))


@lru_cache(maxsize=4)
def led(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques that lead the tip round its circle."""
    assert isinstance(system, ds.MechanicalSystem)
    p, q = system.parameters, system.coordinates
    there = wanted(p)
    speed = ca.jacobian(there, ds.time)
    force = ca.jacobian(speed, ds.time)
    asked: dict[str, Any] = {}
    for axis, name in enumerate(("tip_x", "tip_y")):
        output = system.outputs[name]
        assert isinstance(output, tuple)
        tip = ca.SX(output[0])
        rate = ca.jacobian(tip, q.vector) @ q.dot.vector
        asked[name] = (
            tip,
            force[axis]
            - 2 * p.sharpness * (rate - speed[axis])
            - p.sharpness**2 * (tip - there[axis]),
        )
    return ds.analysis.computed_torque(system, asked)


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Put the linkage together at rest with its knees outside, its tip above or at given angles."""
    half, a, b = parameters["base"] / 2, parameters["crank"], parameters["rod"]
    tip = np.array([given["tip_x"], given["tip_y"]])
    found: dict[str, float] = {}
    for side, sign in (("left", -1.0), ("right", 1.0)):
        x, y = tip - [sign * half, 0.0]
        reach = float(np.hypot(x, y))
        inside = np.clip((a * a + reach * reach - b * b) / (2 * a * reach), -1.0, 1.0)
        angle = float(np.arctan2(y, x) - sign * np.arccos(inside))
        knee = np.array([sign * half + a * np.cos(angle), a * np.sin(angle)])
        found[side] = angle
        found[f"{side}_rod"] = float(np.arctan2(*(tip - knee)[::-1]))
    return found | {f"{name}_dot": 0.0 for name in ANGLES}


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the bars, the feet and the tip."""
    shapes: list[Shape] = []
    for side, sign in (("left", -0.5), ("right", 0.5)):
        foot = (Linear({"base": sign}), 0.0)
        knee = Polar(foot, "crank", side)
        shapes += [
            Line([foot, knee], label=f"{side} crank"),
            Line([knee, Polar(knee, "rod", f"{side}_rod")], role="detail"),
            Dot(foot, role="ground"),
        ]
    shapes.append(Dot(("tip_x", "tip_y"), role="accent", label="tip"))
    return Drawing(shapes, x_label="x (m)", y_label="y (m)")


ABOVE = {"tip_x": 0.0, "tip_y": 0.5}

problem = ds.Problem(
    "five-bar",
    title="A five-bar linkage with two motors",
    models={"linkage": linkage},
    sources=[
        "J.-J. Cervantes-Sánchez, J. C. Hernández-Rodríguez, J. G. Rendón-Sánchez, On the "
        "workspace, assembly configurations and singularity curves of the RRRRR-type planar "
        "manipulator, Mech. Mach. Theory 35 (2000) 1117-1139",
        "J. Y. S. Luh, M. W. Walker, R. P. C. Paul, Resolved-acceleration control of mechanical "
        "manipulators, IEEE Trans. Autom. Control 25 (1980) 468-474",
    ],
    start=start,
    drawing=drawing,
    cases=[
        ds.Case(
            "pd",
            start=ABOVE,
            until=2.0,
            inputs=controlled,
            note="a controller that samples every 5 ms holds the cranks",
        ),
        ds.Case(
            "circle",
            start={"tip_x": 0.02, "tip_y": 0.5},
            until=4.0,
            inputs=led,
            note="computed torque leads the tip round a circle; it starts off the circle",
        ),
        ds.Case(
            "falls",
            start=ABOVE,
            until=0.25,
            note="without torques, until just before all bars lie on one line: energy is kept",
        ),
    ],
)
