"""The solver that suits the equations is chosen, at a rate where every method works."""

from __future__ import annotations

import math

import pytest

import daesolve as ds
from daesolve.core.equations.elimination.saddle import PROXIMAL_EPSILON
from daesolve.core.formulations import Feedback
from daesolve.core.preparation.choosing import (
    FEEDBACK_PER_STEP,
    STABLE,
    Stiffness,
    automatic_rate,
    choose_solver,
    passing_rate,
    stiffness,
    stiffness_warning,
)
from daesolve.core.preparation.probing import run_probe
from daesolve.core.preparation.sizes import Probe
from daesolve.core.solvers import RadauIIA, Solver
from tests.core.solvers.test_stiff import RATE, block
from tests.systems import four_bar_state, four_bar_windows, oscillator, pendulum, prepared_run

EASY = ds.Lsoda(rtol=1e-6)
"""What prepares a run without a look at stiffness being of consequence."""


def seen(until: float, rate: float = RATE) -> Stiffness:
    """What the Jacobian at the start says of the block on the belt."""
    run = prepared_run(block(), until, {"x_dot": 0.0}, parameters={"mass": 1e3 / rate}, solver=EASY)
    found = stiffness(run.problem, run.values, (0.0, run.initial), until, 10.0, (1, 1))
    assert found is not None
    return found


def chosen(asked: Solver | None, found: Stiffness | None) -> tuple[Solver, list[str]]:
    notes: list[str] = []
    problem = prepared_run(block(), 1.0, {"x_dot": 0.0}, solver=EASY).problem
    return choose_solver(asked, Feedback(), problem, 100.0, notes, found), notes


@pytest.mark.slow
def test_the_fastest_decay_is_the_slope_of_friction_over_the_mass() -> None:
    found = seen(2.0)
    assert found.decay == pytest.approx(RATE, rel=1e-9)
    assert found.steps == pytest.approx(RATE * 2.0 / 6.4, rel=1e-9)


@pytest.mark.slow
def test_stiff_equations_go_to_radau_and_the_note_says_why() -> None:
    solver, notes = chosen(None, seen(2.0))
    assert isinstance(solver, RadauIIA)
    assert notes == [
        "stiff: decays at 1e+06 1/s, the motion at 10 1/s, over 2 s; solver radau with the exact "
        "Jacobian"
    ]


def test_a_run_too_short_for_many_steps_is_not_stiff() -> None:
    assert not seen(1e-3).recognised


@pytest.mark.slow
def test_an_oscillation_is_no_stiffness() -> None:
    run = prepared_run(oscillator(), 1e6, {"x_dot": 1.0})
    found = stiffness(run.problem, run.values, (0.0, run.initial), 1e6, 10.0, (1, 1))
    assert found is not None
    assert not found.recognised
    assert not isinstance(chosen(None, found)[0], RadauIIA)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [ds.Dop853(), ds.Cvodes()], ids=lambda solver: solver.name)
def test_an_explicit_solver_is_warned_of_with_its_steps(solver: Solver) -> None:
    taken, notes = chosen(solver, seen(2.0))
    assert taken is solver
    assert notes == [
        f"the equations are stiff for {solver.name}: decays at 1e+06 1/s, the motion at 10 1/s, "
        "over 2 s; stability alone requires about 3e+05 steps; radau needs far fewer"
    ]


@pytest.mark.slow
def test_an_implicit_solver_is_taken_without_a_word() -> None:
    assert chosen(ds.Cvodes(method="bdf"), seen(2.0))[1] == []


def probe_of(prepared) -> Probe:
    return run_probe(
        prepared.problem, prepared.values, prepared.start, prepared.start_time, prepared.until
    )


@pytest.fixture(scope="module")
def swing() -> Probe:
    return probe_of(prepared_run(pendulum(), 20.0, {"x": -1.0}))


@pytest.fixture(scope="module")
def windows() -> Probe:
    return probe_of(
        prepared_run(four_bar_windows(2), 10.0, four_bar_state(2), rank_loss="pass",
                     formulation=ds.Feedback(rate=0.0))
    )  # fmt: skip


def test_the_rate_is_that_of_a_few_steps(swing):
    rate, reason = automatic_rate(swing, passes=False)
    assert rate * swing.typical_step == pytest.approx(FEEDBACK_PER_STEP)
    # measured on this pendulum with DOP853 at 1e-12: 1 to 10 are right to 1e-10 at no more than
    # twice the price of none, 100 costs 27 times as much
    assert 1.0 <= rate <= 10.0
    assert "median step" in reason


