"""What the report tells of contacts: strips over time, and a table of impacts."""

from __future__ import annotations

import itertools

import pytest

import daesolve as ds
from daesolve.reporting import document
from daesolve.reporting.contacts import (
    BACKWARD,
    CLOSED,
    FORWARD,
    OPEN,
    STICKS,
    contact_names,
    impact_lines,
    stretches,
)
from daesolve.reporting.html import page
from tests.rubbing import times_of


def told(name, case=None, **options):
    bound = ds.problem(name).case(case)
    run = bound.solve(**options)
    return run, document(run, bound.identity())


@pytest.mark.slow
def test_strips_change_at_the_instants_of_events_and_cover_the_whole_run():
    run, found = told("block", "tips")
    strips = stretches(found)
    assert contact_names(found) == ["rear", "front"]
    for foot, parts in strips.items():
        assert parts[0].begin == 0.0
        assert parts[-1].end == run.end_time
        assert all(a.end == b.begin for a, b in itertools.pairwise(parts))
        changed = {part.begin for part in parts[1:]}
        assert changed <= set(times_of(run, *(f"{foot}_{w}" for w in ("sticks", "lost", "closed"))))
    front = [part.state for part in strips["front"]]
    assert front[:3] == [FORWARD, STICKS, OPEN]
    assert front[-1] == STICKS
    stuck = times_of(run, "front_sticks")[0]
    assert strips["front"][0].end == stuck


@pytest.mark.slow
def test_a_contact_that_another_holds_sticks_as_well():
    """Both feet of a block on a table that shakes stick together."""
    _, found = told("block", "shaken", until=0.4)
    states = {foot: [part.state for part in parts] for foot, parts in stretches(found).items()}
    assert states["rear"] == states["front"]
    assert {STICKS, FORWARD, BACKWARD} <= set(states["rear"])


@pytest.mark.slow
def test_smooth_contacts_are_closed_or_open():
    _, found = told("newtons-cradle", "at-once")
    states = {part.state for parts in stretches(found).values() for part in parts}
    assert states == {CLOSED, OPEN}


@pytest.mark.long
def test_the_table_of_impacts_has_their_impulses_and_what_they_took():
    run, found = told("thrown-rod", "thrown", until=1.0)
    lines = impact_lines(found, 20)
    impacts = [event for event in run.events if event.impact is not None]
    assert [line.time for line in lines] == [event.time for event in impacts]
    for line, event in zip(lines, impacts, strict=True):
        assert line.contacts == event.name[0]
        assert dict(line.impulses)[event.name[0]] == event.impact.impulses[event.name[0]]
        lost = event.impact.kinetic_before - event.impact.kinetic_after
        assert line.lost == (lost, lost / event.impact.kinetic_before)
    text = page([found])
    assert 'id="contacts"' in text
    assert "by the law newton" in text
    assert len(impact_lines(found, 2)) == 2


@pytest.mark.slow
def test_a_foot_that_an_impact_throws_open_is_not_among_those_met():
    _, found = told("block", "tips")
    assert [line.contacts for line in impact_lines(found, 4)] == ["rear", "front", "rear", "front"]


def test_impacts_of_several_contacts_at_an_instant_are_one_line():
    _, found = told("newtons-cradle", "both-sides")
    (line,) = impact_lines(found, 20)
    assert line.contacts == "between_1_2, between_2_3"
    assert found["impact"] == "sequential"


@pytest.mark.slow
@pytest.mark.parametrize("until", [0.3, -0.3])
def test_a_run_without_contacts_has_no_strips(until):
    run = ds.problem("pendulum").case().solve(until=until)
    found = document(run, {})
    assert stretches(found) == {}
    assert 'id="contacts"' not in page([found])
