"""A function that is kept as text is read when it is needed, and then is the same function."""

import pickle

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions import plain_data
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.plain_data import StoredFunction, packed, unpacked
from daesolve.core.expressions.program import digest

from .test_program import every_operation

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
