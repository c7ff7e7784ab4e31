"""Animations as files: what is in them, and what is refused before anything is written."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from PIL import Image

from daesolve.drawing import Arrow, Circle, Dot, Drawing, Line, Outline, Trace
from daesolve.errors import DaesolveError, OutOfRangeError, UnknownNameError
from daesolve.reporting import AnimationError, MissingFfmpegError, animate, animation, write
from daesolve.reporting.document import ReportError
from daesolve.reporting.film import film
from daesolve.reporting.player import FINENESS, player

from .test_film import moving

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


def rebuilt(data, place, number):
    """Return the points that the player draws of a shape, in the drawing's own units."""
    numbers = np.reshape(data["frames"][place][number][: 2 * 4], (-1, 2))
    return data["unit"] * np.cumsum(numbers, axis=0)


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
    assert reader.tags.count("script") == 2
    assert reader.sources == []
    assert data["times"] == [picture.time for picture in shown.pictures]
    kinds = [look["kind"] for look in data["moving"]]
    assert kinds == ["trace", "circle", "outline", "line", "arrow", "dot"]
    assert [entry["label"] for entry in data["legend"]] == [
        "ground </script>", "path", "wheel", "dot",
    ]  # fmt: skip
    for place, picture in enumerate(shown.pictures):
        for number in (2, 3, 4):
            exact = picture.bodies[number].points
            np.testing.assert_allclose(
                rebuilt(data, place, number), exact, atol=0.51 * data["unit"]
            )
        assert data["frames"][place][0] == len(picture.bodies[0].points)
        assert (data["frames"][place][5] is None) == (not picture.bodies[5].shown)
    view = shown.pictures[0].view
    assert data["unit"] == pytest.approx(np.ptp(view[:, 0]) / FINENESS)


def test_a_page_is_small_and_the_same_for_the_same_film():
    shown = film(moving(EVERY, count=1001))
    text = player(shown, lambda done, total: None)
    assert text == player(shown, lambda done, total: None)
    assert len(text) < 150 * len(shown.pictures) + 40_000


@pytest.mark.skipif(shutil.which("node") is None, reason="no node to read the script with")
def test_the_script_of_a_page_is_one(tmp_path):
    import subprocess

    text = player(film(moving(EVERY), **SHORT), lambda done, total: None)
    script = tmp_path / "player.js"
    script.write_text(parsed(text)[0].scripts[1], encoding="utf-8")
    subprocess.run(["node", "--check", str(script)], check=True, capture_output=True)


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="no ffmpeg here")
def test_a_film_is_an_mp4(tmp_path):
    animate(moving(EVERY), tmp_path / "point.mp4", width=200, **SHORT)
    assert b"ftyp" in (tmp_path / "point.mp4").read_bytes()[:16]


def test_without_ffmpeg_one_sentence_tells_what_adds_it(tmp_path, monkeypatch):
    monkeypatch.setattr(animation, "find_spec", lambda name: None)
    with (
        mpl.rc_context({"animation.ffmpeg_path": str(tmp_path / "ffmpeg")}),
        pytest.raises(MissingFfmpegError) as caught,
    ):
        animate(moving(EVERY), tmp_path / "point.mp4")
    assert isinstance(caught.value, DaesolveError)
    assert "pip install imageio-ffmpeg" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_a_directory_holds_is_animated(tmp_path, told):
    run = tmp_path / "run"
    write(run, moving(EVERY) | {k: v for k, v in told.items() if k not in moving(EVERY)})
    shown = animate(run, tmp_path / "run.html", **SHORT)
    assert len(shown.pictures) == 4
    assert (tmp_path / "run.html").is_file()


def test_an_animation_that_is_there_is_replaced(tmp_path):
    file = tmp_path / "point.html"
    file.write_text("before", encoding="utf-8")
    animate(moving(EVERY), file, **SHORT)
    assert re.match("<!DOCTYPE html>", file.read_text(encoding="utf-8"))


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
        ("a.avi", {}, UnknownNameError, "'.avi': name a file .html, .gif or .mp4"),
        ("a", {}, UnknownNameError, "''"),
        ("absent/a.gif", {}, AnimationError, "there is no directory"),
        ("report.html", {}, AnimationError, "is the report of a run"),
        ("a.gif", {"width": 201}, OutOfRangeError, "must be even, from 200 to 3840"),
        ("a.gif", {"width": 100}, OutOfRangeError, "100 pixels"),
        ("a.gif", {"rate": 60.0}, OutOfRangeError, "at most 50 pictures a second, not 60"),
        ("a.gif", {"seconds": -1.0}, OutOfRangeError, "the time of playing is -1 s"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(tmp_path, name, options, kind, sentence):
    with pytest.raises(kind) as caught:
        animate(moving(EVERY), tmp_path / name, **options)
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_run_is_told(tmp_path):
    with pytest.raises(ReportError, match="there is no directory"):
        animate(tmp_path / "absent", tmp_path / "a.gif")
