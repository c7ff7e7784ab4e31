"""What the reference says of single impacts, of balls, bricks and feet, through runs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.contacts import bouncing_ball, free_body
from scipy.spatial.transform import Rotation

import daesolve as ds
from daesolve.errors import UndeterminedContact
from daesolve.multibody import Body, Mechanism, corners, feet
from tests.contact.decisions.cases import agrees, case, cases

BALL = bouncing_ball.problem


def impacts_of(run: ds.Trajectory) -> list[ds.EventRecord]:
    return [event for event in run.events if event.impact is not None]


def thrown_ball(p: dict[str, Any], **more: float) -> Any:
    """Return a ball of the reference, which starts as it meets the floor."""
    numbers = {
        "mass": p["m"],
        "radius": p["r"],
        "inertia_ratio": p["J_over_mr2"],
        "restitution": p.get("e", p.get("eN")),
        **more,
    }
    start = {f"speed_{axis}": speed for axis, speed in zip("xyz", p["v"], strict=True)}
    start |= {f"spin_{axis}": spin for axis, spin in zip("xyz", p["omega"], strict=True)}
    return BALL.case("tennis").changed(numbers).starting(start)


@pytest.mark.slow_rows("known0")
@pytest.mark.parametrize("known", cases("ball_with_spin_three_bounces"))
def test_a_ball_with_spin_bounces_three_times_as_the_reference_says(known):
    p, values = known["params"], known["values"]
    run = thrown_ball(p, friction=p["mu"]).solve(2.0)
    impacts = impacts_of(run)
    for number, event in enumerate(impacts[:3], start=1):
        impulses = event.impact.impulses
        assert agrees(impulses["floor"], values[f"b{number}_Ln"], 12)
        for name, axis in (("floor_stuck_1", "Lx"), ("floor_stuck_2", "Ly")):
            # Rounding of the normal impulse, where the other is zero.
            assert abs(impulses[name] - values[f"b{number}_{axis}"]["value"]) <= 1e-13
    last = impacts[3].detail
    spin = free_body.spin_of(last)
    for found, name in (
        (last["x_dot"], "vx"), (last["y_dot"], "vy"), (spin[0], "wx"), (spin[1], "wy"),
        (last["x"], "x_before_4th"), (last["y"], "y_before_4th"),
    ):  # fmt: skip
        # What is zero is so to the rounding of what is not, some tens.
        assert agrees(found, values[name], 12) or abs(found - values[name]["value"]) <= 1e-12


@pytest.mark.slow
def test_a_superball_turns_its_slip_round_from_the_friction_of_the_reference_on():
    known = case("superball")
    p, values = known["params"], known["values"]
    ball = thrown_ball(p, friction=1.0, tangential_restitution=p["eT"])
    impacts, radius = impacts_of(ball.solve(2.0)), p["r"]
    after = impacts[0].after
    speeds = [after[f"{axis}_dot"] for axis in "xyz"]
    for axis, (speed, spin) in enumerate(zip(speeds, free_body.spin_of(after), strict=True)):
        # Rounding of spins of 214 1/s and of speeds of 3 m/s.
        assert speed == pytest.approx(values[f"v{axis}"]["value"], abs=1e-12)
        assert spin == pytest.approx(values[f"w{axis}"]["value"], abs=1e-10)
    for event in impacts:
        assert event.impact.kinetic_after == pytest.approx(event.impact.kinetic_before, rel=1e-13)
    for share in (0.999, 1.001):
        mu = share * values["mu_needed"]["value"]
        first = impacts_of(ball.changed({"friction": mu}).solve(0.01))[0]
        slip = first.after["x_dot"] - radius * free_body.spin_of(first.after)[1]
        assert (abs(slip + p["v"][0]) <= 1e-12) == (share > 1.0)


@pytest.mark.long
@pytest.mark.parametrize("known", cases("brick_corner_impact"))
def test_the_corner_of_a_brick_slips_or_sticks_as_the_reference_says(known):
    p, values = known["params"], known["values"]
    sides = np.array(p["sides"])
    turn = Rotation.from_euler("xyz", p["euler_xyz_extrinsic"])
    own = p["m"] / 12 * np.array([sides[k - 2] ** 2 + sides[k - 1] ** 2 for k in range(3)])
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    places = turn.apply(signs * sides / 2)
    lowest = int(np.argmin(places[:, 2]))
    x, y, z, w = turn.as_quat()
    brick = Body(
        "brick", p["m"], tuple(own), position=(0.0, 0.0, -places[lowest, 2]),
        rotation=(w, x, y, z), velocity=tuple(p["v"]),
        angular_velocity=tuple(turn.inv().apply(p["omega"])),
    )  # fmt: skip
    points = feet("c", corners(brick, p["sides"]), p["mu"], restitution=p["e"], closed=False)
    mechanism = Mechanism([brick], list(points), gravity=(0.0, 0.0, -9.81))
    run = ds.solve(mechanism.system(), 1e-3, guess=mechanism.start)
    impact = impacts_of(run)[0]
    (name,) = [k for k, v in impact.impact.impulses.items() if v > 0.0 and "stuck" not in k]
    impulses = impact.impact.impulses
    assert agrees(impulses[name], values["Ln"], 11)
    assert agrees(impulses[f"{name}_stuck_1"], values["Lx"], 11)
    assert agrees(impulses[f"{name}_stuck_2"], values["Ly"], 11)
    after = impact.after
    spin = turn.apply([after[f"brick_w{k}"] for k in (1, 2, 3)])
    slip = np.array([after[f"brick_{axis}_dot"] for axis in "xyz"]) + np.cross(spin, places[lowest])
    for found, axis in zip(slip, "xy", strict=False):
        assert abs(found - values[f"slip_after_{axis}"]["value"]) <= 1e-11
    change = impact.impact.kinetic_after - impact.impact.kinetic_before
    assert agrees(change, values["dE"], 11)


def double_pendulum(e: float, mu: float, lowest: float) -> ds.MechanicalSystem:
    """Two uniform rods of 1 kg and 1 m that hang from a pin, over a floor."""
    q = ds.coordinates(first="rad", second="rad")
    knee = ca.vertcat(ca.sin(q.first), -ca.cos(q.first))
    reach = ca.vertcat(ca.sin(q.second), -ca.cos(q.second))
    middles = ca.vertcat(knee / 2, knee + reach / 2)
    rates = ca.jacobian(middles, q.vector) @ q.dot.vector
    slip = ca.jacobian((knee + reach)[0], q.vector) @ q.dot.vector
    gap = (knee + reach)[1] - lowest
    foot = ds.Contact("foot", gap, slip=slip, friction=mu, restitution=e, closed=False)
    turning = ca.sumsqr(q.dot.vector) / 24
    return ds.MechanicalSystem(q, kinetic=ca.sumsqr(rates) / 2 + turning, goals=[foot])


@pytest.mark.slow_rows("known0")
@pytest.mark.parametrize("known", cases("kane_double_pendulum"))
def test_kanes_pendulum_gains_energy_by_newtons_law_alone_and_is_refused(known):
    p, values = known["params"], known["values"]
    first, second = math.pi / 9, math.pi / 6
    start = {"first": first, "second": second, "first_dot": p["u1"], "second_dot": p["u2"]}
    system = double_pendulum(p["e"], p["mu"], -math.cos(first) - math.cos(second))
    refused = ds.solve(system, 1e-3, start)
    assert refused.outcome is ds.Outcome.DEGENERATE
    assert "would add energy" in refused.message
    for law in ("newton", "poisson"):
        run = ds.solve(system, 1e-3, start, impact=law, on_gain="report")
        impact = run.events[0].impact
        assert agrees(impact.impulses["foot"], values[f"{law}_LN"], 11)
        assert agrees(impact.impulses["foot_stuck"], values[f"{law}_LT"], 11)
        change = impact.kinetic_after / impact.kinetic_before - 1.0
        assert agrees(change, values[f"{law}_relative_energy_change"], 11)


@pytest.mark.default_rows(3)
@pytest.mark.slow_rows("poisson-found0")
@pytest.mark.parametrize("found", cases("three_touching_balls"))
@pytest.mark.parametrize("law", ["newton", "poisson", "sequential left", "sequential right"])
def test_three_touching_balls_part_by_the_law_that_is_named(found, law):
    p = found["params"]
    kind, _, first = law.partition(" ")
    left, right = "between_1_2", "between_2_3"
    order = {"left": [left, right], "right": [right, left]}.get(first)
    numbers = {"restitution": p["e"], **{f"mass_{k + 1}": m for k, m in enumerate(p["m"])}}
    line = ds.problem("newtons-cradle").case("line-newton").changed(numbers)
    line = line.starting({f"x_dot_{k + 1}": speed for k, speed in enumerate(p["u"])})
    run = line.solve(impact=kind, impact_order=order)
    key = f"exact_seq_{first}" if first else f"exact_{kind}"
    wanted = [float(Fraction(number)) for number in found[key]]
    ends = [run[f"x_dot_{k}"][-1] for k in (1, 2, 3)]
    assert ends == pytest.approx(wanted, abs=1e-14)


def test_balls_that_part_before_they_are_struck_gain_nothing():
    """The gap on the right opens, and is closed by the impact on the left: two impacts follow."""
    speeds, masses = [1.0, -1.0, 0.0], (0.1, 0.1, 0.1)
    line = ds.problem("newtons-cradle").case("line-newton")
    line = line.starting({f"x_dot_{k + 1}": speed for k, speed in enumerate(speeds)})
    ends = line.solve()
    found = [ends[f"x_dot_{k}"][-1] for k in (1, 2, 3)]
    # Equal balls exchange their speeds, twice.
    assert found == pytest.approx([-1.0, 0.0, 1.0], abs=1e-14)
    impact = ends.events[0].impact
    kinetic = sum(m * v**2 / 2 for m, v in zip(masses, speeds, strict=True))
    assert impact.kinetic_after == pytest.approx(kinetic, abs=1e-15)


@cache
def returning_rod() -> ds.MechanicalSystem:
    """A uniform rod over a floor whose impacts return slip as they return the gap's speed."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    p = ds.parameters(mu=(0.3, ""), e=(0.5, ""), e_t=(0.0, ""))
    place = q.x - ca.cos(q.theta) / 2
    slip = ca.jacobian(place, q.vector) @ q.dot.vector
    end = ds.Contact(
        "A", q.y - ca.sin(q.theta) / 2, slip=slip, friction=p.mu, restitution=p.e,
        tangential_restitution=p.e_t, closed=False,
    )  # fmt: skip
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.theta**2 / 12) / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, goals=[end])


