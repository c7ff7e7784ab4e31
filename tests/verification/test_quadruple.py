"""Runs in quadruple precision through events, against closed forms and exact maps."""

from __future__ import annotations

import json
from pathlib import Path

import casadi as ca
import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction.sliding import Sliding
from daesolve.core.solvers.heyoka_code import hy
from daesolve.errors import MissingBackendError, UnsupportedError
from daesolve.verification import quadruple
from daesolve.verification.quadruple import PRECISION, evaluate, quads
from tests.billiards import sinai_billiard
from tests.contact.friction.test_sliding import BACKWARDS, timed_prism
from tests.hybrid_systems import (
    GRAVITY,
    SLOPE,
    SPOKES,
    balls_on_a_line,
    bouncing_ball,
    latched_particle,
    rimless_start,
    rimless_wheel,
    shaken_ball,
    thermostat,
)
from tests.reference import sinai_billiard as billiard
from tests.sliding_bodies import BLOCK, DISC, FRICTION

DROP = {"y": 1.0, "y_dot": 0.0}
OMNI = Path(__file__).parents[1] / "reference" / "omni_reference.json"


def bounce_times(restitution, count):
    """As `hybrid_systems.bounces`, in mpmath's precision and with the doubles as they are."""
    gravity, factor = mpmath.mpf(GRAVITY), mpmath.mpf(restitution)
    speed = mpmath.sqrt(2 * gravity)
    time = speed / gravity
    for _ in range(count):
        yield time
        speed *= factor
        time += 2 * speed / gravity


def misses(run, exact):
    """The largest error of the times of the events."""
    return max(abs(mpmath.mpf(a) - b) for a, b in zip(run.event_decimals, exact, strict=True))


def test_a_bouncing_ball_bounces_at_times_right_to_32_digits():
    run = ds.analysis.reference_run(bouncing_ball(), 6.0, DROP, at=[0.0, 6.0])
    assert run.event_count == 11
    assert not run.message
    with mpmath.workdps(45):
        assert misses(run, bounce_times(0.9, 11)) < 1e-32
    assert run.residuals["energy"] < 1e-31


def test_events_that_heyoka_does_not_find_are_found_by_the_state(monkeypatch):
    """Every event is hidden from it: the ball is seen below the floor, and brought back."""
    original = hy.t_event
    monkeypatch.setattr(hy, "t_event", lambda guard, **how: original(guard * guard + 1.0, **how))
    run = ds.analysis.reference_run(bouncing_ball(), 6.0, DROP, at=[0.0, 6.0])
    with mpmath.workdps(45):
        assert misses(run, bounce_times(0.9, 11)) < 1e-32


def test_a_ball_that_starts_on_the_floor_comes_back_to_it():
    """The guard is zero where the motion starts: heyoka alone would miss every other bounce."""
    start, numbers = {"y": 0.0, "y_dot": 1.0}, {"restitution": 1.0}
    run = ds.analysis.reference_run(bouncing_ball(), 5.0, start, parameters=numbers, at=[5.0])
    with mpmath.workdps(45):
        exact = [2 * k / mpmath.mpf(GRAVITY) for k in range(1, 25)]
        assert misses(run, exact) < 1e-31


@pytest.mark.slow
def test_chattering_ends_it_where_it_ends_a_run_in_doubles():
    reference = ds.analysis.reference_run(bouncing_ball(), 20.0, DROP, at=[1.0, 20.0])
    run = ds.solve(bouncing_ball(), 20.0, DROP, at=[1.0, 20.0])
    assert "comes to rest on its guard" in reference.message
    assert "comes to rest on its guard" in run.message
    # Each bounce of the last ones takes less than what counts as an instant.
    assert reference.events[-1].time == pytest.approx(run.events[-1].time, rel=1e-9)
    assert reference.times.tolist() == [1.0]


