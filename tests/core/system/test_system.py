"""Posing: what has a meaning, and what is refused in which words."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import NoInfluenceError, PosingError, UndefinedDegreeError, UnknownNameError
from tests.systems import pendulum, wheel


def particle(goals=lambda q: [], **more):
    q = ds.coordinates(x="m", y="m")
    kinetic = more.pop("kinetic", lambda q: (q.dot.x**2 + q.dot.y**2) / 2)(q)
    return ds.MechanicalSystem(q, kinetic=kinetic, goals=goals(q), **more)


def test_states_are_coordinates_implicit_unknowns_velocities():
    assert wheel().dynamics.labels.states == (
        "x", "z", "theta", "alpha", "x_dot", "z_dot", "theta_dot",
    )  # fmt: skip
    assert wheel().dynamics.goal_names == ("contact", "rolling", "tangency", "moment", "energy")


def test_the_degree_of_a_goal_is_that_of_its_kind():
    rows = {row.name: row.degree for row in wheel().dynamics.rows}
    assert rows == {"contact": 2, "rolling": 1}


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (lambda q: ds.Holonomic("fast", q.x * q.dot.x), "'fast' depends on velocities"),
        (lambda q: ds.Nonholonomic("slow", q.x - 1), "'slow' does not depend on velocities"),
        (lambda q: ds.Goal("plain", q.x), "'plain'"),
        (lambda q: ds.Implicit("lonely", q.x, ca.SX.sym("s")), "implicit unknowns"),
    ],
)
def test_a_goal_of_the_wrong_kind_is_refused_by_name(goal, words):
    with pytest.raises(PosingError, match=words):
        particle(lambda q: [goal(q)])


def test_a_quadratic_no_slip_condition_has_no_degree_at_rest():
    with pytest.raises(UndefinedDegreeError, match=r"'slip'.*at rest"):
        particle(lambda q: [ds.Nonholonomic("slip", q.dot.x**2 - q.dot.y**2)])


def test_a_quadratic_no_slip_condition_with_a_driven_offset_is_refused_as_well():
    with pytest.raises(UndefinedDegreeError, match="'slip'"):
        particle(lambda q: [ds.Nonholonomic("slip", q.dot.x**2 + q.dot.y**2 - 1)])


def test_a_goal_that_no_velocity_moves_has_no_influence():
    with pytest.raises(NoInfluenceError, match="'clock'"):
        particle(lambda q: [ds.Holonomic("clock", ds.time - 1)])


def test_a_relation_without_reactions_has_no_influence():
    with pytest.raises(NoInfluenceError, match="'empty'"):
        particle(lambda q: [ds.Relation("empty", q.x)])


def test_reactions_and_goals_must_be_as_many():
    r = ds.reactions(one="N", two="N")
    with pytest.raises(PosingError, match=r"2 reactions for 1 goals"):
        particle(
            lambda q: [ds.Holonomic("line", q.y, ideal=False)],
            reactions=r,
            force={"x": r.one, "y": r.two},
        )


def test_a_name_that_is_used_twice_is_refused():
    with pytest.raises(PosingError, match="'x' is used twice"):
        particle(lambda q: [ds.Holonomic("x", q.y)])
    with pytest.raises(PosingError, match="two goals are called 'line'"):
        particle(lambda q: [ds.Holonomic("line", q.y, ideal=False)] * 2)
    with pytest.raises(PosingError, match="two events are called 'hit'"):
        particle(events=[ds.Event("hit", ds.time), ds.Event("hit", ds.time - 1)])


def test_a_name_that_collides_with_the_library_s_own_is_refused():
    """`energy` and `work` are outputs that the library adds, `rate_line` is among the values."""
    with pytest.raises(PosingError, match="rate_line"):
        particle(lambda q: [ds.Holonomic("line", q.y)], parameters=ds.parameters(rate_line=1.0))


def test_a_symbol_that_belongs_to_nothing_is_named():
    p = ds.parameters(stiffness=1.0)
    with pytest.raises(PosingError, match="stiffness"):
        _ = particle(force={"x": -p.stiffness}).dynamics.matrices
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="stiffness"):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2)


def test_a_coordinate_without_mass_is_named():
    with pytest.raises(PosingError, match=r"'?y"):
        ds.solve(particle(kinetic=lambda q: q.dot.x**2 / 2), until=1.0, initial={"x_dot": 1.0})
    with pytest.raises(PosingError, match=r"'?y"):
        ds.solve(
            particle(
                lambda q: [ds.Holonomic("line", q.y - q.x**2)], kinetic=lambda q: q.dot.x**2 / 2
            ),
            until=1.0,
            initial={"x_dot": 1.0},
        )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"kinetic": lambda q: q.dot.x**4 + q.dot.y**2}, "quadratic"),
        ({"gyroscopic": [1.0, 0.0]}, "need a mass matrix"),
        ({"mass_matrix": ca.SX.eye(2), "gyroscopic": [1.0, 0.0]}, "do work"),
        ({"velocities": ds.velocities(u="m/s", v="m/s")}, "kinematics"),
        ({"force": [1.0]}, "must have 2 entries"),
    ],
)
def test_equations_without_meaning_are_refused(more, words):
    with pytest.raises(PosingError, match=words):
        particle(**more)


def test_a_force_on_an_unknown_coordinate_is_refused_by_name():
    with pytest.raises(UnknownNameError, match=r"'z'.*'x', 'y'"):
        particle(force={"z": 1.0})


def test_a_potential_of_velocities_is_refused():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="potential"):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.dot.x)


HIDDEN = {
    "size": lambda n, x: -ca.fabs(n),
    "condition": lambda n, x: ca.if_else(n > 20.0, -1.0, 0.0),
    "comparison": lambda n, x: n > 20.0,
    "sign": lambda n, x: ca.sign(n + 20.0),
    "copied sign": lambda n, x: ca.copysign(x, n),
    "whole steps": lambda n, x: ca.floor(n / 10.0),
    "remainder": lambda n, x: ca.remainder(n, 5.0),
    "quotient": lambda n, x: x / n,
    "kept as it is": lambda n, x: ds.smooth(ca.sign(n)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_force_that_is_not_linear_in_a_reaction_is_refused(name):
    """Derivatives of some of them are zero, or constant, though they depend on the reaction."""
    q, u = ds.coordinates(x="m", y="m"), ds.reactions(pull="N")
    line = ds.Holonomic("line", q.y)
    force = HIDDEN[name](line.reaction, q.x)
    posed = {"kinetic": (q.dot.x**2 + q.dot.y**2) / 2}
    with pytest.raises(PosingError, match="force must be linear in the reactions"):
        ds.MechanicalSystem(q, goals=[line], force={"x": force}, **posed)
    tie = ds.Relation("tie", u.pull - force)
    with pytest.raises(PosingError, match="relation 'tie' must be linear in the reactions"):
        ds.MechanicalSystem(q, goals=[line, tie], force={"x": u.pull}, reactions=u, **posed)


REACTING = {
    "the kinetic energy": lambda q, n: {"kinetic": (1 + n**2) * q.dot.x**2 / 2 + q.dot.y**2 / 2},
    "the mass matrix": lambda q, n: {"mass_matrix": ca.diag(ca.vertcat(1 + n, 1)), "kinetic": None},
    "energy": lambda q, n: {"potential": n},
    "the goal 'slope'": lambda q, n: {"goals": [ds.Holonomic("slope", q.x - n)]},
    "the goal 'floor'": lambda q, n: {"goals": [ds.Contact("floor", q.x - n)]},
    "the goal 'skate'": lambda q, n: {"goals": [ds.Nonholonomic("skate", q.dot.x - n * q.dot.y)]},
    "the restitution of the contact 'wall'": lambda q, n: {
        "goals": [ds.Contact("wall", q.x, restitution=n, closed=False)]
    },
    "the invariant 'sum'": lambda q, n: {"goals": [ds.Invariant("sum", q.x + n)]},
}


@pytest.mark.parametrize("owner", REACTING)
def test_a_reaction_in_what_is_known_before_it_is_refused_by_name(owner):
    q = ds.coordinates(x="m", y="m")
    line = ds.Holonomic("line", q.y)
    posed = {"kinetic": (q.dot.x**2 + q.dot.y**2) / 2} | REACTING[owner](q, line.reaction)
    goals = [line, *posed.pop("goals", [])]
    with pytest.raises(PosingError, match=f"{owner}.* depends on the reaction 'line'"):
        ds.MechanicalSystem(q, goals=goals, **posed)


def test_a_control_in_a_goal_is_refused_by_name():
    x, u = ds.states(a="m", b="m/s"), ds.reactions(push="N")
    goal = ds.Goal("speed", x.b - u.push)
    with pytest.raises(PosingError, match="goal 'speed' depends on the reaction 'push'"):
        ds.ControlSystem(x, {"a": x.b, "b": u.push}, controls=u, goals=[goal])


def test_a_reaction_rubs_in_a_branch_that_the_motion_chooses():
    """Beyond x = 1 m, from 1/3 s on, a force of N / 10 brakes, with N = 10 + 5 t."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y)
    brake = ca.if_else(q.x > 1.0, -floor.reaction / 10.0, 0.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=10.0 * q.y,
        goals=[floor],
        force={"x": brake, "y": -5.0 * ds.time},
    )
    run = ds.solve(system, 2.0, {"x_dot": 3.0})
    met = 1.0 / 3.0
    lost = (2.0 - met) + (2.0**2 - met**2) / 4.0
    assert run.end_state["x_dot"] == pytest.approx(3.0 - lost, abs=1e-13)


