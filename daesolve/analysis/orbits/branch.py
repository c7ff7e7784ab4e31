"""A branch of periodic orbits as a result: its points, special points and drawing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from daesolve.analysis.orbits.curve import BranchPoint, ContinuationAxis, Curve
from daesolve.analysis.orbits.monodromy import Verdict
from daesolve.analysis.orbits.newton import NewtonSolution
from daesolve.analysis.orbits.orbit import PeriodicOrbit, known, relative
from daesolve.analysis.orbits.orbit_search import finished
from daesolve.analysis.orbits.shooting import shoot, slopes_of
from daesolve.analysis.orbits.special_points import Kind, confirmed_value, resonance
from daesolve.analysis.orbits.switching import UNSWITCHED, switched
from daesolve.core.results.displayable import Displayable
from daesolve.errors import (
    NotPeriodicError,
    OutOfRangeError,
    UnsupportedError,
    check_names,
    is_number,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AMPLITUDE = 1e-2
"""The distance, in sizes of the states, of the new orbit from the one where it branches off."""
OSCILLATION = 0.1
"""The same near a Hopf point, where the orbit is found by its own size."""
OUTMOST = 3.0
"""The size of the largest multipliers in a drawing."""
SMALLER = 4
"""The number of amplitudes tried by default, each a quarter of the one before."""
COLOURS: Mapping[str, str] = {
    "stable": "C0",
    "unstable": "C3",
    "neutral": "C7",
    "one-sided": "C1",
    "unknown": "C5",
}


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A point of a branch at which the orbits change.

    Parameters
    ----------
    kind
        "fold", "period doubling", "symmetry breaking" (of orbits up to a reflection),
        "Neimark-Sacker" ("Hopf" of steady motions and equilibria), "neutral saddle" (two real
        multipliers whose product is one: no bifurcation), "branch point", "grazing", "degenerate
        passage" or "several at once" (as where two equal parts double their periods).
    axis, value
        The name of the varied quantity, and its value there.
    detail
        A resonance, the period of the new orbits at a Hopf point, the event that is touched, or an
        explanation of the kind.
    point
        The orbit there.
    curve
        The equations that define the branch.
    """

    kind: Kind
    axis: str
    value: float
    detail: str
    point: BranchPoint
    curve: Curve = field(repr=False)

    @property
    def orbit(self) -> PeriodicOrbit:
        """The orbit there."""
        return _orbit(self.curve, self.point)

    @cached_property
    def digits(self) -> float:
        """The number of digits of the value that a separate solution confirms; NaN without one.

        A degenerate passage and several multipliers at once are only approached, not solved for.
        """
        return confirmed_value(self.curve, self.kind, self.point, self.detail)

    def __str__(self) -> str:
        more = f" ({self.detail})" if self.detail else ""
        off = relative(self.digits) * (abs(self.value) or self.curve.axis.scale)
        return f"{self.kind} at {self.axis} = {known(self.value, off)}{more}"

    def switch(self, *, amplitude: float | None = None, side: int = 1) -> PeriodicOrbit:
        """Return an orbit of the branch that begins here.

        At a period doubling or a symmetry breaking the orbit has twice the period; where two
        branches cross, it lies on the other branch; from a Hopf point of a steady motion, it
        oscillates with about the period in `detail`.

        Parameters
        ----------
        amplitude
            The distance from the orbit here, in sizes of the states. None uses 0.01, or 0.1 from a
            Hopf point, or less if no orbit is found at that distance.
        side
            The side, +1 or -1.

        Raises
        ------
        UnsupportedError
            No branch of other orbits begins here.
        OutOfRangeError
            The amplitude or the side is out of range.
        NotPeriodicError
            No orbit was found at this distance.
        """
        if self.kind in UNSWITCHED:
            raise UnsupportedError(
                f"no branch of other orbits begins here, because this is a {self.kind}: "
                f"{UNSWITCHED[self.kind]}"
            )
        if amplitude is not None and not (is_number(amplitude) and 0.0 < amplitude < 1.0):
            raise OutOfRangeError(f"the amplitude is {amplitude!r}, but must lie between 0 and 1")
        if side not in (1, -1):
            raise OutOfRangeError(f"the side is {side!r}, but must be +1 or -1")
        if amplitude is not None:
            return self._switched(side * amplitude)
        largest = OSCILLATION if self.kind == "Hopf" else AMPLITUDE
        *tries, last = (largest / 4.0**k for k in range(SMALLER))
        for one in tries:
            with suppress(NotPeriodicError):
                return self._switched(side * one)
        return self._switched(side * last)

    def _switched(self, amplitude: float) -> PeriodicOrbit:
        point = self.point
        return switched(self.curve, self.kind, point.guess, point.value, point.tangent, amplitude)


