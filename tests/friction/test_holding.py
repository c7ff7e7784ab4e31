"""Sliders that turn round, stick and break loose, against closed forms and code of our own.

The second route integrates one coordinate with every variant tried, from event to event: it knows
nothing of the library.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import daesolve as ds
from daesolve.trajectory.results import Outcome

GRAVITY, MASS, INERTIA, HEIGHT = 9.81, 1.0, 0.02, 0.03
SIDES = (-1.0, 1.0)


def slider(places, frictions, force, incline=0.0, events=(), turning=0.0):
    """A slider on two pairs at the given places.

    `force(t, x, v)` acts along the guide; `turning` is its arm about the mass centre.
    """
    q = ds.coordinates(x="m", y="m", phi="rad")
    pairs = []
    for k, (place, pair) in enumerate(zip(places, frictions, strict=True)):
        supports = []
        for side, friction in zip(SIDES, pair, strict=True):
            cosine, sine, up = ca.cos(q.phi), ca.sin(q.phi), -side * HEIGHT
            point = (q.x + place * cosine - up * sine, q.y + place * sine + up * cosine)
            supports.append(ds.friction.Support(point=point, normal=(0.0, side), friction=friction))
        pairs.append(ds.friction.VariantPair(f"pair_{k + 1}", supports))
    push = force(ds.time, q.x, q.dot.x)
    weight = MASS * GRAVITY
    return ds.MechanicalSystem(
        q,
        kinetic=(MASS * (q.dot.x**2 + q.dot.y**2) + INERTIA * q.dot.phi**2) / 2,
        force={
            "x": push - weight * math.sin(incline),
            "y": -weight * math.cos(incline),
            "phi": -turning * push,
        },
        goals=[
            ds.Holonomic("height", q.y, ideal=False, scale=1.0),
            ds.Holonomic("turn", q.phi, ideal=False, scale=1.0),
        ],
        pairs=pairs,
        events=list(events),
    )


class ByHand:
    """The same slider on two pairs in one coordinate."""

    def __init__(self, places, frictions, force, incline=0.0, turning=0.0):
        self.places, self.frictions, self.force = places, frictions, force
        self.incline, self.turning = incline, turning

    def acceleration(self, t, x, v, sense):
        """x'' of the only variant whose reactions push."""
        push, found = self.force(t, x, v), []
        for variant in itertools.product((0, 1), repeat=2):
            signs = [SIDES[k] for k in variant]
            rub = [f[k] for f, k in zip(self.frictions, variant, strict=True)]
            # A force -f s n at the height -side h has the moment -f h s side about the centre.
            arms = [
                a * side - f * sense * side * HEIGHT
                for a, side, f in zip(self.places, signs, rub, strict=True)
            ]
            weight = MASS * GRAVITY * math.cos(self.incline)
            loads = np.linalg.solve([signs, arms], [weight, self.turning * push])
            if np.all(loads >= 0.0):
                along = push - MASS * GRAVITY * math.sin(self.incline) - sense * (loads @ rub)
                found.append(along / MASS)
        assert max(found) - min(found) < 1e-12
        return found[0]

    def run(self, until, x, v):
        """Integrate from event to event; return the last state and what happened."""
        time, told = 0.0, []
        sense = np.sign(v)
        while True:
            if sense == 0.0:
                time = self._released(time, x, until)
                if time >= until:
                    return x, 0.0, told
                told.append(("loose", time))
                nudged = time + 1e-9
                sense = 1.0 if self.acceleration(nudged, x, 0.0, 1.0) > 0.0 else -1.0
            piece = self._slid(time, until, (x, 0.0 if told else v), sense)
            time, (x, v) = piece.t[-1], piece.y[:, -1]
            if time >= until:
                return x, v, told
            told.append(("stop", time))
            v = 0.0
            back = self.acceleration(time, x, 0.0, -sense) * -sense > 0.0
            on = self.acceleration(time, x, 0.0, sense) * sense > 0.0
            sense = -sense if back else sense if on else 0.0

    def _slid(self, begin, until, start, sense):
        def stops(t, y):
            return sense * y[1] if t > begin + 1e-7 or begin == 0.0 else 1.0

        stops.terminal, stops.direction = True, -1.0
        return solve_ivp(
            lambda t, y: [y[1], self.acceleration(t, *y, sense)],
            (begin, until),
            start,
            "DOP853",
            rtol=1e-12,
            atol=1e-14,
            max_step=0.01,
            events=stops,
        )

    def _released(self, time, x, until):
        def margin(t):
            return max(s * self.acceleration(t, x, 0.0, s) for s in (1.0, -1.0))

        times = np.linspace(time, until, 4001)
        for a, b in itertools.pairwise(times):
            if margin(b) > 0.0:
                return b if margin(a) > 0.0 else brentq(margin, a, b, xtol=1e-15)
        return until


def driven(t, x, v):
    sine = ca.sin if isinstance(t, ca.SX) else np.sin
    return 7.0 * sine(3.0 * t) + 2.0 * sine(7.3 * t)


def sprung(t, x, v):
    sine = ca.sin if isinstance(t, ca.SX) else np.sin
    return 40.0 * (0.2 * sine(2.0 * t) - x)


@pytest.mark.long
@pytest.mark.parametrize(
    ("places", "frictions", "force", "incline", "turning"),
    [
        ((0.1, -0.1), ((0.7, 0.7), (0.7, 0.7)), driven, 0.0, 0.0),
        ((0.1, -0.15), ((0.7, 0.9), (0.8, 0.6)), driven, 0.0, 0.05),
        ((0.12, -0.1), ((0.5, 0.3), (0.6, 0.4)), driven, 0.2, 0.1),
        ((0.1, -0.1), ((0.3, 0.2), (0.1, 0.3)), sprung, 0.0, 0.08),
        ((0.1, -0.1), ((0.3, 0.2), (0.1, 0.3)), sprung, -0.1, 0.2),
    ],
)
def test_a_driven_slider_turns_sticks_and_breaks_loose_as_by_hand(
    places, frictions, force, incline, turning
):
    until = 3.0
    system = slider(places, frictions, force, incline, turning=turning)
    run = ds.solve(system, until, {"x": 0.0, "x_dot": 0.4}, at=ds.every(0.1))
    hand = ByHand(places, frictions, force, incline, turning)
    x, v, told = hand.run(until, 0.0, 0.4)
    assert run.outcome is Outcome.COMPLETED
    names = {"at_rest": "stop", "breaks_loose": "loose"}
    found = [(names[e.name], e.time) for e in run.events if e.name in names]
    assert [kind for kind, _ in found] == [kind for kind, _ in told]
    assert len(told) >= 3
    # DOP853 at 1e-12, over its kinks at changes of supports; a release is a root of first order.
    assert [time for _, time in found] == pytest.approx([time for _, time in told], abs=1e-8)
    assert run.end_state["x"] == pytest.approx(x, abs=1e-8)
    assert run.end_state["x_dot"] == pytest.approx(v, abs=1e-7)
    assert not run.drift["energy"].driven
    assert run.drift["energy"].max_relative < 1e-10
    assert np.diff(run["friction_work"]).max() <= 1e-15


@pytest.mark.long
def test_a_load_that_grows_breaks_a_block_loose_when_its_weight_times_friction_is_reached():
    """x'' = r t - f g from t = f g / r on."""
    system = slider(
        (0.1, -0.1), ((0.4, 0.4), (0.4, 0.4)), lambda t, x, v: 5.0 * t + 0.0 * x, turning=0.0
    )
    run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 0.0}, at=[0.5, 1.0])
    begun, left = 0.4 * GRAVITY / 5.0, 1.0 - 0.4 * GRAVITY / 5.0
    assert [event.name for event in run.events if event.name != "support_switch"] == [
        "at_rest",
        "breaks_loose",
    ]
    assert run.events[1].time == pytest.approx(begun, rel=1e-14)
    assert run["x_dot"][0] == 0.0
    assert run["x"][-1] == pytest.approx(5.0 * left**3 / 6.0, rel=1e-10)


# -- what happens while it is held -----------------------------------------------------------------


def switched(then):
    """A block that 3 N do not move against 0.4 m g, and an event at 0.5 s."""
    q = ds.coordinates(x="m", y="m")
    push = ds.discrete(push=3.0)
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, side), friction=0.4) for side in SIDES
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": push.push, "y": -GRAVITY},
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("floor_force", supports)],
        discrete=push,
        events=[ds.Event("at_half", ds.time - 0.5, ds.RISING, then)],
    )


@pytest.mark.long
@pytest.mark.parametrize("force", [6.0, -6.0])
def test_a_load_that_is_switched_on_sets_a_held_body_in_motion(force):
    run = ds.solve(switched(ds.Reset({"push": force})), 1.0, {"x": 0.0, "x_dot": 0.0})
    assert run.outcome is Outcome.COMPLETED
    times = {event.name: event.time for event in run.events}
    assert times["breaks_loose"] == times["at_half"] == pytest.approx(0.5, rel=1e-14)
    left = math.copysign(abs(force) - 0.4 * GRAVITY, force)
    assert run.end_state["x"] == pytest.approx(left * 0.5**2 / 2.0, rel=1e-12)


@pytest.mark.slow
def test_samples_while_it_is_held_have_the_values_of_their_time():
    system = switched(ds.Reset({"push": 6.0}))
    system = replace(system, outputs={"load": system.discrete.push})
    run = ds.solve(system, 0.6, {"x": 0.0, "x_dot": 0.0}, at=[0.1, 0.49, 0.55])
    assert run["load"].tolist() == [3.0, 3.0, 6.0]
    assert run.audit().holds, str(run.audit())


@pytest.mark.long
def test_a_load_that_is_switched_on_too_weakly_leaves_it_there():
    run = ds.solve(switched(ds.Reset({"push": 3.9})), 1.0, {"x": 0.0, "x_dot": 0.0})
    assert run.end_state["x"] == 0.0
    assert "breaks_loose" not in [event.name for event in run.events]
    assert run.outcome is not Outcome.FAILED


@pytest.mark.long
def test_events_that_are_recorded_and_that_stop_happen_while_it_is_held():
    events = [
        ds.Event("seen", ds.time - 0.3, ds.RISING, ds.Record()),
        ds.Event("over", ds.time - 0.5, ds.RISING, ds.Stop()),
    ]
    rough = ((0.4, 0.4), (0.4, 0.4))
    system = slider((0.1, -0.1), rough, lambda t, x, v: ca.sin(t), events=events)
    run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 0.0}, at=[0.1, 0.4])
    assert run.outcome is Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["at_rest", "seen", "over"]
    assert run.events[1].time == pytest.approx(0.3, rel=1e-14)
    assert run.end_time == pytest.approx(0.5, rel=1e-14)
    assert run["x"].tolist() == [0.0, 0.0]


@pytest.mark.long
def test_a_belt_takes_a_block_along_until_the_spring_pulls_it_off():
    """It sticks from the start, and slips at x = f g / k; then it swings about there."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(belt=(0.3, "m/s"), stiffness=(40.0, "N/m"))
    supports = [
        ds.friction.Support(velocity=(q.dot.x - p.belt, q.dot.y), normal=(0.0, side), friction=0.3)
        for side in SIDES
    ]
    block = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y + p.stiffness * q.x**2 / 2,
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("floor_force", supports)],
    )
    run = ds.solve(block, 1.0, {"x": 0.0, "x_dot": 0.0}, at=[0.2, 0.6, 1.0])
    # Up to the belt's speed it slides under x'' = f g - w^2 x.
    w, pull = math.sqrt(40.0), 0.3 * GRAVITY
    caught = math.asin(0.3 * w / pull) / w
    names = [event.name for event in run.events]
    assert names == ["at_rest", "breaks_loose"]
    assert run.events[0].time == pytest.approx(caught, rel=1e-13)
    begun = pull / 40.0 * (1.0 - math.cos(w * caught))
    loose = caught + (pull / 40.0 - begun) / 0.3
    assert run.events[1].time == pytest.approx(loose, rel=1e-12)
    assert run["x"][0] == pytest.approx(begun + 0.3 * (0.2 - caught), rel=1e-12)
    for time, x in zip(run.times[1:], run["x"][1:], strict=True):
        assert x == pytest.approx(pull / 40.0 + 0.3 / w * math.sin(w * (time - loose)), rel=1e-11)
    assert run.drift["energy"].max_relative < 1e-12


