"""Laws of friction on what slides in pairs of supports: a drawer with brakes on its slip."""

from __future__ import annotations

import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import daesolve as ds
from daesolve.errors import UnsupportedError

MASS, SPRING, LOAD, RUBS = 2.0, 50.0, 20.0, 0.4
GUIDE = RUBS * LOAD
"""N: both pairs press downwards where the load is in their middle."""
BRAKE = 3.0
DEPTH, WIDTH = 0.5, 0.6
REST = {"x": 0.0, "x_dot": 0.0}


def drawer(
    push: Callable[[ca.SX], ca.SX],
    laws: Callable[[ds.Coordinates], list[ds.multibody.Friction]] | None = None,
    **further,
) -> ds.MechanicalSystem:
    """Return a body that slides along x between two pairs of supports, under laws of friction."""
    q = ds.coordinates(x="m", y="m", turn="rad")

    def pair(name, along):
        def side(across, way):
            speed = (q.dot.x - across * q.dot.turn, q.dot.y + along * q.dot.turn)
            return ds.friction.Support(velocity=speed, normal=(0.0, way), friction=RUBS)

        return ds.friction.VariantPair(name, [side(WIDTH / 2, -1.0), side(-WIDTH / 2, 1.0)])

    own = laws(q) if laws is not None else [brake(q)]
    force = ca.vertcat(push(ds.time) - SPRING * q.x, -LOAD, 0.0)
    for law in own:
        force += ca.jtimes(law.slip, q.dot.vector, law.force, True)
    return ds.MechanicalSystem(
        q,
        kinetic=MASS * (q.dot.x**2 + q.dot.y**2) / 2 + 0.08 * q.dot.turn**2 / 2,
        force=force,
        goals=[
            ds.Holonomic("side", q.y, ideal=False),
            ds.Holonomic("level", q.turn, ideal=False),
            *[goal for law in own for goal in law.goals],
        ],
        pairs=[pair("edge", DEPTH / 2), pair("back", -DEPTH / 2)],
        discrete=[*[law.discrete for law in own], *further.pop("discrete", [])],
        events=[*[event for law in own for event in law.events], *further.pop("events", [])],
        meters={"heat": (-sum((law.power for law in own), ca.SX(0)), "J")},
    )


def brake(q, size=BRAKE, static=None, name="brake", along=1.0):
    """Return a law on the slip of the drawer."""
    return ds.multibody.Coulomb(1.0, static).act(name, along * q.dot.x, ca.SX(size))


def merged(push, sticks, until):
    """Return the end, and when the body breaks loose and stops: one law for all, in closed form.

    m x'' = a sin w t - k x - R sgn x', and at rest up to `sticks`.
    """
    (size, rate), slides = push, GUIDE + BRAKE
    t, x, sense, instants = 0.0, 0.0, 0.0, []
    own, swing = math.sqrt(SPRING / MASS), size / (SPRING - MASS * rate**2)

    def load(t, x):
        return size * np.sin(rate * t) - SPRING * x

    while True:
        if sense == 0.0:
            end = _first(lambda s, x=x: sticks - np.abs(load(s, x)), t, until)
            if end is None:
                return x, 0.0, instants
            instants.append(("breaks_loose", end))
            t, sense = end, np.sign(load(end, x))

        def motion(s, begin=t, place=x, way=sense):
            middle = -slides * way / SPRING
            c = place - middle - swing * np.sin(rate * begin)
            d = -swing * rate * np.cos(rate * begin) / own
            turn = own * (s - begin)
            place = middle + swing * np.sin(rate * s) + c * np.cos(turn) + d * np.sin(turn)
            speed = swing * rate * np.cos(rate * s) - own * (c * np.sin(turn) - d * np.cos(turn))
            return place, speed

        end = _first(lambda s, way=sense, at=motion: way * at(s)[1], t + 1e-3, until)
        if end is None:
            return *motion(until), instants
        t, x = end, motion(end)[0]
        instants.append(("at_rest", t))
        sense = 0.0 if abs(load(t, x)) <= sticks else np.sign(load(t, x))


