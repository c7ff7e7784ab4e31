"""A simulator goes where one run with the same inputs goes, to the last bit; and where it was."""

from __future__ import annotations

import math
import pickle

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import (
    InconsistentStateError,
    OutOfRangeError,
    RunEndedError,
    StepFailedError,
    UnknownNameError,
    UnsupportedError,
)

EPSILON = float(np.finfo(float).eps)


def cart():
    """A cart of 2 kg that a force pushes."""
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)


def cart_pole():
    """A cart with a pole on it, which hangs at zero."""
    q = ds.coordinates(x="m", angle=ds.ANGLE)
    u, p = ds.inputs(push="N"), ds.parameters(length=(0.5, "m"), drag=(0.3, "N s/m"))
    bob = ca.vertcat(q.x + p.length * ca.sin(q.angle), -p.length * ca.cos(q.angle))
    speed = ca.jacobian(bob, q.vector) @ q.dot.vector
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2 + 0.3 * ca.sumsqr(speed) / 2,
        potential=0.3 * 9.81 * bob[1],
        force={"x": u.push - p.drag * q.dot.x},
        inputs=u,
    )


def linkage():
    """A pendulum with a rod that ends on a slide: a closed loop with one freedom."""
    q = ds.coordinates(crank=ds.ANGLE, rod=ds.ANGLE, x="m")
    u = ds.inputs(torque="N m", load=(0.0, "N"))
    heights = [0.1 * ca.sin(q.crank), 0.2 * ca.sin(q.crank) + 0.25 * ca.sin(q.rod)]
    return ds.MechanicalSystem(
        q,
        kinetic=(0.02 * q.dot.crank**2 + 0.03 * q.dot.rod**2 + 0.5 * q.dot.x**2) / 2,
        potential=9.81 * heights[0],
        goals=[
            ds.Holonomic("across", heights[1]),
            ds.Holonomic("along", 0.2 * ca.cos(q.crank) + 0.5 * ca.cos(q.rod) - q.x),
        ],
        force={"crank": u.torque, "x": -u.load},
        inputs=u,
    )


def block(**more):
    """A block that rubs on a floor and bounces."""
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(push="N", lift=(0.0, "N"))
    floor = ds.Contact("floor", q.y, restitution=0.5, slip=q.dot.x, friction=0.5)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[floor],
        force={"x": u.push, "y": u.lift},
        inputs=u,
        **more,
    )


FALL = {"x": 0.0, "y": 0.1, "x_dot": 0.3, "y_dot": 0.0}
OPEN = {"parameters": {"contact_floor": 0.0}}


def pushes(count):
    """Inputs of the block that slide, stick and lift it in turn."""
    k = np.arange(count + 1)
    return 2 + 5 * np.sin(0.1 * k), 20 * np.maximum(np.sin(0.03 * k), 0.0) ** 3


# -- the same motion as one run --------------------------------------------------------------------


def stepped_and_run(system, initial, dt, inputs, **options):
    """Return the simulator after steps, and the run whose inputs are tables of these."""
    count = len(next(iter(inputs.values()))) - 1
    sim = ds.Simulator(system, initial, **options)
    for k in range(count):
        sim.step(dt, **{name: values[k] for name, values in inputs.items()})
    nodes = dt * np.arange(count + 1)
    tables = {n: ds.table(f"{n}_table", nodes, v, kind="steps") for n, v in inputs.items()}
    run = ds.solve(system, float(nodes[-1]), initial, inputs=tables, **options)
    return sim, run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "initial"),
    [(cart_pole, {"x": 0.0, "angle": 0.4}), (linkage, {"crank": 1.2, "rod": -0.8})],
)
def test_steps_are_one_run_with_a_table_of_steps_to_the_last_bit(system, initial):
    posed = system()
    torque = 0.5 * np.sin(0.05 * np.arange(501))
    inputs = {posed.inputs.names[0]: torque}
    options = {} if "x" in initial else {"guess": initial}
    sim, run = stepped_and_run(posed, initial if not options else {}, 0.004, inputs, **options)
    assert sim.time == run.end_time
    assert sim.state == run.end_state


@pytest.mark.slow
def test_steps_through_impacts_and_friction_are_one_run():
    push, lift = pushes(400)
    sim, run = stepped_and_run(block(), FALL, 0.005, {"push": push, "lift": lift}, **OPEN)
    found = sim.trajectory()
    assert [event.name for event in found.events] == [event.name for event in run.events]
    assert len(run.events) >= 3
    # A run restarts at boundaries of its own as well, which leaves a rounding or two.
    for name, value in run.end_state.items():
        assert abs(sim.state[name] - value) < 100 * EPSILON, name