# -- three pairs -----------------------------------------------------------------------------------


def with_trailer(frictions):
    """A slider on two pairs that pulls a hinged bar, whose end is in the guide as well."""
    q = ds.coordinates(x="m", y="m", phi="rad", psi="rad")
    length, bar = 0.3, 0.4

    def pair(name, place, friction):
        supports = []
        for side, own in zip(SIDES, friction, strict=True):
            supports.append(ds.friction.Support(point=place, normal=(0.0, side), friction=own))
        return ds.friction.VariantPair(name, supports)

    def on_slider(along):
        return (q.x + along * ca.cos(q.phi), q.y + along * ca.sin(q.phi))

    hinge = on_slider(-0.1)
    end = (hinge[0] - length * ca.cos(q.psi), hinge[1] - length * ca.sin(q.psi))
    middle = [(a + b) / 2 for a, b in zip(hinge, end, strict=True)]
    speeds = [ca.jtimes(part, q.vector, q.dot.vector) for part in middle]
    push = 9.0 * ca.sin(4.0 * ds.time)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + INERTIA * q.dot.phi**2) / 2
        + bar * (speeds[0] ** 2 + speeds[1] ** 2 + length**2 / 12 * q.dot.psi**2) / 2,
        potential=GRAVITY * (q.y + bar * middle[1]),
        force={"x": push, "phi": -0.1 * push},
        goals=[ds.Holonomic(name, q[name], ideal=False, scale=1.0) for name in ("y", "phi", "psi")],
        pairs=[
            pair("front", on_slider(0.12), frictions[0]),
            pair("back", on_slider(-0.1), frictions[1]),
            pair("end", end, frictions[2]),
        ],
    )


