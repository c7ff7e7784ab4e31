"""Constraints that depend on each other everywhere: which, what of the motion, what of the load."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.rank import check_weights, constraint_rank, friction_on_redundant
from daesolve.core.equations.row_choice import _left_out
from daesolve.errors import (
    ContradictoryGoalsError,
    OutOfRangeError,
    RedundantConstraintsError,
    UnknownNameError,
)
from tests.systems import quaternion_rates

RULES = ("drop", "minimum-norm")


def slider_crank(surplus=lambda q: []):
    """A crank of 1 m, a rod of 2 m, a slider on y = 0, all mass in their pins."""
    q = ds.coordinates(x_a="m", y_a="m", x_b="m", y_b="m")
    goals = [
        ds.Holonomic("crank", q.x_a**2 + q.y_a**2 - 1),
        ds.Holonomic("rod", (q.x_b - q.x_a) ** 2 + (q.y_b - q.y_a) ** 2 - 4),
        ds.Holonomic("guide", q.y_b),
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x_a**2 + q.dot.y_a**2) / 2 + q.dot.x_b**2 + q.dot.y_b**2,
        potential=9.81 * (q.y_a + 2 * q.y_b),
        goals=[*goals, *surplus(q)],
    )


def slider_crank_in_space():
    """The same loop by points in space: the plane z = 0 stated for each and for their difference,
    and the slider's height once more."""
    q = ds.coordinates(x_a="m", y_a="m", z_a="m", x_b="m", y_b="m", z_b="m")
    rod = (q.x_b - q.x_a) ** 2 + (q.y_b - q.y_a) ** 2 + (q.z_b - q.z_a) ** 2
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x_a**2 + q.dot.y_a**2 + q.dot.z_a**2) / 2
        + q.dot.x_b**2
        + q.dot.y_b**2
        + q.dot.z_b**2,
        potential=9.81 * (q.y_a + 2 * q.y_b),
        goals=[
            ds.Holonomic("crank", q.x_a**2 + q.y_a**2 + q.z_a**2 - 1),
            ds.Holonomic("rod", rod - 4),
            ds.Holonomic("guide", q.y_b),
            ds.Holonomic("plane_a", q.z_a),
            ds.Holonomic("plane_b", q.z_b),
            ds.Holonomic("plane_both", q.z_a - q.z_b),
            ds.Holonomic("guide_again", 3 * q.y_b),
        ],
    )


def runs(system, redundant, until=10.0):
    return ds.solve(
        system,
        until,
        {"x_a": 0.0, "x_a_dot": 6.0},
        guess={"y_a": 1.0, "x_b": 1.7},
        redundant=redundant,
    )


def assert_same_motion(found, right, names, accuracy=1e-10):
    assert found.outcome is ds.Outcome.COMPLETED, found.message
    for name in names:
        assert np.max(np.abs(found[name] - right[name])) <= accuracy, name


def twice(q):
    return [ds.Holonomic("guide_again", q.y_b)]


def test_a_guide_stated_twice_is_refused_and_both_are_named():
    with pytest.raises(
        RedundantConstraintsError, match=r"'guide', 'guide_again' depend"
    ) as reported:
        runs(slider_crank(twice), "error")
    assert "crank" not in str(reported.value)
    assert "rod" not in str(reported.value)


