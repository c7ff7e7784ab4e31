"""Ctrl-C in the middle of long work, in a process of its own."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals")

PRESSED = """
import os, signal
from daesolve.cli.app import main
{before}
import sys
sys.argv = ["daesolve", {words}]
main()
"""
AT_SECOND_RUN = """
from daesolve.verification import comparison
solve, runs = comparison.solve, []
def pressed(*args, **options):
    runs.append(args)
    if len(runs) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return solve(*args, **options)
comparison.solve = pressed
"""
AT_REFERENCE = """
from daesolve.verification import comparison
reference_run = comparison.reference_run
def pressed(*args, progress, **options):
    comparison.noted.append(1)  # as where CasADi drops what is raised
    progress(0.0)
    raise AssertionError("went on")
from daesolve.core import interruptions
comparison.noted = interruptions._left
comparison.reference_run = pressed
"""
AT_IMPORT = """
from daesolve.cli import app
def pressed(name):
    os.kill(os.getpid(), signal.SIGINT)
    raise AssertionError("went on")
app.import_module = pressed
"""
COMPARE = (
    "compare", "pendulum", "--formulations", "feedback", "--solvers", "taylor,dop853",
    "--tolerances", "1e-6", "--until", "1",
)  # fmt: skip


def ended(before: str, *words: str) -> "subprocess.CompletedProcess[str]":
    script = PRESSED.format(before=before, words=", ".join(map(repr, words)))
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize("before", [AT_SECOND_RUN, AT_REFERENCE])
def test_a_comparison_ends_and_keeps_what_is_done(before):
    found = ended(before, *COMPARE)
    assert (found.returncode, found.stderr) == (3, "daesolve: interrupted\n")
    assert "interrupted: these are the results so far" in found.stdout
    assert "feedback + taylor" in found.stdout
    assert ("feedback + dop853" in found.stdout) == (before is AT_REFERENCE)


@pytest.mark.slow_rows("analyse", "compare", "export", "referee", "sweep")
@pytest.mark.parametrize("command", ["compare", "analyse", "sweep", "referee", "paper", "export"])
def test_ctrl_c_is_answered_while_a_command_is_loaded(command):
    found = ended(AT_IMPORT, command, "pendulum")
    assert (found.returncode, found.stdout) == (3, "")
    assert found.stderr == "daesolve: interrupted\n"
