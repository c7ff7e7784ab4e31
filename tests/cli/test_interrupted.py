import errno
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from daesolve import reporting
from daesolve.cli import pages, problems
from daesolve.cli.app import app
from daesolve.plugins.bound_case import BoundCase

TO_DISK = "pendulum", "--to", "page"


def interrupted(*words, **named):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (problems.registry, "problems", ["list"]),
        (BoundCase, "analyse", ["analyse", "pendulum", "rank"]),
        (BoundCase, "solve", ["run", "pendulum"]),
        (reporting, "rebuild", ["report", "absent"]),
        (pages.animation, "animate", ["animate", "absent"]),
        (pages, "write_page", ["page", *TO_DISK]),
    ],
)
def test_ctrl_c_ends_every_command_with_status_3_and_one_sentence(
    owner, name, words, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(owner, name, interrupted)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr == "daesolve: interrupted\n"


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("words", [["show", "pendulum"], ["list", "--json"]])
def test_a_result_that_cannot_be_written_is_reported_in_one_sentence(words):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "daesolve", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert "Traceback" not in ended.stderr
    assert os.strerror(errno.ENOSPC) in ended.stderr


@pytest.mark.long
def test_a_reader_that_goes_away_ends_a_run_without_a_word():
    words = [sys.executable, "-m", "daesolve", "run", "pendulum", "--until", "5"]
    with subprocess.Popen(
        [*words, "--every", "1e-4", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(10) == b'{"problem"'
        running.stdout.close()
        told = running.stderr.read()
    assert told == b""