@pytest.mark.slow
@pytest.mark.slow_rows("minimum-norm")
@pytest.mark.parametrize("rule", RULES)
def test_a_guide_stated_twice_leaves_the_motion_alone(rule):
    right = runs(slider_crank(), "error")
    found = runs(slider_crank(twice), rule)
    names = ("x_a", "y_a", "x_b", "x_a_dot", "y_a_dot", "x_b_dot")
    assert_same_motion(found, right, names)
    for name in ("crank", "rod"):
        assert found.reactions[name] == pytest.approx(right.reactions[name], abs=1e-9)
    load = sum(found.reactions.get(name, 0.0) for name in ("guide", "guide_again"))
    assert load == pytest.approx(right.reactions["guide"], abs=1e-9)
    assert any("redundant" in note or "not unique" in note for note in found.description["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_plane_loop_posed_in_space_moves_as_in_the_plane(rule):
    right = runs(slider_crank(), "error")
    found = runs(slider_crank_in_space(), rule)
    assert_same_motion(found, right, ("x_a", "y_a", "x_b", "x_a_dot", "y_a_dot", "x_b_dot"))
    assert np.max(np.abs(found["z_a"])) == 0.0


def rank_of(system, around=None):
    dynamics = system.dynamics
    values = dynamics.value_vector({})
    samples = sample_states(dynamics, values, around)
    return constraint_rank(dynamics, samples, values), samples, values


@pytest.mark.slow
def test_dependent_goals_are_listed_by_groups():
    rank, _, _ = rank_of(slider_crank_in_space())
    assert rank.groups == (("guide", "guide_again"), ("plane_a", "plane_b", "plane_both"))
    assert rank.droppable == ("plane_both", "guide_again")
    assert "rod" not in rank.redundant


def spatial_loop():
    """Crank and rod as rigid bodies with revolute joints; the slider, the rod's end, on a line.

    Twelve constraints on twelve velocities, yet the loop moves: one of those out of the plane
    follows from the others.
    """
    units, rate_units = {}, {}
    for n in (1, 2):
        units |= {f"x_{n}": "m", f"y_{n}": "m", f"z_{n}": "m"}
        units |= {f"w_{n}": "", f"i_{n}": "", f"j_{n}": "", f"k_{n}": ""}
        rate_units |= {f"vx_{n}": "m/s", f"vy_{n}": "m/s", f"vz_{n}": "m/s"}
        rate_units |= {f"wx_{n}": "rad/s", f"wy_{n}": "rad/s", f"wz_{n}": "rad/s"}
    q, v = ds.coordinates(**units), ds.velocities(**rate_units)

    class Part:
        def __init__(self, vector, n):
            self.vector, self.n = vector, n

        def __getattr__(self, name):
            return self.vector[f"{name}_{self.n}"]

    def turned(a, arm):
        e, u = ca.vertcat(a.i, a.j, a.k), ca.DM(arm)
        return u + 2 * a.w * ca.cross(e, u) + 2 * ca.cross(e, ca.cross(e, u))

    places, kinematics, goals = [], [], []
    kinetic, potential = ca.SX(0), ca.SX(0)
    for n, length in ((1, 1.0), (2, 2.0)):
        a, w = Part(q, n), Part(v, n)
        places.append((a, ca.vertcat(a.x, a.y, a.z)))
        kinematics += [w.vx, w.vy, w.vz, quaternion_rates(a, w)]
        across = length**2 / 12
        kinetic += (w.vx**2 + w.vy**2 + w.vz**2) / 2
        kinetic += (0.01 * w.wx**2 + across * (w.wy**2 + w.wz**2)) / 2
        potential += 9.81 * a.y
        norm = a.w**2 + a.i**2 + a.j**2 + a.k**2
        goals.append(ds.Invariant(f"norm_{n}", norm, drive=True, on="positions"))
    (crank, at_1), (rod, at_2) = places
    root = at_1 + turned(crank, [-0.5, 0, 0])
    pin = at_2 + turned(rod, [-1, 0, 0]) - at_1 - turned(crank, [0.5, 0, 0])
    end = at_2 + turned(rod, [1, 0, 0])
    axis = turned(crank, [0, 0, 1])
    relative = ca.vertcat(
        ca.dot(turned(rod, [1, 0, 0]), axis), ca.dot(turned(rod, [0, 1, 0]), axis)
    )
    for name, residuals in (
        ("root", root), ("root_axis", axis[:2]), ("pin", pin), ("pin_axis", relative),
        ("slider", end[1:]),
    ):  # fmt: skip
        goals += [ds.Holonomic(f"{name}_{n}", residuals[n]) for n in range(residuals.numel())]
    return ds.MechanicalSystem(
        q, kinetic=kinetic, potential=potential, goals=goals, velocities=v,
        kinematics=ca.vertcat(*kinematics),
    )  # fmt: skip


def spatial_start():
    """The crank upright, turning at 6 rad/s clockwise, the rod from its top down to the line."""
    down, half = -np.pi / 6, np.sqrt(0.5)
    start = {"y_1": 0.5, "w_1": half, "k_1": half, "vx_1": 3.0, "wz_1": -6.0}
    start |= {"x_2": np.sqrt(3) / 2, "y_2": 0.5, "w_2": np.cos(down / 2), "k_2": np.sin(down / 2)}
    return start | {"vx_2": 6.0}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_plane_loop_of_rigid_bodies_in_space_moves_as_in_the_plane(rule):
    q = ds.coordinates(crank=ds.ANGLE, rod=ds.ANGLE)
    x = np.array([0.5, 1.0])
    turn = q.dot.crank
    centre_x = -ca.sin(q.crank) * turn - ca.sin(q.rod) * q.dot.rod
    centre_y = ca.cos(q.crank) * turn + ca.cos(q.rod) * q.dot.rod
    plane = ds.MechanicalSystem(
        q,
        kinetic=x[0] ** 2 * turn**2 / 2
        + turn**2 / 24
        + (centre_x**2 + centre_y**2) / 2
        + q.dot.rod**2 / 6,
        potential=9.81 * (1.5 * ca.sin(q.crank) + ca.sin(q.rod)),
        goals=[ds.Holonomic("guide", ca.sin(q.crank) + 2 * ca.sin(q.rod))],
    )
    right = ds.solve(
        plane, 2.0, {"crank": np.pi / 2, "crank_dot": -6.0}, guess={"rod": -np.pi / 6},
        at=[1.0, 2.0],
    )  # fmt: skip
    found = ds.solve(spatial_loop(), 2.0, {}, guess=spatial_start(), redundant=rule, at=[1.0, 2.0])
    assert found.outcome is ds.Outcome.COMPLETED, found.message
    assert found["x_1"] == pytest.approx(0.5 * np.cos(right["crank"]), abs=1e-10)
    assert found["y_1"] == pytest.approx(0.5 * np.sin(right["crank"]), abs=1e-10)
    across = np.cos(right["crank"]) + np.cos(right["rod"])
    assert found["x_2"] == pytest.approx(across, abs=1e-10)


@pytest.mark.slow
def test_the_surplus_constraint_of_a_spatial_loop_is_one_of_those_out_of_the_plane():
    """The slider's z follows from the pins' and from the tilts that lift it: that of the crank's
    axis towards the slider, at (x, 0), and that of the rod's own direction."""
    system = spatial_loop()
    start = spatial_start()
    around = np.array([start.get(name, 0.0) for name in system.dynamics.labels.states])
    rank, _, _ = rank_of(system, around)
    assert len(rank.droppable) == 1
    assert set(rank.redundant) == {"root_2", "root_axis_0", "pin_2", "pin_axis_0", "slider_1"}


# -- contradictions ------------------------------------------------------------------------------


def point(goals, force=lambda g, p: {}, **more):
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(friction=0.1, friction_again=0.3)
    posed = goals(q)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=posed,
        force=force(posed, p),
        **more,
    )


CONTRADICTIONS = {
    "place": (lambda y: y - 1.0, r"the goal 'low' \(by 0.5\) and the goal 'high' \(by 0.5\)"),
    "speed": (lambda y: y - ds.time, r"the rate of the goal 'low' \(by 0.5\) and the rate"),
    "acceleration": (lambda y: y - ds.time**2, r"acceleration of the goal 'low' \(by 1\) and"),
    "later": (lambda y: y - ds.time**3, r"at t = 0.37 s .*'low' \(by 0.0253\d*\)"),
}


@pytest.mark.default_rows(5)
@pytest.mark.parametrize("rule", ["error", *RULES])
@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_goals_that_contradict_each_other_are_refused_whatever_the_rule(kind, rule):
    """Least squares share 1 m, 1 m/s and 2 m/s^2 equally; 0.37^3 / 2 = 0.0253."""
    residual, words = CONTRADICTIONS[kind]
    system = point(lambda q: [ds.Holonomic("low", q.y), ds.Holonomic("high", residual(q.y))])
    with pytest.raises(ContradictoryGoalsError, match=words):
        ds.solve(system, 1.0, {"x": 0.0}, redundant=rule)


def test_constraints_that_move_together_do_not_contradict_each_other():
    system = point(
        lambda q: [
            ds.Holonomic("lift", q.y - ca.sin(ds.time)),
            ds.Holonomic("again", 2 * q.y - 2 * ca.sin(ds.time)),
        ]
    )
    run = ds.solve(system, 1.0, {"x": 0.0}, redundant="drop", at=[1.0])
    assert run["y"][0] == pytest.approx(np.sin(1.0), abs=1e-14)


@pytest.mark.parametrize("rule", ["error", *RULES])
def test_dependent_goals_with_directed_reactions_are_refused_whatever_the_rule(rule):
    q = ds.coordinates(x="m", y="m")
    r = ds.reactions(one="N", two="N")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("a", q.x, ideal=False), ds.Holonomic("b", 2 * q.x, ideal=False)],
        reactions=r,
        force={"x": r.one, "y": r.two},
    )
    with pytest.raises(RedundantConstraintsError, match=r"'a', 'b'.*together with one reaction"):
        ds.solve(system, 1.0, {}, redundant=rule)