@pytest.mark.long
def test_a_slider_on_three_pairs_sticks_and_goes_on_as_regularised_friction_tends_to_it():
    system = with_trailer(((0.4, 0.3), (0.5, 0.35), (0.6, 0.45)))
    start = {"x": 0.0, "x_dot": 0.3}
    sharp = ds.solve(system, 2.0, start)
    names = [event.name for event in sharp.events]
    assert names.count("at_rest") >= 2
    assert "breaks_loose" in names
    assert sharp.drift["energy"].max_relative < 1e-10
    off = []
    for epsilon in (1e-3, 1e-4):
        smooth = ds.solve(system, 2.0, start, formulation=ds.Regularised(epsilon))
        off.append(abs(smooth.end_state["x"] - sharp.end_state["x"]))
    # It creeps by at most epsilon while it should stick: order one.
    assert off[0] < 2.0 * 1e-3
    assert off[1] < 2.0 * 1e-4


# -- what is asked of a run that was held ----------------------------------------------------------


def held_twice():
    force, rough = driven, ((0.5, 0.3), (0.6, 0.4))
    return slider((0.12, -0.1), rough, force, 0.2, turning=0.1), {"x": 0.0, "x_dot": 0.4}


@pytest.mark.long
def test_a_second_run_agrees_and_the_state_at_a_time_is_that_of_its_sample():
    system, start = held_twice()
    run = ds.solve(system, 1.3, start, verify=True, at=[0.158, 0.5, 1.1, 1.25, 1.3])
    times = {}
    for event in run.events:
        times.setdefault(event.name, []).append(event.time)
    assert len(times["at_rest"]) == len(times["breaks_loose"]) == 2
    # While it is held and while it slides.
    for time, x, v in zip(run.times, run["x"], run["x_dot"], strict=True):
        assert (run.at(time)["x"], run.at(time)["x_dot"]) == pytest.approx((x, v), abs=1e-14)
    assert run.at(1.1)["x_dot"] == 0.0
    # DOP853 at 1e-14 beside Taylor's method.
    assert run.verification.difference["x"] < 1e-12


