"""The command that a report tells repeats its run bit for bit, whatever was asked for."""

import json
import shlex

import pytest
from typer.testing import CliRunner

from daesolve.cli import run as running
from daesolve.cli.app import app
from daesolve.reporting import load, repeating

EVERY_SAMPLE = 10**9
MAY_DIFFER = {
    "directory", "machine", "statistics",  # where and how fast
    "notes", "asked", "sampling",  # what was chosen by itself is asked for by name
}  # fmt: skip
PENDULUM = ["pendulum", "--until", "1"]
WHEEL = ["rolling-wheel", "--case", "hoop", "--until", "0.1"]
FOUR_BAR = ["four-bar", "--until", "0.1"]
OMNI = ["omni-rolling", "--case", "twist", "--model", "compact", "--until", "0.1"]


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """Leave out the page of a run, which takes far longer than the run."""
    monkeypatch.setattr(running, "_reported", lambda out, problem: None)


def stored(words, out):
    """Run, and return the status and all of what is on disk, with the command that repeats it."""
    given = [str(word) for word in words]
    ended = CliRunner().invoke(app, ["run", *given, "--out", str(out), "--quiet"])
    assert ended.exit_code in (0, 3), (ended.output, ended.stderr, ended.exception)
    document = load(out, EVERY_SAMPLE)
    kept = {name: value for name, value in document.items() if name not in MAY_DIFFER}
    kept["event_statistics"] = str(kept["event_statistics"])
    program, command, *again = shlex.split(repeating.command(document).replace("\\\n", " "))
    assert (program, command) == ("daesolve", "run")
    return ended.exit_code, json.dumps(kept), again


QUICK = [
    PENDULUM,
    [*PENDULUM, "--rate", "auto", "--rate", "energy=off"],
    ["pendulum", "--until", "-1", "--every", "0.3"],
    [*PENDULUM, "--every", "0.0010000000000000002"],
    [*PENDULUM, "--rank-loss", "pass", "--at", "events"],
    [*PENDULUM, "--atol", "1e-9"],
    [*PENDULUM, "--formulation", "projected", "--rate", "20", "--rate", "energy=off"],
]
FURTHER = [
    [*PENDULUM, "--rate", "50"],
    [*PENDULUM, "--rate", "off"],
    [*PENDULUM, "--rate", "0.1", "--rate", "rod=33.3"],
    [*PENDULUM, "--set", "mass=2.345678901234567", "--set", "length=2", "--initial", "x=-2"],
    [*PENDULUM, "--at", "0.7,0.1,0.3"],
    ["pendulum", "--at", "0.1,0.7"],
    [*PENDULUM, "--rtol", "1e-9"],
    [*PENDULUM, "--solver", "cvodes", "--rtol", "1e-6", "--atol", "1e-8"],
    [*PENDULUM, "--solver", "radau", "--rtol", "1e-6"],
    [*PENDULUM, "--fixed-step", "0.01"],
    [*PENDULUM, "--formulation", "index-1", "--rtol", "1e-6"],
    [*PENDULUM, "--formulation", "projected:index-1"],
    [*PENDULUM, "--formulation", "null-space"],
    [*PENDULUM, "--redundant", "minimum-norm"],
    [*PENDULUM, "--max-evaluations", "100"],
    [*PENDULUM, "--verify"],
    ["chaplygin-sleigh", "--until", "1", "--formulation", "viscous:1e-7", "--initial", "speed=2"],
    FOUR_BAR,
    [*FOUR_BAR, "--rank-loss", "stop"],
    [*FOUR_BAR, "--rank-loss", "raise", "--redundant", "drop"],
    [*FOUR_BAR, "--rate", "auto"],
    [*WHEEL, "--set", "curve=circle", "--initial", "speed=1.2"],
    [*WHEEL, "--model", "printed"],
    [*WHEEL, "--set", "pendulum=true", "--rate", "rolling=5"],
    [*OMNI, "--initial", "contact_1=2"],
    ["prism", "--case", "unique-mixed"],
    ["prism", "--variant-policy", "homotopy", "--redundant", "minimum-norm"],
    ["omni-friction", "--until", "0.1", "--rtol", "1e-6"],
]


@pytest.mark.default_rows(1)
@pytest.mark.long_rows("chaplygin-sleigh --until 1 --formulation viscous:1e-7 --initial speed=2")
@pytest.mark.long_beyond(8)
@pytest.mark.slow_rows(
    "pendulum --until 1 --every 0.0010000000000000002",
    "pendulum --until 1 --formulation projected --rate 20 --rate energy=off",
    "pendulum --until 1 --rank-loss pass --at events",
    "pendulum --until 1 --rate auto --rate energy=off",
)
@pytest.mark.parametrize(
    "words",
    [*QUICK, *[pytest.param(words, marks=pytest.mark.slow) for words in FURTHER]],
    ids=" ".join,
)
def test_the_command_of_a_report_repeats_the_run_bit_for_bit(words, tmp_path):
    status, first, again = stored(words, tmp_path / "first")
    repeated, second, command = stored(again, tmp_path / "second")
    assert repeated == status
    assert second == first
    assert command == again


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("rank_loss", ["stop", "pass"])
@pytest.mark.parametrize("redundant", ["error", "drop"])
def test_what_the_case_would_do_otherwise_is_reported(redundant, rank_loss, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import replace\n"
        "from daesolve_problems.classics.pendulum import problem as known\n"
        "case = replace(known.cases[0], redundant='drop', rank_loss='pass')\n"
        "problem = replace(known, cases=[case])\n",
        encoding="utf-8",
    )
    asked = ["--redundant", redundant, "--rank-loss", rank_loss]
    _, first, again = stored([path, "--until", "0.1", *asked], tmp_path / "first")
    assert again[-4:] == asked
    _, second, _ = stored(again, tmp_path / "second")
    assert second == first
    lines = repeating.python(load(tmp_path / "first"))
    assert f'redundant="{redundant}"' in lines
    assert f'rank_loss="{rank_loss}"' in lines
