"""Laws of dry friction against closed forms and an integrator of its own for each branch."""

import functools
import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.friction_laws import Coulomb, FrictionLaw, RegularisedCoulomb
from tests.reference.rubbing import belt_period, regularised_block, stop_on_an_incline

GRAVITY = 9.81
NONE = ds.parameters()


def block(law, push, parameters=NONE, *, lift=0.0, carried=0.0, stiffness=0.0, unilateral=False):
    """1 kg on level ground: one push slides along a line, two in the plane."""
    names = {"x": "m", "y": "m"} if len(push) == 2 else {"x": "m"}
    q = ds.coordinates(**names, z="m")
    floor = ds.Contact("floor", q.z) if unilateral else ds.Holonomic("floor", q.z)
    slip = q.dot.vector[:-1] - carried
    touching = floor.touching if unilateral else 1.0
    rubs = law.act("floor", slip, floor.reaction, touching)
    acting = ca.vertcat(*push, lift - GRAVITY)
    return ds.MechanicalSystem(
        q,
        parameters,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=stiffness * q.x**2 / 2,
        goals=[floor, *rubs.goals],
        force=acting + ca.jtimes(slip, q.dot.vector, rubs.force, True),
        discrete=rubs.discrete,
        events=rubs.events,
        outputs={"friction": (rubs.total[0], "N")},
        meters={"rubbed": (rubs.power, "J")},
    )


def names_and_times(run):
    return [(event.name, event.time) for event in run.events]


# -- regularised -------------------------------------------------------------------------------


@functools.cache
def pushed(plane):
    """A block under a push that swings, of which everything may be chosen for a run."""
    p = ds.parameters(
        strength=(5.0, "N"), frequency=(3.0, "1/s"), mu=(0.3, ""), delta=(1e-3, "m/s")
    )
    push = p.strength * ca.sin(p.frequency * ds.time)
    return block(RegularisedCoulomb(p.mu, p.delta), [push, 0.0][: 1 + plane], p)


def agrees(chosen, speed, plane=False):
    """Run a block, and compare it with an integrator that takes each branch on its own."""
    run = ds.solve(pushed(plane), until=2.0, initial={"x_dot": speed}, parameters=chosen)
    given = {"strength": 5.0, "frequency": 3.0, "mu": 0.3, "delta": 1e-3} | chosen
    times, state = regularised_block(
        lambda t: given["strength"] * math.sin(given["frequency"] * t),
        given["mu"] * GRAVITY,
        given["delta"],
        (0.0, speed),
        2.0,
    )
    found = [event.time for event in run.events if event.name == "floor_saturation"]
    assert found == pytest.approx(times, abs=1e-11)
    end = run.at(2.0)
    assert [end["x"], end["x_dot"]] == pytest.approx(state, abs=1e-11)


@settings(derandomize=True, max_examples=1, deadline=None)
@given(
    strength=st.floats(3.5, 8.0),
    frequency=st.floats(2.0, 5.0),
    delta=st.floats(0.01, 0.1),
    speed=st.floats(-2.0, 2.0),
)
def test_each_branch_is_that_of_an_integrator_of_its_own(strength, frequency, delta, speed):
    agrees({"strength": strength, "frequency": frequency, "delta": delta}, speed)


@pytest.mark.parametrize(
    ("delta", "plane"),
    [
        (1e-3, False),
        pytest.param(1e-6, False, marks=pytest.mark.slow),
        pytest.param(1e-6, True, marks=pytest.mark.slow),
    ],
)
def test_no_passage_through_a_narrow_linear_part_is_lost(delta, plane):
    # At 1e-6 m/s it lasts less than a microsecond, far less than a step.
    agrees({"delta": delta}, 1.0, plane)


@pytest.mark.parametrize(("speed", "branch"), [(0.01, 0.0), (0.2, 1.0), (-0.2, 1.0)])
def test_a_start_takes_the_branch_of_its_slip_by_itself(speed, branch):
    chosen = {"strength": 0.0, "delta": 0.05}
    run = ds.solve(pushed(False), until=0.001, initial={"x_dot": speed}, parameters=chosen)
    assert run.description["parameters"]["saturated_floor"] == branch
    assert run.events == ()
    expected = -0.3 * GRAVITY * min(max(speed / 0.05, -1.0), 1.0)
    assert run.outputs["friction"][0] == pytest.approx(expected, rel=1e-14)


