"""Films: which times they show, what is interpolated, and where the camera looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daesolve.errors import OutOfRangeError
from daesolve.multibody.drawing import Camera, Circle, Dot, Drawing, Line, Polar, Trace
from daesolve.reporting import ReportError, with_drawing
from daesolve.reporting.excerpt import Playing, from_document
from daesolve.reporting.film import film as film_of

RADIUS = 0.1
TURN = math.pi / 5


def moving(drawing, count=101, end=4.0, **states):
    """A point that goes round a circle while a sawtooth, as of an angle, jumps."""
    times = np.linspace(0.0, end, count)
    angle = 0.5 * times
    columns = {
        "x": np.cos(angle),
        "y": np.sin(angle),
        "x_dot": -0.5 * np.sin(angle),
        "y_dot": 0.5 * np.cos(angle),
        "saw": (angle + TURN) % (2 * TURN) - TURN,
        **states,
    }
    document = {
        "problem": "point",
        "case": None,
        "times": times.tolist(),
        "start_time": times[0],
        "until": times[-1],
        "states": {name: column.tolist() for name, column in columns.items()},
        "reactions": {},
        "outputs": {},
        "events": [],
        "parameters": {"radius": RADIUS},
        "notes": [],
    }
    return with_drawing(document, drawing if callable(drawing) else lambda _: drawing)


DOT = Drawing([Dot(("x", "y")), Trace(("x", "y"))])


def film(document, **options):
    return film_of(from_document(document, Playing(**options)))


def places(shown, shape=0):
    return np.array([picture.bodies[shape].points[-1] for picture in shown.pictures])


def test_pictures_are_at_samples_where_these_are_dense_and_even():
    document = moving(DOT, count=1001)
    shown = film(document)
    assert len(shown.pictures) == shown.at_samples == 251
    assert {picture.time for picture in shown.pictures} <= set(document["times"])
    assert shown.seconds == pytest.approx(10.0, rel=1e-12)
    assert shown.notes == ["Each of the 251 pictures shows a sample of the run."]


def test_between_samples_the_motion_is_interpolated_and_this_is_reported():
    """Cubic in h = 0.04 s, so that the error is at most h^4 / 384 of the fourth derivative."""
    shown = film(moving(DOT), seconds=3.0, rate=50.0)
    times = np.array([picture.time for picture in shown.pictures])
    exact = np.column_stack([np.cos(0.5 * times), np.sin(0.5 * times)])
    bound = 0.04**4 / 384 * 0.5**4
    np.testing.assert_allclose(places(shown), exact, atol=bound + 1e-15)
    [note] = shown.notes
    assert "for drawing only" in note
    assert f"{shown.at_samples} of 150 pictures" in note


def test_samples_too_far_apart_are_held():
    document = moving(DOT, count=12)
    shown = film(document, seconds=2.0)
    assert not shown.joined
    samples = np.column_stack([document["states"][name] for name in "xy"])
    for place in places(shown):
        assert np.min(np.abs(samples - place).max(axis=1)) == 0.0
    assert "too far apart" in shown.notes[0]


def test_a_drawing_brings_the_quantity_that_goes_on_where_a_state_jumps():
    """The sawtooth is wrong between its jumps; the drawing's own angle turns evenly."""

    def own(document):
        times = np.array(document["times"])
        arm = Polar((0.0, 0.0), 1.0, "turn")
        rate = np.full_like(times, 0.5)
        return Drawing([Dot(arm)], series={"turn": 0.5 * times, "turn_dot": rate})

    shown = film(moving(own), seconds=3.0, rate=50.0)
    times = np.array([picture.time for picture in shown.pictures])
    exact = np.column_stack([np.cos(0.5 * times), np.sin(0.5 * times)])
    np.testing.assert_allclose(places(shown), exact, atol=1e-14)


def test_a_series_of_the_wrong_length_costs_a_note():
    document = moving(Drawing([Dot(("turn", 0.0))], series={"turn": [0.0, 1.0]}))
    assert "drawing" not in document
    assert "'turn' has 2 values for 101 times" in document["notes"][-1]


def test_a_trace_begins_with_the_run_also_where_the_film_begins_later():
    shown = film(moving(DOT), begin=2.0, end=3.0, seconds=1.0)
    first, last = shown.pictures[0].bodies[1].points, shown.pictures[-1].bodies[1].points
    assert first[0].tolist() == last[0].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(first[-1], [math.cos(1.0), math.sin(1.0)], atol=1e-15)
    assert (shown.pictures[0].time, shown.pictures[-1].time) == (2.0, 3.0)


