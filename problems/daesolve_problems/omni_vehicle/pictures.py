"""The drawing of the vehicle from above, and the thesis' figures 2.4 to 2.6.

A wheel is seen edge-on. The middle of a roller at the angle chi from straight below is at
r sin(chi) along the wheel, and what lies along the roller is shortened there by cos(chi). The
rollers on the upper side are visible; the one on which the wheel stands is drawn as if everything
above it were transparent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daesolve.multibody.drawing import (
    Camera,
    Circle,
    Cosine,
    Dot,
    Drawing,
    Line,
    Linear,
    Outline,
    Point,
    Polar,
    Shape,
    Trace,
)
from daesolve_problems.figures import (
    LEAST_VIEW,
    Document,
    column,
    draw_path,
    new_figure,
    place_of_centre,
    plane,
)
from daesolve_problems.omni_vehicle.geometry import pitch
from daesolve_problems.omni_vehicle.motion import (
    Piece,
    Sizes,
    Wheel,
    pieces,
    sizes,
    turns,
)
from daesolve_problems.omni_wheels import numbered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CENTRE = ("x", "y")
HALF = 3
"""The number of parts of half a roller along its axis."""
SIGHT = 2.6
"""The width of what an animation looks at, in largest distances from the vehicle's centre."""


def drawing(document: Document) -> Drawing:
    """Draw the vehicle from above, its rollers as its wheels turn, and the path of its centre."""
    car = sizes(document)
    angles, rates = turns(document)
    return drawing_of(car, {**angles, **rates, **_platform_rates(document, car)})


def drawing_of(car: Sizes, series: Mapping[str, np.ndarray]) -> Drawing:
    """Draw a vehicle and the path of its centre.

    Parameters
    ----------
    car
        Its sizes.
    series
        `x_dot`, `y_dot`, `theta_dot` of its platform; `turn_1`, `turn_dot_1`, ... of its wheels.
    """
    shapes: list[Shape] = [
        Trace(CENTRE, label="path of the centre"),
        *platform_shapes(car.platform_radius, [(wheel.x, wheel.y) for wheel in car.wheels]),
    ]
    for number, wheel in enumerate(car.wheels, start=1):
        shapes += _wheel_shapes(car, number, wheel)
    shapes.append(Dot(CENTRE, role="path"))
    return Drawing(shapes, series=series, camera=Camera(CENTRE, SIGHT * car.extent))


def rates_of_platform(document: Document) -> dict[str, np.ndarray]:
    """Return the rates by which its place is interpolated, where v_1, v_2 and omega are states."""
    v_1, v_2, theta = (column(document, name) for name in ("v_1", "v_2", "theta"))
    return {
        "x_dot": v_1 * np.cos(theta) - v_2 * np.sin(theta),
        "y_dot": v_1 * np.sin(theta) + v_2 * np.cos(theta),
        "theta_dot": column(document, "omega"),
    }


def _platform_rates(document: Document, car: Sizes) -> dict[str, np.ndarray]:
    """Return the rates by which the platform's place is interpolated."""
    nu_1, nu_2, nu_3 = (column(document, name) for name in numbered("nu", 3))
    theta, radius = column(document, "theta"), car.platform_radius
    return {
        "x_dot": radius * (nu_1 * np.cos(theta) - nu_2 * np.sin(theta)),
        "y_dot": radius * (nu_1 * np.sin(theta) + nu_2 * np.cos(theta)),
        "theta_dot": nu_3 / car.velocity_scale,
    }


def platform_shapes(radius: float, wheels: Iterable[tuple[float, float]]) -> list[Shape]:
    """Return the platform, axles to the places of its wheels, and a mark that points ahead."""
    tip, back, side = 0.5 * radius, 0.34 * radius, 0.1 * radius
    axles = [Line([CENTRE, on_platform(x, y)], role="detail") for x, y in wheels]
    mark = Outline([(tip, 0.0), (back, side), (back, -side)], CENTRE, "theta")
    return [Circle(CENTRE, radius, label="platform"), *axles, mark]