@pytest.mark.long
def test_random_throws_gain_energy_as_often_as_the_reference_says():
    """By Newton's law alone, and not where slip is returned as the gap's speed is."""
    values, count = case("energy_statistics")["values"], 800
    gained = dict.fromkeys(("newton", "poisson", "routh", "newton_eT=eN"), 0)
    random = np.random.default_rng(1)
    for _ in range(count):
        phi, mu = random.uniform(0.05, 1.5), random.uniform(0.05, 1.2)
        e, slip = random.uniform(0.0, 1.0), random.normal()
        start = {"theta": phi, "y": math.sin(phi) / 2, "theta_dot": 0.0}
        start |= {"x": 0.0, "x_dot": slip, "y_dot": -1.0}
        numbers = {"friction": mu, "restitution": e}
        rod = ds.problem("thrown-rod").case("thrown").changed(numbers).starting(start)
        for law in ("newton", "poisson", "routh"):
            run = rod.solve(1e-6, at=[1e-6], impact=law, on_gain="report")
            impact = run.events[0].impact
            gained[law] += impact.kinetic_after > impact.kinetic_before * (1 + 1e-12)
        run = ds.solve(
            returning_rod(), 1e-6, start, parameters={"mu": mu, "e": e, "e_t": e}, at=[1e-6]
        )
        impact = run.events[0].impact
        gained["newton_eT=eN"] += impact.kinetic_after > impact.kinetic_before * (1 + 1e-12)
    for law, number in gained.items():
        share = values[f"share_gaining_{law}"]["value"]
        # Four standard deviations of such a count.
        assert abs(number - share * count) <= 4.0 * math.sqrt(share * count)


