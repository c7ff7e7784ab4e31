"""How near contacts are to leaving their states: the guards of sticking."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from daesolve.contact.decisions import Contacts, ContactState, decide, margins
from daesolve.errors import NoMotion, PosingError, UndeterminedContact
from tests.contact.decisions.bodies import GRAVITY, block, standing
from tests.contact.decisions.cases import agrees, case

STICKS = ContactState.STICKS


def test_a_contact_that_sticks_uses_its_traction_over_its_limit():
    body = Contacts(np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([0.3]), np.array([0.5]))
    free = np.array([-1.0, 0.1])
    found = margins(body, free, [STICKS])
    normal, traction = np.linalg.solve(body.matrix, -free)
    assert found.stick == pytest.approx(1.0 - abs(traction) / (0.5 * normal), rel=1e-12)
    assert found.reactions_determined
    np.testing.assert_allclose(found.rates, 0.0, atol=1e-15)
    assert margins(body, free, [ContactState.OPEN]).stick == 1.0
    sliding = margins(body, free, [ContactState.BACKWARD])
    assert sliding.reactions[1] == pytest.approx(0.3 * sliding.reactions[0])


@pytest.mark.slow
def test_a_block_on_a_shaking_table_slips_when_both_feet_use_all_of_their_cones():
    """The end of a stick in the reference, by the margin alone: V sin(20 t), V = 0.2."""
    known = case("block_two_feet_shaking_table_stick_slip")
    p, values = known["params"], known["values"]
    body = block(p["b"], p["h"], [p["mu_left"], p["mu_right"]])

    def margin(time):
        floor = p["V"] * p["Om"] * math.cos(p["Om"] * time)
        free = body.free - np.array([0.0, 0.0, floor, floor])
        return margins(body.contacts, free, [STICKS, STICKS]).stick

    start = values["t2"]["value"]
    assert margin(start + 1e-6) > 0.0
    assert agrees(brentq(margin, start + 1e-6, 0.15, xtol=1e-15), values["t3"], 12)


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0])
def test_feet_in_space_hold_as_long_as_any_split_of_their_tractions_does(angle):
    """Three feet, pushed and turned: the least use of the cones, by a minimisation of its own."""
    feet = [(math.cos(a), math.sin(a), -0.3) for a in (0.3, 0.3 + 2.1, 0.3 + 4.2)]
    body = standing(feet, 0.4, 1.0, np.diag([0.3, 0.3, 0.5]))
    push = np.array([math.cos(angle), math.sin(angle), 0.0, 0.0, 0.0, 0.8])
    free = body.free + body.rows @ np.linalg.solve(body.mass, push)
    found = margins(body.contacts, free, [STICKS] * 3)
    assert not found.reactions_determined
    np.testing.assert_allclose(found.rates, 0.0, atol=1e-12)
    limits = 0.4 * found.reactions[:3]
    null = np.linalg.svd(body.contacts.matrix)[2][-3:].T
    assert np.max(np.abs(body.contacts.matrix @ null)) < 1e-12

    def used(shares):
        tractions = (found.reactions + null @ shares)[3:].reshape(3, 2)
        return np.max(np.linalg.norm(tractions, axis=1) / limits)

    assert found.stick == pytest.approx(1.0 - used(np.zeros(3)), abs=1e-12)
    best = min(
        minimize(used, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}).fun
        for start in np.vstack([np.zeros(3), 0.1 * np.eye(3)])
    )
    assert 1.0 - found.stick <= best + 1e-9


@pytest.mark.slow
def test_the_margin_in_space_ends_where_the_decision_does():
    """A load that grows on feet that are not the same: all stick below, and not above.

    How they slide depends on reactions that are not determined, and so has no answer.
    """
    feet = [(0.1, 0.1, -0.2), (-0.1, 0.1, -0.2), (-0.1, -0.1, -0.2), (0.1, -0.1, -0.2)]
    body = standing(feet, [0.2, 0.3, 0.4, 0.5], 1.0, np.diag([0.02, 0.02, 0.03]))

    def free(load):
        push = load * np.array([0.6, 0.8, 0.0, 0.0, 0.0, 0.05])
        return body.free + body.rows @ np.linalg.solve(body.mass, push)

    limit = brentq(
        lambda load: margins(body.contacts, free(load), [STICKS] * 4).stick, 1.0, 9.0, xtol=1e-9
    )
    assert 0.2 * GRAVITY < limit < 0.5 * GRAVITY
    below = decide(body.contacts, free(0.99 * limit))
    assert (STICKS,) * 4 in {answer.states for answer in below.answers}
    above = decide(body.contacts, free(1.01 * limit))
    assert (STICKS,) * 4 not in {answer.states for answer in above.answers}
    with pytest.raises(UndeterminedContact):
        above.only()


def test_bad_input_is_refused_by_name():
    space = Contacts(np.eye(3), np.array([0.3]), directions=2)
    with pytest.raises(PosingError, match="as many states"):
        margins(space, [-1.0, 0.0, 0.0], [])
    with pytest.raises(PosingError, match="no slip"):
        margins(space, [-1.0, 0.0, 0.0], [ContactState.SLIDES])
    with pytest.raises(PosingError, match="slides, but has no direction"):
        margins(space, [-1.0, 0.0, 0.0], [ContactState.FORWARD])
    twice = Contacts(np.ones((4, 4)), np.array([0.3, 0.3]))
    with pytest.raises(NoMotion, match="keep the contacts"):
        margins(twice, [-1.0, -2.0, 0.0, 0.0], [STICKS, STICKS])
