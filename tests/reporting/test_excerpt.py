"""Excerpts: which samples and events of a long run an animation reads."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.core.results.trajectory.samples import Samples
from daesolve.multibody.drawing import Dot, Drawing, Trace
from daesolve.reporting import ReportError, animate, with_drawing
from daesolve.reporting.excerpt import MOST_ELSE, MOST_EVENTS, MOST_SHOWN, Playing, from_run
from daesolve.reporting.film import film

DRAWING = Drawing([Trace(("x", "y")), Dot(("x", "y"))])
IDENTITY = {"problem": "pendulum", "case": "release"}


@pytest.fixture(scope="module")
def short():
    """A pendulum, of which the trajectories below keep everything but the samples."""
    return ds.problem("pendulum").case("release").solve(0.2, at=[0.0, 0.2])


def long(short, count, end, *, events=(), backwards=False):
    """A trajectory of a point that goes round a circle, once in two pi seconds."""
    times = np.linspace(0.0, end, count)
    states = {
        "x": np.cos(times),
        "y": np.sin(times),
        "x_dot": -np.sin(times),
        "y_dot": np.cos(times),
    }
    samples = Samples(times, states, {}, {"energy": np.ones(count)}, events)
    told = {"start_time": end, "until": 0.0} if backwards else {"start_time": 0.0, "until": end}
    return replace(short, samples=samples, description={**short.description, **told})


def shown(run, **options):
    part = from_run(run, IDENTITY, Playing(**options))
    return part, film(replace(part, document=with_drawing(dict(part.document), lambda _: DRAWING)))


def places(made):
    return np.array([picture.bodies[1].points[0] for picture in made.pictures])


@pytest.mark.parametrize("backwards", [False, True])
def test_of_many_samples_few_are_read_and_the_pictures_are_exact(short, backwards):
    """The samples are h apart, and a cubic misses h^4 / 384 of the fourth derivative."""
    count, end = 1_000_001, 1e4
    begin, until = (5003.0, 5000.7) if backwards else (5000.7, 5003.0)
    run = long(short, count, end, backwards=backwards)
    part, made = shown(run, begin=begin, end=until, seconds=2.0)
    times = np.array([picture.time for picture in made.pictures])
    assert len(part.document["times"]) < MOST_ELSE + 1000
    assert (times[0], times[-1]) == (begin, until)
    exact = np.column_stack([np.cos(times), np.sin(times)])
    bound = (end / (count - 1)) ** 4 / 384 + 1e4 * 2.0**-52
    np.testing.assert_allclose(places(made), exact, atol=bound)
    assert made.joined
    assert made.smooth
    # What lies before is too sparse to be joined, so no trace begins there.
    assert made.clock[0] * (until - begin) / (len(times) - 1) == pytest.approx(
        -1.0 if not backwards else 1.0, abs=0.1
    )


def test_more_samples_than_can_be_drawn_are_shown_where_the_pictures_are(short):
    run = long(short, 2_000_001, 1e5)
    part, made = shown(run, seconds=1.0)
    assert part.thinned
    assert len(part.document["times"]) < MOST_SHOWN + MOST_ELSE + 1000
    assert not made.joined
    assert "too many samples" in made.notes[0]
    assert "Show a shorter part" in made.notes[0]
    known = run.times[np.searchsorted(run.times, [p.time for p in made.pictures], "right") - 1]
    np.testing.assert_array_equal(places(made), np.column_stack([np.cos(known), np.sin(known)]))


def test_a_slow_motion_of_many_samples_is_joined(short):
    part, made = shown(long(short, 1_000_001, 40.0), seconds=1.0)
    assert part.thinned
    assert made.joined


def test_the_events_of_what_is_shown_are_marked(short):
    events = [EventRecord(time, "knock", {}) for time in (0.5, 1.0, 2.0, 3.0)]
    run = long(short, 401, 4.0, events=events)
    _, made = shown(run, begin=1.0, end=2.5, seconds=1.0)
    assert [mark.time for mark in made.marks] == [1.0, 2.0]
    last = len(made.pictures) - 1
    assert [mark.place for mark in made.marks] == pytest.approx([0.0, last / 1.5])


def test_of_too_many_events_the_last_before_each_picture_is_kept(short):
    events = [EventRecord(time, "knock", {}) for time in np.linspace(0.0, 4.0, 3 * MOST_EVENTS)]
    _, made = shown(long(short, 401, 4.0, events=events), seconds=1.0)
    found = [math.ceil(mark.place) for mark in made.marks]
    assert found == list(range(len(made.pictures)))
    for mark in made.marks[1:]:
        step = 4.0 / (len(made.pictures) - 1)
        assert 0.0 <= math.ceil(mark.place) * step - mark.time < 4.0 / (3 * MOST_EVENTS - 1)


def test_a_run_on_disk_is_shown_as_the_same_run_in_memory(tmp_path):
    case = ds.problem("pendulum").case("release")
    kept = case.solve(2.0, store=tmp_path / "run")
    made = animate(tmp_path / "run", tmp_path / "run.html", seconds=1.0)
    whole = from_run(case.solve(2.0), IDENTITY, Playing(seconds=1.0))
    assert [picture.time for picture in made.pictures] == whole.times.tolist()
    rows = np.searchsorted(kept.times, whole.times)
    bob = np.array([picture.bodies[-1].points[0] for picture in made.pictures])
    np.testing.assert_array_equal(bob, np.column_stack([kept["x"], kept["y"]])[rows])


def test_a_run_of_no_problem_is_drawn_by_its_points_or_a_rule_for_its_drawing(tmp_path):
    q = ds.coordinates(theta=ds.ANGLE)
    ds.solve(ds.MechanicalSystem(q, kinetic=q.dot.theta**2), 1.0, {}, store=tmp_path / "turning")
    with pytest.raises(ReportError, match="has no drawing"):
        animate(tmp_path / "turning", tmp_path / "a.html")
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"))
    energy = p.mass * (q.dot.x**2 + q.dot.y**2) / 2
    free = ds.MechanicalSystem(q, p, kinetic=energy, potential=0 * q.x, goals=[])
    ds.solve(free, 1.0, initial={"x_dot": 1.0}, store=tmp_path / "run")
    made = animate(tmp_path / "run", tmp_path / "a.html", seconds=0.5)
    assert made.pictures[-1].bodies[-1].points[0] == pytest.approx([1.0, 0.0])
    animate(tmp_path / "run", tmp_path / "a.html", seconds=0.5, drawing=lambda _: DRAWING)
    with pytest.raises(ReportError, match=r"there is no picture of the scene: .*nothing"):
        animate(
            tmp_path / "run", tmp_path / "b.html", drawing=lambda _: Drawing([Dot(("nothing", 0))])
        )


def test_a_run_of_one_sample_cannot_be_shown(short):
    with pytest.raises(ReportError, match="fewer than two samples"):
        from_run(long(short, 1, 0.0), IDENTITY, Playing())
