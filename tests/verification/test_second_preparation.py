"""The choices of the run that verifies another."""

import math

import casadi as ca
import pytest

import daesolve as ds


@pytest.mark.parametrize("friction", [None, 0.0, 0.2], ids=["held", "smooth", "rough"])
def test_a_run_is_verified_through_a_kink_of_what_a_body_slides_on(friction: float | None) -> None:
    """Down a slope of one in two, and up another: a push N takes (1/2 + mu) N along x behind it.

    Friction is against the speed along x. On the slopes N = g +- x''/2, and the impulse P at the
    corner turns (v, -v/2) into a velocity with half as much up as along.
    """
    q = ds.coordinates(x="m", y="m")
    gap, mu, gravity = q.y - ca.fabs(q.x) / 2, friction or 0.0, 9.81
    rubs = {"slip": q.dot.x, "friction": mu} if friction else {}
    held = ds.Holonomic("valley", gap)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=gravity * q.y,
        goals=[held if friction is None else ds.Contact("valley", gap, **rubs)],
    )
    run = ds.solve(system, 0.5, {"x": -1.0, "x_dot": 3.0}, verify=True)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    down, up = 0.5 - mu, 0.5 + mu
    faster, slower = (part * gravity / (1.0 + part / 2.0) for part in (down, up))
    there = math.sqrt(9.0 + 2.0 * faster)
    left = 0.5 - (there - 3.0) / faster
    begins = there - up * there / (1.0 + up / 2.0)
    ends = [run.end_state[name] for name in ("x", "x_dot")]
    expected = [begins * left - slower * left**2 / 2.0, begins - slower * left]
    assert ends == pytest.approx(expected, rel=1e-12)
    assert run.verification is not None
    assert not run.verification.unverified, str(run.verification)
    assert max(run.verification.difference.values()) < 1e-12


def test_a_tolerance_of_the_automatic_choice_is_not_that_of_the_repetition() -> None:
    """It was refused beside the solver of the repetition. x'' = -x from x' = 1 is sin t."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    run = ds.solve(system, 1.0, {"x_dot": 1.0}, rtol=1e-9, verify=True)
    assert run.verification is not None
    assert not run.verification.unverified
    assert run.end_state["x"] == pytest.approx(math.sin(1.0), abs=1e-8)