@dataclass(frozen=True, eq=False)
class Branch(Displayable):
    """Orbits along a parameter or a first integral.

    Parameters
    ----------
    axis
        The name of the varied quantity.
    entries
        The points, in the order of the branch.
    special
        The special points, in the same order.
    ends
        How the branch ends, at both ends or the only one.
    curve
        The equations that define the branch.
    """

    axis: ContinuationAxis
    entries: tuple[BranchPoint, ...]
    special: tuple[SpecialPoint, ...]
    ends: tuple[str, ...]
    curve: Curve = field(repr=False)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def points(self) -> Mapping[str, np.ndarray]:
        """Columns along the branch by name: the varied quantity, "period", states and shifts."""
        task, entries = self.curve.task, self.entries
        firsts = np.array([entry.guess.nodes[0].x for entry in entries])
        columns = dict(zip(task.flow.names, firsts.T, strict=True))
        columns["period"] = np.array([entry.period for entry in entries])
        for place, name in enumerate(task.group.names):
            columns[f"shift of {name}"] = np.array([e.guess.amounts[place] for e in entries])
        return {**columns, self.axis.name: np.array([entry.value for entry in entries])}

    @property
    def multipliers(self) -> tuple[np.ndarray, ...]:
        """The multipliers of each point, largest first."""
        return tuple(entry.multipliers for entry in self.entries)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The stability of each orbit."""
        return tuple(entry.verdict for entry in self.entries)

    def orbit(self, index: int) -> PeriodicOrbit:
        """Return the orbit of a point by its index."""
        return _orbit(self.curve, self.entries[index])

    def at(self, value: float) -> PeriodicOrbit:
        """Return the orbit at a value of the varied quantity, on the first part that reaches it.

        Raises
        ------
        OutOfRangeError
            No part of the branch reaches the value.
        """
        for before, after in zip(self.entries, self.entries[1:], strict=False):
            low, high = sorted((before.value, after.value))
            if low <= value <= high:
                point = self.curve.at_value(before.guess, value, before.tangent, exact=True)
                return finished(self.curve.task_at(value), point.solution, verify=True)
        reached = [entry.value for entry in self.entries]
        raise OutOfRangeError(
            f"the branch covers {self.axis.name} from {min(reached):.10g} to "
            f"{max(reached):.10g}, but not {value:.10g}"
        )

    def __str__(self) -> str:
        values = [entry.value for entry in self.entries]
        lines = [
            f"branch of {len(values)} orbits, {self.axis.name} from {values[0]:.10g} to "
            f"{values[-1]:.10g}"
        ]
        lines += [f"  {point}" for point in self.special]
        return "\n".join([*lines, *(f"  {end}" for end in self.ends)])

    def plot(self, x: str | None = None, y: str | None = None) -> Figure:
        """Draw the branch: stable and unstable parts, special points.

        Parameters
        ----------
        x, y
            Names of `points`; by default the varied quantity, and the period or the first state.

        Raises
        ------
        UnknownNameError
            There is no such column.
        """
        from matplotlib.figure import Figure  # The import takes long.

        columns = self.points
        task = self.curve.task
        across = x or self.axis.name
        varies = task.free_period or task.passage is not None
        up = y or ("period" if varies else task.flow.names[0])
        check_names("column of the branch", (across, up), tuple(columns))
        figure = Figure()
        axes = figure.add_subplot()
        for verdict, colour in COLOURS.items():
            kept = np.array([entry.verdict == verdict for entry in self.entries])
            # Each part extends to the first point of the next.
            shown = kept | np.append(kept[1:], False) if len(kept) else kept
            if not np.any(kept):
                continue
            hidden = np.where(shown, columns[up], np.nan)
            style = "-" if verdict in ("stable", "neutral") else "--"
            axes.plot(columns[across], hidden, style, color=colour, label=verdict)
        for point in self.special:
            place = self._column(point.point, across), self._column(point.point, up)
            axes.plot(*place, "o", color="black", markersize=5)
            axes.annotate(point.kind, place, xytext=(5, 5), textcoords="offset points")
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.legend()
        return figure

    def plot_multipliers(self) -> Figure:
        """Draw the multipliers of all points with the unit circle, coloured along the branch.

        Multipliers outside three times the circle are left out.
        """
        from matplotlib.figure import Figure  # The import takes long.

        pairs = [
            (entry.value, value)
            for entry in self.entries
            for value in entry.multipliers.tolist()
            if abs(value) <= OUTMOST
        ]
        figure = Figure()
        axes = figure.add_subplot()
        angles = np.linspace(0.0, 2.0 * np.pi, 361)
        axes.plot(np.cos(angles), np.sin(angles), color="C7", linewidth=0.8)
        drawn = axes.scatter(
            [value.real for _, value in pairs],
            [value.imag for _, value in pairs],
            s=6,
            c=[at for at, _ in pairs],
        )
        figure.colorbar(drawn, label=self.axis.name)
        axes.set_aspect("equal")
        axes.set_xlabel("real part")
        axes.set_ylabel("imaginary part")
        return figure

    def _column(self, point: BranchPoint, name: str) -> float:
        return float(Branch(self.axis, (point,), (), (), self.curve).points[name][0])


def _orbit(curve: Curve, entry: BranchPoint) -> PeriodicOrbit:
    task = curve.task_at(entry.value)
    shot = shoot(task, entry.guess)
    whole = NewtonSolution(shot, slopes_of(task, shot), (shot.residual,), shot.residual)
    return finished(task, whole, verify=False)


def special_point(curve: Curve, kind: Kind, entry: BranchPoint, detail: str = "") -> SpecialPoint:
    """Return a special point, with a test for resonances if a pair lies on the circle."""
    if kind == "Neimark-Sacker":
        pair = next(value for value in entry.multipliers if value.imag > 0.0)
        name = resonance(complex(pair))
        detail = f"resonance {name}" if name else detail
    elif kind == "branch point":
        detail = "two branches cross"
    elif kind == "neutral saddle":
        detail = "nothing branches off"
    elif kind == "degenerate passage":
        detail = "constraints depend on each other"
    return SpecialPoint(kind, curve.axis.name, entry.value, detail, entry, curve)
