"""Friction that leaves no reactions: Painleve's rod in closed form, and its report."""

import math
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.omni_friction.maximal import maximal
from daesolve_problems.omni_friction.placing import places
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.expressions.translation import function_of
from daesolve.errors import FrictionlessIllPosed, JamEvent, UnsupportedError
from daesolve.multibody.friction_laws import RegularisedCoulomb
from daesolve.multibody.painleve import (
    determinant_ratio,
    friction_margin,
    margin_at,
    watched_for_jams,
)
from tests.contact.laws.skating_rod import skating_rod
from tests.reference import skating_rod as truth

MU = 1.7
SLIPS_BACK = -30.0


@cache
def rod():
    """A homogeneous rod of 2 m, 1 kg, whose lower end slides on the ground."""
    q = ds.coordinates(x="m", y="m", angle="rad")
    p = ds.parameters(mu=(MU, ""))
    tip = ds.Contact("tip", q.y - ca.sin(q.angle))
    slip = q.dot.x + ca.sin(q.angle) * q.dot.angle
    rubs = RegularisedCoulomb(p.mu, 1e-3).act("tip", slip, tip.reaction, tip.values.vector)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.angle**2 / 3) / 2,
        potential=9.81 * q.y,
        goals=[tip, *rubs.goals],
        force=ca.jtimes(slip, q.dot.vector, rubs.force, True),
        discrete=rubs.discrete,
        events=rubs.events,
    )


@cache
def watched():
    return watched_for_jams(rod())


@cache
def ladder():
    """A homogeneous rod of 2 m between a wall and the ground, both of which rub."""
    q = ds.coordinates(x="m", y="m", angle="rad")
    p = ds.parameters(mu=(0.3, ""))
    wall, floor = (
        ds.Holonomic("wall", q.x - ca.cos(q.angle)),
        ds.Holonomic("floor", q.y - ca.sin(q.angle)),
    )
    slips = (
        q.dot.y + ca.cos(q.angle) * q.dot.angle,
        q.dot.x - ca.sin(q.angle) * q.dot.angle,
    )
    law = RegularisedCoulomb(p.mu, 1e-6)
    rubs = [
        law.act(goal.name, slip, goal.reaction)
        for goal, slip in zip((wall, floor), slips, strict=True)
    ]
    forces = [
        ca.jtimes(slip, q.dot.vector, rub.force, True)
        for slip, rub in zip(slips, rubs, strict=True)
    ]
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.angle**2 / 3) / 2,
        goals=[wall, floor],
        force=forces[0] + forces[1],
        discrete=rubs[0].discrete.joined(rubs[1].discrete),
        events=[*rubs[0].events, *rubs[1].events],
    )


def standing(angle, speed=SLIPS_BACK):
    return {"angle": angle, "y": math.sin(angle), "x_dot": speed}


def needed(angle):
    """The friction at which the rod's reaction is lost: (1 + 3 cos^2) / (3 sin cos)."""
    return (1 + 3 * math.cos(angle) ** 2) / (3 * math.sin(angle) * math.cos(angle))


@settings(derandomize=True, max_examples=10, deadline=None)
@given(angle=st.floats(0.05, 1.5), mu=st.floats(0.1, 5.0))
def test_the_margin_of_a_rod_is_that_of_the_closed_form(angle, mu):
    margin = friction_margin(rod(), standing(angle), parameters={"mu": mu})
    assert margin == pytest.approx(needed(angle) / mu, rel=1e-12)
    assert friction_margin(rod(), standing(angle, -SLIPS_BACK)) == math.inf


