"""A robot arm with three joints: a turning column, an upper arm and a forearm with a load.

Uniform thin rods under their weight, and a point mass, the load, at the hand. The angles are
`waist` (about the vertical), `shoulder` and `elbow` (above the horizontal; the elbow's relative to
the upper arm), without friction. There are no constraints or reactions; the torques of three motors
are inputs, `motor_waist`, `motor_shoulder`, `motor_elbow`. Without them energy is conserved and,
the column being vertical, the moment of momentum about it.

With r_k = ρ_k (cos α, sin α) the place of a mass element of an arm in the vertical plane that turns
with the waist w, at the angle α = s or s + e,

    T = J w'² / 2 + ∫ (ρ'² + z'² + ρ² w'²) dm / 2,    V = ∫ g z dm.

Motors are to lead it along q_k(t) = c_k + A_k sin(ω_k t). *Inverse dynamics* gives the torques that
do so: the case `feedforward` uses only these. *Computed torque* adds feedback,

    q_k'' = q_d'' - 2 κ (q_k' - q_d') - κ² (q_k - q_d),

put into the same equations (case `computed-torque`): from anywhere the error e obeys
e(t) = (e_0 + (e_0' + κ e_0) t) exp(-κ t), whatever the masses of the arm are. The case `sampled`
does the same with a computer that samples every 2 ms: this causes an error of the order of the
period.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Line, Shape, Trace, tiles
from daesolve.multibody.drawing.traced import numbers
from daesolve.typing import Parameters

JOINTS = ("waist", "shoulder", "elbow")
PATH = {"waist": (0.0, 1.0, 1.0), "shoulder": (0.8, 0.4, 1.7), "elbow": (-1.2, 0.6, 2.3)}
"""c, A in rad and ω in rad/s of the wanted motion."""
PERIOD = 0.002
"""s"""


def arm() -> ds.MechanicalSystem:
    """Pose the arm."""
    q = ds.coordinates(**dict.fromkeys(JOINTS, ds.ANGLE))
    u = ds.inputs(**{f"motor_{name}": (0.0, "N m") for name in JOINTS})
    p = ds.parameters(
        column_inertia=(0.2, "kg m^2", ds.NON_NEGATIVE),
        upper_mass=(4.0, "kg", ds.POSITIVE),
        upper=(0.5, "m", ds.POSITIVE),
        fore_mass=(2.5, "kg", ds.POSITIVE),
        fore=(0.4, "m", ds.POSITIVE),
        load=(1.5, "kg", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2"),
        sharpness=(15.0, "1/s", ds.NON_NEGATIVE),
    )
    w, s, e = (q[name] for name in JOINTS)

    def place(along: ca.SX, beyond: ca.SX) -> ca.SX:
        """Return a place of the arm in space."""
        reach = along * ca.cos(s) + beyond * ca.cos(s + e)
        height = along * ca.sin(s) + beyond * ca.sin(s + e)
        return ca.vertcat(reach * ca.cos(w), reach * ca.sin(w), height)

    hand, elbow = place(p.upper, p.fore), place(p.upper, ca.SX(0))
    # A uniform rod moves as a sixth of its mass at each end and two thirds in the middle.
    points = [
        (p.upper_mass * 4 / 6, place(p.upper / 2, ca.SX(0))),
        (p.upper_mass / 6 + p.fore_mass / 6, elbow),
        (p.fore_mass * 4 / 6, place(p.upper, p.fore / 2)),
        (p.fore_mass / 6 + p.load, hand),
    ]
    kinetic, potential = p.column_inertia * q.dot.waist**2 / 2, ca.SX(0)
    for mass, where in points:
        speed = ca.jacobian(where, q.vector) @ q.dot.vector
        kinetic += mass * ca.sumsqr(speed) / 2
        potential += mass * p.gravity * where[2]
    outputs = {f"hand_{axis}": (hand[k], "m") for k, axis in enumerate("xyz")}
    outputs |= {"elbow_reach": (p.upper * ca.cos(s), "m"), "elbow_z": (elbow[2], "m")}
    outputs |= {"hand_reach": (p.upper * ca.cos(s) + p.fore * ca.cos(s + e), "m")}
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=potential,
        force={name: u[f"motor_{name}"] for name in JOINTS},
        outputs=outputs,
        inputs=u,
    )


def path() -> dict[str, ca.SX]:
    """Return the wanted motion, rad, as a function of time."""
    return {name: c + a * ca.sin(w * ds.time) for name, (c, a, w) in PATH.items()}


def asked(seen: Mapping[str, Any], sharpness: Any) -> dict[str, ca.SX]:
    """Return the wanted accelerations from measured angles and rates.

    Without sharpness they are those of the path.
    """
    found: dict[str, ca.SX] = {}
    for name, wanted in path().items():
        rate = ca.jacobian(wanted, ds.time)
        error, slip = seen[name] - wanted, seen[f"{name}_dot"] - rate
        feedback = 2 * sharpness * slip + sharpness**2 * error
        found[name] = ca.jacobian(rate, ds.time) - feedback
    return found


def _seen(system: ds.MechanicalSystem) -> dict[str, ca.SX]:
    q = system.coordinates
    return {name: q[name] for name in JOINTS} | {f"{name}_dot": q.dot[name] for name in JOINTS}


@lru_cache(maxsize=4)
def computed(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques of the case `computed-torque`."""
    assert isinstance(system, ds.MechanicalSystem)
    p: Parameters = system.parameters
    return ds.analysis.computed_torque(system, asked(_seen(system), p.sharpness))


