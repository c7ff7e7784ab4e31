"""What is linear in some symbols, by structure."""

import casadi as ca
import pytest

from daesolve.core.expressions.linearity import is_linear

N, M, X = (ca.SX.sym(name) for name in ("n", "m", "x"))

LINEAR = [
    ca.SX(3.0),
    ca.floor(X) * ca.sign(X) / X,
    -2.0 * N + M / (1.0 + X**2) - N,
    ca.if_else(X > 0.0, N, M * X) * ca.sin(X),
    (N + 1.0) * X,
]
OTHERS = [
    N * M,
    X / N,
    N**2,
    ca.sqrt(N),
    ca.sign(N) * X,
    ca.if_else(N > 0.0, X, M),
    ca.fmod(N, X),
    ca.logic_not(N),
]


@pytest.mark.parametrize("expression", LINEAR, ids=str)
def test_sums_products_with_others_and_branches_chosen_by_others_are_linear(expression):
    assert is_linear(ca.vertcat(0.0, expression), ca.vertcat(N, M))


@pytest.mark.parametrize("expression", OTHERS, ids=str)
def test_what_hides_a_symbol_in_any_other_operation_is_not(expression):
    assert not is_linear(ca.vertcat(N, expression), ca.vertcat(N, M))
    assert is_linear(expression, ca.SX(0, 1))
