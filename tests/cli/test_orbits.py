"""Orbits, branches and maps from the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daesolve.cli.app import app

PLUGIN = """
import casadi as ca

import daesolve as ds


def build():
    q, p = ds.coordinates(theta="rad"), ds.parameters(slope=(0.05, "rad"), stiff=(1.0, ""))
    strike = ds.Reset({"theta": q.theta - 0.6, "theta_dot": ca.cos(0.6) * q.dot.theta})
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.theta**2 / 2, potential=p.stiff * ca.cos(q.theta),
        events=[ds.Event("strike", q.theta - 0.3 - p.slope, ds.RISING, strike)],
    )


problem = ds.Problem(
    name="wheel", title="a rimless wheel", models={"one": build},
    cases=[ds.Case("down", until=1.0, start={"theta": -0.25, "theta_dot": 0.36})],
)
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / "wheel.py"
    file.write_text(PLUGIN, encoding="utf-8")
    return file


def call(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result.stdout if code == 0 else result.stderr


@pytest.mark.slow
def test_an_orbit_is_printed_with_its_multipliers(wheel: Path) -> None:
    answer = json.loads(call("analyse", wheel, "orbit", "--section", "strike", "--json"))
    # cos^2(2 alpha), and a quadrature.
    assert abs(answer["multipliers"][0]["real"] - 0.681178877238337) < 1e-13
    assert abs(answer["period"] - 2.00179052421577) < 1e-13
    assert answer["verdict"] == "stable"


@pytest.mark.long
def test_a_branch_is_written_with_its_figure(wheel: Path, tmp_path: Path) -> None:
    out = tmp_path / "branch"
    words = ("--section", "strike", "--over", "slope=0.04:0.06", "--plot", "slope:theta_dot")
    call("analyse", wheel, "branch", *words, "--out", out)
    answer = json.loads((out / "answer.json").read_text())
    assert answer["points"]["slope"][0] == 0.04
    assert answer["points"]["slope"][-1] == 0.06
    assert (out / "branch.svg").exists()
    assert (out / "points" / "branch.jsonl").exists()
    assert (out / "multipliers.svg").exists()
    page = (out / "report.html").read_text()
    assert "wheel, down: a branch over slope" in page
    assert page.count("<svg") == 2
    # The last orbit is in the table, with cos^2 of the angle between spokes.
    assert "0.6811789" in page
    assert f"{len(answer['points']['slope'])} orbits" in page
    assert "reached slope = 0.06" in page


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("orbit", "--over", "slope=0:1"), "the analysis 'orbit' does not use --over"),
        (("orbit", "--step", "0.1"), "the analysis 'orbit' does not use --step"),
        (("circle-map", "--steady"), "the analysis 'circle-map' does not use --steady"),
        (("branch", "--section", "strike", "--over", "slope=0.04:0.06", "--step", "0"), "the step"),
        (("orbit", "--section", "strike", "--steady"), "a steady motion has neither"),
        (("rank", "--section", "strike"), "the analysis 'rank' does not use --section"),
        (("branch", "--section", "strike"), "--over NAME=LOW:HIGH is missing"),
        (("branch", "--section", "strike", "--over", "slope"), "--over needs NAME=LOW:HIGH"),
        (("orbit",), "a period or a section must be given"),
        (("circle-map", "--period", "1"), "a circle map needs --angle NAME"),
        (("orbit", "--period", "2*pie"), "pie"),
    ],
)
def test_what_makes_no_sense_is_refused(wheel: Path, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in " ".join(call("analyse", wheel, *words, code=2).split())


def test_show_lists_orbits_among_the_analyses(wheel: Path) -> None:
    listed = json.loads(call("show", wheel, "--json"))["analyses"]
    assert {"orbit", "branch", "circle-map", "stability-map"} <= {*listed}
    assert len({*listed}) == len(listed)


LONG = {
    "branch": ("--over", "slope=0.03:0.06", "--step", "0.02"),
    "stability-map": (
        "--over", "slope=0.04:0.06", "--over", "stiff=0.9:1.1", "--cells", "4:90", "--workers", "0",
    ),
}  # fmt: skip


def command(wheel: Path, analysis: str, out: Path) -> list[str]:
    words = [analysis, "--section", "strike", *LONG[analysis], "--out", str(out)]
    return [sys.executable, "-m", "daesolve", "analyse", str(wheel), *words]


def kept(out: Path) -> list[str]:
    files = [*(out / "points").glob("*.jsonl")] if (out / "points").is_dir() else []
    return files[0].read_text().splitlines() if files else []


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
@pytest.mark.parametrize("analysis", LONG)
def test_what_is_stopped_goes_on_to_the_same_bits(
    analysis: str, number: signal.Signals, wheel: Path, tmp_path: Path
) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    subprocess.run(command(wheel, analysis, whole), check=True, capture_output=True)
    with subprocess.Popen(
        command(wheel, analysis, part), stderr=subprocess.PIPE, text=True
    ) as running:
        while len(kept(part)) < 4 and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
    assert 4 <= len(kept(part)) < len(kept(whole))
    if number is signal.SIGINT:
        assert running.returncode == 3
        assert "interrupted; repeat the command to continue from the results in" in said
        assert "Traceback" not in said
    subprocess.run(command(wheel, analysis, part), check=True, capture_output=True)
    assert kept(part) == kept(whole)
    answers = [json.loads((out / "answer.json").read_text()) for out in (whole, part)]
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_a_directory_with_an_answer_is_not_written_into(wheel: Path, tmp_path: Path) -> None:
    words = ("analyse", wheel, "stability-map", "--section", "strike", "--out", tmp_path / "map")
    over = ("--over", "slope=0.045:0.055", "--over", "stiff=0.9:1.1", "--cells", "2:2")
    answer = json.loads(call(*words, *over, "--workers", "0", "--json"))
    assert answer["verdicts"] == [["stable", "stable"]] * 2
    assert "is not empty" in call(*words, *over, code=2)


@pytest.mark.long
def test_processes_share_a_map_to_the_same_bits(wheel: Path, tmp_path: Path) -> None:
    words = ("analyse", wheel, "stability-map", "--section", "strike", "--json", "--cells", "3:5")
    over = ("--over", "slope=0.045:0.055", "--over", "stiff=0.9:1.1")
    answers = [json.loads(call(*words, *over, "--workers", count)) for count in (0, 1)]
    assert answers[0] == answers[1]


@pytest.mark.default_rows(3)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--cells", "3x3"), "--cells needs NX:NY, two whole numbers, not '3x3'"),
        (("--cells", "1:3"), "two whole numbers >= 2"),
        (("--workers", "-1"), "workers is -1, but must be a whole number >= 0"),
        (("--workers", "1", "--scheduler", "tcp://a:1"), "leave one of them out"),
        (("--step", "0.1"), "the analysis 'stability-map' does not use --step"),
    ],
)
def test_a_map_that_cannot_be_asked_for_is_refused(
    words: tuple[str, ...], sentence: str, wheel: Path
) -> None:
    over = ("--over", "slope=0.045:0.055", "--over", "stiff=0.9:1.1")
    said = call("analyse", wheel, "stability-map", "--section", "strike", *over, *words, code=2)
    assert sentence in said