def test_lagrange_equals_newton_euler():
    """The same pendulum by its energies and by its mass matrix, at random states."""
    q = ds.coordinates(x="m", y="m")
    newton = ds.MechanicalSystem(
        q,
        mass_matrix=ca.SX.eye(2),
        potential=9.81 * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
    )
    lagrange = pendulum()
    generator = np.random.default_rng(3)
    for _ in range(5):
        x = generator.normal(size=4)
        first = lagrange.dynamics.matrices(0.0, x, lagrange.dynamics.value_vector({}))
        second = newton.dynamics.matrices(0.0, x, newton.dynamics.value_vector({}))
        for name in ("mass", "force", "influence", "jacobian", "bias"):
            assert first[name] == pytest.approx(second[name], rel=1e-15), name


def test_lagrange_s_equations_of_a_double_pendulum_equal_the_textbook():
    """Minimal coordinates: M(q), Coriolis terms and gravity written by hand."""
    q = ds.coordinates(a=ds.ANGLE, b=ds.ANGLE)
    x1, y1 = ca.cos(q.a) * q.dot.a, ca.sin(q.a) * q.dot.a
    x2, y2 = x1 + ca.cos(q.b) * q.dot.b, y1 + ca.sin(q.b) * q.dot.b
    system = ds.MechanicalSystem(
        q,
        kinetic=(x1**2 + y1**2 + x2**2 + y2**2) / 2,
        potential=-9.81 * (2 * ca.cos(q.a) + ca.cos(q.b)),
    )
    a, b, u, v = np.random.default_rng(4).normal(size=4)
    parts = system.dynamics.matrices(0.0, [a, b, u, v], system.dynamics.value_vector({}))
    mass = [[2.0, np.cos(a - b)], [np.cos(a - b), 1.0]]
    force = [
        -np.sin(a - b) * v**2 - 2 * 9.81 * np.sin(a),
        np.sin(a - b) * u**2 - 9.81 * np.sin(b),
    ]
    assert parts["mass"] == pytest.approx(np.array(mass), abs=1e-14)
    assert parts["force"].ravel() == pytest.approx(force, abs=2e-14)


