"""Pictures of the circle map: the map, its staircase, its tongues, and the separatrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.errors import DaesolveError
from daesolve_problems.bogies.circle import Separatrix
from daesolve_problems.bogies.tongues import Tongue
from daesolve_problems.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TURN = 2.0 * math.pi


def graph(circle: ds.analysis.CircleMap, ratio: tuple[int, int], count: int) -> Figure:
    """Draw F^q - id - p over the circle, with its roots: filled those that attract."""
    p, q = ratio
    figure = new_figure(6.0, 3.6)
    axes = figure.add_subplot()
    angles = (np.arange(count) + 0.5) / count * circle.modulo
    misses: list[float] = []
    for angle in angles:
        try:
            misses.append(circle.lift(float(angle), q) - float(angle) - p * circle.modulo)
        except DaesolveError:  # a motion that runs into a degenerate point
            misses.append(math.nan)
    axes.plot(angles, misses, linewidth=1.2)
    for point in circle.fixed_points(ratio):
        fill = "C0" if point.stable else "white"
        label = f"multiplier {point.multiplier:.6g}"
        axes.plot(point.angle, 0.0, "o", color="C0", markerfacecolor=fill, label=label)
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    values = ", ".join(f"{name} = {value:g}" for name, value in circle.values.items())
    axes.set(xlabel="θ₁ = θ₂ (rad)", ylabel=f"F(θ) − θ − {p}π (rad)", title=values)
    axes.legend(frameon=False)
    return figure


def staircase(values: Sequence[float], found: Sequence[ds.analysis.RotationNumber]) -> Figure:
    """Draw rotation numbers over C_1: filled where the motion is locked."""
    figure = new_figure(7.0, 3.6)
    axes = figure.add_subplot()
    numbers = [one.value for one in found]
    axes.plot(values, numbers, color="0.75", linewidth=0.8, zorder=0)
    for locked, fill, label in ((True, "C0", "locked"), (False, "white", "not locked")):
        chosen = [k for k, one in enumerate(found) if (one.ratio is not None) is locked]
        axes.plot(
            [values[k] for k in chosen],
            [numbers[k] for k in chosen],
            "o",
            color="C0",
            markerfacecolor=fill,
            markersize=3.5,
            label=label,
        )
    axes.set(xlabel="C₁ (rad/s)", ylabel="rotation number (π a period)")
    axes.legend(frameon=False)
    return figure


def plane_of_tongues(
    first: np.ndarray,
    difference: np.ndarray,
    advance: np.ndarray,
    level: float,
    tongues: Sequence[Sequence[Tongue]],
) -> Figure:
    """Draw the rotation number over C_1 / V and D / V, with the ends of tongues.

    Parameters
    ----------
    first, difference
        (n,) and (m,) rad/s.
    advance
        (m, n)
    level
        V, m/s.
    tongues
        For each ratio its tongues in the order of D.
    """
    figure = new_figure(7.0, 4.4)
    axes = figure.add_subplot()
    # Edges of their own close the seams that viewers show between cells.
    drawn = axes.pcolormesh(
        first / level,
        difference / level,
        advance,
        shading="nearest",
        cmap="viridis",
        edgecolors="face",
        linewidth=0.4,
    )
    figure.colorbar(drawn, ax=axes, label="rotation number (π a period)")
    for same in tongues:
        at = np.array([one.difference for one in same]) / level
        low, high = (
            np.array([getattr(one, end) for one in same]) / level for end in ("low", "high")
        )
        axes.fill_betweenx(at, low, high, color="white", alpha=0.45, linewidth=0.0)
        axes.plot(low, at, high, at, color="C3", linewidth=0.8)
        p, q = same[0].ratio
        label = f"{p}/{q}" if q > 1 else f"{p}"
        middle = (low[-1] + high[-1]) / 2.0
        axes.annotate(
            label, (middle, at[-1]), (0, 3), textcoords="offset points", ha="center", color="w"
        )
    axes.set(xlabel="C₁ / V (1/m)", ylabel="(C₂ − C₁) / V (1/m)")
    axes.set_title("pale: locked, between ends by saddle-nodes", pad=16.0)
    return figure


def widths_of_tongues(tongues: Sequence[Tongue]) -> Figure:
    """Draw the widths of tongues in C_1 over their order q."""
    figure = new_figure(6.0, 3.4)
    axes = figure.add_subplot()
    for one in tongues:
        p, q = one.ratio
        axes.semilogy(q, one.width, "o", color="C0")
        axes.annotate(f"{p}/{q}", (q, one.width), (6, -3), textcoords="offset points", fontsize=8)
    axes.set(xlabel="order q", ylabel="width in C₁ (rad/s)")
    axes.set_title(f"C₂ − C₁ = {tongues[0].difference:g} rad/s")
    axes.set_xticks(sorted({one.ratio[1] for one in tongues}))
    axes.set_xlim(0.7, max(one.ratio[1] for one in tongues) + 0.5)
    return figure


def torus(found: Sequence[Separatrix]) -> Figure:
    """Draw the motions through the degenerate points on the torus of both angles."""
    figure = new_figure(5.4, 5.0)
    axes = figure.add_subplot()
    labelled: set[bool] = set()
    for one in found:
        theta = np.mod(one.theta, TURN)
        jumps = np.any(np.abs(np.diff(theta, axis=0)) > math.pi, axis=1)
        theta[1:][jumps] = np.nan
        label = "" if one.into in labelled else "into a point" if one.into else "out of a point"
        labelled.add(one.into)
        axes.plot(*theta.T, color="C0" if one.into else "C1", linewidth=1.0, label=label)
    points = np.mod(np.array([one.point for one in found]), TURN)
    axes.plot(*points.T, "o", color="k", markersize=5, label="degenerate points")
    axes.set(xlabel="θ₁ (rad)", ylabel="θ₂ (rad)", xlim=(0.0, TURN), ylim=(0.0, TURN))
    axes.set_aspect("equal")
    axes.legend(loc="upper right", fontsize="small")
    return figure