@pytest.mark.parametrize("slip", ["plane", "space"])
def test_the_margin_of_a_contact_with_dry_friction_follows_its_slip(slip):
    q = ds.coordinates(x="m", y="m", angle="rad", z="m")
    along = q.dot.x + ca.sin(q.angle) * q.dot.angle
    slips = along if slip == "plane" else (along, q.dot.z)
    tip = ds.Contact("tip", q.y - ca.sin(q.angle), slip=slips, friction=MU)
    dry = ds.MechanicalSystem(
        q,
        kinetic=(ca.sumsqr(ca.vertcat(q.dot.x, q.dot.y, q.dot.z)) + q.dot.angle**2 / 3) / 2,
        potential=9.81 * q.y,
        goals=[tip],
    )
    assert friction_margin(dry, standing(0.5)) == pytest.approx(needed(0.5) / MU, rel=1e-12)
    assert friction_margin(dry, standing(0.5, -SLIPS_BACK)) == math.inf
    assert friction_margin(dry, standing(0.5, 0.0)) == math.inf


def test_the_margin_of_contacts_that_stick_together_needs_no_shares():
    q = ds.coordinates(x="m", y="m", turn="rad")
    feet = [
        ds.Contact(name, q.y + side * q.turn, slip=q.dot.x, friction=0.5)
        for name, side in (("left", -1.0), ("right", 1.0))
    ]
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.turn**2) / 2
    block = ds.MechanicalSystem(q, kinetic=kinetic, goals=feet)
    assert friction_margin(block, {}) == math.inf


@pytest.mark.parametrize("kind", ["contact", "two-sided"])
def test_the_margin_beside_a_skate_is_that_of_its_two_reactions(kind):
    random, system, met = np.random.default_rng(4), skating_rod(kind), 0
    for k in range(28):
        phi, slip = random.uniform(-1.4, 1.4), random.choice([-2.0, 2.0])
        friction = random.uniform(0.1, 1.5), random.uniform(0.0, 1.0) * (k % 2)
        begin = truth.start(phi, slip)
        v = np.array([begin[name] for name in truth.NAMES[3:]])
        # A contact presses upwards; of a pair that support counts which is pressed.
        sides = [np.sign(slip)]
        if kind == "two-sided":
            answers = truth.gauss(phi, v, friction, opens=False)
            if len(answers) != 1 or truth.ratio(phi, v, *friction, sides[0]) <= 0.0:
                continue
            sides = [np.sign(slip) * np.sign(answers[0][0])]
        values = dict(zip(("mu", "nu"), friction, strict=True))
        expected = truth.margin(phi, v, *friction, sides[0])
        assert friction_margin(system, begin, parameters=values) == pytest.approx(
            expected, rel=1e-8
        )
        met += math.isfinite(expected)
    assert met > 5


def test_the_margin_of_a_pair_that_locks_is_where_its_reaction_is_lost():
    begin, values = truth.start(0.8, -2.0), {"mu": 3.0}
    v = np.array([begin[name] for name in truth.NAMES[3:]])
    assert truth.gauss(0.8, v, (3.0, 0.0), opens=False) == []
    expected = truth.margin(0.8, v, 3.0, 0.0, -1.0)
    assert 0.0 < expected < 1.0
    found = friction_margin(skating_rod("two-sided"), begin, parameters=values)
    assert found == pytest.approx(expected, rel=1e-12)


def test_no_homogeneous_rod_jams_below_four_thirds():
    worst = math.atan(2.0)
    assert needed(worst) == pytest.approx(4 / 3, rel=1e-15)
    least = friction_margin(rod(), standing(worst), parameters={"mu": 1.0})
    assert least == pytest.approx(4 / 3, rel=1e-13)
    beside = [
        friction_margin(rod(), standing(worst + d), parameters={"mu": 1.0}) for d in (-0.1, 0.1)
    ]
    assert min(beside) > least


