"""A periodic motion, as a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from daesolve.analysis.orbits.monodromy import (
    DirectionalRates,
    Multipliers,
    Verdict,
    directional_rates,
    most_growth,
)
from daesolve.analysis.orbits.newton import NewtonSolution
from daesolve.analysis.orbits.nodes import flown
from daesolve.analysis.orbits.shooting import Task
from daesolve.core.results.displayable import Displayable
from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import check_counts, suggest_names

UNVERIFIED = 6.0
"""The digits shown of numbers that no other run has confirmed."""


@dataclass(frozen=True, eq=False)
class PeriodicOrbit(Displayable):
    """A motion that repeats, and its stability.

    Parameters
    ----------
    period
        s; with a symmetry, the time after which the motion repeats up to the symmetry.
    state, values
        Every state, and every parameter and discrete value, by name, at the start of the orbit.
    shift
        The advance of each free coordinate in a period, by name.
    multipliers
        (k,) complex, largest first: the factors by which small changes grow in a period, without
        trivial multipliers and zeros.
    trivial
        The multipliers that every such orbit has, by name ("flow", a first integral, "shift of x"),
        with the error of the computed map in each; "forgotten" is the largest that counts as zero.
    group
        The eigenvalues of the symmetry: one for a shift, exp(+-i psi) for coordinates turned by
        psi.
    verdict
        "stable" if all changes decay, "unstable" if one grows, "neutral" if one neither grows nor
        decays, "one-sided" if multipliers depend on the order in which guards pass, "unknown" if
        rounding hides them.
    residual
        The distance by which the orbit misses itself, in sizes of the states.
    unfolding
        The unfolding parameter of each first integral: zero if it is conserved.
    digits
        The number of digits of period and state that another run confirms; NaN if verification was
        not requested.
    multiplier_digits
        The same for the multipliers, relative for those above one.
    run
        One period.
    events
        The events in one period; those at its seam are at its end.
    pieces
        The number of pieces of the period.
    notes
        Remarks on how it was found.
    task, found, spectrum
        The equations, their solution, and the multipliers with their vectors.
    orders
        The multipliers for each order of guards that pass together: the order of `spectrum`, and
        the reverse one if there are such guards. The map is then piecewise linear, and each part
        applies to changes on its own side.
    """

    period: float
    state: Mapping[str, float]
    values: Mapping[str, float]
    shift: Mapping[str, float]
    multipliers: np.ndarray
    trivial: Mapping[str, float]
    group: tuple[complex, ...]
    verdict: Verdict
    residual: float
    unfolding: Mapping[str, float]
    digits: float
    multiplier_digits: float
    run: Trajectory
    events: tuple[EventRecord, ...]
    pieces: int
    notes: tuple[str, ...]
    task: Task = field(repr=False)
    found: NewtonSolution = field(repr=False)
    spectrum: Multipliers = field(repr=False)
    orders: tuple[Multipliers, ...] = field(repr=False)

    def __post_init__(self) -> None:
        suggest_names(self, state="state", values="parameter or discrete value")
        suggest_names(self, shift="shifted coordinate", trivial="trivial multiplier")

    @property
    def leading(self) -> complex:
        """The largest multiplier; zero if the earlier state is completely forgotten."""
        return complex(self.multipliers[0]) if len(self.multipliers) else 0.0

    @property
    def exponents(self) -> np.ndarray:
        """(k,) complex, in 1/s: the growth rates that correspond to the multipliers.

        For a steady motion with a short period, these are the eigenvalues of small motions.
        """
        return np.log(self.multipliers) / self.period

    @property
    def monodromy(self) -> np.ndarray:
        """(d, d) the map of a period, in orthonormal directions in the sizes of the states."""
        return self.found.slopes.monodromy

    def growth(self, periods: int) -> float:
        """Return the growth, after some periods, of the change that grows most.

        If some multipliers are nearly equal, it may exceed the growth by the largest multiplier.
        The growth is in sizes of the states, without trivial multipliers; if guards pass together,
        it is for the order found.

        Parameters
        ----------
        periods
            The number of periods.
        """
        check_counts(0, periods=periods)
        return most_growth(self.spectrum, periods)

    def directional_rates(self, starts: int = 8, periods: int = 4000) -> DirectionalRates | None:
        """Return the growth rates of random changes if two guards pass together.

        The period map then consists of two linear parts. A multiplier of one part is a growth rate
        of the whole map if its direction stays on its own side.

        Parameters
        ----------
        starts, periods
            The number of changes followed, and for how many periods.

        Returns
        -------
        DirectionalRates
            None if no two guards pass together, or more than two, or rounding separates them.
        """
        check_counts(2, starts=starts, periods=periods)
        return directional_rates(self.orders, self.period, starts, periods)

    def audit(self, periods: int = 3) -> Audit:
        """Hold the orbit against what was posed, as one run over some periods.

        It is not begun again between them, so that each event at the ends of periods counts once;
        see `Trajectory.audit`.

        Parameters
        ----------
        periods
            The number of periods.
        """
        check_counts(1, periods=periods)
        first = self.found.shot.guess.nodes[0]
        return flown(self.task.flow.beginning(first, periods * self.period)).audit()

    def __str__(self) -> str:
        part = relative(self.digits)
        sizes = dict(zip(self.task.flow.names, self.task.manifold.sizes.tolist(), strict=True))
        kind = "steady motion, over" if self.task.steady else "periodic orbit, period"
        lines = [f"{kind} {known(self.period, part * self.period)} s, {self.verdict}"]
        lines += [
            f"  {name} = {known(value, part * sizes[name])}" for name, value in self.state.items()
        ]
        lines += [
            f"  {name} advances by {known(value, part * max(sizes[name], abs(value)))}"
            for name, value in self.shift.items()
        ]
        lines += [f"  multiplier {self._shown(value)}" for value in self.multipliers.tolist()]
        for other in self.orders[1:]:
            listed = ", ".join(self._shown(value) for value in other.values.tolist())
            lines.append(f"  in the other order: {listed}")
        lines += [f"  trivial: {name}, to {miss:.1g}" for name, miss in self.trivial.items()]
        digits = "" if math.isnan(self.digits) else f", {self.digits:.1f} digits"
        lines += [
            f"  {event.name} at {known(event.time, part * self.period)} s" for event in self.events
        ]
        lines.append(f"  misses itself by {self.residual:.1g} of its size{digits}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _shown(self, value: complex) -> str:
        """Return a multiplier with its known digits, and its size if complex."""
        off = relative(self.multiplier_digits) * max(1.0, abs(value))
        if not value.imag:
            return known(value.real, off)
        sign = "+" if value.imag > 0.0 else "-"
        size = known(abs(value), off)
        return f"{known(value.real, off)} {sign} {known(abs(value.imag), off)} i, of size {size}"


def known(value: float, uncertainty: float) -> str:
    """Return a number rounded to the power of ten next above its uncertainty.

    If not even its sign is known, the result is zero with as many places.

    >>> known(3.88246375285139, 3e-13), known(-1.9e-30, 1e-14), known(6.02e23, 1e21)
    ('3.882463752851', '0', '6.02e+23')
    """
    if not math.isfinite(value):
        return str(value)
    if not uncertainty > 0.0:
        return f"{value:.15g}"
    places = math.floor(-math.log10(uncertainty) + 1e-9)
    size = math.floor(math.log10(abs(value))) if value else -places - 1
    digits = min(size + 1 + places, 16)
    return f"{value:.{digits}g}" if digits > 0 else "0"


def relative(digits: float) -> float:
    """Return the relative uncertainty of a number of digits; of six if none were confirmed."""
    return 10.0 ** -(UNVERIFIED if math.isnan(digits) else digits)
