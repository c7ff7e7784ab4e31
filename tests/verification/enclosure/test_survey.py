"""Boxes of random systems contain their motions in 40 digits, and a seeded fault is found."""

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import daesolve
from daesolve.verification.enclosure.steps import Stepping

from .survey import survey

WEEK = int(f"{datetime.date.today():%G%V}")
"""The year and its week, so that other systems are tried every week."""


def missed(outcomes):
    return [text for outcome in outcomes for text in outcome.missed]


@pytest.mark.slow
def test_boxes_of_random_systems_contain_their_motions_in_40_digits():
    outcomes = survey(1, 0, 20)
    assert missed(outcomes) == []
    assert sum(outcome.compared for outcome in outcomes) > 200


@pytest.mark.long
def test_boxes_of_300_other_systems_every_week_contain_theirs():
    assert missed(survey(WEEK, 0, 300)) == []


@pytest.mark.slow
def test_a_remainder_that_is_left_out_is_found(monkeypatch):
    whole = Stepping._enclosed

    def without(self, of, around, time, end, known):
        found = whole(self, of, around, time, end, known)
        if found is not None:
            found[1][:, -1] = 0.0
        return found

    monkeypatch.setattr(Stepping, "_enclosed", without)
    assert missed(survey(1, 0, 12))


@pytest.mark.long
def test_a_rounding_that_is_not_enclosed_is_found(tmp_path):
    package = Path(daesolve.__file__).parent
    shutil.copytree(package, tmp_path / "daesolve", ignore=shutil.ignore_patterns("__pycache__"))
    balls = tmp_path / "daesolve" / "verification" / "enclosure" / "balls.py"
    text = balls.read_text(encoding="utf-8")
    assert text.count("EPSILON = 2.0**-103") == 1
    balls.write_text(text.replace("EPSILON = 2.0**-103", "EPSILON = 0.0"), encoding="utf-8")
    paths = [str(tmp_path), str(package.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "tests.verification.enclosure.survey", "--systems", "3"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert " 0 missed" not in done.stdout
    assert " missed\n" in done.stdout