@settings(derandomize=True, max_examples=5, deadline=None)
@given(angle=st.floats(0.1, 1.4), rate=st.floats(0.1, 2.0), mu=st.floats(0.1, 1.0))
def test_the_margin_of_a_ladder_is_that_of_its_determinant_of_two_reactions(angle, rate, mu):
    state = {"x": math.cos(angle), "y": math.sin(angle), "angle": angle, "angle_dot": -rate}
    state |= {"x_dot": math.sin(angle) * rate, "y_dot": -math.cos(angle) * rate}
    margin = friction_margin(ladder(), state, parameters={"mu": mu})
    # det(J M^-1 (J^T + kappa F)) for the wall and the floor, while the ladder slides down.
    sine, cosine = math.sin(angle), math.cos(angle)
    rows, inverse = np.array([[1, 0, sine], [0, 1, -cosine]]), np.diag([1.0, 1.0, 3.0])
    rubbing = mu * np.array([[0, 1, cosine], [-1, 0, sine]]).T
    ideal, caused = rows @ inverse @ rows.T, rows @ inverse @ rubbing
    mixed = np.linalg.det(ideal + caused) - np.linalg.det(ideal) - np.linalg.det(caused)
    roots = np.roots([np.linalg.det(caused), mixed, np.linalg.det(ideal)])
    least = min(roots.real[(np.abs(roots.imag) < 1e-12) & (roots.real > 0)], default=math.inf)
    assert margin == pytest.approx(least, rel=1e-11)


def test_the_watched_ratio_is_the_determinant_that_the_closed_form_has():
    dynamics = rod().dynamics
    ratio = function_of(
        "ratio", [dynamics.t, dynamics.x, dynamics.p], [determinant_ratio(dynamics)],
        (["t", "x", "p"], ["ratio"]),
    )  # fmt: skip
    state = [0.0, math.sin(0.5), 0.5, SLIPS_BACK, 0.0, 0.0]
    values = dynamics.value_vector({"mu": 0.9, "saturated_tip": 1.0})
    assert float(ratio(0.0, state, values)) == pytest.approx(1 - 0.9 / needed(0.5), rel=1e-13)
    open_ = dynamics.value_vector({"mu": 0.9, "saturated_tip": 1.0, "contact_tip": 0.0})
    assert float(ratio(0.0, state, open_)) == 1.0


@pytest.mark.parametrize(("angle", "turn"), [(0.3, 3.0), (0.5, 1.0)])
def test_a_rod_that_is_thrown_runs_into_its_critical_angle_and_ends_there(angle, turn):
    run = ds.solve(
        watched(),
        until=3.0,
        initial={"angle": angle, "angle_dot": turn, "x_dot": SLIPS_BACK},
        guess={"y": math.sin(angle)},
    )
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["jam"]
    assert "friction jams" in run.message
    # tan^2 - 3 mu tan + 4 = 0; the run ends where a millionth of the determinant is left.
    tangent = (3 * MU - math.sqrt(9 * MU**2 - 16)) / 2
    slope = abs(needed(math.atan(tangent) - 1e-4) - needed(math.atan(tangent))) / 1e-4
    assert run.end_state["angle"] == pytest.approx(math.atan(tangent), abs=2e-6 * MU / slope)


def test_a_start_beyond_the_critical_angle_is_refused():
    with pytest.raises(JamEvent, match="at the start friction jams"):
        ds.solve(watched(), until=1.0, initial=standing(1.1))


def test_what_is_watched_already_is_returned_as_it_is():
    assert watched_for_jams(watched()) is watched()


def test_friction_that_presses_on_nothing_is_not_watched():
    q = ds.coordinates(x="m", z="m")
    floor = ds.Holonomic("floor", q.z)
    rubs = RegularisedCoulomb(0.3, 1e-3, smooth=True).act("floor", q.dot.x, floor.reaction)
    block = ds.MechanicalSystem(
        q, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=[floor], force=[rubs.force, 0.0]
    )
    assert watched_for_jams(block) is block
    assert friction_margin(block, {"x_dot": 1.0}) == math.inf