def on_platform(x: float, y: float) -> Point:
    """Return a point that is fixed to the platform, in its axes."""
    return Polar(CENTRE, np.hypot(x, y), Linear({"theta": 1.0}, np.arctan2(y, x)))


def _wheel_shapes(car: Sizes, number: int, wheel: Wheel) -> list[Shape]:
    """Return a wheel with the rollers that are seen, and the one that touches the ground."""
    at, heading = on_platform(wheel.x, wheel.y), Linear({"theta": 1.0}, wheel.heading)
    long, wide = car.wheel_radius, car.roller_radius
    corners = [(wide, long), (-wide, long), (-wide, -long), (wide, -long)]
    shapes: list[Shape] = [Outline(corners, at, heading, label="wheel" * (number == 1))]
    angles = [
        Linear({f"turn_{number}": 1.0}, pitch(car.rollers) * place) for place in range(car.rollers)
    ]
    edge = math.cos(math.pi / car.rollers)
    for place, chi in enumerate(angles):
        label = "roller above" * (number == 1 and place == 0)
        outline, above = _roller(car, wheel, chi), Cosine(-1.0, chi)
        shapes.append(Outline(outline, at, heading, shown=above, role="detail", label=label))
    for place, chi in enumerate(angles):
        label = "roller in contact" * (number == 1 and place == 0)
        outline, below = _roller(car, wheel, chi), Cosine(1.0, chi, -edge)
        shapes.append(Outline(outline, at, heading, shown=below, role="accent", label=label))
    return shapes


def _roller(car: Sizes, wheel: Wheel, chi: Linear) -> list[tuple[float, Cosine]]:
    """Return the outline of a roller from above in axes of its wheel, along the axle first.

    Its contour is an arc of the wheel's circle, cut off where the next roller takes over.
    """
    largest = math.pi / car.rollers
    half = largest * np.linspace(-1.0, 1.0, 2 * HALF + 1)
    along = car.wheel_radius * np.sin(half) / math.cos(wheel.tilt)
    thick = car.wheel_radius * np.cos(half) - car.roller_axis_radius
    outline = [*zip(along, thick, strict=True), *zip(along[::-1], -thick[::-1], strict=True)]
    cosine, sine = math.cos(wheel.tilt), math.sin(wheel.tilt)
    found: list[tuple[float, Cosine]] = []
    for s, w in outline:
        across, shortened = s * sine + w * cosine, s * cosine - w * sine
        # r sin(chi) + shortened cos(chi) as one cosine
        reach = np.hypot(car.roller_axis_radius, shortened)
        phase = np.arctan2(car.roller_axis_radius, shortened)
        ahead = Linear(chi.terms, chi.constant - phase)
        found.append((across, Cosine(reach, ahead)))
    return found


# -- the thesis' figures -----------------------------------------------------------------------

OPENING = {"spin": 25.0, "straight": 30.0, "twist": 15.0}
"""The part of a run that the thesis shows in detail, s."""


def motion(document: Document) -> Figure:
    """Draw a run in the style of the thesis: figure 2.4 for `spin`, 2.5 for `straight`, else 2.6.

    Where an impact's states are kept, the rollers' rates on both sides of it are shown; between
    samples and impacts they follow from what free rollers keep (2.8).
    """
    return {"spin": _spin, "straight": _straight}.get(document["case"] or "", _twist)(document)


def _spin(document: Document) -> Figure:
    begin, end = _opening(document, OPENING["spin"])
    known = pieces(document, begin, end)
    figure, panels = _grid("As figure 2.4: the vehicle turns on the spot", 2, 4)
    _energy_of_pieces(panels[0], known)
    _velocity(panels[1], known, _nu_3, "ν₃ (1/s)")
    _rates(panels[2], known, 0, "rates of the rollers, wheel 1 (rad/s)")
    _over_time(panels[3], document, _wheel_turns(document), end, "angles of the wheels (rad)")
    _over_time(panels[4], document, {"θ": column(document, "theta")}, end, "θ (rad)")
    _angles(panels[5], known, 0, "angles of the rollers, wheel 1 (rad)")
    _over_time(panels[6], document, {"ν₃": column(document, "nu_3")}, None, "ν₃, whole run (1/s)")
    _energy(panels[7], document)
    return _name_rollers(figure, document)


