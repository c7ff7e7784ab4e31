"""The stability of an orbit in the plane of two parameters, with the borders.

Each row of a grid is followed from orbit to orbit. Between two orbits whose tests have different
signs, the border is located to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daesolve.analysis.orbits.branch import COLOURS
from daesolve.analysis.orbits.curve import ContinuationAxis, Curve, CurvePoint
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.shooting import Guess
from daesolve.analysis.orbits.stability_rows import (
    Border,
    BorderPoint,
    MapRow,
    RowContinuation,
    follow_border,
    orbit_at,
    row_of,
)
from daesolve.analysis.orbits.stored_results import MapStore
from daesolve.core.interruptions import noted_interruptions
from daesolve.errors import OutOfRangeError, check_names, is_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ASIDE = 6
"""The number of values of the first parameter at which an orbit is searched in the next row."""
Progress = Callable[[int, int], None]
"""Called after each row with the number of finished rows and the total."""


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
        (ny, nx) verdicts; "none" if no orbit was found, for example beyond a fold.
    leading
        (ny, nx) the size of the largest multiplier; NaN if there is no orbit.
    borders
        Row by row, the points where a test passes through zero.
    curves
        Borders followed as curves, if requested.
    """

    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    verdicts: np.ndarray
    leading: np.ndarray
    borders: tuple[BorderPoint, ...]
    curves: tuple[Border, ...] = ()

    def __str__(self) -> str:
        counts = {str(v): int(np.sum(self.verdicts == v)) for v in np.unique(self.verdicts)}
        cells = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        return (
            f"stability map over {self.names[0]} and {self.names[1]}: {cells} of "
            f"{self.verdicts.size} cells, {len(self.borders)} points of borders"
        )

    def plot(self) -> Figure:
        """Draw the cells and the borders."""
        from matplotlib.colors import ListedColormap  # The import takes long.
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
        for border in self.curves:
            axes.plot(border.x, border.y, "-", color="black", linewidth=0.8)
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        if self.borders:
            axes.legend()
        return figure