def _first(spare, begin, until):
    """Return when something first falls below zero; None if it does not."""
    times = np.linspace(begin, until, 20001)
    below = np.flatnonzero(spare(times) < 0.0)
    if not below.size:
        return None
    k = int(below[0])
    return brentq(spare, times[k - 1], times[k], xtol=1e-15, rtol=1e-15) if k else begin


def agrees(run, reference, until, exact):
    """Hold a run against the merged law."""
    x, v, instants = reference
    own = [(event.name, event.time) for event in run.events if 0.0 < event.time < until]
    assert [name for name, _ in own] == [name for name, _ in instants]
    assert [t for _, t in own] == pytest.approx([t for _, t in instants], abs=1e-9)
    assert run["x"][-1] == pytest.approx(x, abs=exact)
    assert run["x_dot"][-1] == pytest.approx(v, abs=10.0 * exact)
    assert run.audit().holds, run.audit()


def laws_of(static, count):
    """Return a law as one or as two, of which the second one runs backwards."""
    if count == 1:
        return lambda q: [brake(q, static=static)]
    return lambda q: [
        brake(q, BRAKE / 3, static),
        brake(q, BRAKE / 3, static, name="other", along=-2.0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "exact"), [("taylor", 1e-12), ("dop853", 1e-11)])
@pytest.mark.parametrize(("static", "count"), [(None, 1), (1.5, 1), (1.5, 2)])
@pytest.mark.parametrize(("push", "until"), [((30.0, 2.0), 3.0), ((40.0, 6.0), 1.5)])
def test_a_drawer_with_brakes_rests_under_the_sum_of_what_all_bear(
    push, until, static, count, solver, exact
):
    """It breaks loose, stops and rests for a while; under a quicker push it reverses at once."""
    size, rate = push
    system = drawer(lambda t: size * ca.sin(rate * t), laws_of(static, count))
    run = ds.solve(system, until, REST, solver=solver)
    agrees(run, merged(push, GUIDE + (static or 1.0) * BRAKE, until), until, exact)
    # While it slides, each does its own work.
    assert run["heat"][-1] * GUIDE == pytest.approx(-run["friction_work"][-1] * BRAKE, rel=1e-9)


@pytest.mark.slow
def test_a_limit_that_fades_lets_the_body_go_against_its_last_slip():
    """Only the brake changes while it rests: it lets go where 8 N + 3 N (1 - t) fall to 9.5 N."""
    push = 9.5

    def fading(q):
        return [brake(q, BRAKE * (1.0 - ds.time))]

    for way in (1.0, -1.0):
        run = ds.solve(drawer(lambda _, way=way: ca.SX(way * push), fading), 0.6, REST)
        loose = [event.time for event in run.events if event.name == "breaks_loose"]
        assert loose == pytest.approx([0.5], abs=1e-12)
        # m x'' = 3 (t - 1/2) - 50 x
        own = math.sqrt(SPRING / MASS)
        moved = way * 3.0 / SPRING * (0.1 - math.sin(own * 0.1) / own)
        assert run["x"][-1] == pytest.approx(moved, rel=1e-9)
        assert run.audit().holds, run.audit()


