"""Certified runs against closed forms and 40-digit references."""

import json

import casadi as ca
import flint
import mpmath
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError
from tests.cli.calling import call


@pytest.fixture(scope="module")
def pendulum():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"), length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    kinetic = p.mass * (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=p.mass * p.gravity * q.y,
        goals=[rod],
        outputs={"tension": (-2 * p.length * rod.reaction, "N")},
    )


def ball(**options):
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(10.0, "m/s^2"), restitution=(0.8, ""))
    ground = ds.Holonomic("ground", q.y)
    reset = ds.Reset(impose=[ground], restitution=p.restitution)
    bounce = ds.Event("bounce", q.y, ds.FALLING, reset)
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.y**2 / 2, potential=p.gravity * q.y, events=[bounce], **options
    )


def released(time):
    """Return x of the pendulum that is released at x = -1, y = 0, in 50 digits."""
    with mpmath.workdps(50):
        w = mpmath.sqrt(mpmath.mpf(9.81))
        m = mpmath.mpf(1) / 2
        # From the lowest point: sin(half angle) = k sn(w t + K), with k^2 = 1/2.
        quarter = mpmath.ellipk(m)
        s = mpmath.sqrt(m) * mpmath.ellipfun("sn", w * mpmath.mpf(time) + quarter, m=m)
        return -2 * s * mpmath.sqrt(1 - s * s)


def holds(certificate, name, sample, number):
    """Return whether a box contains a number of mpmath."""
    with mpmath.workdps(50):
        middle = mpmath.mpf(float(certificate.centres[name][sample]))
        middle += mpmath.mpf(float(certificate.offsets[name][sample]))
        return abs(number - middle) <= mpmath.mpf(float(certificate.radii[name][sample]))


def test_boxes_of_a_pendulum_contain_elliptic_functions_and_are_narrow(pendulum):
    times = np.linspace(0.0, 10.0, 21)
    found = ds.solve(pendulum, 10.0, {"x": -1.0, "x_dot": 0.0}, at=times, certify=True)
    certificate = found.certificate
    assert certificate.complete
    assert certificate.width < 1e-20
    assert all(holds(certificate, "x", k, released(t)) for k, t in enumerate(certificate.times))


def test_reactions_outputs_and_invariants_have_boxes_too(pendulum):
    run = ds.solve(pendulum, 2.0, {"x": -1.0, "x_dot": 0.0}, at=[0.5, 1.0, 2.0], certify=True)
    certificate = run.certificate
    for k, time in enumerate(certificate.times):
        with mpmath.workdps(50):
            depth = mpmath.sqrt(1 - released(time) ** 2)
            # From rest at y = 0: v^2 = 2 g depth, and the rod carries weight and v^2.
            weight = mpmath.mpf(9.81) * depth
            assert holds(certificate, "tension", k, 3 * weight)
            assert holds(certificate, "rod", k, -3 * weight / 2)
            assert holds(certificate, "energy", k, mpmath.mpf(0))
    assert max(certificate.radii["tension"]) < 1e-20
    low, high = certificate.bounds("tension")
    assert np.all((low <= run["tension"] + 1e-11) & (run["tension"] <= high + 1e-11))


def test_a_stored_run_tells_of_its_certificate(tmp_path):
    out = tmp_path / "run"
    said = call("run", "pendulum", "--until", "2.0", "--certify", "--out", out).output
    assert "Proved until t = 2 s" in said
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'id="certificate"' in page
    assert "half-width of" in page
    entry = json.loads((out / "report.json").read_text(encoding="utf-8"))["certificate"]
    assert entry["until"] == 2.0
    assert max(entry["largest"][name] for name in entry["states"]) < 1e-20


def test_a_driven_motion_late_in_time_contains_the_closed_form():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2, force={"x": ca.cos(2 * ds.time)}
    )
    late = 1e6
    with mpmath.workdps(50):
        # x'' + 2 x = cos(2 t) has the answer -cos(2 t)/2, and x'' + 2 x = 0 others.
        begun, w = mpmath.mpf(late), mpmath.sqrt(2)
        start = 1 + mpmath.cos(2 * begun) / 2, -mpmath.sin(2 * begun)

        def exactly(time):
            own = start[0] * mpmath.cos(w * (time - begun))
            own += start[1] / w * mpmath.sin(w * (time - begun))
            return own - mpmath.cos(2 * time) / 2

    run = ds.solve(
        system, late + 4.0, {"x": 1.0, "x_dot": 0.0}, start_time=late, at=[late + 4.0], certify=True
    )
    assert run.certificate.complete
    with mpmath.workdps(50):
        assert holds(run.certificate, "x", 0, exactly(mpmath.mpf(late + 4.0)))


def test_a_wrong_number_is_outside_of_the_boxes(pendulum):
    found = ds.solve(pendulum, 2.0, {"x": -1.0, "x_dot": 0.0}, at=[2.0], certify=True)
    assert not holds(found.certificate, "x", 0, released(2.0) * (1 + mpmath.mpf(2) ** -80))


def test_times_of_impacts_contain_the_closed_form():
    run = ds.solve(ball(), 8.0, {"y": 5.0, "y_dot": 0.0}, certify=True)
    arb, e = flint.arb, flint.arb(0.8)
    exactly, flight = arb(1), arb(2)
    assert len(run.certificate.events) == 10
    for event in run.certificate.events:
        middle = arb(event.time) + arb(event.offset)
        assert abs(middle - exactly) <= arb(event.radius)
        assert event.radius < 1e-20
        flight = flight * e
        exactly = exactly + flight


