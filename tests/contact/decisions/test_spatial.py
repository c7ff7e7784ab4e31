"""Contacts at rest in space: all answers of one, certified answers of several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, root

from daesolve.contact.decisions import Contacts, ContactState, decide, newton, poisson, spatial
from daesolve.errors import ContactError
from tests.contact.decisions.bodies import double_pendulum


def random_contacts(random, count, friction):
    """Return contacts of random rows, and rates without reactions."""
    rows = random.normal(size=(3 * count, 3 * count))
    contacts = Contacts(rows @ rows.T, random.uniform(0.0, friction, count), directions=2)
    return contacts, random.normal(size=3 * count)


def by_scan(contacts, free):
    """Return the reactions of everything that one contact could do: open, stick, each direction."""
    matrix, mu, found = contacts.matrix, contacts.friction[0], []
    if free[0] >= 0.0:
        found.append(np.zeros(3))
    stuck = np.linalg.solve(matrix, -free)
    if stuck[0] >= 0.0 and np.hypot(*stuck[1:]) <= mu * stuck[0]:
        found.append(stuck)

    def reactions(angle):
        direction = np.array([np.cos(angle), np.sin(angle)])
        pressed = matrix[0, 0] - mu * matrix[0, 1:] @ direction
        normal = -free[0] / pressed
        return np.concatenate([[normal], -mu * normal * direction]), direction, pressed

    def across(angle):
        """The part of the slip rate across its direction, without the pole of N."""
        acting, direction, pressed = reactions(angle)
        slip = (matrix @ acting + free)[1:] * pressed
        return slip[0] * direction[1] - slip[1] * direction[0]

    angles = np.linspace(0.0, 2.0 * np.pi, 721) + 1e-3
    values = [across(angle) for angle in angles]
    for first, second, a, b in zip(angles, angles[1:], values, values[1:], strict=False):
        if a * b < 0.0:
            acting, direction, _ = reactions(brentq(across, first, second, xtol=1e-15))
            slip = (matrix @ acting + free)[1:]
            if acting[0] >= 0.0 and slip @ direction >= 0.0:
                found.append(acting)
    return found


@pytest.mark.long_rows("3.0")
@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.5, 3.0])
def test_one_contact_has_the_answers_that_a_scan_of_directions_finds(friction):
    random, several = np.random.default_rng(7), 0
    for _ in range(150):
        contacts, free = random_contacts(random, 1, friction)
        expected, decision = by_scan(contacts, free), decide(contacts, free)
        assert decision.complete
        assert len(decision.answers) == len(expected)
        several += len(expected) > 1
        for reactions in expected:
            scale = 1.0 + np.max(np.abs(reactions))
            assert any(
                np.allclose(answer.reactions, reactions, atol=1e-8 * scale)
                for answer in decision.answers
            )
        assert all(answer.residual < 1e-12 for answer in decision.answers)
    assert (several > 0) is (friction > 1.0)


def test_an_answer_that_is_the_same_in_all_directions_slides_against_its_slip():
    contacts = Contacts(np.diag([2.0, 3.0, 3.0]), np.array([0.1]), directions=2)
    answer = decide(contacts, [-1.0, 0.6, 0.8]).only()
    np.testing.assert_allclose(answer.tangential[0], [-0.03, -0.04], rtol=1e-14)
    np.testing.assert_allclose(answer.slip_rates[0], [0.51, 0.68], rtol=1e-14)


@pytest.mark.slow_rows("3", "4")
@pytest.mark.parametrize("count", [2, 3, 4])
def test_several_contacts_are_certified_and_agree_with_a_search_from_many_starts(count):
    random = np.random.default_rng(count)
    for _ in range(25):
        contacts, free = random_contacts(random, count, 0.7)
        answer = decide(contacts, free).only()
        assert answer.residual <= 1e-10
        others = searched(contacts, free, random, 3)
        for reactions in others:
            np.testing.assert_allclose(answer.reactions, reactions, atol=1e-6)


@pytest.mark.slow
def test_where_relaxation_leads_nowhere_friction_grows_to_an_answer():
    """Of these loads one needs it."""
    random = np.random.default_rng(10)
    for _ in range(60):
        rows = random.normal(size=(6, 6))
        contacts = Contacts(rows @ rows.T, random.uniform(0.0, 2.0, 2), directions=2)
        decision = decide(contacts, random.normal(size=6))
        assert decision.verdict in ("one", "several")
        assert all(answer.residual <= 1e-10 for answer in decision.answers)


def searched(contacts, free, random, starts):
    """Return roots of N - max(0, N - gap) and T - disc(T - slip), from random starts."""
    n, mu = contacts.count, contacts.friction

    def missed(reactions):
        rates = contacts.matrix @ reactions + free
        normal = np.maximum(0.0, reactions[:n] - rates[:n])
        wanted = (reactions - rates)[n:].reshape(n, 2)
        size = np.linalg.norm(wanted, axis=1)
        factor = np.minimum(1.0, mu * normal / np.where(size > 0.0, size, 1.0))
        return reactions - np.concatenate([normal, (factor[:, None] * wanted).ravel()])

    found = []
    for _ in range(starts):
        solved = root(missed, random.normal(size=3 * n), tol=1e-12)
        if np.max(np.abs(missed(solved.x))) < 1e-10:
            found.append(solved.x)
    return found


def test_contacts_that_slide_and_contacts_at_rest_are_decided_together():
    """One foot slides in a known direction, the other is at rest: its cone is open to all sides."""
    random = np.random.default_rng(9)
    for _ in range(20):
        contacts, free = random_contacts(random, 2, 0.5)
        free[0] = -abs(free[0])
        direction = random.normal(size=2)
        answer = decide(contacts, free, [direction, np.zeros(2)]).only()
        if answer.states[0] is ContactState.OPEN:
            continue
        unit = direction / np.linalg.norm(direction)
        expected = -contacts.friction[0] * answer.normal[0] * unit
        np.testing.assert_allclose(answer.tangential[0], expected, atol=1e-12)


def embedded(contacts, vector):
    """Return contacts of the plane in space: second tangents that nothing reaches, at rest."""
    n = contacts.count
    places = np.concatenate([np.arange(n), n + 2 * np.arange(n)])
    matrix, long = np.eye(3 * n), np.zeros(3 * n)
    matrix[np.ix_(places, places)] = contacts.matrix
    long[places] = vector
    return Contacts(matrix, contacts.friction, directions=2), long


@pytest.mark.slow
@pytest.mark.parametrize("law", [newton, poisson])
def test_in_space_contacts_of_the_plane_do_what_they_do_there(law):
    random, compared = np.random.default_rng(12), 0
    for _ in range(60):
        n = int(random.integers(1, 4))
        rows = random.normal(size=(2 * n, 2 * n))
        contacts = Contacts(rows @ rows.T, random.uniform(0.05, 1.0, n))
        before, restitution = random.normal(size=2 * n), random.uniform(0.0, 1.0)
        try:
            plane = law(contacts, before, restitution)
            space = law(*embedded(contacts, before), restitution)
        except ContactError:
            continue
        compared += 1
        scale = 1e-9 * (1.0 + np.max(np.abs(plane.impulses)))
        np.testing.assert_allclose(space.normal, plane.normal, atol=scale)
        np.testing.assert_allclose(space.tangential[:, 0], plane.tangential[:, 0], atol=scale)
        np.testing.assert_allclose(space.tangential[:, 1], 0.0, atol=scale)
        assert space.energy == pytest.approx(plane.energy, abs=scale)
    assert compared > 50


@pytest.mark.slow
def test_impacts_in_space_never_gain_energy_without_a_word():
    """Random ones do not gain; Kane's pendulum, whose tip may slip to the side as well, does."""
    random, gaining = np.random.default_rng(11), 0
    pendulum = double_pendulum(math.pi / 9, math.pi / 6, 0.5)
    matrix = np.eye(3)
    matrix[:2, :2] = pendulum.contacts.matrix
    kane = Contacts(matrix, np.array([0.5]), directions=2)
    posed = [(kane, np.append(pendulum.rates([-0.1, -0.2]), 0.0), 0.7)]
    for _ in range(100):
        posed.append(
            (*random_contacts(random, int(random.integers(1, 4)), 1.0), random.uniform(0.0, 1.0))
        )
    for contacts, before, restitution in posed:
        for law in (newton, poisson):
            try:
                impact = law(contacts, before, restitution)
            except ContactError:
                continue
            # The energy is that of the rows, which are independent: gamma A^-1 gamma / 2.
            start, end = (
                rates @ np.linalg.solve(contacts.matrix, rates) / 2.0
                for rates in (before, impact.after)
            )
            assert impact.energy == pytest.approx(end - start, abs=1e-9 * start)
            assert impact.gains or end - start <= 1e-9 * start
            gaining += impact.gains
    assert gaining == 1


