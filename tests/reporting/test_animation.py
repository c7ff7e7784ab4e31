"""Animations as files: what is in them, and what is refused before anything is written."""

from __future__ import annotations

import itertools
import json
import math
import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.animation import FFMpegWriter
from PIL import Image

from daesolve.errors import ArchiveError, DaesolveError, OutOfRangeError, UnknownNameError
from daesolve.multibody.drawing import Arrow, Circle, Dot, Drawing, Line, Outline, Trace
from daesolve.reporting import AnimationError, MissingFfmpegError, animate
from daesolve.reporting.animation import FINENESS, _packed, player
from daesolve.reporting.figures import renderer

from .test_film import film, moving

EVERY = Drawing(
    [
        Line([(-1.0, 0.0), (1.0, 0.0)], role="ground", label="ground </script>"),
        Trace(("x", "y"), label="path"),
        Circle(("x", "y"), "radius", angle="t", spokes=3, label="wheel"),
        Outline([(0.0, 0.0), (0.2, 0.0), (0.0, 0.1)], ("x", "y"), "t", role="detail"),
        Line([(0.0, 0.0), ("x", "y")], role="accent"),
        Arrow(("x", "y"), ("x_dot", "y_dot")),
        Dot(("x", "y"), shown="y_dot", label="dot"),
    ]
)
SHORT = {"seconds": 0.4, "rate": 10.0}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.sources, self.scripts, self.inside = [], [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        self.inside = tag == "script"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)


def parsed(text):
    reader = Reader()
    reader.feed(text)
    data = json.loads(reader.scripts[0])
    return reader, data


def decoded(stored, count):
    """Return what the player draws of a shape, (count, channels), and where it is seen."""
    channels = np.zeros((count, len(stored["steps"])))
    for column, (order, *steps) in zip(channels.T, stored["steps"], strict=True):
        column[: len(steps)] = steps
        for _ in range(order):
            column[:] = np.cumsum(column)
    for place in range(2, channels.shape[1]):
        channels[:, place] += channels[:, place - 2]
    seen = np.zeros(count, dtype=bool)
    for change in stored["changes"]:
        seen[change:] = ~seen[change:]
    return channels, seen


