"""A run on disk."""

from __future__ import annotations

import os

import pytest

from daesolve.core.results.storage import Writer
from tests.core.results.storage.parts import write


@pytest.fixture(autouse=True, scope="package")
def impatience():
    """Do not wait for the disk: no power is cut here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def run(directory):
    """A run of three parts that nobody writes any more."""
    with Writer.create(directory, {"problem": "pendulum", "horizons": [10.0]}) as writer:
        for number in (1, 2, 3):
            write(writer, number)
    return directory
