"""Runs in the lanes of a batch are runs like any other."""

import signal
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.run_options import requested_by
from daesolve.core.solvers.lanes import LANES, BatchedStepper, BlockJoiner
from daesolve.ensembles.batches import run_batch, run_in_lanes
from daesolve.errors import OutOfRangeError, UnsupportedError
from daesolve.plugins.bound_case import BoundCase

EPS = np.finfo(float).eps
UNTIL = 20.0
FASTEST = 60.0
"""No state of the pendulum changes faster: g + 2 g (1 + cos) and v^2 / l stay below 50 m/s^2."""


def pendulum(reset: bool = False) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"), at=(5.0, "m"))
    back = ds.Reset({"x_dot": -q.dot.x}) if reset else ds.Stop()
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
        events=[
            ds.Event("lowest", q.x, ds.RISING, ds.Record()),
            ds.Event("wall", p.at - q.x, ds.FALLING, back),
        ],
    )


def growth() -> ds.ControlSystem:
    x = ds.states(x="")
    p = ds.parameters(k=(1.0, ""))
    return ds.ControlSystem(x, {"x": p.k * x.x**2}, p)


SWINGING = ds.Problem(
    "swinging",
    title="A pendulum that may meet a wall",
    models={"plain": pendulum},
    structure={"reset": False},
    cases=[ds.Case("wide", until=UNTIL, start={"x": -0.8})],
)
GROWING = ds.Problem(
    "growing",
    title="x' = k x^2, which is 1 / (1 - k t)",
    models={"plain": growth},
    cases=[ds.Case("one", until=2.0, start={"x": 1.0})],
)
MEMBERS = [{"x": -0.8}, {"x": -0.6, "length": 1.1}, {"gravity": 3.7}]


def same(one: ds.Trajectory, other: ds.Trajectory) -> bool:
    """Tell whether two runs agree in every bit."""
    return (
        one.end_state == other.end_state
        and all(np.array_equal(one.states[name], other.states[name]) for name in one.states)
        and all(np.array_equal(one.reactions[n], other.reactions[n]) for n in one.reactions)
        and [e.time for e in one.events] == [e.time for e in other.events]
        and one.drift == other.drift
    )


@pytest.fixture(scope="module")
def runs() -> list:
    return run_batch(SWINGING.case(), MEMBERS, lanes=4)


@pytest.mark.slow_rows("0")
@pytest.mark.parametrize("number", range(len(MEMBERS)))
def test_a_member_is_to_rounding_what_it_is_by_itself(runs, number):
    member = MEMBERS[number]
    alone = SWINGING.case().with_values(member).solve()
    run = runs[number]
    # Rounding shifts a motion whose energy is held by a few roundings of the time.
    limit = 8.0 * EPS * UNTIL * FASTEST
    assert run.outcome is ds.Outcome.COMPLETED
    np.testing.assert_array_equal(run.times, alone.times)
    for name, series in alone.states.items():
        np.testing.assert_allclose(run[name], series, rtol=0.0, atol=limit)
    assert [event.name for event in run.events] == [event.name for event in alone.events]
    found, expected = ([e.time for e in each.events] for each in (run, alone))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=8.0 * EPS * UNTIL)
    for name, drift in alone.drift.items():
        assert run.drift[name].driven == drift.driven
        assert run.drift[name].max_relative <= drift.max_relative + 8.0 * EPS
    assert abs(run.statistics.steps - alone.statistics.steps) <= 1
    assert run.start == alone.start


def test_a_member_runs_with_its_own_parameters(runs):
    lengths = [np.hypot(run["x"], run["y"]) for run in runs]
    for length, expected in zip(lengths, (1.0, 1.1, 1.0), strict=True):
        np.testing.assert_allclose(length, expected, rtol=8.0 * EPS)


def test_any_time_of_a_run_can_be_asked_for_afterwards(runs):
    run = runs[1]
    for k in (0, 137, 1000):
        assert run.at(run.times[k])["x"] == pytest.approx(run["x"][k], rel=0.0, abs=4.0 * EPS)