@pytest.mark.slow
def test_the_rate_scales_as_one_over_time():
    """The same pendulum under a hundred times the gravity moves ten times as fast."""
    light = probe_of(prepared_run(pendulum(), 20.0, {"x": -1.0}))
    heavy = probe_of(
        prepared_run(pendulum(), 2.0, {"x": -1.0}, parameters={"gravity": 981.0})
    )  # fmt: skip
    ratio = automatic_rate(heavy, passes=False)[0] / automatic_rate(light, passes=False)[0]
    # steps in the tolerance's absolute part differ a little
    assert ratio == pytest.approx(10.0, rel=0.5)


def test_it_is_positive_backwards_as_well():
    backwards = probe_of(prepared_run(pendulum(), -20.0, {"x": -1.0}))
    assert automatic_rate(backwards, passes=False)[0] > 0.0


def test_passing_needs_errors_to_die_between_passages(windows):
    """The bars lie first at 0.71 s, then every 0.4 to 1.5 s; A02 works from 25 to 1000."""
    decay = passing_rate(windows) * windows.between
    assert (1.0 + decay) * math.exp(-decay) == pytest.approx(PROXIMAL_EPSILON, rel=1e-9)
    assert 0.3 <= windows.between <= 0.72
    rate, reason = automatic_rate(windows, passes=True)
    assert rate == passing_rate(windows)
    assert 25.0 <= rate <= 1000.0
    assert "lose rank" in reason
    assert automatic_rate(windows, passes=False)[0] < rate


def test_a_system_without_weak_grip_needs_no_rate_for_passing(swing):
    assert passing_rate(swing) == 0.0


def test_few_steps_close_to_a_singular_position_do_not_make_the_typical_step(windows):
    """Most steps are microseconds; the motion's own are tens of milliseconds."""
    assert 0.02 <= windows.typical_step <= 0.2


def test_a_rate_beyond_the_stability_bound_is_reported_with_the_numbers(swing):
    rate = 2.0 * STABLE["dop853"] / 0.01
    told = stiffness_warning(ds.Dop853(fixed_step=0.01), rate, swing)
    assert told is not None
    for number in (f"{rate:.4g}", "12.8", "0.01", "6.4"):
        assert number in told
    assert "unstable" in told
    assert stiffness_warning(ds.Dop853(fixed_step=0.001), rate, swing) is None


def test_the_reported_bound_is_where_a_fixed_step_turns_unstable():
    """Errors grow by feedback itself beyond the bound, and die below it."""

    def drift(rate_times_step: float) -> float:
        step = 0.01
        run = ds.solve(
            pendulum(), 2.0, {"x": -1.0}, solver=ds.Dop853(fixed_step=step),
            formulation=ds.Feedback(rate=rate_times_step / step, rates={"energy": None}),
        )  # fmt: skip
        return run.drift["rod"].max_relative

    assert drift(0.85 * STABLE["dop853"]) < 1e-2
    assert not drift(1.15 * STABLE["dop853"]) < 1e2


@pytest.mark.parametrize("solver", [ds.RadauIIA(), ds.Lsoda()])
def test_implicit_methods_are_not_warned_of(solver, swing):
    assert stiffness_warning(solver, 1e9, swing) is None


def test_the_warning_is_a_note_of_the_run():
    run = ds.solve(pendulum(), 1.0, {"x": -1.0}, formulation=ds.Feedback(rate=1e4))
    assert any("stiff for taylor" in note for note in run.description["notes"])
    usual = ds.solve(pendulum(), 1.0, {"x": -1.0})
    assert not any("stiff" in note for note in usual.description["notes"])


def test_a_relay_of_a_stiff_lag_is_left_to_an_explicit_method_and_a_lag_without_resets_is_not():
    """It switches each millisecond, where an implicit method would begin again each time."""
    s, d = ds.states(x="", y=""), ds.discrete(on=1.0)
    rate = {"x": s.y, "y": (d.on - s.y) / 1e-5}
    events = [
        ds.Event("up", s.x - 1e-3, ds.RISING, ds.Reset({"on": -1.0})),
        ds.Event("down", s.x + 1e-3, ds.FALLING, ds.Reset({"on": 1.0})),
    ]
    for resets, solver in ((events, "taylor"), ([], "radau")):
        system = ds.ControlSystem(s, rate, discrete=d, events=resets)
        prepared = prepared_run(system, 1.0, {"x": 0.0})
        assert prepared.solver.name == solver
