"""The normal reactions that keep the vehicle from rising and tilting, for wheels anywhere.

A contact is pushed by N_i along e_z and by F_i = N_i f_i along the floor. That the vehicle neither
rises nor tilts is, in axes of the platform, g_z = g cos(slope),

    sum N_i = M g_z
    sum N_i r_i x e_z - tau_i (N_i D_i + G_i) = M g_z C x e_z
    D_i = lambda_i + l f_n - rho cos(psi) (cos(psi) cos(chi) f_n - sin(psi) f_tau)
    G_i = J_i chi_i' w + B sum_j Om_ij (w sin(psi) - chi_i' cos(psi) sin(chi_ij)),

where a roller's own momentum turns with its wheel, and its friction has a moment about its axis;
the moments along the axles are balanced by the turning of the wheels. Three wheels determine this;
with more, which share the load like equal springs under a stiff platform, also N_i = a + b . r_i.

The equations are those of (a, b): of three unknowns, whatever the number of wheels. Where friction
makes their determinant zero the reactions are not determined (Painleve's paradox).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daesolve_problems.omni_laws.description import Description
from daesolve_problems.omni_vehicle.wheels import Wheel

SOLVABLE = 1e-3
"""The part of its value without friction to which the determinant may fall."""
alike: Any = ca


@dataclass(frozen=True, eq=False)
class Pressed:
    """The quantities on which the load of a wheel depends, in numbers or expressions.

    Parameters
    ----------
    wheel
        Its place and directions.
    lever, lean
        D_i, m, and G_i, N m.
    """

    wheel: Wheel
    lever: Any
    lean: Any


def lever(car: Description, wheel: Wheel, chi: Any, pull: tuple[Any, Any]) -> Any:
    """Return D_i.

    Parameters
    ----------
    car, wheel
        The vehicle and its wheel.
    chi
        The angle of the contact roller, rad.
    pull
        (f_n, f_tau), the friction over the normal reaction.
    """
    cosine, sine = wheel.tilt
    frame = car.frame
    rho = frame.wheel_radius * alike.cos(chi) - frame.roller_axis_radius
    aside = -frame.roller_axis_radius * alike.tan(chi) * sine / cosine
    rolling = rho * cosine * (cosine * alike.cos(chi) * pull[0] - sine * pull[1])
    return aside + frame.wheel_radius * pull[0] - rolling


def balance_rows(pressed: Sequence[Pressed]) -> list[list[Any]]:
    """Return the coefficients of N_i in the three balances, one row per balance."""
    rows: list[list[Any]] = [[], [], []]
    for one in pressed:
        n_x, n_y = one.wheel.axle
        # tau_i = e_z x n_i
        rows[0].append(1.0)
        rows[1].append(one.wheel.y + n_y * one.lever)
        rows[2].append(-one.wheel.x - n_x * one.lever)
    return rows


def balance_sides(car: Description, pressed: Sequence[Pressed], pull: Any) -> list[Any]:
    """Return the other sides of the balances.

    Parameters
    ----------
    car, pressed
        The vehicle and its wheels.
    pull
        g cos(slope), m/s^2.
    """
    weight = car.mass * pull
    x, y = weight * car.centre[1], -weight * car.centre[0]
    for one in pressed:
        n_x, n_y = one.wheel.axle
        x, y = x - n_y * one.lean, y + n_x * one.lean
    return [weight, x, y]


def determinant(pressed: Sequence[Pressed]) -> Any:
    """Return the determinant of the balances in (a, b)."""
    rows = balance_rows(pressed)
    waves = [[1.0] * len(pressed), *zip(*((k.wheel.x, k.wheel.y) for k in pressed), strict=True)]
    m = [
        [sum(one * other for one, other in zip(row, wave, strict=True)) for wave in waves]
        for row in rows
    ]
    return (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )


def share_rows(wheels: Sequence[Wheel]) -> list[list[Any]]:
    """Return the rows that make the reactions linear, one for each wheel past three.

    Each takes N_k for what N_1, N_2 and N_3 have there: over triangles, whose areas may be zero.
    """
    first, second, third = wheels[:3]
    found: list[list[Any]] = []
    for k in range(3, len(wheels)):
        row: list[Any] = [0.0] * len(wheels)
        row[0] = -triangle(wheels[k], second, third)
        row[1] = -triangle(first, wheels[k], third)
        row[2] = -triangle(first, second, wheels[k])
        row[k] = triangle(first, second, third)
        found.append(row)
    return found


def triangle(a: Wheel, b: Wheel, c: Wheel) -> Any:
    """Return twice the area of the triangle of three wheels, with its sign, m^2."""
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