@pytest.mark.slow
def test_the_members_beside_one_change_no_bit(runs):
    others = [MEMBERS[2], MEMBERS[0], *({"x": -0.1 * k} for k in range(2, 6))]
    again = run_batch(SWINGING.case(), others, lanes=4)
    assert same(again[0], runs[2])
    assert same(again[1], runs[0])


def test_backwards_too():
    [run] = run_batch(SWINGING.case(), [{}], -3.0, lanes=4)
    alone = SWINGING.case().solve(-3.0)
    assert run.end_time == -3.0
    limit = 8.0 * EPS * 3.0 * FASTEST
    assert run.end_state == pytest.approx(alone.end_state, rel=0.0, abs=limit)


def test_a_stopping_event_ends_its_run_alone(runs):
    stopped, free = run_batch(SWINGING.case(), [{"at": 0.5}, MEMBERS[1]], lanes=4)
    assert stopped.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert stopped.end_state["x"] == pytest.approx(0.5, rel=0.0, abs=4.0 * EPS)
    assert same(free, runs[1])


def test_a_run_that_fails_ends_alone():
    members = [{"k": -1.0}, {"k": 1.0}, {"k": -0.5}]
    runs = run_batch(GROWING.case(), members, lanes=4)
    assert [run.outcome.good for run in runs] == [True, False, True]
    assert runs[1].end_time == pytest.approx(1.0)
    for run, k in ((runs[0], -1.0), (runs[2], -0.5)):
        np.testing.assert_allclose(run["x"], 1.0 / (1.0 - k * run.times), rtol=32.0 * EPS)
        assert same(run, run_batch(GROWING.case(), [{"k": k}], lanes=4)[0])


@pytest.mark.long
def test_a_member_that_cannot_be_run_is_its_error():
    bad, good = run_batch(GROWING.case(), [{"k": float("nan")}, {"k": -1.0}], lanes=2)
    assert isinstance(bad, OutOfRangeError)
    assert good.outcome is ds.Outcome.COMPLETED


def test_another_error_ends_all_and_is_raised():
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by the caller")

    with pytest.raises(ZeroDivisionError, match="by the caller"):
        run_batch(GROWING.case(), [{"k": -1.0}] * 3, lanes=2, progress=broken)


@pytest.mark.slow
def test_an_interruption_ends_all():
    once = iter([signal.SIGINT])

    def interrupt(*_: object) -> None:
        for number in once:
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        run_batch(SWINGING.case(), MEMBERS, 1e7, lanes=4, at=[], progress=interrupt)


@pytest.mark.slow
@pytest.mark.parametrize(("verify", "method"), [("same", "taylor"), (True, "dop853")])
def test_the_same_method_verifies_in_the_lanes_too_and_another_beside_them(verify, method):
    runs = run_batch(SWINGING.case(), MEMBERS[:2], 2.0, lanes=4, verify=verify)
    for run in runs:
        assert run.verification.against.startswith(method)
        assert max(run.verification.difference.values()) < 1e-12


def test_rtol_is_the_tolerance_of_the_solver_that_is_left_out():
    [told] = run_batch(SWINGING.case(), [{}], 2.0, lanes=2, rtol=1e-6)
    [given] = run_batch(SWINGING.case(), [{}], 2.0, lanes=2, solver=ds.Taylor(tolerance=1e-6))
    [fine] = run_batch(SWINGING.case(), [{}], 2.0, lanes=2)
    assert told.description["tolerances"] == {"tolerance": 1e-6}
    assert same(told, given)
    assert not same(told, fine)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"solver": ds.Cvodes()}, UnsupportedError, "not Cvodes"),
        ({"lanes": 0}, OutOfRangeError, "number of lanes is 0"),
        ({"lanes": True}, OutOfRangeError, "number of lanes is True"),
        ({"store": "runs"}, UnsupportedError, "cannot be stored"),
        ({"max_evaluations": 100}, UnsupportedError, "limits a single run"),
        ({"members": [{"reset": True}]}, UnsupportedError, "differ in reset"),
        ({"atol": 1e-9}, UnsupportedError, "no absolute tolerance"),
        ({"rtol": 1e-9, "solver": "taylor"}, OutOfRangeError, "give the tolerance to that solver"),
        ({"rtol": 5.0}, OutOfRangeError, "tolerance is 5"),
    ],
)
def test_what_no_batch_can_be_made_of_is_refused(options, error, sentence):
    with pytest.raises(error, match=sentence):
        run_batch(SWINGING.case(), **{"members": [{}], **options})


