"""Events whose own changes are impacts report the energy these take, like imposed constraints."""

from __future__ import annotations

import pytest

import daesolve as ds
from daesolve.errors import PosingError

KEPT = 0.5
"""Of the speed, after each bounce."""


def ball(**options: object) -> ds.MechanicalSystem:
    """Return a ball that leaves the floor with half its speed, by a change of the velocity."""
    q, p = ds.coordinates(height="m"), ds.parameters(mass=(2.0, "kg"))
    speed = q.dot.height
    reset = ds.Reset({"height_dot": -KEPT * speed}, **options)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * speed**2 / 2,
        potential=10 * p.mass * q.height,
        events=[ds.Event("bounce", q.height, ds.FALLING, reset)],
    )


def test_a_change_without_energies_is_no_impact():
    run = ds.solve(ball(), until=1.5, initial={"height": 5.0})
    assert [event.impact for event in run.events] == [None]


def test_energies_are_in_the_record_and_on_disk(tmp_path):
    q, p = ds.coordinates(x="m", height="m"), ds.parameters(mass=(2.0, "kg"))
    speed = q.dot.height
    # A floor that takes the upright velocity: the energy that is lost is that of this velocity.
    taken = p.mass * speed**2 / 2
    before = taken + p.mass * q.dot.x**2 / 2
    reset = ds.Reset(
        {"height_dot": 0.0, "height": 1.0}, energies=lambda fired: (before, before - taken, taken)
    )
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + speed**2) / 2,
        potential=10 * p.mass * q.height,
        events=[ds.Event("landing", q.height, ds.FALLING, reset)],
    )
    start = {"height": 5.0, "x_dot": 3.0}
    run = ds.solve(system, until=1.8, initial=start, store=tmp_path / "run")
    first = run.events[0].impact
    assert first is not None
    # It falls by 5 m at 10 m/s^2: to 10 m/s.
    assert first.kinetic_before == pytest.approx(109.0, rel=1e-13)
    assert first.kinetic_after == pytest.approx(9.0, rel=1e-13)
    assert first.carnot < 1e-15
    assert first.impulses == {}
    assert any("2 impacts" in note for note in run.description["notes"])
    stored = ds.resume(tmp_path / "run", source=system)
    assert [event.impact for event in stored.events] == [event.impact for event in run.events]


def test_energies_that_do_not_fit_miss_carnots_theorem():
    run = ds.solve(ball(energies=(4.0, 1.0, 2.0)), until=1.5, initial={"height": 5.0})
    assert run.events[0].impact.carnot == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"energies": (1.0, 2.0)}, "must be three"),
        ({"energies": (1.0, 1.0, 0.0), "impose": ["floor"]}, "leave energies out"),
    ],
)
def test_energies_that_mean_nothing_are_refused(options, why):
    with pytest.raises(PosingError, match=why):
        ball(**options)
