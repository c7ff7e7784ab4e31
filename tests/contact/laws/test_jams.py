"""Contacts that jam, that have no motion, or several: held against quadratures and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daesolve as ds
from tests.contact.decisions.cases import agrees, case
from tests.rubbing import GRAVITY, rod

HALF = 0.5


def sliding(phi, turn, slip):
    """Where the lower end of a rod touches the floor and slides: the start, and a guess."""
    start = {"x": 0.0, "theta": phi, "theta_dot": turn, "x_dot": slip - HALF * math.sin(phi) * turn}
    return start, {"y": HALF * math.sin(phi), "y_dot": HALF * math.cos(phi) * turn}


def run_of(mu, phi, turn, slip, until=0.2, **options):
    start, guess = sliding(phi, turn, slip)
    return ds.solve(rod(mu, 0.0, ends=("A",)), until, start, guess=guess, **options)


def slip_of(state):
    return state["x_dot"] + HALF * math.sin(state["theta"]) * state["theta_dot"]


def jam_angle(mu):
    return math.atan((3 * mu - math.sqrt(9 * mu * mu - 16)) / 2)


def jam_by_angle(mu, phi, turn, slip):
    """Time, rate and slip at the jam, with the angle before it as the variable.

    With p N = b, p = 1 + 3 cos^2 - 3 mu sin cos and b = g - l sin w^2, both vanish at the jam.
    In tau with phi = phi1 - exp(-tau) they have no differences: p = 3 R sin(d) sin(theta1 - d)
    with R = sqrt(1 + mu^2) and theta1 = 2 phi1 + atan mu, and b is a variable by itself.
    """
    end, reach = jam_angle(mu), math.sqrt(1.0 + mu * mu)
    theta = 2.0 * end + math.atan(mu)

    def slope(tau, y):
        b, _, _ = y
        d = math.exp(-tau)
        s, c = math.sin(end - d), math.cos(end - d)
        push = b * d / (3.0 * reach * math.sin(d) * math.sin(theta - d))  # N d
        square = (GRAVITY - b) / (HALF * s)
        w = math.sqrt(square)
        turned = 3.0 * push * (mu * s - c) / HALF
        return [
            -d * HALF * c * square - 2.0 * HALF * s * turned,
            d / w,
            (mu * push + d * HALF * c * square + HALF * s * turned) / w,
        ]

    b = GRAVITY - HALF * math.sin(phi) * turn**2
    span = -math.log(end - phi), 120.0  # b falls like exp(-C tau), 0.3 < C
    found = solve_ivp(slope, span, [b, 0.0, slip], method="DOP853", rtol=1e-13, atol=1e-15)
    b, time, slipping = found.y[:, -1]
    return time, math.sqrt((GRAVITY - b) / (HALF * math.sin(end))), slipping


def stopping(mu, phi, slip):
    """The impulse -A^-1 (0, slip) that ends the slip of the rod's end."""
    s, c = math.sin(phi), math.cos(phi)
    matrix = np.array([[1 + 3 * c * c, -3 * s * c], [-3 * s * c, 1 + 3 * s * s]])
    return np.linalg.solve(matrix, [0.0, -slip])


# In tau the jam has exponents between C = 0.36 and 0.93.
@pytest.mark.default_rows(1)
@pytest.mark.parametrize(("mu", "phi"), [(1.8, 0.45), (1.6, 0.6), (2.0, 0.5)])
def test_a_rod_jams_when_and_as_fast_as_a_quadrature_by_its_angle_says(mu, phi):
    time, rate, slip = jam_by_angle(mu, phi, 2.0, -6.0)
    run = run_of(mu, phi, 2.0, -6.0, on_jam="impact")
    jam = run.events[0]
    assert jam.name == "jam"
    # The run has steps right to about 1e-13, and what is left at the ratio 1e-10 is of order one.
    assert jam.time == pytest.approx(time, abs=1e-11)
    assert jam.detail["theta"] == pytest.approx(jam_angle(mu), abs=1e-11)
    assert jam.detail["theta_dot"] == pytest.approx(rate, rel=1e-9)
    assert slip_of(jam.detail) == pytest.approx(slip, rel=1e-9)
    normal, tangential = stopping(mu, jam_angle(mu), slip)
    assert jam.impact.impulses["A"] == pytest.approx(normal, rel=1e-9)
    assert jam.impact.impulses["A_stuck"] == pytest.approx(tangential, rel=1e-9)
    # The impulse lies on the edge of its cone.
    assert jam.impact.impulses["A_stuck"] / jam.impact.impulses["A"] == pytest.approx(mu, rel=1e-8)
    assert abs(slip_of(jam.after)) <= 1e-9
    lost = slip * tangential / 2.0
    assert jam.impact.kinetic_after - jam.impact.kinetic_before == pytest.approx(lost, rel=1e-8)
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_jam_is_that_of_the_reference_and_ends_the_run_unless_told_otherwise():
    known = case("dynamic_jam")["values"]
    numbers = case("dynamic_jam")["params"]
    start = numbers["mu"], numbers["phi0"], numbers["omega0"], numbers["slip_speed0"]
    run = run_of(*start)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["jam"]
    assert "the contact 'A' jams" in run.message
    assert 'on_jam = "impact"' in run.message
    assert agrees(run.end_time, known["t_jam"])
    assert agrees(run["theta"][-1], known["phi_jam"], 12)
    assert run["A"][-1] > 1e6  # It has no bound.
    on = run_of(*start, on_jam="impact")
    assert slip_of(on.events[0].detail) == pytest.approx(known["slip_at_jam"]["value"], rel=1e-10)
    impulse = on.events[0].impact.impulses["A"]
    assert impulse == pytest.approx(known["jam_impulse_LN"]["value"], rel=1e-10)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau"])
