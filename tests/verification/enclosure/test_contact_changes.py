"""Contacts that open, close, stick, slip and reverse, against closed forms in 50 digits."""

import casadi as ca
import flint
import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.verification.enclosure import contact_changes

from .exact_motion import BITS, PosedMotion
from .survey import compared

WEIGHT = 10
MU = 0.3


def body(friction=None, static=None, *, closed=True, force=None, restitution=0.0):
    """Return a body of 1 kg on a floor, x along it and y above."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(mu=MU if friction is None else friction)
    rubs = {} if friction is None else {"slip": q.dot.x, "friction": p.mu}
    floor = ds.Contact(
        "floor", q.y, restitution=restitution, closed=closed, static_friction=static, **rubs
    )
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=WEIGHT * q.y,
        goals=[floor],
        force=force or {},
    )


def certificate_of(system, until, start, **options):
    return ds.solve(system, until, start, at=[until], certify=True, **options).certificate


def number(certificate, name):
    """Return the middle and the radius of the last box of a state, in 50 digits."""
    parts = (certificate.centres, certificate.offsets, certificate.radii)
    high, low, radius = (mpmath.mpf(float(part[name][-1])) for part in parts)
    return high + low, radius


def agrees(certificate, events, **states):
    """Assert that intervals and boxes contain closed forms, and are narrow."""
    assert certificate.complete, certificate.message
    assert [event.name for event in certificate.events] == [name for name, _ in events]
    for event, (_, exactly) in zip(certificate.events, events, strict=True):
        middle = mpmath.mpf(event.time) + mpmath.mpf(event.offset)
        assert abs(exactly - middle) <= event.radius < 1e-25
    for name, exactly in states.items():
        middle, radius = number(certificate, name)
        assert abs(exactly - middle) <= radius < 1e-25
        # Damage of one part in 2^80 is outside.
        assert abs(exactly + mpmath.mpf(2) ** -80 - middle) > radius


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def test_a_block_slides_to_rest_and_stays():
    certificate = certificate_of(body(MU), 2.0, {"x": 0.0, "x_dot": 1.0, "y": 0.0})
    slowing = mpmath.mpf(MU) * WEIGHT
    agrees(certificate, [("floor_sticks", 1 / slowing)], x=1 / (2 * slowing), x_dot=0)


def test_a_block_reverses_where_friction_does_not_hold_it():
    certificate = certificate_of(
        body(MU, force={"x": -6.0}), 2.0, {"x": 0.0, "x_dot": 3.0, "y": 0.0}
    )
    rubs = mpmath.mpf(MU) * WEIGHT
    turns, behind = 3 / (6 + rubs), 2 - 3 / (6 + rubs)
    agrees(
        certificate,
        [("floor_reverses", turns)],
        x=3 * turns / 2 - (6 - rubs) * behind**2 / 2,
        x_dot=-(6 - rubs) * behind,
    )


@pytest.mark.parametrize("static", [None, 0.35])
def test_a_block_that_is_shaken_sticks_and_slips(static):
    system = body(MU, static, force={"x": 4 * ca.sin(ds.time)})
    certificate = certificate_of(system, 6.0, {"x": 0.0, "x_dot": 0.0, "y": 0.0})
    rubs, most = mpmath.mpf(MU) * WEIGHT, mpmath.mpf(static or MU) * WEIGHT
    begins = mpmath.asin(most / 4)

    def speed(since, time):
        return 4 * (mpmath.cos(since) - mpmath.cos(time)) - rubs * (time - since)

    def way(since, time):
        along = 4 * ((time - since) * mpmath.cos(since) - mpmath.sin(time) + mpmath.sin(since))
        return along - rubs * (time - since) ** 2 / 2

    ends = mpmath.findroot(lambda time: speed(begins, time), 3)
    back = 6 - mpmath.pi
    agrees(
        certificate,
        [("floor_slips", begins), ("floor_sticks", ends), ("floor_slips", mpmath.pi + begins)],
        x=way(begins, ends) - way(begins, back),
        x_dot=-speed(begins, back),
    )


def test_a_sphere_that_slides_begins_to_roll():
    q = ds.coordinates(x="m", y="m", turn="rad")
    floor = ds.Contact("floor", q.y - 0.5, slip=q.dot.x - q.dot.turn / 2, friction=MU)
    kinetic = (q.dot.x**2 + q.dot.y**2 + 0.1 * q.dot.turn**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=WEIGHT * q.y, goals=[floor])
    start = {"x": 0.0, "x_dot": 1.0, "y": 0.5, "turn": 0.0, "turn_dot": 0.0}
    certificate = certificate_of(system, 2.0, start)
    rubs = mpmath.mpf(MU) * WEIGHT
    rolls = 1 / (rubs * (1 + 1 / (4 * mpmath.mpf(0.1))))
    speed = 1 - rubs * rolls
    agrees(
        certificate,
        [("floor_sticks", rolls)],
        x=rolls - rubs * rolls**2 / 2 + speed * (2 - rolls),
        turn_dot=2 * speed,
    )


@pytest.mark.parametrize("slides", [0.0, 3.0])
def test_a_body_lifts_off_where_its_load_is_zero(slides):
    # A smooth one at rest, and one that slides.
    system = body(MU if slides else None, force={"y": 8 * ds.time**2})
    certificate = certificate_of(system, 1.5, {"x": 0.0, "x_dot": slides, "y": 0.0})
    leaves = mpmath.sqrt(mpmath.mpf(WEIGHT) / 8)

    def height(time):
        return 2 * time**4 / 3 - WEIGHT * time**2 / 2

    slope = 8 * leaves**3 / 3 - WEIGHT * leaves
    rubs = mpmath.mpf(MU) if slides else 0
    agrees(
        certificate,
        [("floor_lost", leaves)],
        y=height(mpmath.mpf(1.5)) - height(leaves) - slope * (1.5 - leaves),
        x_dot=slides - rubs * (WEIGHT * leaves - 8 * leaves**3 / 3),
    )


def test_a_body_that_does_not_rebound_stays_on_the_floor():
    certificate = certificate_of(body(closed=False), 2.0, {"x": 0.0, "x_dot": 1.0, "y": 1.0})
    agrees(certificate, [("floor_closed", mpmath.sqrt(mpmath.mpf(2) / WEIGHT))], y=0, x=2)


def test_what_begins_at_the_start_is_proved_there():
    # It begins to slide, which is no event, and it is lifted, which is one.
    slides = certificate_of(body(MU, force={"x": 4.0}), 1.0, {"x": 0.0, "x_dot": 0.0, "y": 0.0})
    agrees(slides, [], x_dot=4 - mpmath.mpf(MU) * WEIGHT)
    lifted = certificate_of(body(force={"y": 13.0}), 1.0, {"x": 0.0, "x_dot": 0.0, "y": 0.0})
    assert [(event.name, event.radius) for event in lifted.events] == [("floor_lost", 0.0)]
    middle, radius = number(lifted, "y_dot")
    assert abs(3 - middle) <= radius < 1e-25


def test_uncertain_friction_widens_the_interval_of_the_stop():
    least, most = MU - 1e-3, MU + 1e-3
    certificate = certificate_of(
        body(MU), 1.0, {"x": 0.0, "x_dot": 1.0, "y": 0.0}, parameters={"mu": (MU, 1e-3)}
    )
    assert certificate.complete
    (event,) = certificate.events
    low, high = certificate.bounds("x")
    for mu in (least, most):
        assert abs(1 / (mu * WEIGHT) - event.time) <= event.radius
        assert low[-1] <= 1 / (2 * mu * WEIGHT) <= high[-1]
    assert event.radius < 1.1 * (1 / least - 1 / most) / WEIGHT / 2


def test_a_mode_that_does_not_agree_is_found(monkeypatch):
    def sticks(prepared, places, after):
        wrong = np.array(after)
        wrong[places] = [1.0, 0.0, 1.0]
        return right(prepared, places, wrong)

    right = contact_changes._in_mode
    monkeypatch.setattr(contact_changes, "_in_mode", sticks)
    system = body(MU, force={"x": -6.0})
    certificate = certificate_of(system, 2.0, {"x": 0.0, "x_dot": 3.0, "y": 0.0})
    assert certificate.message.startswith("after 'floor_reverses'")
    assert "follows at once" in certificate.message
    assert certificate.until < 3 / 9 + 1e-9


def test_what_cannot_be_certified_is_named():
    at_rest = {"x": 0.0, "x_dot": 0.0, "y": 0.0}
    together = certificate_of(body(MU, force={"y": 12 * ds.time}), 2.0, at_rest)
    assert "'floor_lost', at which several guards pass together" in together.message
    weightless = certificate_of(body(force={"y": WEIGHT + ds.time}), 1.0, at_rest)
    assert "'floor_closed' follows at once" in weightless.message
    meets = certificate_of(body(MU, closed=False), 1.0, {"x": 0.0, "x_dot": 1.0, "y": 1.0})
    assert "'floor_closed', after which more than" in meets.message


@pytest.mark.slow
def test_a_body_that_lands_on_a_hill_and_leaves_it_is_where_forty_digits_say():
    for seed in range(4):
        push, steep, turns = np.random.default_rng(seed).uniform(0.5, 2.0, 3)
        q = ds.coordinates(x="m", y="m")
        hill = ds.Contact("hill", q.y - 0.1 * ca.sin(q.x) ** 2, closed=bool(seed % 2))
        force = {"x": push * ca.cos(turns * ds.time), "y": 9 * (1 + steep) * ds.time**2}
        kinetic = (q.dot.x**2 + q.dot.y**2) / 2 + 0.1 * q.dot.x * q.dot.y
        system = ds.MechanicalSystem(
            q, kinetic=kinetic, potential=9.81 * q.y + 0.3 * q.x**4, goals=[hill], force=force
        )
        start = {"x": 0.3, "x_dot": 1.0} | ({} if seed % 2 else {"y": 0.3, "y_dot": 0.0})
        run = ds.solve(system, 1.2, start, at=np.linspace(0.0, 1.2, 7), certify=True)
        names = [event.name for event in run.certificate.events]
        assert names == (["hill_lost"] if seed % 2 else ["hill_closed", "hill_lost"])
        before, flint.ctx.prec = flint.ctx.prec, BITS
        outcome = compared(PosedMotion(system), run)
        flint.ctx.prec = before
        assert outcome.compared > 20
        assert not outcome.missed


def test_a_slip_in_two_directions_is_named():
    q = ds.coordinates(x="m", y="m", z="m")
    floor = ds.Contact("floor", q.z, slip=[q.dot.x, q.dot.y], friction=MU)
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=WEIGHT * q.z, goals=[floor], force={"x": 12 * ds.time}
    )
    start = dict.fromkeys(("x", "y", "z", "x_dot", "y_dot"), 0.0)
    certificate = certificate_of(system, 1.0, start)
    assert "'floor_slips', in which" in certificate.message
    assert "may slip in two directions" in certificate.message
    assert certificate.until == pytest.approx(MU * WEIGHT / 12, rel=1e-6)
