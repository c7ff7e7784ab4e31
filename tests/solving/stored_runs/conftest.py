"""Every run of these tests has many parts."""

import pytest

from daesolve.preparation import preparing as preparation
from daesolve.solving import stored_runs

from .runs import SEGMENT


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    """Let a run of seconds have many parts."""
    monkeypatch.setattr(preparation, "segment_length", lambda *_, **__: SEGMENT)
    monkeypatch.setattr(stored_runs, "segments_per_part", lambda *_: 2)
