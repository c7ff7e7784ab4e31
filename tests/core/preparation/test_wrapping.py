"""Which angles are wrapped: proved, over everything that reads them, in every mode."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from tests.systems import prepared_run

Expression = Callable[[ca.SX], ca.SX]


def _rotor(**more: object) -> ds.MechanicalSystem:
    """Return a rotor and a point that oscillates beside it."""
    q = ds.coordinates(x="m", phi=ds.ANGLE)
    potential = q.x**2 / 2 + more.pop("potential", lambda phi: ca.SX(0))(q.phi)  # type: ignore[operator]
    made = {name: given(q) for name, given in more.items()}  # type: ignore[operator]
    return ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.phi**2) / 2, potential=potential, **made
    )


def _guard(guard: Expression) -> Callable[[ds.Coordinates], list[ds.Event]]:
    return lambda q: [ds.Event("there", guard(q.phi), ds.RISING, ds.Stop())]


def _reset(**changes: Expression) -> Callable[[ds.Coordinates], list[ds.Event]]:
    def made(q: ds.Coordinates) -> list[ds.Event]:
        then = ds.Reset({name: change(q.phi) for name, change in changes.items()})
        return [ds.Event("kick", q.x, ds.RISING, then)]

    return made


WRAPPED = {
    "free": _rotor,
    "in a field": lambda: _rotor(potential=lambda phi: ca.cos(3 * phi) + ca.tanh(ca.sin(phi))),
    "counted by a guard on its sine": lambda: _rotor(events=_guard(lambda phi: ca.sin(phi) - 2)),
    "reset itself": lambda: _rotor(events=_reset(phi=lambda phi: phi + 1)),
    "read by its sine at a reset": lambda: _rotor(events=_reset(x_dot=ca.sin)),
}
NOT_WRAPPED = {
    "a wall far off": lambda: _rotor(potential=lambda phi: ca.exp(phi - 60)),
    "a window far off": lambda: _rotor(potential=lambda phi: ca.exp(-((phi - 60) ** 2))),
    "a guard that saturates": lambda: _rotor(events=_guard(lambda phi: ca.tanh(phi - 200))),
    "a plain guard": lambda: _rotor(events=_guard(lambda phi: phi - 200)),
    "an output far off": lambda: _rotor(outputs=lambda q: {"late": (1 + ca.tanh(q.phi - 60), "")}),
    "read by a reset": lambda: _rotor(events=_reset(x_dot=lambda phi: 1e-9 * ca.exp(phi - 60))),
    "a meter": lambda: _rotor(meters=lambda q: {"steep": (ca.exp(q.phi - 60), "J")}),
}


def _wrapped(system: ds.MechanicalSystem) -> tuple[str, ...]:
    run = prepared_run(system, 1.0, {"x": -1.0, "phi_dot": 1.0})
    return tuple(run.problem.labels.states[index] for index in run.wrapped)


@pytest.mark.parametrize("name", WRAPPED)
def test_an_angle_that_turns_leave_alone_is_wrapped(name: str) -> None:
    assert _wrapped(WRAPPED[name]()) == ("phi",)


@pytest.mark.parametrize("name", NOT_WRAPPED)
def test_an_angle_that_something_may_read_is_not(name: str) -> None:
    assert _wrapped(NOT_WRAPPED[name]()) == ()


def test_the_note_names_the_angle_and_what_reads_it() -> None:
    run = prepared_run(NOT_WRAPPED["a guard that saturates"](), 1.0, {"phi_dot": 1.0})
    (note,) = [note for note in run.notes if "wrapped" in note]
    assert note == (
        "the angle 'phi' is not wrapped: the guard of an event may differ after a whole turn"
    )


def test_a_rotor_turns_back_at_a_wall_after_nine_turns() -> None:
    """Its energy 1/2 is used up at phi = 60 + ln(1/2)."""
    run = ds.solve(NOT_WRAPPED["a wall far off"](), until=70.0, initial={"x": 1.0, "phi_dot": 1.0})
    # Samples are 0.07 s apart: near the turning point phi'' = -1/2 the nearest misses it by less
    # than 1/4 * 0.035**2.
    assert abs(np.max(run["phi"]) - (60.0 + np.log(0.5))) < 4e-4


@pytest.mark.parametrize("name", ["a guard that saturates", "a plain guard"])
def test_a_guard_on_an_unwrapped_angle_stops_the_run(name: str) -> None:
    run = ds.solve(NOT_WRAPPED[name](), until=300.0, initial={"x": 1.0, "phi_dot": 1.0})
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    # Rounding of the time, 200 eps, over some hundred steps.
    assert abs(run.end_time - 200.0) < 1e-11


def test_a_mode_that_will_read_an_angle_counts() -> None:
    """What a discrete value of 0.0 leaves out now may be there after a reset."""
    for made, expected in ((ds.discrete, ()), (ds.parameters, ("phi",))):
        q, p = ds.coordinates(x="m", phi=ds.ANGLE), made(spring=0.0)
        posed = {"discrete": p} if made is ds.discrete else {"parameters": p}
        system = ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.phi**2) / 2,
            potential=q.x**2 / 2 + p.spring * q.phi**2 / 2,
            **posed,
        )
        assert _wrapped(system) == expected
