"""Many contacts at once: answers by Newton's method against all answers, and by substitution."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.contact.decisions import Contacts, ContactState, decide, newton
from tests.contact.decisions.bodies import GRAVITY, heap, standing

TOLERANCE = 1e-9
"""Ten times what the library accepts: its units are others."""


def violation(contacts, free, answer, slip=None):
    """Return the largest violation of Signorini's and Coulomb's conditions, written out by hand."""
    worst = 0.0
    normal, friction = answer.normal, answer.tangential
    rates = contacts.matrix @ answer.reactions + free
    force = 1.0 + np.max(np.abs(answer.reactions))
    rate = 1.0 + np.max(np.abs(contacts.matrix) @ np.abs(answer.reactions) + np.abs(free))
    for k, (load, traction) in enumerate(zip(normal, friction, strict=True)):
        gap, slips, limit = rates[k], rates[contacts.tangents(k)], contacts.friction[k] * load
        worst = max(worst, -load / force, -gap / rate, min(load / force, gap / rate))
        moves = slips if slip is None or not np.any(slip[k]) else np.atleast_1d(slip[k])
        speed = np.linalg.norm(moves)
        worst = max(worst, (np.linalg.norm(traction) - limit) / force)
        # The power of friction is as negative as any in the cone could make it.
        lacks = (traction @ moves + limit * speed) / (force * max(rate, speed))
        worst = max(worst, lacks)
    return worst


def compare_with_all(random, count):
    """Return how often Newton's method finds another answer, or none, where all are known."""
    missed = different = proved = 0
    for k in range(count):
        body = heap(random, int(random.integers(2, 6)), 1, (0.1, 0.8, 1.5)[k % 3])
        contacts, free = body.contacts, body.free
        slip = random.normal(size=contacts.count) * (random.random(contacts.count) < 0.4)
        every = decide(contacts, free, slip, method="enumerate")
        decision = decide(contacts, free, slip, method="newton")
        if decision.complete:
            proved += 1
            assert len(every.answers) == 1
        for one in decision.answers:
            assert violation(contacts, free, one, slip) <= TOLERANCE
            near = [
                other
                for other in every.answers
                if np.allclose(
                    one.rates, other.rates, atol=1e-7 * (1.0 + np.max(np.abs(one.rates)))
                )
            ]
            undetermined = any(not other.motion_determined for other in every.answers)
            assert near or undetermined
            different += bool(near) and one.states not in near[0].candidates
        missed += bool(every.answers) and not decision.answers
    return missed, different, proved


def test_newtons_answers_are_among_all_answers():
    missed, different, proved = compare_with_all(np.random.default_rng(1), 25)
    assert missed == 0 == different
    assert proved > 0


@pytest.mark.long
def test_newtons_answers_are_among_all_answers_of_a_thousand():
    """Where loads are shared at a border, other states may have the same motion."""
    missed, different, proved = compare_with_all(np.random.default_rng(2), 1000)
    assert missed <= 2
    assert different <= 10
    assert proved > 100


@pytest.mark.parametrize("directions", [1, 2])
def test_heaps_of_bodies_are_decided_and_fulfil_all_conditions(directions):
    random = np.random.default_rng(3)
    for count in (6, 8, 12, 16, 24):
        body = heap(random, count, directions, friction=0.4)
        decision = decide(body.contacts, body.free)
        (answer,) = decision.answers
        assert violation(body.contacts, body.free, answer) <= TOLERANCE
        assert decision.complete or "not proved" in str(decision)


@pytest.mark.slow
@pytest.mark.parametrize("directions", [1, 2])
def test_many_heaps_of_bodies_are_decided(directions):
    """Rigid bodies with friction need not have an answer, but these nearly always do."""
    random, none = np.random.default_rng(4), 0
    for _ in range(60):
        body = heap(random, int(random.integers(6, 25)), directions)
        decision = decide(body.contacts, body.free)
        none += not decision.answers
        for answer in decision.answers:
            assert violation(body.contacts, body.free, answer) <= TOLERANCE
    assert none <= 2


