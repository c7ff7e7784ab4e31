"""Contacts that touch without a load: they open, or push, as the first change of it says."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import daesolve as ds
from daesolve.contact.laws.unloaded import first_changes

GRAVITY, MU, END, TURN = 9.81, 0.3, 1.5, 0.5
KINDS = ["smooth", "plane", "space"]


def pair(kind):
    """Masses of 1 and 2 kg that fall together; what pushes the second one against the first.

    Closed, the contact bears a third of the push f; open, its gap grows with -f / 2.
    """
    q = ds.coordinates(x="m", y="m", a="m", b="m")
    push = ds.parameters(k1=0.0, k2=0.0, k3=0.0, k4=0.0, start=0.0, since=0.0, wave=0.0)
    time = ds.time - push.start
    powers = sum(push[f"k{power}"] * time**power for power in (1, 2, 3, 4))
    load = ca.if_else(ds.time >= push.since, powers, 0.0)
    load += push.wave * ca.sin(3.0 * ds.time) ** 6
    slip = {"plane": q.dot.x, "space": [q.dot.x, q.dot.y]}.get(kind)
    rubs = {} if slip is None else {"slip": slip, "friction": MU}
    kinetic = q.dot.a**2 / 2 + q.dot.b**2 + q.dot.x**2 + q.dot.y**2
    return ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        force={"a": -GRAVITY, "b": -2 * GRAVITY - load},
        parameters=push,
        goals=[ds.Contact("limit", q.b - q.a, **rubs)],
    )


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param, pair(request.param)


def run_of(kind, closed, speed, **values):
    name, system = kind
    start = {"a": 0.0, "b": 0.0, "a_dot": 0.3, "b_dot": 0.3, "x_dot": speed}
    run = ds.solve(system, END, start, parameters=values | {"contact_limit": float(closed)})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.audit().holds, str(run.audit())
    events = [(e.name, e.time) for e in run.events if e.name.startswith("limit")]
    rubs = speed * (name != "smooth")
    return events, run, rubs


@pytest.mark.parametrize("speed", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "power", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 4)), 3]
)
def test_a_load_that_grows_from_zero_closes_and_one_that_falls_opens_at_once(kind, power, speed):
    for closed in (False, True):
        events, run, rubs = run_of(kind, closed, speed, **{f"k{power}": 1.0})
        assert events == ([] if closed else [("limit_closed", 0.0)])
        assert run.end_state["b"] - run.end_state["a"] == pytest.approx(0.0, abs=1e-13)
        # Friction of a third of the push slows 2 kg down.
        slower = MU / 6 * END ** (power + 1) / (power + 1) if rubs else 0.0
        assert run.end_state["x_dot"] == pytest.approx(speed - slower, abs=1e-12)
        events, run, _ = run_of(kind, closed, speed, **{f"k{power}": -1.0})
        assert events == ([("limit_lost", 0.0)] if closed else [])
        gap = END ** (power + 2) / (power + 1) / (power + 2) / 2
        assert run.end_state["b"] - run.end_state["a"] == pytest.approx(gap, abs=1e-12)
        assert run.end_state["x_dot"] == speed


def test_six_vanishing_derivatives_do_not_hide_which_way_a_load_goes(kind):
    wave = quad(lambda t: (END - t) * np.sin(3 * t) ** 6, 0.0, END, epsabs=1e-13)[0]
    for closed in (False, True):
        events, run, _ = run_of(kind, closed, 0.0, wave=1.0)
        assert events == ([] if closed else [("limit_closed", 0.0)])
        assert run.end_state["b"] - run.end_state["a"] == pytest.approx(0.0, abs=1e-13)
        events, run, _ = run_of(kind, closed, 0.0, wave=-1.0)
        assert events == ([("limit_lost", 0.0)] if closed else [])
        assert run.end_state["b"] - run.end_state["a"] == pytest.approx(wave / 2, abs=1e-12)


@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_a_contact_that_never_bears_a_load_has_no_events_but_that_it_closes(kind, speed):
    for closed in (False, True):
        events, run, _ = run_of(kind, closed, speed)
        assert events == ([] if closed else [("limit_closed", 0.0)])
        assert run.end_state["b"] == pytest.approx(0.3 * END - GRAVITY * END**2 / 2, abs=1e-12)
        assert run.end_state["x"] == pytest.approx(speed * END, abs=1e-13)


def test_a_load_that_touches_zero_and_returns_is_no_event(kind):
    events, run, _ = run_of(kind, True, 0.0, k2=1.0, start=TURN)
    assert events == []
    assert run.end_state["b"] - run.end_state["a"] == pytest.approx(0.0, abs=1e-13)


def test_a_load_that_pulls_at_first_opens_until_the_gap_is_zero_again(kind):
    events, _, _ = run_of(kind, True, 0.0, k3=1.0, start=TURN)

    def gap(time):
        """-2 times the gap: its second derivative is the push."""
        return ((time - TURN) ** 5 + TURN**5) / 20 - TURN**4 / 4 * time

    met = brentq(gap, TURN, END, xtol=1e-15)
    assert [name for name, _ in events] == ["limit_lost", "limit_closed"]
    assert [time for _, time in events] == pytest.approx([0.0, met], abs=1e-12)


@pytest.mark.parametrize("speed", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("power", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_load_that_is_zero_for_a_time_and_then_falls_opens_at_that_instant(kind, power, speed):
    values = {"start": TURN, "since": TURN}
    events, run, _ = run_of(kind, True, speed, **{f"k{power}": -1.0}, **values)
    assert [name for name, _ in events] == ["limit_lost"]
    assert events[0][1] == pytest.approx(TURN, abs=1e-12)
    gap = (END - TURN) ** (power + 2) / (power + 1) / (power + 2) / 2
    assert run.end_state["b"] - run.end_state["a"] == pytest.approx(gap, abs=1e-12)
    events, run, rubs = run_of(kind, True, speed, **{f"k{power}": 1.0}, **values)
    assert events == []
    slower = MU / 6 * (END - TURN) ** (power + 1) / (power + 1) if rubs else 0.0
    assert run.end_state["x_dot"] == pytest.approx(speed - slower, abs=1e-12)


def test_first_changes_tell_powers_from_rounding():
    noise = np.random.default_rng(0)
    powers = np.array([1.0, 2.0, 5.0])

    def loads(step):
        grown = np.array([-1.0, 1.0, -1.0]) * step**powers
        return np.append(grown, 0.0) + 1e-14 * noise.uniform(-1.0, 1.0, 4)

    steps = 4.0 ** -np.arange(20.0, -1.0, -1.0)
    found = first_changes(loads, np.ones(4, dtype=bool), np.full(4, 1e-11), steps)
    assert np.sign(found).tolist() == [-1.0, 1.0, -1.0, 0.0]
    # After one and the same step a higher power is smaller.
    assert np.all(np.diff(np.abs(found)) < 0.0)


def test_joints_at_their_limits_bear_nothing_while_a_chain_falls():
    """Two rods hinged to each other and to a mass, at limits that gravity would not hold still."""
    q = ds.coordinates(z="m", a=ds.ANGLE, b=ds.ANGLE)
    first = ca.vertcat(ca.sin(q.a), q.z - ca.cos(q.a))
    second = first + ca.vertcat(ca.sin(q.a + q.b), -ca.cos(q.a + q.b))
    kinetic, potential = q.dot.z**2 / 2, GRAVITY * q.z
    for mass, place in ((0.7, first), (0.3, second)):
        speed = ca.jtimes(place, q.vector, q.dot.vector)
        kinetic += mass * ca.sumsqr(speed) / 2
        potential += mass * GRAVITY * place[1]
    limits = {"hip": 0.3 - q.a, "knee": 0.5 - q.b}
    chain = ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        potential=potential,
        goals=[ds.Contact(name, gap, closed=False, unit="N m") for name, gap in limits.items()],
    )
    run = ds.solve(chain, 2.0, {"z": 0.0, "a": 0.3, "b": 0.5})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert [(e.name, e.time) for e in run.events] == [("hip_closed", 0.0), ("knee_closed", 0.0)]
    assert run.audit().holds, str(run.audit())
    assert run.end_state["z"] == pytest.approx(-GRAVITY * 2.0, abs=1e-12)
    assert [run.end_state["a"], run.end_state["b"]] == pytest.approx([0.3, 0.5], abs=1e-14)


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_a_smooth_limit_beside_a_rough_foot_in_the_air_opens_or_closes_at_once(way):
    """A rod on a box that falls starts at its limit; a growing moment turns it off or onto it."""
    q = ds.coordinates(x="m", y="m", a=ds.ANGLE)
    end = ca.vertcat(q.x + ca.sin(q.a), q.y + ca.cos(q.a))
    speed = ca.jtimes(end, q.vector, q.dot.vector)
    box = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + 0.3 * ca.sumsqr(speed) / 2,
        potential=GRAVITY * (q.y + 0.3 * end[1]),
        force={"a": way * 4.0 * ds.time},
        goals=[
            ds.Contact("foot", q.y + 9.0, slip=q.dot.x, friction=MU, closed=False),
            ds.Contact("limit", q.a - 0.2, closed=False, unit="N m"),
        ],
    )
    run = ds.solve(box, 0.5, {"a": 0.2})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.audit().holds, str(run.audit())
    assert [(e.name, e.time) for e in run.events] == ([("limit_closed", 0.0)] if way < 0 else [])
    # About the common centre the rod has the reduced mass of both.
    turned = 4.0 * 0.5**3 / 6 / (0.3 / 1.3) if way > 0 else 0.0
    assert run.end_state["a"] == pytest.approx(0.2 + turned, abs=1e-12)
