"""A dynamic jam: the determinant falls to zero along the motion, at a finite speed."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.posing.pairs import JAMMED
from daesolve.core.expressions.linear import determinant
from daesolve.errors import JamEvent, PosingError

MOMENT, SPEED = 0.1, 3.0
START = {"x": 0.0, "x_dot": SPEED}
SOLVER = ds.Dop853(rtol=1e-12, atol=1e-14)
"""Quicker to compile than Taylor's method."""


def roughening() -> ds.MechanicalSystem:
    """A prism whose upper guide has the coefficient x: with M alone, N = M / (2 - x) at both ends.

    Then x x' ' = -x M / (2 - x), and x'^2 = v^2 + 2 M (x + 2 ln(1 - x/2)).
    """
    q = ds.coordinates(x="m", y="m", phi="rad")
    c, s = ca.cos(q.phi), ca.sin(q.phi)

    def support(a, side):
        b = -side
        return ds.friction.Support(
            point=(q.x + a * c - b * s, q.y + a * s + b * c),
            normal=(0.0, side),
            friction=q.x if side < 0 else 0.0,
        )

    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.phi**2) / 2,
        force={"phi": MOMENT},
        goals=[
            ds.Holonomic("height", q.y, ideal=False, scale=1.0),
            ds.Holonomic("turn", q.phi, ideal=False, scale=1.0),
        ],
        pairs=[
            ds.friction.VariantPair(name, [support(a, -1.0), support(a, 1.0)])
            for name, a in (("rear", -1.0), ("front", 1.0))
        ],
    )


def speed(x: float) -> float:
    return math.sqrt(SPEED**2 + 2.0 * MOMENT * (x + 2.0 * math.log1p(-x / 2.0)))


def test_reactions_grow_as_the_pole_says_and_the_run_ends_while_the_body_slides():
    run = ds.solve(roughening(), 2.0, START, solver=SOLVER, at=[0.3, 0.6])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert [event.name for event in run.events] == ["jam"]
    assert "grow without bounds while the body still slides" in run.message
    for x, v, rear, front in zip(run["x"], run["x_dot"], run["rear"], run["front"], strict=True):
        assert v == pytest.approx(speed(x), rel=1e-11)
        assert (rear, front) == pytest.approx((MOMENT / (2.0 - x), -MOMENT / (2.0 - x)), rel=1e-11)
    end = run.end_state
    assert end["x"] == pytest.approx(2.0 * (1.0 - JAMMED), abs=1e-12)
    assert end["x_dot"] == pytest.approx(speed(2.0 * (1.0 - JAMMED)), rel=1e-7)


def test_a_jam_is_raised_with_what_there_is_of_the_run():
    with pytest.raises(JamEvent) as jammed:
        ds.solve(roughening(), 2.0, START, solver=SOLVER, rank_loss="raise")
    assert isinstance(jammed.value.run, ds.Trajectory)
    assert jammed.value.run.end_state["x"] == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_a_determinant_is_found_without_division(count):
    numbers = np.random.default_rng(count).normal(size=(count, count))
    matrix = ca.SX.sym("a", count, count)  # pyright: ignore
    found = float(ca.Function("d", [matrix], [determinant(matrix)])(numbers))
    assert found == pytest.approx(np.linalg.det(numbers), rel=1e-12)


def test_as_many_constraints_as_pairs_are_asked_for():
    q = ds.coordinates(x="m", y="m")
    support = ds.friction.Support(normal=(0.0, 1.0), point=(q.x, q.y))
    with pytest.raises(PosingError, match="must keep as many goals"):
        ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            pairs=[ds.friction.VariantPair("floor", [support], kind="unilateral")],
        )