def test_a_brake_beside_the_middle_leaves_the_choice_of_supports_to_what_it_bears():
    """It turns the drawer at rest so much that another support is loaded than while it slides."""
    arm = 2.0

    def aside(q):
        slip = q.dot.x - arm * q.dot.turn
        return [ds.multibody.Coulomb(1.0, 2.0).act("brake", slip, ca.SX(BRAKE))]

    system = drawer(lambda t: 30.0 * t, aside)
    run = ds.solve(system, 0.8, REST)
    # Moments about the middle, with N1 + N2 = 20 N: (N1 - N2) l / 2 = w / 2 f (N1 + N2) - e B.
    moment = WIDTH / 2 * RUBS * LOAD - arm * np.array([2.0 * BRAKE, BRAKE])
    held, slid = RUBS * np.maximum(LOAD, np.abs(moment) / (DEPTH / 2))
    assert held > LOAD * RUBS == slid
    loose = next(event.time for event in run.events if event.name == "breaks_loose")
    assert loose == pytest.approx((held + 2.0 * BRAKE) / 30.0, abs=1e-9)
    own = math.sqrt(SPRING / MASS)
    past = 0.8 - loose
    force = 30.0 * loose - slid - BRAKE
    moved = (
        force * (1.0 - math.cos(own * past)) + 30.0 * (past - math.sin(own * past) / own)
    ) / 50.0
    assert run["x"][-1] == pytest.approx(moved, rel=1e-9)
    assert run.audit().holds, run.audit()


def test_a_brake_pressed_by_a_floor_rests_with_the_guide():
    """The floor carries the weight along z, and rubs against the slip of the guide."""
    q = ds.coordinates(x="m", y="m", z="m")
    floor = ds.Holonomic("floor", q.z)
    law = ds.multibody.Coulomb(0.2, 0.3).act("rough", q.dot.x, floor.reaction)
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, way), friction=0.5)
        for way in (-1.0, 1.0)
    ]
    block = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force={"x": 20.0 * ds.time + law.force, "y": -4.0, "z": -10.0},
        goals=[floor, ds.Holonomic("side", q.y, ideal=False), *law.goals],
        discrete=law.discrete,
        events=law.events,
        pairs=[ds.friction.VariantPair("rail", supports)],
    )
    run = ds.solve(block, 0.5, {"x": 0.0, "x_dot": 0.0})
    loose = [event.time for event in run.events if event.name == "breaks_loose"]
    assert loose == pytest.approx([(2.0 + 3.0) / 20.0], abs=1e-9)
    past = 0.25
    assert run["x"][-1] == pytest.approx((1.0 * past**2 / 2 + 20.0 * past**3 / 6), rel=1e-9)
    assert run.audit().holds, run.audit()


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_kick_sets_a_body_in_motion_under_the_friction_of_slip(way):
    """It rests under 2 N, is kicked to 0.5 m/s, and slides against 11 N."""
    kick = ds.Event("kick", ds.time - 0.2, ds.RISING, ds.Reset({"x_dot": 0.5 * way}))
    system = drawer(lambda _: ca.SX(2.0), lambda q: [brake(q, static=1.5)], events=[kick])
    run = ds.solve(system, 0.23, REST)
    own, past = math.sqrt(SPRING / MASS), 0.03
    middle = (2.0 - way * (GUIDE + BRAKE)) / SPRING
    moved = middle * (1.0 - math.cos(own * past)) + way * 0.5 * math.sin(own * past) / own
    assert run["x"][-1] == pytest.approx(moved, rel=1e-10)


