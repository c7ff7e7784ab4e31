"""Sliding in guides: stops, turns, and supports that take over, against closed forms."""

from __future__ import annotations

import math

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import BranchLost, OutOfRangeError, SupportSticks
from tests.sliding_bodies import BLOCK, FRICTION, GRAVITY, block, wheel

SINE, COSINE = math.sin(0.2), math.cos(0.2)
SLIDING = {"x": 0.0, "x_dot": 3.0}
UP = GRAVITY * (SINE + 0.4 * COSINE)
"""How the block slows down on its way up, m/s^2."""
PAIRS = [
    (ds.Feedback(), ds.Dop853()),
    (ds.Feedback(), ds.Cvodes()),
    (ds.Projected(), ds.Taylor()),
    (ds.Projected(), ds.Dop853()),
    (ds.Index1(), ds.Idas()),
    (ds.Index2(), ds.Idas()),
    (ds.GGL(), ds.Idas()),
]


def happened(run):
    return [event.name for event in run.events]


# -- a stop, and a turn ----------------------------------------------------------------------------


def test_a_block_stops_on_an_incline_when_and_where_its_deceleration_says_and_stays():
    run = ds.solve(BLOCK(), 2.0, SLIDING, at=[0.2, 2.0])
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert happened(run) == ["at_rest"]
    assert run.end_time == pytest.approx(3.0 / UP, rel=1e-15)
    assert run.end_state["x"] == pytest.approx(4.5 / UP, rel=1e-14)
    assert run.end_state["x_dot"] == 0.0
    assert run["x"][0] == pytest.approx(0.6 - UP * 0.02, rel=1e-14)
    assert "dry friction holds it" in run.message


def test_where_friction_cannot_hold_it_the_block_slides_back():
    run = ds.solve(BLOCK(), 2.0, SLIDING, parameters={"friction": 0.1}, at=[2.0])
    up, down = GRAVITY * (SINE + 0.1 * COSINE), GRAVITY * (SINE - 0.1 * COSINE)
    left = 2.0 - 3.0 / up
    assert happened(run) == ["at_rest"]
    assert run.events[0].time == pytest.approx(3.0 / up, rel=1e-15)
    assert run["x_dot"][0] == pytest.approx(-down * left, rel=1e-14)
    assert run["x"][0] == pytest.approx(4.5 / up - down * left**2 / 2, rel=1e-13)


def test_without_friction_it_never_rests():
    run = ds.solve(BLOCK(), 2.0, SLIDING, parameters={"friction": 0.0}, at=[2.0])
    assert run["x"][0] == pytest.approx(6.0 - GRAVITY * SINE * 2.0, rel=1e-14)


def test_without_a_load_nothing_rubs():
    run = ds.solve(BLOCK(), 2.0, SLIDING, parameters={"gravity": 0.0}, at=[2.0])
    assert (run["x"][0], run["normal"][0]) == (6.0, 0.0)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    start = {"x": 0.0, "x_dot": 3.0 * scale}
    values = {"mass": 2.0 / scale, "gravity": GRAVITY * scale}
    run = ds.solve(BLOCK(), 2.0, start, parameters=values, at=[0.2])
    assert run.end_time == pytest.approx(3.0 / UP, rel=1e-14)
    assert run.end_state["x"] == pytest.approx(4.5 / UP * scale, rel=1e-13)


def test_a_mass_matrix_says_the_same():
    run = ds.solve(block(newton=True), 2.0, SLIDING, at=[0.2])
    assert run.end_time == pytest.approx(3.0 / UP, rel=1e-15)


@pytest.mark.long
def test_friction_may_depend_on_place_and_time():
    """x'' = -g (c + k x) on a level floor: x = x_0 cos(w t) + v_0/w sin(w t) - c/k."""

    def growing(q, p):
        return p.friction * (1.0 + q.x)

    run = ds.solve(block(friction=growing), 2.0, SLIDING, parameters={"slope": 0.0}, at=[0.3])
    w = math.sqrt(0.4 * GRAVITY)
    x = math.cos(0.3 * w) + 3.0 / w * math.sin(0.3 * w) - 1.0
    assert run["x"][0] == pytest.approx(x, rel=1e-13)
    assert run.end_time == pytest.approx(math.atan(3.0 / w) / w, rel=1e-14)
    fading = block(friction=lambda q, p: p.friction * ca.exp(-ds.time))
    run = ds.solve(fading, 2.0, SLIDING, parameters={"slope": 0.0}, at=[0.3])
    assert run["x_dot"][0] == pytest.approx(3.0 - 0.4 * GRAVITY * (1 - math.exp(-0.3)), rel=1e-14)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    ("formulation", "solver"), PAIRS, ids=[f"{f.name} {s.name}" for f, s in PAIRS]
)
def test_every_pair_of_formulation_and_solver_finds_the_stop(formulation, solver):
    run = ds.solve(BLOCK(), 2.0, SLIDING, formulation=formulation, solver=solver, at=[0.2])
    assert happened(run) == ["at_rest"]
    assert run.end_time == pytest.approx(3.0 / UP, abs=1e-9)


