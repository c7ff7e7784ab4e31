"""Model files as problems: their cases, starts and drawings, and runs of them on disk."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import MissingPackageError, ModelFileError, NotResumableError

pytest.importorskip("mujoco")

ROD = """<mujoco><compiler angle="radian"/><option density="1"/><worldbody>
<geom name="floor" type="plane" size="0 0 1" pos="0 0 -2"/>
<body name="rod">
  <joint name="pin" axis="0 1 0" stiffness="0.1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02"/>
  <body name="ball" pos="0 0 -1"><joint name="ball" type="ball"/><geom size="0.1" pos="0 0 -0.2"/>
  </body>
</body></worldbody>
<actuator><motor name="push" joint="pin"/></actuator>
<keyframe><key name="wound" qpos="9 1 0 0 0" qvel="0.5 0 0 0" ctrl="0.7"/></keyframe></mujoco>"""


@pytest.fixture
def rod(tmp_path):
    path = tmp_path / "rod.xml"
    path.write_text(ROD)
    return path


def invoked(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.slow
def test_cases_are_the_placement_of_the_file_and_its_keyframes(rod):
    problem = ds.problem(str(rod))
    assert [case.name for case in problem.cases] == ["default", "wound"]
    run = problem.case("wound").solve(0.01)
    assert run["pin_angle"][0] == pytest.approx(9.0, abs=1e-14)
    assert run["pin_rate"][0] == pytest.approx(0.5, abs=1e-14)
    assert run["push"][0] == 0.7


@pytest.mark.slow
def test_start_values_of_joints_start_a_run(rod):
    run = ds.problem(str(rod)).case().solve(0.01, {"pin_angle": -4.0, "ball_w2": 1.5})
    assert run["pin_angle"][0] == pytest.approx(-4.0, abs=1e-14)
    assert run["ball_w2"][0] == pytest.approx(1.5, abs=1e-14)


@pytest.mark.slow
def test_a_run_of_a_file_is_stored_and_gone_on_with_only_by_the_same_file(rod, tmp_path):
    case, place = ds.problem(str(rod)).case("wound", contacts="none"), tmp_path / "run"
    case.solve(0.5, store=place)
    whole = case.solve(1.0)
    with pytest.raises(NotResumableError, match="--source"):
        ds.resume(place, 1.0)
    run = ds.resume(place, 1.0, source=rod)
    # The extended run has a boundary at 0.5 s, at which the integrator starts anew.
    assert run.end_state == pytest.approx(whole.end_state, rel=1e-11, abs=1e-11)
    assert any("left out of the file: the fluid" in note for note in run.description["notes"])
    rod.write_text(ROD.replace('stiffness="0.1"', 'stiffness="0.2"'))
    with pytest.raises(NotResumableError, match="has changed since"):
        ds.resume(place, 2.0, source=rod)


@pytest.mark.slow
def test_a_change_of_an_included_file_is_noticed(rod, tmp_path):
    part, whole = tmp_path / "part.xml", tmp_path / "whole.xml"
    part.write_text(ROD)
    whole.write_text('<mujoco><include file="part.xml"/></mujoco>')
    before = ds.problem(str(whole)).digest
    part.write_text(ROD + " ")
    assert ds.problem(str(whole)).digest != before


@pytest.mark.slow
def test_the_drawing_has_the_geoms_where_the_bodies_are(rod):
    problem = ds.problem(str(rod))
    run = problem.case().solve(1.0, {"pin_angle": 0.5}, at=np.linspace(0, 1, 5))
    document = {"states": {name: run[name] for name in run.end_state}, "parameters": {}}
    drawing = problem.drawing(document)
    circles = [shape for shape in drawing.shapes if type(shape).__name__ == "Circle"]
    assert sorted(circle.radius for circle in circles) == [0.02, 0.02, 0.1]
    placed = ds.drawing.evaluate(
        drawing, {n: np.array(c) for n, c in drawing.series.items()}, {}, 2
    )
    assert all(np.isfinite(entry.points).all() for entry in placed)
    # The end of the rod is at (-sin a, 0, -cos a), and seen with the vertical upright.
    angle = run["pin_angle"][2]
    ends = [entry.points[0] for entry in placed if entry.radius == 0.02]
    eye = np.array([0.3, -1.0, 0.25]) / np.linalg.norm([0.3, -1.0, 0.25])
    across = np.cross([0, 0, 1], eye) / np.linalg.norm(np.cross([0, 0, 1], eye))
    tip = np.array([-np.sin(angle), 0.0, -np.cos(angle)])
    expected = [across @ tip, np.cross(eye, across) @ tip]
    assert min(np.abs(end - expected).max() for end in ends) < 1e-12


@pytest.mark.long
def test_commands_take_a_model_file(rod, tmp_path):
    place = tmp_path / "run"
    asked = ["run", rod, "--case", "wound", "--until", "0.5", "--input", "push=sin(t)"]
    found = invoked(*asked, "--initial", "pin_angle=1", "--out", place, "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["outcome"] == "completed"
    assert any("left out of the file: the fluid" in note for note in document["notes"])
    shown = invoked("show", rod)
    assert "left out of the file" in shown.stdout
    assert "pin_angle" in shown.stdout
    assert invoked("report", place, "--source", rod).exit_code == 0
    assert "<svg" in (place / "report.html").read_text()
    page = invoked("animate", place, "--source", rod, "--quiet")
    assert page.exit_code == 0, page.output
    answered = invoked("analyse", rod, "rank", "--json")
    assert answered.exit_code == 0, answered.output


@pytest.mark.long
def test_a_sweep_of_a_model_file_runs(rod, tmp_path):
    asked = ["sweep", rod, "--over", "pin_angle=0.1,0.2", "--until", "0.2", "--out", tmp_path / "s"]
    found = invoked(*asked, "--quiet")
    assert found.exit_code == 0, found.output


def test_a_file_that_is_none_ends_in_a_sentence_and_a_status(tmp_path):
    found = invoked("run", tmp_path / "absent.xml")
    assert found.exit_code == 2
    assert "the model file" in found.output
    assert "does not exist" in found.output
    assert "Traceback" not in found.output


def test_without_mujoco_a_sentence_names_the_command_that_adds_it(rod, monkeypatch, tmp_path):
    (tmp_path / "mujoco.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(MissingPackageError, match=r"pip install 'daesolve\[import\]'"):
        ds.multibody.read(rod)
    with pytest.raises(ModelFileError):
        ds.multibody.read(tmp_path / "absent.xml")
