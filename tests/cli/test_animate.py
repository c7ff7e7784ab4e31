"""`daesolve animate`: from the directory of a run to a file."""

from __future__ import annotations

import pytest

import daesolve as ds

from .test_commands import call


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A pendulum that was run for two seconds."""
    directory = tmp_path_factory.mktemp("runs") / "pendulum"
    ds.problem("pendulum").case("release").solve(2.0, store=directory)
    return directory


def test_a_page_is_the_default(run, tmp_path):
    told = call("animate", run, "--seconds", 1)
    assert (run / "animation.html").is_file()
    assert "26 pictures in 1 s, t = 0 to 2 s, 2 × real time" in told.stdout
    call("animate", run, "--seconds", 1, "--to", tmp_path / "swing", "--quiet")
    assert (tmp_path / "swing.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_a_part_of_the_run_as_a_gif(run, tmp_path):
    file = tmp_path / "swing.gif"
    told = call(
        "animate", run, "--to", file, "--seconds", 0.5, "--fps", 8, "--from", 0.5, "--until", 1.5,
        "--width", 200,
    )  # fmt: skip
    assert file.read_bytes()[:6] == b"GIF89a"
    assert "4 pictures in 0.5 s, t = 0.5 to 1.5 s" in told.stdout
    assert "for drawing only" in told.stdout
    assert told.stderr == ""


def test_quiet_says_nothing(run, tmp_path):
    told = call("animate", run, "--to", tmp_path / "a.html", "--seconds", 1, "--quiet")
    assert told.output == ""


def test_a_wrong_request_ends_with_status_2_and_one_sentence(run, tmp_path):
    (tmp_path / "empty").mkdir()
    bare = tmp_path / "bare"
    q = ds.coordinates(theta=ds.ANGLE)  # no points that could be drawn
    wheel = ds.MechanicalSystem(q, kinetic=q.dot.theta**2 / 2)
    ds.solve(wheel, 0.1, {"theta_dot": 1.0}, at=[0.0, 0.1], store=bare)
    for words, sentence in (
        ([tmp_path / "absent"], "contains no run"),
        ([tmp_path / "empty"], "contains no run"),
        ([bare], "has no drawing"),
        ([run, "--to", tmp_path / "a.avi"], "choose a file ending in .html, .gif or .mp4"),
        ([run, "--from", 1.5, "--until", 1], "nothing to show"),
        ([run, "--seconds", 0], "playing time"),
    ):
        refused = call("animate", *words, code=2)
        assert sentence in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
        assert refused.stdout == ""