def test_a_system_without_friction_is_returned_as_it_is():
    q = ds.coordinates(x="m", z="m")
    smooth = ds.MechanicalSystem(
        q, kinetic=ca.sumsqr(q.dot.vector) / 2, goals=[ds.Holonomic("floor", q.z)]
    )
    assert watched_for_jams(smooth) is smooth
    assert friction_margin(smooth, {}) == math.inf


def test_relations_between_reactions_beside_friction_have_no_margin():
    q = ds.coordinates(x="m", z="m")
    floor = ds.Holonomic("floor", q.z)
    u = ds.reactions(drive="N")
    rubs = RegularisedCoulomb(0.3, 1e-3).act("floor", q.dot.x, floor.reaction)
    driven = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        goals=[floor, ds.Relation("ratio", u.drive - 0.1 * floor.reaction)],
        reactions=u,
        force=[u.drive + rubs.force, 0.0],
        discrete=rubs.discrete,
        events=rubs.events,
    )
    assert watched_for_jams(driven) is driven
    with pytest.raises(UnsupportedError, match="nothing says which part of them is friction"):
        friction_margin(driven, {"x_dot": 1.0})


def test_constraints_that_depend_on_each_other_have_no_margin():
    again = ds.Holonomic("again", 2 * rod().goals[0].residual)
    doubled = replace(rod(), goals=[*rod().goals, again])
    with pytest.raises(FrictionlessIllPosed, match="depend on each other"):
        friction_margin(doubled, standing(0.5))


@pytest.mark.slow
def test_the_margin_of_the_omni_vehicle_as_bodies_is_that_of_its_three_reactions():
    """78 constraints of 16 bodies, against the reduced model's equations for N.

    N_i D_i = a - G_i with D_i = R - mu h_i s_i, s_i the slip along the axle over its size, and a
    such that the N_i carry the weight: they are lost where D1 D2 + D2 D3 + D3 D1 = 0. With |s| <= 1
    that is never below mu = R / l.
    """
    system = maximal(3, 4)
    dynamics, defaults = system.dynamics, system.parameters.defaults
    slips = [dynamics.outputs[f"slip_{way}{i}"] for way in ("n_", "") for i in (1, 2, 3)]
    slip = function_of(
        "slips", [dynamics.x, dynamics.p], [ca.vertcat(*slips)], (["x", "p"], ["slips"])
    )
    reach, length = defaults["platform_radius"], defaults["wheel_radius"]
    rng = np.random.default_rng(1)
    for _ in range(4):
        state = {name: rng.normal() for name in ("x_dot", "y_dot", "omega")}
        ahead = dict(zip((1, 2, 3), rng.uniform(-math.pi / 4, math.pi / 4, 3), strict=True))
        state |= {f"chi_{i}": psi for i, psi in ahead.items()}
        state |= {f"chi_dot_{i}": 20.0 * rng.normal() for i in ahead}
        state |= {f"spin_{i}_{j}": 100.0 * rng.normal() for i in ahead for j in range(1, 5)}
        values = {f"saturated_{i}": 1.0 for i in ahead} | {f"contact_{i}": 1.0 for i in ahead}
        full = dict.fromkeys(("x", "y", "theta"), 0.0) | state
        found = places(full, {**defaults, **values}, {"wheels": 3, "rollers": 4})
        x = np.array([found[name] for name in dynamics.labels.states])
        p = dynamics.value_vector(values)
        margin = margin_at(dynamics, x, p)
        along, size = np.asarray(slip(x, p)).reshape(2, 3)
        factors = []
        for k, psi in enumerate(ahead.values()):
            height = length - length * (math.cos(psi) - math.cos(math.pi / 4)) * math.cos(psi)
            factors.append(np.poly1d([-defaults["friction"] * height * along[k] / size[k], reach]))
        one, two, three = factors
        roots = (one * two + two * three + three * one).roots
        real = roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0)]
        assert margin == pytest.approx(real.min(initial=math.inf), rel=1e-9)
        assert margin * defaults["friction"] >= reach / length