def test_a_camera_follows_bodies_that_are_small_on_their_way():
    wheel = Drawing([Circle(("x", "y"), "radius")], camera=Camera(("x", "y"), 3 * RADIUS))
    shown = film(moving(wheel, end=12.0), seconds=2.0)
    assert shown.follows
    for picture in shown.pictures:
        np.testing.assert_allclose(picture.view.mean(axis=0), picture.bodies[0].points[0])
        np.testing.assert_allclose(np.ptp(picture.view, axis=0), 3 * RADIUS)


@pytest.mark.parametrize(("size", "follows"), [(1e-3, True), (0.3, False)])
def test_without_a_camera_tiny_bodies_are_followed(size, follows):
    wheel = Drawing([Circle(("x", "y"), size), Line([(-1.0, 0.0), (1.0, 0.0)], role="ground")])
    shown = film(moving(wheel, end=12.0), seconds=2.0)
    assert shown.follows == follows
    views = [picture.view.tolist() for picture in shown.pictures]
    assert (len(set(map(str, views))) > 1) == follows
    assert [entry.shape.role for entry in shown.surroundings] == ["ground"]


def test_everything_is_within_a_view_that_does_not_follow():
    for picture in film(moving(DOT), seconds=1.0).pictures:
        assert np.all(picture.bodies[0].points >= picture.view[0])
        assert np.all(picture.bodies[0].points <= picture.view[1])


def test_the_camera_stays_where_a_place_is_unknown():
    document = moving(Drawing([Dot(("x", "y"))], camera=Camera(("x", "y"), 0.1)), end=12.0)
    document["states"]["x"][40:60] = [None] * 20
    shown = film(document, seconds=4.0)
    views = np.array([picture.view for picture in shown.pictures])
    assert shown.follows
    assert np.isfinite(views).all()


def test_turns_too_fast_to_be_seen_are_reported():
    fast = Drawing([Circle((0.0, 0.0), 1.0, angle="t", spokes=3)])
    assert film(moving(fast, count=1001, end=100.0)).turn == pytest.approx(0.4, rel=1e-9)
    shown = film(moving(fast, count=1001, end=1000.0))
    assert shown.turn == pytest.approx(4.0, rel=1e-9)
    assert "turns by up to 4 rad" in shown.notes[-1]


def test_the_speed_of_playing_is_reported():
    assert film(moving(DOT, count=1001), seconds=4.0).speed == "real time"
    assert film(moving(DOT, count=1001), seconds=8.0).speed == "0.5 × real time"


def test_a_run_backwards_is_shown_from_its_start():
    document = moving(DOT)
    document |= {"start_time": 4.0, "until": 0.0}
    shown = film(document, seconds=1.0)
    times = [picture.time for picture in shown.pictures]
    assert times == sorted(times, reverse=True)
    exact = [[math.cos(0.5 * time), math.sin(0.5 * time)] for time in times]
    np.testing.assert_allclose(places(shown), exact, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.floats(0.2, 3.0), st.floats(5.0, 60.0), st.floats(0.0, 1.9), st.floats(2.0, 4.0))
def test_any_part_is_shown_at_even_times_for_as_long_as_asked(seconds, rate, begin, end):
    shown = film(moving(DOT), seconds=seconds, rate=rate, begin=begin, end=end)
    times = np.array([picture.time for picture in shown.pictures])
    assert begin - 1e-12 <= times[0] <= times[-1] <= end + 1e-12
    np.testing.assert_allclose(np.diff(times), times[1] - times[0], rtol=1e-6)
    assert shown.seconds == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seconds": 0.0}, "the playing time is 0 s, but must be > 0"),
        ({"seconds": math.nan}, "the playing time is nan s"),
        ({"seconds": 1e9}, "<= 600"),
        ({"rate": -1.0}, "the number of pictures per second is -1"),
        ({"begin": -1.0}, "the beginning of the time shown is -1 s, but the samples"),
        ({"end": 5.0}, "the end of the time shown is 5 s, but the samples"),
        ({"begin": 3.0, "end": 2.0}, "nothing to show from 3 to 2 s"),
        ({"begin": 2.0, "end": 2.0}, "nothing to show"),
    ],
)
def test_numbers_that_cannot_be_are_refused(options, sentence):
    with pytest.raises(OutOfRangeError) as caught:
        film(moving(DOT), **options)
    assert sentence in str(caught.value)


def test_there_is_no_film_without_a_drawing_or_samples():
    document = moving(DOT)
    bare = {key: value for key, value in document.items() if key != "drawing"}
    with pytest.raises(ReportError, match="the run of point has no drawing"):
        film(bare)
    short = {**document, "times": [0.0], "states": {n: [0.0] for n in document["states"]}}
    with pytest.raises(ReportError, match="fewer than two samples"):
        film(short)
