"""Ctrl-C is kept for who can answer it, also where CasADi drops what is raised."""

import os
import signal

import casadi as ca
import pytest

import daesolve as ds
from daesolve.analysis.orbits import continue_orbit, periodic_orbit
from daesolve.core.interruptions import interruptible, interruption_left, noted_interruptions

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals")


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class Pressed(ca.SX):
    """An expression at which CasADi looks just when Ctrl-C is pressed."""

    @property
    def shape(self) -> tuple[int, int]:
        press()
        return (1, 1)


def pendulum() -> ds.MechanicalSystem:
    q = ds.coordinates(theta="rad")
    return ds.MechanicalSystem(q, kinetic=q.dot.theta**2 / 2, potential=-ca.cos(q.theta))


def test_the_run_after_a_dropped_interruption_ends_at_once() -> None:
    with noted_interruptions():
        ca.sin(Pressed(1.0))  # nothing is raised here
        run = ds.solve(pendulum(), 1e4, {"theta": 1.0})
        assert run.outcome is ds.Outcome.INTERRUPTED
        assert run.end_time < 1e4
        assert ds.solve(pendulum(), 1.0, {"theta": 1.0}).outcome is ds.Outcome.COMPLETED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def van_der_pol() -> ds.MechanicalSystem:
    q, p = ds.coordinates(x=""), ds.parameters(mu=(0.5, ""))
    force = {"x": p.mu * (1 - q.x**2) * q.dot.x}
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force=force,
        events=[ds.Event("top", q.dot.x, ds.FALLING)],
    )  # fmt: skip


def test_a_branch_ends_at_a_dropped_interruption() -> None:
    found: list[int] = []

    def drop_the_third(count: int, value: float) -> None:
        found.append(count)
        if count == 3:
            ca.sin(Pressed(1.0))

    orbit = periodic_orbit(van_der_pol(), {"x": 2.0}, section="top", verify=False)
    with pytest.raises(KeyboardInterrupt):
        continue_orbit(orbit, {"mu": (0.4, 2.0)}, progress=drop_the_third)
    assert found[-1] == 3


def test_a_handler_of_someone_else_stays() -> None:
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        with noted_interruptions():
            press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT]
    assert not interruption_left()


@pytest.mark.parametrize("seen", [False, True])
def test_an_interruption_that_a_run_did_not_see_is_left_once(seen: bool) -> None:
    with interruptible() as interrupted:
        press()
        assert not seen or interrupted()
    assert interruption_left() is not seen
    assert not interruption_left()
    with interruptible():
        pass
    assert not interruption_left()


def test_a_run_ends_at_what_the_work_around_it_has_seen() -> None:
    with interruptible() as around:
        press()
        run = ds.solve(pendulum(), 1e4, {"theta": 1.0})
        assert run.outcome is ds.Outcome.INTERRUPTED
        assert around()
    assert ds.solve(pendulum(), 1.0, {"theta": 1.0}).outcome is ds.Outcome.COMPLETED