def test_two_contacts_that_saturate_at_one_instant_are_both_seen():
    q = ds.coordinates(a="m", b="m")
    law = RegularisedCoulomb(1.0, 0.1)
    laws = [law.act(name, q.dot[name], ca.SX(1)) for name in "ab"]
    pair = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force=[2.0 + laws[0].force, 2.0 + laws[1].force],
        discrete=laws[0].discrete.joined(laws[1].discrete),
        events=[*laws[0].events, *laws[1].events],
    )
    run = ds.solve(pair, until=1.0)
    # v' = 2 - 10 v up to v = 0.1.
    instant = 0.1 * math.log(2.0)
    assert sorted(event.name for event in run.events) == ["a_saturation", "b_saturation"]
    assert [event.time for event in run.events] == pytest.approx([instant] * 2, abs=1e-14)
    end = run.at(1.0)
    assert end["a_dot"] == pytest.approx(0.1 + 1.0 - instant, abs=1e-14)
    assert end["a"] == end["b"]


def test_smooth_friction_goes_backwards_and_the_sharp_one_says_that_it_does_not():
    push = [5 * ca.sin(3 * ds.time)]
    smooth = block(RegularisedCoulomb(0.3, 0.05, smooth=True), push)
    there = ds.solve(smooth, until=0.3, initial={"x_dot": 1.0})
    state = {name: there.at(0.3)[name] for name in ("x", "x_dot")}
    back = ds.solve(smooth, until=0.0, start_time=0.3, initial=state)
    assert back.at(0.0)["x_dot"] == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(OutOfRangeError, match="forwards in time"):
        ds.solve(pushed(False), until=0.0, start_time=0.3, initial=state)


@pytest.mark.parametrize("plane", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_friction_takes_is_what_the_energy_loses(plane):
    start = {"x_dot": 1.2, "y_dot": -0.5} if plane else {"x_dot": 1.2}
    run = ds.solve(pushed(plane), until=1.0, initial=start, parameters={"strength": 0.0})
    lost = run.outputs["energy"] - run.outputs["energy"][0]
    assert run.outputs["rubbed"] == pytest.approx(lost, abs=1e-13)


# -- Coulomb's ---------------------------------------------------------------------------------


def test_a_block_on_a_belt_sticks_and_slips_in_the_period_of_the_closed_form():
    stiffness, speed = 40.0, 0.1
    run = ds.solve(
        block(Coulomb(0.25, 0.4), [0.0], carried=speed, stiffness=stiffness),
        until=12.0,
        initial={"x_dot": speed},
    )
    slips = [time for name, time in names_and_times(run) if name == "floor_slips"]
    period = belt_period(stiffness, 0.4 * GRAVITY, 0.25 * GRAVITY, speed)
    assert slips[0] == pytest.approx(0.4 * GRAVITY / stiffness / speed, abs=1e-12)
    assert len(slips) > 3
    assert np.diff(slips) == pytest.approx(period, abs=1e-11)
    assert run.outputs["friction"].max() <= 0.4 * GRAVITY * (1 + 1e-12)


@functools.cache
def swung():
    p = ds.parameters(strength=(5.0, "N"), frequency=(3.0, "1/s"))
    return block(Coulomb(0.3), [p.strength * ca.sin(p.frequency * ds.time)], p)


@pytest.mark.parametrize("frequency", [1.1, 1.7, 2.3, 2.9])
def test_slip_begins_once_where_sticking_bears_no_more_than_slip(frequency):
    # The acceleration begins from zero: whether it is positive is not left to rounding.
    strength = 5.0
    run = ds.solve(swung(), until=3.0 / frequency, parameters={"frequency": frequency})
    first = math.asin(0.3 * GRAVITY / strength) / frequency
    assert run.outcome is ds.Outcome.COMPLETED
    assert names_and_times(run)[0] == ("floor_slips", pytest.approx(first, rel=1e-11))
    # Up to phase 3 it does not stop: x' = (A (cos 1st - cos) - mu g (t - 1st)) over one.
    phases = frequency * first, 3.0
    gained = strength / frequency * (math.cos(phases[0]) - math.cos(phases[1]))
    speed = gained - 0.3 * GRAVITY * (phases[1] - phases[0]) / frequency
    assert len(run.events) == 1
    assert run.end_state["x_dot"] == pytest.approx(speed, rel=1e-11)


def test_a_static_coefficient_below_that_of_slip_counts_as_it():
    p = ds.parameters(static=(0.1, ""))
    run = ds.solve(block(Coulomb(0.3, p.static), [6 * ds.time], p), until=1.0)
    assert names_and_times(run) == [("floor_slips", pytest.approx(0.3 * GRAVITY / 6, rel=1e-11))]


@functools.cache
def stacked():
    """1 kg on top of 2 kg on the ground, which is pushed; both contacts rub."""
    q = ds.coordinates(lower="m", z="m", upper="m", top="m")
    p = ds.parameters(growth=(0.0, "N/s"))
    floor, between = ds.Holonomic("floor", q.z), ds.Holonomic("between", q.top - q.z)
    slips = q.dot.lower, q.dot.upper - q.dot.lower
    laws = Coulomb(0.2, 0.3), Coulomb(0.25, 0.35)
    rubs = [
        law.act(goal.name, slip, goal.reaction)
        for law, goal, slip in zip(laws, (floor, between), slips, strict=True)
    ]
    force = ca.vertcat(p.growth * ds.time, -2 * GRAVITY, 0.0, -GRAVITY)
    for slip, rub in zip(slips, rubs, strict=True):
        force += ca.jtimes(slip, q.dot.vector, rub.force, True)
    v = q.dot
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(2 * (v.lower**2 + v.z**2) + v.upper**2 + v.top**2) / 2,
        goals=[floor, between, *rubs[0].goals, *rubs[1].goals],
        force=force,
        discrete=rubs[0].discrete.joined(rubs[1].discrete),
        events=[*rubs[0].events, *rubs[1].events],
    )


