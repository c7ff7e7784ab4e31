"""What runs tell of contacts that rub: slip, friction, its work, state, stick margin."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from tests.contact.decisions.cases import agrees, case
from tests.rubbing import GRAVITY, block, standing

STICKS = 2.0


@pytest.mark.slow
def test_the_work_of_friction_is_the_energy_that_sliding_down_an_incline_takes():
    incline, mu, speed = 0.1, 0.3, 1.0
    run = ds.solve(block(0.1, 0.2, mu, incline=incline), 1.0, standing(0.2, speed))
    known = case("slide_to_rest")["values"]
    work = run["rear_friction_work"][-1] + run["front_friction_work"][-1]
    # T = mu g cos over the way, whatever each foot carries.
    assert agrees(-work / (mu * GRAVITY * math.cos(incline)), known["distance"])
    # Each foot takes what it carries.
    share = run["rear_friction_work"][-1] / run["front_friction_work"][-1]
    assert share == pytest.approx(run["rear"][0] / run["front"][0], rel=1e-12)


@pytest.mark.slow
def test_friction_and_impacts_account_for_the_energy_of_a_block_that_rocks_to_rest():
    run = ds.solve(block(0.1, 0.2, 0.7), 2.0, standing(0.2, 1.0))
    impacts = [event.impact for event in run.events if event.impact is not None]
    lost = sum(impact.kinetic_after - impact.kinetic_before for impact in impacts)
    rubbed = run["rear_friction_work"][-1] + run["front_friction_work"][-1]
    energy = run["energy"]
    # Bounces lower than 1e-12 m are left out: of each foot, that part of the weight.
    left_out = 2.0 * GRAVITY * 1e-12
    assert abs(energy[-1] - energy[0] - lost - rubbed) <= left_out
    assert rubbed < 0.0
    assert lost < 0.0


def test_the_margin_of_a_block_on_one_foot_falls_to_zero_where_it_slips():
    """A push 2 t on 1 kg; the static limit is 0.5 g, so that it slips at 0.25 g."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3, static_friction=0.5)
    pushed = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[floor],
        force={"x": 2.0 * ds.time},
    )
    start = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    run = ds.solve(pushed, 3.0, start, at=ds.every(0.25))
    still = run.times < 0.25 * GRAVITY
    margin = 0.5 * GRAVITY - 2.0 * run.times
    np.testing.assert_allclose(run["floor_margin"], np.where(still, margin, 0.0), atol=1e-14)
    assert run["floor_state"].tolist() == np.where(still, STICKS, 1.0).tolist()
    np.testing.assert_array_equal(run["floor_slip"], run["x_dot"])


@pytest.mark.slow
def test_feet_that_stick_side_by_side_have_the_margin_of_both():
    """A floor that speeds up by 0.1 m/s^2 takes a block of 1 kg along, held by 0.1 N."""
    height, half, pull = 0.1, 0.2, 0.1
    taken = block(half, height, (0.2, 0.4), floor=pull * ds.time)
    run = ds.solve(taken, 0.5, standing(height), at=ds.every(0.1))
    # What holds it acts below its centre, and loads the rear foot.
    shift = pull * height / (2.0 * half)
    limit = 0.2 * (GRAVITY / 2.0 + shift) + 0.4 * (GRAVITY / 2.0 - shift)
    for foot in ("rear", "front"):
        np.testing.assert_allclose(run[f"{foot}_margin"], limit - pull, atol=1e-13)
        assert set(run[f"{foot}_state"]) == {STICKS}


@pytest.mark.long
def test_the_feet_of_a_tripod_take_its_energy_in_space():
    """It slides and spins to rest on level ground: what it had, friction takes."""
    run = ds.problem("tripod").case("spins").solve()
    feet = [f"foot_{k}" for k in (1, 2, 3)]
    rubbed = sum(run[f"{foot}_friction_work"][-1] for foot in feet)
    assert rubbed == pytest.approx(run["energy"][-1] - run["energy"][0], abs=1e-13)
    for foot in feet:
        assert set(run[f"{foot}_state"]) == {1.0, STICKS}
        slides = run[f"{foot}_state"] == 1.0
        force = np.hypot(run[f"{foot}_friction_1"], run[f"{foot}_friction_2"])
        np.testing.assert_allclose(force[slides], 0.3 * run[foot][slides], rtol=1e-12)
        assert np.all(run[f"{foot}_margin"][slides] == 0.0)
    # At rest nothing pushes: the margin of all is mu times the weight that they bear.
    margins = sum(run[f"{foot}_margin"][-1] for foot in feet)
    assert margins == pytest.approx(0.3 * GRAVITY, abs=1e-10)
