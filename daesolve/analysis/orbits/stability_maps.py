"""Where in the plane of two parameters an orbit is stable, and the borders between.

Each row of a grid is followed from orbit to orbit; between two of them whose tests have different
signs, the border is found to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy

from daesolve.analysis.orbits.branch import COLOURS
from daesolve.analysis.orbits.curve import Axis, Curve, Point
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.special import ROUNDING, Tests, pair_on_circle, tests_at
from daesolve.errors import DaesolveError, OutOfRangeError, is_number, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOLVED = 1e-14
"""Of the range, to what part of it a border is found."""
HALVINGS = 3
"""How often the way from one cell to the next is halved before there is no orbit."""
ON_BORDER = 1e-5
"""How near to its value on a border a multiplier is: at the corner of a tongue as a square root."""

Cell = Verdict | Literal["none"]
BorderKind = Literal["multiplier 1", "multiplier -1", "pair on the circle"]


@dataclass(frozen=True)
class BorderPoint:
    """A point of a border: what happens there, and the two parameters."""

    kind: BorderKind
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class StabilityMap:
    """Verdicts in the plane of two parameters.

    Parameters
    ----------
    names
        The two parameters.
    x, y
        (nx,), (ny,) their values.
    verdicts
        (ny, nx) verdicts; "none" where no orbit was found.
    leading
        (ny, nx) the size of the largest multiplier; not a number where there is none.
    borders
        Row by row, where a test passes through zero.
    """

    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    verdicts: np.ndarray
    leading: np.ndarray
    borders: tuple[BorderPoint, ...]

    def __str__(self) -> str:
        counts = {str(v): int(np.sum(self.verdicts == v)) for v in np.unique(self.verdicts)}
        cells = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        return (
            f"stability map over {self.names[0]} and {self.names[1]}: {cells} of "
            f"{self.verdicts.size} cells, {len(self.borders)} points of borders"
        )

    def plot(self) -> Figure:
        """Draw the cells and the borders."""
        from matplotlib.colors import ListedColormap  # which takes long to import
        from matplotlib.figure import Figure

        kinds = [*COLOURS, "none"]
        colours = ListedColormap([*COLOURS.values(), "white"])
        numbers = np.array([[kinds.index(str(v)) for v in row] for row in self.verdicts])
        figure = Figure()
        axes = figure.add_subplot()
        axes.pcolormesh(
            self.x, self.y, numbers, cmap=colours, vmin=-0.5, vmax=len(kinds) - 0.5, alpha=0.4
        )
        for kind in dict.fromkeys(point.kind for point in self.borders):
            own = [point for point in self.borders if point.kind == kind]
            axes.plot([p.x for p in own], [p.y for p in own], ".", markersize=3, label=kind)
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        if self.borders:
            axes.legend()
        return figure


def stability_map(
    orbit: PeriodicOrbit,
    over: Mapping[str, tuple[float, float]],
    *,
    cells: tuple[int, int] = (40, 40),
    rows: tuple[int, int] | None = None,
) -> StabilityMap:
    """Follow an orbit over two parameters, and find where its stability changes.

    Parameters
    ----------
    orbit
        Where to begin.
    over
        Two parameters of the system and their ranges, in which the orbit lies.
    cells
        How many values of each; borders are found between neighbours in the first.
    rows
        From which row on, and before which, cells are looked at, the others staying "none"; None
        takes all. The bits of a row do not depend on which others are.

    Returns
    -------
    StabilityMap
        The verdicts, and the borders to rounding.

    Raises
    ------
    OutOfRangeError, UnknownNameError
        A parameter, a range or a number of cells cannot be.

    Examples
    --------
    Mathieu's equation x'' + (d - 2 e cos 2t) x = 0 at e = 0.5: the first tongue begins at the
    characteristic value b_1 = 0.470654354934.

    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q, p = ds.coordinates(x="m"), ds.parameters(d=(0.4, ""), e=(0.5, ""))
    >>> force = {"x": -(p.d - 2 * p.e * ca.cos(2 * ds.time)) * q.x}
    >>> system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force=force)
    >>> rest = ds.analysis.periodic_orbit(system, {"x": 0.0, "x_dot": 0.0}, ca.pi)
    >>> over = {"d": (0.3, 0.6), "e": (0.5, 0.6)}
    >>> found = ds.analysis.stability_map(rest, over, cells=(4, 2))
    >>> [(point.kind, round(point.x, 10)) for point in found.borders if point.y == 0.5]
    [('multiplier -1', 0.4706543549)]
    """
    names, ranges = _checked(orbit, over, cells)
    if rows is not None and not 0 <= rows[0] < rows[1] <= cells[1]:
        raise OutOfRangeError(f"rows is {rows!r}, but must be two numbers from 0 to {cells[1]}")
    task, guess = orbit.task, orbit.found.shot.guess
    x, y = (np.linspace(*pair, count) for pair, count in zip(ranges, cells, strict=True))
    axes = [
        Axis(name, task.flow.value_names.index(name), None, float(pair[1] - pair[0]))
        for name, pair in zip(names, ranges, strict=True)
    ]
    upward, across = (Curve(task, axis, guess) for axis in reversed(axes))
    verdicts = np.full((cells[1], cells[0]), "none", dtype=object)
    leading = np.full(verdicts.shape, np.nan)
    borders: list[BorderPoint] = []
    own = [float(orbit.values[name]) for name in names]
    middle = int(np.argmin(np.abs(y - own[1])))
    first, end = rows or (0, cells[1])
    for part in (range(middle, end), range(middle - 1, first - 1, -1)):
        here: Point | Guess = guess
        for row in part:
            following = _at(upward, here, float(y[row]))
            here = here if following is None else following
            if not first <= row < end:
                continue
            start = here.guess if isinstance(here, Point) else here
            line = _Line(across, start, float(y[row]), own[0], x)
            for column, cell in enumerate(line.cells):
                if cell is not None:
                    verdicts[row, column], leading[row, column] = cell
            borders += line.borders
    borders.sort(key=lambda point: point.y)
    return StabilityMap((names[0], names[1]), x, y, verdicts, leading, tuple(borders))


def _checked(
    orbit: PeriodicOrbit, over: Mapping[str, tuple[float, float]], cells: tuple[int, int]
) -> tuple[list[str], list[tuple[float, float]]]:
    if not isinstance(over, Mapping) or len(over) != 2:
        raise OutOfRangeError(f"over is {over!r}, but must name two parameters with their ranges")
    known = orbit.task.flow.dynamics.posed_ranges
    for name, pair in over.items():
        if name not in known:
            raise unknown_name("parameter to vary", name, tuple(known))
        if not (
            isinstance(pair, (tuple, list))
            and len(pair) == 2
            and all(map(is_number, pair))
            and pair[0] < pair[1]
        ):
            raise OutOfRangeError(f"the range of {name!r} is {pair!r}, but must be low and high")
        if not pair[0] <= orbit.values[name] <= pair[1]:
            raise OutOfRangeError(
                f"the orbit has {name} = {orbit.values[name]:.10g}, which the range of it from "
                f"{pair[0]:g} to {pair[1]:g} does not contain"
            )
    if len(cells) != 2 or not all(isinstance(n, int) and n >= 2 for n in cells):
        raise OutOfRangeError(f"cells is {cells!r}, but must be two whole numbers >= 2")
    return list(over), [(float(low), float(high)) for low, high in over.values()]


def _at(
    curve: Curve,
    here: Point | Guess,
    value: float,
    *,
    exact: bool = False,
    halvings: int = HALVINGS,
) -> Point | None:
    """Return the orbit at a value, along the curve from another, halfway first where it is far.

    None where there is none.
    """
    guess = here.guess if isinstance(here, Point) else here
    before = np.zeros(len(curve.vector(guess, value)))
    before[-1] = 1.0
    if isinstance(here, Point):
        before = here.tangent
    try:
        return curve.at_value(guess, value, before, exact=exact)
    except DaesolveError:
        if not halvings:
            return None
    middle = (curve.value_of(guess) + value) / 2.0
    halfway = _at(curve, here, middle, halvings=halvings - 1)
    if halfway is None:
        return None
    return _at(curve, halfway, value, exact=exact, halvings=halvings - 1)


class _Line:
    """A row of cells: from the orbit's own value to both sides."""

    def __init__(self, curve: Curve, guess: Guess, y: float, own: float, x: np.ndarray) -> None:
        self.curve, self.y, self.x = curve, y, x
        self.cells: list[tuple[Cell, float] | None] = [None] * len(x)
        self.borders: list[BorderPoint] = []
        middle = int(np.argmin(np.abs(x - own)))
        # A parameter changes the section too: the tangent shows where the orbit then starts.
        base = _at(curve, guess, curve.value_of(guess)) or guess
        first = self._cell(base, middle)
        for columns in (range(middle + 1, len(x)), range(middle - 1, -1, -1)):
            before, here = first, base if first is None else first[0]
            for column in columns:
                after = self._cell(here, column)
                if after is not None:
                    here = after[0]
                if before is not None and after is not None:
                    self._cross(before, after)
                before = after

    def _cell(self, here: Point | Guess, column: int) -> tuple[Point, Tests] | None:
        point = _at(self.curve, here, float(self.x[column]))
        if point is None:
            return None
        tests = tests_at(self.curve, point)
        values = tests.spectrum.values
        verdict = tests.spectrum.verdict(10.0 * point.accuracy)
        self.cells[column] = verdict, float(np.max(np.abs(values), initial=0.0))
        return point, tests

    def _cross(self, before: tuple[Point, Tests], after: tuple[Point, Tests]) -> None:
        """Find the borders between two cells."""
        (start, first), (end, second) = before, after
        kinds: tuple[tuple[BorderKind, str, float], ...] = (
            ("multiplier 1", "unit", 1.0),
            ("multiplier -1", "doubling", -1.0),
            ("pair on the circle", "torus", 0.0),
        )
        for kind, test, value in kinds:
            one, other = float(getattr(first, test)), float(getattr(second, test))
            products = value == 0.0 and min(abs(one), abs(other)) <= ROUNDING
            if not one * other < 0.0 or products:
                continue

            def of(x: float, test: str = test) -> float:
                point = _at(self.curve, start, x, exact=True)
                if point is None:
                    raise ValueError("no orbit")
                return float(getattr(tests_at(self.curve, point), test))

            try:
                root = scipy.optimize.brentq(
                    of, start.value, end.value, xtol=SOLVED * self.curve.axis.scale
                )
            except ValueError:
                continue
            x = float(root)  # pyright: ignore[reportArgumentType]
            point = _at(self.curve, start, x, exact=True)
            if point is None:
                continue
            spectrum = tests_at(self.curve, point).spectrum
            there = (
                pair_on_circle(spectrum) is not None
                if value == 0.0
                else bool(np.any(np.abs(spectrum.values - value) < ON_BORDER))
            )
            if there:
                self.borders.append(BorderPoint(kind, x, self.y))
