"""What was prepared lately serves the same request, and no other."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.preparation import lately
from daesolve.preparation.request import Request

from ..systems import pendulum

REQUEST = Request(1.0, initial={"x": 0.6})
OTHERS = [
    Request(2.0, initial={"x": 0.6}),
    Request(1.0, initial={"x": 0.5}),
    Request(1.0, guess={"x": 0.6}),
    Request(1.0, initial={"x": 0.6}, parameters={"mass": 2.0}),
    Request(1.0, initial={"x": 0.6}, solver=ds.Dop853()),
    Request(1.0, initial={"x": 0.6}, solver=ds.Dop853(rtol=1e-7)),
    Request(1.0, initial={"x": 0.6}, formulation=ds.Feedback(rates={"energy": None})),
]


def test_the_same_request_of_a_system_is_prepared_once():
    system = pendulum()
    first = lately.prepare_once(system, REQUEST)
    second = lately.prepare_once(system, Request(1.0, initial={"x": 0.6}))
    assert second.problem is first.problem
    assert second.values is first.values
    assert second.compilation.cached
    assert second.compilation.seconds == 0.0


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_another_request_is_prepared_for_itself(number):
    system = pendulum()
    first = lately.prepare_once(system, REQUEST)
    assert lately.prepare_once(system, OTHERS[number]).values is not first.values


def test_a_system_that_is_posed_anew_is_prepared_anew():
    first = lately.prepare_once(pendulum(), REQUEST)
    assert lately.prepare_once(pendulum(), REQUEST).system is not first.system


def test_the_second_run_is_the_first_in_every_bit():
    system = pendulum()
    lately.forget()
    first, second = (ds.solve(system, 3.0, {"x": 0.6}, at=ds.every(0.1)) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in ("x", "y", "x_dot", "y_dot"))
    assert first.description["notes"] == second.description["notes"]


def test_what_is_equal_to_another_type_is_not_taken_for_it():
    system = pendulum()
    lately.prepare_once(system, Request(1.0, initial={"x": 1.0}))
    with pytest.raises(ds.DaesolveError):
        lately.prepare_once(system, Request(1.0, initial={"x": True}))


def test_no_more_are_kept_than_so_many():
    system = pendulum()
    for k in range(lately.MOST + 3):
        lately.prepare_once(system, Request(1.0, initial={"x": 0.1 + 0.01 * k}))
    assert len(lately._lately) == lately.MOST


@pytest.mark.parametrize("value", [{1: [2.0, (3.0,)]}, np.arange(3.0), ds.Dop853(), None, "a"])
def test_a_key_is_equal_for_equal_values(value):
    assert lately.frozen(value) == lately.frozen(value)
    assert hash(lately.frozen(value)) == hash(lately.frozen(value))