def test_time_does_not_run_backwards_where_bodies_stop():
    with pytest.raises(OutOfRangeError, match="run forwards in time"):
        ds.solve(BLOCK(), -1.0, SLIDING)


# -- another support takes over --------------------------------------------------------------------


def test_a_block_that_is_lifted_slides_along_the_ceiling():
    """N = l t - m g: its size slows the block down, before the switch and after."""
    values = {"slope": 0.0, "lift": 40.0}
    run = ds.solve(BLOCK(), 1.0, {"x": 0.0, "x_dot": 6.0}, parameters=values, at=[1.0])
    weight = 2.0 * GRAVITY
    switch = weight / 40.0
    assert happened(run) == ["support_switch"]
    assert run.events[0].time == pytest.approx(switch, rel=1e-14)
    impulse = weight * switch / 2 + 40.0 * (1.0 - switch) ** 2 / 2
    assert run["x_dot"][0] == pytest.approx(6.0 - 0.4 * impulse / 2.0, rel=1e-14)
    assert run["normal"][0] == pytest.approx(weight - 40.0, rel=1e-14)
    assert run["friction_work"][0] == pytest.approx(run["x_dot"][0] ** 2 - 36.0, rel=1e-13)


def test_a_start_at_a_switch_goes_on_with_the_support_that_is_pressed():
    values = {"slope": 0.0, "gravity": 0.0, "lift": 40.0}
    run = ds.solve(BLOCK(), 0.5, {"x": 0.0, "x_dot": 6.0}, parameters=values, at=[0.5])
    assert run["normal"][0] == pytest.approx(-20.0, rel=1e-14)
    assert run["x_dot"][0] == pytest.approx(6.0 - 0.4 * 20.0 * 0.5**2 / 2.0, rel=1e-14)


