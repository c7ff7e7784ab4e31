"""Painleve's rod as a problem: jams, no motion, two motions, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.contacts import painleve_rod

import daesolve as ds
from daesolve.multibody.drawing import evaluate, from_json
from daesolve.reporting import document, with_drawing
from tests.contact.decisions.cases import agrees, case, cases

ROD = painleve_rod.problem


def test_the_angles_of_the_paradox_are_those_of_the_reference():
    for known in cases("painleve_region"):
        first, last = painleve_rod.paradox_angles(known["params"]["mu"])
        assert agrees(first, known["values"]["phi1"])
        assert agrees(last, known["values"]["phi2"])
    assert painleve_rod.paradox_angles(4.0 / 3.0 - 1e-9) is None


@pytest.mark.slow
def test_the_jam_is_that_of_the_reference():
    known = case("dynamic_jam")["values"]
    run = ROD.case("jam").solve()
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "jam"
    assert agrees(run.end_time, known["t_jam"])
    found = ROD.analyses["jam"](ROD.case("jam")).values
    assert agrees(found["angle"], known["phi_jam"], 12)
    assert found["slip_before"] == pytest.approx(known["slip_at_jam"]["value"], rel=1e-10)
    assert found["impulses"][0] == pytest.approx(known["jam_impulse_LN"]["value"], rel=1e-10)
    assert found["share_of_friction"] == pytest.approx(1.0, abs=1e-8)
    assert found["off_closed_form"] <= 1e-8


def test_no_motion_goes_on_with_the_impulse_of_the_closed_form():
    with pytest.raises(ds.errors.NoMotion):
        ROD.case("no-motion").solve()
    known = case("impact_without_collision")["values"]
    found = ROD.analyses["jam"](ROD.case("no-motion")).values
    assert found["off_closed_form"] <= 1e-14
    assert agrees(-found["lost_energy"], known["dE_compression"])


def test_two_motions_are_refused_or_the_sliding_one_is_kept():
    with pytest.raises(ds.errors.AmbiguousMotion):
        ROD.case("ambiguous").solve()
    run = ROD.case("ambiguous").solve(on_ambiguous="keep", until=0.01)
    assert not run.events


@pytest.mark.parametrize("name", ["opens", "away"])
def test_other_cases_run_to_their_end(name):
    run = ROD.case(name).solve()
    assert run.outcome is ds.Outcome.COMPLETED
    assert not ROD.analyses["jam"](ROD.case(name)).values["jams"]
    if name == "opens":
        assert run.events[0].name == "tip_lost"
        first, _ = painleve_rod.paradox_angles(1.45)
        assert run.events[0].detail["angle"] < first


@pytest.mark.parametrize("friction", [1.45, 1.48, 1.51])
def test_a_rod_whose_reaction_falls_to_zero_at_the_border_of_the_paradox_opens(friction):
    """Below 8 / (3 sqrt 3) a rod that comes to the border opens: beyond it, it would seem to slide.

    There the reaction and what it is divided by have changed their signs together.
    """
    assert friction < 8 / (3 * math.sqrt(3))
    numbers = {"half_length": 0.25, "friction": friction}
    start = {"angle": 0.557, "rate": 4.67, "slip": -5.3}
    run = ROD.case("jam").changed(numbers).starting(start).solve(until=0.2)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    (lost,) = run.events
    assert lost.name == "tip_lost"
    first, _ = painleve_rod.paradox_angles(friction)
    assert lost.detail["angle"] <= first + 1e-9


@pytest.mark.slow_rows("away")
@pytest.mark.parametrize("name", ["jam", "away"])
def test_cases_have_their_pictures(name):
    bound = ROD.case(name)
    run = bound.solve(until=0.05, at=np.linspace(0.0, 0.05, 5))
    told = document(run, bound.identity())
    drawn = from_json(with_drawing(told, ROD.drawing)["drawing"])
    series = {**run.states, **drawn.series}
    series = {key: np.array(values, dtype=float) for key, values in series.items()}
    for index in range(len(run.times)):
        placed = evaluate(drawn, series, bound.full_parameters, index)
        (rod,) = [entry for entry in placed if entry.shape.label == "rod"]
        assert math.dist(*rod.points) == pytest.approx(1.0, abs=1e-12)
        assert rod.points[0][1] == pytest.approx(0.0, abs=1e-12)
    for figure in ROD.figures.values():
        assert figure(told).axes
