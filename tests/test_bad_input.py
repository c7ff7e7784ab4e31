"""Whatever is wrong with a request gets one sentence of its own type, from Python and the shell."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import (
    ContradictoryGoalsError,
    DegenerateStartError,
    InconsistentStateError,
    NoFreedomError,
    NoInfluenceError,
    OutOfRangeError,
    PosingError,
    RedundantConstraintsError,
    UndefinedDegreeError,
    UnknownNameError,
)

from .systems import pendulum


def quasi(kinematics):
    """Two coordinates, moved by two quasi-velocities; `angle` stands for a coordinate."""
    q, v = ds.coordinates(x="m", y="m"), ds.velocities(u="m/s", w="m/s")

    class Parts:
        u, w, angle = v.u, v.w, q.x

    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(*kinematics(Parts)),
    )


def solved(**request):
    return ds.solve(pendulum(), **{"until": 1.0, "initial": {"x": -1.0}, **request})


def feedback(**settings):
    return solved(formulation=ds.Feedback(**settings))


REQUESTS = {
    "start off the rod": (InconsistentStateError, r"'rod' \(by 3\).*leave one of x, y open",
                          lambda: solved(initial={"x": 2.0, "y": 0.0})),
    "start too long": (InconsistentStateError, r"'rod' \(by 3\).*no value of these",
                       lambda: solved(initial={"x": 2.0})),
    "start's rate": (InconsistentStateError, r"the rate of the goal 'rod' \(by 2\)",
                     lambda: solved(initial={"x": 0.0, "y": 1.0, "x_dot": 0.0, "y_dot": 1.0})),
    "start a list": (OutOfRangeError, "initial must be a mapping", lambda: solved(initial=[1.0])),
    "start a word": (OutOfRangeError, "initial must be a mapping", lambda: solved(initial="x=1")),
    "start value None": (OutOfRangeError, "'x' must be a number, not None",
                         lambda: solved(initial={"x": None})),
    "start value a word": (OutOfRangeError, "'x' must be a number, not '1'",
                           lambda: solved(initial={"x": "1"})),
    "start value an array": (OutOfRangeError, "'x' must be a number",
                             lambda: solved(initial={"x": np.ones(2)})),
    "start value true": (OutOfRangeError, "'x' must be a number, not True",
                         lambda: solved(initial={"x": True})),
    "start value symbolic": (OutOfRangeError, "'x' is SX",
                             lambda: solved(initial={"x": ca.SX.sym("x")})),
    "start value infinite": (OutOfRangeError, "'x' is inf", lambda: solved(initial={"x": np.inf})),
    "start's name": (UnknownNameError, "unknown state 'xx'", lambda: solved(initial={"xx": 1.0})),
    "start's name a number": (UnknownNameError, "unknown state '1'",
                              lambda: solved(initial={1: 1.0})),
    "guess a list": (OutOfRangeError, "guess must be a mapping", lambda: solved(guess=[1.0])),
    "guess nan": (OutOfRangeError, "'y' is nan", lambda: solved(guess={"y": np.nan})),
    "parameter nan": (OutOfRangeError, "'mass' is nan",
                      lambda: solved(parameters={"mass": np.nan})),
    "parameter negative": (OutOfRangeError, "'mass' is -1.0, but must be > 0",
                           lambda: solved(parameters={"mass": -1.0})),
    "parameter None": (OutOfRangeError, "'mass' must be a number, not None",
                       lambda: solved(parameters={"mass": None})),
    "parameter a word": (OutOfRangeError, "'mass' must be a number, not '2'",
                         lambda: solved(parameters={"mass": "2"})),
    "parameter's name": (UnknownNameError, "'mass'", lambda: solved(parameters={"mas": 1.0})),
    "horizon zero": (OutOfRangeError, "horizon is zero", lambda: solved(until=0.0)),
    "horizon nan": (OutOfRangeError, "until is nan", lambda: solved(until=np.nan)),
    "horizon endless": (OutOfRangeError, "until is inf", lambda: solved(until=np.inf)),
    "sample outside": (OutOfRangeError, "sample time 2 lies outside", lambda: solved(at=[2.0])),
    "sample before": (OutOfRangeError, "sample time -1 lies outside", lambda: solved(at=[-1.0])),
    "interval zero": (OutOfRangeError, "interval is 0", lambda: ds.every(0)),
    "interval negative": (OutOfRangeError, "interval is -1", lambda: ds.every(-1)),
    "tolerance zero": (OutOfRangeError, "tolerance is 0.0, but must be a number > 0",
                       lambda: ds.Taylor(tolerance=0.0)),
    "tolerance a word": (OutOfRangeError, "tolerance is 'x'", lambda: ds.Taylor(tolerance="x")),
    "tolerance nan": (OutOfRangeError, "rtol is nan", lambda: ds.Dop853(np.nan)),
    "tolerance loose": (OutOfRangeError, "tolerance is 2", lambda: ds.Taylor(tolerance=2.0)),
    "tolerance of cvodes": (OutOfRangeError, "rtol is 0.0", lambda: ds.Cvodes(0.0, 1e-9)),
    "rate infinite": (OutOfRangeError, "the rate is inf", lambda: feedback(rate=np.inf)),
    "rate nan": (OutOfRangeError, "the rate is nan", lambda: feedback(rate=np.nan)),
    "rate a word": (OutOfRangeError, "the rate is 'fast'", lambda: feedback(rate="fast")),
    "rate of a goal infinite": (OutOfRangeError, "'rod' is inf",
                                lambda: feedback(rates={"rod": np.inf})),
    "rate of a stranger": (UnknownNameError, "'rod'", lambda: feedback(rates={"rood": 1.0})),
    "default rate infinite": (OutOfRangeError, "rate is inf", lambda: solved(default_rate=np.inf)),
    "scale of a stranger": (UnknownNameError, "'energy'", lambda: solved(scales={"enrgy": 1.0})),
    "rule for redundancy": (OutOfRangeError, "redundant is 3", lambda: solved(redundant=3)),
    "rule for rank": (OutOfRangeError, "rank_loss is True", lambda: solved(rank_loss=True)),
    "result's name": (UnknownNameError, "'zz'", lambda: solved()["zz"]),
    "result's time": (OutOfRangeError, "not t = 5 s", lambda: solved().at(5.0)),
    "problem": (UnknownNameError, "'pendulum'", lambda: ds.problem("pendulm")),
    "case": (UnknownNameError, "'release'", lambda: ds.problem("pendulum").case("relase")),
    "case's parameter": (UnknownNameError, "'length'",
                         lambda: ds.problem("pendulum").case(lenght=2.0)),
}  # fmt: skip


@pytest.mark.default_rows(13)
@pytest.mark.parametrize("fault", REQUESTS)
def test_a_wrong_request_is_reported_in_its_own_type(fault):
    kind, words, request = REQUESTS[fault]
    with pytest.raises(kind, match=words):
        request()


def posed(**choices):
    """A point in the plane with the given choices; each may be a function of q and p."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(mass=1.0)
    usual = {"kinetic": p.mass * (q.dot.x**2 + q.dot.y**2) / 2, "goals": []}
    made = {name: one(q, p) if callable(one) else one for name, one in choices.items()}
    return ds.MechanicalSystem(q, p, **usual | made)


