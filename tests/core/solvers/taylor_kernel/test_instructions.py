"""What becomes a row of the kernel's table, and in which order rows stand."""

import casadi as ca
import numpy as np

from daesolve.core.solvers.taylor_kernel import kinds
from daesolve.core.solvers.taylor_kernel.instructions import Instructions, instructions

T, X, P = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 2)
A, B, C, D = ca.vertsplit(X)


def table(*column: ca.SX) -> Instructions:
    return instructions(ca.Function("rate", [T, X, P], [ca.vertcat(*column)]))


def test_a_sum_of_products_is_one_row():
    made = table(A * B - C * D + 3 * A - (B - T))
    assert made.codes[:, 0].tolist() == [kinds.SUM]
    counts = np.diff(made.ends[0]).tolist()
    # Two products, of which one is negative; t and B; a multiple.
    assert counts == [1, 1, 1, 1, 1, 0]
    assert made.numbers(np.zeros(2))[made.terms[4, 1]] == 3.0


def test_what_others_need_as_well_stays_a_row():
    shared = A * B
    made = table(shared + C * D, ca.sqrt(shared))
    assert sorted(made.codes[:, 0].tolist()) == [kinds.PRODUCT, kinds.ROOT, kinds.SUM]


def test_equal_values_are_one_row_in_either_order():
    made = table(ca.sqrt(A * B), ca.sqrt(B * A), ca.sin(C) * ca.cos(C), ca.sin(C))
    assert np.count_nonzero(made.codes[:, 0] == kinds.ROOT) == 1
    assert np.count_nonzero(made.codes[:, 0] == kinds.INTEGRAL) == 2
    assert made.outputs[0].tolist() == made.outputs[1].tolist()


def test_each_row_stands_behind_those_that_it_needs():
    made = table(ca.sin(A * B) / (1 + C**2), ca.exp(-A) * ca.sqrt(D + 2), ca.atan2(A, B) ** P[0])
    for place, code in enumerate(made.codes, made.states + 1):
        if code[0] == kinds.SUM:
            own = made.ends[place - made.states - 1]
            rows = made.terms[own[0] : own[-1], 0]
        elif code[0] == kinds.INTEGRAL:
            rows = code[[1, 3]]
        else:
            number = kinds.NUMBER_OPERAND.get(int(code[0]))
            operands = range(kinds.OPERANDS[code[0]])
            rows = np.array([code[1 + k] for k in operands if k != number], dtype=int)
        assert np.all(rows < place)


def test_what_parameters_decide_is_a_number():
    made = table(ca.sin(P[0]) * A, P[1] * 2.0)
    assert made.codes[:, 0].tolist() == [kinds.TIMES_NUMBER]
    is_row, place = made.outputs[1]
    assert (is_row, made.numbers(np.array([0.3, 0.7]))[place]) == (0, 1.4)