def test_a_stack_that_is_pushed_slips_below_and_then_above():
    run = ds.solve(stacked(), until=1.0, parameters={"growth": 20.0})
    # The upper block bears 0.35 g; then 3 kg at 0.35 g against the friction of 3 kg below.
    below, above = 0.3 * 3 * GRAVITY / 20, (3 * 0.35 + 0.2 * 3) * GRAVITY / 20
    assert names_and_times(run) == [
        ("floor_slips", pytest.approx(below, abs=1e-14)),
        ("between_slips", pytest.approx(above, abs=1e-13)),
    ]


def test_two_contacts_of_a_stack_stop_at_one_instant():
    # The lower block slows down by (3 * 0.2 - 0.25) g / 2, the upper one by 0.25 g.
    start = {"lower_dot": 0.175 * GRAVITY / 2, "upper_dot": 0.25 * GRAVITY / 2}
    run = ds.solve(stacked(), until=1.0, initial=start)
    assert sorted(name for name, _ in names_and_times(run)) == ["between_sticks", "floor_sticks"]
    assert [time for _, time in names_and_times(run)] == pytest.approx([0.5, 0.5], abs=1e-14)
    assert run.end_state["upper"] == pytest.approx(0.25 * GRAVITY / 8, abs=1e-14)


def test_a_push_that_grows_starts_a_block_at_the_static_limit():
    run = ds.solve(block(Coulomb(0.3, 0.4), [6 * ds.time]), until=3.0)
    begins = 0.4 * GRAVITY / 6
    assert names_and_times(run) == [("floor_slips", pytest.approx(begins, abs=1e-14))]
    speed = 3 * (9.0 - begins**2) - 0.3 * GRAVITY * (3.0 - begins)
    assert run.at(3.0)["x_dot"] == pytest.approx(speed, rel=1e-14)


@functools.cache
def held():
    p = ds.parameters(push=(0.0, "N"))
    return block(Coulomb(0.3, 0.4), [p.push], p)


@pytest.mark.parametrize(("push", "slides"), [(3.5, False), (4.5, True), (-4.5, True)])
def test_a_start_at_rest_sticks_within_the_static_limit_and_slides_beyond(push, slides):
    run = ds.solve(held(), until=1.0, parameters={"push": push})
    expected = math.copysign(abs(push) - 0.3 * GRAVITY, push) if slides else 0.0
    assert run.events == ()
    assert run.at(1.0)["x_dot"] == pytest.approx(expected, abs=1e-14)


