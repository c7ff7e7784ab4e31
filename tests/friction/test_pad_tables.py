"""Tables of friction against the quadrature that they are made from."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daesolve.friction.pad_tables import friction_table
from daesolve.friction.pressures import scaled_friction

MODULI = np.concatenate(
    [np.linspace(0.0, 1.0, 41), 10.0 ** -np.arange(2.0, 9.0), 1.0 - 10.0 ** -np.arange(2.0, 9.0)]
)


def worst(exponent):
    """Return the largest relative error of the four series."""
    complement = ca.SX.sym("complement")
    table = ca.Function("table", [complement], list(friction_table(exponent).series(complement)))
    found = np.vstack([np.array(row) for row in table(((1 - MODULI) * (1 + MODULI))[np.newaxis])])
    slow_slide, slow_turn = scaled_friction(MODULI, exponent)
    with np.errstate(divide="ignore"):
        fast_slide, fast_turn = scaled_friction(1.0 / MODULI, exponent)
    return np.abs(found / [slow_slide, fast_slide, slow_turn, fast_turn] - 1.0).max()


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.0])
def test_the_usual_pressures_are_tabulated_to_1e_12(exponent):
    assert worst(exponent) < 1e-12
    assert friction_table(exponent).coefficients.shape[1] <= 25


@settings(derandomize=True, max_examples=8, deadline=None)
@given(st.floats(-0.95, 100.0))
@example(-0.95)
@example(1e-9)
@example(0.999)
@example(100.0)
def test_every_pressure_is_tabulated_to_1e_11(exponent):
    assert worst(exponent) < 1e-11


def test_a_table_is_made_once():
    assert friction_table(1.25) is friction_table(1.25)
