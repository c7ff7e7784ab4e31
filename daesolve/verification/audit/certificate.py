"""What the auditor is given of a run: its motion between the ends of accepted steps.

Each step has Gauss's nodes, which lie within it. At its ends, where something may jump, the auditor
continues the polynomial through the nodes, so that each side keeps its own values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.polynomial import legendre

from daesolve.core.results.trajectory.results import EventRecord

NODES = 10
"""Nodes in a step: what is integrated over them is exact to degree 19."""
_POINTS, _WEIGHTS = legendre.leggauss(NODES)
PLACES = (1.0 + _POINTS) / 2.0
"""(NODES,) where the nodes are, as fractions of the step."""
_SERIES = (np.arange(NODES) + 0.5)[:, None] * legendre.legvander(_POINTS, NODES - 1).T * _WEIGHTS
"""(NODES, NODES) from values at the nodes to Legendre coefficients, whose sums they are."""
_TAIL = _SERIES[-5:]
_SPIKES = _TAIL / np.linalg.norm(_TAIL, axis=0)
"""(5, NODES) the tails of series, of length one, of motions in which one node is off."""
ALONE = 3e-3
"""The part of a tail that other nodes may contribute where one is off."""
STEPS_OFF = 1e4
"""How many times the accuracy of its steps other methods may be off: what lies between the ends of
steps is less accurate than the ends."""
LEAST = 1e-12
"""The part of the largest value from which a tail is looked at: below, it is rounding."""
ONCE = np.zeros(1)
"""The place of the only node of an instant."""
FINE = np.linspace(0.0, 1.0, 3 * NODES + 1)
"""Where the polynomial of a step is looked at for passages through zero; its ends among them."""
_INTEGRALS, _SLOPES = (
    np.array(legendre.legval(_POINTS, np.array(series))).T @ _SERIES
    for series in (
        legendre.legint(np.eye(NODES), lbnd=float(_POINTS[0])) / 2.0,
        legendre.legder(np.eye(NODES)) * 2.0,
    )
)
"""(NODES, NODES) for a step of length one: integrals from the first node to each, and slopes."""


def _series_at(fractions: np.ndarray) -> np.ndarray:
    """Return the matrices from values at the nodes of steps to those at fractions of them."""
    return legendre.legvander(2.0 * fractions - 1.0, NODES - 1) @ _SERIES


_AT_FINE = _series_at(FINE)


@dataclass(frozen=True, eq=False)
class Certificate:
    """A run for the auditor: n steps with `NODES` nodes each.

    Parameters
    ----------
    system
        As posed, with the inputs of the run in place.
    parameters
        The numbers of the run by name.
    starts, lengths
        (n,) s; lengths are negative in runs backwards.
    columns
        (n, NODES) of each state, reaction and output by name.
    values
        (n,) of each discrete value by name, and of inputs that steps from outside may change.
    events
        Those of the run.
    accuracy
        The relative error that the solver allows itself in a step.
    driven
        The goals whose errors are fed back, with the rates, 1/s; infinite where these are unknown.
    continues
        Whether the run continues another one, which has passed the guards at its start.
    law, gains_allowed
        The name of the law of impacts, and whether these may add energy.
    ambiguous
        Whether contacts stick on where rigid bodies do not tell what presses them.
    given
        The start values to keep; none in a part that is not the first.
    decided
        The names of the laws that decide what changes at events which are posed to change nothing,
        by the name of the event.
    mobility
        The slip per unit of the reaction of friction that replaces constraints on velocities.
    scales
        How large the parts of the run before were; all parts share it.
    places
        Where the nodes are, as fractions of the step; instants have one, at their start.
    """

    system: Any
    parameters: Mapping[str, float]
    starts: np.ndarray
    lengths: np.ndarray
    columns: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    events: Sequence[EventRecord]
    accuracy: float = 0.0
    driven: Mapping[str, float] = field(default_factory=dict[str, float])
    continues: bool = False
    law: str = "newton"
    gains_allowed: bool = False
    ambiguous: bool = False
    given: Mapping[str, float] = field(default_factory=dict[str, float])
    decided: Mapping[str, str] = field(default_factory=dict[str, str])
    mobility: float = 0.0
    scales: dict[str, float] = field(default_factory=dict[str, float])
    places: np.ndarray = field(default_factory=lambda: PLACES)

    def scale(self, name: str, values: np.ndarray) -> float:
        """Return the largest magnitude of something in the run, here and in earlier parts."""
        here = float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
        self.scales[name] = max(self.scales.get(name, 0.0), here)
        return self.scales[name]

    def allows(self, least: float) -> float:
        """Return the part that something may be off that a precise method leaves at `least`."""
        return max(least, STEPS_OFF * self.accuracy)

    @property
    def times(self) -> np.ndarray:
        """(n, NODES) s."""
        return self.starts[:, None] + self.lengths[:, None] * self.places

    @property
    def sign(self) -> float:
        """+1 forwards in time, -1 backwards."""
        return -1.0 if len(self.lengths) and self.lengths[0] < 0.0 else 1.0

    @property
    def lasts(self) -> float:
        """How long all steps take, s."""
        return float(np.sum(np.abs(self.lengths))) + 1e-300

    def only(self, chosen: Any) -> Self:
        """Return some of the steps."""
        return replace(
            self,
            starts=self.starts[chosen],
            lengths=self.lengths[chosen],
            columns={name: rows[chosen] for name, rows in self.columns.items()},
            values={name: rows[chosen] for name, rows in self.values.items()},
        )

    def followed_by(self, part: Certificate) -> Certificate:
        """Return the steps with those of a part that follows."""
        return replace(
            part,
            starts=np.append(self.starts, part.starts),
            lengths=np.append(self.lengths, part.lengths),
            columns={
                n: np.concatenate([self.columns[n], rows]) for n, rows in part.columns.items()
            },
            values={n: np.concatenate([self.values[n], rows]) for n, rows in part.values.items()},
        )

    def parts_of(self, steps: np.ndarray, firsts: np.ndarray, parts: np.ndarray) -> Certificate:
        """Return parts of some of the steps as steps, whose columns are the polynomials of these.

        Parameters
        ----------
        steps
            (k,) which of them.
        firsts, parts
            (k,) where each part begins, and how long it is, as fractions of the step.
        """
        weights = _series_at(firsts[:, None] + parts[:, None] * self.places)
        return replace(
            self,
            values={name: rows[steps] for name, rows in self.values.items()},
            starts=self.starts[steps] + self.lengths[steps] * firsts,
            lengths=self.lengths[steps] * parts,
            columns={
                name: np.einsum("kij,kj->ki", weights, rows[steps])
                for name, rows in self.columns.items()
            },
        )

    def at(self, steps: np.ndarray, fractions: np.ndarray) -> Certificate:
        """Return instants in, or beside, some of the steps as steps with one node."""
        return replace(self, places=ONCE).parts_of(steps, fractions, np.zeros(len(steps)))

    def integrated(self, values: np.ndarray) -> np.ndarray:
        """Return the integrals from the first node of each step to each, of (..., n, NODES)."""
        return values @ _INTEGRALS.T * self.lengths[:, None]

    def unresolved(self, values: np.ndarray) -> np.ndarray:
        """Return how much of (..., n, NODES) the polynomial through the nodes of a step may miss.

        The last two of its Legendre coefficients, (..., n): the next ones of a smooth motion are
        smaller. Where their tail is that of a single node which is off, it misses nothing. Kinks
        that no switch resolves leave such tails as well.
        """
        tail, missing = values @ _TAIL.T, missed(values)
        if self.system.switches:
            seen = missing > LEAST * np.nanmax(np.abs(values), initial=0.0)
            bent = tail[seen]
            size = np.sum(bent**2, axis=-1)
            spikes = size - np.max((bent @ _SPIKES) ** 2, axis=-1, initial=0.0)
            missing[seen] = np.where(spikes <= ALONE**2 * size, 0.0, missing[seen])
        return missing


def same_instant(times: Any, others: Any) -> np.ndarray:
    """Tell where times are those of one instant, but for what resets and rounding put between."""
    return np.abs(times - others) <= 1e-12 * np.maximum(1.0, np.abs(times))


def sides(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the polynomials through (..., n, NODES) at the ends and at the starts of the steps."""
    series = values @ _SERIES.T
    signs = (-1.0) ** np.arange(NODES)
    return np.sum(series, axis=-1), series @ signs


def missed(values: np.ndarray) -> np.ndarray:
    """Return the size of the last two coefficients of polynomials through (..., n, NODES)."""
    tail = values @ _TAIL.T
    return np.abs(tail[..., -1]) + np.abs(tail[..., -2])


def rates(values: np.ndarray) -> np.ndarray:
    """Return the slopes at the nodes of the polynomials through (..., NODES), per length of a step.

    Nothing that is judged is differentiated; reactions that nobody tells are found so.
    """
    return values @ _SLOPES.T


def fine(values: np.ndarray) -> np.ndarray:
    """Return the polynomials through (..., n, NODES) at `FINE`, (..., n, len(FINE))."""
    return values @ _AT_FINE.T
