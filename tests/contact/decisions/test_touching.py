"""What touches, as numbers: rows made the answer of gaps and slips to reactions."""

from __future__ import annotations

import numpy as np
import pytest

from daesolve.contact.decisions import Contacts, inverse_mass
from daesolve.errors import OutOfRangeError, PosingError


def test_constraints_that_always_hold_are_eliminated():
    """A r is what rates change by: against the saddle-point equations, redundant ones included."""
    random = np.random.default_rng(0)
    factor = random.normal(size=(5, 5))
    mass = factor @ factor.T + np.eye(5)
    normal, tangent = random.normal(size=(2, 5)), random.normal(size=(2, 5))
    held = random.normal(size=(2, 5))
    contacts = Contacts.of_rows(mass, normal, tangent, 0.3, bilateral=np.vstack([held, held[:1]]))
    reactions = random.normal(size=4)
    rows = np.vstack([normal, tangent])
    saddle = np.block([[mass, held.T], [held, np.zeros((2, 2))]])
    moved = np.linalg.solve(saddle, np.concatenate([rows.T @ reactions, np.zeros(2)]))[:5]
    np.testing.assert_allclose(contacts.matrix @ reactions, rows @ moved, atol=1e-13)
    np.testing.assert_allclose(held @ inverse_mass(mass, held), 0.0, atol=1e-13)


def test_some_contacts_keep_their_own_rows():
    random = np.random.default_rng(1)
    rows = random.normal(size=(9, 9))
    contacts = Contacts(
        rows @ rows.T, np.array([0.1, 0.2, 0.3]), directions=2, names=("a", "b", "c")
    )
    some = contacts.some([2, 0])
    assert some.names == ("c", "a")
    np.testing.assert_array_equal(some.friction, [0.3, 0.1])
    places = [2, 0, 7, 8, 3, 4]
    np.testing.assert_array_equal(some.matrix, contacts.matrix[np.ix_(places, places)])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"matrix": np.eye(3), "friction": [0.1]}, PosingError, r"shape \(2, 2\)"),
        ({"matrix": np.diag([-1.0, 1.0]), "friction": [0.1]}, PosingError, "does not respond"),
        ({"matrix": np.diag([0.0, 1.0]), "friction": [0.1]}, PosingError, "does not respond"),
        ({"matrix": np.eye(2), "friction": [-0.1]}, OutOfRangeError, ">= 0"),
        (
            {"matrix": np.eye(2), "friction": [0.3], "static_friction": [0.2]},
            OutOfRangeError,
            "at least as large",
        ),
        ({"matrix": np.eye(2), "friction": [np.nan]}, OutOfRangeError, "finite"),
        ({"matrix": np.eye(2), "friction": ["a"]}, PosingError, "real numbers"),
        ({"matrix": np.eye(4), "friction": [0.1], "directions": 3}, PosingError, "tangent"),
        ({"matrix": np.eye(4), "friction": [0.1] * 2, "names": "aa"}, PosingError, "different"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given, error, words):
    with pytest.raises(error, match=words):
        Contacts(**given)


def test_a_mass_matrix_that_is_none_is_refused():
    with pytest.raises(PosingError, match="positive definite"):
        inverse_mass(np.diag([1.0, -1.0]))
