"""The drawing of the cart from above, its paths, and the forces on its wheels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from daesolve.multibody.drawing import Camera, Dot, Drawing, Line, Linear, Point, Shape, Trace
from daesolve_problems.cart.models import PAIRS, SIDES, WHEELS
from daesolve_problems.cart.starting import rolling
from daesolve_problems.figures import Document, draw_paths, panels_over_time, series, states
from daesolve_problems.vehicles import fixed, wheel_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORIGIN = ("x", "y")
FRAME = Linear({"psi": 1.0})
SIGHT = 2.6
"""The width of what an animation looks at, in largest distances from the origin."""


def drawing(document: Document) -> Drawing:
    """Draw the frame between its pivots, and the axles with their wheels."""
    numbers = document["parameters"]
    pivots = {k: _on_frame(numbers, f"pivot_x_{k}", f"pivot_y_{k}") for k in PAIRS}
    shapes: list[Shape] = [Trace(ORIGIN, label="path of the origin")]
    for k, pivot in pivots.items():
        shapes += _pair(numbers, k, pivot)
    centre = _on_frame(numbers, "frame_centre_x", "frame_centre_y")
    shapes += [
        Line([pivots[1], ORIGIN, pivots[2]], role="accent", label="frame"),
        Line([ORIGIN, centre], role="detail"),
        Dot(centre, label="its mass centre"),
    ]
    shapes += [Dot(pivot, role="accent") for pivot in pivots.values()]
    extent = max(
        np.hypot(numbers[f"pivot_x_{k}"], numbers[f"pivot_y_{k}"])
        + np.hypot(numbers[f"axle_centre_n_{k}"], numbers[f"axle_centre_tau_{k}"])
        + numbers[f"half_track_{k}"]
        for k in PAIRS
    )
    return Drawing(shapes, series=_rates(document), camera=Camera(ORIGIN, SIGHT * float(extent)))


def _on_frame(numbers: Mapping[str, float], first: str, second: str) -> Point:
    return fixed(ORIGIN, FRAME, numbers[first], numbers[second])


def _pair(numbers: Mapping[str, float], k: int, pivot: Point) -> list[Shape]:
    axle = Linear({"psi": 1.0, f"theta_{k}": 1.0})
    along, across = numbers[f"axle_centre_n_{k}"], numbers[f"axle_centre_tau_{k}"]
    half, radius = numbers[f"half_track_{k}"], numbers[f"wheel_radius_{k}"]
    ends = {i: fixed(pivot, axle, along + side * half, across) for i, side in SIDES.items()}
    shapes: list[Shape] = [
        Line([pivot, fixed(pivot, axle, along, across)]),
        Line(list(ends.values()), label="axle" * (k == 1)),
    ]
    for i, end in ends.items():
        shapes += wheel_above(end, axle, radius, f"phi_{k}_{i}", "wheel" * (k == i == 1))
    return shapes


def _rates(document: Document) -> dict[str, np.ndarray]:
    """Return the rates by which the place of the origin is interpolated."""
    state = states(document)
    cosine, sine = np.cos(state["psi"]), np.sin(state["psi"])
    return {
        "x_dot": cosine * state["v_1"] - sine * state["v_2"],
        "y_dot": sine * state["v_1"] + cosine * state["v_2"],
    }


# -- figures -------------------------------------------------------------------------------------


def _places(document: Document) -> dict[str, np.ndarray]:
    """Return where the frame's origin and the middles of the axles are, x + i y, m."""
    state, numbers = states(document), document["parameters"]
    places = {"origin": state["x"] + 1j * state["y"]}
    for k in PAIRS:
        pivot = complex(numbers[f"pivot_x_{k}"], numbers[f"pivot_y_{k}"])
        axle = complex(numbers[f"axle_centre_n_{k}"], numbers[f"axle_centre_tau_{k}"])
        turned = pivot + axle * np.exp(1j * state[f"theta_{k}"])
        places[f"axle {k}"] = places["origin"] + turned * np.exp(1j * state["psi"])
    return places


def paths(document: Document) -> Figure:
    """Draw the paths of the frame's origin and of the middles of the axles."""
    return draw_paths(document, _places)


def forces(document: Document) -> Figure:
    """Draw the force of the ground along each axle, and the force on an equivalent skate."""
    times = series(document, "times")
    figure, panels = panels_over_time(2)
    for k, axes in zip(PAIRS, panels, strict=True):
        force = series(document, "reactions", f"skate_{k}")
        axes.plot(times, force, linewidth=1.2, label="on the wheels")
        axes.plot(times, force + _swept(document, k), "--", linewidth=1.2, label="on a skate")
        axes.set_ylabel(f"along axle {k} (N)")
        axes.legend()
    return figure


def rolling_forces(document: Document) -> Figure:
    """Draw the force of the ground on each wheel across its axle."""
    times = series(document, "times")
    figure, (axes,) = panels_over_time(1)
    for name in WHEELS:
        force = series(document, "reactions", f"rolling_{name}")
        axes.plot(times, force, linewidth=1.2, label=name.replace("_", "."))
    axes.set_ylabel("across the axle (N)")
    axes.legend(title="wheel")
    return figure


FIGURES = {
    "paths of the frame and the axles": paths,
    "forces along the axles": forces,
    "forces across the axles": rolling_forces,
}
"""The problem's own figures, by title."""


def _swept(document: Document, k: int) -> np.ndarray:
    """Return omega_k (phi_k_1' + phi_k_2') i_k / h_k, N."""
    state, numbers = states(document), document["parameters"]
    spins = rolling(state, numbers, k)
    turning = state["psi_dot"] + state[f"theta_dot_{k}"]
    lever = numbers[f"wheel_inertia_{k}"] / numbers[f"wheel_radius_{k}"]
    return turning * sum(spins.values()) * lever