def test_a_system_without_a_goal_loses_its_reaction_too():
    less = pendulum().without(["rod"])
    assert less.dynamics.rows == ()
    assert less.dynamics.reactions.numel() == 0


# -- control systems -----------------------------------------------------------------------------


def integrator_chain(length):
    units = {f"x{k}": "" for k in range(length)}
    x = ds.states(**units)
    u = ds.reactions(push="")
    rate = [x[f"x{k + 1}"] for k in range(length - 1)] + [u.push]
    return ds.ControlSystem(x, rate, controls=u, goals=[ds.Goal("zero", x.x0, ideal=False)])


@pytest.mark.parametrize("length", [1, 2, 4, 6])
def test_lie_derivatives_find_the_degree_of_a_chain_of_integrators(length):
    (row,) = integrator_chain(length).dynamics.rows
    assert row.degree == length


def test_a_goal_that_no_control_reaches_is_refused():
    x = ds.states(a="", b="")
    u = ds.reactions(push="")
    with pytest.raises(NoInfluenceError, match="'b alone'"):
        ds.ControlSystem(
            x, {"a": u.push, "b": x.b}, controls=u, goals=[ds.Goal("b alone", x.b, ideal=False)]
        )


def test_a_mechanical_goal_in_a_control_system_is_refused():
    x = ds.states(a="")
    u = ds.reactions(push="")
    with pytest.raises(PosingError, match="'a'"):
        ds.ControlSystem(x, {"a": u.push}, controls=u, goals=[ds.Holonomic("a", x.a)])


