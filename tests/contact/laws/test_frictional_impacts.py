"""Impacts of several contacts, of which some hardly close."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import daesolve as ds


def ends_after(slow, law, friction):
    """A rod whose right end strikes at 1 m/s, whose left end at `slow`: their speeds after it."""
    q = ds.coordinates(x="m", y="m", angle="rad")
    left, right = (
        ds.Contact(
            name, q.y + side * ca.sin(q.angle) / 2, closed=False, restitution=restitution,
            slip=q.dot.x, friction=friction,
        )
        for name, side, restitution in (("left", -1, 0.9), ("right", 1, 0.2))
    )  # fmt: skip
    kinetic = (q.dot.x**2 + q.dot.y**2 + 0.02 * q.dot.angle**2) / 2
    rod = ds.MechanicalSystem(q, kinetic=kinetic, goals=[left, right])
    start = dict.fromkeys(("x", "y", "angle", "x_dot"), 0.0)
    start |= {"y_dot": -(1.0 + slow) / 2, "angle_dot": slow - 1.0}
    end = ds.solve(rod, 1e-9, start, impact=law).end_state
    return end["y_dot"] - end["angle_dot"] / 2, end["y_dot"] + end["angle_dot"] / 2


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("slow", [0.0, 1e-9, 1e-6, 1e-5])
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_what_hardly_closes_is_thrown_by_what_others_push(slow, friction):
    """By Poisson's law: A = [13.5, -11.5; -11.5, 13.5] 1/kg, in compression the impulses (0.23,
    0.27) N s. The left end gives back 0.9 of its own; the right one, pressed down by that, 11.5 /
    13.5 times as much. Left: 0.207 (13.5 - 11.5^2 / 13.5) m/s. To 0.9 and 13.5 times `slow`.
    """
    found = ends_after(slow, "poisson", friction)
    assert found == pytest.approx((0.207 * 50.0 / 13.5, 0.0), abs=1e-12 + 20.0 * slow)


@pytest.mark.parametrize("slow", [0.0, 1e-9, 1e-6, 1e-5])
def test_by_newton_it_goes_as_slowly_as_it_came(slow):
    found = ends_after(slow, "newton", 0.0)
    assert found == pytest.approx((0.0, 0.2), abs=1e-12 + 20.0 * slow)


def test_an_impact_reports_the_impulses_of_constraints_that_are_kept():
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + (q.y - 1.0) ** 2 - 1.0)
    floor = ds.Contact(
        "floor", q.y - 0.3, slip=q.dot.x, friction=0.2, restitution=0.5, closed=False
    )
    kinetic = 2.0 * (q.dot.x**2 + q.dot.y**2) / 2
    bob = ds.MechanicalSystem(q, kinetic=kinetic, potential=19.62 * q.y, goals=[rod, floor])
    hit = ds.solve(bob, 0.5, {"x": 0.95}, guess={"y": 0.7}).events[0]
    impulses, there = hit.impact.impulses, hit.detail
    along = 2.0 * there["x"] * impulses["rod"] + impulses["floor_stuck"]
    up = 2.0 * (there["y"] - 1.0) * impulses["rod"] + impulses["floor"]
    gained = {name: 2.0 * (hit.after[name] - there[name]) for name in ("x_dot", "y_dot")}
    assert impulses["rod"] > 1.0
    assert gained == pytest.approx({"x_dot": along, "y_dot": up}, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("wall", [0.0447, 0.1, 0.21])
@pytest.mark.parametrize("rough", [True, False], ids=["rough", "smooth"])
def test_rounding_of_an_impact_does_not_open_a_contact_that_takes_part_in_the_next(wall, rough):
    """A ball falls along a wall until its string, with e = 1/2, throws it back along it.

    The wall, with e = 1, is never closed on: it only keeps the ball from swinging away. So each
    flight takes half the time of the one before, and all of them end after three times the fall.
    """
    q = ds.coordinates(x="m", y="m", z="m")
    string = 0.3 - ca.sqrt(q.x**2 + q.y**2)
    friction = {"slip": q.dot.z, "friction": 0.5} if rough else {}
    aside = ds.Contact("aside", q.x - wall, restitution=1.0, **friction)
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2 + q.dot.z**2,
        potential=20.0 * q.y,
        goals=[ds.Contact("string", string, restitution=0.5, closed=False), aside],
    )
    run = ds.solve(system, 1.0, {"x": wall, "y": 0.0, "y_dot": 0.0, "z_dot": 0.0})
    assert run.outcome.good, run.message
    fall = np.sqrt(2.0 * np.sqrt(0.09 - wall**2) / 10.0)
    times = [event.time for event in run.events if event.name == "string_closed"]
    wanted = [fall * (3.0 - 2.0 ** (1 - k)) for k in range(12)]
    assert times[:12] == pytest.approx(wanted, rel=1e-9)
    assert run.end_time == 1.0
    ends = [run.end_state[name] for name in ("x", "x_dot", "y_dot", "z_dot")]
    assert ends == pytest.approx([wall, 0.0, 0.0, 0.0], abs=1e-9)
    assert not run.audit().contradictions