# -- reactions in forces ---------------------------------------------------------------------------


def floors(q):
    return [ds.Holonomic("floor", q.y), ds.Holonomic("again", q.y)]


def rubbing(goals, p):
    return {"x": -p.friction * goals[0].reaction - p.friction_again * goals[1].reaction}


def moved_by(system, **parameters):
    dynamics = system.dynamics
    values = dynamics.value_vector(parameters)
    return friction_on_redundant(dynamics, sample_states(dynamics, values), values)


def test_undetermined_reactions_that_rub_differently_move_the_system():
    assert moved_by(point(floors, rubbing)) == ("floor", "again")


def test_undetermined_reactions_that_rub_alike_or_not_at_all_leave_the_motion_alone():
    assert moved_by(point(floors)) == ()
    assert moved_by(point(floors, rubbing), friction=0.2, friction_again=0.2) == ()


def test_determined_reactions_may_rub():
    system = point(
        lambda q: [ds.Holonomic("floor", q.y)], lambda g, p: {"x": -p.friction * g[0].reaction}
    )
    assert moved_by(system) == ()


@pytest.mark.parametrize(
    ("weights", "kind", "words"),
    [
        ({"agin": 2.0}, UnknownNameError, "'again'"),
        ({"again": 0.0}, OutOfRangeError, "'again' is 0.0, but must be a number > 0"),
        ({"again": np.nan}, OutOfRangeError, "'again' is nan"),
        ({"again": "2"}, OutOfRangeError, "'again' is '2'"),
        ({"again": 1e5}, OutOfRangeError, "within a factor of 100"),
    ],
)
def test_weights_without_meaning_are_refused(weights, kind, words):
    with pytest.raises(kind, match=words):
        check_weights(point(floors).dynamics, weights)


def test_what_is_rounding_in_rows_does_not_say_which_of_them_depend():
    """Three rows on two velocities, and on a third by rounding alone: the first two are parallel.

    Scaled by columns, the third would count as firmly as the others, and no two rows be parallel:
    the third row would seem to follow as well as the others.
    """
    matrix = np.array([[1.0, 0.0, 1e-17], [2.0, 0.0, -2e-17], [1.0, 1.0, 1e-19]])
    (left,) = _left_out(matrix[None], np.eye(3)[None], 1)
    assert left in (0, 1)