def test_a_direction_in_which_joints_let_nothing_slip_has_no_part_in_a_decision():
    """A leg lands between two limits; of its slip across, a row of rounding errors is left.

    By hand: both limits open, and the foot sticks along the way that it has.
    """
    gaps = np.array([[1.0, -0.09, 0.05], [-0.09, 1.0, 0.21], [0.05, 0.21, 1.0]])
    along = np.array([-0.1, -0.25, -0.37])
    matrix = np.zeros((9, 9))
    matrix[:3, :3], matrix[7, 7] = gaps, 1.7
    matrix[:3, 7] = matrix[7, :3] = along
    matrix[[0, 1, 2, 7], 8] = matrix[8, [0, 1, 2, 7]] = -1.7e-32, -2.5e-32, -1.2e-32, 1e-32
    matrix[8, 8] = 7e-64
    free = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.62, 1.1e-32])
    (answer,) = decide(Contacts(matrix, [0.0, 0.0, 2.0], directions=2), free).answers
    push, pull = np.linalg.solve([[1.0, -0.37], [-0.37, 1.7]], [1.0, -0.62])
    assert abs(pull) < 2.0 * push
    assert answer.normal == pytest.approx([0.0, 0.0, push], abs=1e-12)
    assert np.asarray(answer.tangential)[2] == pytest.approx([pull, 0.0], abs=1e-12)


def test_a_single_contact_has_the_answers_to_which_any_state_leads(monkeypatch):
    """States that are far from any answer are not looked at; from them, too, no other is found."""
    random = np.random.default_rng(5)
    for _ in range(60):
        rows, friction = random.normal(size=(3, 4)), random.choice([0.1, 0.5, 1.0, 2.0])
        contacts = Contacts(rows @ rows.T, np.array([friction]), directions=2)
        free = random.normal(size=3) * 10.0 ** random.uniform(-3.0, 1.0, 3) - [1.0, 0.0, 0.0]
        found = decide(contacts, free).answers
        with monkeypatch.context() as patch:
            patch.setattr(spatial, "FAR", np.inf)
            wanted = decide(contacts, free).answers
        assert [answer.states for answer in found] == [answer.states for answer in wanted]
        for answer, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(answer.reactions, other.reactions, rtol=1e-12, atol=1e-13)
