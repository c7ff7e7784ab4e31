import math

import casadi as ca
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from daesolve.export.forms import LONG, letters, symbol
from daesolve.export.latex import MOST, SMALL, WIDTH, FormulaWriter, aligned, seen
from tests.export.reading import value

NAMES = ("m", "x", "x_dot", "theta_1", "speed")
SYMBOLS = {name: ca.SX.sym(name) for name in NAMES}
x, m, x_dot = (SYMBOLS[name] for name in ("x", "m", "x_dot"))


def text(expression, **options):
    written = FormulaWriter({}, **options).write([ca.SX(expression)])
    assert not written.parts
    return " ".join(written.formulas[0])


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (x**2, "x^{2}"),
        (x * x * x, "x^{3}"),
        (x_dot**2 * m / 2, r"\frac{1}{2} m \dot{x}^{2}"),
        (x - (m - 1), "x - m + 1"),
        (-(x + m) * 2, r"-2 \left( x + m \right)"),
        (m / (x * x_dot), r"\frac{m}{x \dot{x}}"),
        ((x + m) / (x - m), r"\frac{x + m}{x - m}"),
        (ca.sqrt(x + 1) ** 2, "x + 1"),
        (ca.sin(x) ** 2 * m, r"m \sin^{2} x"),
        (ca.cos(2 * x), r"\cos\left( 2 x \right)"),
        ((x + 1) ** 2.5, r"\left( x + 1 \right)^{2.5}"),
        (x / 3, r"\frac{1}{3} x"),
        (m * SYMBOLS["speed"] * x, r"m \, \mathrm{speed} \, x"),
        (0.3 * x, "0.3 x"),
        (math.sqrt(2) * x, r"\sqrt{2} x"),
        (math.pi / 2 * x, r"\frac{1}{2} \pi x"),
        (1e-9 * x, r"1 \cdot 10^{-9} x"),
        (ca.if_else(x < 0, -x, 2), r"\begin{cases} -x & x < 0 \\ 2 & \text{else} \end{cases}"),
        (ca.fabs(x) ** 3, r"x^{2} \left| x \right|"),
        (ca.atan2(x, m), r"\operatorname{atan2}\left( x, m \right)"),
    ],
)
def test_formulas_are_written_as_in_a_textbook(expression, wanted):
    assert text(expression, constants=["m"]) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("x_dot", r"\dot{x}"),
        ("theta_1", r"\theta_{1}"),
        ("phi_dot_1_3", r"\dot{\phi}_{1,3}"),
        ("speed", r"\mathrm{speed}"),
        ("contact_x_dot", r"\dot{x}_{\mathrm{contact}}"),
        ("reaction_x", "R_{x}"),
        ("rod_1_q0", r"q_{0,\mathrm{rod},1}"),
        ("omega_x", r"\omega_{x}"),
        ("v1", "v_{1}"),
    ],
)
def test_names_become_symbols(name, wanted):
    assert symbol(name) == wanted


def test_parameters_have_their_usual_letters_and_no_two_names_share_a_symbol():
    found = letters(["wheel_mass", "length", "gravity", "m_wheel", "curve_a"], ["l", "x_dot"])
    assert found["wheel_mass"] == r"m_{\mathrm{wheel}}" or found["m_wheel"] != found["wheel_mass"]
    assert found["gravity"] == "g"
    assert found["curve_a"] == r"a_{\mathrm{curve}}"
    assert found["length"] == r"\mathrm{length}"  # l is a coordinate here
    assert len(set(found.values())) == len(found)


def _expressions():
    leaves = st.sampled_from(list(SYMBOLS.values())) | st.sampled_from(
        [0.1, 0.5, 1.0 / 3.0, 2.0, 3.0, -1.0, -2.5, math.pi, 1e-7, 12345678.0]
    ).map(ca.SX)

    def grown(inner):
        pairs = st.tuples(inner, inner)
        tests = st.tuples(inner, inner).flatmap(
            lambda two: st.sampled_from([two[0] < two[1], two[0] >= two[1]])
        )
        return st.one_of(
            pairs.map(lambda two: two[0] + two[1]),
            pairs.map(lambda two: two[0] - two[1]),
            pairs.map(lambda two: two[0] * two[1]),
            pairs.map(lambda two: two[0] / two[1]),
            pairs.map(lambda two: ca.atan2(*two)),
            pairs.map(lambda two: ca.fmin(*two)),
            st.tuples(inner, st.sampled_from([-2, -1, 2, 3, 0.5])).map(
                lambda two: two[0] ** two[1]
            ),
            inner.map(lambda one: -one),
            inner.map(ca.sin),
            inner.map(lambda one: ca.cos(one) ** 2),
            inner.map(ca.exp),
            inner.map(lambda one: ca.sqrt(ca.fabs(one))),
            inner.map(ca.sign),
            inner.map(ca.floor),
            st.tuples(tests, inner, inner).map(lambda three: ca.if_else(*three)),
            st.tuples(tests, tests, inner).map(
                lambda three: ca.if_else(ca.logic_and(three[0], three[1]), three[2], 0)
            ),
            st.tuples(tests, tests, inner).map(
                lambda three: ca.logic_not(ca.logic_or(three[0], three[1])) * three[2]
            ),
        )

    return st.recursive(leaves, grown, max_leaves=14)


NUMBERS = (0.7, 1.3, -0.4, 2.1, -1.9)