def test_uncertain_starts_and_parameters_contain_every_member():
    start, gravity = (5.0, 1e-3), (10.0, 1e-3)
    run = ds.solve(
        ball(), 6.0, {"y": start, "y_dot": 0.0}, parameters={"gravity": gravity}, certify=True
    )
    certificate, generator = run.certificate, np.random.default_rng(1)
    assert certificate.complete
    low, high = certificate.bounds("y")
    used = 0.0
    for _ in range(8):
        y, g = (m + r * generator.choice([-1.0, 1.0]) for m, r in (start, gravity))
        member = ds.solve(
            ball(), 6.0, {"y": y, "y_dot": 0.0}, parameters={"gravity": g}, at=certificate.times
        )
        rows = np.searchsorted(member.times, certificate.times)
        values = member["y"][rows]
        # The member is computed in doubles.
        assert np.all(values >= low - 1e-12)
        assert np.all(values <= high + 1e-12)
        used = max(used, np.max(np.abs(values - certificate.centres["y"]) / certificate.radii["y"]))
        for event, other in zip(certificate.events, member.events, strict=True):
            assert abs(other.time - event.time) <= event.radius + abs(event.offset) + 1e-12
    # The boxes are not much wider than what they have to contain.
    assert used > 0.5


def test_samples_beside_an_event_are_left_out():
    run = ds.solve(ball(), 2.0, {"y": 5.0, "y_dot": 0.0}, at=[0.5, 1.0, 1.5], certify=True)
    assert run.certificate.times.tolist() == [0.5, 1.5, 2.0][: len(run.certificate.times)]


def test_a_graze_is_not_certified_and_the_message_says_so():
    q = ds.coordinates(x="m")
    watch = ds.Event("watch", q.x - 1.0, ds.EITHER)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[watch])
    run = ds.solve(system, 3.0, {"x": 0.0, "x_dot": 1.0}, certify=True)
    assert not run.certificate.complete
    assert "'watch'" in run.certificate.message
    assert run.certificate.until < np.pi / 2


def test_a_half_width_that_is_negative_is_refused(pendulum):
    with pytest.raises(OutOfRangeError, match="half-width"):
        ds.solve(pendulum, 1.0, {"x": (-1.0, -1e-3)}, certify=True)


def test_a_stored_run_keeps_its_certificate(tmp_path):
    run = ds.solve(ball(), 2.0, {"y": 5.0, "y_dot": 0.0}, store=tmp_path / "run", certify=True)
    kept = json.loads((tmp_path / "run" / "certificate.json").read_text(encoding="utf-8"))
    assert kept["until"] == run.certificate.until == 2.0
    assert kept["events"][0]["name"] == "bounce"
    assert kept["radii"]["y"] == run.certificate.radii["y"].tolist()
    assert str(run.certificate) in str(run)


def test_a_reset_beside_a_closed_contact_is_not_certified():
    q = ds.coordinates(x="m", y="m")
    kick = ds.Event("kick", q.x - 1.0, ds.RISING, ds.Reset({"x_dot": -q.dot.x}))
    floor = ds.Contact("floor", q.y, closed=True)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[floor],
        events=[kick],
    )
    run = ds.solve(system, 2.0, {"x": 0.0, "x_dot": 1.0, "y": 0.0}, certify=True)
    assert run.outcome.value == "completed"
    assert "while the contact 'floor' is closed" in run.certificate.message
    assert run.certificate.until == pytest.approx(1.0)


def bouncing(restitution, **options):
    q = ds.coordinates(y="m")
    floor = ds.Contact("floor", q.y, restitution=restitution, closed=False, **options)
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10 * q.y, goals=[floor])


def test_times_of_impacts_of_a_contact_contain_the_closed_form():
    run = ds.solve(bouncing(0.8), 8.0, {"y": 5.0}, certify=True)
    certificate = run.certificate
    assert certificate.complete
    exactly, flight = flint.arb(1), flint.arb(2)
    assert len(certificate.events) == 10
    for event in certificate.events:
        middle = flint.arb(event.time) + flint.arb(event.offset)
        assert abs(middle - exactly) <= flint.arb(event.radius)
        assert event.radius < 1e-20
        flight = flight * flint.arb(0.8)
        exactly = exactly + flight


def test_a_contact_that_stays_closed_ends_the_certificate_by_name():
    run = ds.solve(bouncing(0.5), 4.0, {"y": 1.0}, certify=True)
    certificate = run.certificate
    assert "'floor_closed', after which the contact 'floor' stays closed" in certificate.message
    # The ball comes to rest at once after 3 falls' times.
    assert certificate.until < 3 * np.sqrt(0.2)
    assert len(certificate.events) > 10


def test_two_contacts_that_meet_at_one_instant_are_not_certified():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, restitution=0.8, closed=False)
    wall = ds.Contact("wall", 1.0 - q.x, restitution=0.8, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=[floor, wall])
    run = ds.solve(system, 1.5, {"x": 0.0, "x_dot": 1.0, "y": 5.0}, certify=True)
    assert not run.certificate.complete
    assert run.certificate.until <= 1.0


def test_friction_in_a_contact_is_not_certified():
    q = ds.coordinates(x="m", y="m")
    rough = ds.Contact("floor", q.y, restitution=0.5, slip=q.dot.x, friction=0.2, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=10 * q.y, goals=[rough])
    run = ds.solve(system, 1.2, {"x": 0.0, "x_dot": 1.0, "y": 5.0}, certify=True)
    assert "without friction" in run.certificate.message
