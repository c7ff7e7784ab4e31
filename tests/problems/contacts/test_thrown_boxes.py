"""Boxes that are thrown land on corners, edges and faces, bounce, slide, and come to rest."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import moreau
from daesolve.multibody import Body, Mechanism, corners, feet

HALF, MASS, GRAVITY = 0.1, 1.0, 9.81
INERTIA = MASS * (2 * HALF) ** 2 / 6
STATES = [f"box_{name}" for name in ("x", "y", "z", "q0", "q1", "q2", "q3")]
SIGNS = np.array([[i, j, k] for k in (-1, 1) for j in (-1, 1) for i in (-1, 1)])


@cache
def box() -> Mechanism:
    p = ds.parameters(mu=(0.4, ""), e=(0.0, ""))
    body = Body("box", MASS, (INERTIA,) * 3, position=(0, 0, 0.5))
    points = feet("c", corners(body, (2 * HALF,) * 3), p.mu, restitution=p.e, closed=False)
    return Mechanism([body], list(points), p, gravity=(0, 0, -GRAVITY))


@cache
def system() -> ds.MechanicalSystem:
    return box().system()


def thrown(seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return a random start, turned and spinning, and random friction and restitution."""
    random = np.random.default_rng(seed)
    velocity = random.normal(size=3) * [0.7, 0.7, 0.3]
    spin, turn = random.normal(size=3) * 5.0, random.normal(size=4)
    turn /= np.linalg.norm(turn)
    start = dict(box().start)
    start |= {f"box_{axis}_dot": v for axis, v in zip("xyz", velocity, strict=True)}
    start |= {f"box_w{k + 1}": w for k, w in enumerate(spin)}
    start |= {f"box_q{k}": q for k, q in enumerate(turn)}
    return start, {"mu": random.uniform(0.1, 1.0), "e": float(random.choice([0.0, 0.3, 0.6]))}


def heights(run: ds.Trajectory) -> np.ndarray:
    """Return the heights of all corners, (k, 8)."""
    q0, q1, q2, q3 = (run[f"box_q{k}"] for k in range(4))
    upwards = np.array([2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), 1 - 2 * (q1**2 + q2**2)])
    return run["box_z"][:, None] + HALF * upwards.T @ SIGNS.T


def energy(run: ds.Trajectory) -> np.ndarray:
    """Return the energy at the samples, J."""
    v = np.array([run[f"box_{axis}_dot"] for axis in "xyz"])
    w = np.array([run[f"box_w{k}"] for k in (1, 2, 3)])
    kinetic = (MASS * np.sum(v**2, axis=0) + INERTIA * np.sum(w**2, axis=0)) / 2
    return kinetic + MASS * GRAVITY * run["box_z"]


def comes_to_rest(seed: int, **laws: str) -> None:
    start, parameters = thrown(seed)
    run = ds.solve(
        system(), 4.0, guess=start, parameters=parameters, redundant="minimum-norm", **laws
    )
    assert run.outcome.value == "completed", run.message
    assert run.events[-1].name == "rest"
    # Gaps are found closed within 1e-12 of the size of the motion, about 1 m.
    assert np.min(heights(run)) > -1e-11
    assert run["box_z"][-1] == pytest.approx(HALF, abs=1e-12)
    # Rounding of velocities of about 1 m/s.
    assert max(abs(run[f"box_{axis}_dot"][-1]) for axis in "xyz") < 1e-15
    losses = [e.impact.kinetic_before - e.impact.kinetic_after for e in run.events if e.impact]
    assert min(losses) > 0.0
    # Steps and the last bounces, which are left out, are right to 1e-12 of 5 J and of 1 m.
    assert np.max(np.diff(energy(run))) < 1e-10


@pytest.mark.long
@pytest.mark.parametrize("seed", [5, 7])
def test_a_thrown_box_comes_to_rest_on_a_face(seed):
    comes_to_rest(seed)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 10, 23, *range(100, 116)])
def test_thrown_boxes_come_to_rest_on_a_face(seed):
    comes_to_rest(seed)


@pytest.mark.long
def test_a_box_whose_slip_turns_back_on_the_direction_in_which_it_began_comes_to_rest():
    """Another corner slips slowly beside it, and turns within nanoseconds."""
    comes_to_rest(444)


@pytest.mark.slow
def test_a_box_that_lands_on_a_face_without_spin_slides_as_a_point_does():
    mu, drop = 0.4, 0.2
    time, fall = np.sqrt(2 * drop / GRAVITY), np.sqrt(2 * GRAVITY * drop)
    for speed in (0.5, 2.0):
        start = dict(box().start) | {"box_z": HALF + drop, "box_x_dot": speed}
        run = ds.solve(system(), 1.5, guess=start, redundant="minimum-norm", at=[1.5])
        # The impact takes mu times the speed of the fall from the slip, mu g the rest of it.
        left = max(speed - mu * fall, 0.0)
        way = speed * time + left**2 / (2 * mu * GRAVITY)
        assert run["box_x"][-1] == pytest.approx(way, abs=1e-11)
        assert run.events[-1].name == "rest"
        assert run.events[-1].time == pytest.approx(time + left / (mu * GRAVITY), abs=1e-11)


