"""Dependent goals whose rank is full throughout, wherever the motion goes: which are kept."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds

RULES = ("drop", "minimum-norm")
RADIUS, HALF = 0.5, 0.8
TURNING = {"x": 0.0, "psi": 0.0, "psi_dot": 1.0, "x_dot": 0.3}


def wheelset(goals, load=0.3):
    """Two wheels on an axle that roll down a slope; one of them carries a load."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, a=ds.ANGLE, b=ds.ANGLE)
    v = q.dot
    kinetic = 2 * (v.x**2 + v.y**2) + 0.7 * v.psi**2 + load * v.a**2 + 0.3 * v.b**2
    return ds.MechanicalSystem(q, kinetic=kinetic / 2, potential=3 * q.x, goals=goals(q))


def along_the_axes(q):
    """Neither wheel slips along x or y: of four goals three are independent, any but at times."""
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    goals = []
    for name, side, turn in (("left", 1, q.dot.a), ("right", -1, q.dot.b)):
        speed = side * HALF * q.dot.psi + RADIUS * turn
        goals.append(ds.Nonholonomic(f"{name}_x", q.dot.x - c * speed))
        goals.append(ds.Nonholonomic(f"{name}_y", q.dot.y - s * speed))
    return goals


def along_the_wheels(q):
    """The same by three goals that never depend on each other."""
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    ahead = c * q.dot.x + s * q.dot.y
    return [
        ds.Nonholonomic("across", c * q.dot.y - s * q.dot.x),
        ds.Nonholonomic("left", ahead - HALF * q.dot.psi - RADIUS * q.dot.a),
        ds.Nonholonomic("right", ahead + HALF * q.dot.psi - RADIUS * q.dot.b),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("load", [1e-12, 0.3])
def test_a_wheelset_turns_all_the_way_round_whatever_its_load(load, rule):
    """Any two wheels' components lose their grip at some heading; light loads cost no digit."""
    right = ds.solve(wheelset(along_the_wheels, load), 10.0, TURNING)
    found = ds.solve(wheelset(along_the_axes, load), 10.0, TURNING, redundant=rule)
    assert found.outcome is ds.Outcome.COMPLETED, found.message
    for name in ("x", "y", "psi"):
        # rounding of 10 s, over a grip of a tenth or more
        assert np.max(np.abs(found[name] - right[name])) <= 1e-12, name


@pytest.mark.slow
def test_what_the_kept_goals_carry_is_the_whole_load():
    right = ds.solve(wheelset(along_the_wheels), 10.0, TURNING)
    found = ds.solve(wheelset(along_the_axes), 10.0, TURNING, redundant="drop")
    c, s = np.cos(found["psi"]), np.sin(found["psi"])
    u = found.reactions
    across = c * (u["left_y"] + u["right_y"]) - s * (u["left_x"] + u["right_x"])
    assert np.max(np.abs(across - right.reactions["across"])) <= 1e-11
    assert np.all(np.min(np.abs([u[name] for name in u]), axis=0) == 0.0)


@pytest.mark.slow
def test_the_load_that_is_shared_has_the_least_norm():
    """No combination that does nothing is left in it: u . A n = 0 for the one that vanishes."""
    found = ds.solve(wheelset(along_the_axes), 10.0, TURNING, redundant="minimum-norm")
    right = ds.solve(wheelset(along_the_wheels), 10.0, TURNING)
    c, s = np.cos(found["psi"]), np.sin(found["psi"])
    u = found.reactions
    across = c * (u["left_y"] + u["right_y"]) - s * (u["left_x"] + u["right_x"])
    assert np.max(np.abs(across - right.reactions["across"])) <= 1e-11
    # The combination that does nothing pushes one wheel to its side, the other one back.
    names = ("left_x", "left_y", "right_x", "right_y")
    nothing = np.array([-s, c, s, -c])
    loads = np.array([u[name] for name in names])
    weights = shares_of(names)
    assert np.max(np.abs(np.sum(weights[:, None] * loads * nothing, axis=0))) <= 1e-10


def shares_of(names):
    """How far a unit of each reaction accelerates what it acts on: the sum of g^2 / M."""
    from daesolve.core.equations.consistency import complete_start, sample_states
    from daesolve.core.equations.elimination.plan import regularisations

    dynamics = wheelset(along_the_axes).dynamics
    values = dynamics.value_vector({})
    start = complete_start(dynamics, values, TURNING).state
    samples = sample_states(dynamics, values, start)
    found = regularisations(dynamics, samples, values)
    return np.array([found[f"regularisation_{name}"] for name in names]) * 1e10


# -- three cranks ----------------------------------------------------------------------------------

PINS = ((0.0, 0.0), (1.0, 0.5), (2.0, -0.3), (0.7, -1.1))


def parallel_cranks(pins, mass=1.0, crank=0.1):
    """A plate on parallel cranks of 1 m: beyond two, one of the two goals of each is redundant."""
    q = ds.coordinates(
        x="m", y="m", turn=ds.ANGLE, **{f"crank_{k}": ds.ANGLE for k in range(len(pins))}
    )
    c, s = ca.cos(q.turn), ca.sin(q.turn)
    goals = []
    for k, (right, up) in enumerate(pins):
        angle = q[f"crank_{k}"]
        along = (q.x + c * right - s * up - right, q.y + s * right + c * up - up)
        goals.append(ds.Holonomic(f"pin_{k}_x", along[0] - ca.cos(angle)))
        goals.append(ds.Holonomic(f"pin_{k}_y", along[1] - ca.sin(angle)))
    plate = mass * (q.dot.x**2 + q.dot.y**2 + q.dot.turn**2 / 2) / 2
    cranks = sum(crank * q.dot[f"crank_{k}"] ** 2 / 2 for k in range(len(pins)))
    return ds.MechanicalSystem(q, kinetic=plate + cranks, potential=9.81 * mass * q.y, goals=goals)


def cranks_start(pins):
    given = {"crank_0": 1.0, "crank_dot_0": 7.0, "x": np.cos(1.0), "y": np.sin(1.0), "turn": 0.0}
    return given | {f"crank_{k}": 1.0 for k in range(1, len(pins))}


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("count", "mass", "crank"),
    [
        (3, 1.0, 0.1),
        pytest.param(4, 1.0, 0.1, marks=SLOW),
        pytest.param(3, 1e-6, 0.1, marks=SLOW),
        pytest.param(3, 1.0, 1e-6, marks=SLOW),
    ],
)
def test_a_plate_on_parallel_cranks_swings_as_one_angle(count, mass, crank, rule):
    q = ds.coordinates(angle=ds.ANGLE)
    one = ds.MechanicalSystem(
        q,
        kinetic=(mass + count * crank) * q.dot.angle**2 / 2,
        potential=9.81 * mass * ca.sin(q.angle),
    )
    right = ds.solve(one, 3.0, {"angle": 1.0, "angle_dot": 7.0})
    pins = PINS[:count]
    found = ds.solve(parallel_cranks(pins, mass, crank), 3.0, cranks_start(pins), redundant=rule)
    assert found.outcome is ds.Outcome.COMPLETED, found.message
    assert np.max(np.abs(found["crank_0"] - right["angle"])) <= 1e-12
