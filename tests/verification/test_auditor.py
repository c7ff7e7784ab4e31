"""Where the auditor integrates a run once more, whose events may move by rounding."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers.taylor import Taylor
from daesolve.verification.audit.certificate import PLACES
from daesolve.verification.auditor import _Passage
from tests.contact_systems import ball


@pytest.mark.parametrize(("early", "replaced"), [(1e-13, True), (1e-9, False)])
def test_an_event_that_comes_early_by_rounding_leaves_a_step_in_its_mode(
    early: float, replaced: bool
) -> None:
    run = ds.solve(ball(closed=False), 0.1, {"y": 1.0}, solver=Taylor())
    length = early / (1.0 - PLACES[-3]) * 1.01
    steps = np.array([0.5, 0.7]), np.array([0.2, length])
    passage = _Passage(run.auditor, run, steps, lambda _: None, {}, [], {})
    count = len(PLACES)
    modes = np.array([3] * count + [3] * (count - 3) + [4] * 3)
    last = [2 * count - 4] * 3 if replaced else [2 * count - 3, 2 * count - 2, 2 * count - 1]
    assert passage._before_events(modes).tolist() == [*range(2 * count - 3), *last]
