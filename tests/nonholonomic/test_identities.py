"""What an identity test over a finite field proves, and what it must not."""

from random import Random

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import UnsupportedError
from daesolve.nonholonomic import is_quasi_holonomic
from daesolve.nonholonomic.identities import (
    PRIME,
    Echelon,
    RandomPoint,
    element,
    inverse,
    square_root,
)

X, Y = ca.SX.sym("x"), ca.SX.sym("y")


def is_zero(expression):
    function = ca.Function("f", [X, Y], [expression], ["x", "y"], ["f"])
    point = RandomPoint(Random(1))
    rows = point.evaluate(function, [point.column(1), point.column(1)])["f"]
    return not any(value for row in rows for value in row)


IDENTITIES = {
    "rational": (X + Y) ** 3 / (X + Y) - X**2 - 2 * X * Y - Y**2,
    "circle": ca.sin(X) ** 2 + ca.cos(X) ** 2 - 1,
    "sum of angles": ca.cos(X + 2 * Y) - ca.cos(X) * ca.cos(2 * Y) + ca.sin(X) * ca.sin(2 * Y),
    "halves": ca.sin(X) - 2 * ca.sin(X / 2) * ca.cos(X / 2),
    "odd and even": ca.sin(X * Y) + ca.sin(-X * Y) + ca.cos(X * Y) - ca.cos(-X * Y),
    "a shift": ca.sin(X + 0.3) - ca.sin(X - (-0.3)),
    "tangent": ca.tan(X) * ca.cos(X) - ca.sin(X),
    "exponential": ca.exp(X * Y) * ca.exp(-X * Y) - 1,
    "second derivatives": ca.jacobian(ca.jacobian(ca.tanh(X * Y) * ca.exp(-X), X), Y)
    - ca.jacobian(ca.jacobian(ca.tanh(X * Y) * ca.exp(-X), Y), X),
    "a switch": ca.if_else(X > Y, X, 3) - ca.if_else(X > Y, X, 3),
}

NO_IDENTITIES = {
    "tiny": 1e-300 * X,
    "cancelled in floats": (X + 1e30) - 1e30 - X * (1 + 2.0**-52),
    "a bell far off": ca.exp(-((X - 60) ** 2)),
    "a logistic step": ca.tanh(X - 400) + 1,
    "a threshold": ca.fmax(0, X - 1e6),
    "a switch far off": ca.if_else(X > 1e6, 1, 0),
    "rounded": 0.1 * X * 3 - 0.3 * X,
    "sine and angle": ca.sin(X) - X,
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_are_proved(name):
    assert is_zero(IDENTITIES[name])


@pytest.mark.parametrize("name", NO_IDENTITIES)
def test_what_is_zero_nearly_everywhere_is_no_identity(name):
    assert not is_zero(NO_IDENTITIES[name])


def test_the_field():
    assert element(0.75) == 3 * inverse(4) % PRIME
    assert element(-2.0) == PRIME - 2
    with pytest.raises(ZeroDivisionError):
        inverse(0)
    with pytest.raises(UnsupportedError, match="inf is not an element"):
        element(float("inf"))
    roots = [square_root(value) for value in range(1, 200)]
    assert 60 < sum(root is None for root in roots) < 140
    assert all(r * r % PRIME == k for k, r in enumerate(roots, 1) if r is not None)


def test_rows_are_solved_and_spanned_exactly():
    rows = [[1, 2, 0, -3], [2, 4, 1, -5]]
    w = Echelon(rows).solution([7, 11, 13])
    assert all(sum(a * b for a, b in zip(row, [*w, 1], strict=True)) % PRIME == 0 for row in rows)
    assert Echelon(rows).spans([0, 0, 1, 1])
    assert not Echelon(rows).spans([0, 1, 0, 0])
    assert Echelon([[1, 1, -1], [1, 1, -2]]).solution([0, 0]) is None


# -- surfaces ------------------------------------------------------------------------------------


def on_surface(surface, factor):
    """y' = factor x', and a holonomic constraint that may make the factor zero."""
    q = ds.coordinates(x="m", y="m", z="m", u="m")
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2 + q.dot.u**2) / 2
    goals = [
        ds.Holonomic("surface", surface(q)),
        ds.Nonholonomic("solved", q.dot.y - factor(q) * q.u * q.dot.x),
    ]
    return is_quasi_holonomic(ds.MechanicalSystem(q, kinetic=kinetic, goals=goals), ["y"])


def test_a_factor_that_vanishes_on_a_surface_is_proved_to():
    assert on_surface(lambda q: q.x - ca.sin(q.z), lambda q: q.x - ca.sin(q.z)).evidence == "proved"

    curved = on_surface(lambda q: q.x * q.z - 0.5, lambda q: (q.x * q.z) ** 2 - 0.25)
    assert curved.evidence == "proved"


def test_one_sheet_of_two_does_not_stand_for_both():
    """x^2 = z^2 is a cross: the factor vanishes on one of its lines."""
    found = on_surface(lambda q: q.x**2 - q.z**2, lambda q: q.x - q.z)
    assert found.evidence in ("sampled", "refuted")
    both = on_surface(lambda q: q.x**2 - q.z**2, lambda q: (q.x - q.z) * (q.x + q.z))
    assert both.evidence == "proved"
