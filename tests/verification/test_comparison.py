"""Formulations times solvers times tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.formulations import Formulation
from daesolve.core.results.trajectory.results import EventRecord, Outcome
from daesolve.core.solvers import SegmentEnd, Solver
from daesolve.errors import OutOfRangeError, UnknownNameError, UnsupportedError
from daesolve.verification.attempts import attempts, distinct_names, with_tolerance
from daesolve.verification.comparison import ComparedRun
from daesolve.verification.second_run import compare_resets, difference
from tests.billiards import sinai_billiard
from tests.contact.friction.test_sliding import BACKWARDS, timed_prism
from tests.core.equations.test_redundancy import floors, point, rubbing
from tests.hybrid_systems import bounces, bouncing_ball
from tests.reference import sinai_billiard as billiard
from tests.reference.pendulum import pendulum_states
from tests.systems import oscillator, pendulum

START = {"x": 1.0, "x_dot": 0.0}
RELEASE = {"x": -1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


@dataclass(frozen=True)
class Stubborn(Formulation):
    """A formulation that nothing can take."""

    name = "stubborn"

    def chosen_rates(self, dynamics: Any, default: float) -> dict[str, float | None]:
        raise UnsupportedError("stubborn goes with nothing")

    def problem(self, *args: Any, **rest: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Broken(Solver):
    """A backend that raises what it should have reported."""

    error: type[BaseException] = RuntimeError
    name = "broken"

    def refusal(self, problem: Any) -> str | None:
        return None

    def tolerances(self) -> dict[str, float]:
        return {}

    def refined(self) -> Solver:
        return self

    def segment(self, *args: Any) -> SegmentEnd:
        raise self.error("out of order")


def runs_of(told: ds.Comparison, pair: str) -> tuple[ComparedRun, ...]:
    return told.pairs[pair]


def test_errors_are_those_of_the_closed_form_and_shrink_with_the_tolerance():
    """x = cos t: the error against the quadruple run is the error against the cosine."""
    at = np.linspace(0.0, 10.0, 11)
    told = ds.compare(
        oscillator(),
        [ds.Feedback(rates={"energy": None})],
        [ds.Dop853(), ds.Cvodes()],
        10.0,
        START,
        tolerances=[1e-5, 1e-8, 1e-11],
        at=at,
    )
    assert told.standard.kind == "quad"
    assert [run.tolerance for run in told.runs] == 2 * [1e-5, 1e-8, 1e-11]
    for runs in told.pairs.values():
        errors = [run.error for run in runs]
        assert errors[0] > 10 * errors[1] > 100 * errors[2] > 0
        for run in runs:
            exact = np.max(np.abs(run.trajectory["x"] - np.cos(at)))
            assert run.difference.by_state["x"] == pytest.approx(exact, rel=1e-3, abs=1e-15)
            assert run.digits == pytest.approx(-np.log10(run.error))


def test_every_formulation_meets_a_solver_or_is_refused_and_what_meets_agrees():
    told = ds.compare(
        pendulum(), ["feedback", Stubborn()], ["taylor", "dop853"], 2.0, RELEASE, tolerances=[1e-10]
    )
    assert list(told.pairs) == ["feedback + taylor", "feedback + dop853"]
    with pytest.raises(UnknownNameError, match="did you mean 'feedback \\+ taylor'"):
        told.pairs["feedback + tailor"]
    assert [(r.formulation, r.solver, r.tolerance) for r in told.refused] == [
        ("stubborn", "taylor", None),
        ("stubborn", "dop853", None),
    ]
    assert told.refused[0].reason == "stubborn goes with nothing"
    (agreement,) = told.agreement
    assert (agreement.first, agreement.second) == ("feedback + taylor", "feedback + dop853")
    # each is within its own error of the truth
    assert agreement.difference.largest <= sum(run.error for run in told.runs)
    assert agreement.difference.largest < 1e-8


def test_cost_and_drift_are_those_of_the_run():
    told = ds.compare(pendulum(), ["feedback"], ["taylor"], 2.0, RELEASE)
    (run,) = told.runs
    assert run.tolerance == ds.Taylor().tolerance
    assert run.trajectory.statistics.steps > 10
    assert run.residual.name in ("rod", "rod_dot")
    assert run.residual.size == run.trajectory.drift[run.residual.name].max_relative
    assert run.invariant.name == "energy"
    assert len(run.trajectory.times) == 21


def test_end_states_may_be_the_reference():
    exact = pendulum_states([2.0], -1.0, 0.0)
    told = ds.compare(
        pendulum(),
        ["feedback"],
        ["taylor", "dop853"],
        2.0,
        RELEASE,
        tolerances=[1e-6],
        at=[1.0],
        reference={name: exact[name][0] for name in ("x", "y")},
    )
    assert told.standard.kind == "given"
    for run in told.runs:
        right = max(abs(run.trajectory.end_state[name] - exact[name][0]) for name in ("x", "y"))
        size = max(abs(exact[name][0]) for name in ("x", "y"))
        assert run.error == pytest.approx(right / size)
        assert set(run.difference.by_state) == {"x", "y"}


def test_a_trajectory_may_be_the_reference():
    standard = ds.solve(pendulum(), 2.0, RELEASE, at=[1.0, 2.0])
    told = ds.compare(
        pendulum(), ["feedback"], ["taylor"], 2.0, RELEASE, at=[2.0], reference=standard
    )
    assert told.runs[0].error == 0.0
    assert told.runs[0].digits == pytest.approx(15.95, abs=0.01)


def test_a_run_that_ended_before_any_sample_of_the_reference_has_no_error():
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": x.x**2})
    told = ds.compare(system, ["feedback"], ["taylor"], 2.0, {"x": 1.0}, reference={"x": 1.0})
    (run,) = told.runs
    assert run.outcome is Outcome.FAILED
    assert "t = 1" in run.message
    assert run.error is None


def test_where_quadruple_precision_cannot_be_the_tightest_run_is_the_reference():
    import casadi as ca

    q = ds.coordinates(x="m")
    potential = ds.smooth(ca.fabs(q.x) ** 3)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=potential)
    told = ds.compare(
        system, ["feedback"], ["taylor", "dop853"], 2.0, START, tolerances=[1e-6, 1e-10]
    )
    assert [entry.solver for entry in told.refused] == ["taylor"]
    assert told.standard.kind == "run"
    assert "feedback + dop853 at 1.0e-10" in told.standard.note
    assert "fabs" in told.standard.note
    loose, tight = runs_of(told, "feedback + dop853")
    assert 0.0 < loose.error < 1e-3
    assert tight.error is None
    with pytest.raises(UnsupportedError, match="fabs"):
        ds.compare(system, ["feedback"], ["dop853"], 2.0, START, reference="quad")


def test_a_tolerance_that_a_solver_does_not_have_is_refused_alone():
    told = ds.compare(
        oscillator(), ["feedback"], ["taylor", "dop853"], 1.0, START, tolerances=[1e-16, 1e-8]
    )
    assert [(run.solver, run.tolerance) for run in told.runs] == [
        ("taylor", 1e-16),
        ("taylor", 1e-8),
        ("dop853", 1e-8),
    ]
    (refusal,) = told.refused
    assert (refusal.solver, refusal.tolerance) == ("dop853", 1e-16)
    assert "rtol is 1e-16" in refusal.reason


def test_what_a_backend_raises_costs_no_other_run():
    told = ds.compare(oscillator(), ["feedback"], [Broken(), ds.Taylor()], 1.0, START)
    broken, good = told.runs
    assert broken.outcome is Outcome.FAILED
    assert broken.message == "RuntimeError: out of order"
    assert broken.error is None
    assert good.outcome is Outcome.COMPLETED
    assert "out of order" in str(told)


def test_an_interruption_keeps_what_was_computed():
    told = ds.compare(
        oscillator(),
        ["feedback"],
        [ds.Taylor(), Broken(KeyboardInterrupt), ds.Dop853()],
        1.0,
        START,
    )
    assert told.interrupted
    assert [run.solver for run in told.runs] == ["taylor"]
    assert told.standard.kind == "run"
    assert "interrupted" in told.standard.note


def test_a_request_that_no_pair_can_run_is_refused_as_by_solve():
    with pytest.raises(ds.DaesolveError, match="'rod'"):
        ds.compare(pendulum(), ["feedback"], ["taylor"], 1.0, {**RELEASE, "x": -2.0})


def test_nothing_is_left_when_nothing_meets():
    told = ds.compare(oscillator(), [Stubborn()], ["taylor"], 1.0, START, reference={"x": 0.5})
    assert not told.runs
    assert len(told.refused) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"formulations": ["feedbak"]}, "did you mean 'feedback'"),
        ({"solvers": ["tailor"]}, "did you mean 'taylor'"),
        ({"formulations": []}, "at least one"),
        ({"tolerances": [1e-6, -1.0]}, "-1.0"),
        ({"reference": "exact"}, "must be 'quad'"),
        ({"reference": {"speed": 1.0}}, "state in the reference 'speed'"),
    ],
)
def test_what_is_wrong_is_reported_before_anything_runs(change, sentence):
    request = {"formulations": ["feedback"], "solvers": [Broken()], **change}
    with pytest.raises(ds.DaesolveError, match=sentence):
        ds.compare(oscillator(), until=1.0, initial=START, **request)


def test_progress_counts_the_runs_and_the_reference():
    told = []
    ds.compare(
        oscillator(), ["feedback"], ["taylor"], 1.0, START, tolerances=[1e-6, 1e-9],
        progress=lambda *news: told.append(news),
    )  # fmt: skip
    assert told == [
        (0, 2, "feedback + taylor, tolerance 1e-06"),
        (1, 2, "feedback + taylor, tolerance 1e-09"),
        (2, 2, "reference in quadruple precision"),
    ]


def test_an_absolute_tolerance_keeps_its_ratio():
    assert with_tolerance(ds.Cvodes(method="bdf"), 1e-6) == ds.Cvodes(1e-6, 1e-8, method="bdf")
    assert with_tolerance(ds.Dop853(rtol=1e-9, atol=1e-9), 1e-4) == ds.Dop853(rtol=1e-4, atol=1e-4)
    assert with_tolerance(ds.Taylor(code="compact"), 1e-9) == ds.Taylor(1e-9, "compact")


def test_a_fixed_step_runs_once():
    planned, refused = attempts(["feedback"], [ds.Dop853(fixed_step=0.1)], [1e-6, 1e-8])
    assert [attempt.tolerance for attempt in planned] == [None]
    assert not refused


def test_what_shares_a_name_is_told_apart_by_its_settings():
    assert distinct_names([ds.Feedback(rate=1.0), ds.Feedback(rate=50.0), Stubborn()]) == [
        "feedback(rate=1.0)",
        "feedback(rate=50.0)",
        "stubborn",
    ]
    assert distinct_names([ds.Taylor(), ds.Taylor()]) == ["taylor #1", "taylor #2"]


def test_a_case_compares_with_its_own_start_rate_and_horizon():
    pytest.importorskip("daesolve_problems")
    case = ds.problem("pendulum").case(gravity=9.81)
    told = case.compare(["feedback"], ["taylor"], 1.0, initial={"x": -0.6, "y": -0.8})
    assert told.runs[0].trajectory["x"][0] == pytest.approx(-0.6, abs=1e-15)
    assert told.runs[0].error < 1e-14


# -- runs with resets -----------------------------------------------------------------------------


def bounce(k):
    """When the ball of `bouncing_ball`, dropped from 1 m, bounces for the k-th time."""
    return bounces(0.9, 1.0, k)[0][-1]


def test_a_sample_between_the_bounces_of_two_runs_is_left_out_and_counted():
    """There the velocity of one has turned and that of the other has not."""
    drop, at = {"y": 1.0, "y_dot": 0.0}, [0.1, bounce(1), 1.0, bounce(4), 3.0]
    loose = ds.Dop853(rtol=1e-7, atol=1e-9)
    told = ds.compare(bouncing_ball(), ["feedback"], [loose, ds.Taylor()], 3.0, drop, at=at)
    coarse, fine = told.runs
    assert coarse.difference.omitted == 2
    assert coarse.difference.resets.same == coarse.difference.resets.count == 4
    assert coarse.difference.resets.apart_from is None
    assert 0.0 < coarse.difference.resets.farthest < 1e-5
    assert coarse.error < 1e-4
    assert fine.error < 1e-14
    assert "all runs had the same 4 resets" in told.standard.note
    assert "up to 2 samples of a run" in told.standard.note


@pytest.mark.slow
def test_runs_that_met_other_events_are_reported_with_the_time_from_which():
    """A beam widens by 2e17 in 52 s: in doubles the motion comes to miss a disc that it hits."""
    start = dict(zip(("x", "y", "x_dot", "y_dot"), billiard.START, strict=True))
    system = sinai_billiard(billiard.RADIUS)
    told = ds.compare(system, ["feedback"], [ds.Taylor()], 52.0, start, at=[10.0, 52.0])
    resets = told.runs[0].difference.resets
    with mpmath.workdps(50):
        exact = list(islice(billiard.hits(), resets.standard_count))
    assert [event.name for event in told.standard.samples.events] == [hit.what for hit in exact]
    widened = np.cumprod([float(hit.widened) for hit in exact])
    assert np.all(widened[resets.same :] > 1e14)
    assert resets.apart_from <= float(exact[resets.same].time)
    assert told.standard.note.endswith(
        f"{resets.count} resets in the run and {resets.standard_count} in the other, "
        f"different from t = {resets.apart_from:.10g} s on"
    )
    assert told.runs[0].error > 0.1


def event(time, name="hit", after=True):
    return EventRecord(time, name, {}, {} if after else None)


def run_of(times, events, end=10.0):
    states = {"x": np.zeros(len(times))}
    return SimpleNamespace(times=np.array(times), states=states, events=events, end_time=end)


@pytest.mark.parametrize(
    ("first", "second", "same", "apart"),
    [
        ([event(1.0), event(2.0)], [event(1.1), event(2.1)], 2, None),
        ([event(1.0), event(2.0)], [event(1.1), event(2.1, "other")], 1, 2.0),
        ([event(1.0), event(2.0)], [event(1.1)], 1, 2.0),
        # it may lie beyond the end in the other run
        ([event(1.0), event(9.5)], [event(1.1)], 1, None),
        # so late that it is next to the following one: the same in name alone
        ([event(1.0), event(2.0)], [event(2.0), event(3.0)], 1, 2.0),
        # two at one instant come in any order
        ([event(1.0, "a"), event(1.0, "b")], [event(1.0, "b"), event(1.0, "a")], 1, None),
        # what resets nothing does not matter
        ([event(1.0), event(1.5, after=False)], [event(1.0)], 1, None),
    ],
)
def test_resets_are_compared_one_by_one(first, second, same, apart):
    found, _ = compare_resets(run_of([], first), run_of([], second))
    assert (found.same, found.apart_from) == (same, apart)


def test_where_every_sample_is_at_a_reset_nothing_is_compared():
    run, other = run_of([1.0], [event(1.0)]), run_of([1.0], [event(1.0)])
    assert difference(run, other, {"x": "m"}) is None


@pytest.mark.slow
def test_a_shared_load_is_divided_as_asked_in_every_run_and_in_the_reference():
    """Shares of the weight by 1 : 3, friction 0.1 and 0.3, over 1 s."""
    sliding = {"x": 0.0, "y": 0.0, "x_dot": 5.0}
    told = ds.compare(
        point(floors, rubbing),
        ["feedback"],
        ["taylor", "dop853"],
        1.0,
        sliding,
        redundant="minimum-norm",
        redundant_weights={"again": 3.0},
    )
    exact = 5.0 - 9.81 * (0.1 * 0.25 + 0.3 * 0.75)
    assert told.standard.kind == "quad"
    assert told.standard.samples.states["x_dot"][-1] == pytest.approx(exact, abs=1e-14)
    assert len(told.runs) == 2
    for run in told.runs:
        assert run.trajectory.end_state["x_dot"] == pytest.approx(exact, abs=1e-9)


def test_a_budget_holds_for_each_run_and_not_for_the_reference():
    told = ds.compare(pendulum(), ["feedback"], ["taylor"], 1.0, RELEASE, max_evaluations=100)
    assert told.runs[0].outcome is Outcome.FAILED
    assert "budget of 100" in told.runs[0].message
    assert told.standard.kind == "quad"
    assert told.standard.samples.end_time == 1.0


@pytest.mark.slow
def test_how_to_go_on_with_other_supports_is_the_same_for_every_run():
    """One of three answers ends at 0.5 s, as in `test_sliding`: another goes on."""
    ended, gone_on = (
        ds.compare(
            timed_prism(-13.0, 10.0), ["feedback"], ["dop853"], 0.6, BACKWARDS, **chosen
        ).runs[0]
        for chosen in ({}, {"variant_policy": "homotopy"})
    )
    assert ended.outcome is Outcome.DEGENERATE
    assert ended.trajectory.end_time == pytest.approx(0.5, abs=1e-12)
    assert gone_on.outcome is Outcome.COMPLETED


def test_a_comparison_takes_what_solve_takes_but_what_it_decides_itself():
    for name in ("formulation", "solver", "rtol", "atol"):
        with pytest.raises(UnsupportedError, match=f"compare takes no '{name}': give a list of"):
            ds.compare(pendulum(), ["feedback"], ["taylor"], 1.0, RELEASE, **{name: 1e-3})
    with pytest.raises(UnknownNameError, match="unknown option of compare 'verify'"):
        ds.compare(pendulum(), ["feedback"], ["taylor"], 1.0, RELEASE, verify=True)


@pytest.mark.parametrize("one", ["feedback", ds.Feedback()])
def test_what_is_compared_is_a_list(one):
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)
    with pytest.raises(UnsupportedError, match="formulations must be a list"):
        ds.compare(free, one, ["taylor"], until=1.0)
    with pytest.raises(UnsupportedError, match="solvers must be a list"):
        ds.compare(free, ["feedback"], "taylor", until=1.0)


@pytest.mark.slow
def test_where_nothing_is_named_the_usual_pairs_are_compared_at_five_tolerances():
    found = ds.compare(pendulum(), until=0.5, initial=RELEASE)
    explicit = [
        f"{name} + {solver}"
        for name in ("feedback", "null-space")
        for solver in ("taylor", "dop853")
    ]
    implicit = [f"{name} + idas" for name in ("index-1", "index-2", "ggl")]
    assert list(found.pairs) == [*explicit, *implicit]
    for runs in found.pairs.values():
        assert [run.tolerance for run in runs] == [1e-4, 1e-6, 1e-8, 1e-10, 1e-12]
    assert found.refused == ()


def test_a_comparison_needs_an_end():
    with pytest.raises(OutOfRangeError, match="until is missing"):
        ds.compare(pendulum(), initial=RELEASE)
