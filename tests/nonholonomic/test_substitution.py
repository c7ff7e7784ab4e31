from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.consistency import instantaneous
from daesolve.core.expressions.translation import function_of
from daesolve.core.posing.symbols import time
from daesolve.errors import NotQuasiHolonomicError, PosingError
from daesolve.nonholonomic.substitution import eliminate

from .tables import (
    CART,
    RADIUS,
    SPIN,
    TABLE,
    ball,
    mecanum,
    particle,
    random_states,
    same_state,
    tilting_disc,
    turntable,
    unicycle,
    unicycle_in_quasi_velocities,
    vehicle,
    vertical_disc,
)


def shows(dynamics):
    """Accelerations, reactions (recovered ones too) and outputs by name, of a state."""
    labels = dynamics.labels
    expressions = {**dynamics.recovered, **dynamics.outputs}
    function = function_of(
        "shown",
        [dynamics.t, dynamics.x, dynamics.p, dynamics.reactions],
        [ca.vertcat(*expressions.values())],
        (["t", "x", "p", "u"], ["values"]),
    )

    def at(t, x, p):
        found, reactions = instantaneous(dynamics, t, x, p)
        values = np.asarray(function(t, x, p, reactions)).ravel()
        return (
            dict(zip(labels.accelerations, found, strict=True))
            | dict(zip(labels.reactions, reactions, strict=True))
            | dict(zip(expressions, values, strict=True))
        )

    return at


def mismatch(system, smaller, parameters=None, count=3):
    """How far what both show differs at random states, relative to the largest of it."""
    full, less = system.dynamics, smaller.dynamics
    of_full, of_less = shows(full), shows(less)
    own = less.value_vector(parameters or {})
    worst = 0.0
    for t, x, p in random_states(full, count):
        numbers = dict(zip(full.values, p, strict=True)) | (parameters or {})
        expected = of_full(t, x, full.value_vector(numbers))
        expected |= dict(zip(full.labels.states, x, strict=True))
        found = of_less(t, same_state(full, less, x), own)
        names = [name for name in found if not name.endswith("_apparent")]
        size = max(1.0, max(abs(expected[name]) for name in names))
        worst = max(worst, *[abs(found[name] - expected[name]) / size for name in names])
    return worst


def reactions_of(system):
    return set(system.dynamics.labels.reactions)


SIMILAR = ("unicycle in a potential", "rubber ball", "cart, phi and chi", "upright disc, x alone")
"""Rows that another one of the table stands for when time is short."""


def rows(*, slow=SIMILAR):
    """The rows of the table, those that are named marked slow."""
    return [
        pytest.param(row, marks=[pytest.mark.slow] * (row.name in slow), id=row.name)
        for row in TABLE
    ]


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("cart", "rubber Chaplygin ball")
@pytest.mark.parametrize("row", [row for row in rows() if row.values[0].holds])
def test_what_is_quasi_holonomic_moves_as_before_and_has_the_same_reactions(row):
    solved = row.pose()
    small = eliminate(solved.system, solved.eliminated)
    assert small.report.holds
    labels = small.system.dynamics.labels
    assert set(labels.recovered) == reactions_of(solved.system)
    assert all(name.endswith("_apparent") for name in labels.reactions)
    assert set(solved.eliminated) <= set(labels.states)
    assert mismatch(solved.system, small.system) < 1e-12


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("ball")
@pytest.mark.parametrize("row", rows(slow=(*SIMILAR, *[row.name for row in TABLE if row.holds])))
def test_voronets_equations_hold_for_any_constraints(row):
    solved = row.pose()
    small = eliminate(solved.system, solved.eliminated, gyroscopic="keep")
    assert small.report.holds is row.holds
    labels = small.system.dynamics.labels
    assert set(labels.reactions) | set(labels.recovered) == reactions_of(solved.system)
    assert mismatch(solved.system, small.system) < 1e-12


def test_what_is_not_quasi_holonomic_is_refused():
    solved = mecanum(0.04)
    with pytest.raises(NotQuasiHolonomicError, match="gyroscopic='keep'"):
        eliminate(solved.system, solved.eliminated)
    with pytest.raises(PosingError, match="'refuse' or 'keep'"):
        eliminate(solved.system, solved.eliminated, gyroscopic="drop")


