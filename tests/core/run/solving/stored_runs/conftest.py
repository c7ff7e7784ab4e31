"""Every run of these tests has many parts."""

import pytest

from daesolve.core.preparation import preparing as preparation
from daesolve.core.run.solving import stored_runs
from tests.core.run.solving.stored_runs.runs import SEGMENT


def many_parts(patched):
    """Let a run of seconds have many parts."""
    patched.setattr(preparation, "segment_length", lambda *_, **__: SEGMENT)
    patched.setattr(stored_runs, "segments_per_part", lambda *_: 2)


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    many_parts(monkeypatch)
