"""Formulations and solvers of installed packages: those of the guide to extending."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.core.preparation import extensions
from daesolve.core.preparation.naming import formulation_of, solver_of
from daesolve.errors import NotResumableError, PluginError, UnknownNameError, UnsupportedError
from tests.systems import pendulum

PAGE = Path(__file__).parents[3] / "docs/how-to/extend.md"
RELEASE = {"x": -1.0}
BROKEN = {
    "away": ("daesolve.formulations", "not_here:Gone", "ModuleNotFoundError"),
    "number": ("daesolve.formulations", "math:pi", "must give a class that inherits from"),
    "other": ("daesolve.formulations", "my_methods:TwoGains", "whose name is 'two-gains'"),
    "gone": ("daesolve.solvers", "not_here:Gone", "ModuleNotFoundError"),
    "taylor": ("daesolve.solvers", "my_methods:RungeKutta", "choose another"),
}
KILLED = """
import os, signal, sys
import daesolve as ds

def progress(time, monitor, events):
    if time >= 6.0:
        os.kill(os.getpid(), signal.SIGKILL)

ds.problem("pendulum").case().solve(
    8.0, formulation="two-gains", solver="runge-kutta", at=ds.every(0.1), store=sys.argv[1],
    progress=progress,
)
"""


def install(folder, broken=()):
    """Write what `pip install` leaves of the distribution of the guide."""
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    classes = "\n".join(block.partition("\nq = ds.coordinates")[0] for block in blocks)
    (folder / "my_methods.py").write_text(classes, encoding="utf-8")
    points = next(b for b in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "two-gains" in b)
    points = points.replace("project.entry-points.", "").replace('"', "")
    for name in broken:
        group, value, _ = BROKEN[name]
        points = points.replace(f"[{group}]", f"[{group}]\n{name} = {value}")
    about = folder / "my_methods-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-methods\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(points)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("my_methods", None)


@pytest.mark.slow
def test_both_are_found_by_name_and_integrate(installed):
    install(installed)
    assert type(formulation_of("two-gains")).__name__ == "TwoGains"
    assert solver_of("runge-kutta").step == 0.01
    run = ds.solve(pendulum(), 2.0, RELEASE, formulation="two-gains", solver="runge-kutta")
    exact = ds.solve(pendulum(), 2.0, RELEASE)
    assert run.description["formulation"] == "two-gains"
    assert run["x"][-1] == pytest.approx(exact["x"][-1], abs=1e-6)
    wrapped = ds.solve(pendulum(), 2.0, RELEASE, formulation="projected:two-gains")
    assert wrapped.drift["rod"].max_relative < 1e-13
    compared = ds.compare(pendulum(), ["two-gains"], ["runge-kutta"], 1.0, RELEASE)
    assert compared.runs[0].error < 1e-6


@pytest.mark.slow
def test_names_and_refusals_list_them(installed):
    install(installed)
    with pytest.raises(UnknownNameError, match="did you mean 'two-gains'"):
        formulation_of("two-gain")
    with pytest.raises(UnknownNameError, match="did you mean 'runge-kutta'"):
        solver_of("runge-kuta")
    with pytest.raises(UnsupportedError, match=r"'two-gains' with .*runge-kutta, or 'idas'"):
        ds.solve(pendulum(), 1.0, RELEASE, formulation="two-gains", solver="idas")
    told = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    assert "two-gains" in told["formulations"]
    entry = next(entry for entry in told["solvers"] if entry["name"] == "runge-kutta")
    assert (entry["package"], entry["version"], entry["usable"]) == ("my-methods", "0.1", True)


def test_a_broken_one_is_named_and_does_not_take_the_others_down(installed):
    install(installed, BROKEN)
    known, broken = extensions.formulations()
    assert "two-gains" in known
    _, others = extensions.solvers()
    reasons = {plugin.name: plugin.reason for plugin in (*broken, *others)}
    assert reasons.keys() == BROKEN.keys()
    for name, (_, _, words) in BROKEN.items():
        assert words in reasons[name]
    with pytest.raises(PluginError, match="the plugin 'away'"):
        formulation_of("away")
    assert solver_of("taylor") == ds.Taylor()
    output = CliRunner().invoke(app, ["doctor"]).output
    assert "broken: the plugin 'away'" in output
    assert "two-gains" in output
    usable = {row.split()[0]: row.split()[1] for row in output.splitlines() if row.strip()}
    assert (usable["gone"], usable["runge-kutta"], usable["taylor"]) == ("broken", "yes", "yes")
    listed = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)["solvers"]
    assert [entry["name"] for entry in listed if not entry["usable"] and not entry["install"]] == [
        "gone"
    ]


@pytest.mark.long
def test_a_run_by_the_command_line_is_stored_killed_and_resumed_with_the_same_bits(tmp_path):
    install(tmp_path)
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths}

    def run(*words):
        return subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
        )

    methods = ["--formulation", "two-gains", "--solver", "runge-kutta"]
    whole = run(
        *["-m", "daesolve", "run", "pendulum", "--until", "8", "--every", "0.1", *methods],
        *["--out", str(tmp_path / "whole")],
    )
    assert whole.returncode == 0, whole.stderr
    assert run("-c", KILLED, str(tmp_path / "killed")).returncode == -9
    resumed = run("-m", "daesolve", "resume", str(tmp_path / "killed"))
    assert resumed.returncode == 0, resumed.stderr
    one, other = (ds.Trajectory.from_run(tmp_path / name) for name in ("whole", "killed"))
    assert one.times[-1] == 8.0
    for name in one.states:
        assert np.array_equal(one.states[name], other.states[name])
    assert one.drift == other.drift
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text())
    request = manifest["request"]
    assert request["formulation"] == {"name": "two-gains", "settings": {"a": 10.0, "b": 10.0}}
    assert request["solver"] == {"name": "runge-kutta", "settings": {"step": 0.01}}


def test_without_the_package_a_run_is_not_resumed_and_says_what_to_do(installed, monkeypatch):
    install(installed)
    place = installed / "run"
    chosen = {"formulation": "two-gains", "solver": "runge-kutta"}
    case = ds.problem("pendulum").case()
    case.solve(1.0, store=place, **chosen)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(installed)])
    with pytest.raises(
        NotResumableError, match=r"'two-gains' of the run is not available .*: install"
    ):
        ds.resume(place, 2.0)


def test_a_sweep_with_them_is_gone_on_with(installed, tmp_path):
    install(installed)
    case, over = ds.problem("pendulum").case(), {"gravity": [9.0, 9.8]}
    chosen = {"formulation": "two-gains", "solver": "runge-kutta"}
    ds.sweep(case, over, out=tmp_path / "sweep", until=0.2, workers=0, **chosen)
    found = ds.ensembles.resume_sweep(tmp_path / "sweep", workers=0)
    assert found.member(1)["gravity"] == 9.8