def test_a_jam_is_found_by_solvers_of_all_kinds(solver):
    time, _, slip = jam_by_angle(1.8, 0.45, 2.0, -6.0)
    run = run_of(1.8, 0.45, 2.0, -6.0, on_jam="impact", solver=solver, at=[0.11, 0.116156534, 0.2])
    assert run.events[0].name == "jam"
    # As near as the solvers' own tolerances let it be.
    assert run.events[0].time == pytest.approx(time, abs=1e-9)
    assert slip_of(run.events[0].detail) == pytest.approx(slip, rel=1e-7)
    # A sample shortly before it, which is taken on the way in another variable.
    before = run.events[0].time - 0.116156534
    turned = run.events[0].detail["theta_dot"] * before
    assert run["theta"][1] == pytest.approx(run.events[0].detail["theta"] - turned, abs=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("mu", [1.45, 1.55])
def test_where_friction_is_too_small_for_a_jam_the_contact_opens_before(mu):
    """Below 8 / (3 sqrt 3) as C > 1; a little above it reactions pass zero first, too."""
    run = run_of(mu, jam_angle(mu) - 0.25, 2.0, -6.0)
    assert [event.name for event in run.events] == ["A_lost"]
    assert run.events[0].detail["theta"] < jam_angle(mu)
    assert run.outcome is ds.Outcome.COMPLETED


def test_where_no_motion_is_possible_the_impact_without_a_collision_goes_on():
    known, numbers = (case("impact_without_collision")[key] for key in ("values", "params"))
    start = numbers["mu"], numbers["phi"], numbers["omega"], numbers["slip_speed"]
    with pytest.raises(ds.errors.NoMotion, match='on_jam = "impact" continues'):
        run_of(*start)
    run = run_of(*start, on_jam="impact")
    assert [event.name for event in run.events[:2]] == ["jam", "A_sticks"]
    impact = run.events[0].impact
    normal, tangential = stopping(*start[:2], start[3])
    assert impact.impulses["A"] == pytest.approx(normal, rel=1e-13)
    assert impact.impulses["A_stuck"] == pytest.approx(tangential, rel=1e-13)
    assert agrees(impact.kinetic_after - impact.kinetic_before, known["dE_compression"])
    assert agrees(run.events[0].after["theta_dot"], known["omega_after"])


def test_no_support_pulls_before_the_impact_of_a_rod_that_turns_on_into_a_jam():
    """Its reaction, were it to slide on, would pull ever harder."""
    run = run_of(1.8, 1.1, 0.5, -3.0, on_jam="impact", until=0.1)
    assert run.outcome is ds.Outcome.COMPLETED
    assert (run.events[0].name, run.events[0].time) == ("jam", 0.0)
    normal, tangential = stopping(1.8, 1.1, -3.0)
    assert run.events[0].impact.impulses["A"] == pytest.approx(normal, rel=1e-13)
    assert run.events[0].impact.impulses["A_stuck"] == pytest.approx(tangential, rel=1e-13)
    turned = 3.0 / HALF * (tangential * math.sin(1.1) - normal * math.cos(1.1))
    assert run.events[0].after["theta_dot"] == pytest.approx(0.5 + turned, rel=1e-13)
    assert slip_of({name: run[name][0] for name in ("x_dot", "theta", "theta_dot")}) == -3.0
    assert np.min(run["A"]) >= -1e-12


def test_several_motions_are_refused_or_the_mode_so_far_is_kept():
    """In the paradox a rod that turns fast may fly off as well as slide on."""
    with pytest.raises(ds.errors.AmbiguousMotion, match='on_ambiguous = "keep"'):
        run_of(1.8, 1.1, 6.0, -3.0)
    run = run_of(1.8, 1.1, 6.0, -3.0, on_ambiguous="keep", until=0.01)
    assert run.events == ()
    s, c = math.sin(1.1), math.cos(1.1)
    first = (GRAVITY - HALF * s * 36.0) / (1.0 + 3.0 * c * c - 3.0 * 1.8 * s * c)
    assert run["A"][0] == pytest.approx(first, rel=1e-12)


def test_what_asks_for_a_jam_or_several_motions_needs_contacts():
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)
    for options in ({"on_jam": "impact"}, {"on_ambiguous": "keep"}):
        with pytest.raises(ds.errors.UnsupportedError, match="apply to contacts"):
            ds.solve(free, 1.0, {"x": 0.0, "x_dot": 1.0}, **options)
    with pytest.raises(ds.errors.OutOfRangeError, match="must be one of end, impact"):
        run_of(1.8, 0.45, 2.0, -6.0, on_jam="stop")
