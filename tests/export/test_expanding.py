import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from daesolve.export.expanding import expanded, printed_size

a, b, m, r = (ca.SX.sym(name) for name in ("a", "b", "m", "r"))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (m * ca.cos(a) ** 2 + 0.5 * ca.sin(a) ** 2 * (2 * m), "m"),
        ((a + b) * (a - b) + b**2, "sq(a)"),
        (m * (0.5 * (2 * r)), "(m*r)"),
        ((a * r + b * r) / r, "(a+b)"),
        ((r * ca.cos(a) - m) ** 2 / (r * ca.cos(a) - m), "((r*cos(a))-m)"),
        (ca.sin(-a) + ca.sin(a) + ca.cos(-a) - ca.cos(a), "0"),
        (ca.cos(a) * ca.cos(b) + ca.sin(a) * ca.sin(b), "cos((a-b))"),
        (m * ca.cos(a) * ca.cos(b) - m * ca.sin(b) * ca.sin(a), "(m*cos((a+b)))"),
        (ca.sin(a) * ca.cos(b) + ca.cos(a) * ca.sin(b), "sin((a+b))"),
        (ca.cos(a) * ca.sin(b) - ca.sin(a) * ca.cos(b), "(-sin((a-b)))"),
        ((np.sqrt(3) / 2) ** 2 * m + m / 4, "m"),
    ],
)
def test_terms_are_put_together(expression, wanted):
    assert str(expanded(ca.SX(expression))) == wanted


@st.composite
def expressions(draw, depth=4):
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([a, b, m, r, ca.SX(2), ca.SX(0.75), ca.SX(-1)]))
    one = draw(expressions(depth=depth - 1))
    kind = draw(st.sampled_from(["+", "-", "*", "/", "sin", "cos", "sq", "abs", "pow"]))
    if kind in ("sin", "cos", "sq", "abs"):
        return {"sin": ca.sin, "cos": ca.cos, "sq": lambda x: x**2, "abs": ca.fabs}[kind](one)
    other = draw(expressions(depth=depth - 1))
    if kind == "pow":
        return one ** draw(st.integers(-3, 3))
    return {"+": one + other, "-": one - other, "*": one * other, "/": one / (3 + other**2)}[kind]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(expressions(), st.integers(0, 1000))
def test_what_is_multiplied_out_has_the_same_values(expression, seed):
    assume("inf" not in str(expression))  # a constant that was divided by zero
    point = np.random.default_rng(seed).uniform(0.5, 1.5, size=4)
    found = ca.Function("f", [ca.vertcat(a, b, m, r)], [ca.SX(expression), expanded(expression)])
    one, other = (float(value) for value in found(point))
    if np.isfinite(one) and abs(one) < 1e6:
        # Each of some hundred terms of order 1e4 at most loses a few roundings where they cancel.
        assert abs(one - other) <= 1e-8 * (1 + abs(one))


def test_parts_count_as_often_as_they_are_printed():
    part = a + b
    assert printed_size(part * part) == 2  # the square of one sum
    assert printed_size(ca.vertcat(part * m, part * r)) == 4
