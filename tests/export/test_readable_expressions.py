import casadi as ca
import numpy as np

from daesolve.core.expressions.identities import vanishes
from daesolve.export.readable_expressions import collected, decided, simplified, solved, with_values

a, b, u, w, m = (ca.SX.sym(name) for name in ("a", "b", "u", "w", "m"))


def test_the_cosine_of_a_right_angle_is_zero():
    contact = ca.SX.sym("contact")
    sine = ca.sin(a) * ca.cos(ca.pi / 2 * (2 - contact)) + ca.cos(a) * ca.sin(
        ca.pi / 2 * (2 - contact)
    )
    found = with_values(sine, {"contact": 1.0}, {})
    assert str(found) == "cos(a)"


def test_conditions_are_decided_and_what_stays_stays():
    given = m + (m == 0) * u
    values = {"m": 2.0, "a": 1.0}
    assert decided(given * a, values) == {"m": 2.0}
    assert str(with_values(given, {}, {"m": 2.0})) == "m"
    assert str(with_values(given, {"m": 0.0}, {})) == "u"


def test_conditions_of_the_state_decide_nothing():
    assert decided(ca.if_else(a > m, u, w), {"m": 1.0}) == {}


def test_entries_are_freed_of_what_they_do_not_depend_on():
    turn = ca.vertcat(ca.horzcat(ca.cos(a), -ca.sin(a)), ca.horzcat(ca.sin(a), ca.cos(a)))
    found = simplified(turn.T @ ca.diag(ca.vertcat(m, m)) @ turn, a)
    assert found.nnz() == 2
    assert str(ca.densify(found)[0, 0]) == str(m)


def test_quadratic_forms_are_sorted_by_rates():
    form = (u * ca.cos(a) + w * ca.sin(a)) ** 2 + (w * ca.cos(a) - u * ca.sin(a)) ** 2
    found = collected(ca.vertcat(form), ca.vertcat(u, w), ca.vertcat(a))
    assert str(found) == "SX((sq(u)+sq(w)))" or str(found) == "(sq(u)+sq(w))"


def test_equations_are_solved_as_by_hand():
    matrix = ca.vertcat(
        ca.horzcat(-ca.sin(a), ca.cos(a), 0),
        ca.horzcat(ca.cos(a), ca.sin(a), 0),
        ca.horzcat(0, m, 1),
    )
    found = solved(matrix, ca.vertcat(0, u, w), ca.vertcat(a))
    assert vanishes(found - ca.vertcat(u * ca.cos(a), u * ca.sin(a), w - m * u * ca.sin(a)))
    assert "/" not in str(found)


def test_large_systems_have_the_solution_of_numbers():
    generator = np.random.default_rng(3)
    numbers = np.where(generator.uniform(size=(7, 7)) < 0.5, generator.uniform(-1, 1, (7, 7)), 0.0)
    numbers += 3 * np.eye(7)
    matrix = ca.SX(ca.sparsify(ca.DM(numbers)))
    matrix[0, 0] = matrix[0, 0] * ca.cos(a)
    right = ca.SX(ca.DM(generator.uniform(-1, 1, (7, 2))))
    found = ca.Function("f", [a], [solved(matrix, right, a), matrix, right])
    solution, given, wanted = (np.asarray(value) for value in found(0.4))
    assert np.max(np.abs(given @ solution - wanted)) < 1e-13
