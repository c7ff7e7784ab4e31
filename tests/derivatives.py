"""How derivatives of a final state are compared: with closed forms, and with other runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import daesolve as ds

ROUNDING = 1e-12
"""What a hundred steps at a tolerance of 2e-16 may leave of a derivative."""


def ball(*, floor="still") -> ds.MechanicalSystem:
    """A ball above a floor that may move: y'' = -gravity, y'+ - h' = -restitution (y' - h')."""
    q = ds.coordinates(y="m")
    p = ds.parameters(
        gravity=(9.81, "m/s^2"),
        restitution=(0.8, ""),
        amplitude=(0.05, "m"),
        frequency=(7.0, "rad/s"),
    )
    height = p.amplitude * ca.sin(p.frequency * ds.time) if floor == "moving" else ca.SX(0)
    ground = ds.Holonomic("ground", q.y - height)
    bounce = ds.Event(
        "bounce",
        q.y - height,
        ds.FALLING,
        ds.Reset(impose=[ground], restitution=p.restitution),
    )
    return ds.MechanicalSystem(
        q, p, kinetic=q.dot.y**2 / 2, potential=p.gravity * q.y, events=[bounce]
    )


def differences(
    end: Callable[..., Mapping[str, float]], values: Mapping[str, float], part: float = 2e-3
) -> dict[tuple[str, str], float]:
    """Central differences of three steps, extrapolated: their error is of the sixth order."""
    found: dict[tuple[str, str], float] = {}
    for name, value in values.items():
        step = part * (abs(value) or 1.0)
        slopes = []
        for share in (1.0, 0.5, 0.25):
            ahead, behind = (end(**{name: value + way * share * step}) for way in (1.0, -1.0))
            slopes.append({s: (ahead[s] - behind[s]) / (2 * share * step) for s in ahead})
        for state in slopes[0]:
            a, b, c = (slope[state] for slope in slopes)
            found[state, name] = a / 45 - 20 * b / 45 + 64 * c / 45
    return found


def check(
    found: ds.analysis.Sensitivity, expected: Mapping[tuple[str, str], float], within: float
) -> None:
    """Compare derivatives relative to the largest of each column."""
    for by in found.by:
        size = max(abs(value) for (_, name), value in expected.items() if name == by)
        for state in found.states:
            assert found[state, by] == pytest.approx(expected[state, by], abs=within * size)


def exact(function: Callable, values: Sequence[float]) -> list[float]:
    """Derivatives by each value, in forty digits."""
    with mp.workdps(40):
        numbers = tuple(map(mp.mpf, values))
        orders = np.eye(len(values), dtype=int)
        return [float(mp.diff(function, numbers, tuple(map(int, order)))) for order in orders]
