"""Which contacts open, stick and slide: reference problems, and what is not determined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import bisect

from daesolve.contact.decisions import Contacts, ContactState, decide
from daesolve.errors import (
    AmbiguousMotion,
    NoMotion,
    OutOfRangeError,
    PosingError,
    UndeterminedContact,
    UnknownNameError,
)
from tests.contact.decisions.bodies import GRAVITY, block, standing
from tests.contact.decisions.cases import agrees, case

OPEN, STICKS, FORWARD, BACKWARD = (
    ContactState.OPEN,
    ContactState.STICKS,
    ContactState.FORWARD,
    ContactState.BACKWARD,
)


def test_a_block_slides_down_an_incline_to_rest_as_the_reference_says():
    known = case("slide_to_rest")
    p, values = known["params"], known["values"]
    body = block(p["b"], p["h"], p["mu"], p["alpha"])
    # It slides with v0 down the incline, that is towards its foot at +b.
    sliding = decide(body.contacts, body.free, [p["v0"]] * 2).only()
    assert sliding.states == (FORWARD, FORWARD)
    braking = sliding.slip_rates[0, 0]
    assert agrees(-p["v0"] / braking, values["t_rest"])
    assert agrees(-(p["v0"] ** 2) / braking / 2.0, values["distance"])
    assert agrees(sliding.normal[0], values["N_rear"])
    assert agrees(sliding.normal[1], values["N_front"])
    resting = decide(body.contacts, body.free).only()
    assert resting.states == (STICKS, STICKS)
    assert agrees(resting.normal[0], values["rest_N_rear"])
    assert agrees(resting.tangential.sum(), values["rest_T_sum"])
    assert resting.normal_determined
    assert not resting.reactions_determined


def test_a_block_tips_over_where_friction_reaches_b_over_h():
    known = case("tipping_threshold")
    p = known["params"]

    def lifted(mu):
        body = block(p["b"], p["h"], mu)
        # The border between modes is as wide as the tolerance.
        answer = decide(body.contacts, body.free, [1.0, 1.0], tolerance=1e-15).only()
        return 1.0 if answer.states[0] is OPEN else -1.0

    assert agrees(bisect(lifted, 0.3, 0.9, xtol=1e-15), known["values"]["mu_tip"])


@pytest.mark.parametrize("name", ["stick_slip", "reversal_without_stick"])
def test_two_feet_of_different_friction_slide_as_the_reference_says(name):
    known = case(f"block_two_feet_shaking_table_{name}")
    p, values = known["params"], known["values"]
    body = block(p["b"], p["h"], [p["mu_left"], p["mu_right"]])
    for side, entry in ((1.0, "acc_slip_plus"), (-1.0, "acc_slip_minus")):
        answer = decide(body.contacts, body.free, [side, side]).only()
        assert agrees(answer.slip_rates[0, 0], values[entry])


@pytest.mark.parametrize("floor", [-4.0, -2.9, 0.0, 2.7, 2.9])
def test_feet_that_stick_together_hold_as_long_as_any_split_of_their_tractions_does(floor):
    """The floor accelerates: feet stick up to what they can bear together, and to the sides.

    Without slip N depends on the traction alone, which h turns: they slip where the accelerations
    of the reference lie, 2.80285714 and -3.09789474 m/s^2, though a least-squares split of the
    tractions, half each, would let the foot of the smaller friction slip long before.
    """
    values = case("block_two_feet_shaking_table_stick_slip")["values"]
    body = block(0.2, 0.1, [0.2, 0.4])
    free = body.free - np.array([0.0, 0.0, floor, floor])
    answer = decide(body.contacts, free).only()
    holds = values["acc_slip_plus"]["value"] < floor < values["acc_slip_minus"]["value"]
    assert (answer.states == (STICKS, STICKS)) is holds
    if holds:
        used = np.abs(answer.tangential[:, 0]) / (body.contacts.friction * answer.normal)
        # All feet use the same part of their cones.
        assert used[0] == pytest.approx(used[1], rel=1e-9)
        assert answer.tangential.sum() == pytest.approx(floor, abs=1e-12)


def test_four_feet_that_spin_as_they_slide_have_no_motion_that_is_determined():
    known = case("four_feet_initial_acceleration")
    p, values = known["params"], known["values"]
    side, height = p["half_side"], p["h"]
    feet = [(x * side, y * side, -height) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    body = standing(feet, p["mu"], p["m"], np.diag([0.0042, 0.0042, p["Jz"]]))
    velocities = np.array([*p["v0"][:2], 0.0, 0.0, 0.0, p["v0"][2]])
    slip = (body.tangent @ velocities).reshape(4, 2)
    decision = decide(body.contacts, body.free, slip)
    with pytest.raises(UndeterminedContact, match="one of a family") as error:
        decision.only()
    assert error.value.solution is decision
    (answer,) = decision.answers
    ends = sorted(answer.family, key=lambda reactions: reactions[0])
    for reactions, name in zip(ends, ("end_A", "end_B"), strict=True):
        wanted = values[name]["value"]
        np.testing.assert_allclose(reactions[:4], wanted["N"], atol=1e-12)
        np.testing.assert_allclose(body.moved(reactions)[[0, 1, 5]], wanted["a"], rtol=1e-12)
    springs = decide(body.contacts, body.free, slip, closure="equal springs").only()
    wanted = values["equal_springs"]["value"]
    np.testing.assert_allclose(springs.normal, wanted["N"], rtol=1e-12)
    np.testing.assert_allclose(body.moved(springs.reactions)[[0, 1, 5]], wanted["a"], rtol=1e-12)


def test_four_feet_that_do_not_spin_slide_on_whatever_their_reactions_are():
    feet = [(x * 0.1, y * 0.1, -0.05) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    body = standing(feet, 0.3, 1.0, np.diag([0.0042, 0.0042, 0.0067]))
    velocity = np.array([0.6, 0.2])
    braking = -0.3 * GRAVITY * velocity / np.linalg.norm(velocity)
    for method in ("enumerate", "branch"):
        slip = np.tile(velocity, (4, 1))
        answer = decide(body.contacts, body.free, slip, method=method).only()
        assert not answer.reactions_determined
        np.testing.assert_allclose(answer.slip_rates, np.tile(braking, (4, 1)), rtol=1e-12)


@pytest.mark.slow
def test_four_feet_at_rest_stand_and_slip_together_under_a_load():
    feet = [(x * 0.1, y * 0.1, -0.05) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    body = standing(feet, 0.3, 1.0, np.diag([0.0042, 0.0042, 0.0067]))
    # A load along the floor, through the height of the feet, leaves N as it is.
    for load, state in (
        (0.999 * 0.3 * GRAVITY, STICKS),
        (1.001 * 0.3 * GRAVITY, ContactState.SLIDES),
    ):
        push = np.zeros(6)
        push[:2] = load * np.array([0.6, 0.8])
        push[3:] = np.cross([0.0, 0.0, -0.05], push[:3])
        free = body.free + body.rows @ np.linalg.solve(body.mass, push)
        answer = decide(body.contacts, free).only()
        assert answer.states == (state,) * 4
        assert answer.residual < 1e-10


def test_static_friction_holds_what_would_slide_on():
    body = Contacts(np.eye(2), np.array([0.2]), np.array([0.5]))
    for pull, state in ((0.1, STICKS), (0.4, STICKS), (0.6, FORWARD)):
        answer = decide(body, [-1.0, pull]).only()
        assert answer.states == (state,)
        assert answer.slip_rates[0, 0] == pytest.approx(0.0 if state is STICKS else pull - 0.2)
    moving = decide(body, [-1.0, 0.4], [1.0]).only()
    assert moving.slip_rates[0, 0] == pytest.approx(0.2)


@pytest.mark.parametrize("directions", [1, 2])
def test_where_static_friction_is_at_its_limit_both_sticking_and_sliding_are_named(directions):
    sizes = np.eye(1 + directions)
    body = Contacts(sizes, np.array([0.2]), np.array([0.5]), directions=directions)
    slides = FORWARD if directions == 1 else ContactState.SLIDES
    for beyond, expected in ((-1e-8, {STICKS}), (0.0, {STICKS, slides}), (1e-8, {slides})):
        free = np.zeros(1 + directions)
        free[:2] = -1.0, 0.5 + beyond
        answer = decide(body, free).only()
        assert {states for (states,) in answer.candidates} == expected


def test_static_friction_holds_in_space_as_well():
    body = Contacts(np.eye(3), np.array([0.2]), np.array([0.5]), directions=2)
    for pull, state in ((0.1, STICKS), (0.4, STICKS), (0.6, ContactState.SLIDES)):
        answer = decide(body, [-1.0, 0.6 * pull, 0.8 * pull]).only()
        assert answer.states == (state,)
        expected = 0.0 if state is STICKS else pull - 0.2
        np.testing.assert_allclose(
            answer.slip_rates[0], [0.6 * expected, 0.8 * expected], atol=1e-15
        )


def test_on_a_border_between_modes_all_of_them_are_named():
    """At the limit of its load it sticks, or slides with no acceleration; so where a gap opens."""
    body = Contacts(np.eye(2), np.array([0.3]))
    answer = decide(body, [-1.0, 0.3]).only()
    assert set(answer.candidates) == {(STICKS,), (FORWARD,)}
    lifted = decide(body, [0.0, 1.0], [1.0]).only()
    assert set(lifted.candidates) == {(OPEN,), (FORWARD,)}
    inside = decide(body, [-1.0, 0.2]).only()
    assert inside.candidates == ((STICKS,),)


def test_a_frictionless_contact_pushes_and_leaves_its_slip_alone():
    body = Contacts(np.array([[1.0, 0.2], [0.2, 1.0]]), np.zeros(1))
    answer = decide(body, [-1.0, 0.5]).only()
    np.testing.assert_allclose(answer.reactions, [1.0, 0.0])
    np.testing.assert_allclose(answer.rates, [0.0, 0.7], atol=1e-15)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_of_mass_and_time_change_no_decision(scale):
    body = block(0.1, 0.2, 0.7)
    contacts = Contacts(body.contacts.matrix * scale, body.contacts.friction)
    answer = decide(contacts, body.free * scale**2, [1.0, 1.0]).only()
    assert answer.states == (OPEN, FORWARD)
    same = decide(body.contacts, body.free, [1.0, 1.0]).only()
    np.testing.assert_allclose(answer.normal, same.normal * scale, rtol=1e-12)


def test_the_unit_of_a_contacts_rows_changes_no_decision():
    """Each contact may measure its gap and slip in a unit of its own."""
    random = np.random.default_rng(2)
    for _ in range(50):
        rows = random.normal(size=(6, 6))
        friction, free = random.uniform(0.0, 1.0, 3), random.normal(size=6)
        units = 10.0 ** random.uniform(-6.0, 6.0, 3)
        each = np.concatenate([units, units])
        one = decide(Contacts(rows @ rows.T, friction), free)
        other = decide(Contacts((rows @ rows.T) * np.outer(each, each), friction), free * each)
        assert [answer.candidates for answer in one.answers] == [
            answer.candidates for answer in other.answers
        ]
        for first, second in zip(one.answers, other.answers, strict=True):
            scale = 1e-9 * (1.0 + np.max(np.abs(first.reactions)))
            np.testing.assert_allclose(first.reactions, second.reactions * each, atol=scale)


def test_what_has_no_motion_or_several_is_refused_by_name():
    """One sliding contact with p = A_NN - mu A_NT s < 0."""
    body = Contacts(np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([2.0]))
    with pytest.raises(NoMotion, match="no reactions agree"):
        decide(body, [-1.0, 0.0], [1.0]).only()
    decision = decide(body, [1.0, 0.0], [1.0])
    assert decision.verdict == "several"
    with pytest.raises(AmbiguousMotion, match="2 ways"):
        decision.only()


def test_bad_input_is_refused_by_name():
    body = Contacts(np.eye(2), np.array([0.3]))
    with pytest.raises(PosingError, match="shape"):
        decide(body, [1.0])
    with pytest.raises(PosingError, match="slips must have the shape"):
        decide(body, [1.0, 0.0], [1.0, 2.0])
    with pytest.raises(OutOfRangeError, match="finite"):
        decide(body, [math.nan, 0.0])
    with pytest.raises(UnknownNameError, match="enumerate"):
        decide(body, [1.0, 0.0], method="enumerat")
    with pytest.raises(UnknownNameError, match="closure"):
        decide(body, [1.0, 0.0], closure="springs")
    with pytest.raises(PosingError, match="need 'enumerate', 'branch' or 'newton'"):
        decide(body, [1.0, 0.0], method="cone")
    with pytest.raises(PosingError, match="use 'branch'"):
        decide(Contacts(np.eye(2), np.array([0.3]), np.array([0.5])), [1.0, 0.0], method="pivot")
    space = Contacts(np.eye(3), np.array([0.3]), directions=2)
    with pytest.raises(PosingError, match="'cone'"):
        decide(space, [1.0, 0.0, 0.0], method="enumerate")