@pytest.mark.slow
def test_a_gif_has_every_picture_and_plays_as_long_as_asked(tmp_path):
    file = tmp_path / "point.gif"
    seen = []
    shown = animate(
        moving(EVERY),
        file,
        seconds=0.5,
        rate=12.0,
        width=200,
        progress=lambda *now: seen.append(now),
    )
    with Image.open(file) as image:
        assert image.size[0] == 200
        assert image.n_frames == len(shown.pictures) == 6
        assert image.info["loop"] == 0
        durations = []
        for frame in range(image.n_frames):
            image.seek(frame)
            durations.append(image.info["duration"])
    assert sum(durations) == 500
    assert max(durations) - min(durations) <= 10
    assert seen == [(done, 6) for done in range(1, 7)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["point.gif"]


@pytest.mark.slow
def test_pictures_of_a_gif_differ_where_the_bodies_are(tmp_path):
    file = tmp_path / "point.gif"
    animate(moving(Drawing([Dot(("x", "y"))])), file, width=300, **SHORT)
    with Image.open(file) as image:
        pictures = []
        for frame in range(image.n_frames):
            image.seek(frame)
            pictures.append(np.asarray(image.convert("RGB"), dtype=int))
    for before, after in itertools.pairwise(pictures):
        assert np.abs(after - before).max() > 100


def test_a_page_holds_every_shape_of_every_picture(tmp_path):
    shown = animate(moving(EVERY), tmp_path / "point.html", **SHORT)
    reader, data = parsed((tmp_path / "point.html").read_text(encoding="utf-8"))
    assert reader.tags.count("script") == 4
    assert reader.sources == ["data:,"]
    count = data["count"]
    times = np.linspace(data["begin"], data["end"], count)
    np.testing.assert_allclose(times, [picture.time for picture in shown.pictures], rtol=1e-12)
    kinds = [look["kind"] for look in data["moving"]]
    assert kinds == ["circle", "outline", "line", "arrow", "dot"]
    assert data["order"] == [["trace", 0], *(["body", place] for place in range(5))]
    assert [entry["label"] for entry in data["legend"]] == [
        "ground </script>", "path", "wheel", "dot",
    ]  # fmt: skip
    for place, stored in enumerate(data["moving"], start=1):
        channels, seen = decoded(stored, count)
        assert seen.tolist() == [picture.bodies[place].shown for picture in shown.pictures]
        size = 2 * len(shown.pictures[0].bodies[place].points)
        exact = np.array([picture.bodies[place].points.ravel() for picture in shown.pictures])
        found = data["unit"] * channels[:, :size]
        np.testing.assert_allclose(found[seen], exact[seen], atol=0.51 * data["unit"])
    view = shown.pictures[0].view
    assert data["unit"] == pytest.approx(np.ptp(view[:, 0]) / FINENESS)


def test_a_page_holds_the_traces_and_when_they_come_to_each_vertex():
    shown = film(moving(EVERY), begin=1.0, end=3.0, seconds=0.4, rate=10.0)
    data = parsed(player(shown, lambda done, total: None))[1]
    clock = decoded({"steps": [data["clock"]], "changes": []}, data["vertices"])[0][:, 0]
    trace, seen = decoded(data["traces"][0], data["vertices"])
    assert seen.all()
    time = 1.0 + 1e-3 * clock * (3.0 - 1.0) / (data["count"] - 1)
    assert time[0] == pytest.approx(0.0, abs=1e-3)
    assert time[-1] == pytest.approx(3.0, abs=1e-3)
    exact = np.column_stack([np.cos(0.5 * time), np.sin(0.5 * time)])
    np.testing.assert_allclose(data["unit"] * trace, exact, atol=data["unit"] + 1e-3)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(
    arrays(
        float,
        st.tuples(st.integers(1, 30), st.integers(1, 3).map(lambda pairs: 2 * pairs)),
        elements=st.one_of(st.floats(-1e9, 1e9), st.just(math.nan)),
    )
)
def test_any_table_reads_back_to_its_rounded_values(table):
    channels, seen = decoded(_packed(table), len(table))
    assert seen.tolist() == np.isfinite(table).all(axis=1).tolist()
    np.testing.assert_array_equal(channels[seen], np.round(table[seen]))


def test_a_page_is_small_and_the_same_for_the_same_film():
    shown = film(moving(EVERY, count=1001))
    text = player(shown, lambda done, total: None)
    assert text == player(shown, lambda done, total: None)
    assert len(text) < 100 * len(shown.pictures) + 50_000


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="no ffmpeg here")
def test_a_film_is_an_mp4(tmp_path):
    animate(moving(EVERY), tmp_path / "point.mp4", width=200, **SHORT)
    assert b"ftyp" in (tmp_path / "point.mp4").read_bytes()[:16]


def test_without_ffmpeg_one_sentence_tells_what_adds_it(tmp_path, monkeypatch):
    monkeypatch.setattr(renderer, "find_spec", lambda name: None)
    with (
        mpl.rc_context({"animation.ffmpeg_path": str(tmp_path / "ffmpeg")}),
        pytest.raises(MissingFfmpegError) as caught,
    ):
        animate(moving(EVERY), tmp_path / "point.mp4")
    assert isinstance(caught.value, DaesolveError)
    assert "pip install imageio-ffmpeg" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_animation_that_is_there_is_replaced(tmp_path):
    file = tmp_path / "point.html"
    file.write_text("before", encoding="utf-8")
    animate(moving(EVERY), file, **SHORT)
    assert re.match("<!DOCTYPE html>", file.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_an_animation_that_is_broken_off_leaves_what_was_there(tmp_path):
    file = tmp_path / "point.gif"
    file.write_bytes(b"before")

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        animate(moving(EVERY), file, width=200, progress=stop, **SHORT)
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("name", "options", "kind", "sentence"),
    [
        ("a.avi", {}, UnknownNameError, "'.avi': choose a file ending in .html, .gif or .mp4"),
        ("a", {}, UnknownNameError, "''"),
        ("absent/a.gif", {}, AnimationError, "does not exist"),
        ("report.html", {}, AnimationError, "is the report of a run"),
        ("a.gif", {"width": 201}, OutOfRangeError, "must be even, from 200 to 3840"),
        ("a.gif", {"width": 100}, OutOfRangeError, "100 pixels"),
        ("a.gif", {"rate": 60.0}, OutOfRangeError, "at most 50 pictures per second, not 60"),
        ("a.gif", {"seconds": -1.0}, OutOfRangeError, "the playing time is -1 s"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(tmp_path, name, options, kind, sentence):
    with pytest.raises(kind) as caught:
        animate(moving(EVERY), tmp_path / name, **options)
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_run_is_reported(tmp_path):
    with pytest.raises(ArchiveError, match="contains no run"):
        animate(tmp_path / "absent", tmp_path / "a.gif")