@pytest.mark.slow
def test_the_billiard_keeps_to_the_exact_map_where_doubles_have_lost_it():
    """The map shows how a beam has widened, by 2e17 after 52 s: errors of 1e-34 with it."""
    start = dict(zip(("x", "y", "x_dot", "y_dot"), billiard.START, strict=True))
    system = sinai_billiard(billiard.RADIUS)
    reference = ds.analysis.reference_run(system, 52.0, start, at=[0.0, 52.0])
    with mpmath.workdps(60):
        exact = [hit for _, hit in zip(reference.events, billiard.hits(), strict=False)]
        assert [event.name for event in reference.events] == [hit.what for hit in exact]
        widened = np.cumprod([float(hit.widened) for hit in exact])
        errors = [
            float(abs(mpmath.mpf(reported) - hit.time))
            for reported, hit in zip(reference.event_decimals, exact, strict=True)
        ]
    assert widened[-1] > 1e16
    assert np.all(errors < 1e-32 * widened)
    run = ds.solve(system, 52.0, start, at=[0.0, 52.0])
    assert [event.name for event in run.events] != [hit.what for hit in exact]


def test_the_rimless_wheel_takes_the_steps_of_the_closed_form():
    run = ds.analysis.reference_run(rimless_wheel(), 8.0, rimless_start(1.0), at=[8.0])
    assert run.event_count == 6
    rate = mpmath.mpf(1.0)
    with mpmath.workdps(40):
        for event in run.events:
            gained = 4 * GRAVITY * mpmath.sin(SPOKES) * mpmath.sin(SLOPE)
            rate = mpmath.cos(2 * SPOKES) * mpmath.sqrt(rate**2 + gained)
            found = mpmath.hypot(event.after["x_dot"], event.after["y_dot"])
            # `after` are doubles, and sin, cos in the reset were folded as doubles
            assert abs(found - rate) < 1e-14
    assert max(run.residuals.values()) < 1e-15
    assert [event.after["spoke"] for event in run.events] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize("order", ["simultaneous", "sequential"])
def test_symmetric_balls_that_meet_together_are_taken_together(order):
    """The outer ones hit the middle one from both sides at once; 0.1 is no exact number."""
    start = {"x_1": -0.1, "x_2": 0.0, "x_3": 0.1, "x_dot_1": 0.3, "x_dot_2": 0.0, "x_dot_3": -0.3}
    system = balls_on_a_line([1.0, 2.0, 1.0], 1.0, order)
    reference = ds.analysis.reference_run(system, 1.0, start, at=[1.0])
    run = ds.solve(system, 1.0, start, at=[1.0])
    assert [event.name for event in reference.events] == [event.name for event in run.events]
    for name, value in reference.states.items():
        assert abs(value[0] - run[name][0]) < 1e-15


def test_switches_of_a_thermostat_are_those_of_the_closed_form():
    """x' = heater - x between 0.3 and 0.7: each way takes ln(7/3)."""
    run = ds.analysis.reference_run(thermostat(), 8.0, {"temperature": 0.5}, at=[8.0])
    low, high = mpmath.mpf(0.3), mpmath.mpf(0.7)
    with mpmath.workdps(40):
        times = [mpmath.log((1 - mpmath.mpf(0.5)) / (1 - high))]
        for k in range(len(run.events) - 1):
            times.append(
                times[-1] + mpmath.log(high / low if k % 2 == 0 else (1 - low) / (1 - high))
            )
        assert misses(run, times) < 1e-31
    assert [event.name for event in run.events[:3]] == ["off", "on", "off"]


def test_a_moving_floor_is_met_at_its_own_time():
    run = ds.analysis.reference_run(shaken_ball(), 0.5, {"y": 0.3, "y_dot": 0.0}, at=[0.5])
    first = run.events[0]
    with mpmath.workdps(40):
        time = mpmath.mpf(run.event_decimals[0])
        fall = mpmath.mpf(0.3) - mpmath.mpf(GRAVITY) * time**2 / 2
        assert abs(fall - mpmath.mpf(0.05) * mpmath.sin(9 * time)) < 1e-32
        floor = 9 * mpmath.mpf(0.05) * mpmath.cos(9 * time)
        thrown = floor + mpmath.mpf(0.8) * (floor + mpmath.mpf(GRAVITY) * time)
        assert abs(first.after["y_dot"] - thrown) < 2e-15


def test_an_impact_that_catches_a_particle_is_reported_with_its_impulse():
    start = {"x": -1.0, "y": 0.5, "idle": 0.0, "x_dot": 1.0, "y_dot": 0.2, "idle_dot": 0.0}
    run = ds.analysis.reference_run(latched_particle(), 2.0, start, at=[0.0, 2.0])
    (event,) = run.events
    assert event.time == 1.0
    # at (0, 0.7), moving with (1, 0.2): the radial 0.2 is taken from the mass of 2 kg
    assert event.impact.kinetic_before - event.impact.kinetic_after == pytest.approx(0.04)
    assert event.after["y_dot"] == pytest.approx(0.0, abs=1e-16)
    assert run.residuals["circle"] < 1e-29


