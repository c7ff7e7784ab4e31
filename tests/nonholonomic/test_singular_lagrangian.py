"""Singular Lagrangians of textbooks, against their known constraints and motions in closed form."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import (
    ContradictoryGoalsError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from daesolve.nonholonomic import singular_lagrangian, small_velocities

from .small_systems import gyroscope

AT = np.linspace(0.0, 3.0, 13)


def counted(found):
    return found.stages, found.first_class, found.second_class, found.freedom


def test_springs_in_a_row_with_a_node_without_mass():
    q = ds.coordinates(x="m", s="m")
    p = ds.parameters(mass=2.0, first=3.0, second=5.0)
    lagrangian = (p.mass * q.dot.x**2 - p.first * (q.x - q.s) ** 2 - p.second * q.s**2) / 2
    found = singular_lagrangian(q, lagrangian, p)
    assert counted(found) == ((1, 1), 0, 2, 1.0)
    run = ds.solve(found.system(), 3.0, found.start({"x": 0.7, "momentum_x": 0.4}), at=AT)
    om = np.sqrt(3.0 * 5.0 / (3.0 + 5.0) / 2.0)
    x0, v0 = run["x"][0], run["momentum_x"][0] / 2.0
    exact = x0 * np.cos(om * AT) + v0 / om * np.sin(om * AT)
    assert run["x"] == pytest.approx(exact, abs=1e-10)
    assert run["s"] == pytest.approx(3.0 / 8.0 * exact, abs=1e-10)


def test_a_charge_in_a_strong_field_drifts_round_the_potential():
    # L = B (x y' - y x')/2 - k (x^2 + y^2)/2: the charge turns at k / B.
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(field=2.0, stiffness=0.6)
    lagrangian = p.field * (q.x * q.dot.y - q.y * q.dot.x) / 2
    lagrangian -= p.stiffness * ca.sumsqr(q.vector) / 2
    found = singular_lagrangian(q, lagrangian, p)
    assert found.rank == 0
    assert counted(found) == ((2,), 0, 2, 1.0)
    start = found.start({"x": 1.0, "momentum_x": 0.0, "momentum_y": 1.0})
    run = ds.solve(found.system(), 3.0, start, at=AT)
    # B y' = k x, B x' = -k y.
    turned = (run["x"][0] + 1j * run["y"][0]) * np.exp(0.6j / 2.0 * AT)
    assert run["x"] + 1j * run["y"] == pytest.approx(turned, abs=1e-10)


def test_a_particle_on_a_sphere_has_four_stages_and_runs_along_a_great_circle():
    q = ds.coordinates(x="m", y="m", z="m", pull="N/m")
    place = q.vector[:3]
    lagrangian = ca.sumsqr(q.dot.vector[:3]) / 2 - q.pull * (ca.sumsqr(place) - 1) / 2
    found = singular_lagrangian(q, lagrangian)
    assert counted(found) == ((1, 1, 1, 1), 0, 4, 2.0)
    start = found.start({"x": 1.0, "momentum_y": 0.6, "momentum_z": 0.8, "pull": 1.0})
    assert start["pull"] == pytest.approx(1.0)  # the square of the speed
    run = ds.solve(found.system(), 3.0, start, at=AT)
    assert run["x"] == pytest.approx(np.cos(AT), abs=1e-9)
    assert run["y"] == pytest.approx(0.6 * np.sin(AT), abs=1e-9)
    assert run["z"] == pytest.approx(0.8 * np.sin(AT), abs=1e-9)


def test_a_gauge_is_first_class_and_may_be_chosen():
    # Christ and Lee: L = ((x' + y a)^2 + (y' - x a)^2)/2 - (x^2 + y^2)/2, a without inertia.
    q = ds.coordinates(x="", y="", a="")
    turned = (q.dot.x + q.y * q.a) ** 2 + (q.dot.y - q.x * q.a) ** 2
    found = singular_lagrangian(q, turned / 2 - (q.x**2 + q.y**2) / 2)
    assert counted(found) == ((1, 1), 2, 0, 1.0)
    assert found.undetermined == ("a_dot",)
    with pytest.raises(PosingError, match="'a_dot' is not determined"):
        found.system()
    with pytest.raises(UnknownNameError):
        found.system({"b_dot": 0.0})
    start = found.start({"x": 1.0, "momentum_x": 0.5})
    for rate in (0.0, 0.7, ca.sin(3 * ds.time)):
        run = ds.solve(found.system({"a_dot": rate}), 3.0, start, at=AT)
        # What no gauge changes is the distance: r'' = -r, without angular momentum.
        distance = np.cos(AT) + 0.5 * np.sin(AT)
        assert np.hypot(run["x"], run["y"]) == pytest.approx(np.abs(distance), abs=1e-9)


def test_a_motion_of_gauge_alone_has_no_freedom():
    q = ds.coordinates(x="", y="")
    found = singular_lagrangian(q, (q.dot.x - q.y) ** 2 / 2)
    assert counted(found) == ((1, 1), 2, 0, 0.0)


@pytest.mark.slow
def test_the_gyroscope_without_the_inertia_of_its_rings_has_the_equations_of_precession():
    q = ds.coordinates(alpha="rad", beta="rad", gamma="rad")
    p = ds.parameters(eps=0.01)
    spin = q.dot.alpha * ca.sin(q.beta) + q.dot.gamma
    force = {
        "alpha": 0.3 + 0.2 * ca.cos(ds.time),
        "beta": -0.5 * ca.cos(q.beta) - 0.1 * q.alpha,
    }
    found = singular_lagrangian(q, p.eps / 2 * 1.2 * spin**2, p, force=force)
    assert counted(found) == ((2,), 0, 2, 2.0)
    assert [str(value) for value in found.constraints.values()][1] == "momentum_beta"
    model = small_velocities(gyroscope(), ["alpha_dot", "beta_dot"])
    state = {"alpha": 0.1, "beta": 0.3, "momentum_gamma": 1.0}
    reduced = ds.solve(model.system, 1.0, model.start(state), at=AT / 3)
    start = found.start({**state, "momentum_alpha": np.sin(0.3)})
    run = ds.solve(found.system(), 1.0, start, at=AT / 3)
    for name in ("alpha", "beta", "gamma"):
        assert run[name] == pytest.approx(reduced[name], rel=1e-10, abs=1e-10)


def test_friction_determines_what_nothing_else_does():
    # The wheelset without inertia, (17): an odd number is held by friction.
    q = ds.coordinates(y="", psi="")
    sliding = {"y": 0.8 - 2 * (q.dot.y - q.psi), "psi": 0.2 - 2 * (q.dot.psi + q.y)}
    found = singular_lagrangian(q, 0.0, force=sliding)
    assert found.rank == 0
    assert found.undetermined == ()
    run = ds.solve(found.system(), 3.0, found.start({"y": 1.0, "psi": 0.3}), at=AT)
    exact = 0.1 + 0.9 * np.cos(AT) + 0.7 * np.sin(AT)
    assert run["y"] == pytest.approx(exact, abs=1e-10)


def test_time_is_part_of_constraints():
    # A support that moves drags a massless node: k (x - s) = c (s - sin t).
    q = ds.coordinates(x="m", s="m")
    lagrangian = (q.dot.x**2 - 3 * (q.x - q.s) ** 2 - 6 * (q.s - ca.sin(ds.time)) ** 2) / 2
    found = singular_lagrangian(q, lagrangian)
    run = ds.solve(found.system(), 3.0, found.start({"x": 0.0}), at=AT)
    assert run["s"] == pytest.approx((3 * run["x"] + 6 * np.sin(AT)) / 9, abs=1e-10)
    # x'' = -2 (x - sin t): resonant frequencies apart, with x(0) = 0 and x'(0) that of the start.
    v0 = run["momentum_x"][0] - 2.0
    x0 = run["x"][0]
    om = np.sqrt(2.0)
    exact = x0 * np.cos(om * AT) + v0 / om * np.sin(om * AT) + 2 * np.sin(AT)
    assert run["x"] == pytest.approx(exact, abs=1e-9)


@pytest.mark.slow
def test_contradictions_and_irregular_constraints_are_reported():
    q = ds.coordinates(x="", y="")
    with pytest.raises(ContradictoryGoalsError):
        singular_lagrangian(q, q.dot.x**2 / 2 + q.y)  # L = ... + y asks for 1 = 0
    q = ds.coordinates(x="", y="", z="")
    with pytest.raises((PosingError, ContradictoryGoalsError), match=r"regular|gradient"):
        singular_lagrangian(q, q.dot.x * q.dot.z + q.y * q.z**2 / 2)  # Cawley: z^2 = 0


@pytest.mark.parametrize(
    ("lagrangian", "force", "told"),
    [
        (lambda q: q.dot.x**2 + q.dot.y**2, {}, "regular"),
        (lambda q: q.dot.x**4, {}, "not quadratic"),
        (lambda q: q.dot.x**2, {"y": lambda q: -(q.dot.y**3)}, "not linear"),
        (lambda q: q.x * q.dot.x**2 + ca.fmax(q.y, 0) * q.dot.y**2, {}, "another rank"),
    ],
)
def test_other_lagrangians_are_refused(lagrangian, force, told):
    q = ds.coordinates(x="", y="")
    with pytest.raises(PosingError, match=told):
        singular_lagrangian(q, lagrangian(q), force={n: f(q) for n, f in force.items()})


def test_names_and_numbers_that_cannot_be_are_refused():
    q, p = ds.coordinates(x="", y=""), ds.parameters(k=1.0)
    lagrangian = (q.dot.x**2 - p.k * (q.x - q.y) ** 2 - q.y**2) / 2
    with pytest.raises(UnknownNameError):
        singular_lagrangian(q, lagrangian, p, force={"z": 1.0})
    with pytest.raises(UnknownNameError):
        singular_lagrangian(q, lagrangian, p, values={"m": 1.0})
    with pytest.raises(OutOfRangeError):
        singular_lagrangian(q, lagrangian, p, values={"k": "much"})
    with pytest.raises(UnknownNameError):
        singular_lagrangian(q, lagrangian, p).start({"z": 1.0})


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_ranks_do_not_depend_on_units(unit):
    # Two bodies of 1 kg and a node without mass; the second body's place is measured in `unit` m.
    q = ds.coordinates(x="m", s="", n="m")
    place, speed = unit * q.s, unit * q.dot.s
    energy = (q.dot.x**2 + speed**2) / 2
    strained = (3 * (q.x - q.n) ** 2 + 6 * (q.n - place) ** 2) / 2
    found = singular_lagrangian(q, energy - strained)
    assert (found.rank, list(found.constraints)) == (2, ["primary_n", "secondary_1"])
    assert (found.first_class, found.second_class, found.freedom) == (0, 2, 2.0)
    with pytest.raises(PosingError, match="the Lagrangian is regular"):
        singular_lagrangian(q, energy + q.dot.n**2 / 2 - strained)