@pytest.mark.long
def test_twenty_thousand_steps_are_one_run():
    push = 0.4 * np.sin(0.011 * np.arange(20_001))
    sim, run = stepped_and_run(cart_pole(), {"x": 0.0, "angle": 0.4}, 0.001, {"push": push})
    assert sim.time == run.end_time
    # A run restarts at its boundaries as well, which leaves a rounding at each: of 2e4 steps' own.
    for name, value in run.end_state.items():
        assert abs(sim.state[name] - value) <= 2e4 * EPSILON * max(1.0, abs(value)), name


@pytest.mark.slow
def test_a_cart_goes_as_the_closed_form_says():
    random = np.random.default_rng(3)
    sim, x, v, t = ds.Simulator(cart(), {"x": 0.0}), 0.0, 0.0, 0.0
    for dt, push in random.uniform((0.001, -3.0), (0.1, 3.0), (300, 2)):
        values = sim.step(dt, push=push)
        x, v, t = x + v * dt + push / 4 * dt**2, v + push / 2 * dt, t + dt
    # Sums of 300 terms of order one, on either side.
    assert abs(values["x"] - x) < 300 * EPSILON * 10
    assert abs(values["x_dot"] - v) < 300 * EPSILON * 10
    assert values["push"] == push
    assert abs(sim.time - t) < 300 * EPSILON * t


@pytest.mark.slow
def test_times_of_equal_steps_are_their_multiples():
    sim = ds.Simulator(cart(), {"x": 0.0}, record=False)
    for k in range(1, 2001):
        sim.step(0.001, push=0.0)
        assert sim.time == 0.001 * k


@pytest.mark.slow
def test_what_is_given_at_the_start_acts_by_itself_beside_what_steps_give():
    system = block()
    sim = ds.Simulator(system, FALL, inputs={"push": "3 * sin(t)"}, **OPEN)
    for _ in range(100):
        sim.step(0.01, lift=2.0)
    run = ds.solve(system, 1.0, FALL, inputs={"push": "3 * sin(t)", "lift": 2.0}, **OPEN)
    # Steps restart the method of the run: what is left is rounding, thrown back by impacts.
    assert abs(sim.state["x"] - run.end_state["x"]) < 1e-13
    with pytest.raises(UnsupportedError, match="'push' is already driven"):
        sim.step(0.01, push=1.0)


@pytest.mark.slow
def test_a_sampled_controller_ticks_within_steps():
    case = ds.problem("five-bar").case("pd")
    sim = ds.Simulator(case)
    for _ in range(50):
        sim.step(0.013)
    run = case.solve(50 * 0.013)
    for name, value in run.end_state.items():
        assert abs(sim.state[name] - value) < 1e-12, name


# -- what a jump of an input does ------------------------------------------------------------------


def test_a_block_sticks_slips_and_lifts_off_at_once_where_an_input_jumps():
    sim = ds.Simulator(block(), {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0})
    assert sim.step(0.1, push=3.0)["floor_state"] == 2.0
    values = sim.step(0.1, push=6.0)
    assert abs(values["x_dot"] - (6 - 0.5 * 9.81) * 0.1) < 10 * EPSILON
    values = sim.step(0.1, lift=20.0)
    assert abs(values["y_dot"] - (20 - 9.81) * 0.1) < 10 * EPSILON
    names = [(event.name, event.time) for event in sim.trajectory().events]
    assert names == [("floor_slips", 0.1), ("floor_lost", 0.2)]


def test_a_block_at_rest_is_pushed_on():
    sim = ds.Simulator(block(), {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0})
    rested = sim.step(1.0, push=0.0)["x"]
    assert sim.step(1.0)["x"] == rested
    # (6 N - 0.5 g) / 1 kg for a second
    assert abs(sim.step(1.0, push=6.0)["x"] - rested - (6 - 0.5 * 9.81) / 2) < 1e-14


def test_a_spring_whose_rest_jumps_pushes_with_its_new_energy():
    q, u = ds.coordinates(x="m"), ds.inputs(wall=(1.0, "m"))
    spring = ca.if_else(q.x > u.wall, 50 * (q.x - u.wall) ** 2, 0.0)
    sim = ds.Simulator(
        ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=spring, inputs=u),
        {"x": 0.0, "x_dot": 1.0},
    )
    sim.step(0.5)
    values = sim.step(0.01, wall=0.3)
    # x - 0.3 = 0.2 cos 10 t + 0.1 sin 10 t
    assert abs(values["x"] - (0.3 + 0.2 * math.cos(0.1) + 0.1 * math.sin(0.1))) < 10 * EPSILON
    assert sim.trajectory().drift["energy"].max_relative < 1e-14