def test_a_goal_of_a_control_system_needs_no_special_argument():
    """A control system has no ideal reactions, so `ideal` must not matter."""
    x = ds.states(a="")
    u = ds.reactions(push="")
    for ideal in (True, False):
        system = ds.ControlSystem(
            x, {"a": u.push}, controls=u, goals=[ds.Goal("still", x.a, ideal=ideal)]
        )
        run = ds.solve(system, until=1.0, initial={"a": 1.0}, default_rate=2.0)
        assert run["a"][-1] == pytest.approx(np.exp(-2.0), rel=1e-14)


def test_several_laws_give_their_discrete_values_in_a_list():
    """Two blocks on a floor, each with a law: both stop after v / (mu g)."""
    q = ds.coordinates(x="m", y="m")
    laws = [
        ds.multibody.Coulomb(mu).act(name, rate, ca.SX(9.81))
        for name, mu, rate in (("first", 0.2, q.dot.x), ("second", 0.4, q.dot.y))
    ]
    blocks = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[goal for law in laws for goal in law.goals],
        force={"x": laws[0].force, "y": laws[1].force},
        discrete=[law.discrete for law in laws],
        events=[event for law in laws for event in law.events],
    )
    assert blocks.discrete.names == (*laws[0].discrete.names, *laws[1].discrete.names)
    run = ds.solve(blocks, 2.0, {"x_dot": 1.0, "y_dot": 1.0})
    stops = {event.name: event.time for event in run.events if event.name.endswith("_sticks")}
    # v / (mu g) with one rounding of each operation.
    assert stops["first_sticks"] == pytest.approx(1 / (0.2 * 9.81), rel=1e-14)
    assert stops["second_sticks"] == pytest.approx(1 / (0.4 * 9.81), rel=1e-14)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda d: [d, ds.discrete(mode=1.0)], "two discrete values have the same name, 'mode'"),
        (lambda d: {"mode": 0.0}, "from discrete.. or from laws"),
        (lambda d: [d, None], "from discrete.. or from laws"),
    ],
)
def test_discrete_values_that_do_not_go_together_are_refused(given, sentence):
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match=sentence):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2, discrete=given(ds.discrete(mode=0.0)))
