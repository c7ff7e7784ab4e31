"""What was identified from measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daesolve.analysis.identification.identifiability import NullDirection
from daesolve.analysis.identification.profiles import Profile
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import NoFitError, UnsupportedError, check_names, suggest_names


@dataclass(frozen=True, eq=False)
class ExperimentFit:
    """A measured motion beside the fitted one.

    Parameters
    ----------
    name
        Of the experiment; empty if there is only one.
    times, measured, outputs, residuals
        The data and the fitted motion by column, and their difference in the unit of the column;
        NaN where nothing was measured.
    noise
        The standard deviation of each column, given or estimated.
    weight
        How many times its squared residuals count.
    cost
        The sum of squares of the residuals, each divided by its noise.
    run
        The fitted motion.
    """

    name: str
    times: np.ndarray
    measured: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    residuals: Mapping[str, np.ndarray]
    noise: Mapping[str, float]
    weight: float
    cost: float
    run: Trajectory

    def __post_init__(self) -> None:
        suggest_names(self, measured="measured column", noise="measured column")


@dataclass(frozen=True, eq=False)
class Identification:
    """Values identified from measurements: `found["length"]` is a value.

    Parameters
    ----------
    names, units
        The k unknowns, and their units.
    values, deviations
        (k,) of them, and their standard deviations; infinite if the data do not determine them.
    low, high
        (k,) the ends of the 95 % intervals.
    digits
        (k,) how many decimal digits the intervals leave.
    correlations
        (k, k); NaN beside an undetermined unknown.
    experiments
        The data and the fitted motion of each experiment.
    cost
        The sum of squares of all residuals, each divided by its noise.
    freedom
        The number of measured values less that of determined unknowns.
    undetermined
        The combinations that the data do not determine.
    segments, beginnings, evaluations
        In how many segments the fit began, how many beginnings of the motion it fitted before all
        of it, and how many motions it differentiated.
    notes
        What is to be known about the fit.
    """

    names: tuple[str, ...]
    units: Mapping[str, str]
    values: np.ndarray
    deviations: np.ndarray
    low: np.ndarray
    high: np.ndarray
    digits: np.ndarray
    correlations: np.ndarray
    experiments: tuple[ExperimentFit, ...]
    cost: float
    freedom: int
    undetermined: tuple[NullDirection, ...]
    segments: int
    beginnings: int
    evaluations: int
    notes: tuple[str, ...]
    _profile: Callable[[int], Profile] = field(repr=False)

    def __getitem__(self, name: str) -> float:
        """Return a value.

        Raises
        ------
        UnknownNameError
            It was not identified.
        """
        return float(self.values[self._place(name)])

    @property
    def times(self) -> np.ndarray:
        """The times of the data, if there is one experiment."""
        return self._only("times").times

    @property
    def measured(self) -> Mapping[str, np.ndarray]:
        """The data by column, if there is one experiment."""
        return self._only("measured").measured

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """The fitted motion by column, if there is one experiment."""
        return self._only("outputs").outputs

    @property
    def residuals(self) -> Mapping[str, np.ndarray]:
        """The difference of both by column, if there is one experiment."""
        return self._only("residuals").residuals

    @property
    def noise(self) -> Mapping[str, float]:
        """The standard deviation of each column, if there is one experiment."""
        return self._only("noise").noise

    @property
    def run(self) -> Trajectory:
        """The fitted motion, if there is one experiment."""
        return self._only("run").run

    def experiment(self, name: str) -> ExperimentFit:
        """Return an experiment by its name.

        Raises
        ------
        UnknownNameError
            There is none of this name.
        """
        names = [one.name for one in self.experiments]
        check_names("experiment", [name], names)
        return self.experiments[names.index(name)]

    def _only(self, what: str) -> ExperimentFit:
        first, *others = self.experiments
        if others:
            names = ", ".join(repr(one.name) for one in self.experiments)
            raise UnsupportedError(
                f"each experiment has {what} of its own: use experiment(name).{what}, for {names}"
            )
        return first

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a value.

        Raises
        ------
        UnknownNameError
            It was not identified.
        """
        place = self._place(name)
        return float(self.low[place]), float(self.high[place])

    def profile(self, name: str) -> Profile:
        """Return how much the misfit grows as a value moves and all others follow; some runs.

        Raises
        ------
        UnknownNameError
            It was not identified.
        NoFitError
            The data do not determine it.
        """
        place = self._place(name)
        if not 0.0 < self.deviations[place] < math.inf:
            raise NoFitError(f"{name!r} has no profile: it is at a bound, or not determined")
        return self._profile(place)

    def _place(self, name: str) -> int:
        check_names("identified parameter or start value", [name], self.names)
        return self.names.index(name)

    def __str__(self) -> str:
        rows = zip(self.names, self.values, self.low, self.high, strict=True)
        lines = [f"{name} = {v:.10g}, 95 % from {a:.7g} to {b:.7g}" for name, v, a, b in rows]
        lines += [str(direction) for direction in self.undetermined]
        return "\n".join(lines)