def test_a_stop_ends_it_and_a_record_does_not():
    """Free fall from 1 m passes 0.5 m at sqrt(1 / g), and is as fast as 4 m/s at 4 / g."""

    def more(q, p):
        return [
            ds.Event("low", q.y - 0.5, ds.FALLING),
            ds.Event("fast", q.dot.y + 4.0, ds.FALLING, ds.Stop()),
        ]

    run = ds.analysis.reference_run(bouncing_ball(events=more), 3.0, DROP, at=[0.2, 3.0])
    assert [event.name for event in run.events] == ["low", "fast"]
    with mpmath.workdps(40):
        gravity = mpmath.mpf(GRAVITY)
        assert misses(run, [mpmath.sqrt(1 / gravity), 4 / gravity]) < 1e-32
    assert run.message == "the event 'fast' at t = 0.4077471967 s"
    assert run.times.tolist() == [0.2]


def test_a_stop_that_holds_at_the_start_is_reported():
    def more(q, p):
        return [ds.Event("low", q.y - 2.0, ds.FALLING, ds.Stop())]

    run = ds.analysis.reference_run(bouncing_ball(events=more), 3.0, DROP, at=[0.0, 3.0])
    assert run.message == "the event 'low' already holds at the start"
    assert run.times.tolist() == [0.0]


def test_an_event_without_a_series_is_refused_by_name():
    system = bouncing_ball(events=lambda q, p: [ds.Event("near", ca.fabs(q.y) - 0.5)])
    with pytest.raises(UnsupportedError, match=r"'near'.*fabs"):
        ds.analysis.reference_run(system, 1.0, DROP)


def test_a_reset_that_leads_nowhere_ends_it_with_the_reason():
    q = ds.coordinates(y="m")
    lost = ds.Event("lost", q.y, ds.FALLING, ds.Reset({"y_dot": ca.sqrt(-1.0 - q.y**2)}))
    system = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, events=[lost])
    run = ds.analysis.reference_run(system, 2.0, DROP, at=[0.1, 2.0])
    assert "the reset of 'lost' at t = 0.451" in run.message
    assert run.times.tolist() == [0.1]


# -- what a run in doubles does at an instant, this does too ---------------------------------------


def counted_ball(third: ds.multibody.AppliedForce) -> ds.MechanicalSystem:
    """A ball that counts its bounces, and an event of the third, whose guard is the count."""
    q, count = ds.coordinates(y="m"), ds.discrete(hits=0.0)
    back = ds.Reset({"y_dot": -0.9 * q.dot.y, "hits": count.hits + 1.0})
    return ds.MechanicalSystem(
        q,
        discrete=count,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        events=[
            ds.Event("bounce", q.y, ds.FALLING, back),
            ds.Event("third", count.hits - 2.5, ds.RISING, third),
        ],
    )


@pytest.mark.parametrize("third", [ds.Stop(), ds.Record(), ds.Reset({"y_dot": 2.0})])
def test_an_event_of_values_alone_happens_at_the_reset_that_switches_it(third):
    reference = ds.analysis.reference_run(counted_ball(third), 2.2, DROP, at=[0.0, 2.2])
    run = ds.solve(counted_ball(third), 2.2, DROP, at=[0.0, 2.2])
    names = [event.name for event in reference.events]
    assert names[:4] == ["bounce", "bounce", "bounce", "third"]
    assert names == [event.name for event in run.events]
    with mpmath.workdps(45):
        exact = list(bounce_times(0.9, 3))
        for reported, time in zip(reference.event_decimals, [*exact, exact[-1]], strict=False):
            assert abs(mpmath.mpf(reported) - time) < 1e-32
    # Samples of a run end with its end, those of a reference are the ones that were asked for.
    assert reference.times.tolist() == [time for time in run.times if time in (0.0, 2.2)]
    assert reference.end_time == pytest.approx(run.end_time, abs=1e-14)


