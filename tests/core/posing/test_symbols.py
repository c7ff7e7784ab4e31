"""Named symbols: every wrong name or number is reported, with its own error type."""

from __future__ import annotations

import math

import casadi as ca
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daesolve as ds
from daesolve.core.posing.symbols import velocity_name
from daesolve.errors import OutOfRangeError, PosingError, UnknownNameError

stems = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=7)
indices = st.lists(st.integers(0, 99), max_size=3)


@given(stems, indices)
def test_the_velocity_of_an_indexed_coordinate_keeps_its_index_last(stem, numbers):
    tail = "".join(f"_{number}" for number in numbers)
    assert velocity_name(stem + tail) == f"{stem}_dot{tail}"


@pytest.mark.slow
@given(st.sets(st.tuples(stems, st.integers(0, 9)), min_size=2, max_size=8))
def test_velocities_of_different_coordinates_have_different_names(pairs):
    names = [f"{stem}_{number}" for stem, number in pairs]
    assert len({velocity_name(name) for name in names}) == len(names)


@pytest.mark.core
def test_a_coordinate_and_its_velocity_are_reached_by_name_and_in_order():
    q = ds.coordinates(x="m", theta=ds.ANGLE)
    assert list(q) == ["x", "theta"]
    assert q.rates.names == ("x_dot", "theta_dot")
    assert q.rates.units == ("m/s", "rad/s")
    assert ca.is_equal(q.dot.x, q.rates["x_dot"])
    assert ca.is_equal(q.dot.vector[1], q.dot["theta"])
    assert q.angles == {"theta"}


def test_two_declarations_with_the_same_names_are_different_symbols():
    assert not ca.is_equal(ds.coordinates(x="m").x, ds.coordinates(x="m").x)


@pytest.mark.core
@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda: ds.coordinates(length="m").lenght, "coordinate 'lenght'"),
        (lambda: ds.coordinates(length="m").dot.lenght, "coordinate 'lenght'"),
        (lambda: ds.parameters(length=1.0)["lenght"], "parameter 'lenght'"),
        (lambda: ds.reactions(length="N").lenght, "reaction 'lenght'"),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest_known_one(ask, kind):
    with pytest.raises(UnknownNameError, match=f"unknown {kind}: did you mean 'length'"):
        ask()


def test_unknown_names_are_attribute_and_lookup_errors_too():
    q = ds.coordinates(x="m")
    assert not hasattr(q, "y")
    with pytest.raises(LookupError):
        q["y"]


@pytest.mark.parametrize("name", ["2x", "x y", "", "x-1"])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(PosingError, match="is not a valid identifier"):
        ds.coordinates(**{name: "m"})


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_positive_parameter_takes_finite_positive_numbers_and_nothing_else(value):
    p = ds.parameters(mass=(1.0, "kg", ds.POSITIVE))
    if math.isfinite(value) and value > 0:
        assert p.values({"mass": value}) == {"mass": value}
    else:
        with pytest.raises(OutOfRangeError, match="parameter 'mass'"):
            p.values({"mass": value})


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(-20, 20))
def test_an_interval_holds_its_ends_unless_open(low, high, value):
    inside = low <= value <= high
    assert (value in ds.Interval(low, high)) == inside
    assert (value in ds.Interval(low, high, open_low=True)) == (inside and value != low)


def test_a_default_outside_its_interval_is_refused_when_declared():
    with pytest.raises(OutOfRangeError, match="'mass' is -1"):
        ds.parameters(mass=(-1.0, "kg", ds.POSITIVE))


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_a_parameter_that_is_no_number_is_refused(value):
    with pytest.raises(OutOfRangeError, match="must be a number"):
        ds.parameters(mass=1.0).check("mass", value)


def test_a_parameter_may_be_any_numpy_number():
    import numpy as np

    for kind in (np.float64, np.float32, np.int64):
        assert ds.parameters(mass=1.0).check("mass", kind(2)) == 2.0
