"""Runs end where constraints come to depend on each other, and tell so; near by they are right."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.storage import Stored
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.effort import CRAWL, MANY, Effort
from daesolve.core.run.integration.watches.rank_watch import ROUNDING_UNIT, STOP, RankWatch
from daesolve.core.run.integration.watches.watch import LEAST_TOLERANCE
from daesolve.core.run.solving.stored_runs import Destination
from daesolve.errors import DegenerateConstraintError, OutOfRangeError
from tests.bogie_cart import LIMIT, cart, collapsing, farthest, near_miss
from tests.contact_systems import ball
from tests.systems import WITHOUT_ASSIMULO, pendulum, prepared_run

ASSIMULO = pytest.mark.skipif(WITHOUT_ASSIMULO, reason="Assimulo is not installed")
WARNED = (ROUNDING_UNIT / LEAST_TOLERANCE) ** 0.5
"""sigma at which eliminated reactions cost the digits of a tolerance of 1e-10: 1.05e-3."""


def collapse(formulation=None, solver=None, until=0.5, **rest):
    system = rest.pop("system", None) or cart()
    return ds.solve(
        system,
        until,
        collapsing(),
        start_time=-1.0,
        formulation=formulation,
        solver=solver,
        at=rest.pop("at", [-0.5, -0.1, -0.01]),
        **rest,
    )


def judged(run, most=5000, near=5e-3):
    assert run.outcome is ds.Outcome.DEGENERATE
    assert -near < run.end_time < 0.0
    assert abs(run.end_state["psi_dot"] - LIMIT) < 1e-3
    assert run.statistics.rhs_evaluations < most
    assert run.degeneracy is not None
    assert run.degeneracy.goals == ("skate_1", "skate_2")
    (event,) = run.events
    assert event.name == "degenerate"
    assert event.detail == run.degeneracy.state


# -- the collapse, with every solver -------------------------------------------------------------


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    "solver",
    [
        ds.Taylor(),
        ds.Dop853(),
        ds.Cvodes(),
        ds.Cvodes(method="bdf"),
        ds.RadauIIA(),
        ds.Lsoda(),
        ds.solvers.SundaeCvode(),
        ds.solvers.SundaeCvode(method="bdf"),
    ],
    ids=lambda solver: f"{solver.name}-{getattr(solver, 'method', '')}",
)
def test_a_collapse_ends_the_run_with_every_solver(solver):
    # Five stages take steps of some 3e-3 s here, and the end is a step before rank is doubted,
    # which is at t = -4e-3 s where sigma is 1.1e-3.
    judged(collapse(solver=solver), near=1e-2 if isinstance(solver, ds.RadauIIA) else 5e-3)


@pytest.mark.long_beyond(3)
@pytest.mark.slow
@pytest.mark.parametrize("formulation", [ds.NullSpace(), ds.Projected()], ids=lambda f: f.name)
@pytest.mark.parametrize(
    "solver",
    [ds.Taylor(), ds.Dop853(), ds.Cvodes(), ds.RadauIIA(), ds.Lsoda(), ds.solvers.SundaeCvode()],
    ids=lambda solver: solver.name,
)
def test_a_collapse_ends_the_run_in_other_formulations(formulation, solver):
    # A projection costs more; with five stages the last step before the end may be 1e-2 s long.
    judged(collapse(formulation, solver), most=6000, near=1e-2)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    "formulation",
    [ds.Index1(), ds.Index2(), ds.Index3(), ds.GGL()],
    ids=lambda formulation: formulation.name,
)
def test_a_collapse_ends_a_run_with_multipliers(formulation):
    judged(collapse(formulation, ds.solvers.SundaeIda()))


@pytest.mark.slow
@pytest.mark.parametrize("formulation", [ds.Index1(), ds.Index2()], ids=lambda f: f.name)
def test_a_collapse_ends_a_run_with_idas(formulation):
    # In index 2 IDAS fails before rank is lost, since Newton's iteration does not converge
    judged(collapse(formulation, ds.Idas()), most=40_000)


@pytest.mark.long_beyond(3)
@ASSIMULO
@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "solver"),
    [
        (ds.Feedback(), "AssimuloCvode"),
        (ds.Index1(), "AssimuloIda"),
        (ds.Index1(), "AssimuloRadau5"),
        (ds.Index2(), "AssimuloIda"),
        (ds.Index3(), "AssimuloIda"),
        (ds.GGL(), "AssimuloRadau5"),
        (ds.Overdetermined(), "AssimuloOdassl"),
    ],
    ids=lambda entry: getattr(entry, "name", entry),
)
def test_a_collapse_ends_a_run_with_assimulo(formulation, solver):
    # Radau5 differences Jacobians: 5300 to t = -0.0038 alone
    judged(collapse(formulation, getattr(ds.solvers, solver)()), most=8000)


def test_independent_velocities_that_are_tangent_lead_nearer():
    run = collapse(ds.NullSpace(), system=cart(independent=True))
    judged(run)
    assert run.end_time > -1e-4
    assert run.degeneracy is not None
    assert run.degeneracy.threshold == pytest.approx(
        STOP * ROUNDING_UNIT / LEAST_TOLERANCE, rel=1e-2
    )


# -- reports --------------------------------------------------------------------------------------


def test_degeneracy_tells_time_state_goals_and_the_combination_that_vanishes():
    run = collapse(ds.Feedback(), ds.Dop853())
    found = run.degeneracy
    assert found is not None
    assert found.threshold == pytest.approx(STOP * WARNED, rel=1e-3)  # u / sigma besides
    assert found.singular_value < found.threshold
    assert run.end_time < found.time < 0.0
    # by hand: rows (cos, sin, -arm cos) over (v_1, v_2, psi_dot) in the metric of the mass matrix
    mass = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.6], [0.0, 0.6, 2.1 - 2 * 0.3]])
    angles = np.array([found.state["theta_1"], found.state["theta_2"]])
    rows = np.column_stack(
        [np.cos(angles), np.sin(angles), -np.array([1.0, -0.8]) * np.cos(angles)]
    )
    scaled = np.linalg.solve(np.linalg.cholesky(mass), rows.T).T
    scaled /= np.linalg.norm(scaled, axis=1)[:, None]
    null = np.array([found.null_vector["skate_1"], found.null_vector["skate_2"]])
    smallest = np.linalg.svd(scaled, compute_uv=False)[-1]
    assert np.linalg.norm(null) == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(null @ scaled) == pytest.approx(smallest, rel=1e-6)
    # 36 % of the rows' lengths differ: the usual size is of order one
    assert 0.3 * smallest < found.singular_value < 3.0 * smallest
    assert "'skate_1', 'skate_2'" in run.message
    assert "rank_loss = 'pass'" in run.message


def test_what_came_before_is_kept():
    run = collapse()
    assert list(run.times) == [-0.5, -0.1, -0.01]
    assert run["psi_dot"][-1] == pytest.approx(-1.0769481416989677, abs=1e-9)
    assert np.all(np.isfinite(run.reactions["skate_1"]))


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Cvodes()])
def test_the_drift_is_that_of_the_run_which_ends_there_by_itself(solver):
    """The steps are the same but for the last; that which led beyond the end is taken back."""
    run = collapse(solver=solver)
    other = collapse(solver=solver, until=run.end_time)
    assert other.outcome is ds.Outcome.COMPLETED
    for name, drift in run.drift.items():
        assert drift.max_relative <= 1.5 * other.drift[name].max_relative


def test_the_rank_loss_raises_where_that_is_asked_for():
    with pytest.raises(DegenerateConstraintError, match="'skate_1', 'skate_2'") as caught:
        collapse(rank_loss="raise")
    run = caught.value.run
    assert isinstance(run, ds.Trajectory)
    judged(run)


def test_a_run_that_completes_raises_nothing():
    run = collapse(until=-0.1, rank_loss="raise", at=[-0.1])
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.degeneracy is None


def test_a_stored_run_keeps_where_it_became_degenerate(tmp_path):
    run = collapse(store=tmp_path / "run")
    assert run.degeneracy is not None
    again = ds.Trajectory.from_run(tmp_path / "run")
    assert again.degeneracy == run.degeneracy
    result = Stored(tmp_path / "run").result
    assert result is not None
    assert result["degeneracy"]["goals"] == ["skate_1", "skate_2"]


@pytest.mark.slow
def test_a_run_that_is_killed_before_its_result_tells_the_same(tmp_path):
    whole = collapse()
    run = collapse(store=Destination(tmp_path / "run"))
    (tmp_path / "run/result.json").unlink()
    again = ds.resume(tmp_path / "run", source=cart())
    assert again.degeneracy == run.degeneracy == whole.degeneracy
    assert again.end_state == whole.end_state


# -- near misses ---------------------------------------------------------------------------------


def passed(distance, formulation, solver=None, **rest):
    start, end = near_miss(distance)
    system = cart(independent=isinstance(formulation, ds.NullSpace))
    run = ds.solve(
        system,
        0.3,
        start,
        start_time=-0.3,
        formulation=formulation,
        solver=solver,
        at=[0.3],
        **rest,
    )
    return run, end


def test_a_miss_by_a_hundredth_passes_with_the_default_options():
    run, end = passed(1e-2, None)
    assert run.outcome is ds.Outcome.COMPLETED
    assert farthest(run.end_state, end) < 1e-9
    assert not any("depending" in note for note in run.description["notes"])


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("distance", [1e-3, 1e-4, 1e-5, 1e-6])
def test_independent_velocities_pass_near_misses(distance):
    run, end = passed(distance, ds.NullSpace())
    assert run.outcome is ds.Outcome.COMPLETED
    assert farthest(run.end_state, end) < 1e-9


def test_a_warning_comes_before_the_end():
    run, end = passed(0.6e-3, ds.Feedback())
    assert run.outcome is ds.Outcome.COMPLETED
    assert farthest(run.end_state, end) < 1e-8
    (note,) = [note for note in run.description["notes"] if "almost depend on each other" in note]
    assert "'skate_1', 'skate_2'" in note


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("distance", [1e-4, 1e-6])
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()], ids=lambda solver: solver.name)
def test_feedback_stops_where_it_would_be_wrong(distance, solver):
    run, _ = passed(distance, ds.Feedback(), solver)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.degeneracy is not None
    assert -5e-3 < run.end_time < 0.0


def test_a_start_that_is_too_near_ends_at_once():
    start, _ = near_miss(1e-5, span=1e-9)
    run = ds.solve(cart(), 0.3, start, at=[0.3])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.end_time == 0.0
    assert run.degeneracy is not None
    assert run.degeneracy.singular_value < STOP * WARNED


# -- judged by made-up steps ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared():
    return prepared_run(cart(), 1.0, near_miss(0.3)[0])


def watch(prepared, offsets, blocks=1):
    """Judge steps in which both skates turn through the line between them, theta = pi/2 + c."""
    ranks = RankWatch(prepared.dynamics, prepared.problem, prepared.values, prepared.samples, 1e-10)
    states = np.zeros((len(offsets), 10))
    states[:, 3] = np.pi / 2 + np.array(offsets)
    states[:, 4] = np.pi / 2 + 0.5 * np.array(offsets)
    times = np.linspace(0.0, 1.0, len(offsets))
    first = 0
    for part in np.array_split(np.arange(len(offsets)), blocks):
        block = StepBlock(times[part], states[part])
        table = np.array([prepared.problem.residuals(t, x, prepared.values)[0]
                          for t, x in zip(block.times, block.states, strict=True)])  # fmt: skip
        found = ranks.observe(block, table[:, len(prepared.problem.watched) + 1 :, 0],
                              prepared.values)  # fmt: skip
        if found is not None:
            return first + found[0], found[1]
        first += len(part)
    return None


@pytest.mark.parametrize("blocks", [1, 2, 3, 8])
def test_a_step_over_a_degenerate_configuration_is_seen(prepared, blocks):
    """No step comes nearer than 4e-3, where rounding costs nothing yet."""
    found = watch(prepared, [0.3, 0.03, 0.014, 0.012, -0.004, -0.012, -0.02, -0.3], blocks)
    assert found is not None
    assert found[0] == 4


def test_steps_that_only_come_near_are_not_accused(prepared):
    assert watch(prepared, [0.3, 0.03, 0.014, 0.012, 0.004, 0.012, 0.02, 0.03, 0.3]) is None


# -- what a run may cost -------------------------------------------------------------------------


@pytest.mark.slow_rows("-sundae-cvode", "index-1-sundae-ida")
@pytest.mark.parametrize(
    ("formulation", "solver"),
    [
        (None, ds.Taylor()),
        (None, ds.Dop853()),
        (None, ds.solvers.SundaeCvode()),
        (ds.Index1(), ds.solvers.SundaeIda()),
    ],
    ids=lambda entry: getattr(entry, "name", ""),
)
def test_a_budget_ends_the_run_with_what_it_has(formulation, solver):
    options = {"at": [1.0, 15.0], "formulation": formulation, "solver": solver}
    run = ds.solve(pendulum(), 20.0, {"x": -1.0}, max_evaluations=600, **options)
    assert run.outcome is ds.Outcome.FAILED
    assert "budget of 600 right-hand sides was spent" in run.message
    assert "max_evaluations" in run.message
    assert run.statistics.rhs_evaluations >= 600
    assert 0.0 < run.end_time < 20.0
    whole = ds.solve(pendulum(), 20.0, {"x": -1.0}, **options)
    assert whole.outcome is ds.Outcome.COMPLETED
    if len(run.times):
        assert run["x"][0] == whole["x"][0]


def test_a_budget_that_suffices_changes_nothing():
    plain = ds.solve(pendulum(), 2.0, {"x": -1.0}, at=[2.0])
    run = ds.solve(pendulum(), 2.0, {"x": -1.0}, at=[2.0], max_evaluations=10**9)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["x"][0] == plain["x"][0]


@pytest.mark.parametrize("budget", [0, -3, 2.5, True, "many"])
def test_a_budget_is_a_whole_number(budget):
    with pytest.raises(OutOfRangeError, match="max_evaluations"):
        ds.solve(pendulum(), 1.0, {"x": -1.0}, max_evaluations=budget)


@pytest.mark.parametrize("weak", [False, True])
def test_steps_that_lead_nowhere_end_the_run(weak):
    effort = Effort(None, mean_step=0.1)
    effort.begin(1.0)
    step = 0.5 * CRAWL * 0.1
    times = 1.0 + step * np.arange(1, 2 * MANY[weak] + 1)
    parts = np.split(times, 4)
    states = np.zeros((len(parts[0]), 1))
    for part in parts[:3]:
        assert not effort.take(StepBlock(part, states), 0, weak=weak)
    assert effort.take(StepBlock(parts[3], states), 0, weak=weak)
    assert "shrunk" in effort.reason


def test_short_steps_that_grow_again_do_not():
    effort = Effort(None, mean_step=0.1)
    effort.begin(1.0)
    reached = 1.0
    for growth in (1.0, 1.1, 1.2, 1.3):
        times = reached + 0.5 * growth * CRAWL * 0.1 * np.arange(1, MANY[False] + 1)
        reached = float(times[-1])
        assert not effort.take(StepBlock(times, np.zeros((len(times), 1))), 0, weak=False)


def test_steps_that_are_merely_short_do_not():
    effort = Effort(None, mean_step=0.1)
    effort.begin(0.0)
    times = 2.0 * CRAWL * 0.1 * np.arange(1, 10 * MANY[False])
    assert not effort.take(StepBlock(times, np.zeros((len(times), 1))), 0, weak=False)


def test_points_of_a_grid_are_not_steps_that_lead_nowhere():
    effort = Effort(None, mean_step=0.1)
    effort.begin(0.0)
    times = 0.5 * CRAWL * 0.1 * np.arange(1, 10 * MANY[False])
    block = StepBlock(times, np.zeros((len(times), 1)), evaluations=12, taken=6)
    assert not effort.take(block, 12, weak=False)


@pytest.mark.slow
def test_a_ball_that_is_held_from_the_start_runs_on_a_grid():
    """After the reset at once it goes on by stretches of 1e-9 s, each on 512 points."""
    run = ds.solve(ball(closed=False), 1.0, {"y": 0.0, "y_dot": 0.0}, solver=ds.Cvodes())
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["floor"][-1] == pytest.approx(10.0, rel=1e-12)
