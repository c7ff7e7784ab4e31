"""Where a skate stands across the frame: the growth vector is (3, 4, 5), and (3, 5) elsewhere.

With cos theta_1 = 0 the axle of the first bogie lies along e2, through both pivots, so that the
frame turns about the second pivot, however that bogie is turned:

    N = sin(theta_1) cos(theta_2) (b_2, 0, -1),   dN/dtheta_2 parallel to N.

So the second pivot stands still and goes back: its path has a cusp. Turning that bogie does not
change the direction of the motion to first order: manoeuvres of size epsilon displace it sideways
by epsilon^3 instead of epsilon^2. The free motion is as smooth as elsewhere, its forces are finite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.bogies.reduction import Turned
from daesolve_problems.figures import new_figure, plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = np.geomspace(1e-3, 1e-1, 9)
"""The sizes of manoeuvres, rad and lengths of N."""
BESIDE = 0.4
"""rad: the direction of a bogie that is not across."""
SPAN = 0.6
"""s, to either side of a passage, that are drawn."""


def growth(case: BoundCase) -> ds.Answer:
    """Show the motion where a skate stands across: cusps, and shorter sideways manoeuvres.

    `orders` are the orders of the sideways displacement by a manoeuvre of one bogie; `passages` are
    the first of the case where a skate stands across, with the speed of the other pivot along its
    skate and its rate, and the largest force over a second about them.
    """
    across, aside = math.pi / 2, BESIDE
    places = {
        "regular": (aside, -aside),
        "front across": (across, -aside),
        "rear across": (aside, across),
    }
    vectors: dict[str, list[int]] = {}
    gains: dict[str, np.ndarray] = {}
    for name, (front, rear) in places.items():
        state = {"theta_1": front, "theta_2": rear}
        found = ds.nonholonomic.growth_vector(_full(case).system, state)
        vectors[name] = list(found.dims)
        gains[name] = np.array([_aside(case, (front, rear), size) for size in SIZES])
    orders = {
        name: float(np.polyfit(np.log(SIZES[:4]), np.log(gain[:4]), 1)[0])
        for name, gain in gains.items()
    }
    passages = _passages(case)
    return ds.Answer(
        {"growth_vectors": vectors, "orders": orders, "passages": passages},
        {"manoeuvres": _orders(gains), "paths": _paths(case, passages)},
    )


def _full(case: BoundCase) -> BoundCase:
    return replace(case, model="full")


# -- manoeuvres ----------------------------------------------------------------------------------


def _direction(case: BoundCase, angles: tuple[float, float]) -> np.ndarray:
    named = dict(zip(("theta_1", "theta_2"), angles, strict=True))
    return np.array([float(part) for part in Turned.of(named, case.full_parameters).direction])


def _aside(case: BoundCase, angles: tuple[float, float], size: float) -> float:
    """Return how far manoeuvres lead out of what N and one turned bogie reach.

    There by size along N, a bogie turned by it, and back; the largest of both bogies and senses.
    """
    here = _direction(case, angles)
    turned = [
        (_direction(case, _turn(angles, k, 1e-5)) - _direction(case, _turn(angles, k, -1e-5)))
        / 2e-5
        for k in (0, 1)
    ]
    steered = max(turned, key=lambda slope: float(np.linalg.norm(np.cross(here, slope))))
    lost = np.cross(here, steered)
    lost /= np.linalg.norm(lost)
    gains: list[float] = []
    for k in (0, 1):
        for sense in (1.0, -1.0):
            back = _direction(case, _turn(angles, k, sense * size))
            moved = scipy.linalg.expm(_twist(size * here)) @ scipy.linalg.expm(_twist(-size * back))
            gains.append(abs(float(lost @ _logarithm(moved))))
    return max(gains)


def _turn(angles: tuple[float, float], k: int, by: float) -> tuple[float, float]:
    return (angles[0] + by * (k == 0), angles[1] + by * (k == 1))


def _twist(velocity: np.ndarray) -> np.ndarray:
    v_1, v_2, omega = velocity
    return np.array([[0.0, -omega, v_1], [omega, 0.0, v_2], [0.0, 0.0, 0.0]])


def _logarithm(moved: np.ndarray) -> np.ndarray:
    """Return the twist of a small motion."""
    turn = math.atan2(moved[1, 0], moved[0, 0])
    half = turn / 2.0
    share = half / math.tan(half) if half else 1.0
    x, y = moved[:2, 2]
    return np.array([share * x + half * y, share * y - half * x, turn])


def _orders(gains: Mapping[str, np.ndarray]) -> Figure:
    figure = new_figure(6.0, 3.6)
    axes = figure.add_subplot()
    for name, gain in gains.items():
        axes.loglog(SIZES, gain, "o-", markersize=3, linewidth=1.0, label=name)
    axes.set(xlabel="size of the manoeuvre", ylabel="sideways displacement")
    axes.legend(frameon=False)
    return figure


# -- passages ------------------------------------------------------------------------------------


def _passages(case: BoundCase) -> list[dict[str, float | str]]:
    """Return the first passage of each skate in the motion of a case."""
    full = _full(case)
    begin, until = full.case.start_time, full.case.until
    run = full.solve(at=np.linspace(begin, until, 2001))
    found: list[dict[str, float | str]] = []
    for k, other, name in ((1, 2, "front across"), (2, 1, "rear across")):
        cosine = np.cos(run[f"theta_{k}"])
        crossed = np.flatnonzero(np.diff(np.sign(cosine)) != 0.0)
        if not crossed.size:
            continue
        low, high = (float(run.times[crossed[0] + k]) for k in (0, 1))

        def missed(time: float, k: int = k) -> float:
            return math.cos(full.solve(time, at=[time]).end_state[f"theta_{k}"])

        at: float = scipy.optimize.brentq(missed, low, high, xtol=1e-13)
        step = 1e-3
        near = full.solve(
            at + 0.5, at=at + np.array([-step, 0.0, step, *np.linspace(-0.5, 0.5, 101)])
        )
        speeds = _along(full, near, other)
        times = np.asarray(near.times)
        middle = int(np.argmin(np.abs(times - at)))
        before, after = (int(np.argmin(np.abs(times - at - way * step))) for way in (-1.0, 1.0))
        forces = [np.abs(near.reactions[f"skate_{i}"]) for i in (1, 2)]
        found.append(
            {
                "where": name,
                "time": float(at),
                "speed": float(speeds[middle]),
                "rate": float((speeds[after] - speeds[before]) / (2.0 * step)),
                "largest_force": float(np.max(forces)),
            }
        )
    return found


def _along(case: BoundCase, run: ds.Trajectory, k: int) -> np.ndarray:
    """Return the speed of a pivot along its skate, m/s."""
    arm = case.full_parameters["front"] if k == 1 else -case.full_parameters["rear"]
    v_1 = run["v_1"] - arm * run["psi_dot"]
    return -v_1 * np.sin(run[f"theta_{k}"]) + run["v_2"] * np.cos(run[f"theta_{k}"])


def _paths(case: BoundCase, passages: list[dict[str, float | str]]) -> Figure:
    """Draw the path of the pivot that stands still, about each passage."""
    full = _full(case)
    figure = new_figure(4.2 * max(len(passages), 1), 3.8)
    for number, passage in enumerate(passages, start=1):
        axes = figure.add_subplot(1, len(passages), number)
        at, name = float(passage["time"]), str(passage["where"])
        run = full.solve(at + SPAN, at=np.linspace(at - SPAN, at + SPAN, 601))
        arm = -full.full_parameters["rear"] if name == "front across" else None
        reach = full.full_parameters["front"] if arm is None else arm
        x = run["x"] - reach * np.sin(run["psi"])
        y = run["y"] + reach * np.cos(run["psi"])
        axes.plot(x, y, linewidth=1.2)
        axes.plot(x[len(x) // 2], y[len(y) // 2], "o", color="C3", markersize=4)
        other = "rear" if name == "front across" else "front"
        axes.set_title(f"{name}: path of the {other} pivot", fontsize="medium")
        plane(axes)
    return figure
