"""Orbits, branches and maps from the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daesolve.cli.app import app

PLUGIN = """
import casadi as ca

import daesolve as ds


def build():
    q, p = ds.coordinates(theta="rad"), ds.parameters(slope=(0.05, "rad"))
    strike = ds.Reset({"theta": q.theta - 0.6, "theta_dot": ca.cos(0.6) * q.dot.theta})
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.theta**2 / 2, potential=ca.cos(q.theta),
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


def test_an_orbit_is_told_with_its_multipliers(wheel: Path) -> None:
    answer = json.loads(call("analyse", wheel, "orbit", "--section", "strike", "--json"))
    # cos^2(2 alpha), and a quadrature.
    assert abs(answer["multipliers"][0]["real"] - 0.681178877238337) < 1e-13
    assert abs(answer["period"] - 2.00179052421577) < 1e-13
    assert answer["verdict"] == "stable"


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("orbit", "--over", "slope=0:1"), "the analysis 'orbit' takes no --over"),
        (("orbit", "--step", "0.1"), "the analysis 'orbit' takes no --step"),
        (("circle-map", "--steady"), "the analysis 'circle-map' takes no --steady"),
        (("branch", "--section", "strike", "--over", "slope=0.04:0.06", "--step", "0"), "the step"),
        (("orbit", "--section", "strike", "--steady"), "a steady motion has neither"),
        (("rank", "--section", "strike"), "the analysis 'rank' takes no --section"),
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
