"""The same file by daesolve and by MuJoCo: what agrees, what gapes, what is refused."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from daesolve.cli.app import app
from daesolve.errors import OutOfRangeError, UnknownNameError
from daesolve.multibody.referee import refereed
from tests.benchmarks.programs import ROOT

from .models import LINKAGE, PENDULUM

pytest.importorskip("mujoco")
LOOPS = ("connect", "weld", "joint", "redundant")


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "model.xml"
        path.write_text(text)
        return path

    return written


@pytest.mark.slow
@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_mujoco_comes_nearer_to_a_tree_by_the_order_of_its_method(file, damping):
    found = refereed(
        file(PENDULUM.format(damping=damping)), 1.0, initial={"pin_angle": 2.0}, samples=20
    )
    verdict = found.verdict
    assert verdict.conserved == (damping == 0.0)
    distances = [one.distances[-1] for one in verdict.divergences]
    # Runge-Kutta's method of order 4; dampers do not change that.
    assert np.log2(distances[0] / distances[1]) == pytest.approx(4.0, abs=0.5)
    assert np.log2(distances[1] / distances[2]) == pytest.approx(4.0, abs=0.5)
    assert [one.leaves(1e-3) for one in verdict.divergences] == [None] * 3
    assert verdict.own.gap is None
    assert verdict.own.drift <= 1e-14
    # The start and its state are the same on both sides, to rounding.
    start = found.own.motion.positions[0] - found.others[0].motion.positions[0]
    assert np.abs(start).max() <= 1e-16


@pytest.mark.slow
def test_deprecated_words_of_a_file_are_no_matter_of_the_referee(file):
    text = PENDULUM.format(damping=0.0)
    text = text.replace("<worldbody>", '<compiler settotalmass="2"/><worldbody>', 1)
    found = refereed(file(text), 0.1, initial={"pin_angle": 2.0}, halvings=0, samples=5)
    assert found.verdict.divergences[0].distances[-1] <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_both_measure_the_same_energy_and_closed_loops_at_the_start(loop):
    file = ROOT / "benchmarks" / "referee" / f"{loop}.xml"
    found = refereed(file, 0.2, halvings=0, samples=10)
    own, other = found.own.motion, found.others[0].motion
    assert own.energy[0] == pytest.approx(other.energy[0], abs=1e-14 * own.kinetic + 1e-14)
    assert np.abs(own.positions[0] - other.positions[0]).max() <= 1e-15
    assert own.gaps.max() <= 1e-14
    assert other.gaps[0].max() <= 1e-14
    assert other.gaps[1:].max() >= 1e-7  # soft, as MuJoCo's equalities are


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_equalities_as_hard_as_they_go_come_nearer_to_daesolve_with_the_step(loop):
    """Their time constant is two steps: gaps fall with the square of the step, motions with it."""
    file = ROOT / "benchmarks" / "referee" / f"{loop}.xml"
    found = refereed(file, 0.2, hard=True, samples=10).verdict
    distances = [one.distances[-1] for one in found.divergences]
    assert distances[2] < 0.7 * distances[0]
    gaps = [one.motion.gaps[-1].max() for one in found.others]
    assert gaps[2] < gaps[0] / 4.0


@pytest.mark.long
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_stay_closed_and_keep_their_energy_for_a_thousand_seconds(loop):
    """The largest residual over every accepted step, joints of the tree included."""
    file = ROOT / "benchmarks" / "referee" / f"{loop}.xml"
    found = refereed(file, 1000.0, step=0.1, halvings=0, samples=100)
    run, verdict = found.own.trajectory, found.verdict
    assert run.outcome.name == "COMPLETED", run.message
    assert max(size for size, _ in verdict.goals.values()) <= 1e-13
    assert max(size for size in (verdict.own.gap, verdict.own.turn) if size is not None) <= 1e-13
    assert run.drift["energy"].max_relative <= 1e-12


@pytest.mark.slow
def test_a_motion_of_mujoco_that_breaks_down_is_reported_and_compared_as_far_as_it_went(
    file, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = PENDULUM.format(damping=0.0).replace("<joint", '<joint stiffness="1e6"')
    found = refereed(file(text), 1.0, initial={"pin_angle": 0.1}, step=0.05, halvings=0)
    verdict = found.verdict
    assert "broke down" in verdict.others[0].motion.message
    assert any(note.startswith("MuJoCo warns: ") for note in verdict.notes)
    assert found.own.trajectory.outcome.name == "COMPLETED"
    distances = verdict.divergences[0].distances
    assert len(distances) == len(verdict.others[0].motion.times) < len(found.own.motion.times)
    assert [path.name for path in tmp_path.iterdir()] == ["model.xml"]


@pytest.mark.slow_rows("words0-UnknownNameError-'turning'", "words1-UnknownNameError-knee_angle")
@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ({"case": "turing"}, UnknownNameError, "'turning'"),
        ({"initial": {"crank": 1.0}}, UnknownNameError, "knee_angle"),
        ({"step": 0.0}, OutOfRangeError, "the step is 0.0"),
        ({"tolerance": -1.0}, OutOfRangeError, "the tolerance"),
        ({"until": float("nan")}, OutOfRangeError, "the horizon"),
        ({"halvings": -1}, OutOfRangeError, "halvings"),
        ({"samples": 0}, OutOfRangeError, "samples"),
        ({"contacts": "soft"}, UnknownNameError, "'compliant', 'none', 'rigid'"),
    ],
)
def test_what_has_no_meaning_is_refused_before_anything_runs(file, words, kind, said):
    with pytest.raises(kind, match=said):
        refereed(file(LINKAGE), **{"until": 0.1, **words})


@pytest.mark.long
def test_the_command_prints_a_table_and_writes_a_page_with_its_pictures(file, tmp_path):
    out = tmp_path / "out"
    ended = CliRunner().invoke(
        app, ["referee", str(file(LINKAGE)), "--until", "0.2", "--out", str(out)]
    )
    assert ended.exit_code == 0, ended.output
    assert "loop gap" in ended.output
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 4
    assert "At the end" in page
    document = json.loads((out / "report.json").read_text())
    assert [run["step"] for run in document["runs"]] == [None, 0.002, 0.001, 0.0005]
    assert len(document["runs"][0]["times"]) == len(document["runs"][1]["distances"]) == 101
    again = CliRunner().invoke(app, ["referee", str(file(LINKAGE)), "--out", str(out)])
    assert again.exit_code == 2
    assert "not empty" in again.output


@pytest.mark.long
def test_the_command_gives_one_object_or_one_sentence(file):
    words = ["referee", str(file(LINKAGE)), "--until", "0.1", "--json"]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    assert document["runs"][0]["gap"] <= 1e-15
    assert "times" not in document["runs"][0]
    missing = CliRunner().invoke(app, ["referee", "nowhere.xml"])
    assert missing.exit_code == 2
    assert "the model file" in missing.output
    assert "does not exist" in missing.output


@pytest.mark.slow
def test_an_audit_says_where_mujocos_motion_contradicts_the_model_and_where_it_does_not(file):
    """Its soft loop gapes; its joints, rates and momenta are right to its fourth order."""
    found = refereed(file(LINKAGE), 0.4, halvings=1)
    assert found.own.trajectory.audit().holds
    told = {finding.owner for finding in found.audit().contradictions}
    assert told == {"goal, pin_1", "goal, pin_3"}
    with pytest.raises(OutOfRangeError, match="the run is 2, but must be a whole number from 0"):
        found.audit(2)


@pytest.mark.slow
def test_an_audit_tells_a_method_of_order_one_from_one_of_order_four(file):
    text = PENDULUM.format(damping=0.02)
    first = text.replace(' integrator="RK4"', "")
    right = refereed(file(text), 1.0, initial={"pin_angle": 2.0}, halvings=1)
    assert right.audit(1).holds, str(right.audit(1))
    rough = refereed(file(first), 1.0, initial={"pin_angle": 2.0}, halvings=1)
    off = [max(f.defect for f in rough.audit(k).contradictions) for k in (0, 1)]
    assert {f.check for f in rough.audit().contradictions} >= {"rates of positions"}
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.2)
