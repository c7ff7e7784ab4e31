"""Friction that begins at a slip of zero, or at rest under a force that grows."""

import math

import numpy as np
import pytest

import daesolve as ds


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    ("friction", "force", "start", "events", "end"),
    [
        # A slip of zero without friction: its side is that of the force.
        (0.0, 1.0, (0.0, 0.0), [], 2.0),
        (0.0, 1.0, (0.0, -1.0), ["floor_reverses"], 0.0),
        # x'' = 1 - 9.81 mu, with mu = 0.05 x: 1 - cos in a time of its own.
        ("rising", 1.0, (0.0, 0.0), [], (1 - math.cos(2 * 0.4905**0.5)) / 0.4905),
        # Friction that grows with time from zero: it holds what it can.
        ("late", 0.5, (0.0, 0.0), [], 0.0),
        ("late", 2.0, (0.0, 0.0), ["floor_slips"], (2.0 - 0.981) * 2**3 / 6),
    ],
)
def test_friction_that_is_zero_at_a_slip_of_zero_has_the_side_of_the_slip_that_follows(
    friction: float | str, force: float, start: tuple[float, float], events: list[str], end: float
) -> None:
    q = ds.coordinates(x="m", y="m")
    laws = {"rising": 0.05 * q.x, "late": 0.1 * ds.time}
    push = force * ds.time if friction == "late" else force
    law = laws[friction] if isinstance(friction, str) else friction
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=law)
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": push},
        goals=[floor],
    )
    run = ds.solve(block, 2.0, {"x": start[0], "x_dot": start[1], "y": 0.0})
    assert run.outcome is ds.Outcome.COMPLETED
    assert [event.name for event in run.events] == events
    # The state names what the contact does, and is never that of one that is open.
    assert np.all(np.abs(run["floor_state"]) >= 1.0)
    assert run.end_state["x"] == pytest.approx(end, abs=1e-12)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("friction", [1e-6, 0.01, 0.5])
@pytest.mark.parametrize("power", [1, 3])
def test_a_block_at_rest_slides_off_where_a_growing_force_passes_the_friction(
    friction: float, power: int
) -> None:
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=friction)
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": 10.0 * ds.time**power},
        goals=[floor],
    )
    run = ds.solve(block, 2.0, {"x": 0.0, "x_dot": 0.0, "y": 0.0})
    limit = 9.81 * friction
    off = (limit / 10.0) ** (1 / power)
    (slips,) = run.events
    assert slips.name == "floor_slips"
    assert slips.time == pytest.approx(off, rel=1e-9)
    speed = 10.0 * (2.0 ** (power + 1) - off ** (power + 1)) / (power + 1) - limit * (2.0 - off)
    assert run.end_state["x_dot"] == pytest.approx(speed, rel=1e-12)
