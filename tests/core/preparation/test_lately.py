"""What was prepared lately serves the same request, and no other."""

import gc
import math
import weakref
from dataclasses import fields, replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation import lately
from daesolve.core.preparation.request import Request
from tests.systems import pendulum

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


@pytest.fixture(autouse=True)
def _nothing_is_kept_from_another_test():
    lately.forget()


def test_the_same_request_of_a_system_is_prepared_once():
    system = pendulum()
    first = lately.prepare_once(system, REQUEST)
    second = lately.prepare_once(system, Request(1.0, initial={"x": 0.6}))
    assert second.problem is first.problem
    assert second.values is first.values
    assert second.compilation.cached
    assert second.compilation.seconds == 0.0


@pytest.mark.default_rows(4)
@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_another_request_is_prepared_for_itself(number):
    system = pendulum()
    first = lately.prepare_once(system, REQUEST)
    assert lately.prepare_once(system, OTHERS[number]).values is not first.values


def test_a_system_that_is_posed_anew_is_prepared_once():
    first = lately.prepare_once(pendulum(), REQUEST)
    assert lately.prepare_once(pendulum(), REQUEST).problem is first.problem


def test_a_system_that_differs_in_a_number_is_prepared_for_itself():
    first = lately.prepare_once(pendulum(), REQUEST)
    system = pendulum()
    heavier = replace(system, potential=2.0 * system.potential)
    assert lately.prepare_once(heavier, REQUEST).problem is not first.problem


def springs_of_one_force(stiffnesses):
    """Pose systems one after the other of the same mapping, which changes in between."""
    q, force = ds.coordinates(x="m"), {}
    for stiffness in stiffnesses:
        force["x"] = -stiffness * q.x
        yield ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=force)


def springs_of_one_matrix(stiffnesses):
    """The same of a matrix of masses."""
    q, mass = ds.coordinates(x="m"), ca.SX(1, 1)
    for stiffness in stiffnesses:
        mass[0, 0] = 1.0 / stiffness
        yield ds.MechanicalSystem(q, mass_matrix=mass, force={"x": -q.x})


def ends(systems):
    return [ds.solve(one, 1.0, {"x": 1.0}).end_state["x"] for one in systems]


@pytest.mark.parametrize("posed", [springs_of_one_force, springs_of_one_matrix])
def test_systems_of_what_changed_between_them_keep_their_own_equations(posed):
    exact = [math.cos(1.0), math.cos(2.0)]
    assert ends([*posed([1.0, 4.0])]) == pytest.approx(exact, abs=1e-13)
    lately.forget()
    assert ends(posed([1.0, 4.0])) == pytest.approx(exact, abs=1e-13)


def springs_of_one_mapping(stiffness):
    q = ds.coordinates(x="m")
    outputs = {"pull": (-stiffness * q.x, "N")}
    force = {"x": -stiffness * q.x}
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=force, outputs=outputs), outputs


def test_a_system_whose_mapping_changed_later_does_not_serve_another():
    first, outputs = springs_of_one_mapping(1.0)
    lately.prepare_once(first, Request(1.0, initial={"x": 1.0}))
    outputs["pull"] = (4.0 * first.coordinates.x, "N")
    second, _ = springs_of_one_mapping(1.0)
    assert lately.first_like(second) is second
    third, _ = springs_of_one_mapping(1.0)
    assert lately.first_like(third) is second


def test_a_system_keeps_the_forces_with_which_it_was_posed():
    q, force = ds.coordinates(x="m"), {}
    force["x"] = -q.x
    first = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force=force)
    lately.prepare_once(first, Request(1.0, initial={"x": 1.0}))
    force["x"] = -4.0 * q.x
    [second] = springs_of_one_force([1.0])
    assert lately.first_like(second) is first
    assert ends([first]) == pytest.approx([math.cos(1.0)], abs=1e-13)


def test_a_system_with_what_is_no_plain_data_is_its_own_alone():
    class Own(ds.MechanicalSystem):
        pass

    system = pendulum()
    own = Own(**{field.name: getattr(system, field.name) for field in fields(system)})
    assert lately.first_like(own) is own


@pytest.mark.slow
def test_what_is_kept_lets_go_of_systems():
    lately.forget()
    gone = weakref.ref(pendulum())
    lately.first_like(pendulum())
    lately.forget()
    gc.collect()
    assert gone() is None


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


@pytest.mark.slow
def test_no_more_are_kept_than_so_many():
    system = pendulum()
    for k in range(lately.MOST + 3):
        lately.prepare_once(system, Request(1.0, initial={"x": 0.1 + 0.01 * k}))
    assert len(lately._lately) == lately.MOST


@pytest.mark.parametrize("value", [{1: [2.0, (3.0,)]}, np.arange(3.0), ds.Dop853(), None, "a"])
def test_a_key_is_equal_for_equal_values(value):
    assert lately.frozen(value) == lately.frozen(value)
    assert hash(lately.frozen(value)) == hash(lately.frozen(value))


def test_what_only_looks_alike_has_another_key():
    values = [[4.0], (4.0,), np.array([4.0]), {0: 4.0}, [(0, 4.0)], ((0, 4.0),), 4.0, 4]
    assert len({lately.frozen(value) for value in values}) == len(values)
