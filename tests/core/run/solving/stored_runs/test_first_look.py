"""A stored run keeps its beginning where its samples are too sparse to be joined by curves."""

import json

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.storage import Writer
from daesolve.core.results.storage.files import OPENING
from daesolve.core.results.trajectory.results import Outcome
from daesolve.errors import StorageError
from tests.core.run.solving.stored_runs.runs import interrupting, swing
from tests.systems import pendulum

SPARSE = {"until": 40.0, "at": ds.every(1.7)}
"""Of a period of 2.37 s."""


def opening_of(directory):
    return json.loads((directory / OPENING).read_bytes())


@pytest.mark.slow
def test_sparse_samples_have_the_beginning_beside_them(tmp_path):
    run = swing(tmp_path / "run", **SPARSE)
    begun, kept = run.opening(), opening_of(tmp_path / "run")
    np.testing.assert_array_equal(kept["times"], begun.times)
    for kind in ("states", "reactions", "outputs"):
        for name, values in getattr(begun, kind).items():
            np.testing.assert_array_equal(kept[kind][name], values)
    assert np.hypot(kept["states"]["x"], kept["states"]["y"]) == pytest.approx(1.0, abs=1e-12)


def test_close_samples_need_none(tmp_path):
    swing(tmp_path / "run")
    assert not (tmp_path / "run" / OPENING).exists()


@pytest.mark.slow
def test_a_case_keeps_it_as_a_system_does(tmp_path):
    ds.problem("pendulum").case().solve(store=tmp_path / "run", **SPARSE)
    assert (tmp_path / "run" / OPENING).is_file()


@pytest.mark.slow
def test_a_run_backwards_keeps_it_too(tmp_path):
    swing(tmp_path / "run", until=-40.0, at=ds.every(1.7))
    assert np.all(np.diff(opening_of(tmp_path / "run")["times"]) < 0.0)


@pytest.mark.slow
def test_a_run_that_was_interrupted_has_the_same_beginning_in_the_end(tmp_path):
    system = pendulum()
    swing(tmp_path / "whole", system=system, **SPARSE)
    progress = interrupting(20.0)
    broken = swing(tmp_path / "broken", progress=progress, system=system, **SPARSE)
    assert broken.outcome is Outcome.INTERRUPTED
    assert not (tmp_path / "broken" / OPENING).exists()
    ds.resume(tmp_path / "broken", source=system)
    assert opening_of(tmp_path / "broken") == opening_of(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_that_is_extended_keeps_what_it_had(tmp_path):
    system = pendulum()
    swing(tmp_path / "run", system=system, **SPARSE)
    before = (tmp_path / "run" / OPENING).read_bytes()
    ds.resume(tmp_path / "run", until=80.0, source=system)
    assert (tmp_path / "run" / OPENING).read_bytes() == before


@pytest.mark.slow
def test_a_full_disk_ends_the_run_as_interrupted_and_it_is_resumed(tmp_path, monkeypatch):
    def full(writer, times, **series):
        raise StorageError("no room")

    system = pendulum()
    with monkeypatch.context() as patched:
        patched.setattr(Writer, "write_opening", full)
        run = swing(tmp_path / "run", system=system, **SPARSE)
    assert run.outcome is Outcome.INTERRUPTED
    assert "daesolve resume" in run.message
    assert ds.resume(tmp_path / "run", source=system).outcome is Outcome.COMPLETED
    assert (tmp_path / "run" / OPENING).is_file()