def test_a_slip_turns_round_where_sticking_would_ask_for_too_much():
    # Up a slope of gravity 8 m/s^2 against friction 2.943, then down.
    run = ds.solve(held(), until=1.0, initial={"x_dot": 2.0}, parameters={"push": -8.0})
    top = 2.0 / (8.0 + 0.3 * GRAVITY)
    assert names_and_times(run) == [
        ("floor_sticks", pytest.approx(top, abs=1e-14)),
        ("floor_slips", pytest.approx(top, abs=1e-14)),
    ]
    assert run.at(1.0)["x_dot"] == pytest.approx(-(8.0 - 0.3 * GRAVITY) * (1.0 - top), rel=1e-13)


def test_a_block_that_is_lifted_slips_before_it_leaves_the_ground():
    law = Coulomb(0.3, 0.4)
    system = block(law, [2.0], lift=10 * ds.time, unilateral=True)
    run = ds.solve(system, until=1.5)
    slips, leaves = (GRAVITY - 2.0 / 0.4) / 10, GRAVITY / 10
    events = names_and_times(run)
    assert events[0] == ("floor_slips", pytest.approx(slips, abs=1e-13))
    assert events[1] == ("floor_lost", pytest.approx(leaves, abs=1e-13))
    assert len(events) == 2
    # Friction falls to zero in a straight line.
    rubbed = 0.3 * (GRAVITY - 10 * slips) * (leaves - slips) / 2
    assert run.at(1.5)["x_dot"] == pytest.approx(2.0 * (1.5 - slips) - rubbed, rel=1e-12)


SLOPE, RATIO = 4.0, 1.3
"""Of gravity along an incline, m/s^2; of friction to that."""


@functools.cache
def incline():
    return block(Coulomb(RATIO * SLOPE / GRAVITY), [SLOPE, 0.0])


@pytest.mark.parametrize(
    "heading",
    [
        0.5,
        pytest.param(1.8, marks=pytest.mark.slow),
        pytest.param(math.pi, marks=pytest.mark.slow),
    ],
)
def test_a_block_across_an_incline_stops_when_the_closed_form_says(heading):
    speed, still = 1.5, Coulomb(1.0).still
    start = {"x_dot": speed * math.cos(heading), "y_dot": speed * math.sin(heading)}
    run = ds.solve(incline(), until=4.0, initial=start)
    stops = [time for name, time in names_and_times(run) if name == "floor_sticks"]
    # It sticks from `still` on, and its direction fades at a thousandth of that.
    early = 2 * stop_on_an_incline(still, 0.0, SLOPE, RATIO)
    expected = stop_on_an_incline(speed, heading, SLOPE, RATIO)
    assert stops == pytest.approx([expected], abs=early)
    end = run.at(4.0)
    assert (end["x_dot"], end["y_dot"]) == pytest.approx((0.0, 0.0), abs=still)


def test_what_is_left_of_a_slip_that_ends_across_a_small_force_is_taken():
    # The slip that ends lies along the force at last, and little has moved along it before.
    slope, speed = 0.5, 0.3
    ratio = 0.3 * GRAVITY / slope
    run = ds.solve(block(Coulomb(0.3), [0.0, slope]), until=0.2, initial={"x_dot": speed})
    assert run.outcome is ds.Outcome.COMPLETED
    stops = [time for name, time in names_and_times(run) if name == "floor_sticks"]
    early = 2 * stop_on_an_incline(Coulomb(0.3).still, 0.0, slope, ratio)
    expected = stop_on_an_incline(speed, math.pi / 2, slope, ratio)
    assert stops == pytest.approx([expected], abs=early)
    after = run.events[-1].after
    assert (after["x_dot"], after["y_dot"]) == pytest.approx((0.0, 0.0), abs=1e-20)