def timed_prism(start: float, rate: float) -> ds.MechanicalSystem:
    """The prism with three answers at some moments, M = start + rate t."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    rough = {(1, 1): 0.0, (2, 1): 0.2, (1, 2): 0.5, (2, 2): 0.0}

    def support(pair, side):
        a, b = (-1.0, 1.0)[pair - 1], (5.0, -5.0)[side - 1]
        c, s = ca.cos(q.phi), ca.sin(q.phi)
        return ds.friction.Support(
            point=(q.x + a * c - b * s, q.y + a * s + b * c),
            normal=(0.0, (-1.0, 1.0)[side - 1]),
            friction=rough[pair, side],
        )

    return ds.MechanicalSystem(
        q,
        kinetic=(2.0 * (q.dot.x**2 + q.dot.y**2) + 0.72 * q.dot.phi**2) / 2,
        force={"x": 3.0, "y": -8.0, "phi": start + rate * ds.time},
        goals=[
            ds.Holonomic(n, q[v], ideal=False, scale=1.0) for n, v in (("h", "y"), ("t", "phi"))
        ],
        pairs=[
            ds.friction.VariantPair(f"normal_{k}", [support(k, side) for side in (1, 2)])
            for k in (1, 2)
        ],
    )


BACKWARDS = {"x": 0.0, "x_dot": -100.0}


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(
    ("start", "rate", "end", "before", "after"),
    [(-13.0, 10.0, 0.5, 1.5, 6.3), (-4.0, -10.0, 0.8, 3.5, 1.5)],
)
def test_a_branch_ends_at_its_load_and_another_answer_leaps(start, rate, end, before, after):
    """Three answers for -12 < M < -8: which is real there depends on where M came from."""
    system = timed_prism(start, rate)
    kept = ds.solve(system, 1.5, BACKWARDS, at=[end - 1e-9])
    assert kept.outcome is ds.Outcome.DEGENERATE
    assert kept.events[-1].name == "branch_lost"
    assert kept.end_time == pytest.approx(end, abs=1e-12)
    told = ds.solve(system, 1.5, BACKWARDS, at=[end], variant_policy="homotopy")
    assert told.outcome is ds.Outcome.COMPLETED
    moments = [end - 1e-6, end + 1e-6]
    speeds = [[told.at(m + h)["x_dot"] for h in (-1e-7, 1e-7)] for m in moments]
    rates = [(last - first) / 2e-7 for first, last in speeds]
    assert rates == pytest.approx([before, after], abs=2e-4)
    with pytest.raises(BranchLost) as lost:
        ds.solve(system, 1.5, BACKWARDS, rank_loss="raise")
    assert isinstance(lost.value.run, ds.Trajectory)
    assert lost.value.run.end_time == pytest.approx(end, abs=1e-12)


# -- supports that stick ---------------------------------------------------------------------------


def test_a_wheel_that_begins_to_roll_is_not_at_rest():
    """x' + r turn' = 0 after v / (2 f g), at half the speed."""
    run = ds.solve(wheel(), 2.0, {"x_dot": 3.0, "turn_dot": 0.0}, at=[0.1])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "support_sticks"
    assert run.end_time == pytest.approx(1.5 / (FRICTION * GRAVITY), rel=1e-14)
    assert run.end_state["x_dot"] == pytest.approx(1.5, rel=1e-14)
    with pytest.raises(SupportSticks, match="no support slides although the body moves"):
        ds.solve(wheel(), 2.0, {"x_dot": 2.0, "turn_dot": -4.0})


def test_regularised_friction_rolls_on():
    smooth = ds.Regularised(1e-4)
    run = ds.solve(wheel(), 2.0, {"x_dot": 3.0, "turn_dot": 0.0}, formulation=smooth, at=[2.0])
    assert run["x_dot"][0] == pytest.approx(1.5, abs=1e-12)
    assert run["turn_dot"][0] == pytest.approx(-3.0, abs=1e-12)


@pytest.mark.long
def test_a_block_on_a_belt_is_carried_along_where_it_no_longer_slides():
    run = ds.solve(block(carried=True), 2.0, SLIDING, parameters={"belt": 1.0}, at=[0.1, 2.0])
    assert run.outcome is ds.Outcome.COMPLETED
    stop = 2.0 / UP
    assert happened(run) == ["at_rest"]
    assert run.events[0].time == pytest.approx(stop, rel=1e-14)
    assert run.end_state["x_dot"] == pytest.approx(1.0, rel=1e-15)
    assert run["x"][-1] == pytest.approx(3.0 * stop - UP * stop**2 / 2 + 2.0 - stop, rel=1e-14)
    # Static friction carries the weight up the incline at 1 m/s.
    sliding = -0.4 * 2.0 * GRAVITY * COSINE * (3.0 * stop - UP * stop**2 / 2)
    carried = 2.0 * GRAVITY * SINE * (2.0 - stop)
    assert run["friction_work"][-1] == pytest.approx(sliding + carried, rel=1e-12)
    assert run.drift["energy"].max_relative < 1e-13
    standing = ds.solve(block(carried=True), 2.0, SLIDING, at=[0.1])
    assert happened(standing)[0] == "at_rest"
    assert standing.end_state["x"] == pytest.approx(4.5 / UP, rel=1e-14)


def test_a_system_without_supports_may_call_its_events_as_guides_do():
    q = ds.coordinates(x="m")
    bounce = ds.Reset({"x_dot": -q.dot.x})
    ball = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=9.81 * q.x,
        events=[
            ds.Event("slow", q.x, ds.FALLING, bounce),
            ds.Event("quick", q.x - 0.5, ds.RISING, ds.Reset()),
        ],
    )
    run = ds.solve(ball, 1.0, {"x": 1.0}, at=ds.every_event())
    assert happened(run) == ["slow", "quick"]
    assert run.times[1:-1].tolist() == [event.time for event in run.events]


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["steps", "linear"])
@pytest.mark.parametrize("speed", [0.75, -0.75])
def test_supports_take_over_while_friction_holds_the_body(speed: float, kind: str) -> None:
    """A block of 2 kg between a floor and a ceiling, mu = 0.3, pressed by 20 N, then lifted by it.

    A steady 20 N stop it after 0.25 s. Where a line leads from one load to the other in 0.5 s, half
    as much does on average, and it stops where no load is left. It rests while supports take over.
    """
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(press="N")
    sides = [ds.friction.Support(normal=(0.0, s), point=(q.x, q.y), friction=0.3) for s in (-1, 1)]
    block = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2,
        force={"y": u.press},
        inputs=u,
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("normal", sides)],
    )
    nodes, loads = [0.0, 0.5, 1.0, 1.5, 2.0], [-20.0, 20.0, -20.0, 20.0, 20.0]
    press = ds.table("press", nodes, loads, kind)  # type: ignore[arg-type]
    run = ds.solve(block, 1.9, {"x_dot": speed}, inputs={"press": press})
    assert run.outcome is ds.Outcome.COMPLETED
    way = speed * {"steps": 0.125, "linear": 0.25}[kind]
    assert run.end_state["x"] == pytest.approx(way, abs=1e-9)
    assert run.end_state["x_dot"] == 0.0
    assert "support_switch" in [event.name for event in run.events]
