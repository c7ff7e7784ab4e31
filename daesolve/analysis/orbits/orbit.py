"""A periodic motion, as a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from daesolve.analysis.orbits.digits import known, relative
from daesolve.analysis.orbits.monodromy import Multipliers, Verdict
from daesolve.analysis.orbits.newton import Found
from daesolve.analysis.orbits.orders import DirectionalRates, directional_rates, most_growth
from daesolve.analysis.orbits.shooting import Task
from daesolve.errors import OutOfRangeError, suggest_names
from daesolve.showing import Shown
from daesolve.trajectory.results import EventRecord
from daesolve.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class PeriodicOrbit(Shown):
    """A motion that repeats itself, and whether it is stable.

    Parameters
    ----------
    period
        s; up to a symmetry, the time after which the motion repeats itself up to that.
    state, values
        Every state, and every parameter and discrete value, by name, where the orbit starts.
    shift
        How far each free coordinate went in a period, by name.
    multipliers
        (k,) complex, the largest first: by which factors small changes grow in a period. Without
        the trivial ones, and without zeros.
    trivial
        What every such orbit has, by name ("flow", a first integral, "shift of x"), and by how much
        that is missed by the map that was computed; "forgotten" stands for multipliers of zero.
    group
        The eigenvalues of the symmetry itself: one for a shift, exp(+-i psi) for what turns by psi.
    verdict
        "stable" where all changes die out, "unstable" where one grows, "neutral" where one does
        neither, "one-sided" where multipliers depend on the order in which guards pass,
        "unknown" where rounding hides them.
    residual
        By how much the orbit misses itself, in sizes of the states.
    unfolding
        By first integral, its unfolding parameter: zero where it is one.
    digits
        How many digits of period and state another run confirms; nan where none was asked for.
    multiplier_digits
        The same of the multipliers, and of those above one relatively.
    run
        One period.
    events
        What happens in it.
    pieces
        Into how many it was divided.
    notes
        How it was found.
    task, found, spectrum
        What was solved, its solution, and the multipliers with their vectors.
    orders
        The multipliers for each order in which guards pass that pass together: that of `spectrum`,
        and the reverse one where there are such guards. The map is then linear in pieces, and each
        holds for changes on its own side.
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
    found: Found = field(repr=False)
    spectrum: Multipliers = field(repr=False)
    orders: tuple[Multipliers, ...] = field(repr=False)

    def __post_init__(self) -> None:
        suggest_names(self, state="state", values="parameter or discrete value")
        suggest_names(self, shift="shifted coordinate", trivial="trivial multiplier")

    @property
    def leading(self) -> complex:
        """The largest multiplier; zero where all that was before is forgotten."""
        return complex(self.multipliers[0]) if len(self.multipliers) else 0.0

    @property
    def exponents(self) -> np.ndarray:
        """(k,) complex, in 1/s: the rates of growth of which the multipliers come in a period.

        Of a steady motion these are the eigenvalues of small motions, where the period is short.
        """
        return np.log(self.multipliers) / self.period

    @property
    def monodromy(self) -> np.ndarray:
        """(d, d) the map of a period, in orthonormal directions in the sizes of the states."""
        return self.found.slopes.monodromy

    def growth(self, periods: int) -> float:
        """Return by how much the change that grows most has grown after some periods.

        It may grow far more than by the largest multiplier, where some of them are nearly alike.
        In the sizes of the states, without the trivial multipliers; of the order that was met,
        where guards pass together.

        Parameters
        ----------
        periods
            How many.
        """
        if not isinstance(periods, int) or isinstance(periods, bool) or periods < 0:
            raise OutOfRangeError(f"periods is {periods!r}, but must be a whole number >= 0")
        return most_growth(self.spectrum, periods)

    def directional_rates(self, starts: int = 8, periods: int = 4000) -> DirectionalRates | None:
        """Return how fast random changes grow where two guards pass together.

        The map of a period is then linear in two pieces. A multiplier of one of them is a rate of
        the whole where its direction stays on its own side.

        Parameters
        ----------
        starts, periods
            How many changes are followed, and for how long.

        Returns
        -------
        DirectionalRates
            None where no two guards do, or more than two, or rounding has parted them.
        """
        for name, number in (("starts", starts), ("periods", periods)):
            if not isinstance(number, int) or isinstance(number, bool) or number < 2:
                raise OutOfRangeError(f"{name} is {number!r}, but must be a whole number >= 2")
        return directional_rates(self.orders, self.period, starts, periods)

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
        lines += [f"  multiplier {self._told(value)}" for value in self.multipliers.tolist()]
        for other in self.orders[1:]:
            listed = ", ".join(self._told(value) for value in other.values.tolist())
            lines.append(f"  in the other order: {listed}")
        lines += [f"  trivial: {name}, to {miss:.1g}" for name, miss in self.trivial.items()]
        digits = "" if math.isnan(self.digits) else f", {self.digits:.1f} digits"
        lines += [
            f"  {event.name} at {known(event.time, part * self.period)} s" for event in self.events
        ]
        lines.append(f"  misses itself by {self.residual:.1g} of its size{digits}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _told(self, value: complex) -> str:
        """Return a multiplier in the digits that are known of it, and its size where complex."""
        off = relative(self.multiplier_digits) * max(1.0, abs(value))
        if not value.imag:
            return known(value.real, off)
        sign = "+" if value.imag > 0.0 else "-"
        size = known(abs(value), off)
        return f"{known(value.real, off)} {sign} {known(abs(value.imag), off)} i, of size {size}"
