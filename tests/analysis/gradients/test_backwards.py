"""Gradients carried back equal those found forwards; what going back costs in memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis.gradients import objective_gradient
from daesolve.analysis.gradients.reversal import Reversal
from daesolve.analysis.start_derivatives import DirectChanges
from tests.analysis.gradients.chain_of_springs import chain_of_springs, start_of
from tests.analysis.gradients.gallery import difference, weighed_states
from tests.derivatives import ball
from tests.systems import pendulum, projectile


def test_the_chain_has_the_gradient_of_its_forward_derivatives():
    system, start, by = chain_of_springs(3), start_of(3), ["mass_0", "hardening_1", "damping_2"]
    forward = ds.analysis.sensitivity(system, 30.0, start, by=by)
    found = ds.analysis.gradient(system, weighed_states(forward.states), 30.0, start, by=by)
    expected = np.linspace(1.0, -0.7, len(forward.states)) @ forward.matrix
    assert found.vector == pytest.approx(expected, abs=1e-12 * np.max(np.abs(expected)))


def test_both_ways_give_the_same_through_impacts_and_to_a_stop(monkeypatch):
    def samples(run):
        hits = [event.time for event in run.events]
        return float(np.sum(run["y"] ** 2)) + hits[1], {"y": 2 * run["y"], "event_times": [0, 1, 0]}

    every = ds.analysis.Objective(
        end=lambda now: now["y"] * now["y_dot"],
        running=lambda now: now["gravity"] * now["y_dot"] ** 2,
        samples=samples,
    )
    ended = ds.analysis.Objective(
        end=lambda now: now["t"] * now["y_dot"], running=lambda now: now["y_dot"] + 1.0
    )
    stops = projectile(events=lambda q: [ds.Event("ground", q.y, ds.FALLING, ds.Stop())])

    def both():
        bounces = {"by": ["y", "gravity", "restitution"], "at": [0.2, 0.9]}
        yield ds.analysis.gradient(ball(), every, 2.0, {"y": 1.0, "y_dot": 0.0}, **bounces)
        start = {"y": 0.5, "y_dot": 3.0}
        yield ds.analysis.gradient(stops, ended, 10.0, start, by=["y", "gravity"])

    back = list(both())
    carried = objective_gradient._Carried
    monkeypatch.setattr(carried, "found", lambda self: self.forwards("it is asked to"))
    for one, other in zip(back, both(), strict=True):
        assert "carried forwards" in " ".join(other.notes)
        assert one.value == pytest.approx(other.value, rel=1e-13)
        assert one.vector == pytest.approx(other.vector, rel=1e-12)


@pytest.mark.slow
def test_what_a_law_decides_goes_back_as_it_goes_forwards(monkeypatch):
    case, by = ds.problem("thrown-rod").case("routh"), ["restitution", "friction"]
    forward = case.sensitivity(by, 0.6)
    objective = weighed_states(forward.states)
    asked = case.gradient(objective, by, 0.6)
    assert "carried forwards" in " ".join(asked.notes)  # Two names take fewer decisions.
    monkeypatch.setattr(Reversal, "directions", 1)
    found = case.gradient(objective, by, 0.6)
    assert "adjoint" in " ".join(found.notes)
    assert len(found.run.events) >= 1
    expected = np.linspace(1.0, -0.7, len(forward.states)) @ forward.matrix
    for one in (asked, found):
        # Extrapolated differences of decisions leave some digits of each.
        assert one.vector == pytest.approx(expected, abs=1e-10 * np.max(np.abs(expected)))


@pytest.mark.slow
def test_the_way_back_takes_the_same_memory_however_long_it_is(monkeypatch):
    sizes: list[int] = []
    whole = Reversal.to_start

    def measured(self, *given):
        tracemalloc.start()
        try:
            return whole(self, *given)
        finally:
            sizes.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    monkeypatch.setattr(Reversal, "to_start", measured)
    place = ds.analysis.Objective(end=lambda now: now["x"])
    for until in (20.0, 20.0, 200.0):
        options = {"guess": {"y": -0.1}, "by": ["gravity"]}
        found = ds.analysis.gradient(pendulum(), place, until, {"x": -0.9}, **options)
        expected = found.run.end_state["x_dot"] * until / (2 * 9.81)
        assert found["gravity"] == pytest.approx(expected, rel=1e-12)
    # The first way back builds what the others use again.
    assert sizes[2] <= 1.1 * sizes[1]


def test_plain_starts_have_the_derivatives_of_their_differences(monkeypatch):
    system, start, by = chain_of_springs(2), start_of(2), ["x1", "mass_0", "stiffness_1"]
    exact = ds.analysis.sensitivity(system, 0.1, start, by=by)
    assert "derivatives of the start are exact" in exact.notes
    monkeypatch.setattr(DirectChanges, "slope", lambda *_: None)
    differences = ds.analysis.sensitivity(system, 0.1, start, by=by)
    assert "extrapolated differences" in differences.notes[0]
    assert exact.start.tolist() == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], *[[0.0] * 3] * 2]
    assert exact.matrix == pytest.approx(differences.matrix, rel=1e-12, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["andrews", "rolling-coin"])
def test_problems_of_the_gallery_have_the_gradients_of_their_forward_derivatives(problem):
    pytest.importorskip("daesolve_problems")
    apart, way, _ = difference(problem, 0.02)
    assert apart < 1e-10
    assert way == "backwards"


@pytest.mark.slow
def test_a_run_by_a_coarser_solver_goes_back_to_its_own_accuracy():
    place, options = ds.analysis.Objective(end=lambda now: now["x"]), {"guess": {"y": -0.9}}
    start, by = {"x": 0.4}, ["gravity", "length"]
    exact = ds.analysis.gradient(pendulum(), place, 2.0, start, by=by, **options)
    coarse = ds.analysis.gradient(
        pendulum(), place, 2.0, start, by=by, formulation=ds.Index2(), **options
    )
    assert "carried forwards" not in " ".join(coarse.notes)
    # The run takes some hundred steps at a tolerance of 1e-10.
    assert coarse.vector == pytest.approx(exact.vector, rel=1e-7)