@pytest.mark.parametrize(("speed", "names"), [(0.1, ["bounce"] * 4), (0.0, ["low"])])
def test_a_stop_that_also_resets_waits_past_zero_only_where_its_guard_is_on_its_way_back(
    speed, names
):
    """From rest it falls: it is on its way out."""

    def more(q, p):
        return [ds.Event("low", q.y - 2.0, ds.FALLING, ds.Stop() | ds.Reset({"y_dot": 0.0}))]

    system, start = bouncing_ball(events=more), {"y": 1.0, "y_dot": speed}
    reference = ds.analysis.reference_run(system, 3.0, start, at=[3.0])
    run = ds.solve(system, 3.0, start, at=[3.0])
    assert [e.name for e in reference.events] == [e.name for e in run.events] == names
    assert bool(reference.message) is (run.outcome is ds.Outcome.STOPPED_BY_EVENT)


def test_what_passes_at_the_instant_of_a_stop_is_written_down():
    def more(q, p):
        return [
            ds.Event("half", q.y - 0.5, ds.FALLING, ds.Stop()),
            ds.Event("same", 2.0 * q.y - 1.0, ds.FALLING),
        ]

    reference = ds.analysis.reference_run(bouncing_ball(events=more), 3.0, DROP)
    run = ds.solve(bouncing_ball(events=more), 3.0, DROP)
    for found in (reference, run):
        assert sorted(event.name for event in found.events) == ["half", "same"]


def test_guards_of_one_event_that_pass_together_are_one_event():
    """Both fall from 1 m, and pass 0.5 m at the same time."""
    q = ds.coordinates(y="m", z="m")
    half = ds.Event("half", ca.vertcat(q.y - 0.5, q.z - 0.5), ds.FALLING)
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.y**2 + q.dot.z**2) / 2, potential=GRAVITY * (q.y + q.z), events=[half]
    )
    reference = ds.analysis.reference_run(system, 0.4, {"y": 1.0, "z": 1.0})
    run = ds.solve(system, 0.4, {"y": 1.0, "z": 1.0})
    assert [e.fired for e in reference.events] == [e.fired for e in run.events] == [(0, 1)]


# -- dry friction ----------------------------------------------------------------------------------


def test_another_support_takes_over_as_in_closed_form():
    """N = l t - m g on a level floor: |N| slows the block down, before the switch and after."""
    numbers = {"slope": 0.0, "lift": 40.0}
    start = {"x": 0.0, "x_dot": 6.0}
    run = ds.analysis.reference_run(BLOCK(), 1.0, start, parameters=numbers, at=[1.0])
    assert [event.name for event in run.events] == ["support_switch"]
    with mpmath.workdps(45):
        weight = 2 * mpmath.mpf(GRAVITY)
        switch = weight / 40
        assert misses(run, [switch]) < 1e-32
        impulse = weight * switch / 2 + 20 * (1 - switch) ** 2
        speed = 6 - mpmath.mpf(0.4) * impulse / 2
        assert abs(mpmath.mpf(run.decimals["x_dot"][0]) - speed) < 1e-30


@pytest.mark.parametrize(
    ("pose", "start", "end"),
    [
        (BLOCK, {"x": 0.0, "x_dot": 3.0}, 3.0 / (GRAVITY * (np.sin(0.2) + 0.4 * np.cos(0.2)))),
        # In space the last of it, the speed times SLOW_PART ** 0.5, is left to scaled time.
        (lambda: DISC(pad=False), {"x_dot": 1.0}, 0.99 / (FRICTION * GRAVITY)),
    ],
    ids=["in the plane", "in space"],
)
def test_the_end_of_a_slip_ends_it(pose, start, end):
    system = pose()
    run = ds.analysis.reference_run(system, 2.0, start, at=[0.0, 2.0])
    assert "dry friction ends the slip" in run.message
    assert run.times.tolist() == [0.0]
    assert run.end_time == pytest.approx(end, rel=1e-12)


def test_a_branch_of_reactions_that_folds_back_ends_it():
    """Three answers for -12 < M < -8, M = 10 t - 13: the one that it came with ends at -8."""
    run = ds.analysis.reference_run(timed_prism(-13.0, 10.0), 1.5, BACKWARDS, at=[0.4, 1.5])
    assert "folds back" in run.message
    assert run.end_time == pytest.approx(0.5, abs=1e-12)
    assert run.times.tolist() == [0.4]


