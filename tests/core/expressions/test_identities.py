"""Identities, and what is none though it is zero at every state of order one."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.identities import is_combination, vanishes, vanishing

X, Y, Z = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("z")
W, INERTIA = ca.SX.sym("w", 3), ca.SX.sym("inertia", 3, 3)
GYROSCOPIC = ca.dot(W, ca.cross(W, INERTIA @ W))

ZERO = {
    "pythagoras": ca.sin(X) ** 2 + ca.cos(X) ** 2 - 1,
    "a gyroscopic power": GYROSCOPIC,
    "a binomial": (X + Y) ** 3 - X**3 - 3 * X**2 * Y - 3 * X * Y**2 - Y**3,
    "a quotient": X / Y * Y - X,
    "the slope of tanh": ca.jacobian(ca.tanh(X), X) - 1 + ca.tanh(X) ** 2,
    "cosh and sinh": ca.cosh(X) ** 2 - ca.sinh(X) ** 2 - 1,
    "cosh and exp": 2 * ca.cosh(X) - ca.exp(X) - ca.exp(-X),
    "two logistic functions": ca.exp(X) / (1 + ca.exp(X)) - 1 / (1 + ca.exp(-X)),
    "the slope of a root": ca.jacobian(ca.sqrt(X**2 + Y**2), X) * ca.sqrt(X**2 + Y**2) - X,
    "sign and size": ca.fabs(X) * ca.sign(X) - X,
    "decimals": 0.1 * X + 0.2 * X - 0.3 * X,
    "large terms that cancel": (X + 1e6 * Y) - 1e6 * Y - X,
    "half a turn": ca.sin(X + math.pi) + ca.sin(X),
    "one branch twice": ca.if_else(X > 60, Y, Z) * X - X * ca.if_else(X > 60, Y, Z),
    "a branch and its slope": ca.if_else(X > 60, Y * Z, -Z) - Z * ca.if_else(X > 60, Y, -1),
    "either branch": ca.if_else(X > 60, Y, Y) - Y,
    "one minimum twice": ca.fmin(X, Y) * Z - Z * ca.fmin(Y, X),
    "nothing": ca.SX(0, 1),
    "structural zeros": ca.SX(3, 2),
}
HIDDEN = {
    "a wall": Y * ca.exp(X - 60),
    "a ramp": Y * (1 + ca.tanh(X - 60)),
    "a window": Y * ca.exp(-((X - 60) ** 2)),
    "a logistic step": Y / (1 + ca.exp(-200 * (X - 60))),
    "a softplus": Y * ca.log(1 + ca.exp(X - 60)),
    "a branch": ca.if_else(X > 60, Y, 0),
    "branches that agree to the left": ca.if_else(X > 60, Y, Z) - Z,
    "a condition that is a number": ca.if_else(X, Y, 0) - Y,
    "a maximum": ca.fmax(X - 60, 0),
    "a size": ca.fabs(X - 60) + (X - 60),
    "a root of a square": ca.sqrt((X - 60) ** 2) + (X - 60),
    "steps": ca.floor(X / 60),
    "an error function": 1 + ca.erf(X - 60),
    "a steep angle": ca.atan(1e9 * (X - 60)) + math.pi / 2,
    "a high power": Y * (X / 60) ** 60,
    "a small term": 1e-13 * X * Y,
    "a resonance": Y / (1 + 1e16 * (X - 60) ** 2),
    "behind the terms of an orbit in metres": (
        Y / X**2 * 1.327e20 - Y * 1.327e20 / X**2 - 1e-10 * Y**2 * (1 - ca.tanh(X / 2e10))
    ),
    "a power of a large length": (X / 1e12) ** 4 * Y,
    "behind a true identity": GYROSCOPIC - 0.005 * W[0] ** 2 * (1 + ca.tanh(X - 60)),
    "a small resonance behind one": GYROSCOPIC - 1e-6 * W[0] ** 2 / (1 + (X - 60) ** 2),
}


@pytest.mark.parametrize("name", ZERO)
def test_identities_are_proved(name: str) -> None:
    assert vanishes(ZERO[name])


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_zero_at_usual_states_alone_is_none(name: str) -> None:
    assert not vanishes(HIDDEN[name])


def test_entries_are_judged_one_by_one() -> None:
    table = ca.vertcat(ca.horzcat(X - X + 0 * Y, X), ca.horzcat(ca.exp(X - 99), Y * X - X * Y))
    assert vanishing(table).tolist() == [[True, False], [False, True]]


def test_numbers_that_are_known_count() -> None:
    friction = X * ca.tanh(Y)
    assert vanishes(friction, {X.__hash__(): 0.0})
    assert not vanishes(friction, {X.__hash__(): 1e-9})


def test_the_same_question_has_the_same_answer() -> None:
    answers = [vanishing(ca.vertcat(GYROSCOPIC, X)).tolist() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert np.shape(answers[0]) == (2, 1)


COMBINED = {
    "a multiple": (2 * X - 2 * Y, [X - Y]),
    "a sum": (X + Y, [X, Y]),
    "a square expanded": ((X + Y) ** 2, [X**2 + 2 * X * Y, Y**2]),
    "pythagoras": (ca.sin(X) ** 2, [1 - ca.cos(X) ** 2]),
    "the sine of a sum": (ca.sin(X + Y), [ca.sin(X) * ca.cos(Y), ca.cos(X) * ca.sin(Y)]),
    "twice an angle": (ca.cos(2 * X), [2 * ca.cos(X) ** 2 - 1]),
    "one exponential": (3 * ca.exp(X - Y), [ca.exp(-Y + X)]),
    "the square of a root": (ca.sqrt(X**2 + 1) ** 2, [X**2, ca.SX(1)]),
    "ends of a beam": (Y + ca.sin(X), [Y, Y - ca.sin(X)]),
}
UNCOMBINED = {
    "an offset": (X - 1, [X]),
    "a factor that varies": (X * Y, [Y]),
    "an exponential that is not seen near zero": (X - Y + Z * ca.exp(-((X - 60) ** 2)), [X - Y]),
    "another frequency": (ca.sin(0.1 * X), [ca.sin(X)]),
    "a small share": (X + 1e-12 * Y, [X]),
    "a share that is small by the unit of what it holds": (X - Y - (Z / 1e4) ** 4 * X, [X - Y]),
    "a function of another": (ca.tanh(X), [X]),
}


@pytest.mark.parametrize("name", COMBINED)
def test_combinations_are_proved(name: str) -> None:
    assert is_combination(*COMBINED[name])


@pytest.mark.parametrize("name", UNCOMBINED)
def test_what_is_no_combination_is_not_proved(name: str) -> None:
    assert not is_combination(*UNCOMBINED[name])


def test_high_powers_with_many_terms_are_no_obstacle() -> None:
    power = (X + Y + Z + ca.sin(X) + ca.sin(Y) + ca.sin(Z)) ** 10
    assert not is_combination(power, [power + 1])
    assert is_combination(2 * power, [power])
