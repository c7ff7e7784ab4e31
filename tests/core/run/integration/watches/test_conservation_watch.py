"""The watch over invariants that are taken for conserved."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.watches.conservation_watch import OUT_OF_REACH, ConservationWatch
from tests.systems import prepared_run

TIMES = np.arange(1.0, 11.0)


def _prepared() -> Prepared:
    """Return a body whose momentum a force of -exp(x - 40) changes."""
    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.y**2 / 2,
        force={"x": -ca.exp(q.x - 40)},
        goals=[
            ds.Invariant("momentum", q.dot.x, drive=True),
            ds.Invariant("aside", q.dot.x + q.dot.x**3, drive=True),
        ],
    )
    return prepared_run(system, 10.0, {"x_dot": 1.0})


def _states(run: Prepared, x: np.ndarray) -> np.ndarray:
    states = np.tile(run.initial, (len(x), 1))
    states[:, 0] = x
    return states


def _watch(run: Prepared) -> ConservationWatch:
    return ConservationWatch(run.dynamics, run.problem, run.assumed)


def test_both_invariants_are_assumed() -> None:
    assert set(_prepared().assumed) == {"momentum", "aside"}


def test_steps_are_believed_up_to_where_the_rate_is_felt() -> None:
    """Of terms of 1e-3 / s, 1e-10 is exp(x - 40) at x = 40 - 30."""
    run = _prepared()
    watch = _watch(run)
    watch.begin(0.0)
    x = np.array([0.0, 2.0, 4.0, 6.0, 8.0, 9.9, 10.5, 12.0, 20.0, 40.0])
    assert watch.believed(TIMES, _states(run, x), run.values) == 6
    assert watch.pending
    # The rate of the other is 1 + 3 x_dot**2 times as large, and so are its terms nearly.
    assert set(watch.broken) == {"momentum", "aside"}
    assert watch.broken["momentum"].since == 6.0
    assert "driven only up to t = 6 s" in watch.notes(ended=False)[0]


def test_what_is_broken_is_driven_no_more_and_watched_no_more() -> None:
    run = _prepared()
    watch = _watch(run)
    watch.begin(0.5)
    far = _states(run, np.full(10, 30.0))
    assert watch.believed(TIMES, far, run.values) == 0
    assert watch.broken["momentum"].since == 0.5
    names = list(run.problem.values)
    after = watch.undriven(run.values)
    changed = {names[index] for index in np.flatnonzero(after != run.values)}
    kinds = (ValueKind.RATE, ValueKind.FLOOR)
    assert changed == {kind.name_of(goal) for kind in kinds for goal in watch.broken}
    assert after[names.index("floor_momentum")] == OUT_OF_REACH
    assert not watch.pending
    assert watch.believed(TIMES, far, after) == 10


def test_a_watch_goes_on_from_what_it_saved() -> None:
    run = _prepared()
    first, second = _watch(run), _watch(run)
    first.begin(0.0)
    near, far = _states(run, np.zeros(10)), _states(run, np.full(10, 30.0))
    assert first.believed(TIMES, near, run.values) == 10
    second.restore(first.saved())
    second.begin(10.0)
    assert np.array_equal(first.largest, second.largest)
    for watch in (first, second):
        assert watch.believed(TIMES + 10.0, far, run.values) == 0
    assert first.broken == second.broken
    third = _watch(run)
    third.restore(first.saved())
    assert third.broken == first.broken


@pytest.mark.parametrize("numbers", [np.nan, np.inf])
def test_what_is_not_finite_is_not_judged_here(numbers: float) -> None:
    run = _prepared()
    watch = _watch(run)
    watch.begin(0.0)
    assert watch.believed(TIMES, _states(run, np.full(10, -numbers)), run.values) == 10