def with_goal(goal):
    return ds.solve(posed(goals=lambda q, p: [goal(q, p)]), 1.0, {"y": 1.0})


def with_implicit(residual):
    s = ds.implicit(s="m")
    return posed(implicit=s, goals=lambda q, p: [ds.Implicit("g", residual(q, s), s.s)])


def stranger():
    return ca.SX.sym("z")


GOALS = {
    "a constant": (NoInfluenceError, "'c': its residual contains no coordinate",
                   lambda q, p: ds.Holonomic("c", p.mass - 1)),
    "a number": (NoInfluenceError, "'c': its residual contains no coordinate",
                 lambda q, p: ds.Holonomic("c", 0.0)),
    "time alone": (NoInfluenceError, "'c': its residual contains no coordinate",
                   lambda q, p: ds.Holonomic("c", ds.time)),
    "a constant rate": (PosingError, "'c' does not depend on velocities.*leave it out",
                        lambda q, p: ds.Nonholonomic("c", p.mass - 1)),
    "nothing": (PosingError, "'c' must be a CasADi SX", lambda q, p: ds.Holonomic("c", None)),
    "a word": (PosingError, "'c' must be a CasADi SX", lambda q, p: ds.Holonomic("c", "x")),
    "a vector": (PosingError, "'c' must be a scalar", lambda q, p: ds.Holonomic("c", q.vector)),
    "another symbolic type": (PosingError, "'c' must be a CasADi SX",
                              lambda q, p: ds.Holonomic("c", ca.MX.sym("x"))),
    "no number": (PosingError, "'c' contains the constant nan",
                  lambda q, p: ds.Holonomic("c", q.x * np.nan)),
    "singular": (InconsistentStateError, "'c' is (nan|inf) at the start",
                 lambda q, p: ds.Holonomic("c", 1 / q.x)),
    "never zero": (InconsistentStateError, r"'c' \(by 1\), and no state near the guess fulfils it",
                   lambda q, p: ds.Holonomic("c", q.x**2 + 1)),
    "of velocities": (PosingError, "pose it as Nonholonomic",
                      lambda q, p: ds.Holonomic("c", q.dot.x)),
    "of positions": (PosingError, "pose it as Holonomic",
                     lambda q, p: ds.Nonholonomic("c", q.x)),
    "quadratic in a velocity": (UndefinedDegreeError, "'c' is undefined.*at rest",
                                lambda q, p: ds.Nonholonomic("c", q.dot.x**2)),
    "with a stranger": (PosingError, "'c' contains the symbol 'z'",
                        lambda q, p: ds.Holonomic("c", q.x - stranger())),
    "to another system": (PosingError, "'c' contains the symbol 'x'",
                          lambda q, p: ds.Holonomic("c", ds.coordinates(x="m").x)),
    "without a name": (PosingError, "goal name '' is not a word",
                       lambda q, p: ds.Holonomic("", q.x)),
    "called like a state": (PosingError, "'x' is used twice: as coordinate and as reaction",
                            lambda q, p: ds.Holonomic("x", q.x)),
    "called like time": (PosingError, "'t' is used twice: as time",
                         lambda q, p: ds.Holonomic("t", q.x)),
    "rate nan": (OutOfRangeError, "rate of the goal 'c' is nan",
                 lambda q, p: ds.Holonomic("c", q.x, rate=np.nan)),
    "scale zero": (OutOfRangeError, "scale of the goal 'c' is 0.0",
                   lambda q, p: ds.Holonomic("c", q.x, scale=0.0)),
    "none at all": (PosingError, "the goals contain None", lambda q, p: None),
    "an expression": (PosingError, "the goals contain SX", lambda q, p: q.x),
    "without reaction": (PosingError, "0 reactions for 1 goals",
                         lambda q, p: ds.Holonomic("c", q.x, ideal=False)),
    "a relation without reactions": (NoInfluenceError, "'r'",
                                     lambda q, p: ds.Relation("r", q.x)),
    "a false invariant": (PosingError, "'i'.*not conserved",
                          lambda q, p: ds.Invariant("i", q.x + q.dot.x, drive=True)),
    "an invariant elsewhere": (PosingError, "'i' acts on 'speed'",
                               lambda q, p: ds.Invariant("i", q.x, on="speed")),
}  # fmt: skip