@pytest.mark.parametrize("skate", [True, False])
def test_on_a_floor_that_turns_unevenly(skate):
    solved = turntable(1.0 + ca.sin(time), skate=skate)
    gyroscopic = "refuse" if skate else "keep"
    small = eliminate(solved.system, ["phi"], gyroscopic=gyroscopic)
    assert mismatch(solved.system, small.system) < 1e-12


@pytest.mark.slow
def test_a_holonomic_goal_is_solved_first_and_the_others_keep_their_reactions():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=q.x**2 + q.z,
        goals=[
            ds.Nonholonomic("rolling", 2 * q.dot.y - (1 + q.x**2) * q.dot.z),
            ds.Holonomic("tie", 3 * q.y - ca.sin(q.x)),
        ],
        force={"y": q.y},
    )
    for gyroscopic in ("refuse", "keep"):
        small = eliminate(system, ["y"], gyroscopic=gyroscopic)
        assert small.report.by == ("tie",)
        assert small.report.remaining == ("rolling",)
        assert mismatch(system, small.system) < 1e-12


def test_goals_that_are_solved_together_get_their_own_reactions_back():
    q = ds.coordinates(x="m", y="m", z="m", angle="rad")
    v = q.dot
    system = ds.MechanicalSystem(
        q,
        kinetic=(v.x**2 + v.y**2 + v.z**2 + v.angle**2) / 2 + 0.3 * v.z * v.angle,
        potential=q.x**2 + ca.sin(q.y),
        goals=[
            ds.Nonholonomic("first", v.z + 2 * v.angle - q.x * v.y),
            ds.Nonholonomic("second", 3 * v.z - ca.cos(q.x) * v.angle - v.x),
        ],
    )
    small = eliminate(system, ["z", "angle"], gyroscopic="keep")
    assert mismatch(system, small.system) < 1e-12


# -- the cart ------------------------------------------------------------------------------------

CART_START = {
    "psi": 0.3,
    "theta_0": 0.2,
    "theta_1": -0.35,
    "v_1": -0.0118205065295264,
    "v_2": -1.2,
    "psi_dot": -0.498326147854497,
    "theta_dot_0": -0.4,
    "theta_dot_1": 0.5,
}