def test_what_a_lane_cannot_do_is_refused_in_the_place_of_the_member():
    [resets] = run_batch(SWINGING.case(reset=True), [{}], lanes=2)
    [projected] = run_batch(SWINGING.case(), [{}], lanes=2, formulation=ds.Projected())
    assert isinstance(resets, UnsupportedError)
    assert "do not support resets" in str(resets)
    assert isinstance(projected, UnsupportedError)
    assert "do not project" in str(projected)


WHEELS = [
    {"radius": 0.01 * (1.0 + k / LANES), "speed": 1.5 - 0.3 * k / LANES} for k in range(LANES)
]


@pytest.mark.long
@pytest.mark.parametrize("case", ["hoop", "pendulum"])
def test_a_sweep_goes_in_lanes_by_itself_and_gives_what_its_members_give_alone(case, tmp_path):
    case = ds.problem("rolling-wheel").case(case)
    swept = {
        batch: ds.sweep(case, WHEELS, until=20.0, workers=0, batch=batch, out=tmp_path / str(batch))
        for batch in (None, False)
    }
    together, alone = (swept[batch].to_pandas() for batch in (None, False))
    assert together.notes.str.contains("integrated together with other runs, 16 at a time").all()
    assert not alone.notes.str.contains("together").any()
    assert list(together.outcome) == list(alone.outcome) == ["completed"] * LANES
    assert abs(together.steps - alone.steps).max() <= 1
    for name in case.system.dynamics.labels.states:
        one, other = together[f"end_{name}"], alone[f"end_{name}"]
        assert abs(one - other).max() <= 1e-12 * max(abs(other).max(), 1.0)
    energy = together.max_relative_energy - alone.max_relative_energy
    assert abs(energy).max() < 8.0 * EPS


def test_a_sweep_of_few_members_goes_one_by_one_to_the_last_bit(tmp_path):
    case = ds.problem("pendulum").case()
    table = ds.sweep(case, MASSES[:3], until=2.0, workers=0, out=tmp_path).to_pandas()
    for number, member in enumerate(MASSES[:3]):
        run = case.changed(member).solve(2.0, at=[])
        assert table.end_x[number] == run.end_state["x"]


MASSES = [{"mass": 1.0 + k} for k in range(LANES)]


@pytest.mark.slow
def test_members_by_another_method_go_beside_the_lanes_and_are_the_same_in_every_bit():
    case = ds.problem("pendulum").case()
    found = run_in_lanes(case, MASSES[:2], 2.0, solver=ds.Dop853())
    for run, member in zip(found, MASSES[:2], strict=True):
        assert run.end_state == case.changed(member).solve(2.0, solver=ds.Dop853()).end_state
        assert not any("beside" in note for note in run.description["notes"])


def test_members_that_reset_go_beside_the_lanes_as_they_go_alone():
    case = SWINGING.case(reset=True)
    member = {"at": 0.5}
    [run] = run_in_lanes(case, [member], 5.0)
    alone = case.with_values(member).solve(5.0)
    assert run.event_count == alone.event_count >= 1
    assert (run.outcome, run.message) == (alone.outcome, alone.message)
    assert same(run, alone)


