"""A run directory is data: nothing that it names is executed unless the caller gives the file."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import NotResumableError, OutOfRangeError, PluginError
from daesolve.plugins.stored_problem import in_need_of_source, posed_again, sources_of
from daesolve.reporting import ReportError, animate, problems_given, rebuild

PLUGIN = """
import pathlib

import daesolve as ds

pathlib.Path(__file__).with_suffix(".ran").touch()


def build():
    q, p = ds.coordinates(x="m"), ds.parameters(stiffness=(4.0, "N/m"))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2)


problem = ds.Problem(
    name="mine",
    title="a mass on a spring",
    models={"linear": build},
    cases=[ds.Case("swing", until=0.2, start={"x": 0.5})],
    sources=["Hooke 1678"],
    drawing=lambda run: ds.drawing.Drawing([ds.drawing.Dot(("x", 0.0))]),
)
"""


class Place:
    """A run of a problem in a file; `ran` tells whether the file was executed since."""

    def __init__(self, folder):
        self.file, self.run = folder / "mine.py", folder / "run"

    def store(self):
        self.file.write_text(PLUGIN, encoding="utf-8")
        ds.problem(str(self.file)).case().solve(at=[0.0, 0.1, 0.2], store=self.run)
        assert self.ran()
        return self

    def ran(self):
        mark = self.file.with_suffix(".ran")
        found = mark.exists()
        mark.unlink(missing_ok=True)
        return found


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("original")).store()


@pytest.fixture
def place(original, tmp_path):
    """A copy of the run, which names the file of the original."""
    shutil.copytree(original.run, tmp_path / "run")
    original.ran()
    here = Place(tmp_path)
    here.file = original.file
    return here


def typed(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.slow
def test_reading_a_run_executes_nothing(place):
    run = ds.Trajectory.from_run(place.run)
    assert run["x"][0] == 0.5
    ds.citation(run)
    with pytest.raises(NotResumableError, match=r"daesolve resume .*run --source .*mine\.py"):
        ds.resume(place.run, until=0.4)
    with pytest.raises(ReportError, match=r"daesolve animate .*run --source .*mine\.py"):
        animate(place.run, place.run / "a.html")
    assert "--source" in rebuild([place.run]).read_text(encoding="utf-8")
    assert not place.ran()


def test_the_papers_of_a_run_are_data(place, capsys):
    ds.citation(ds.Trajectory.from_run(place.run))
    assert "Hooke 1678" in capsys.readouterr().out
    assert not place.ran()
    assert list(sources_of(None)) == []


@pytest.mark.slow
def test_commands_execute_nothing_and_say_which_command_does(place):
    for words, status in (("report", 0), ("animate", 2), ("resume", 2)):
        found = typed(words, place.run)
        assert found.exit_code == status
        assert f"--source {place.file}" in found.stderr
        assert found.stderr.count("\n") == 1
    assert not place.ran()


@pytest.mark.long
def test_a_file_that_is_given_is_run_and_the_command_says_so(place):
    for words in (["report"], ["animate", "--quiet"], ["resume", "--until", "0.4", "--quiet"]):
        found = typed(*words, place.run, "--source", place.file)
        assert found.exit_code == 0, found.stderr
        assert (
            found.stderr == f"daesolve: running {place.file}, the file that defines the problem\n"
        )
        assert place.ran()
    assert ds.resume(place.run, until=0.6, source=place.file).end_time == 0.6


@pytest.mark.slow
def test_a_file_serves_wherever_it_stands_now(place, tmp_path):
    moved = shutil.copy(place.file, tmp_path / "moved.py")
    assert ds.resume(place.run, until=0.4, source=moved).end_time == 0.4
    page = rebuild([place.run], problems_given([moved])).read_text(encoding="utf-8")
    assert f"daesolve run {moved}" in page


def test_a_file_that_is_another_by_now_is_not_run(place, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(PLUGIN.replace("4.0", "5.0"), encoding="utf-8")
    for words in ("report", "animate", "resume"):
        found = typed(words, place.run, "--source", other)
        assert found.exit_code == 2
        assert "has changed since the run began" in found.stderr
        assert not other.with_suffix(".ran").exists()
    with pytest.raises(NotResumableError, match="has changed since"):
        ds.resume(place.run, until=0.4, source=other)
    assert not other.with_suffix(".ran").exists()


@pytest.mark.slow_rows("path")
@pytest.mark.parametrize("key", ["path", "problem"])
def test_a_manifest_that_names_another_file_executes_nothing(place, tmp_path, key):
    evil = tmp_path / "evil.py"
    evil.write_text(PLUGIN, encoding="utf-8")
    file = place.run / "manifest.json"
    manifest = json.loads(file.read_text())
    for named in (manifest["source"], manifest["identity"]):
        named["path"] = str(evil) if key == "path" else None
        named["problem"] = "mine" if key == "path" else str(evil)
    file.write_text(json.dumps(manifest))
    for words in ("report", "animate", "resume"):
        assert typed(words, place.run).exit_code in (0, 2)
    assert not evil.with_suffix(".ran").exists()


def test_an_installed_problem_needs_no_file(tmp_path):
    ds.problem("pendulum").case().solve(0.1, at=[0.0, 0.1], store=tmp_path / "run")
    assert ds.resume(tmp_path / "run", until=0.2).end_time == 0.2
    with pytest.raises(OutOfRangeError, match="installed problem 'pendulum': leave"):
        posed_again({"problem": "pendulum", "path": None}, tmp_path / "mine.py")


def test_a_run_without_the_digest_of_its_file_is_not_compared_with_one(place):
    with pytest.raises(PluginError, match="did not store the digest"):
        posed_again({"problem": "mine", "path": "mine.py"}, place.file)


@pytest.mark.slow
def test_no_link_in_a_run_directory_is_followed_when_a_report_is_written(place, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("years of work")
    (place.run / ".report.html.partial").symlink_to(precious)
    (place.run / ".report.json.partial").symlink_to(precious)
    rebuild([place.run])
    assert precious.read_text() == "years of work"


@pytest.mark.parametrize("path", ["a.py", "a.xml", "A.URDF", "a.mjcf"])
def test_only_python_files_are_said_to_be_executed(path):
    named = {"problem": "one", "path": path, "digest": "0"}
    told = in_need_of_source(named, "daesolve report DIR")
    with pytest.raises(PluginError) as refused:
        posed_again(named)
    executed = path.endswith(".py")
    assert ("execute" in told, "execute" in str(refused.value)) == (executed, executed)
    assert ("reads a file" in told, "is read only" in str(refused.value)) == (
        not executed, not executed,
    )  # fmt: skip
