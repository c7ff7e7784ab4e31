"""Mechanisms are eliminated from their outermost bodies inwards, to the same motion."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.errors import UnknownNameError
from daesolve.multibody import Body, Distance, Mechanism, Revolute
from daesolve.multibody.mechanism import outer_bodies


def test_a_chain_from_the_ground_leads_outwards() -> None:
    joints = {"a": ("ground", "one"), "b": ("one", "two"), "c": ("three", "two")}
    assert outer_bodies(["one", "two", "three"], joints) == {"a": "one", "b": "two", "c": "three"}


def test_a_joint_that_closes_a_loop_leads_nowhere() -> None:
    joints = {"a": ("ground", "one"), "b": ("one", "two"), "c": ("two", "ground")}
    found = outer_bodies(["one", "two"], joints)
    assert len(found) == 2
    assert sorted(found.values()) == ["one", "two"]


def test_what_floats_has_its_root_in_the_middle() -> None:
    joints = {f"arm_{k}": ("hub", f"leaf_{k}") for k in range(4)}
    leaves = [f"leaf_{k}" for k in range(4)]
    assert outer_bodies([*leaves, "hub"], joints) == {f"arm_{k}": f"leaf_{k}" for k in range(4)}


def test_two_mechanisms_beside_each_other_have_a_root_each() -> None:
    joints = {"a": ("one", "two"), "b": ("three", "four")}
    found = outer_bodies(["one", "two", "three", "four"], joints)
    assert set(found) == {"a", "b"}


def _star(arms: int, closed: bool = False) -> Mechanism:
    """Return a hub in space with hinged arms around it; closed, the first two touch."""
    hub = Body("hub", 2.0, (0.3, 0.4, 0.5))
    bodies, parts = [hub], []
    for k in range(arms):
        angle = 2 * np.pi * k / arms
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        axis = (-out[1], out[0], 0.3)
        arm = Body(f"arm_{k}", 0.5, (0.02, 0.03, 0.04), position=1.5 * out)
        parts.append(
            Revolute(f"hinge_{k}", hub.frame(out, axes=axis), arm.frame(-0.5 * out, axes=axis))
        )
        bodies.append(arm)
    if closed:
        parts.append(Distance("rope", bodies[1].point(0, 0, 0.1), bodies[2].point(0, 0, 0.1), 1.5))
    return Mechanism(bodies, parts, gravity=(0, 0, -9.81))


def _eliminated(system: ds.MechanicalSystem, *, ordered: bool) -> ca.Function:
    dynamics = system.dynamics if ordered else replace(system.dynamics, after={})
    saddle = Saddle(dynamics, EliminationPlan())
    found = saddle.solve(dynamics.force, [-row.bias for row in dynamics.rows], [])
    return ca.Function("f", [dynamics.t, dynamics.x, dynamics.p], list(found), {"cse": True})


@pytest.mark.slow
@pytest.mark.parametrize("closed", [False, True])
def test_the_order_changes_the_cost_and_not_the_motion(closed: bool) -> None:
    mechanism = _star(6, closed)
    system = mechanism.system()
    dynamics = system.dynamics
    p = dynamics.value_vector({})
    start = np.array([mechanism.start[name] for name in dynamics.labels.states])
    (t, x), *_ = sample_states(dynamics, p, start)[1:]
    ordered, plain = (_eliminated(system, ordered=ordered) for ordered in (True, False))
    for one, other in zip(ordered(t, x, p), plain(t, x, p), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-10, atol=1e-10)
    assert ordered.n_instructions() < plain.n_instructions()


@pytest.mark.long
def test_the_cost_of_a_star_grows_with_its_arms() -> None:
    few, many = (_eliminated(_star(arms).system(), ordered=True) for arms in (4, 16))
    assert many.n_instructions() < 4.4 * few.n_instructions()


def test_what_comes_before_a_goal_is_there() -> None:
    q = ds.coordinates(x="m", y="m")
    line = ds.Holonomic("line", q.y)
    options = {"kinetic": (q.dot.x**2 + q.dot.y**2) / 2, "goals": [line]}
    with pytest.raises(UnknownNameError, match="y_dot"):
        ds.MechanicalSystem(q, **options, after={"line": ["y"]})
    with pytest.raises(UnknownNameError, match="lin"):
        ds.MechanicalSystem(q, **options, after={"lin": ["y_dot"]})