def _straight(document: Document) -> Figure:
    begin, end = _opening(document, OPENING["straight"])
    known = pieces(document, begin, end)
    short = pieces(document, begin, begin + (end - begin) / 3.0)
    figure, panels = _grid("As figure 2.5: the vehicle goes straight ahead", 3, 3)
    _energy_of_pieces(panels[0], known)
    _velocity(panels[1], known, _speed, SPEED)
    _rates(panels[2], short, 1, "rates of the rollers, wheel 2 (rad/s)")
    _velocity(panels[3], known, _nu_3, "ν₃ (1/s)")
    _path(panels[4], document)
    _rates(panels[5], short, 0, "rates of the rollers, wheel 1 (rad/s)")
    place = {name: column(document, name) for name in CENTRE}
    _over_time(panels[6], document, place, None, "x, y (m)")
    _angles(panels[7], short, 0, "angles of the rollers, wheel 1 (rad)")
    _angles(panels[8], short, 1, "angles of the rollers, wheel 2 (rad)")
    return _name_rollers(figure, document)


def _twist(document: Document) -> Figure:
    begin, end = _opening(document, OPENING["twist"])
    known = pieces(document, begin, end)
    last = document["end_time"]
    late = pieces(document, max(begin, last - (end - begin)), last)
    figure, panels = _grid("As figure 2.6: the vehicle goes ahead and turns", 3, 3)
    _energy(panels[0], document)
    speed = np.hypot(column(document, "nu_1"), column(document, "nu_2"))
    _over_time(panels[1], document, {"v": speed}, None, f"{SPEED}, whole run")
    _over_time(panels[2], document, {"ν₃": column(document, "nu_3")}, None, "ν₃ (1/s)")
    _path(panels[3], document)
    _over_time(panels[4], document, {"θ": column(document, "theta")}, None, "θ (rad)")
    _rates(panels[5], known, 0, "rates of the rollers, wheel 1 (rad/s)")
    _angles(panels[6], known, 0, "angles of the rollers, wheel 1 (rad)")
    _rates(panels[7], late, 0, "rates at the end, wheel 1 (rad/s)")
    _velocity(panels[8], late, _speed, f"{SPEED}, the end")
    return _name_rollers(figure, document)


FIGURES = {"motion of the vehicle": motion}
"""The problem's own figures, by title."""

MOST_NAMED = 5
SPEED = "v = √(ν₁² + ν₂²) (1/s)"
"""The speed of the centre in the thesis: the speed over the radius of the platform."""
Draw = Callable[[Piece], np.ndarray]


def _opening(document: Document, span: float) -> tuple[float, float]:
    """Return the span of the run that is shown in detail."""
    begin, end = document["times"][0], document["end_time"]
    return begin, min(begin + span, end)


def _grid(title: str, columns: int, rows: int) -> tuple[Figure, list[Axes]]:
    figure = new_figure(10.4, 0.4 + 2.1 * rows)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for letter, axes in zip("abcdefghi", panels, strict=False):
        axes.set_label(letter)
    return figure, panels


def _name_rollers(figure: Figure, document: Document) -> Figure:
    """Add a legend of the rollers' colours for all panels; return the figure."""
    from matplotlib.lines import Line2D

    count = document["structure"]["rollers"]
    lines = [Line2D([], [], color=f"C{j}", label=f"roller {j + 1}") for j in range(count)]
    figure.legend(handles=lines, loc="outside lower left", ncols=min(count, MOST_NAMED))
    return figure


