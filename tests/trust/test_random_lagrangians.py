"""Random Lagrangians against equations of their own: nothing is wrong without a word."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.solvers import SOLVERS

from .case import DOUBT, LIMIT, bound_of_solver, notes_of, within
from .grammar import END, Sentence

COUNT = 300
GROWTH = 100.0
"""How much errors of steps may grow within `END`, over those of 1e4 steps."""
KNOWN = 1e-8
"""Errors below it may be those of the truth, which was integrated at 1e-12."""
CHOICES = (
    *(("", ""), ("", ""), ("dop853", ""), ("", "null-space"), ("cvodes", "")),
    *(("", ""), ("radau", ""), ("", "projected"), ("lsoda", "null-space"), ("", "")),
)
"""Solver and formulation, empty where the library chooses."""
SPARED = 15
"""The default suite has every so-many-th of them."""


@pytest.mark.long_beyond(9)
@pytest.mark.long_rows("0", "10", "110")
@pytest.mark.slow_rows(
    "1",
    "106",
    "121",
    "136",
    "16",
    "166",
    "181",
    "196",
    "211",
    "226",
    "241",
    "256",
    "271",
    "286",
    "46",
    "76",
    "151",
    "31",
    "91",
)
@pytest.mark.parametrize(
    "seed",
    [pytest.param(s, marks=() if s % SPARED == 1 else pytest.mark.slow) for s in range(COUNT)],
)
def test_no_random_system_goes_wrong_without_a_word(seed):
    """And verification, which every other run has, does not understate an error ten-fold."""
    sentence = Sentence(seed)
    solver, formulation = CHOICES[seed % len(CHOICES)]
    options = {"formulation": formulation} if formulation else {}
    if solver:
        options["solver"] = SOLVERS[solver]()
    with within(LIMIT):
        try:
            run = ds.solve(
                sentence.system,
                END,
                sentence.named_start,
                at=[END],
                verify=seed % 2 == 0,
                **options,
            )
        except ds.DaesolveError:
            return
    if not run.outcome.good:
        return
    truth = sentence.truth()
    assert np.all(np.isfinite(truth))
    bound = max(KNOWN, GROWTH * bound_of_solver(run))
    doubts = [note for note in notes_of(run) if DOUBT.search(note)]
    verification = run.verification
    assert (verification is not None) == (seed % 2 == 0)
    for name, value in zip(sentence.named_start, truth, strict=True):
        error = abs(run.end_state[name] - value)
        shown = 0.0 if verification is None else verification.difference[name]
        seen = math.isnan(shown) or shown >= error / 10.0
        size = max(1.0, abs(value))
        assert error <= bound * size or seen or doubts, f"{sentence}: {name} is off by {error:.2g}"
        understated = verification is not None and not seen and error > KNOWN * size
        assert not understated, f"{sentence}: {name} is off by {error:.2g}, shown as {shown:.2g}"
