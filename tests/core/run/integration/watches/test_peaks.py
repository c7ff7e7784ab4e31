"""Peaks of outputs are those of the motion, wherever steps end."""

from __future__ import annotations

import pytest

import daesolve as ds

GRAVITY, SPEED = 9.81, 10.0


def thrown(events=()):
    q = ds.coordinates(y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        outputs={"height": (q.y, "m"), "speed": (q.dot.y, "m/s")},
        peaks=["height", "speed"],
        events=events,
    )


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize("at", [None, [2.0]])
def test_a_peak_within_a_step_is_found(solver, at):
    """A series takes the whole parabola in one step."""
    run = ds.solve(thrown(), 2.0, {"y": 0.0, "y_dot": SPEED}, solver=solver, at=at)
    # Two looks are at most 2.6 parts of 2000 apart (the golden ratio leaves less than 2 gaps).
    apart = 2.6 * 2.0 / 2000
    highest = SPEED**2 / (2 * GRAVITY)
    assert highest - GRAVITY * apart**2 / 8 <= run.peaks["height"].value <= highest * (1 + 1e-14)
    assert run.peaks["height"].time == pytest.approx(SPEED / GRAVITY, abs=apart)
    assert run.peaks["height"].value >= run["height"].max()


def test_a_reset_may_be_the_peak():
    blow = ds.Event("blow", ds.time - 0.5, ds.RISING, ds.Reset({"y_dot": 30.0}))
    run = ds.solve(thrown([blow]), 1.0, {"y": 0.0, "y_dot": SPEED})
    assert (run.peaks["speed"].value, run.peaks["speed"].time) == (30.0, 0.5)


def test_many_resets_are_all_looked_at():
    """Resets that are carried out one after the other are no ends of steps."""
    q, d = ds.coordinates(y="m"), ds.discrete(count=0.0)
    tick = ds.Reset({"y_dot": 1.0 + d.count, "count": d.count + 1.0})
    falls = ds.Event("falls", q.dot.y, ds.FALLING, tick)
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        force={"y": -1.0},
        outputs={"speed": (q.dot.y, "m/s")},
        peaks=["speed"],
        discrete=d,
        events=[falls],
    )
    run = ds.solve(system, 250.0, {"y": 0.0, "y_dot": 1.0})
    # With speed n a flight takes n seconds: resets at 1 s + n (n - 1) / 2 s.
    assert run.event_count == 22
    assert run.peaks["speed"].value == pytest.approx(22.0, rel=1e-13)


@pytest.mark.parametrize("stops", [False, True])
def test_the_last_reset_may_be_the_peak(stops):
    then = ds.Reset({"y_dot": 30.0}) | ds.Stop() if stops else ds.Reset({"y_dot": 30.0})
    blow = ds.Event("blow", ds.time - 0.5, ds.RISING, then)
    run = ds.solve(thrown([blow]), 0.5, {"y": 0.0, "y_dot": SPEED})
    assert (run.peaks["speed"].value, run.peaks["speed"].time) == (30.0, 0.5)