@pytest.mark.slow
def test_the_skates_of_a_cart_push_otherwise_than_its_wheels():
    """Reactions of nine coordinates with six constraints, and multipliers after the reduction."""
    solved = vehicle([replace(pair, spring=0.0) for pair in CART])
    small = eliminate(solved.system, solved.eliminated)
    start = ds.consistent_state(small.system, CART_START)
    assert start.reactions["skate_0_apparent"] == pytest.approx(-3.27677016, abs=2e-8)
    assert start.reactions["skate_1_apparent"] == pytest.approx(-0.32880479, abs=2e-8)
    assert start.reactions["skate_0"] == pytest.approx(-1.94063728, abs=2e-8)
    assert start.reactions["skate_1"] == pytest.approx(-0.33137101, abs=2e-8)
    whole = ds.consistent_state(solved.system, start.state, fixed=start.state)
    for name, value in whole.reactions.items():
        assert start.reactions[name] == pytest.approx(value, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("gyroscopic", ["refuse", "keep"])
def test_a_run_of_the_cart_shows_what_a_run_with_wheels_shows(gyroscopic):
    """Errors on the manifold grow 79-fold in 5 s: 1e-15 becomes 1e-13."""
    solved = vehicle()
    small = eliminate(solved.system, solved.eliminated, gyroscopic=gyroscopic)
    assert run_mismatch(solved.system, small.system, 5.0, CART_START) < 1e-12


def run_mismatch(system, smaller, until, start, solver=None):
    at = np.linspace(0.0, until, 11)
    full, less = (ds.solve(one, until, start, at=at, solver=solver) for one in (system, smaller))
    errors = []
    for name in (*smaller.dynamics.labels.states, *smaller.outputs):
        size = max(1.0, np.max(np.abs(full[name])))
        errors.append(np.max(np.abs(less[name] - full[name])) / size)
    for name, values in full.reactions.items():
        size = max(1.0, np.max(np.abs(values)))
        errors.append(np.max(np.abs(less.reactions[name] - values)) / size)
    return max(errors)


@pytest.mark.slow
@pytest.mark.parametrize("pose", [unicycle, vertical_disc, tilting_disc], ids=lambda f: f.__name__)
def test_runs_of_voronets_equations(pose):
    solved = pose()
    small = eliminate(solved.system, solved.eliminated, gyroscopic="keep").system
    start = {"psi_dot": 0.9, "theta_dot": 0.3, "theta": 0.2, "phi_dot": 4.0, "v_tau": 0.4}
    start = {name: value for name, value in start.items() if name in small.dynamics.labels.states}
    if pose is unicycle:
        start = {"psi_dot": 0.7, "x_dot": 0.0, "y_dot": 0.9}
    assert run_mismatch(solved.system, small, 2.0, start) < 1e-11


@pytest.mark.slow
def test_a_run_of_the_unicycle_and_what_a_check_against_skidding_would_miss():
    """The skate of the sleigh errs by i v omega / h^2; its wheel would hold at 1.4 N."""
    solved = unicycle_in_quasi_velocities()
    small = eliminate(solved.system, ["phi"]).system
    start = {"psi": 0.4, "v_tau": -0.9, "omega": 0.7}
    solver = ds.Dop853(rtol=1e-12, atol=1e-14)
    assert run_mismatch(solved.system, small, 2.0, start, solver) < 1e-10
    run = ds.solve(small, 2.0, start, at=np.linspace(0.0, 2.0, 11), solver=solver)
    extra = run.reactions["skate_apparent"] - run.reactions["skate"]
    assert extra == pytest.approx(-SPIN * run["v_tau"] * run["omega"] / RADIUS**2, rel=1e-9)
    assert np.max(np.abs(extra)) > 0.5


# -- forces --------------------------------------------------------------------------------------


def with_motors(solved, **more):
    """Motors that turn wheels, brake them, and know their angles."""
    q, v = solved.system.coordinates, solved.system.v
    name = solved.eliminated[0]
    rate = v.names[q.names.index(name)]
    return replace(
        solved.system,
        force={
            rate if solved.system.velocities is not None else name: 0.3
            - 0.1 * v[rate]
            + 0.05 * ca.sin(q[name])
        },
        **more,
    )


@pytest.mark.parametrize("gyroscopic", ["refuse", "keep"])
def test_forces_on_wheels_are_mapped(gyroscopic):
    system = with_motors(unicycle())
    small = eliminate(system, ["phi"], gyroscopic=gyroscopic).system
    assert mismatch(system, small) < 1e-12


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("column", [list, lambda entries: ca.vertcat(*entries)])
def test_forces_given_as_a_column_are_mapped(column):
    solved = unicycle()
    q = solved.system.coordinates
    system = replace(solved.system, force=column([q.dot.y, 0.2, ca.SX(0.1), -q.dot.phi]))
    assert mismatch(system, eliminate(system, ["phi"]).system) < 1e-12


def test_friction_is_that_of_the_true_reaction():
    """A bearing whose friction grows with the side force: linear in the reaction."""
    solved = unicycle()
    skate = next(goal for goal in solved.system.goals if goal.name == "skate")
    system = replace(
        solved.system, force={"psi": 0.2 * skate.reaction, "phi": 0.1 * skate.reaction}
    )
    assert mismatch(system, eliminate(system, ["phi"]).system) < 1e-12


# -- what is carried over ------------------------------------------------------------------------


def furnished():
    """A unicycle with everything that a system may have."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    s = ds.implicit(s="")
    r = ds.reactions(drag="N")
    p = ds.parameters(friction=(0.1, ""))
    switch = ds.discrete(sign=1.0)
    c, sine = ca.cos(q.psi), ca.sin(q.psi)
    along = c * q.dot.x + sine * q.dot.y
    named = ds.auxiliaries(distance=q.x**2 + q.y**2)
    skate = ds.Nonholonomic("skate", c * q.dot.y - sine * q.dot.x, unit="N", reaction_name="side")
    rolling = ds.Nonholonomic("rolling", along - 0.4 * q.dot.phi, unit="N")
    spun = ds.Invariant("spun", q.dot.phi**2 + q.x)
    wall = ds.Nonholonomic("wall", q.dot.phi - 2.0)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.psi**2 + q.dot.phi**2) / 2
        + 0.3 * q.dot.psi * skate.residual,
        potential=named.distance / 2,
        force={"x": r.drag * switch.sign, "phi": 0.1 * s.s},
        reactions=r,
        implicit=s,
        discrete=switch,
        auxiliaries=named,
        independent={"speed": 0.4 * q.dot.phi, "turning": q.dot.psi},
        goals=[
            skate,
            rolling,
            ds.Implicit("defined", s.s**3 + s.s - q.x, s.s),
            ds.Relation("law", r.drag + p.friction * skate.reaction + 0.1 * q.dot.phi
                        + spun.correction),
            spun,
        ],
        events=[
            ds.Event("turned", ca.sin(q.phi), ds.RISING, ds.Reset({"sign": -switch.sign})),
            ds.Event("struck", q.dot.phi - 3.0, ds.RISING,
                     ds.Reset({"phi": q.phi + 0.1 * q.dot.phi}, impose=[wall],
                              restitution=ca.fabs(q.dot.phi) / 10) | ds.Record()),
            ds.Event("pulled", rolling.reaction - 100.0),
        ],
        outputs={
            "slip": (skate.reaction + 2 * rolling.reaction + q.dot.phi, "N"),
            "far": named.distance + q.phi,
        },
    )  # fmt: skip


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("gyroscopic", ["refuse", "keep"])
def test_everything_else_is_carried_over(gyroscopic):
    system = furnished()
    small = eliminate(system, ["phi"], gyroscopic=gyroscopic).system
    assert mismatch(system, small) < 1e-12
    labels = small.dynamics.labels
    assert labels.states == ("x", "y", "psi", "phi", "s", "x_dot", "y_dot", "psi_dot")
    assert labels.units()["side"] == labels.units()["rolling"] == "N"
    assert labels.units()["phi_dot"] == "rad/s"
    assert [goal.name for goal in small.goals] == ["skate", "defined", "law", "spun"]
    assert [event.name for event in small.events] == ["turned", "struck", "pulled"]
    full, less = system.dynamics, small.dynamics
    for t, x, p in random_states(full, 3):
        y = same_state(full, less, x)
        values = less.value_vector({})
        for event, other in zip(full.events, less.events, strict=True):
            assert guard(less, other, t, y, values) == pytest.approx(
                guard(full, event, t, x, p), abs=1e-12
            )


def guard(dynamics, event, t, x, p):
    function = ca.Function(
        "guard", [dynamics.t, dynamics.x, dynamics.p, dynamics.reactions], [event.guards]
    )
    return float(function(t, x, p, instantaneous(dynamics, t, x, p)[1]))


@pytest.mark.slow
def test_events_on_the_angle_of_a_wheel_happen_when_they_did():
    solved = unicycle_in_quasi_velocities()
    q, v = solved.system.coordinates, solved.system.v
    system = replace(
        solved.system,
        events=[
            ds.Event("far", q.phi - 1.0, ds.RISING, ds.Reset({"phi": q.phi - 1.0})),
            ds.Event("braked", q.psi - 0.6, ds.RISING,
                     ds.Reset(impose=[ds.Nonholonomic("brake", v.spin - 1.0)])),
        ],
    )  # fmt: skip
    small = eliminate(system, ["phi"]).system
    start = {"psi": 0.4, "v_tau": -0.9, "omega": 0.7}
    runs = [ds.solve(one, 6.0, start, at=[6.0], solver=ds.Dop853()) for one in (system, small)]
    names = [[event.name for event in run.events] for run in runs]
    assert names[0] == names[1] == ["braked", "far"]
    for event, other in zip(runs[0].events, runs[1].events, strict=True):
        assert other.time == pytest.approx(event.time, abs=1e-9)
    for name in small.dynamics.labels.states:
        assert runs[1][name][-1] == pytest.approx(runs[0][name][-1], abs=1e-8)


@pytest.mark.slow
def test_quaternions_stay_unit_ones():
    solved = ball((0.2, 0.3, 0.4), rubber=True)
    small = eliminate(solved.system, solved.eliminated).system
    start, solver = {"wx": 0.3, "wy": 0.7}, ds.Dop853(rtol=1e-12, atol=1e-14)
    run = ds.solve(small, 5.0, start, guess={"w": 1.0}, at=np.linspace(0, 5, 6), solver=solver)
    norm = run["w"] ** 2 + run["i"] ** 2 + run["j"] ** 2 + run["k"] ** 2
    assert norm == pytest.approx(1.0, abs=1e-11)
    assert run.drift["energy"].max_relative < 1e-10


# -- what cannot be ------------------------------------------------------------------------------


def test_constraints_that_are_not_linear_in_the_velocities_are_refused():
    solved = particle(lambda q: q.dot.x * q.dot.z, lambda q: q.dot.x)
    with pytest.raises(PosingError, match="solved are not linear in the velocities"):
        eliminate(solved.system, ["y"])


def test_a_force_by_the_reaction_of_a_goal_that_is_eliminated_is_refused():
    solved = unicycle()
    rolling = next(goal for goal in solved.system.goals if goal.name == "solved")
    system = replace(solved.system, force={"phi": 0.1 * rolling.reaction})
    with pytest.raises(PosingError, match="the force contains the reaction of a goal"):
        eliminate(system, ["phi"])


def test_a_relation_with_the_reaction_of_a_goal_that_is_eliminated_is_refused():
    solved, r = unicycle(), ds.reactions(drag="N")
    rolling = next(goal for goal in solved.system.goals if goal.name == "solved")
    system = replace(
        solved.system,
        reactions=r,
        force={"psi": r.drag},
        goals=[*solved.system.goals, ds.Relation("law", r.drag - 0.1 * rolling.reaction)],
    )
    with pytest.raises(PosingError, match="the relation 'law' contains the reaction"):
        eliminate(system, ["phi"])


def test_what_holds_at_some_values_of_the_parameters_is_not_taken_for_all():
    disc = vertical_disc(ahead=None).system
    with pytest.raises(NotQuasiHolonomicError, match="only at these parameter values"):
        eliminate(disc, ["x", "y"])
    small = eliminate(disc, ["x", "y"], gyroscopic="keep").system
    for ahead in (0.0, 0.3):
        assert mismatch(disc, small, {"ahead": ahead}) < 1e-12


def test_a_second_holonomic_goal_of_the_same_coordinate_is_refused():
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[ds.Holonomic("first", q.y - q.x**2), ds.Holonomic("second", q.y - q.z**2)],
    )
    with pytest.raises(PosingError, match="holonomic goal 'second' contains y"):
        eliminate(system, ["y"])


def test_goals_that_depend_on_each_other_are_refused():
    solved = unicycle()
    q = solved.system.coordinates
    twice = ds.Nonholonomic("again", 2 * (ca.cos(q.psi) * q.dot.x + ca.sin(q.psi) * q.dot.y))
    system = replace(solved.system, goals=[*solved.system.goals, twice])
    with pytest.raises(PosingError, match="skate, again depend on each other"):
        eliminate(system, ["phi"])


@pytest.mark.parametrize(
    ("reset", "words"),
    [
        (ds.Reset(impose=["solved"]), "imposes the goal 'solved', which is eliminated"),
        (ds.Reset({"phi_dot": 1.0}), "changes 'phi_dot', which is eliminated"),
        (ds.Reset({"psi": 1.0}, impose=["skate"]), "changes 'psi', by which phi_dot would jump"),
    ],
)
def test_resets_of_what_is_eliminated_are_refused(reset, words):
    solved = unicycle()
    event = ds.Event("struck", solved.system.coordinates.x, ds.EITHER, reset)
    with pytest.raises(PosingError, match=words):
        eliminate(replace(solved.system, events=[event]), ["phi"])


@pytest.mark.slow
def test_a_system_that_was_reduced_is_not_reduced_again():
    solved = vehicle()
    first, *others = solved.eliminated
    small = eliminate(solved.system, [first]).system
    with pytest.raises(PosingError, match=f"quadratures already \\({first}\\)"):
        eliminate(small, others)
