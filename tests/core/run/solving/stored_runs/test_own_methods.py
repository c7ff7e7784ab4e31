"""Runs on disk with a formulation and a solver of one's own, at the top of a module: this one."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

import daesolve as ds
from daesolve.errors import NotResumableError, UnsupportedError
from tests.core.run.solving.stored_runs.runs import alike, swing
from tests.systems import pendulum


@dataclass(frozen=True)
class Mine(ds.Feedback):
    """Feedback under another name, with a setting."""

    gains: tuple[float, ...] = (1.0, 2.0)
    name = "mine"


@dataclass(frozen=True)
class Own(ds.Dop853):
    """DOP853 under another name."""

    name = "own"


@dataclass(frozen=True)
class Odd(ds.Feedback):
    """A setting that no file holds."""

    rule: Any = field(default=len)
    name = "odd"


CHOSEN = {"formulation": Mine(gains=(3.0, 4.0)), "solver": Own(rtol=1e-9)}


@pytest.mark.slow
def test_a_run_is_resumed_where_its_module_is_imported(tmp_path):
    whole = swing(tmp_path / "whole", until=10.0, **CHOSEN)
    swing(tmp_path / "part", until=5.0, **CHOSEN)
    ds.resume(tmp_path / "part", 10.0, source=pendulum())
    assert whole.outcome.good
    assert ds.Trajectory.from_run(tmp_path / "part").end_time == 10.0


@pytest.mark.slow
def test_a_run_is_resumed_with_what_is_given_and_never_imports_a_module(tmp_path, monkeypatch):
    swing(tmp_path / "run", until=5.0, **CHOSEN)
    monkeypatch.delitem(sys.modules, __name__)
    with pytest.raises(
        NotResumableError, match=r"is not imported automatically.*formulation=\.\.\."
    ):
        ds.resume(tmp_path / "run", 10.0, source=pendulum())
    assert __name__ not in sys.modules
    with pytest.raises(NotResumableError, match=r"the run started with .*resume it with"):
        ds.resume(tmp_path / "run", 10.0, source=pendulum(), formulation=Mine(), solver=Own())
    with pytest.raises(NotResumableError, match=r"the run started with .*resume it with"):
        ds.resume(tmp_path / "run", 10.0, source=pendulum(), formulation="feedback")
    run = ds.resume(tmp_path / "run", 10.0, source=pendulum(), **CHOSEN)
    assert run.end_time == 10.0
    swing(tmp_path / "plain", until=5.0, formulation=ds.Feedback(), solver=ds.Dop853(rtol=1e-9))
    assert alike(run, ds.resume(tmp_path / "plain", 10.0, source=pendulum()))


def test_what_could_not_be_found_again_is_refused_before_the_run(tmp_path):
    @dataclass(frozen=True)
    class Local(ds.Feedback):
        name = "local"

    for formulation, words in ((Local(), "Local cannot be stored.*top level of a module"),
                               (Odd(), "its setting 'rule' is a builtin_function")):  # fmt: skip
        with pytest.raises(UnsupportedError, match=words):
            swing(tmp_path / "run", formulation=formulation)
        assert not (tmp_path / "run").exists()