@pytest.mark.long
def test_derivatives_are_refused_where_friction_held_the_body():
    system, start = held_twice()
    with pytest.raises(ds.errors.NoDerivativeError, match="holds the body for a while"):
        ds.analysis.sensitivity(system, 1.3, start, by=["x_dot"])


@pytest.mark.long
def test_a_run_on_disk_that_stopped_within_a_hold_is_that_in_memory(tmp_path):
    system, start = held_twice()
    kept = ds.solve(system, 1.1, start, store=tmp_path / "run")
    assert kept.outcome is Outcome.COMPLETED
    assert kept.end_state["x_dot"] == 0.0
    assert kept.end_state == ds.solve(system, 1.1, start).end_state


# -- what is set in motion at once, and loads that are short ---------------------------------------


def block(load=0.0, belt=None, events=(), more=None):
    """A block of 1 kg on a belt with a prescribed motion, against 0.4 m g."""
    q = ds.coordinates(x="m", y="m")
    velocity = (q.dot.x - (0.0 if belt is None else belt), q.dot.y)
    supports = [
        ds.friction.Support(velocity=velocity, normal=(0.0, side), friction=0.4) for side in SIDES
    ]
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": load, "y": -GRAVITY},
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("floor_force", supports)],
        events=list(events),
        **(more or {}),
    )


