"""What contacts cannot do is refused, with the reason."""

from __future__ import annotations

import pytest

import daesolve as ds
from daesolve.errors import (
    InconsistentStateError,
    OutOfRangeError,
    PosingError,
    UnsupportedError,
)
from tests.contact_systems import ball, beam


def test_formulations_that_cannot_let_go_say_so():
    refusing = ds.NullSpace(), ds.Projected(ds.NullSpace()), ds.Overdetermined(), ds.Viscous(1e-6)
    for formulation in refusing:
        with pytest.raises(UnsupportedError, match="cannot release constraints such as 'floor'"):
            ds.solve(ball(), until=1.0, initial={"y": 0.0}, formulation=formulation)


def test_what_follows_the_gap_is_given_by_name():
    q = ds.coordinates(y="m")
    for kind in (ds.Contact, ds.Holonomic):
        with pytest.raises(TypeError, match="positional arguments"):
            kind("floor", q.y, 0.5)


def test_a_start_below_the_floor_is_refused():
    with pytest.raises(InconsistentStateError, match=r"the contact 'floor', whose gap is -0\.1: "):
        ds.solve(ball(closed=False), until=1.0, initial={"y": -0.1})


def test_a_start_above_the_floor_of_a_closed_contact_is_answered_by_how_it_opens():
    with pytest.raises(InconsistentStateError, match="'floor' is closed at the start") as error:
        ds.solve(ball(), until=1.0, initial={"y": 0.5})
    given = {"contact_floor": 0.0}
    assert str(given) in str(error.value)
    run = ds.solve(ball(), until=1.0, initial={"y": 0.5}, parameters=given)
    assert run.events[0].name == "floor_closed"


def test_a_contact_is_open_or_closed():
    with pytest.raises(OutOfRangeError, match="must be 1"):
        ds.solve(ball(), until=1.0, initial={"y": 0.0}, parameters={"contact_floor": 0.5})


def test_rolling_on_one_of_several_contacts_is_refused():
    q = ds.coordinates(x="m", y="m")
    goals = [
        ds.Contact("floor", q.y),
        ds.Contact("wall", q.x),
        ds.Nonholonomic("sticking", q.dot.x, held_by="contact_floor"),
    ]
    with pytest.raises(UnsupportedError, match="the only contact"):
        ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=goals)


def test_what_asks_for_constraints_that_always_hold_refuses_contacts():
    with pytest.raises(PosingError, match="is released at times"):
        ds.nonholonomic.growth_vector(beam(), {"y": 0.0, "angle": 0.0})
    with pytest.raises(PosingError, match="is released at times"):
        ds.nonholonomic.eliminate(beam(), ["y"])


def test_a_name_that_a_contact_takes_is_taken():
    q, d = ds.coordinates(y="m"), ds.discrete(contact_floor=0.0)
    with pytest.raises(
        PosingError, match="two discrete values have the same name, 'contact_floor'"
    ):
        ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, goals=[ds.Contact("floor", q.y)], discrete=d)


def test_a_contact_brings_its_own_reaction():
    q = ds.coordinates(y="m")
    with pytest.raises(PosingError, match="must be ideal"):
        ds.Contact("floor", q.y, ideal=False)
    with pytest.raises(PosingError, match="cannot be held by"):
        ds.Holonomic("floor", q.y, ideal=False, held_by="on")
