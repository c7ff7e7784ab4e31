"""Data and functions come back bit for bit; nothing else is written, and nothing else is made."""

import pickle
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions import plain_data
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.plain_data import (
    NotPlainError,
    StoredFunction,
    named,
    packed,
    unpacked,
)
from daesolve.core.expressions.program import digest

from .test_program import every_operation


@dataclass(frozen=True)
class Pair:
    one: float
    other: tuple[object, ...] = ()


class Word(str):
    __slots__ = ()


CLASSES = named([Pair, Word])


def back(value: object) -> object:
    return unpacked(packed(value, CLASSES), CLASSES)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, 2**70, "word", "", 0.1, 5e-324, float("inf"), (1, 2.0, [3, "a"]), {},
        {"a": 1.0, 3: (None,)}, {"float": "0x1p0"}, Pair(1.5, (Pair(2.5), "x")),
        Word("a"),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(value: object):
    found = back(value)
    assert found == value
    assert type(found) is type(value)


def test_signs_of_zeros_and_what_is_no_number_come_back():
    assert np.signbit(back(-0.0))
    assert np.isnan(back(float("nan")))


@pytest.mark.parametrize("dtype", [float, int, bool, np.float32, np.int32])
def test_arrays_and_their_scalars_come_back(dtype: type):
    array = np.array([[0.0, 1.0, 2.0], [3.0, -4.5, 5.0]]).astype(dtype)
    found = back(array)
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.tobytes(), found.shape) == (array.dtype, array.tobytes(), (2, 3))
    assert found.flags.writeable
    assert type(back(array[1, 1])) is type(array[1, 1])


def test_functions_come_back_with_the_same_bits():
    x = ca.SX.sym("x", 3)
    function = ca.Function("f", [x], [ca.sin(x) / ca.sqrt(x[0] + 1.0 / 3.0), x[1] * 0.1])
    found = back(function)
    at = np.array([0.3, 0.7, 1.1])
    for one, other in zip(function(at), found(at), strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


@dataclass
class Foreign:
    one: float = 1.0


@pytest.mark.parametrize("value", [Foreign(), lambda: 0, object(), np.array([object()]), dict])
def test_other_things_are_not_written(value: object):
    with pytest.raises(NotPlainError):
        packed([value], CLASSES)


def test_other_classes_are_not_made():
    with pytest.raises(KeyError):
        unpacked(packed(Foreign(), named([Foreign])), CLASSES)


# -- functions that are read on demand -----------------------------------------------------------

T, X, P = np.array([0.4]), np.array([0.7, 0.5, 0.9]), np.array([0.3, 0.8])


@pytest.fixture
def pair() -> tuple[ca.Function, StoredFunction]:
    function = every_operation(30)
    found = unpacked(packed(function, {}), {})
    assert isinstance(found, StoredFunction)
    return function, found


def test_its_sizes_names_and_digest_are_known_before_it_is_read(
    pair: tuple[ca.Function, StoredFunction], monkeypatch: pytest.MonkeyPatch
):
    function, stored = pair
    monkeypatch.setattr(plain_data, "ca", None)  # which reads
    assert stored.n_instructions() == function.n_instructions()
    assert [stored.nnz_in(k) for k in range(3)] == [function.nnz_in(k) for k in range(3)]
    assert [stored.nnz_out(k) for k in range(2)] == [function.nnz_out(k) for k in range(2)]
    assert (stored.name(), stored.name_in(1)) == (function.name(), function.name_in(1))
    assert digest(stored) == digest(function)
    with pytest.raises(AttributeError):
        stored.n_in()


def test_it_gives_the_same_bits(pair: tuple[ca.Function, StoredFunction]):
    function, stored = pair
    for one, other in zip(function(T, X, P), stored(T, X, P), strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)
    blocks = [evaluate_block(each, T, X[None, :], P) for each in pair]
    for one, other in zip(*blocks, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    assert stored.n_in() == function.n_in()


def test_another_process_is_given_the_function_itself(pair: tuple[ca.Function, StoredFunction]):
    function, stored = pair
    found = pickle.loads(pickle.dumps(stored))
    assert isinstance(found, ca.Function)
    assert digest(found) == digest(function)


def test_small_functions_are_read_at_once():
    function = ca.Function("f", [ca.SX.sym("x")], [ca.SX(1.0)])
    found = unpacked(packed(function, {}), {})
    assert isinstance(found, ca.Function)
