"""Instructions carried over to NumPy and to heyoka mean what they mean in CasADi."""

from __future__ import annotations

import casadi as ca
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daesolve.core.expressions.translation import (
    NUMPY_TABLE,
    integer_power,
    missing_operations,
    translate,
)
from daesolve.errors import UnsupportedError
from tests.systems import EPSILON


def test_a_missing_operation_is_named_with_the_function():
    x = ca.SX.sym("x")
    function = ca.Function("mine", [x], [ca.fabs(x) + ca.erf(x)])
    table = {k: v for k, v in NUMPY_TABLE.items() if k not in (ca.OP_FABS, ca.OP_ERF)}
    assert missing_operations(function, table) == ("erf", "fabs")
    with pytest.raises(UnsupportedError, match=r"my engine has no operation erf, fabs.*'mine'"):
        translate(function, [[1.0]], table, engine="my engine")


@given(st.floats(-3, 3).filter(lambda x: abs(x) > 0.1), st.integers(-20, 20))
def test_integer_powers_are_products(base, exponent):
    assert integer_power(base, exponent) == pytest.approx(base**exponent, rel=40 * EPSILON)


def test_integer_powers_of_zero():
    assert integer_power(0.0, 3) == 0.0
    assert integer_power(0.0, 0) == 1.0
