"""What whole turns of an angle make of an expression, by its structure."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.structure import after_a_turn, is_linear

T, X, P = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("p", 2)
PHI, PSI, Y = X[0], X[1], X[2]
RATIO, SWITCH = P[0], P[1]
NUMBERS = np.array([3.0, np.nan])
"""The first value of p lasts, the second may change with a mode."""

SAME = {
    "sine": ca.sin(PHI),
    "a whole multiple": ca.cos(4 * PHI) * Y,
    "a difference of angles": ca.sin(PHI - PSI),
    "a lasting ratio": ca.sin(RATIO * PHI + Y),
    "a gear, up and down": ca.sin(3 * (PHI / 3)),
    "half angles in products": ca.sin(PHI / 2) * ca.cos(PHI / 2) + ca.sin(PHI / 2) ** 2,
    "an odd power of half an angle, squared": (ca.cos(PHI / 2) ** 3 * Y) ** 2,
    "tangent of half an angle": ca.tan(PHI / 2),
    "any function of a sine": ca.exp(-200 * (ca.sin(PHI) - 0.9) ** 2),
    "a branch by a sine": ca.if_else(ca.sin(PHI) > 0.5, Y, -Y),
    "turns taken out by floor": PHI - 2 * math.pi * ca.floor(PHI / (2 * math.pi)),
    "the nearest remainder": ca.remainder(PHI, 2 * math.pi) ** 2,
    "an angle that cancels": (PHI - PSI) - (PHI - Y),
    "without the angle": ca.exp(PSI) + Y,
}
OTHER = {
    "the angle itself": PHI,
    "a wall far off": ca.exp(PHI - 60),
    "a ramp that saturates": ca.tanh(PHI - 200),
    "a window far off": ca.exp(-((PHI - 100) ** 2)),
    "a half multiple": ca.sin(1.5 * PHI),
    "nearly a whole multiple": ca.sin((1 + 1e-12) * PHI),
    "a ratio that a mode changes": ca.sin(SWITCH * PHI),
    "a term that a mode switches on": SWITCH * PHI,
    "a tiny term": ca.sin(PHI) + 1e-300 * PHI,
    "an amplitude that grows": PHI * ca.sin(PHI),
    "a branch by the angle": ca.if_else(PHI > 0, 1, 2),
    "a truncated remainder": ca.fmod(PHI, 2 * math.pi),
    "a half angle": ca.sin(PHI / 2),
    "a quotient by the angle": ca.sin(PHI) / (1 + PHI**2),
}


def _same(expression: ca.SX) -> bool:
    function = ca.Function("f", [T, X, P], [expression])
    return bool(after_a_turn(function, [0], NUMBERS)[0][0].same[0])


@pytest.mark.parametrize("name", SAME)
def test_what_a_turn_leaves_alone_is_proved(name: str) -> None:
    assert _same(SAME[name])


@pytest.mark.parametrize("name", OTHER)
def test_what_a_turn_may_change_is_not(name: str) -> None:
    assert not _same(OTHER[name])


@pytest.mark.parametrize("name", SAME)
def test_what_is_proved_holds_in_numbers(name: str) -> None:
    """Also where nobody would sample: after 37 turns."""
    function = ca.Function("f", [T, X, P], [SAME[name]])
    x, p = np.array([0.7, 0.4, 1.3]), np.array([3.0, 0.6])
    turned = x + np.array([2.0 * math.pi * 37, 0.0, 0.0])
    # Rounding of the angle, 232 eps, over the slopes of these functions, below 400.
    assert abs(float(function(0.0, x, p)) - float(function(0.0, turned, p))) < 1e-11


def test_each_angle_is_judged_by_itself() -> None:
    function = ca.Function("f", [T, X, P], [ca.vertcat(ca.sin(PHI) + PSI, ca.cos(PSI))])
    first, second = after_a_turn(function, [0, 1], NUMBERS)[0]
    assert first.same.tolist() == [True, False]
    assert first.turns.tolist() == [0.0, 1.0]
    assert second.same.tolist() == [True, True]


def test_a_change_of_sign_is_kept_apart() -> None:
    function = ca.Function("f", [T, X, P], [ca.vertcat(ca.sin(PHI / 2), ca.sin(PHI / 2) * Y)])
    for value in after_a_turn(function, [0])[0]:
        assert (value.sign[0], value.turns[0]) == (-1.0, 0.0)


@pytest.mark.slow
def test_a_hundred_angles_in_fifteen_thousand_instructions() -> None:
    angles = ca.SX.sym("a", 100)
    chain = angles
    for _ in range(75):
        chain = chain + 0.1 * ca.sin(chain)
    function = ca.Function("f", [T, angles, P], [ca.sin(chain)])
    assert function.n_instructions() > 15_000
    found = after_a_turn(function, range(100))[0]
    assert all(value.same.all() for value in found)


FIRST, SECOND, FREE = (ca.SX.sym(name) for name in ("n", "m", "x"))

LINEAR = [
    ca.SX(3.0),
    ca.floor(FREE) * ca.sign(FREE) / FREE,
    -2.0 * FIRST + SECOND / (1.0 + FREE**2) - FIRST,
    ca.if_else(FREE > 0.0, FIRST, SECOND * FREE) * ca.sin(FREE),
    (FIRST + 1.0) * FREE,
]
OTHERS = [
    FIRST * SECOND,
    FREE / FIRST,
    FIRST**2,
    ca.sqrt(FIRST),
    ca.sign(FIRST) * FREE,
    ca.if_else(FIRST > 0.0, FREE, SECOND),
    ca.fmod(FIRST, FREE),
    ca.logic_not(FIRST),
]


@pytest.mark.parametrize("expression", LINEAR, ids=str)
def test_sums_products_with_others_and_branches_chosen_by_others_are_linear(expression):
    assert is_linear(ca.vertcat(0.0, expression), ca.vertcat(FIRST, SECOND))


@pytest.mark.parametrize("expression", OTHERS, ids=str)
def test_what_hides_a_symbol_in_any_other_operation_is_not(expression):
    assert not is_linear(ca.vertcat(FIRST, expression), ca.vertcat(FIRST, SECOND))
    assert is_linear(expression, ca.SX(0, 1))
