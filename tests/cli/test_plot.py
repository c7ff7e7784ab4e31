"""`daesolve plot`: from the directory of a run to figures."""

from __future__ import annotations

import pytest

import daesolve as ds

from .test_commands import call

BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A pendulum that was run for two seconds."""
    directory = tmp_path_factory.mktemp("runs") / "pendulum"
    ds.problem("pendulum").case("release").solve(2.0, store=directory)
    return directory


def written(told):
    return [line.removeprefix("figure: ") for line in told.stdout.splitlines()]


@pytest.mark.slow
def test_states_are_drawn_into_the_run_s_own_directory_by_default(run):
    files = written(call("plot", run))
    assert files[0] == str(run / "figures" / "states.png")
    assert all((run / "figures" / file).is_file() for file in files)


@pytest.mark.slow
def test_a_figure_is_named_after_the_series_in_it(run):
    assert written(call("plot", run, "x", "rod", "--format", "svg"))[0].endswith("/x-rod.svg")
    assert written(call("plot", run, "--drift", "--format", "PDF"))[0].endswith("/drift.pdf")


@pytest.mark.slow
@pytest.mark.parametrize("kind", BEGINS)
def test_a_file_is_of_the_kind_that_its_suffix_or_the_format_names(run, tmp_path, kind):
    for words in (["x", "--out", tmp_path / f"a{kind}"], ["x", "--to", tmp_path / f"a{kind}"]):
        (file,) = written(call("plot", run, *words))
        assert (tmp_path / f"a{kind}").read_bytes().startswith(BEGINS[kind])
    (file,) = written(call("plot", run, "x", "--out", tmp_path / "b", "--format", kind[1:]))
    assert file == str(tmp_path / f"b{kind}")


@pytest.mark.slow
def test_the_figure_is_that_of_python(run, tmp_path):
    call("plot", run, "x", "--out", tmp_path / "command.png")
    ds.Trajectory.from_run(run).plot("x").save(tmp_path / "python.png")
    assert (tmp_path / "command.png").read_bytes() == (tmp_path / "python.png").read_bytes()


@pytest.mark.slow
def test_a_wrong_request_ends_with_status_2_and_one_sentence(run, tmp_path):
    for words, sentence in (
        ([tmp_path / "absent"], "contains no run"),
        ([run, "z"], "unknown state, reaction or output 'z'"),
        ([run, "t"], "unknown state, reaction or output 't'"),
        ([run, "x", "--drift"], "--drift draws the residuals of all goals"),
        ([run, "--format", "gif"], "choose a file ending in .png, .svg, .pdf"),
        ([run, "--out", tmp_path / "a.gif"], "choose a file ending in .png, .svg, .pdf"),
        ([run, "--out", tmp_path / "a.pdf", "--format", "png"], "give only one of them"),
        ([run, "--out", tmp_path / "absent" / "a.png"], "does not exist"),
    ):
        refused = call("plot", *words, code=2)
        assert sentence in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