def _error_bound(expression, point):
    """Return how far rounding in another order may take the value: by its slope over each leaf."""
    slack = 0.0
    for seed in range(6):
        moved = [v * (1 + 1e-12 * math.sin(7.0 * seed + 3.0 * k)) for k, v in enumerate(point)]
        function = ca.Function("f", list(SYMBOLS.values()), [expression])
        slack = max(slack, abs(float(function(*moved)) - float(function(*point))))
    return slack


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(_expressions())
def test_a_formula_read_back_gives_the_number_of_its_expression(expression):
    function = ca.Function("f", list(SYMBOLS.values()), [expression])
    exact = float(function(*NUMBERS))
    written = FormulaWriter({}).write([expression])
    assume(math.isfinite(exact) and abs(exact) < 1e100)
    # Where a value lies at a jump, rounding decides on which side.
    slack = _error_bound(expression, NUMBERS)
    assume(slack <= 1e-8 * (1.0 + abs(exact)))
    symbols = {symbol(name): number for name, number in zip(NAMES, NUMBERS, strict=True)}
    try:
        for name, terms in written.parts:
            symbols[name] = value(" ".join(terms), symbols)
        found = value(" ".join(written.formulas[0]), symbols)
    except (OverflowError, ZeroDivisionError, ValueError):
        assume(False)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-9 + 10.0 * slack)


def test_what_is_long_and_repeated_is_named_once_and_the_formula_keeps_its_value():
    long = ca.sin(x) + m * x_dot**2 - 3 * x * m + ca.cos(m)
    writer = FormulaWriter({})
    written = writer.write([long * x + long**2, 1 / long])
    assert len(written.parts) == 1
    name, terms = written.parts[0]
    assert written.formulas[1] == (f"\\frac{{1}}{{{name}}}",)
    symbols = {"x": 0.3, "m": 1.7, r"\dot{x}": -0.6}
    inner = math.sin(0.3) + 1.7 * 0.36 - 3 * 0.3 * 1.7 + math.cos(1.7)
    assert value(" ".join(terms), symbols) == pytest.approx(inner, rel=1e-14)
    whole = value(" ".join(written.formulas[0]), {**symbols, name: inner})
    assert whole == pytest.approx(inner * 0.3 + inner**2, rel=1e-14)
    assert writer.write([long * m]).parts == ()  # it is known by then


def test_a_name_for_a_part_is_nobodys_symbol():
    long = ca.sin(x) + m * x_dot**2 - 3 * x * m + ca.cos(m)
    written = FormulaWriter({"x": "a"}).write([long * x + long**2])
    assert written.parts[0][0].startswith("d_")


def test_more_operations_than_anyone_reads_are_counted_and_not_printed():
    whole = ca.SX(0)
    for k in range(MOST):
        whole = whole + ca.sin(k * x)
    written = FormulaWriter({}).write([whole])
    assert not written.printed
    assert written.operations > MOST


def test_long_sums_are_broken_before_a_term_and_long_brackets_are_named():
    terms = [ca.sin(k * x) * m for k in range(2, 2 + 3 * LONG)]
    total = sum(terms, start=ca.SX(0))
    written = FormulaWriter({}).write([total])
    lines = aligned([("T", written.formulas[0])]).splitlines()
    assert len(lines) > 5
    assert max(len(line) for line in lines) < 4 * WIDTH
    inside = FormulaWriter({}).write([ca.exp(total)])
    assert len(inside.parts) == 1


def test_equations_below_each_other_are_aligned_at_their_sign():
    assert aligned([("T", ("x", "+ m"))]) == "T = x + m"
    assert aligned([("", ("x", "- m"))], "= 0") == "x - m = 0"
    both = aligned([("a", ("x",)), ("b", ("m",))])
    assert both.splitlines()[1:3] == ["a &= x \\\\", "b &= m"]


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (math.sqrt(3) / 2, r"\frac{\sqrt{3}}{2} x"),
        (-math.sqrt(27), r"-3\sqrt{3} x"),
        (3 * math.sqrt(5) / 4, r"\frac{3\sqrt{5}}{4} x"),
        (0.866, "0.866 x"),
        (2.5, r"\frac{5}{2} x"),
    ],
)
def test_roots_of_fractions_are_written_as_roots(number, wanted):
    told = text(number * x)
    assert told == wanted
    assert value(told, {"x": 1.7}) == pytest.approx(number * 1.7, rel=1e-15)


def test_the_widest_bracket_of_a_term_that_does_not_fit_on_a_line_has_a_name():
    names = [ca.SX.sym(f"quantity_{k}") for k in range(8)]
    wide = sum(names[:6], start=ca.SX(0))
    written = FormulaWriter({}).write([x * wide * (names[6] + names[7]) + m])
    ((name, terms),) = written.parts
    assert len(terms) == 6
    assert any(name in term for term in written.formulas[0])
    lines = aligned([("T", written.formulas[0]), *written.parts]).splitlines()[1:-1]
    assert max(map(seen, lines)) < 1.3 * WIDTH
    fits = sum(names[:5], start=ca.SX(0))
    assert FormulaWriter({}).write([x * fits]).parts == ()


def test_indices_are_small_and_a_fraction_is_as_wide_as_its_wider_side():
    assert seen(r"m_{\mathrm{wheel}}") == pytest.approx(1 + 5 * SMALL)
    assert seen(r"\frac{x + y}{\dot{z}}") == seen("x + y") == 3
    assert seen(r"\sin \theta") == 4
