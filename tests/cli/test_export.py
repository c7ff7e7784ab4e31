"""`daesolve export` writes a unit, and says what it cannot."""

import json

import pytest
from typer.testing import CliRunner

from daesolve.cli.app import app

CLI = CliRunner()


@pytest.mark.slow
def test_it_writes_a_unit_that_fmpy_finds_nothing_at(tmp_path):
    path = tmp_path / "bars.fmu"
    words = ["export", "five-bar", "--case", "falls", "--to", str(path), "--check", "--json"]
    done = CLI.invoke(app, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert path.is_file()
    assert told["findings"] == []
    assert told["inputs"] == 2
    assert told["states"] >= 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["five-bar", "--to", "bars.zip"], "ends with .fmu"),
        (["five-bar", "--to", "bars.fmu", "--set", "none=1"], "none"),
    ],
)
def test_a_wrong_request_is_a_sentence(words, said):
    done = CLI.invoke(app, ["export", *words])
    assert done.exit_code != 0
    assert said in str(done.exception) + done.output