@pytest.mark.parametrize("fault", GOALS)
def test_a_goal_without_meaning_is_named(fault):
    kind, words, goal = GOALS[fault]
    with pytest.raises(kind, match=words):
        # moving along x makes the false invariant change
        with_goal(goal)


def directed(way):
    r = ds.reactions(push="N")
    return posed(
        reactions=r,
        force=lambda q, p: {way: r.push},
        goals=lambda q, p: [ds.Holonomic("c", q.x, ideal=False)],
    )


def controlled(goals):
    """A control system of one state and one control."""
    x, u = ds.states(a="m"), ds.reactions(push="N")
    return ds.ControlSystem(x, {"a": u.push}, controls=u, goals=goals(x))


SYSTEMS = {
    "two goals of one name": (
        PosingError, "two goals are called 'c'",
        lambda: posed(goals=lambda q, p: [ds.Holonomic("c", q.x), ds.Holonomic("c", q.y)])),
    "two events of one name": (
        PosingError, "two events are called 'e'",
        lambda: posed(events=lambda q, p: [ds.Event("e", q.x), ds.Event("e", q.y)])),
    "an output called like a state": (
        PosingError, "'x' is used twice: as coordinate and as output",
        lambda: posed(outputs=lambda q, p: {"x": q.x})),
    "one goal for a list": (PosingError, "goals must be a list of goals, not Holonomic",
                            lambda: posed(goals=lambda q, p: ds.Holonomic("c", q.x))),
    "a word for goals": (PosingError, "goals must be a list of goals, not str",
                         lambda: posed(goals="c")),
    "None for goals": (PosingError, "goals must be a list", lambda: posed(goals=lambda q, p: None)),
    "one event for a list": (PosingError, "events must be a list",
                             lambda: posed(events=lambda q, p: ds.Event("e", q.x))),
    "one event beside a contact": (
        PosingError, "events must be a list of events, not Event",
        lambda: posed(goals=lambda q, p: [ds.Contact("c", q.x)],
                      events=lambda q, p: ds.Event("e", q.x))),
    "goals that one look uses up": (
        PosingError, "goals must be a list of goals, not generator",
        lambda: posed(goals=lambda q, p: (ds.Holonomic(name, q[name]) for name in "xy"))),
    "events that one look uses up": (
        PosingError, "events must be a list of events, not generator",
        lambda: posed(events=lambda q, p: (ds.Event(name, q[name]) for name in "xy"))),
    "one goal of a control system": (PosingError, "goals must be a list of goals, not Goal",
                                     lambda: controlled(lambda x: ds.Goal("g", x.a))),
    "None among goals of a control system": (PosingError, "goals contain None",
                                             lambda: controlled(lambda x: [None])),
    "two invariants of one name": (
        PosingError, "two goals are called 'i'",
        lambda: controlled(lambda x: [ds.Invariant("i", x.a), ds.Invariant("i", x.a)])),
    "None among events": (PosingError, "events contain None", lambda: posed(events=[None])),
    "an event's direction": (PosingError, "'e': direction must be FALLING",
                             lambda: ds.Event("e", ds.time, "falling")),
    "an event's action": (PosingError, "'e': then must be",
                          lambda: ds.Event("e", ds.time, then="stop")),
    "an event's guard": (PosingError, "guard of 'e' must be", lambda: ds.Event("e", "x")),
    "a list of outputs": (PosingError, "outputs must be names with expressions",
                          lambda: posed(outputs=["speed"])),
    "an output's name": (PosingError, "output name 3 is not a word",
                         lambda: posed(outputs=lambda q, p: {3: q.x})),
    "an output a word": (PosingError, "output 'o' must be a CasADi SX",
                         lambda: posed(outputs={"o": "x"})),
    "a force on a stranger": (UnknownNameError, "coordinate of the force 'z'",
                              lambda: posed(force=lambda q, p: {"z": 1.0})),
    "a force of a stranger": (PosingError, "force.* contains the symbol 'z'",
                              lambda: posed(force=lambda q, p: {"x": stranger()})),
    "a force a word": (PosingError, "force on 'x' must be a CasADi SX",
                       lambda: posed(force={"x": "1"})),
    "a force too short": (PosingError, "force must have 2 entries", lambda: posed(force=[1.0])),
    "a force no number": (PosingError, "'x' contains the constant nan",
                          lambda: posed(force={"x": np.nan})),
    "no energy": (PosingError, "give kinetic", lambda: posed(kinetic=None)),
    "cubic energy": (PosingError, "quadratic",
                     lambda: posed(kinetic=lambda q, p: q.dot.x**3 + q.dot.y**2)),
    "energy zero": (PosingError, "'x_dot', 'y_dot' carry no inertia",
                    lambda: ds.solve(posed(kinetic=0.0), 1.0)),
    "a coordinate without inertia": (PosingError, "'y_dot' carry no inertia",
                                     lambda: ds.solve(posed(kinetic=lambda q, p: q.dot.x**2), 1.0)),
    "a velocity that moves nothing": (
        PosingError, "'w' move no coordinate, alone or together, and carry no inertia",
        lambda: ds.solve(quasi(lambda v: [v.u, 0.0 * v.w]), 1.0)),
    "velocities that move as one": (
        PosingError, "'u', 'w' move no coordinate, alone or together, and carry no inertia",
        lambda: ds.solve(quasi(lambda v: [v.u + v.w, 2.0 * (v.u + v.w)]), 1.0)),
    "velocities that move as one where it turns": (
        PosingError, "quasi-velocities 'u', 'w' move no coordinate, alone or together: give",
        lambda: quasi(lambda v: [v.u + v.w, (v.u + v.w) * ca.sin(v.angle)])),
    "a double root": (DegenerateStartError, "'rod' has no slope, as .* passes zero with a slope",
                      lambda: ds.solve(posed(goals=lambda q, p: [
                          ds.Holonomic("rod", (q.x**2 + q.y**2 - 1.0) ** 2)]), 1.0, {"x": 1.0})),
    "mass negative": (PosingError, "'x_dot', 'y_dot' move with negative inertia",
                      lambda: ds.solve(posed(), 1.0, parameters={"mass": -1.0})),
    "mass zero": (PosingError, "'x_dot', 'y_dot' carry no inertia",
                  lambda: ds.solve(posed(), 1.0, parameters={"mass": 0.0})),
    "mass matrix not symmetric": (
        PosingError, r"not symmetric.*'x_dot' with 'y_dot' are 2 and 0",
        lambda: ds.solve(posed(kinetic=None, mass_matrix=ca.SX([[1, 2], [0, 1]])), 1.0)),
    "mass matrix too large": (PosingError, "2 by 2",
                              lambda: posed(kinetic=None, mass_matrix=ca.SX.eye(3))),
    "potential of velocities": (PosingError, "potential must depend only on coordinates",
                                lambda: posed(potential=lambda q, p: q.dot.x)),
    "parameters a table": (PosingError, "contains no symbols",
                           lambda: ds.MechanicalSystem(ds.coordinates(x="m"), {"m": 1.0},
                                                       kinetic=0.0)),
    "a parameter called like the library's": (
        PosingError, "'rate_c' is reserved by the library",
        lambda: ds.MechanicalSystem(q := ds.coordinates(a="m", b="m"), ds.parameters(rate_c=1.0),
                                    kinetic=q.dot.a**2 + q.dot.b**2,
                                    goals=[ds.Holonomic("c", q.a)])),
    "an implicit unknown without equation": (PosingError, "'s' needs exactly one",
                                             lambda: posed(implicit=ds.implicit(s="m"))),
    "an equation without its unknown": (NoInfluenceError, "'g' does not contain the unknown",
                                        lambda: with_implicit(lambda q, s: q.x)),
    "an equation of velocities": (PosingError, "'g' depends on velocities",
                                  lambda: with_implicit(lambda q, s: s.s - q.dot.x)),
    "a reaction too many": (PosingError, "1 reactions for 0 goals",
                            lambda: posed(reactions=ds.reactions(push="N"))),
    "a reaction that acts elsewhere": (NoInfluenceError, "'c'",
                                       lambda: ds.solve(directed("y"), 1.0)),
    "no freedom": (NoFreedomError, "null-space.*leave none; use feedback",
                   lambda: ds.solve(posed(goals=lambda q, p: [
                       ds.Holonomic("c", q.x), ds.Holonomic("d", q.y)]), 1.0,
                       formulation="null-space")),
    "a contradiction": (ContradictoryGoalsError, r"'c' \(by 0.5\) and the goal 'd' \(by 0.5\)",
                        lambda: ds.solve(posed(goals=lambda q, p: [
                            ds.Holonomic("c", q.x), ds.Holonomic("d", q.x - 1)]), 1.0)),
    "dependent on either side of a jump": (
        RedundantConstraintsError, "'c', 'd' depend",
        lambda: ds.solve(posed(goals=lambda q, p: [
            ds.Holonomic("c", q.y), ds.Holonomic("d", ca.if_else(q.x > 0, q.y, 2 * q.y))]), 1.0)),
    "a name with a hyphen": (PosingError, "'a-b' is not a valid identifier",
                             lambda: ds.coordinates(**{"a-b": "m"})),
    "an unknown coordinate": (UnknownNameError, "'y'", lambda: ds.coordinates(x="m").y),
    "a parameter not finite": (OutOfRangeError, "'m' is nan", lambda: ds.parameters(m=np.nan)),
    "a parameter out of range": (OutOfRangeError, "'m' is -1.0, but must be > 0",
                                 lambda: ds.parameters(m=(-1.0, "kg", ds.POSITIVE))),
}  # fmt: skip


