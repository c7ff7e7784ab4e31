"""A function's instructions are the same read one by one and all at once, whatever they are."""

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions import compilation, program, translation
from daesolve.core.expressions.operations import OF_CASADI


def every_operation(repeats: int = 1) -> ca.Function:
    """Return a function with every operation, large if its parts are repeated."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    parts = [p[0] * p[1] + 0.1, ca.sin(p[0])]
    for k in range(repeats):
        a, b = x[0] + k * t, x[1] * (k + 1.0 / 3.0) - p[0]
        for operation in OF_CASADI:
            parts.append(
                ca.SX.binary(operation, a, b) if takes_two(operation) else one(operation, a)
            )
        parts += [a * b, b * a, a - b, b - a, parts[0] * a]
    return ca.Function("f", [t, x, p], [ca.vertcat(*parts), x[2]])


def one(operation: int, a: ca.SX) -> ca.SX:
    return a if operation == ca.OP_ASSIGN else ca.SX.unary(operation, a)


def takes_two(operation: int) -> bool:
    two = (
        "ADD SUB MUL DIV POW CONSTPOW LT LE EQ NE AND OR FMOD REMAINDER COPYSIGN FMIN FMAX ATAN2 "
        "HYPOT IF_ELSE_ZERO"
    )
    return operation in {getattr(ca, f"OP_{name}") for name in two.split()}


@pytest.mark.parametrize("repeats", [1, 30])
def test_both_ways_of_reading_find_the_same(repeats: int):
    function = every_operation(repeats)
    at_once, each = program._read_at_once(function), program._read_one_by_one(function)
    assert at_once is not None
    assert (at_once.steps, at_once.outputs) == (each.steps, each.outputs)
    assert at_once.operations == each.operations
    assert np.array_equal(at_once.origins, each.origins)
    for name in ("kinds", "operands", "numbers", "taken"):
        assert np.array_equal(getattr(at_once.values, name), getattr(each.values, name)), name


def test_what_is_written_in_another_way_is_read_one_by_one(monkeypatch: pytest.MonkeyPatch):
    function = every_operation(30)
    known = program.program(function)
    for text in ("", program.serialized(function)[:-2000], "z" * len(function.serialize())):
        monkeypatch.setattr(program, "serialized", lambda _, text=text: text)
        program.program.cache_clear()
        assert program.program(function).steps == known.steps
    program.program.cache_clear()


def test_a_number_that_stands_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch):
    function = every_operation(30)
    text = program.serialized(function)
    count = function.n_instructions()
    last = np.array(program._record(function, count - 1), dtype="<i4").tobytes()
    place = text.rfind(program.doubled(last))
    changed = text[:place] + "b" + text[place + 1 :]
    monkeypatch.setattr(program, "serialized", lambda _: changed)
    assert program._read_at_once(function) is None


def test_compiled_and_other_loops_find_the_same_constants(monkeypatch: pytest.MonkeyPatch):
    function = every_operation(3)
    found = []
    for small in (0, 10**6):
        monkeypatch.setattr(compilation, "SMALL", small)
        translation.constants_of.cache_clear()
        given = translation.constants_of(function, 2)
        found.append((given, translation.needed_values(function, given)))
    translation.constants_of.cache_clear()
    assert found[0] == found[1]
    assert found[0][0]
    p = np.array([0.3, 0.7])
    values = np.asarray(translation.constants_function(function, 2)(p)).ravel()
    assert {0.3 * 0.7 + 0.1, np.sin(0.3)} <= set(values.tolist())


def evaluated(known: program.Program, inputs: list[np.ndarray]) -> list[dict[int, float]]:
    """Return the entries of the outputs of a program, computed step by step."""
    values = []
    for operation, operands in known.steps:
        if operation == ca.OP_INPUT:
            values.append(inputs[operands[0]][operands[1]])
        elif operation == ca.OP_CONST:
            values.append(operands[0])
        else:
            table = translation.NUMPY_TABLE
            values.append(table[operation](*[values[index] for index in operands]))
    return [{entry: float(values[number]) for entry, number in pairs} for pairs in known.outputs]


@pytest.mark.parametrize("repeats", [(1, 2), (30, 3), (3, 30)])
def test_joined_programs_are_that_of_one_function_with_all_outputs(repeats: tuple[int, int]):
    first, second = (every_operation(count) for count in repeats)
    t, x, p = (first.sx_in(k) for k in range(3))
    both = ca.Function("both", [t, x, p], [*first(t, x, p), *second(t, x, p)])
    joined, whole = program.joined((first, second)), program.program(both)
    assert joined.size == whole.size
    inputs = [np.array([0.4]), np.array([0.7, 0.5, 0.9]), np.array([0.3, 0.8])]
    with np.errstate(all="ignore"):
        found, wanted = evaluated(joined, inputs), evaluated(whole, inputs)
    np.testing.assert_equal(found, wanted)


def test_few_repetitions_are_left_and_many_are_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(translation, "MANY", 20)
    x = ca.SX.sym("x", 30)
    own = [ca.exp(ca.cos(ca.sin(x[k] * x[k + 1]) + x[k])) for k in range(29)]
    again = [ca.exp(ca.cos(ca.sin(x[k] * x[k + 1]) + x[k])) for k in range(29)]
    assert translation.shares_already(ca.Function("few", [x], [ca.vertcat(*own)]))
    assert not translation.shares_already(ca.Function("many", [x], [ca.vertcat(*own, *again)]))
    assert not translation.shares_already(ca.Function("small", [x], [own[0] + own[1]]))