def test_stiction_counts_what_brakes_bear():
    """It rests up to the sum of the limits, from both sides."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(push=(0.0, "N"))
    law = ds.multibody.Coulomb(0.5, 0.75).act("brake", q.dot.x, ca.SX(4.0))
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, way), friction=RUBS)
        for way in (-1.0, 1.0)
    ]
    block = ds.MechanicalSystem(
        q,
        p,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force={"x": p.push + law.force, "y": -LOAD},
        goals=[ds.Holonomic("side", q.y, ideal=False), *law.goals],
        discrete=law.discrete,
        events=law.events,
        pairs=[ds.friction.VariantPair("rail", supports)],
    )
    for far in (30.0, -30.0):
        found = ds.friction.stiction_limit(block, {"x": 0.0}, "push", between=(0.0, far))
        assert found.value == pytest.approx(math.copysign(GUIDE + 3.0, far), rel=1e-11)


@pytest.mark.parametrize("where", ["crank", "slider"])
def test_a_brake_beside_a_guide_with_dead_centres_lets_the_guide_reverse(where):
    """The guide's slip ends twice a turn while the crank's brake slides on; at last all rests.

    Whatever energy is lost has gone into the two kinds of friction.
    """
    q = ds.coordinates(turn="rad", x="m", y="m")
    rod = ds.Holonomic("rod", (q.x - 0.1 * ca.cos(q.turn)) ** 2 + 0.01 * ca.sin(q.turn) ** 2 - 0.09)
    own = "turn" if where == "crank" else "x"
    law = ds.multibody.Coulomb(1.0, 2.0).act("brake", q.dot[own], ca.SX(0.05))
    sides = [ds.friction.Support((0.0, way), (q.x, q.y), 0.2) for way in (-1.0, 1.0)]
    mechanism = ds.MechanicalSystem(
        q,
        kinetic=0.02 * q.dot.turn**2 / 2 + 0.5 * (q.dot.x**2 + q.dot.y**2) / 2,
        force=ca.vertcat(0.0, 0.0, -5.0) + ca.jtimes(law.slip, q.dot.vector, law.force, True),
        goals=[rod, ds.Holonomic("side", q.y, ideal=False), *law.goals],
        pairs=[ds.friction.VariantPair("rail", sides)],
        discrete=law.discrete,
        events=law.events,
        meters={"heat": (-law.power, "J")},
    )
    run = ds.solve(mechanism, 4.0, {"turn": 0.5, "turn_dot": 6.0}, guess={"x": 0.38})
    assert "came to rest" in run.message
    assert len(run.events) > 1
    lost = run["heat"][-1] - run["friction_work"][-1]
    assert run["energy"][0] - run["energy"][-1] == pytest.approx(lost, rel=1e-11)
    assert run.audit().holds, run.audit()


def test_friction_that_fades_near_zero_includes_the_brake():
    """Below 1e-7 m/s it creeps instead of resting."""
    system = drawer(lambda t: 30.0 * ca.sin(2.0 * t))
    dry, faded = (
        ds.solve(system, 0.9, REST, formulation=kind) for kind in ("feedback", "regularised:1e-7")
    )
    assert faded["x"][-1] == pytest.approx(dry["x"][-1], abs=1e-6)


def in_a_plane(q):
    """Return a law with two components."""
    slip = ca.vertcat(q.dot.x, q.dot.y)
    return [ds.multibody.Coulomb(1.0).act("brake", slip, ca.SX(BRAKE))]


def on_a_belt(q):
    """Return a law against a belt that runs."""
    return [ds.multibody.Coulomb(1.0).act("brake", q.dot.x - 0.1, ca.SX(BRAKE))]


@pytest.mark.parametrize(("laws", "why"), [(in_a_plane, "one component"), (on_a_belt, "moves")])
def test_a_law_that_does_not_rest_with_the_supports_is_refused(laws, why):
    """One sentence says which law it is, and why."""
    with pytest.raises(UnsupportedError, match=f"'brake' is combined with pairs.*{why}"):
        _ = drawer(lambda _: ca.SX(0.0), laws)


def test_a_law_on_another_slip_than_that_of_the_supports_is_refused():
    """A second body slides on its own."""
    q = ds.coordinates(x="m", y="m", other="m")
    law = ds.multibody.Coulomb(0.5).act("brake", q.dot.other, ca.SX(4.0))
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, way), friction=RUBS)
        for way in (-1.0, 1.0)
    ]
    with pytest.raises(UnsupportedError, match=r"'brake' is combined with pairs.*not that of one"):
        _ = ds.MechanicalSystem(
            q,
            kinetic=ca.sumsqr(q.dot.vector) / 2,
            force={"other": law.force, "y": -LOAD},
            goals=[ds.Holonomic("side", q.y, ideal=False), *law.goals],
            discrete=law.discrete,
            events=law.events,
            pairs=[ds.friction.VariantPair("rail", supports)],
        )