def _name(axes: Axes, what: str, across: str = "t (s)") -> None:
    axes.set_title(f"{axes.get_label()}   {what}")
    axes.set_xlabel(across)
    axes.margins(x=0.01)


def _energy(axes: Axes, document: Document) -> None:
    """Draw the kinetic energy, which impacts alone change; samples of it if there are none."""
    impacts = [event for event in document["events"] if "impact" in event]
    times, values = document["times"], column(document, "energy")
    if impacts:
        after = [event["impact"]["kinetic_after"] for event in impacts]
        times = [times[0], *(event["time"] for event in impacts), document["end_time"]]
        values = np.array([impacts[0]["impact"]["kinetic_before"], *after, after[-1]])
    axes.step(times, 1e3 * values, where="post", linewidth=1.2)
    _name(axes, "T, whole run (mJ)")


def _energy_of_pieces(axes: Axes, known: Sequence[Piece]) -> None:
    for before, piece in zip((None, *known), known, strict=False):
        level = 1e3 * piece.energy
        axes.plot(piece.times[[0, -1]], [level, level], color="C0", linewidth=1.2)
        if before is not None:
            axes.plot(piece.times[[0, 0]], [1e3 * before.energy, level], color="C0", linewidth=1.2)
    _name(axes, "T (mJ)")
    _tell(axes, known)


def _over_time(
    axes: Axes,
    document: Document,
    series: Mapping[str, np.ndarray],
    end: float | None,
    what: str,
) -> None:
    times = np.array(document["times"], dtype=float)
    shown = times <= (times.max() if end is None else end)
    for name, values in series.items():
        axes.plot(times[shown], values[shown], linewidth=1.2, label=name)
    if len(series) > 1:
        axes.legend(loc="best")
    _name(axes, what)


def _wheel_turns(document: Document) -> dict[str, np.ndarray]:
    angles, _ = turns(document)
    return {f"wheel {i}": values for i, values in enumerate(angles.values(), start=1)}


def _velocity(axes: Axes, known: Sequence[Piece], value: Draw, what: str) -> None:
    if known:
        times = np.concatenate([piece.times for piece in known])
        values = np.concatenate([value(piece) for piece in known])
        axes.plot(times, values, linewidth=1.0)
        if np.ptp(values) < LEAST_VIEW:
            axes.set_ylim(values[0] - LEAST_VIEW, values[0] + LEAST_VIEW)
    _name(axes, what)
    _tell(axes, known)


def _nu_3(piece: Piece) -> np.ndarray:
    return piece.nu[2]


def _speed(piece: Piece) -> np.ndarray:
    return np.hypot(piece.nu[0], piece.nu[1])


def _rates(axes: Axes, known: Sequence[Piece], wheel: int, what: str) -> None:
    for j in range(known[0].rates.shape[1] if known else 0):
        times = np.concatenate([piece.times for piece in known])
        rates = np.concatenate([piece.rates[wheel, j] for piece in known])
        axes.plot(times, rates, linewidth=1.0)
    _name(axes, what)
    _tell(axes, known)


def _angles(axes: Axes, known: Sequence[Piece], wheel: int, what: str) -> None:
    """Draw by how much each roller has turned about its axis."""
    for j in range(known[0].rates.shape[1] if known else 0):
        times = np.concatenate([piece.times for piece in known])
        rates = np.concatenate([piece.rates[wheel, j] for piece in known])
        steps = 0.5 * (rates[1:] + rates[:-1]) * np.diff(times)
        turned = np.concatenate([[0.0], np.cumsum(steps)])
        axes.plot(times, turned, linewidth=1.0)
    _name(axes, what)
    _tell(axes, known)


def _tell(axes: Axes, known: Sequence[Piece]) -> None:
    if not known:
        axes.text(0.5, 0.5, "no smooth piece is known", transform=axes.transAxes, ha="center")


def _path(axes: Axes, document: Document) -> None:
    draw_path(axes, document, place_of_centre)
    plane(axes)
    _name(axes, "path of the centre", "x (m)")