def test_steps_near_an_event_are_shown_and_others_are_passed_over():
    problem = prepared(SWINGING.case()).problem
    stepper = BatchedStepper(ds.Taylor(), problem, 2)
    for lane, x in enumerate((-0.8, -0.7)):
        start = prepared(SWINGING.case().with_values({"x": x}))
        stepper.begin(lane, start.initial, start.values, 0.0)
        stepper.end[lane], stepper.values[lane] = 20.0, start.values
    stretch = stepper.steps(12)
    first, other = stepper.screen.examine(stretch, stepper.values)
    for lane, seen in enumerate((first, other)):
        states = stretch.of(lane).states
        passing = np.flatnonzero(np.diff(np.sign(states[:, 0])) != 0)
        assert seen.sound
        assert passing.size
        assert np.all((seen.first <= passing) & (passing < seen.last))
    spoiled = stretch.coefficients.copy()
    spoiled[1, 5, :, 1:] *= 1.0 + 1e-6
    wrong = replace(stretch, coefficients=spoiled)
    again = stepper.screen.examine(wrong, stepper.values)
    assert [seen.sound for seen in again] == [True, False]


@pytest.mark.slow
def test_steps_of_a_few_lanes_alone_are_the_same_in_every_bit_as_among_all():
    problem = prepared(SWINGING.case()).problem
    found = []
    for places in (list(range(16)), [3, 12]):
        stepper = BatchedStepper(ds.Taylor(), problem, 16)
        for lane in range(16):
            start = prepared(SWINGING.case().with_values({"x": -0.8 + 0.01 * lane}))
            stepper.begin(lane, start.initial, start.values, 0.0)
            stepper.end[lane] = 20.0
        memory = np.empty((16, 9, problem.size, stepper.order + 1))
        stretch = stepper.steps_of(places, 9, memory)
        own = [stretch.of(places.index(lane)) for lane in (3, 12)]
        assert all(len(one.when) == 9 for one in own)
        found.append([(one.when, one.coefficients, one.state, one.end) for one in own])
        np.testing.assert_array_equal(stepper.x[:, [3, 12]].T, [one.state for one in own])
    for one, other in zip(*found, strict=True):
        for part, same_part in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, same_part)


def prepared(case: BoundCase) -> Prepared:
    """Return a run of a case that can start."""
    return prepare(case.system, requested_by(case, None, {})[0])


@pytest.mark.slow
def test_samples_within_calm_steps_are_those_of_the_run_alone():
    at = [0.25 * k for k in range(1, 40)]
    for run, member in zip(run_batch(SWINGING.case(), MEMBERS, at=at), MEMBERS, strict=True):
        alone = SWINGING.case().with_values(member).solve(at=at)
        limit = 8.0 * EPS * UNTIL * FASTEST
        np.testing.assert_allclose(run["x"], alone["x"], rtol=0.0, atol=limit)


def test_blocks_are_joined_to_ones_whose_ends_do_not_depend_on_the_others():
    ends: dict[int, list[int]] = {}
    for piece in (700, 3000):
        seen: list[int] = ends.setdefault(piece, [])
        join = BlockJoiner(lambda block, seen=seen: seen.append(len(block.times)))
        for _ in range(21_000 // piece):
            join(StepBlock(np.zeros(piece), np.zeros((piece, 1))))
        join.hand_on()
    assert ends[700] == ends[3000] == [10_000, 10_000, 1_000]


def braked() -> ds.MechanicalSystem:
    """Return a body whose momentum is driven, which a wall brakes far off, beside an oscillator."""
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.y**2 / 2,
        force={"x": -ca.exp(q.x - 30)},
        goals=[ds.Invariant("momentum", q.dot.x, drive=True)],
    )


def test_a_lane_lets_go_of_what_is_no_longer_conserved():
    start = {"x": 0.0, "x_dot": 1.0, "y": 1.0}
    cases = [ds.Case("far", until=40.0, start=start)]
    case = ds.Problem("braked", title="", models={"plain": braked}, cases=cases).case()
    [run], alone = run_batch(case, [{}]), case.solve()
    assert "driven only up to t = " in run.drift["momentum"].note
    assert alone.end_state["x_dot"] < 0.0  # it was thrown back
    # What is put back before it is let go of is at most 1e-13 m/s^2.
    for name, value in alone.end_state.items():
        assert run.end_state[name] == pytest.approx(value, abs=2e-9)
