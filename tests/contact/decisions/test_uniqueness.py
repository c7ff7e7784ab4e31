"""The proof that a motion is the only one, against all answers and against known bounds."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.contact.decisions import Contacts, decide
from daesolve.contact.decisions.touching import scaled_problem
from daesolve.contact.decisions.uniqueness import is_only_motion
from tests.contact.decisions.bodies import rod


def proved(contacts, slip=None):
    size = len(contacts.matrix)
    sliding = None if slip is None else np.sign(np.asarray(slip, dtype=float))[:, None]
    return is_only_motion(scaled_problem(contacts, np.ones(size), sliding=sliding))


def test_smooth_contacts_have_one_motion_even_where_loads_are_not_determined():
    matrix = np.zeros((8, 8))
    matrix[:4, :4] = 1.0
    assert proved(Contacts(matrix, np.zeros(4)))


def test_a_sliding_rod_has_one_motion_up_to_painleves_limit():
    """p = A_NN - mu A_NT > 0 is the condition."""
    for phi in (0.6, 1.0, 1.3):
        matrix = rod(phi, 0.0).contacts.matrix
        limit = matrix[0, 0] / matrix[0, 1]
        for factor in (0.999, 1.001):
            contacts = Contacts(matrix, np.array([factor * abs(limit)]))
            assert proved(contacts, [np.sign(limit)]) is (factor < 1.0)


def test_contacts_at_rest_have_one_motion_if_friction_is_small():
    """For A = 1 + c (N and T coupled) the bound on mu is (1 - c^2)^(1/2)."""
    c = 0.6
    matrix = np.kron([[1.0, c], [c, 1.0]], np.eye(3))
    assert proved(Contacts(matrix, np.full(3, 0.79)))
    assert not proved(Contacts(matrix, np.full(3, 0.81)))


@pytest.mark.slow
def test_where_one_motion_is_proved_enumeration_finds_one_for_every_load():
    random, count = np.random.default_rng(5), 0
    for _ in range(400):
        n = int(random.integers(1, 5))
        rows = random.normal(size=(2 * n, 2 * n + 4))
        contacts = Contacts(rows @ rows.T, random.uniform(0.0, 0.8, n))
        slip = random.normal(size=n) * (random.random(n) < 0.5)
        if not proved(contacts, slip):
            continue
        count += 1
        for free in random.normal(size=(3, 2 * n)):
            assert len(decide(contacts, free, slip, method="enumerate").answers) == 1
    assert count > 50