def ring(count, radius=0.1, height=0.1):
    angles = 0.1 + 2.0 * np.pi * np.arange(count) / count
    return [(radius * np.cos(a), radius * np.sin(a), -height) for a in angles]


@pytest.mark.parametrize("count", [8, 24])
@pytest.mark.parametrize("push", [0.0, 3.0, 6.0])
def test_a_body_on_many_feet_sticks_or_slides_as_a_block_does(count, push):
    """A push below mu m g is held; above, the body slides with a = (F - mu m g) / m."""
    mu, mass = 0.4, 1.0
    body = standing(ring(count), mu, mass, 0.02 * np.eye(3))
    force = body.force + push * np.array([0.6, 0.8, 0.0, 0.0, 0.0, 0.0])
    # The push acts at the floor, so that it does not tip the body.
    force[3:] = np.cross([0.0, 0.0, -0.1], force[:3])
    free = body.rows @ np.linalg.solve(body.mass, force)
    answer = decide(body.contacts, free).only()
    assert answer.normal.sum() == pytest.approx(mass * GRAVITY, rel=1e-12)
    sliding = max(0.0, push - mu * mass * GRAVITY) / mass
    state = ContactState.SLIDES if sliding else ContactState.STICKS
    assert answer.states == (state,) * count
    np.testing.assert_allclose(
        answer.slip_rates, [sliding * np.array([0.6, 0.8])] * count, atol=1e-11
    )
    assert answer.motion_determined
    assert not answer.normal_determined


def test_equal_springs_share_a_load_among_many_feet():
    """Under a body with its centre beside the middle, loads are affine in the place."""
    places = np.array(ring(12)) - [0.02, 0.01, 0.0]
    body = standing(places, 0.5, 1.0, 0.02 * np.eye(3))
    answer = decide(body.contacts, body.free, closure="equal springs").only()
    plane = np.column_stack([np.ones(12), places[:, :2]])
    weights = np.linalg.lstsq(plane, answer.normal)[0]
    np.testing.assert_allclose(plane @ weights, answer.normal, atol=1e-10)
    np.testing.assert_allclose(places.T[:2] @ answer.normal, 0.0, atol=1e-10)


def test_static_friction_holds_many_feet_that_sliding_friction_would_not():
    """Between mu N and mu_s N a body at rest stays there; beyond, it slides with mu."""
    body = standing(ring(8), 0.2, 1.0, 0.02 * np.eye(3))
    contacts = Contacts.of_rows(body.mass, body.normal, body.tangent, 0.2, 0.4)
    for push, moves in ((3.0, 0.0), (5.0, 5.0 - 0.2 * GRAVITY)):
        force = body.force + push * np.eye(6)[0]
        force[3:] = np.cross([0.0, 0.0, -0.1], force[:3])
        free = body.rows @ np.linalg.solve(body.mass, force)
        answer = decide(contacts, free).only()
        np.testing.assert_allclose(answer.slip_rates[:, 0], moves, atol=1e-11)


def test_a_box_that_falls_flat_on_many_points_stops_without_a_gain_of_energy():
    """With e the box bounces as a ball does; it sticks if mu P is large enough."""
    body = standing(ring(8), 0.9, 1.0, 0.02 * np.eye(3))
    before = body.rates([0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
    impact = newton(body.contacts, before, 0.5)
    assert impact.normal.sum() == pytest.approx(3.0, rel=1e-12)
    np.testing.assert_allclose(impact.after[:8], 1.0, atol=1e-12)
    assert impact.energy == pytest.approx(-0.5 * (4.0 - 1.0), rel=1e-12)


def test_several_motions_are_known_for_few_contacts_and_not_excluded_for_many():
    """Six Painleve contacts side by side, of which each may open or slide on."""
    single = np.array([[1.0, 0.9], [0.9, 1.0]])
    matrix = np.kron(single, np.eye(6))
    contacts = Contacts(matrix, np.full(6, 2.0))
    free = np.concatenate([np.ones(6), np.zeros(6)])
    decision = decide(contacts, free, np.ones(6))
    assert not decision.complete
    assert len(decide(contacts, free, np.ones(6), method="enumerate").answers) == 2**6
