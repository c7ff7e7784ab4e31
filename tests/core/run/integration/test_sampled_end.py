"""The last sample is the end of the run, however it ended and wherever its samples are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import daesolve as ds

HEIGHT, GRAVITY, FLOOR = 2.0, 10.0, "floor"
LANDING = (2.0 * HEIGHT / GRAVITY) ** 0.5
"""When a stone that falls from rest is down."""
SAMPLINGS = [None, ds.every(0.4), ds.every_event(), [0.0, 0.1, 5.0], [5.0, 0.1, 0.2]]


def stone(*, stops: bool = True) -> ds.MechanicalSystem:
    """Return a stone that falls; it may end the run where it is down."""
    q = ds.coordinates(y="m")
    then = ds.Stop() if stops else ds.Record()
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        events=[ds.Event(FLOOR, q.y, ds.FALLING, then)],
    )


def ends_with_its_samples(run: ds.Trajectory) -> None:
    """Check time and states."""
    assert run.times[-1] == run.end_time
    for name, value in run.end_state.items():
        assert run[name][-1] == pytest.approx(value, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("at", SAMPLINGS)
def test_run_that_an_event_stops(at: object) -> None:
    run = ds.solve(stone(), until=5.0, initial={"y": HEIGHT}, at=at)
    assert run.end_time == pytest.approx(LANDING, rel=1e-14)
    ends_with_its_samples(run)


@pytest.mark.default_rows(3)
@pytest.mark.parametrize("at", SAMPLINGS)
def test_run_on_disk_has_the_same_samples(at: object, tmp_path: Path) -> None:
    memory = ds.solve(stone(), until=5.0, initial={"y": HEIGHT}, at=at)
    stored = ds.solve(stone(), until=5.0, initial={"y": HEIGHT}, at=at, store=tmp_path / "run")
    again = ds.Trajectory.from_run(tmp_path / "run")
    ends_with_its_samples(stored)
    for other in (stored, again):
        assert np.array_equal(other.times, memory.times) or at is None
        assert len(other.times) == len(memory.times)
        assert np.allclose(other["y"], memory["y"], rtol=0.0, atol=1e-14)


def test_list_that_was_reached_in_full_is_kept() -> None:
    at = [0.3, 0.1]
    run = ds.solve(stone(), until=5.0, initial={"y": HEIGHT}, at=at)
    assert run.times.tolist() == at
    assert run["y"] == pytest.approx(HEIGHT - GRAVITY * np.array(at) ** 2 / 2, rel=1e-14)


def test_list_in_an_order_of_its_own_is_followed_by_the_end() -> None:
    run = ds.solve(stone(), until=5.0, initial={"y": HEIGHT}, at=[5.0, 0.3, 1.0, 0.1])
    assert run.times.tolist() == [0.3, 0.1, run.end_time]
    assert run["y"] == pytest.approx([HEIGHT - 0.45, HEIGHT - 0.05, 0.0], abs=1e-14)


@pytest.mark.parametrize("at", SAMPLINGS)
def test_run_that_its_budget_ends(at: object) -> None:
    q = ds.coordinates(x="m")
    spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    run = ds.solve(spring, until=1000.0, initial={"x": 1.0}, at=at, max_evaluations=2000)
    assert run.outcome is ds.Outcome.FAILED
    if run.end_time > 5.0 and isinstance(at, list):
        assert sorted(run.times) == sorted(at)
    else:
        ends_with_its_samples(run)
    assert run["x"] == pytest.approx(np.cos(run.times), abs=1e-12)


def test_run_that_fails() -> None:
    q = ds.coordinates(x="m")
    grows = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": 2.0 * q.x**3})
    # x'' = 2 x^3 with x = x' = 1 is x = 1 / (1 - t).
    initial = {"x": 1.0, "x_dot": 1.0}
    run = ds.solve(grows, until=2.0, initial=initial, at=ds.every(0.3), solver=ds.Dop853())
    assert run.outcome is ds.Outcome.FAILED
    assert run.times[-1] == run.end_time
    assert run["x"][-1] == run.end_state["x"]


@pytest.mark.slow
def test_run_that_is_interrupted() -> None:
    q = ds.coordinates(x="m")
    spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)

    def look(*_: object) -> None:
        raise_interrupt()

    run = ds.solve(spring, until=1e6, initial={"x": 1.0}, at=ds.every(9e5), progress=look)
    assert run.outcome is ds.Outcome.INTERRUPTED
    assert len(run.times) == 2
    ends_with_its_samples(run)


def raise_interrupt() -> None:
    """Do what Ctrl-C does."""
    import signal

    signal.raise_signal(signal.SIGINT)


def test_run_that_a_reset_ends_is_sampled_behind_it() -> None:
    q = ds.coordinates(y="m")
    thrown = ds.Reset({"y_dot": -q.dot.y / 2})
    bounce = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        events=[
            ds.Event("floor", q.y, ds.FALLING, thrown),
            ds.Event("down", q.y, ds.FALLING, ds.Stop()),
        ],
    )
    run = ds.solve(bounce, until=5.0, initial={"y": HEIGHT}, at=ds.every(0.2))
    ends_with_its_samples(run)


def test_run_backwards_in_time_ends_with_its_samples() -> None:
    run = ds.solve(stone(), until=-5.0, initial={"y": HEIGHT, "y_dot": 0.0}, at=ds.every(0.4))
    assert run.end_time == pytest.approx(-LANDING, rel=1e-14)
    ends_with_its_samples(run)
    assert np.all(np.diff(run.times) < 0.0)


def test_run_that_is_extended_keeps_the_ends_of_its_stages(tmp_path: Path) -> None:
    system = stone(stops=False)
    ds.solve(system, until=1.0, initial={"y": HEIGHT}, at=ds.every(0.3), store=tmp_path / "run")
    longer = ds.resume(tmp_path / "run", until=1.5, source=system)
    ends_with_its_samples(longer)
    assert 1.0 in longer.times
