# ruff: noqa: E501
"""Command lines at random: a status that is documented, and words in place of a traceback."""

import random
from contextlib import chdir

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app

SEED, LINES = 7, 500
WORDS = [
    *("", " ", "0", "-1", "1", "0.01", "1e-3", "1e400", "-1e400", "nan", "inf", "-inf", "1e-400", "0x10", "1_0"),
    *("true", "null", "[]", "{}", "[1,2]", '{"a": 1}', "x", "x=1", "x=", "=1", "=", "x=y=z", "x=nan"),
    *("length=2", "length=0", "length=-1", "length=1e300", "length=nan", "length=[]", "gravity=true"),
    *("x_dot=1", "x_dot=1e308", "y=0.5", "rod=50", "rod=off", "energy=off", "auto", "off"),
    *("1,2", "1,,2", "0,0.01", "0.01,0", ",", "a,b", "0.005,nan", "linspace(0,1,3)", "length=linspace(1,2,3)"),
    *("length=uniform(2,1)", "length=uniform(1,2)", "length=linspace(1,2,1e9)", "length=1,2", "length=,"),
    *("feedback", "projected", "index-1", "index-3", "null-space", "projected:index-1", "viscous:x", "none"),
    *("taylor", "dop853", "cvodes", "idas", "radau", "heyoka", "euler", "error", "drop", "minimum-norm", "stop"),
    *("pass", "raise", "viscous", "strict", "pendulum", "pendulm", "no.py", "a\0b.py", "x" * 300 + ".py"),
    *("ä→𝛼", "'", '"', "`$(x)`", "\n", "\\", "../..", "/", "/dev/null", "~", "--", "-", "-1.5", "\udcff", "%s", "{}"),
]  # fmt: skip
OPTIONS = {
    "run": ["--case", "--model", "--set", "--parameters", "--initial", "--until", "--at", "--every",
            "--formulation", "--rate", "--redundant", "--rank-loss", "--max-evaluations", "--solver",
            "--variant-policy", "--rtol", "--atol", "--fixed-step", "--out", "--json", "--quiet"],
    "show": ["--json"],
    "list": ["--json"],
    "doctor": ["--json"],
    "resume": ["--until", "--any-version", "--source", "--workers", "--scheduler", "--json", "--quiet"],
    "report": ["--source"],
    "plot": ["--drift", "--out", "--format"],
    "animate": ["--to", "--seconds", "--fps", "--from", "--until", "--width", "--source", "--quiet"],
    "analyse": ["--case", "--model", "--set", "--initial", "--json"],
    "sweep": ["--over", "--samples", "--seed", "--case", "--set", "--until", "--solver", "--rtol",
              "--at", "--batch", "--out", "--json", "--quiet"],
    "compare": ["--case", "--formulations", "--solvers", "--tolerances", "--until", "--json"],
    "new": [],
    "page": ["--to", "--case", "--until"],
}  # fmt: skip
FLAGS = {"--json", "--quiet", "--any-version", "--batch", "--drift"}
SHORT = {"run": ["--until", "0.01"], "sweep": ["--until", "0.01", "--workers", "0"],
         "compare": ["--until", "0.01"], "page": ["--until", "0.01"]}  # fmt: skip
SUBJECT = {
    "resume": "runs",
    "report": "runs",
    "plot": "runs",
    "animate": "runs",
    "new": "",
    "list": "",
    "doctor": "",
}


def line(chance, place):
    """A command line, right in most of its words."""
    command = chance.choice(sorted(OPTIONS))
    subject = SUBJECT.get(command, "pendulum")
    words = [command] if chance.random() < 0.99 else [chance.choice(WORDS)]
    if chance.random() < 0.9 and subject:
        words.append(str(place / "run") if subject == "runs" else subject)
    if command == "analyse" and chance.random() < 0.9:
        words.append(chance.choice(["rank", "linearization", "growth-vector", "x"]))
    if command == "sweep" and chance.random() < 0.7:
        words += ["--over", chance.choice(["length=1,2", "length=uniform(1,2)", *WORDS])]
    for _ in range(chance.randrange(4)):
        known = OPTIONS[command] or ["--help"]
        option = chance.choice(known) if chance.random() < 0.97 else chance.choice(WORDS)
        words += [option] if option in FLAGS else [option, chance.choice(WORDS)]
    if chance.random() < 0.1:
        words.insert(chance.randrange(len(words) + 1), chance.choice(WORDS))
    if "--until" not in words:
        words += SHORT.get(command, [])
    if command == "page" and "--to" not in words:
        words += ["--to", "page"]
    return words


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("lines")
    ds.problem("pendulum").case().solve(0.01, at=[0.0, 0.005, 0.01], store=directory / "run")
    return directory


def said(number, place):
    """What a command line gives: the words, the status and what went wrong beside."""
    chance = random.Random(SEED + number)
    words = line(chance, place)
    with chdir(place):
        found = CliRunner().invoke(app, words)
    return words, found


@pytest.mark.long
@pytest.mark.parametrize(
    "numbers", [range(40), pytest.param(range(40, LINES), marks=pytest.mark.slow)]
)
def test_any_command_line_ends_with_a_documented_status_and_words(place, numbers):
    for number in numbers:
        words, found = said(number, place)
        assert found.exception is None or isinstance(found.exception, SystemExit), (
            words, repr(found.exception))  # fmt: skip
        assert found.exit_code in (0, 2, 3), words
        assert "Traceback" not in found.output, words
        if found.exit_code:
            assert found.stderr.strip(), words