@pytest.mark.long
@pytest.mark.parametrize("speed", [0.3, -0.3])
@pytest.mark.parametrize("by", ["condition", "reset"])
def test_a_belt_that_starts_at_once_takes_a_block_along_no_faster_than_friction_can(speed, by):
    if by == "condition":
        system = block(belt=ca.if_else(ds.time > 0.5, speed, 0.0))
    else:
        values = ds.discrete(belt=0.0)
        start = ds.Event("starts", ds.time - 0.5, ds.RISING, ds.Reset({"belt": speed}))
        still = 0.1 * ca.sin(ds.time)
        system = block(still, values.belt, [start], {"discrete": values})
    run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 0.0}, at=[0.51, 1.0])
    assert run.outcome is Outcome.COMPLETED
    grip, load = 0.4 * GRAVITY, 0.1 * math.sin(0.505) if by == "reset" else 0.0
    assert run["x_dot"][0] == pytest.approx((math.copysign(grip, speed) + load) * 0.01, rel=1e-5)
    assert run["x_dot"][1] == pytest.approx(speed, rel=1e-12)
    if by == "condition":
        assert run["x"][1] == pytest.approx(speed * (0.5 - abs(speed) / grip / 2.0), rel=1e-10)


def test_a_belt_that_overtakes_a_sliding_block_at_once_turns_its_friction_round():
    belt = ca.if_else(ds.time > 0.02, 0.5, 0.0)
    run = ds.solve(block(belt=belt), 0.04, {"x": 0.0, "x_dot": 0.3}, at=[0.02, 0.04])
    # As much faster after it as slower before it.
    assert run["x_dot"][1] == pytest.approx(0.3, rel=1e-12)
    assert run["x"][1] == pytest.approx(0.3 * 0.04 - 0.4 * GRAVITY * 0.02**2, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("speed", [0.3, -0.3])
def test_a_held_block_that_a_reset_sets_in_motion_slides_to_its_stop(speed):
    knock = ds.Event("knock", ds.time - 0.5, ds.RISING, ds.Reset({"x_dot": speed}))
    system = block(1e-9 * ds.time, events=[knock])
    run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 0.0})
    assert run.end_state["x"] == pytest.approx(math.copysign(0.09, speed) / 0.8 / GRAVITY, rel=1e-7)
    assert run.end_state["x_dot"] == 0.0


