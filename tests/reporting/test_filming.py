"""A long run is shown from its beginning, which can be followed, and then as a whole."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.drawing import Dot, Drawing, Linear
from daesolve.reporting import animate, document, with_drawing
from daesolve.reporting.filming import filmed
from daesolve.reporting.opening import with_opening
from tests.reporting.conftest import IDENTITY, pendulum

from .test_film import DOT

PERIOD = 2.3679  # of a pendulum of 1 m from the horizontal, s: 4 K(1/2) / sqrt(9.81)
LONG = 20_000.0


@pytest.fixture(scope="module")
def long():
    return ds.solve(pendulum(), LONG, {"x": -1.0})


def is_a_beginning(films):
    first, whole = films
    assert first.followable
    assert not whole.followable
    assert first.pictures[0].time == whole.pictures[0].time == 0.0
    assert whole.pictures[-1].time == LONG
    # x turns twice in a period, y four times; twenty pictures a turn and more can be followed.
    assert PERIOD < first.pictures[-1].time < 20 * PERIOD
    assert first.notes[0].startswith("The beginning, t = 0 s to")
    step = first.pictures[1].time - first.pictures[0].time
    assert step < PERIOD / 10


@pytest.mark.slow
def test_a_long_run_begins_with_what_can_be_followed(long):
    is_a_beginning(filmed(long))


def test_the_beginning_is_that_of_the_closed_form(long):
    """The point stays on its circle between the samples, so the curve is true."""
    pictures = filmed(long)[0].pictures
    dots = [[b.points[0] for b in p.bodies if isinstance(b.shape, Dot)][-1] for p in pictures]
    radii = np.hypot(*np.array(dots).T)
    # A cubic between samples 24 to a turn: its error is that of h^4/384 times the fourth
    # derivative, below 1e-3 of the radius.
    assert np.abs(radii - 1.0).max() < 1e-3


@pytest.mark.long
def test_a_stored_run_shows_the_beginning_that_was_kept(tmp_path):
    ds.solve(pendulum(), LONG, {"x": -1.0}, store=tmp_path / "run")
    is_a_beginning(filmed(tmp_path / "run"))


def test_a_document_shows_its_opening(long):
    told = with_drawing(with_opening(document(long, IDENTITY), long), lambda _: DOT)
    is_a_beginning(filmed(told))


def test_series_of_a_drawing_s_own_are_made_anew_for_the_beginning(long):
    def rule(run):
        height = np.array(run["states"]["y"]) + 1.0
        return Drawing([Dot(("x", "height"))], series={"height": height})

    told = with_drawing(with_opening(document(long, IDENTITY), long), rule)
    is_a_beginning(filmed(told, drawing=rule))
    # Without the rule there is no more than the series of the samples.
    assert len(filmed(told)) == 1


@pytest.mark.slow
def test_close_samples_of_a_long_run_are_their_own_beginning(tmp_path):
    ds.solve(pendulum(), 2000.0, {"x": -1.0}, at=ds.every(0.05), store=tmp_path / "run")
    first, whole = filmed(tmp_path / "run")
    assert first.followable
    assert whole.pictures[-1].time == 2000.0


RIPPLE = 1e-5


def swing(end, frequency, ripple=0.0):
    """A point that goes to and fro on a line of 2 m, in as many samples as the motion needs."""
    times = np.linspace(0.0, end, 4001)
    x = np.cos(2.0 * np.pi * frequency * times)
    z = ripple * np.cos(40.0 * np.pi * frequency * times)
    states = {"x": x, "y": 0.5 * times / end, "z": z}
    return moving_columns(times, states)


def moving_columns(times, states):
    document = {
        "problem": "point", "case": None, "times": times.tolist(), "start_time": times[0],
        "until": times[-1], "states": {n: v.tolist() for n, v in states.items()},
        "reactions": {}, "outputs": {}, "events": [], "parameters": {}, "notes": [],
    }  # fmt: skip
    drawing = Drawing([Dot((Linear({"x": 1.0, "z": 1.0}), "y"))])
    return with_drawing(document, lambda _: drawing)


@pytest.mark.parametrize(("frequency", "pictures"), [(0.5, 250), (2.0, 250), (4.0, 500)])
def test_a_fast_motion_has_more_pictures(frequency, pictures):
    """10 s hold 20 f turns: up to 50 of them are followed in 250 pictures, up to 100 in 500."""
    (film,) = filmed(swing(10.0, frequency))
    assert film.followable
    assert len(film.pictures) == pytest.approx(pictures, rel=0.1)
    assert film.turns == pytest.approx(20.0 * frequency, abs=1)


def test_a_motion_that_is_too_fast_is_slowed_down_no_more_than_it_must_be():
    """100 turns can be followed; of 8 Hz these take 6.25 s of the run."""
    first, whole = filmed(swing(10.0, 8.0))
    assert not whole.followable
    assert first.followable
    assert 0.75 * 6.25 < first.pictures[-1].time <= 1.05 * 6.25


def test_what_is_too_small_to_be_seen_does_not_slow_a_film_down():
    """The ripple is 20 times faster and 1e-5 of the picture wide."""
    (film,) = filmed(swing(10.0, 0.5, ripple=RIPPLE))
    assert film.followable
    assert film.pictures[-1].time == 10.0


def test_pictures_a_period_apart_do_not_make_a_fast_motion_slow():
    """40 s in 251 pictures: at 6.25 Hz each picture has the point where the one before had it."""
    first, whole = filmed(swing(40.0, 6.25))
    assert whole.turns == pytest.approx(500, abs=2)
    assert not whole.followable
    assert first.followable
    assert first.turns == pytest.approx(12.5 * first.pictures[-1].time, abs=1)


def test_rounding_does_not_keep_a_film_from_being_joined():
    chance = np.random.default_rng(1)
    told = swing(10.0, 0.5)
    told["states"]["z"] = (1e-16 * chance.normal(size=len(told["times"]))).tolist()
    (film,) = filmed(told)
    assert film.joined


def test_a_rate_that_is_asked_for_is_kept():
    films = filmed(swing(10.0, 4.0), rate=25.0)
    assert all(len(film.pictures) == pytest.approx(250, rel=0.1) for film in films)


@pytest.mark.slow
def test_a_gif_has_25_pictures_a_second_by_default(tmp_path):
    shown = animate(swing(2.0, 2.0), tmp_path / "a.gif", seconds=1.0, width=200)
    assert len(shown.pictures) == pytest.approx(25, rel=0.1)


@pytest.mark.slow
def test_a_short_run_and_a_part_that_is_asked_for_are_one_film(run, long):
    assert len(filmed(run)) == 1
    assert len(filmed(long, begin=0.0, end=1000.0)) == 1


@pytest.mark.slow
def test_a_page_shows_the_beginning_first_and_the_whole_run_second(long, tmp_path):
    shown = animate(long, tmp_path / "a.html")
    assert shown.followable
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    tabs = re.findall(r'<button type="button" role="tab"[^>]*>(.*?)</button>', page)
    assert tabs == ["The beginning", "The whole run"]
    first, second = re.findall(r'(?:srcdoc|data-page)="([^"]*)"', page)
    assert "The beginning, t = 0 s" in unescape(first)
    assert '"end":20000.0' in unescape(second)


@pytest.mark.slow
def test_a_gif_shows_the_beginning(long, tmp_path):
    assert animate(long, tmp_path / "a.gif", seconds=0.5, rate=10.0).pictures[-1].time < LONG
