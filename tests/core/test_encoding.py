"""Numbers and words come back from strict JSON as they were."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve import errors
from daesolve.core.results.storage import decode, encode
from tests.core.results.storage.parts import identical

doubles = st.floats(width=64)
words = st.text() | st.sampled_from(["nan", "inf", "-inf", "\\nan", "\\\\-inf"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | doubles | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(derandomize=True, max_examples=100, deadline=None)
@given(values)
def test_values_come_back_from_strict_json_bit_for_bit(value):
    text = json.dumps(encode(value), allow_nan=False)
    assert identical(decode(json.loads(text)), value)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.array([[1.5, np.nan], [-np.inf, -0.0]]), [[1.5, "nan"], ["-inf", -0.0]]),
        (np.float64(0.1), 0.1),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.array(math.inf), "inf"),
        (np.array([True, False]), [True, False]),
        (np.array(["a", "nan"]), ["a", "\\nan"]),
        ((np.int64(3), range(2)), [3, [0, 1]]),
        ({"turns": np.arange(2), "none": None}, {"turns": [0, 1], "none": None}),
        (np.zeros((0, 3)), []),
    ],
)
def test_arrays_scalars_and_tuples_become_lists_and_numbers(value, stored):
    assert identical(encode(value), stored)


@pytest.mark.parametrize(
    "value", [1j, {1.0}, b"abc", object(), {1: 2}, [np.array([1j])], np.longdouble(1)]
)
def test_what_json_cannot_hold_is_refused_with_its_type(value):
    with pytest.raises(errors.ArchiveError, match="cannot be stored"):
        encode(value)
