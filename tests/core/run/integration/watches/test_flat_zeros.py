"""Guards that pass zero without a slope are named, and no others."""

from __future__ import annotations

import casadi as ca
import pytest

import daesolve as ds
from tests.contact_systems import ball

FLAT = {
    "cube": lambda u: u**3,
    "fifth power": lambda u: u**5,
    "turned": lambda u: -((-u) ** 3),
    "u - sin u": lambda u: u - ca.sin(u),
    "tanh of a cube": lambda u: ca.tanh(10.0 * u**3),
}
SLOPED = {
    "line": lambda u: u,
    "scaled": lambda u: 1e-9 * u,
    "steep": lambda u: ca.tanh(1e3 * u),
    "decaying": lambda u: ca.exp(-20.0 * ca.fabs(u + 0.5)) - ca.exp(-10.0),
}


def wall(guard: ca.SX, q: ds.typing.DifferentiableVector, then: ds.Stop | None = None):
    """An oscillator that a wall throws back."""
    reset = then or ds.Reset({"x_dot": -q.dot.x})
    event = ds.Event("wall", guard, ds.EITHER if then else ds.RISING, then=reset)
    return ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[event], switches=False
    )


def named(run: ds.Trajectory) -> list[str]:
    return [note for note in run.description["notes"] if "without a slope" in note]


@pytest.mark.long_rows("cube-taylor", "u - sin u-cvodes")
@pytest.mark.slow
@pytest.mark.slow_rows(
    "cube-dop853", "fifth power-taylor", "turned-taylor", "tanh of a cube-taylor"
)
@pytest.mark.parametrize(
    ("form", "solver"),
    [*((form, "taylor") for form in FLAT), ("cube", "dop853"), ("u - sin u", "cvodes")],
)
def test_a_guard_without_a_slope_at_its_zero_is_named(form: str, solver: str):
    q = ds.coordinates(x="m")
    for then in (None, ds.Stop()):
        system = wall(FLAT[form](q.x - 0.5), q, then)
        run = ds.solve(system, 20.0, {"x_dot": 1.0}, solver=solver)
        (note,) = named(run)
        assert note.startswith("the guard of the event 'wall' passed zero at t = 0.523")


@pytest.mark.parametrize("form", SLOPED)
def test_a_guard_with_a_slope_is_not(form: str):
    q = ds.coordinates(x="m")
    run = ds.solve(wall(SLOPED[form](q.x - 0.5), q, ds.Stop()), 20.0, {"x_dot": 1.0})
    assert run.event_count == 1
    assert not named(run)


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_guard_that_grazes_zero_is_not(margin: float):
    q = ds.coordinates(x="m")
    grazing = ds.Event("grazing", q.x - (1.0 - margin))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[grazing])
    run = ds.solve(system, 20.0, {"x_dot": 1.0})
    assert run.event_count == 6
    assert not named(run)


def grazing(guard) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    event = ds.Event("grazing", guard(q))
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=[event])


@pytest.mark.default_rows(2)
@pytest.mark.slow_rows("-20.0--4.7122-radau", "20.0-1.5706-radau")
@pytest.mark.parametrize("solver", ["cvodes", "dop853", "radau"])
@pytest.mark.parametrize(("until", "time"), [(20.0, "1.5706"), (-20.0, "-4.7122")])
def test_a_guard_that_turns_round_nearer_than_its_solver_knows_it_is_named(solver, until, time):
    run = ds.solve(grazing(lambda q: q.x - (1.0 - 1e-8)), until, {"x_dot": 1.0}, solver=solver)
    (note,) = [note for note in run.description["notes"] if "turns back" in note]
    # It is on its way in, sqrt(2e-8) s before the turn.
    assert note.startswith(
        f"the guard of the event 'grazing' turns back just beyond zero at t = {time}"
    )


@pytest.mark.parametrize(
    ("guard", "solver"),
    [
        (lambda q: q.x - (1.0 - 1e-8), "taylor"),
        (lambda q: q.x - (1.0 - 1e-5), "cvodes"),
        (lambda q: ca.sin(ds.time) - (1.0 - 1e-8), "cvodes"),
        (lambda q: 0.1 - q.x, "cvodes"),
    ],
    ids=["exact solver", "deep", "time alone", "line"],
)
def test_a_guard_that_is_known_well_enough_is_not(guard, solver: str):
    run = ds.solve(grazing(guard), 20.0, {"x_dot": 1.0}, solver=solver)
    assert run.event_count
    assert not any("turns back" in note for note in run.description["notes"])


def test_a_ball_that_bounces_to_rest_is_not():
    run = ds.solve(ball(closed=False), until=10.0, initial={"y": 1.0})
    assert run.event_count > 8
    assert not named(run)


@pytest.mark.slow
def test_it_is_named_where_a_stored_run_is_resumed(tmp_path):
    q = ds.coordinates(x="m")
    system = wall((q.x - 0.5) ** 3, q)
    first = ds.solve(system, 5.0, {"x_dot": 1.0}, store=tmp_path)
    again = ds.resume(tmp_path, until=10.0, source=system)
    assert named(again) == named(first) != []
