"""A drive on the axle, and rolling that ends where friction does, against quadratures."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import daesolve as ds
from daesolve.errors import PosingError

PROBLEM = ds.problem("rolling-wheel")


def hoop_on_the_quartic(radius, gravity, speed):
    """|F| / N of a hoop over the place of its contact, and how slowly it goes by, in closed form.

    Rolling, it has twice the inertia: u' = -(g / 2) sin b along the curve of centres of slope b and
    curvature k, so that F = M g sin(b) / 2, N = M (g cos b + k u^2), u^2 = u_0^2 - g (z - z_0).
    """
    x = ca.SX.sym("x")
    height = x**4 + 0.13 * x**3 - 0.5 * x**2 - 0.13 * x - 0.5
    slope = ca.gradient(height, x)
    normal = ca.vertcat(-slope, 1) / ca.sqrt(1 + slope**2)
    centre = ca.vertcat(x, height) + radius * normal
    along = ca.jacobian(centre, x)
    length = ca.norm_2(along)
    bend = ca.jacobian(ca.atan(slope), x) / length
    begin = ca.substitute(centre[1], x, ca.SX(0))
    square = speed**2 - gravity * (centre[1] - begin)
    sine, cosine = along[1] / length, along[0] / length
    ratio = ca.fabs(gravity * sine / 2) / (gravity * cosine + bend * square)
    found = ca.Function("hoop", [x], [ratio, length / ca.sqrt(square)])
    return lambda place: [float(value) for value in found(place)]


@pytest.mark.slow
def test_rolling_ends_where_a_quadrature_says() -> None:
    hoop = hoop_on_the_quartic(0.01, 9.81, 1.5)
    place = brentq(lambda x: hoop(x)[0] - 1.0, 0.7, 1.1, xtol=1e-15)
    time = quad(lambda x: hoop(x)[1], 0.0, place, epsabs=1e-13)[0]
    run = PROBLEM.case("hoop", limited=True).solve(20.0)
    assert [event.name for event in run.events] == ["friction_exceeded"]
    assert run["contact_x"][-1] == pytest.approx(place, abs=1e-11)
    assert run.end_time == pytest.approx(time, abs=1e-11)
    more = PROBLEM.case("hoop", limited=True, grip=1.12).solve(5.0)
    assert more.outcome is ds.Outcome.COMPLETED


@pytest.mark.slow
def test_the_energy_of_the_driven_wheel_is_the_work_of_its_drive() -> None:
    case = PROBLEM.case("climbing")
    run = case.solve(at=ds.every(0.01))
    work = case.full_parameters["drive_torque"] * (run["phi"] - run["theta"])
    gained = run["energy"] - run["energy"][0]
    assert np.max(np.abs(gained - (work - work[0]))) < 1e-13
    assert run["contact_x"][0] < -0.13 < 0.5 < run["contact_x"][-1]  # the hill lies between


@pytest.mark.slow
def test_the_friction_of_a_rubbing_contact_starts_to_slip_at_the_same_instant() -> None:
    rolling = PROBLEM.case("climbing").solve()
    rubbing = PROBLEM.case("climbing", limited=False, model="friction", friction=1.0)
    run = rubbing.solve(2.6, at=[rolling.end_time])
    slips = [event.time for event in run.events]
    assert min(abs(time - rolling.end_time) for time in slips) < 1e-9
    assert run["x"][0] == pytest.approx(rolling["x"][-1], abs=1e-10)


@pytest.mark.slow
def test_the_pendulum_that_holds_the_wheel_on_a_slope_leans_as_statics_says() -> None:
    # On a straight slope of 5 degrees: torque = r (M + m) g sin(slope) = m g l sin(phi).
    from daesolve_problems import curves

    slope = math.radians(5.0)
    line = curves.explicit(lambda x, p: math.tan(slope) * x)
    weights = {"wheel_mass": 1.0, "bob_mass": 0.5, "radius": 0.01, "pendulum_length": 0.008}
    torque = 0.01 * 1.5 * 9.81 * math.sin(slope)
    lean = math.asin(torque / (0.5 * 9.81 * 0.008))
    case = PROBLEM.case("climbing", curve=line, drive_torque=torque, **weights)
    run = case.solve(1.0, initial={"contact_x": 0.0, "phi": lean})
    assert np.ptp(run["contact_x"]) < 1e-12
    assert np.ptp(run["phi"]) < 1e-10


@pytest.mark.parametrize(
    ("model", "changes", "words"),
    [
        ("physical", {"pendulum": False}, "set pendulum = true"),
        ("blend", {}, "a drive changes"),
        ("printed", {}, "a drive changes"),
        ("friction", {"limited": True}, "limited"),
    ],
)
def test_drives_that_cannot_be_are_refused(model, changes, words) -> None:
    with pytest.raises(PosingError, match=words):
        _ = PROBLEM.case("pendulum", model=model, **{"drive": True, **changes}).system