@lru_cache(maxsize=4)
def fed_forward(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques along the path, which depend only on time."""
    assert isinstance(system, ds.MechanicalSystem)
    laws = ds.analysis.computed_torque(system, asked(_seen(system), 0.0))
    wanted = path()
    rates = [ca.jacobian(wanted[name], ds.time) for name in JOINTS]
    there = ca.vertcat(*wanted.values(), *rates)
    states = ca.vertcat(system.coordinates.vector, system.coordinates.dot.vector)
    return {name: ca.substitute(law, states, there) for name, law in laws.items()}


@lru_cache(maxsize=4)
def sampled(system: ds.MechanicalSystem | ds.ControlSystem) -> dict[str, Any]:
    """Return the torques of the case `sampled`."""
    laws = computed(system)
    return {name: ds.sampled(name, period=PERIOD, law=law) for name, law in laws.items()}


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Start on the path, except for the given offsets of the joints."""
    found: dict[str, float] = {}
    for name, (c, a, w) in PATH.items():
        found |= {name: c + given.get(f"{name}_off", 0.0), f"{name}_dot": a * w}
    return found


def start_names(structure: Mapping[str, Any]) -> list[str]:
    """Return the names of the offsets of the joints from the path, rad."""
    return [f"{name}_off" for name in JOINTS]


def drawing(document: Mapping[str, Any]) -> Drawing:
    """Draw the arm on its column, and the path of its hand."""
    waist = numbers(document["states"]["waist"])
    reach = numbers(document["outputs"]["elbow_reach"])
    elbow, hand = ("elbow_x", "elbow_y", "elbow_z"), ("hand_x", "hand_y", "hand_z")
    shapes: list[Shape] = [
        *tiles(np.zeros((1, 2)), 0.5, -0.4),
        Line([(0.0, 0.0, -0.4), (0.0, 0.0, 0.0)], role="ground", label="column"),
        Trace(hand, label="path of the hand"),
        Line([(0.0, 0.0, 0.0), elbow], label="upper arm"),
        Line([elbow, hand], label="forearm"),
        Dot(elbow, role="detail"),
        Dot(hand, role="accent", label="load"),
    ]
    series = {"elbow_x": reach * np.cos(waist), "elbow_y": reach * np.sin(waist)}
    return Drawing(shapes, series=series, eye=(0.6, -1.0, 0.5))


OFF = {"waist_off": 0.3, "shoulder_off": -0.2, "elbow_off": 0.25}

problem = ds.Problem(
    "robot-arm",
    title="A robot arm with three motors",
    models={"arm": arm},
    sources=[
        "J. Y. S. Luh, M. W. Walker, R. P. C. Paul, On-line computational scheme for mechanical "
        "manipulators, J. Dyn. Syst. Meas. Control 102 (1980) 69-76",
        "B. Siciliano, L. Sciavicco, L. Villani, G. Oriolo, Robotics: Modelling, Planning and "
        "Control (Springer, 2009), 8.5.2",
    ],
    start=start,
    start_values=start_names,
    drawing=drawing,
    cases=[
        ds.Case(
            "computed-torque",
            start=OFF,
            until=4.0,
            inputs=computed,
            note="starts off the path, and returns to it as exp(-15 t)",
        ),
        ds.Case(
            "sampled",
            start=OFF,
            until=4.0,
            inputs=sampled,
            note="the same with a computer that samples every 2 ms",
        ),
        ds.Case(
            "feedforward",
            until=2.0,
            inputs=fed_forward,
            note="only the torques of inverse dynamics, from a start on the path",
        ),
        ds.Case("falls", until=2.0, note="without torques: energy is kept"),
    ],
)
