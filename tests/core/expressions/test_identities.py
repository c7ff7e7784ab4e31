"""Combinations that hold identically are shown, and nothing else is."""

from __future__ import annotations

import casadi as ca
import pytest

from daesolve.core.expressions.identities import is_combination

A, B, C = (ca.SX.sym(name) for name in "abc")
INPUTS = [ca.vertcat(A, B, C)]

HOLD = {
    "a multiple": (2 * A - 2 * B, [A - B]),
    "a sum": (A + B, [A, B]),
    "a square expanded": ((A + B) ** 2, [A**2 + 2 * A * B, B**2]),
    "pythagoras": (ca.sin(A) ** 2, [1 - ca.cos(A) ** 2]),
    "the sine of a sum": (ca.sin(A + B), [ca.sin(A) * ca.cos(B), ca.cos(A) * ca.sin(B)]),
    "twice an angle": (ca.cos(2 * A), [2 * ca.cos(A) ** 2 - 1]),
    "one exponential": (3 * ca.exp(A - B), [ca.exp(-B + A)]),
    "the square of a root": (ca.sqrt(A**2 + 1) ** 2, [A**2, ca.SX(1)]),
    "ends of a beam": (B + ca.sin(A), [B, B - ca.sin(A)]),
}
FAIL = {
    "an offset": (A - 1, [A]),
    "a factor that varies": (A * B, [B]),
    "an exponential that is not seen near zero": (A - B + C * ca.exp(-((A - 60) ** 2)), [A - B]),
    "another frequency": (ca.sin(0.1 * A), [ca.sin(A)]),
    "a small share": (A + 1e-12 * B, [A]),
    "a share that is small by the unit of what it holds": (A - B - (C / 1e4) ** 4 * A, [A - B]),
    "a function of another": (ca.tanh(A), [A]),
}


@pytest.mark.parametrize("name", HOLD)
def test_what_holds_is_shown(name):
    target, others = HOLD[name]
    assert is_combination(target, others, INPUTS)


@pytest.mark.parametrize("name", FAIL)
def test_what_does_not_hold_is_not(name):
    target, others = FAIL[name]
    assert not is_combination(target, others, INPUTS)


def test_what_is_too_long_is_not_shown_and_ends():
    long = (A + B + C + ca.sin(A) + ca.sin(B) + ca.sin(C)) ** 10
    assert not is_combination(long, [long + 1], INPUTS)
