"""Reactions that a mode leaves open: sticking holds as long as some of them lie in their cones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from daesolve.contact.decisions import ContactState, decide
from daesolve.contact.decisions.modes import ContactChoice, all_modes, equations
from daesolve.contact.decisions.reaction_families import family_of, least_used
from daesolve.contact.decisions.touching import scaled_problem
from daesolve.errors import UndeterminedContact
from tests.contact.decisions.bodies import GRAVITY, block, standing
from tests.contact.decisions.cases import agrees, case

STICKS = ContactState.STICKS


def stuck_reactions(contacts, free):
    """Return the reactions of contacts that all stick, which use their cones as little as possible.

    And the share that is left of the cone that is used most.
    """
    problem = scaled_problem(contacts, free)
    choice = ContactChoice(STICKS, True, True, (0.0,) * contacts.directions)
    mode = all_modes(((choice,),) * contacts.count)
    family = family_of(problem, *(part[0] for part in equations(problem, mode)))
    shares = least_used(problem, mode, family, np.zeros(family.free.shape[1]))
    reactions = (family.base + family.free @ shares) * problem.reactions
    tractions = reactions[contacts.count :].reshape(contacts.count, -1)
    used = np.linalg.norm(tractions, axis=1) / (contacts.static * reactions[: contacts.count])
    return reactions, 1.0 - float(np.max(used))


@pytest.mark.slow
def test_a_block_on_a_shaking_table_slips_when_both_feet_use_all_of_their_cones():
    """The end of a stick in the reference, by the margin alone: V sin(20 t), V = 0.2."""
    known = case("block_two_feet_shaking_table_stick_slip")
    p, values = known["params"], known["values"]
    body = block(p["b"], p["h"], [p["mu_left"], p["mu_right"]])

    def margin(time):
        floor = p["V"] * p["Om"] * math.cos(p["Om"] * time)
        free = body.free - np.array([0.0, 0.0, floor, floor])
        return stuck_reactions(body.contacts, free)[1]

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
    reactions, left = stuck_reactions(body.contacts, free)
    np.testing.assert_allclose(body.contacts.matrix @ reactions + free, 0.0, atol=1e-12)
    limits = 0.4 * reactions[:3]
    null = np.linalg.svd(body.contacts.matrix)[2][-3:].T
    assert np.max(np.abs(body.contacts.matrix @ null)) < 1e-12

    def used(shares):
        tractions = (reactions + null @ shares)[3:].reshape(3, 2)
        return np.max(np.linalg.norm(tractions, axis=1) / limits)

    assert left == pytest.approx(1.0 - used(np.zeros(3)), abs=1e-12)
    best = min(
        minimize(used, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}).fun
        for start in np.vstack([np.zeros(3), 0.1 * np.eye(3)])
    )
    assert 1.0 - left <= best + 1e-9


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

    limit = brentq(lambda load: stuck_reactions(body.contacts, free(load))[1], 1.0, 9.0, xtol=1e-9)
    assert 0.2 * GRAVITY < limit < 0.5 * GRAVITY
    below = decide(body.contacts, free(0.99 * limit))
    assert (STICKS,) * 4 in {answer.states for answer in below.answers}
    above = decide(body.contacts, free(1.01 * limit))
    assert (STICKS,) * 4 not in {answer.states for answer in above.answers}
    with pytest.raises(UndeterminedContact):
        above.only()