def test_an_input_in_a_constraint_may_not_jump_but_stay():
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(height=(0.0, "m"))
    sim = ds.Simulator(
        ds.MechanicalSystem(
            q,
            kinetic=ca.sumsqr(q.dot.vector),
            goals=[ds.Holonomic("lift", q.y - u.height)],
            inputs=u,
        )
    )
    sim.step(0.1, height=0.0)
    with pytest.raises(UnsupportedError, match="'height' appears in the constraint 'lift'"):
        sim.step(0.1, height=1.0)
    assert sim.time == 0.1


# -- where it was ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"solver": "dop853"}, {"formulation": "projected"}])
def test_what_was_saved_goes_on_to_the_same_bits(options):
    push, lift = pushes(120)

    def go(sim, first, last):
        return [dict(sim.step(0.01, push=push[k], lift=lift[k])) for k in range(first, last)]

    sim = ds.Simulator(block(), FALL, **OPEN, **options)
    go(sim, 0, 60)
    saved = sim.save()
    once = go(sim, 60, 120)
    sim.load(saved)
    again = go(sim, 60, 120)
    other = ds.Simulator(block(), FALL, **OPEN, **options)
    other.load(pickle.loads(pickle.dumps(saved)))
    assert once == again == go(other, 60, 120)


def test_a_snapshot_stays_as_it_was_while_the_simulator_goes_on():
    """What had happened before it does not happen again, however late it is loaded."""
    q = ds.coordinates(x="m")
    count = ds.discrete(n=0.0)
    clock = ca.sin(math.pi * ds.time / 0.2)
    kick = ds.Event("kick", clock, ds.RISING, ds.Reset({"n": count.n + 1}))
    u = ds.inputs(push=(0.0, "N"))
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": u.push}, inputs=u, discrete=count, events=[kick]
    )
    simulator = ds.Simulator(system, {})
    simulator.step(1.25)
    snapshot = simulator.save()
    whole = dict(simulator.step(1.0, push=1.0).state)
    simulator.step(2.0)
    simulator.load(snapshot)
    assert dict(simulator.step(1.0, push=1.0).state) == whole
    assert [event.time for event in simulator.trajectory().events] == pytest.approx([1.6, 2.0])


def test_a_copy_goes_its_own_way():
    sim = ds.Simulator(cart(), {"x": 0.0})
    sim.step(0.5, push=1.0)
    other = sim.copy()
    assert other.step(0.5)["x"] == 0.25
    assert sim.time == 0.5
    assert sim.step(0.5, push=-1.0)["x"] == 0.0625 * (1 + 2 - 1)


def test_a_state_that_is_set_meets_the_constraints():
    sim = ds.Simulator(linkage(), guess={"crank": 1.2, "rod": -0.8})
    sim.step(0.1, torque=0.2)
    values = sim.set_state({"crank": 0.7, "crank_dot": 0.5}, time=3.0)
    assert values["crank"] == 0.7
    assert values.time == sim.time == 3.0
    gap = 0.2 * math.sin(0.7) + 0.25 * math.sin(values["rod"])
    assert abs(gap) < 4 * EPSILON
    assert values["torque"] == 0.2  # what is held stays
    run = ds.solve(linkage(), 3.2, sim.state, start_time=3.0, inputs={"torque": 0.2}, at=[3.2])
    sim.step(0.2)
    assert abs(sim.state["crank"] - run.end_state["crank"]) < 1e-14