@pytest.mark.slow
def test_supports_are_those_that_double_precision_settled_on(monkeypatch):
    """An answer in which the one that asked for a switch stays, and the other takes over: the
    switch is asked for again at once, in both precisions."""

    def settle(sliding, time, events, x, before, p, zero):
        values = p.copy()
        values[[list(sliding.dynamics.values).index(f"variant_normal_{k}") for k in (1, 2)]] = -1.0
        return x, values, False

    monkeypatch.setattr(Sliding, "settle", settle)
    chosen = {"at": [0.4, 0.6], "variant_policy": "homotopy"}
    run = ds.solve(timed_prism(-13.0, 10.0), 0.6, BACKWARDS, **chosen)
    reference = ds.analysis.reference_run(timed_prism(-13.0, 10.0), 0.6, BACKWARDS, **chosen)
    assert "'support_switch' happened more than" in run.message
    assert reference.message == run.message


@pytest.mark.slow
def test_a_slip_that_turns_is_followed():
    """Pulled to the side by a spring: the heading is taken anew each time it has turned by 60
    degrees, on which the motion must not depend."""
    start = {"x": 0.0, "y": 0.5, "x_dot": 3.0}
    numbers, at = {"spring": 50.0}, [0.3, 0.6]
    run = ds.solve(DISC(pad=False), 0.6, start, parameters=numbers, at=at)
    reference = ds.analysis.reference_run(DISC(pad=False), 0.6, start, parameters=numbers, at=at)
    assert not reference.message
    for name in ("x", "y", "x_dot", "y_dot"):
        np.testing.assert_allclose(reference[name], run[name], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("expression", "exact"),
    [
        (lambda a, b: ca.floor(a) + ca.ceil(b), lambda a, b: -8 + -1),
        (lambda a, b: ca.fmod(a, b), lambda a, b: a - 4 * b),
        (lambda a, b: ca.remainder(a, b), lambda a, b: a - 4 * b),
        (lambda a, b: ca.if_else(a < b, a * b, 0), lambda a, b: a * b),
        (lambda a, b: ca.fmin(a, b) - ca.fmax(a, b), lambda a, b: a - b),
        (lambda a, b: ca.sign(a) + ca.fabs(b), lambda a, b: -1 - b),
        (lambda a, b: ca.logic_and(a < b, ca.logic_not(a == b)) + (a != b), lambda a, b: 2),
        (lambda a, b: a**3, lambda a, b: a**3),
    ],
    ids=["floor", "fmod", "remainder", "if", "extremes", "sign", "logic", "power"],
)
def test_operations_that_resets_may_have_are_exact(expression, exact):
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    function = ca.Function("f", [a, b], [ca.densify(ca.SX(expression(a, b)))])
    found = evaluate(function, quads([-7.3]), quads([-1.7]))[0][0]
    with mpmath.workprec(PRECISION):
        assert abs(mpmath.mpf(str(found)) - exact(mpmath.mpf(-7.3), mpmath.mpf(-1.7))) < 1e-31


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "model", "until"),
    [("spin", "compact", 300.0), ("twist", "compact", 60.0), ("twist", "thesis", 10.0)],
)
def test_a_vehicle_that_rolls_from_roller_to_roller_agrees_with_an_independent_program(
    case, model, until
):
    """An own program in 113 bits, with sizes of its own, which are not those doubles.

    What they differ by, some 1e-16 at each of n events, adds up to n times that at most; the runs
    in doubles have errors of their own of this kind.
    """
    pytest.importorskip("daesolve_problems")
    stored = json.loads(OMNI.read_text())[case]
    samples = [sample for sample in stored["samples"] if sample["time"] <= until]
    chosen = ds.problem("omni-rolling").case(case, model=model)
    at = [sample["time"] for sample in samples]
    reference = chosen.reference_run(until=until, at=at)
    run = chosen.solve(until=until, at=at)
    assert reference.event_count == run.event_count == samples[-1]["events"]
    rounding = 1e-15 * max(run.event_count, 1)
    for place, sample in enumerate(samples):
        assert sum(event.time <= sample["time"] for event in run.events) == sample["events"]
        for name in set(sample["state"]) & set(reference.states):
            exact = sample["state"][name]
            near = rounding * max(1.0, abs(exact))
            assert abs(reference[name][place] - exact) < near
            assert abs(run[name][place] - exact) < 20.0 * near
    assert max(reference.residuals.values()) < 1e-19


def test_without_heyoka_quadruple_precision_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(quadruple, "hy", None)
    quadruple.real.cache_clear()
    with pytest.raises(MissingBackendError, match="needs heyoka"):
        quads([1.0])
