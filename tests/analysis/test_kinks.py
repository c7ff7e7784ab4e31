"""Kinks at the state of a linearization: those that matter are named, smooth borders are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import pytest

import daesolve as ds

SPRING = ds.table("spring", [-1.0, 0.0, 1.0], [-2.0, 0.0, 3.0], "linear")


@pytest.mark.parametrize(
    ("force", "at", "kinks"),
    [
        (lambda x, v: -x - ca.fmax(x, 0), 0.0, ("force_x_switch_1",)),
        (lambda x, v: -x - 0.1 * ca.fabs(v), 0.0, ("force_x_switch_1",)),
        (lambda x, v: 2 - x - ca.fmax(x - 2, 0), 2.0, ("force_x_switch_1",)),
        (lambda x, v: -SPRING(x), 0.0, ("spring",)),
        (lambda x, v: -x - v * ca.fabs(v), 0.0, ()),
        (lambda x, v: -x - ca.fmin(x, 0) ** 2, 0.0, ()),
        (lambda x, v: -x - ca.fmax(x - 0.1, 0), 0.0, ()),
        (lambda x, v: -x + ca.floor(x + 0.5), 0.0, ()),
    ],
)
def test_a_linearization_names_the_kinks_at_its_state(
    force: Callable[[Any, Any], ca.SX], at: float, kinks: tuple[str, ...]
) -> None:
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force(q.x, q.dot.x)})
    found = ds.analysis.linearize(system, {"x": at})
    assert found.kinks == kinks
    assert any("of one side" in note for note in found.notes) == bool(kinks)