@pytest.mark.long
@pytest.mark.parametrize("width", [1e-2, 1e-3])
def test_a_block_that_a_short_push_moved_by_little_stops_whole(width):
    """One slip of the pair passes zero before the other does, by rounding."""
    push = 8.0 * ca.exp(-(((ds.time - 0.4321) / width) ** 2))
    run = ds.solve(block(push), 1.0, {"x": 0.0, "x_dot": 0.0})
    assert run.outcome is Outcome.COMPLETED, run.message
    assert run.end_state["x_dot"] == 0.0
    begun = 0.4321 - width * math.sqrt(math.log(8.0 / 0.4 / GRAVITY))
    assert run.events[1].time == pytest.approx(begun, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-6])
def test_a_push_that_passes_the_limit_for_a_moment_is_not_passed_over(width):
    """It is 8 / (1 + z^2) N, z = (t - t0) / w, and the block goes at 0.4 m g."""
    push = 8.0 / (1.0 + ((ds.time - 0.4321) / width) ** 2)
    run = ds.solve(block(push), 1.0, {"x": 0.0, "x_dot": 0.0})
    begun = 0.4321 - width * math.sqrt(8.0 / (0.4 * GRAVITY) - 1.0)
    assert [event.name for event in run.events] == ["at_rest", "breaks_loose", "at_rest"]
    assert run.events[1].time == pytest.approx(begun, abs=1e-15)


@pytest.mark.long
@pytest.mark.parametrize(("peak", "goes"), [(1.0 + 1e-6, True), (1.0 - 1e-6, False)])
def test_a_short_push_that_reaches_the_limit_sets_a_block_in_motion_only_beyond_it(peak, goes):
    rest = 0.999 * 0.4 * GRAVITY
    high = (0.4 * GRAVITY - rest) * peak
    push = rest + high / (1.0 + ((ds.time - 0.4321) / 1e-4) ** 2)
    run = ds.solve(block(push), 1.0, {"x": 0.0, "x_dot": 0.0})
    assert ("breaks_loose" in [event.name for event in run.events]) is goes


@pytest.mark.slow
def test_an_integral_that_acts_on_a_held_block_goes_on_and_sets_it_in_motion():
    """z' = 5 - z from 0 acts as z, and reaches 0.4 m g = 3.924 at ln(5 / (5 - 3.924))."""
    z = ds.states(z="N")
    system = block(z.z, more={"quadratures": z, "integrands": {"z": 5.0 - z.z}})
    run = ds.solve(system, 3.0, {"x": 0.0, "x_dot": 0.0, "z": 0.0})
    assert run.outcome is Outcome.COMPLETED
    loose = next(event.time for event in run.events if event.name == "breaks_loose")
    assert loose == pytest.approx(math.log(5.0 / (5.0 - 0.4 * GRAVITY)), rel=1e-11)


@pytest.mark.long
def test_a_second_run_without_switches_sees_a_belt_that_starts_at_once_as_the_first():
    system = block(belt=ca.if_else(ds.time > 0.5, 0.3, 0.0))
    run = ds.solve(system, 1.0, {"x": 0.0, "x_dot": 0.0}, verify=True)
    assert run.verification.difference["x"] < 1e-11
    assert not run.verification.apart_from