@pytest.mark.slow
def test_slip_in_the_plane_is_that_on_a_line_where_the_forces_lie_on_one():
    push = 4 * ca.sin(3 * ds.time)
    law = Coulomb(0.3, 0.4)
    line = ds.solve(block(law, [push]), until=3.0, initial={"x_dot": 0.5})
    plane = ds.solve(
        block(law, [0.6 * push, 0.8 * push]), until=3.0, initial={"x_dot": 0.3, "y_dot": 0.4}
    )
    kept = ("floor_sticks", "floor_slips")
    on_line, in_plane = (
        [event.time for event in run.events if event.name in kept] for run in (line, plane)
    )
    # The slip that counts as none over the deceleration, more than 1 m/s^2.
    assert in_plane == pytest.approx(on_line, abs=2 * law.still)
    ends = line.at(3.0)["x"], plane.at(3.0)
    assert (ends[1]["x"], ends[1]["y"]) == pytest.approx((0.6 * ends[0], 0.8 * ends[0]), abs=1e-6)


# -- what they are made of ---------------------------------------------------------------------


@pytest.mark.parametrize("law", [RegularisedCoulomb(0.3, 1e-3), Coulomb(0.3)])
def test_laws_fit_the_protocol(law):
    assert isinstance(law, FrictionLaw)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RegularisedCoulomb(-0.1, 1e-3), "the coefficient of friction is -0.1"),
        (lambda: RegularisedCoulomb(0.1, 0.0), "the slip velocity is 0.0, but must be > 0"),
        (lambda: Coulomb(0.3, 0.2), "must be at least the sliding coefficient"),
        (lambda: Coulomb(0.3, still=0.0), "the slip that counts as none is 0.0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(make, sentence):
    with pytest.raises(OutOfRangeError, match=sentence):
        make()


@pytest.mark.parametrize("law", [RegularisedCoulomb(0.3, 1e-3), Coulomb(0.3)])
def test_a_slip_of_three_components_and_a_name_that_is_no_word_are_refused(law):
    with pytest.raises(PosingError, match="one component or a column of two"):
        law.act("floor", ca.SX(3, 1), ca.SX(1))
    with pytest.raises(PosingError, match="must be a word"):
        law.act("the floor", ca.SX(2, 1), ca.SX(1))


DRIVES = {
    "from the side": (ca.cos(ds.time), [np.pi / 2, 3 * np.pi / 2]),
    "from rest": (ca.sin(ds.time), [np.pi, 2 * np.pi]),
    "from rest without a rate": (-(ds.time**2), []),
    "to zero and back": ((ds.time - 1.0) ** 2, []),
    "with kinks": (ca.fmax(ds.time - 1, 0) - 2 * ca.fmax(ds.time - 2, 0), [1.0, 3.0]),
}
"""Velocities by name, m/s, and when their friction turns round, s."""


@pytest.mark.default_rows(10)
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize("belt", [0.3, 0.0])
@pytest.mark.parametrize("name", DRIVES)
def test_friction_of_a_slip_that_is_driven_turns_round_where_the_slip_does(name, solver, belt):
    """What drives the body bears -m v' - friction, and friction is mu N against the slip."""
    speed, turns = DRIVES[name]
    q = ds.coordinates(x="m", z="m")
    floor = ds.Holonomic("floor", q.z)
    drive = ds.Nonholonomic("drive", q.dot.x - speed - belt)
    rubs = ds.multibody.Coulomb(0.3, 0.4).act("floor", q.dot.x - belt, floor.reaction)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.z**2) / 2,
        potential=10.0 * q.z,
        goals=[floor, drive, *rubs.goals],
        force={"x": rubs.force},
        discrete=rubs.discrete,
        events=rubs.events,
        outputs={"friction": (rubs.total, "N"), "slip": (q.dot.x - belt, "m/s")},
    )
    run = ds.solve(system, 7.0, solver=solver, at=np.linspace(0.1, 7.0, 70))
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    # A slip without a direction, below `still`, has any friction.
    moves = np.abs(run["slip"]) > 1e-6
    assert run["friction"][moves] == pytest.approx(-3.0 * np.sign(run["slip"])[moves], rel=1e-12)
    rate = ca.Function("rate", [ds.time], [ca.jacobian(speed, ds.time)])
    kinks = np.abs(run.times % 1.0 - 0.5) < 0.45 if "kinks" in name else moves
    bears = np.array([float(rate(time)) for time in run.times]) - run["friction"]
    assert run["drive"][moves & kinks] == pytest.approx(bears[moves & kinks], abs=1e-8)
    slips = [event.time for event in run.events if event.name == "floor_slips"]
    assert slips == pytest.approx(turns, abs=1e-9)
    assert run.audit().holds
