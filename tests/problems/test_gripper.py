"""A gripper that lifts a box or slips along it, against virtual work and the law of friction."""

from functools import cache

import numpy as np
import pytest
from daesolve_problems.robots.gripper import (
    BOX,
    CRANK,
    FINGER,
    FRICTION,
    GRAVITY,
    SIDES,
    holding_torque,
    problem,
)

pytestmark = pytest.mark.slow


@cache
def run_of(case):
    run = problem.case(case).solve()
    assert run.outcome.value == "completed"
    assert run.audit().holds
    return run


def rubbed(run, side):
    """Return the friction of a pad at all samples, N."""
    return np.hypot(*[run[f"{side}_pad_load_friction_{k}"] for k in (1, 2)])


def accelerations(run, name):
    return np.gradient(run[name], run.times)


def test_a_torque_above_the_threshold_lifts_the_box_and_pads_press_by_virtual_work():
    run = run_of("lifts")
    assert holding_torque(run["left_drive_angle"][-1]) < 0.6
    lifted = run["above_displacement"]
    assert lifted[-1] > 0.025
    above = (run.times > 0.25) & (run.times < 0.43)
    # Differences over samples 0.6 ms apart, of what changes within the servo's 20 ms, are off by
    # (0.6 / 20)^2, 1e-3, of their changes, which are a tenth of gravity at most.
    rises = accelerations(run, "hand_z_dot")[above]
    for side in SIDES:
        friction, angle = rubbed(run, side)[above], run[f"{side}_drive_angle"][above]
        assert np.allclose(friction, BOX * (GRAVITY + rises) / 2.0, rtol=2e-3)
        pulled = friction + FINGER * (GRAVITY + rises)
        load = (0.6 - pulled * CRANK * np.sin(angle)) / (CRANK * np.cos(angle))
        assert np.allclose(run[f"{side}_pad_load"][above], load, rtol=2e-3)


def test_below_the_threshold_the_pads_slip_and_the_table_carries_the_rest():
    run = run_of("slips")
    assert holding_torque(run["left_drive_angle"][-1]) > 0.25
    assert np.max(np.abs(run["above_displacement"])) < 1e-12
    first = max(e.time for e in run.events if e.name.endswith("_pad_load_slips"))
    slides = (run.times > first) & (run.times < 0.4)
    loads = [run[f"{side}_pad_load"][slides] for side in SIDES]
    carried = BOX * GRAVITY - FRICTION * np.sum(loads, axis=0)
    assert np.count_nonzero(slides) > 100
    assert np.allclose(run["above_lower"][slides], carried, rtol=0.0, atol=1e-9)