def test_a_state_on_the_floor_that_is_set_rests_there_and_one_above_falls():
    sim = ds.Simulator(block(), FALL, **OPEN)
    sim.step(0.1, push=0.0)
    sim.set_state({"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0})
    assert sim.step(0.1)["floor"] == 9.81
    sim.set_state({"x": 0.0, "y": 1.0, "x_dot": 0.0, "y_dot": 0.0})
    assert abs(sim.step(0.1)["y"] - (1 - 9.81 * 0.005)) < 10 * EPSILON


@pytest.mark.slow
def test_a_state_that_no_mechanism_has_is_refused_and_nothing_changes():
    sim = ds.Simulator(linkage(), guess={"crank": 1.2, "rod": -0.8})
    before = sim.state
    with pytest.raises(InconsistentStateError):
        sim.set_state({"crank": 0.0, "x": 5.0})
    with pytest.raises(UnknownNameError, match="crnak"):
        sim.set_state({"crnak": 0.0})
    assert sim.state == before


def test_a_reset_begins_anew():
    sim = ds.Simulator(cart(), {"x": 0.5})
    sim.step(1.0, push=2.0)
    assert sim.reset()["x"] == 0.5
    assert sim.time == 0.0
    assert sim.step(1.0)["x"] == 1.0  # the push is still held


# -- what was recorded -----------------------------------------------------------------------------


def test_the_trajectory_has_the_ends_of_steps_and_knows_what_was_between():
    sim = ds.Simulator(cart(), {"x": 0.0})
    for k in range(10):
        sim.step(0.1, push=float(k))
    found = sim.trajectory()
    assert found.outcome is ds.Outcome.COMPLETED
    assert np.array_equal(found.times, 0.1 * np.arange(11))
    assert found["push"].tolist() == [0.0, *map(float, range(10))]
    middle, before = found.at(0.55), found["x"][5] + found["x_dot"][5] * 0.05
    assert abs(middle["x"] - (before + 5 / 4 * 0.05**2)) < 10 * EPSILON
    assert found.drift["energy"].max_relative < 1e-14
    sim.step(0.1)
    assert len(sim.trajectory().times) == 12


@pytest.mark.slow
def test_without_a_record_memory_stays_flat():
    sim = ds.Simulator(block(), FALL, record=False, **OPEN)
    for k in range(500):
        sim.step(0.002, push=float(k % 7))
    record = sim._run.record
    held = [record.modes, record.boundaries, record.samples, record.events]
    assert max(map(len, held)) <= 100
    with pytest.raises(UnsupportedError, match="nothing was recorded"):
        sim.trajectory()


# -- how it ends, and what is refused --------------------------------------------------------------


def test_an_event_that_stops_ends_the_step_and_the_next_is_refused():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2,
        force={"x": u.push},
        events=[ds.Event("there", q.x - 1.0, ds.RISING, ds.Stop())],
        inputs=u,
    )
    sim = ds.Simulator(system, {"x": 0.0})
    saved = sim.save()
    values = sim.step(5.0, push=4.0)
    assert abs(sim.time - 1.0) < 1e-14
    assert values["x"] == pytest.approx(1.0, abs=1e-14)
    assert sim.outcome is ds.Outcome.STOPPED_BY_EVENT
    with pytest.raises(RunEndedError, match=r"ended at t = 1 s .*'there'.*load a snapshot"):
        sim.step(0.1)
    assert sim.trajectory().outcome is ds.Outcome.STOPPED_BY_EVENT
    sim.load(saved)
    assert sim.outcome is None
    assert sim.step(0.5, push=0.0)["x"] == 0.0


def test_a_step_that_fails_says_why_and_leaves_what_is_to_be_trusted():
    q, u = ds.coordinates(x="m"), ds.inputs(push=(0.0, "N"))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push * q.x**3}, inputs=u)
    sim = ds.Simulator(system, {"x": 1.0, "x_dot": 1.0})
    sim.step(0.1)
    with pytest.raises(StepFailedError, match="no longer finite"):
        sim.step(10.0, push=5.0)
    assert sim.outcome is ds.Outcome.FAILED
    assert all(map(math.isfinite, sim.state.values()))
    with pytest.raises(RunEndedError):
        sim.step(0.1)


@pytest.mark.parametrize("dt", [0.0, -0.1, math.nan, math.inf, "0.1", None, True, 1e-20])
def test_a_step_without_a_length_is_refused(dt):
    sim = ds.Simulator(cart(), {"x": 0.0}, start_time=1.0)
    with pytest.raises(OutOfRangeError, match="the step"):
        sim.step(dt, push=1.0)
    assert sim.time == 1.0


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({}, OutOfRangeError, "'push' has no value yet"),
        ({"push": math.nan}, OutOfRangeError, "'push' is nan"),
        ({"push": "1"}, OutOfRangeError, "'push' is '1'"),
        ({"pull": 1.0}, UnknownNameError, "'pull'.*'push'"),
        ({"push": 1.0, "x": 1.0}, UnknownNameError, "'x'"),
    ],
)
def test_inputs_that_are_none_are_refused_and_nothing_changes(inputs, error, words):
    sim = ds.Simulator(cart(), {"x": 0.0})
    with pytest.raises(error, match=words):
        sim.step(0.1, **inputs)
    assert sim.time == 0.0
    assert sim.step(1.0, push=4.0)["x"] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"horizon": 0.0}, OutOfRangeError, "the horizon is 0.0"),
        ({"at": [1.0]}, UnsupportedError, "takes no 'at'"),
        ({"horizont": 1.0}, UnknownNameError, "horizon"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        ds.Simulator(cart(), {"x": 0.0}, **options)


def test_pairs_of_supports_are_refused_by_name():
    with pytest.raises(UnsupportedError, match="pairs of supports"):
        ds.Simulator(ds.problem("prism").case())


def test_a_snapshot_of_another_system_is_refused():
    sim, other = ds.Simulator(cart(), {"x": 0.0}), ds.Simulator(linkage(), guess={"crank": 1.0})
    with pytest.raises(OutOfRangeError, match="another system"):
        sim.load(other.save())
    with pytest.raises(OutOfRangeError, match="not a snapshot"):
        sim.load({"x": 1.0})