@pytest.mark.slow
def test_loads_of_a_box_that_lands_while_it_spins_are_those_of_equal_springs_or_refused():
    start = dict(box().start) | {"box_z": HALF + 0.01, "box_x_dot": 0.6, "box_w3": 6.0}
    run = ds.solve(system(), 1.0, guess=start)
    assert run.outcome.value == "degenerate"
    assert run.events[-1].name == "undetermined_contact"
    assert "minimum-norm" in run.message
    run = ds.solve(system(), 1.0, guess=start, redundant="minimum-norm", at=ds.every(0.01))
    sliding = (run.times > 0.06) & (run["c_1_state"] == 1.0)
    loads = np.array([run[f"c_{k}"][sliding] for k in range(1, 5)])
    assert np.sum(sliding) > 3
    # Four springs on a square: no load on one diagonal more than on the other.
    assert np.max(np.abs(loads[0] + loads[3] - loads[1] - loads[2])) < 1e-8
    assert np.sum(loads, axis=0) == pytest.approx(MASS * GRAVITY, abs=1e-8)


@pytest.mark.long
def test_time_steps_come_to_the_same_motion():
    start, parameters = thrown(3)
    until = 0.35  # Before a face lies on the floor, where loads are not determined.
    run = ds.solve(
        system(), until, guess=start, parameters=parameters, redundant="minimum-norm", at=[until]
    )
    misses = []
    for step in (2e-3, 5e-4, 1.25e-4):
        steps = moreau(system(), start, until, step, parameters)
        misses.append(max(abs(steps[name][-1] - run[name][-1]) for name in STATES))
    # Of first order, where impacts fall anywhere in a step.
    assert misses[2] < misses[0] / 4
    assert misses[2] < 5e-3


@pytest.mark.long
@pytest.mark.parametrize("seed", [pytest.param(3, marks=pytest.mark.slow), 10])
def test_a_thrown_box_comes_to_rest_by_poissons_law_too(seed):
    """Its expansion takes the impulses of compression that equal springs would have."""
    comes_to_rest(seed, impact="poisson")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 208))
def test_thrown_boxes_come_to_rest_by_poissons_law_too(seed):
    comes_to_rest(seed, impact="poisson")


def rests_or_is_reported(seed: int) -> bool:
    """Return whether a box comes to rest where no rule for its loads is asked for."""
    start, parameters = thrown(seed)
    run = ds.solve(system(), 4.0, guess=start, parameters=parameters, impact="poisson")
    assert np.min(heights(run)) > -1e-11
    assert np.max(np.diff(energy(run))) < 1e-10
    last = run.events[-1].name
    if run.outcome.value == "completed":
        assert last == "rest"
        assert run["box_z"][-1] == pytest.approx(HALF, abs=1e-12)
        loads = sum(run[f"c_{k}"][-1] for k in range(1, 9))
        assert loads == pytest.approx(MASS * GRAVITY, rel=1e-10)
        return True
    # A face that slides on the floor: its four loads decide how it goes on. Members of a family of
    # impulses may also be found as answers of their own.
    assert last in ("undetermined_contact", "ambiguous_motion")
    assert np.sum(np.abs(heights(run)[-1]) < 1e-9) == 4
    if last == "ambiguous_motion":
        return False
    assert "minimum-norm" in run.message or "use Newton's law" in run.message
    return False


@pytest.mark.long
def test_a_box_that_sticks_where_it_lands_rests_whatever_its_loads_are():
    assert {rests_or_is_reported(seed) for seed in (3, 5, 7, 10)} == {True, False}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 308))
def test_thrown_boxes_rest_or_are_reported_to_have_loads_that_decide(seed):
    rests_or_is_reported(seed)


@pytest.mark.long
def test_a_box_rests_on_four_feet_from_the_start_on():
    start = dict(box().start) | {"box_z": HALF}
    closed = {f"contact_c_{k}": 1.0 for k in range(1, 5)}
    run = ds.solve(system(), 1.0, guess=start, parameters=closed, at=[0.0, 1.0])
    assert run.outcome.value == "completed"
    assert run["box_z"][-1] == pytest.approx(HALF, abs=1e-15)
    for k in range(1, 5):
        assert run[f"c_{k}"][-1] == pytest.approx(MASS * GRAVITY / 4, rel=1e-8)
