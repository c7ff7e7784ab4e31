import re

import pytest
from typer.testing import CliRunner

from daesolve.cli.app import app


def call(*words):
    return CliRunner().invoke(app, ["equations", *map(str, words)])


@pytest.mark.slow
def test_latex_goes_to_the_standard_output_or_a_file(tmp_path):
    told = call("chaplygin-sleigh", "--reduced")
    assert told.exit_code == 0
    assert told.stdout.startswith("% written by daesolve\n\\documentclass")
    assert "Reduced mass matrix" in told.stdout
    file = tmp_path / "sleigh.tex"
    assert call("chaplygin-sleigh", "--reduced", "--to", file).stdout == f"equations: {file}\n"
    assert file.read_text() == told.stdout
    assert "Kinetic energy" in call("chaplygin-sleigh").stdout


@pytest.mark.slow
def test_a_case_has_its_own_structure_and_values():
    text = call("n-trailer", "--set", "trailers=1").stdout.replace(r"\_\allowbreak{}", "_")
    assert "axle_1" in text
    assert "axle_2" not in text


def test_python_and_c_are_those_of_exports(tmp_path):
    text = call("pendulum", "--as", "python").stdout
    names = {}
    exec(compile(text, "pendulum.py", "exec"), names)
    assert callable(names["rhs"])
    assert re.search(r"\bdouble\b", call("pendulum", "--as", "c").stdout)
    assert call("pendulum", "--as", "c", "--to", tmp_path / "swing").exit_code == 0
    assert (tmp_path / "swing" / "Makefile").is_file()


def test_wrong_requests_have_one_sentence(tmp_path):
    other = tmp_path / "mine.tex"
    other.write_text("mine")
    for words, wanted in (
        (["pendulum", "--as", "c", "--reduced"], "leave out one of the two"),
        (["pendulum", "--to", other], "not an export of daesolve"),
        (["pendulum", "--case", "none"], "'none'"),
    ):
        told = call(*words)
        assert told.exit_code == 2
        assert wanted in told.stderr
        assert told.stderr.count("\n") == 1
