"""Optimal motions against closed forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis.optimal_control.optimum import largest_difference
from daesolve.core.results.trajectory.results import Outcome, Verification
from daesolve.errors import InfeasibleTaskError, OutOfRangeError, PosingError, UnknownNameError


@pytest.fixture(scope="module")
def cart() -> ds.MechanicalSystem:
    """A mass on a line that a force pushes."""
    q, u = ds.coordinates(x="m"), ds.inputs(force="N")
    p = ds.parameters(mass=(1.0, "kg"))
    kinetic = p.mass * q.dot.x**2 / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, force={"x": u.force}, inputs=u)


def effort(now: Mapping[str, ca.SX]) -> ca.SX:
    """What is integrated: the square of the force."""
    return now["force"] ** 2


def test_least_effort_from_rest_to_rest_has_a_linear_force(cart: ds.MechanicalSystem) -> None:
    # x'' = 6 d / T^2 - 12 d t / T^3 has the integral of its square 12 d^2 / T^3.
    found = ds.optimise(
        cart,
        effort,
        time=2.0,
        start={"x": 0.0},
        end={"x": 1.0, "x_dot": 0.0},
        nodes=3,
        verify=False,
    )
    assert found.cost == pytest.approx(1.5, rel=1e-12)
    force = 1.5 - 1.5 * found.run.times
    # A force that differs by d from the best one costs d^2 more, which rounding hides up to 1e-7.
    assert np.max(np.abs(found["force"] - force)) < 1e-6
    assert max(found.excesses.values()) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("braking", [1.0, 0.5])
def test_shortest_time_from_rest_to_rest_is_two_arcs(
    cart: ds.MechanicalSystem, braking: float
) -> None:
    found = ds.optimise(
        cart,
        time=(0.1, 20.0),
        start={"x": 0.0},
        end={"x": 4.0, "x_dot": 0.0},
        bounds={"force": (-braking, 1.0)},
        nodes=5,
    )
    assert found.run.audited is not None
    assert found.run.verification is not None
    # With accelerations a and b, d = v^2 / 2 (1 / a + 1 / b) and T = v (1 / a + 1 / b).
    assert found.duration == pytest.approx(math.sqrt(8.0 * (1.0 + 1.0 / braking)), rel=1e-10)
    assert np.max(np.abs(found["force"] - (1.0 - braking) / 2)) <= (1.0 + braking) / 2 + 1e-12


@pytest.mark.slow
def test_a_loop_of_brocketts_integrator_costs_4_pi_times_its_area() -> None:
    # Of all loops of unit time around an area, the circle is the shortest: |u| is its length.
    x, u = ds.states(x="m", y="m", z="m^2"), ds.inputs(u="m/s", v="m/s")
    rates = {"x": u.u, "y": u.v, "z": (x.x * u.v - x.y * u.u) / 2}
    found = ds.optimise(
        ds.ControlSystem(x, rates, inputs=u),
        lambda now: now["u"] ** 2 + now["v"] ** 2,
        time=1.0,
        end={"x": 0.0, "y": 0.0, "z": 0.7},
        nodes=11,
        verify=False,
    )
    assert found.cost == pytest.approx(4 * math.pi * 0.7, rel=1e-10)


@pytest.mark.slow
def test_the_brachistochrone_is_a_cycloid() -> None:
    # A bead on a wire of free slope: x = a (w - sin w), y = -a (1 - cos w), T = w sqrt(a / g).
    q, v, u = ds.coordinates(x="m", y="m"), ds.velocities(speed="m/s"), ds.inputs(slope="rad")
    bead = ds.MechanicalSystem(
        q,
        velocities=v,
        kinematics=ca.vertcat(v.speed * ca.sin(u.slope), -v.speed * ca.cos(u.slope)),
        kinetic=v.speed**2 / 2,
        potential=9.81 * q.y,
        inputs=u,
    )
    found = ds.optimise(
        bead,
        time=(0.1, 5.0),
        end={"x": math.pi / 2, "y": -1.0},
        bounds={"slope": (0.0, math.pi)},
        nodes=7,
        verify=False,
    )
    assert found.duration == pytest.approx(math.pi * math.sqrt(0.5 / 9.81), rel=1e-10)


def arm() -> ds.MechanicalSystem:
    """Two links of 1 m and 1 kg at their tips, whose last tip is on a line."""
    q, u = ds.coordinates(a="rad", b="rad"), ds.inputs(shoulder="N m", elbow="N m")
    elbow = ca.vertcat(ca.sin(q.a), -ca.cos(q.a))
    tip = elbow + ca.vertcat(ca.sin(q.a + q.b), -ca.cos(q.a + q.b))
    angles, rates = ca.vertcat(q.a, q.b), ca.vertcat(q.dot.a, q.dot.b)
    kinetic = sum(ca.sumsqr(ca.jacobian(place, angles) @ rates) / 2 for place in (elbow, tip))
    return ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        potential=9.81 * (elbow[1] + tip[1]),
        force={"a": u.shoulder, "b": u.elbow},
        goals=[ds.Holonomic("line", tip[1] + 1.0)],
        inputs=u,
    )


@pytest.mark.slow
def test_a_double_pendulum_stays_on_its_line() -> None:
    found = ds.optimise(
        arm(),
        lambda now: now["shoulder"] ** 2 + now["elbow"] ** 2,
        time=1.0,
        start={"a": -0.5},
        # b and its rate follow from the line: they may be given, too, without being imposed twice.
        end={"a": 0.3, "a_dot": 0.0, "b_dot": 0.0},
        guess={"b": 2.0},
        nodes=11,
        verify=False,
    )
    a, b = found["a"], found["b"]
    assert np.max(np.abs(1.0 - np.cos(a) - np.cos(a + b))) < 1e-14
    assert found.run.drift["line"].max_abs < 1e-12
    assert found.difference < 1e-10


@pytest.mark.slow
def test_a_load_swings_no_further_than_its_bound() -> None:
    q, u = ds.coordinates(x="m", sway="rad"), ds.inputs(force="N")
    rope, load = 2.0, 10.0
    across = q.dot.x + rope * ca.cos(q.sway) * q.dot.sway
    up = rope * ca.sin(q.sway) * q.dot.sway
    crane = ds.MechanicalSystem(
        q,
        kinetic=5.0 * q.dot.x**2 / 2 + load * (across**2 + up**2) / 2,
        potential=-load * 9.81 * rope * ca.cos(q.sway),
        force={"x": u.force},
        inputs=u,
    )
    found = ds.optimise(
        crane,
        effort,
        time=4.0,
        end={"x": 5.0, "sway": 0.0, "x_dot": 0.0, "sway_dot": 0.0},
        bounds={"force": (-40.0, 40.0), "sway": (-0.2, 0.2)},
        nodes=11,
        verify=False,
    )
    # The motion is its own mirror image in time; it touches the bound once on either side.
    assert np.max(np.abs(found["sway"])) == pytest.approx(0.2, abs=2e-7)
    assert np.max(np.abs(found["sway"] + found["sway"][::-1])) < 1e-6
    # Halved intervals alone come to 1328.09443 on 640, from below.
    assert found.cost == pytest.approx(1328.094877, rel=1e-8)


def test_an_infeasible_task_names_what_is_missed_most(cart: ds.MechanicalSystem) -> None:
    # With 1 N, at most 1/4 m are possible from rest to rest in a second.
    with pytest.raises(InfeasibleTaskError, match=r"misses the end of x by 9\.75"):
        ds.optimise(
            cart,
            effort,
            time=1.0,
            end={"x": 10.0, "x_dot": 0.0},
            bounds={"force": (-1.0, 1.0)},
            nodes=5,
        )


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"end": {"y": 1.0}}, UnknownNameError, "unknown state at the end 'y'"),
        ({"bounds": {"force": (1.0, -1.0)}}, OutOfRangeError, "a pair of the least"),
        ({"time": 0.0}, OutOfRangeError, "a duration above 0 s"),
        ({"stages": 2, "degree": 2}, OutOfRangeError, "needs more stages than 2"),
        ({"nodes": 1}, OutOfRangeError, "whole number >= 2"),
        ({"objective": "effort"}, UnknownNameError, "in the objective 'effort'"),
        ({"objective": "force +"}, PosingError, "not an expression"),
        ({"objective": 1.0}, OutOfRangeError, "the objective is 1.0"),
        ({"time": None}, OutOfRangeError, "the time is missing"),
        ({"guess": {"speed": 1.0}}, UnknownNameError, "unknown quantity to guess 'speed'"),
    ],
)
def test_bad_input_is_refused(
    cart: ds.MechanicalSystem, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    usual: dict[str, Any] = {"objective": effort, "time": 1.0, "end": {"x": 1.0}}
    with pytest.raises(error, match=message):
        ds.optimise(cart, **{**usual, **given})


@pytest.mark.slow
def test_a_parameter_is_found_with_the_motion() -> None:
    # A spring that swings by itself from -1 to 1 in pi seconds needs no force: its stiffness is 1.
    q, u = ds.coordinates(x="m"), ds.inputs(force="N")
    p = ds.parameters(stiffness=(4.0, "N/m"))
    spring = ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": u.force},
        inputs=u,
    )
    found = ds.optimise(
        spring,
        lambda now: now["force"] ** 2 + 1.0,
        time=math.pi,
        start={"x": -1.0},
        end={"x": 1.0, "x_dot": 0.0},
        parameters={"stiffness": (0.1, 5.0)},
        nodes=7,
        verify=False,
    )
    assert found.parameters["stiffness"] == pytest.approx(1.0, abs=1e-6)
    assert found.cost == pytest.approx(math.pi, rel=1e-10)


@pytest.mark.slow
def test_a_periodic_motion_follows_a_wave_as_far_as_effort_allows() -> None:
    # x = A cos w t needs the force (2 - w^2) x; A minimises (A - 1)^2 + 0.01 (2 - w^2)^2 A^2.
    q, u = ds.coordinates(x="m"), ds.inputs(force="N")
    kinetic, potential = q.dot.x**2 / 2, q.x**2
    spring = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=potential, force={"x": u.force}, inputs=u
    )
    w = 2 * math.pi
    found = ds.optimise(
        spring,
        lambda now: (now["x"] - ca.cos(w * now["t"])) ** 2 + 0.01 * now["force"] ** 2,
        time=1.0,
        periodic=["x", "x_dot"],
        path={"sum": (lambda now: now["x"] + now["x_dot"], -50.0, 50.0)},
        nodes=11,
        verify=False,
    )
    effort = 0.01 * (2 - w**2) ** 2
    assert found.cost == pytest.approx(effort / (1 + effort) / 2, rel=1e-10)
    assert found["x"][0] == pytest.approx(1 / (1 + effort), rel=1e-6)


def test_a_control_in_a_constraint_is_refused() -> None:
    q, u = ds.coordinates(x="m"), ds.inputs(place="m")
    pinned = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, goals=[ds.Holonomic("pin", q.x - u.place)], inputs=u
    )
    with pytest.raises(ds.errors.DaesolveError, match="place"):
        ds.optimise(pinned, time=1.0, end={"x": 1.0})


@pytest.mark.slow
def test_an_objective_of_the_end_is_added(cart: ds.MechanicalSystem) -> None:
    # From rest, F = c (T - t) is best: x(T) = c T^3 / 3, and c^2 T^3 / 3 - 4 x is least for c = 2.
    found = ds.optimise(
        cart,
        ds.analysis.Objective(running=effort, end=lambda now: -4.0 * now["x"]),
        time=1.5,
        nodes=5,
        verify=False,
    )
    assert found.cost == pytest.approx(-4.0 * 1.5**3 / 3, rel=1e-10)


def test_an_event_that_changes_the_motion_is_named() -> None:
    q, u = ds.coordinates(x="m"), ds.inputs(force="N")
    wall = ds.Event("wall", q.x - 0.5, ds.RISING, ds.Reset({"x_dot": -q.dot.x}))
    walled = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, force={"x": u.force}, inputs=u, events=[wall]
    )
    with pytest.raises(ds.errors.NoOptimumError, match="the run has 'wall'"):
        ds.optimise(walled, effort, time=1.0, end={"x": 1.0, "x_dot": 0.0}, refinements=0)


def test_digits_are_the_least_of_all_and_none_without_a_sound_run(
    cart: ds.MechanicalSystem,
) -> None:
    found = ds.optimise(cart, effort, time=2.0, end={"x": 1.0, "x_dot": 0.0}, nodes=3, verify=False)
    assert found.objection == "the run was not verified"
    unverified = found.digits
    known = Verification("another", {"x": 2e-6, "x_dot": 1e-9}, None)
    sizes = {"x": 2.0, "x_dot": 1.0}
    # A difference of 1e-6 of the size leaves five digits, whatever the meshes say.
    repeated = replace(found, repeated=largest_difference(known, sizes))
    assert (repeated.digits, unverified) == (5, max(unverified, 8))
    lost = Verification("another", {"x": math.nan, "x_dot": math.nan}, None)
    unknown = replace(
        found,
        repeated=largest_difference(lost, sizes),
        run=replace(found.run, verification=lost),
    )
    assert unknown.digits == 0
    assert "the repetition ended otherwise" in str(unknown)
    wrong = replace(found.run, outcome=Outcome.CONTRADICTED, message="the audit says no")
    contradicted = replace(found, run=wrong)
    assert contradicted.digits == 0
    assert "contradicts what was posed: the audit says no" in str(contradicted)