@pytest.mark.default_rows(20)
@pytest.mark.parametrize("fault", SYSTEMS)
def test_a_system_without_meaning_is_refused_by_name(fault):
    kind, words, system = SYSTEMS[fault]
    with pytest.raises(kind, match=words):
        system()


# -- the command line ----------------------------------------------------------------------------

COMMANDS = {
    "mass nan": (["--set", "mass=NaN"], "'mass' is nan"),
    "mass negative": (["--set", "mass=-1"], "> 0"),
    "mass true": (["--set", "mass=true"], "'mass' must be a number"),
    "mass null": (["--set", "mass=null"], "'mass' must be a number"),
    "mass a list": (["--set", "mass=[1]"], "'mass' must be a number"),
    "no name": (["--set", "=1"], "NAME=VALUE"),
    "start a word": (["--initial", "x=abc"], "x must be a number"),
    "start nan": (["--initial", "x=NaN"], "'x' is nan"),
    "start off": (["--initial", "x=5"], "'rod' (by 24)"),
    "horizon nan": (["--until", "nan"], "until is nan"),
    "horizon endless": (["--until", "1e999"], "until is inf"),
    "times with semicolons": (["--at", "1;2"], "--at"),
    "tolerance zero": (["--rtol", "0"], "rtol is 0.0"),
    "tolerance nan": (["--rtol", "nan"], "rtol is nan"),
    "tolerance loose": (["--rtol", "10"], "tolerance is 10"),
    "absolute tolerance zero": (["--atol", "0"], "atol is 0.0"),
    "no solver": (["--solver", ""], "unknown solver ''"),
    "solver in capitals": (["--solver", "Taylor"], "'taylor'"),
    "no formulation": (["--formulation", ""], "unknown formulation ''"),
    "rate infinite": (["--rate", "inf"], "inf"),
    "rate nan": (["--rate", "rod=nan"], "'rod' is nan"),
    "rate of nothing": (["--rate", "=5"], "''"),
    "rate without value": (["--rate", "rod="], "[GOAL=]VALUE"),
    "step zero": (["--fixed-step", "0"], "fixed_step is 0.0"),
    "step and tolerance": (["--fixed-step", "0.01", "--rtol", "1e-9"], "leave out"),
    "rule for redundancy": (["--redundant", ""], "minimum-norm"),
    "rule for rank": (["--rank-loss", "Pass"], "pass"),
    "no case": (["--case", ""], "'release'"),
}


@pytest.mark.default_rows(6)
@pytest.mark.parametrize("fault", COMMANDS)
def test_a_wrong_command_ends_with_status_2_and_one_sentence(fault):
    words, told = COMMANDS[fault]
    result = CliRunner().invoke(app, ["run", "pendulum", *words])
    assert result.exit_code == 2, (result.output, result.exception)
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_contradictory_constraints_in_a_file_end_with_status_2(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import daesolve as ds\n"
        "def model():\n"
        "    q = ds.coordinates(x='m', y='m')\n"
        "    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 + q.dot.y**2,\n"
        "        goals=[ds.Holonomic('low', q.y), ds.Holonomic('high', q.y - 1)])\n"
        "problem = ds.Problem('apart', title='', models={'one': model},\n"
        "    cases=[ds.Case('a', until=1.0)])\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, ["run", str(path), "--redundant", "drop"])
    assert result.exit_code == 2
    assert "'low' (by 0.5) and the goal 'high' (by 0.5)" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