@cache
def stool() -> Mechanism:
    """A body on four feet that slides and spins, as the reference has it."""
    p = case("four_feet_initial_acceleration")["params"]
    body = Body(
        "stool", p["m"], (0.0042, 0.0042, p["Jz"]), position=(0.0, 0.0, p["h"]),
        velocity=(*p["v0"][:2], 0.0), angular_velocity=(0.0, 0.0, p["v0"][2]),
    )  # fmt: skip
    side = p["half_side"]
    points = [
        body.point(x * side, y * side, -p["h"]) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]
    return Mechanism([body], list(feet("f", points, p["mu"])), gravity=(0.0, 0.0, -p["g"]))


@pytest.mark.slow
def test_four_feet_that_spin_slide_as_equal_springs_let_them_or_are_refused():
    values = case("four_feet_initial_acceleration")["values"]
    mechanism = stool()
    system = mechanism.system()
    with pytest.raises(UndeterminedContact) as error:
        ds.solve(system, 1e-3, guess=mechanism.start)
    (answer,) = error.value.solution.answers
    ends = sorted(answer.family, key=lambda reactions: reactions[0])
    for reactions, name in zip(ends, ("end_A", "end_B"), strict=True):
        np.testing.assert_allclose(reactions[:4], values[name]["value"]["N"], atol=1e-12)
    run = ds.solve(system, 1e-3, guess=mechanism.start, redundant="minimum-norm", at=[0.0, 1e-3])
    wanted = values["equal_springs"]["value"]
    loads = [run[f"f_{k}"][0] for k in range(1, 5)]
    np.testing.assert_allclose(loads, wanted["N"], rtol=1e-8)


@pytest.mark.slow
def test_four_feet_that_do_not_spin_slide_as_a_point_does():
    mechanism = stool()
    start = {**mechanism.start, "stool_w3": 0.0}
    run = ds.solve(mechanism.system(), 0.1, guess=start, redundant="minimum-norm", at=[0.1])
    slope = 0.3 * 9.81 / math.hypot(0.6, 0.2)
    for axis, speed in (("x", 0.6), ("y", 0.2)):
        wanted = speed * (1.0 - slope * 0.1)
        assert run[f"stool_{axis}_dot"][-1] == pytest.approx(wanted, abs=1e-12)
