"""What is not finite ends a run as failed, in a sentence that names it; numbers before it stay."""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import PosingError

GRAVITY = 10.0


def stone(outputs=None) -> ds.MechanicalSystem:
    """Return a stone that falls from rest at y = 0: y = -5 t^2."""
    q = ds.coordinates(y="m")
    made = {} if outputs is None else outputs(q)
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, outputs=made)


def root(q):
    """An output that is no number below y = -2: from t = sqrt(0.4) on."""
    return {"depth": (ca.sqrt(q.y + 2.0), "")}


@pytest.mark.parametrize("stored", [False, True])
def test_output_that_ceases_to_be_a_number_fails_the_run(stored: bool, tmp_path: Path) -> None:
    more = {"store": tmp_path / "run"} if stored else {}
    run = ds.solve(stone(root), until=2.0, initial={"y": 0.0}, at=ds.every(0.1), **more)
    assert run.outcome is ds.Outcome.FAILED
    assert "'depth'" in run.message
    assert "t = 0.7 s" in run.message
    assert run.times == pytest.approx(np.arange(7) / 10.0)
    assert run.times[-1] == run.end_time
    assert np.all(np.isfinite(run["depth"]))
    assert run["y"] == pytest.approx(-5.0 * run.times**2, abs=1e-13)
    assert run.end_state["y"] == run["y"][-1]


def test_output_that_is_no_number_from_the_start_on_fails_the_run() -> None:
    system = stone(lambda q: {"bad": (ca.log(q.y - 1.0), "")})
    run = ds.solve(system, until=1.0, initial={"y": 0.0})
    assert run.outcome is ds.Outcome.FAILED
    assert "'bad'" in run.message
    assert "t = 0 s" in run.message


def test_output_that_is_singular_at_one_sample_passes() -> None:
    """At the start the quotient is 0 / 0, and 1 / 2 from there on."""
    system = stone(lambda q: {"quotient": (q.y / (q.dot.y * ds.time), "")})
    run = ds.solve(system, until=1.0, initial={"y": 0.0}, at=ds.every(0.25))
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["quotient"][1:] == pytest.approx(0.5, rel=1e-13)


def test_residual_that_ceases_to_be_a_number_fails_the_run() -> None:
    q = ds.coordinates(y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Invariant("root", ca.sqrt(q.y + 2.0), drive=False)],
    )
    run = ds.solve(system, until=2.0, initial={"y": 0.0}, at=ds.every(0.1))
    assert run.outcome is ds.Outcome.FAILED
    assert "'root'" in run.message
    assert run.end_time < math.sqrt(0.4)
    assert run["y"] == pytest.approx(-5.0 * run.times**2, abs=1e-13)


def posings():
    """Ways to make Python turn a symbol into NaN, each in another place of a system."""
    q = ds.coordinates(th=ds.ANGLE)
    kinetic = q.dot.th**2 / 2
    bad = math.cos(q.th)

    def system(**more):
        return lambda: ds.MechanicalSystem(q, **({"kinetic": kinetic} | more))

    x, u = ds.states(s="m"), ds.reactions(u="m/s")
    return {
        "potential": system(potential=q.th * bad),
        "potential alone": system(potential=bad),
        "kinetic": system(kinetic=kinetic * (1.0 + bad)),
        "force": system(force={"th": q.th + bad}),
        "goal": system(goals=[ds.Holonomic("tie", q.th - bad * q.th)]),
        "output": system(outputs={"o": (q.th * bad, "")}),
        "event": system(events=[ds.Event("e", q.th - bad, ds.FALLING, ds.Stop())]),
        "reset": system(
            events=[ds.Event("e", q.th, ds.FALLING, ds.Reset({"th_dot": q.dot.th * bad}))]
        ),
        "infinite": system(potential=q.th**2 / 2 + ca.if_else(q.th > 3.0, math.inf, 0.0)),
        "float": system(potential=float(q.th) * q.th),
        "hypot": system(force={"th": -math.hypot(q.th, q.dot.th) * q.th}),
        "control": lambda: ds.ControlSystem(
            x, controls=u, rate={"s": u.u + math.sin(x.s) * x.s}, goals=[ds.Goal("g", x.s)]
        ),
    }


@pytest.mark.parametrize("place", list(posings()))
def test_symbol_that_python_makes_nan_of_is_refused(place: str) -> None:
    with pytest.raises(PosingError, match="contains the constant"):
        posings()[place]()


@pytest.mark.parametrize(
    "made",
    [
        lambda x: max(x, 0),
        lambda x: min(x, 0.0),
        lambda x: sorted([x, 2 * x]),
        lambda x: 1.0 if x > 0 else 0.0,
        lambda x: 0 < x < 1,
        lambda x: not x,
        int,
        range,
    ],
)
def test_python_refuses_what_needs_the_value_of_a_symbol(made) -> None:
    with pytest.raises((RuntimeError, TypeError)):
        made(ds.coordinates(x="m").x)


def test_functions_that_make_expressions_may_stand_in_one() -> None:
    x = ds.coordinates(x="m").x
    for made in (abs(x), round(x), math.floor(x), x % 2, x // 1, ca.fmax(x, 0)):
        assert ca.depends_on(made, x)
