"""Goals and events as they are posed."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import InconsistentStateError, PosingError


@pytest.mark.core
@pytest.mark.parametrize("wrong", ["x", None, ca.MX.sym("x"), ca.SX.sym("x", 2, 2)])
@pytest.mark.parametrize(
    "make",
    [
        lambda r: ds.Holonomic("mine", r),
        lambda r: ds.Relation("mine", r),
        lambda r: ds.Invariant("mine", r),
        lambda r: ds.Implicit("mine", r, ca.SX.sym("s")),
        lambda r: ds.Event("mine", r),
    ],
)
def test_a_residual_that_is_no_scalar_expression_is_refused_by_name(make, wrong):
    with pytest.raises(PosingError, match="'mine'"):
        make(wrong)


X = ds.coordinates(x="m")
CALLS = {
    "interpolant": ca.interpolant("called", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0]),
    "root": ca.rootfinder("called", "newton", {"x": (z := ca.SX.sym("z")), "g": z - X.x, "p": X.x}),
    "kept": ca.Function("called", [z], [ca.sin(z)], {"never_inline": True}),
}
POSED = {
    "the potential": lambda called: {"potential": called},
    "the force on 'x'": lambda called: {"force": {"x": called}},
    "the force": lambda called: {"force": ca.vertcat(called)},
    "the mass matrix": lambda called: {"kinetic": None, "mass_matrix": 2 + called},
    "goal 'mine'": lambda called: {"goals": [ds.Holonomic("mine", called)]},
    "the guard of 'mine'": lambda called: {"events": [ds.Event("mine", [X.x, called])]},
    "output 'mine'": lambda called: {"outputs": {"mine": called}},
}


@pytest.mark.parametrize("owner", POSED)
@pytest.mark.parametrize("kind", CALLS)
def test_a_call_that_is_no_expression_is_refused_by_the_name_of_its_owner(owner, kind):
    called = CALLS[kind](0, X.x) if kind == "root" else CALLS[kind](X.x)

    def pose():
        return ds.MechanicalSystem(X, **{"kinetic": X.dot.x**2 / 2, **POSED[owner](called)})

    with pytest.raises(PosingError, match=f"^{owner} calls the CasADi function 'called'.*ds.table"):
        pose()


def test_a_number_is_an_expression():
    assert float(ds.Holonomic("flat", 0.5).residual) == 0.5


@pytest.mark.core
def test_each_goal_has_a_reaction_symbol_of_its_own():
    x = ca.SX.sym("x")
    first, second = ds.Holonomic("one", x), ds.Holonomic("one", x)
    assert not ca.is_equal(first.reaction, second.reaction)


@pytest.mark.core
def test_actions_join_and_stop_wins():
    assert (ds.Stop() | ds.Record()).stops
    assert (ds.Record() | ds.Stop()).stops
    assert not (ds.Record() | ds.Record()).stops
    assert not ds.Event("e", ca.SX.sym("x")).then.stops


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_a_scale_that_is_no_positive_number_is_refused(scale):
    q = ds.coordinates(x="m", y="m")
    with pytest.raises((PosingError, ds.DaesolveError), match="scale"):
        ds.solve(
            ds.MechanicalSystem(
                q,
                kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
                goals=[ds.Holonomic("line", q.y, scale=scale)],
            ),
            until=1.0,
            initial={"x": 0.0, "y": 0.0, "x_dot": 1.0},
        )


@pytest.mark.parametrize("rate", [-1.0, np.nan, np.inf])
def test_a_goal_with_a_rate_that_is_no_number_above_zero_is_refused(rate):
    q = ds.coordinates(x="m", y="m")
    with pytest.raises(ds.DaesolveError, match="rate"):
        ds.solve(
            ds.MechanicalSystem(
                q,
                kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
                goals=[ds.Holonomic("line", q.y, rate=rate)],
            ),
            until=1.0,
            initial={"x": 0.0, "y": 0.0, "x_dot": 1.0},
        )


def test_a_reaction_may_have_a_name_of_its_own():
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1, unit="N", reaction_name="tension")
    pendulum = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y, goals=[rod]
    )
    run = ds.solve(pendulum, until=0.1, initial={"x": 0.0, "y": -1.0, "x_dot": 1.0})
    assert list(run.reactions) == ["tension"]
    assert "rod" in run.drift
    # y'' = v^2 = -g + 2 y u at the lowest point.
    assert run["tension"][0] == pytest.approx(-(9.81 + 1.0) / 2.0, rel=1e-12)


def test_a_reaction_that_is_directed_by_forces_has_no_name_of_its_goals():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="'line' cannot name its reaction"):
        ds.Holonomic("line", q.x, ideal=False, reaction_name="push")


def parabola(**options):
    """A control system that a control is to bring onto y = x^2."""
    x = ds.states(x="m", y="m")
    push = ds.reactions(push="m/s")
    goal = ds.Goal("parabola", x.y - x.x**2, ideal=False, rate=2.0, **options)
    return ds.ControlSystem(x, {"x": 1.0, "y": push.push}, controls=push, goals=[goal])


@pytest.mark.core
def test_a_goal_that_is_to_hold_at_the_start_moves_what_is_not_kept():
    run = ds.solve(parabola(at_start=True), 1.0, {"x": 2.0})
    assert run["y"][0] == pytest.approx(4.0, abs=1e-15)
    assert run["y"][-1] == pytest.approx(9.0, abs=1e-14)
    with pytest.raises(InconsistentStateError, match="'parabola'"):
        ds.solve(parabola(at_start=True), 1.0, {"x": 2.0, "y": 0.0})


def test_another_goal_of_a_control_system_is_approached_from_the_start():
    run = ds.solve(parabola(), 1.0, {"x": 2.0})
    assert run["y"][0] == 0.0
    assert run["y"][-1] == pytest.approx(9.0 - 4.0 * math.exp(-2.0), rel=1e-13)


def test_a_constraint_holds_at_the_start_in_any_case():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="'wall' always holds at the start"):
        ds.Holonomic("wall", q.x, at_start=True)


def test_a_comparison_is_no_goal():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="the goal 'rod' is a comparison"):
        ds.Holonomic("rod", q.x == 1)
    with pytest.raises(PosingError, match="the goal 'blade' is a comparison"):
        ds.Nonholonomic("blade", q.dot.x == 0)