@noted_interruptions()
def stability_map(
    orbit: PeriodicOrbit,
    over: Mapping[str, tuple[float, float]],
    *,
    cells: tuple[int, int] = (40, 40),
    follow: bool = False,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> StabilityMap:
    """Follow an orbit over two parameters, and find where its stability changes.

    Parameters
    ----------
    orbit
        The first orbit.
    over
        Two parameters of the system with their ranges, which must contain the orbit.
    cells
        The number of values of each; borders are located between neighbours in the first.
    follow
        Whether to follow borders as curves too, from row to row and around turns.
    out
        A directory for the rows. An interrupted map resumes from it, bit for bit.
    progress
        Called after each row with the number of finished rows and the total.

    Returns
    -------
    StabilityMap
        The verdicts, and the borders to rounding.

    Raises
    ------
    OutOfRangeError, UnknownNameError
        A parameter is unknown, or a range or number of cells is invalid.
    StorageError
        The directory contains another map.

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
    plane = Plane.of(orbit, over, cells)
    store = MapStore(out, plane.identity(orbit))
    missing = [number for number in range(cells[1]) if number not in store.rows]
    for number, row in plane.rows(orbit, missing):
        store.add_row(number, row)
        if progress is not None:
            progress(len(store.rows), cells[1])
    stability = plane.filled(store.rows)
    return plane.followed(orbit, stability) if follow else stability


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of a map: two parameters by name, and their values."""

    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray

    @staticmethod
    def of(
        orbit: PeriodicOrbit, over: Mapping[str, tuple[float, float]], cells: tuple[int, int]
    ) -> Plane:
        """Check a request and return the plane; see `stability_map`."""
        names, ranges = _checked(orbit, over, cells)
        x, y = (np.linspace(*pair, count) for pair, count in zip(ranges, cells, strict=True))
        return Plane((names[0], names[1]), x, y)

    def identity(self, orbit: PeriodicOrbit) -> tuple[object, ...]:
        """Return plain values that distinguish this map from others."""
        task, first = orbit.task, orbit.found.shot.guess.nodes[0]
        numbers = [*first.x, *first.p[: task.own], orbit.period]
        return (
            self.names, self.x.tolist(), self.y.tolist(), task.group.words, repr(task.passage),
            task.pieces, task.flow.names, task.flow.value_names, task.steady,
            task.flow.prepared.solver.name, [f"{number:.8g}" for number in numbers],
        )  # fmt: skip

    def rows(self, orbit: PeriodicOrbit, wanted: Collection[int]) -> Iterator[tuple[int, MapRow]]:
        """Compute rows by their indices; the bits of a row do not depend on other requested rows.

        The orbit is followed upward and downward from the row nearest to it.
        """
        for number, start, across in self._starts(orbit, wanted):
            if start is None:
                yield number, MapRow((None,) * len(self.x), ())
                continue
            yield number, row_of(across, start, float(self.y[number]), self.x)

    def curves(self, orbit: PeriodicOrbit) -> tuple[Curve, Curve]:
        """Return the orbits over the first parameter, and over the second."""
        task = orbit.task
        axes = [
            Curve(
                task,
                ContinuationAxis(
                    name, task.flow.value_names.index(name), None, float(v[-1] - v[0])
                ),
                orbit.found.shot.guess,
            )
            for name, v in zip(self.names, (self.x, self.y), strict=True)
        ]
        return axes[0], axes[1]

    def _starts(
        self, orbit: PeriodicOrbit, wanted: Collection[int]
    ) -> Iterator[tuple[int, Guess | None, Curve]]:
        """Return rows by their indices with the first orbit of each; None if there is none."""
        across, upward = self.curves(orbit)
        middle = int(np.argmin(np.abs(self.y - float(orbit.values[self.names[1]]))))
        first, last = min(wanted, default=middle), max(wanted, default=-1)
        for part in (range(middle, last + 1), range(middle - 1, first - 1, -1)):
            here: CurvePoint | Guess = orbit.found.shot.guess
            for number in part:
                y = float(self.y[number])
                following = orbit_at(upward, here, y) or self._aside(across, upward, here, y)
                if following is not None:
                    here = following
                if number in wanted:
                    yield number, None if following is None else following.guess, across

    def _aside(
        self, across: Curve, upward: Curve, here: CurvePoint | Guess, y: float
    ) -> CurvePoint | None:
        """Return an orbit in a row at another first parameter, if the known one has none."""
        guess = here.guess if isinstance(here, CurvePoint) else here
        own = across.value_of(guess)
        places = np.linspace(float(self.x[0]), float(self.x[-1]), ASIDE)
        for x in sorted(places.tolist(), key=lambda x: abs(x - own)):
            beside = orbit_at(across, guess, x)
            if beside is not None:
                point = orbit_at(upward, beside.guess, y)
                if point is not None:
                    return point
        return None

    def followed(self, orbit: PeriodicOrbit, stability: StabilityMap) -> StabilityMap:
        """Return a map with its borders followed as curves, from the points of its rows."""
        across, upward = self.curves(orbit)
        borders: list[Border] = []
        limits = (float(self.x[0]), float(self.x[-1])), (float(self.y[0]), float(self.y[-1]))
        step = 1.0 / max(len(self.x), len(self.y))
        for number, y in enumerate(self.y.tolist()):
            seeds = [
                point
                for point in stability.borders
                if point.y == y
                and not any(border.passes(point, limits, step) for border in borders)
            ]
            if not seeds:
                continue
            ((_, start, _),) = self._starts(orbit, [number])
            if start is None:
                continue
            line = RowContinuation(across, start, y, self.x)
            for point, there in line.borders:
                if not any(border.passes(point, limits, step) for border in borders):
                    borders.append(follow_border((across, upward), point, there, limits, step))
        return replace(stability, curves=tuple(borders))

    def filled(self, rows: Mapping[int, MapRow]) -> StabilityMap:
        """Return the map of its rows."""
        verdicts = np.full((len(self.y), len(self.x)), "none", dtype=object)
        leading = np.full(verdicts.shape, np.nan)
        for number, row in rows.items():
            for column, cell in enumerate(row.cells):
                if cell is not None:
                    verdicts[number, column], leading[number, column] = cell
        borders = tuple(point for number in sorted(rows) for point in rows[number].borders)
        return StabilityMap(self.names, self.x, self.y, verdicts, leading, borders)


def _checked(
    orbit: PeriodicOrbit, over: Mapping[str, tuple[float, float]], cells: tuple[int, int]
) -> tuple[list[str], list[tuple[float, float]]]:
    if not isinstance(over, Mapping) or len(over) != 2:
        raise OutOfRangeError(f"over is {over!r}, but must name two parameters with their ranges")
    known = orbit.task.flow.dynamics.posed_ranges
    for name, pair in over.items():
        check_names("parameter to vary", [name], tuple(known))
        if not (
            isinstance(pair, (tuple, list))
            and len(pair) == 2
            and all(map(is_number, pair))
            and pair[0] < pair[1]
        ):
            raise OutOfRangeError(f"the range of {name!r} is {pair!r}, but must be low and high")
        if not pair[0] <= orbit.values[name] <= pair[1]:
            raise OutOfRangeError(
                f"the orbit has {name} = {orbit.values[name]:.10g}, but its range goes from "
                f"{pair[0]:g} to {pair[1]:g}"
            )
    if len(cells) != 2 or not all(isinstance(n, int) and n >= 2 for n in cells):
        raise OutOfRangeError(f"cells is {cells!r}, but must be two whole numbers >= 2")
    return list(over), [(float(low), float(high)) for low, high in over.values()]
