"""The motion of one segment, differentiated by the unknowns and by the values of its node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.analysis.propagation import Propagation
from daesolve.analysis.sample_derivatives import SampleDerivatives, derivatives_at_samples
from daesolve.analysis.sensitivity import kink_notes, recorded_run
from daesolve.analysis.start_derivatives import (
    Requests,
    constrained_by,
    differentiated_start,
    reference_slopes,
)
from daesolve.analysis.state_field import manifold
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.system.system import System
from daesolve.errors import UnsupportedError

ROUNDED = 1e-12
"""The relative change of start values that is rounding."""
ASIDE = 1.07
"""The factor of a number at which a request shows what else it changes."""


@dataclass(frozen=True, eq=False)
class SegmentMotion:
    """A segment of a motion with its derivatives.

    Parameters
    ----------
    by
        The names of the k columns.
    states
        The names of the rows of `matrix`.
    matrix
        (n, k) derivatives of the last state.
    run, along
        The motion, and its derivatives at the samples.
    notes
        On the derivatives.
    """

    by: tuple[str, ...]
    states: tuple[str, ...]
    matrix: np.ndarray
    run: Trajectory
    along: SampleDerivatives
    notes: tuple[str, ...]


def segment_motion(
    system: System,
    request: Requests,
    varied: Mapping[str, float],
    node: Sequence[str] | None,
    times: np.ndarray,
) -> SegmentMotion:
    """Run a segment, and differentiate it as `sensitivity` does.

    Parameters
    ----------
    system, request, varied
        As in `sensitivity_of`.
    node
        The states that determine the start, if the segment begins at a node.
    times
        The samples, the last one at the end.

    Raises
    ------
    DaesolveError
        As in `sensitivity`.
    """
    system, asked = with_inputs(system, request({}))
    if any(row.law is not None for row in system.dynamics.drives):
        raise UnsupportedError(
            "a law called in Python has no derivative: have it traced (traced=True)"
        )
    # Differences between segments need whole turns.
    prepared = replace(prepare(system, asked), wrapped=())
    slopes = _start_slopes(system, prepared, (request, asked), varied, node)
    run, record = recorded_run(prepared, times)
    propagation = Propagation(prepared, record, prepared.request.solver, slopes, varied)
    sampled: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    final, end_time = propagation.to_end(run.outcome, sampled)
    states = prepared.problem.labels.states
    return SegmentMotion(
        tuple(varied),
        states,
        final[: len(states)],
        run,
        derivatives_at_samples(propagation, sampled, times, (run.outcome, end_time)),
        (*propagation.notes(), *kink_notes(prepared, record)),
    )


def _start_slopes(
    system: System,
    prepared: Prepared,
    requests: tuple[Requests, Request],
    varied: Mapping[str, float],
    node: Sequence[str] | None,
) -> np.ndarray:
    """Return the derivatives of states and values at the start, (n + np, k).

    They are exact at a node, and by numbers that move no start; otherwise extrapolated differences.
    """
    request, asked = requests
    known = _KnownStart(prepared, asked, node)
    columns = {name: known.slope(request, name, value) for name, value in varied.items()}
    moving = {name: varied[name] for name, column in columns.items() if column is None}
    if moving:
        _, found, _ = differentiated_start(system, request, moving)
        columns |= dict(zip(moving, found.T, strict=True))
    return np.array(list(columns.values())).T


@dataclass(frozen=True, eq=False)
class _KnownStart:
    """A start whose derivatives follow from the constraints.

    Parameters
    ----------
    prepared, asked, node
        The prepared run, its request, and the states that determine its start; None if the start
        may follow from others.
    """

    prepared: Prepared
    asked: Request
    node: Sequence[str] | None

    @property
    def _plain(self) -> bool:
        dynamics, changes = self.prepared.dynamics, self.prepared.start.changes.values()
        rounded = all(abs(b - a) <= ROUNDED * max(abs(a), abs(b), 1.0) for a, b in changes)
        return (
            self.prepared.system.dynamics is dynamics
            and not (dynamics.drives or dynamics.switches or self.asked.begun)
            and (rounded or self.node is not None)
        )

    def slope(self, request: Requests, name: str, value: float) -> np.ndarray | None:
        """Return the derivatives of states and values by a number; None if they are not known."""
        dynamics = self.prepared.dynamics
        names, states = list(dynamics.values), self.prepared.problem.labels.states
        is_parameter = name in dynamics.posed_ranges
        if not self._plain or not (is_parameter or (self.node and name in self.node)):
            return None
        by_p, moved = np.zeros(dynamics.p.numel()), np.zeros(len(states))
        if is_parameter:
            if not self._alone(request, name, value):
                return None
            by_p[names.index(name)] = 1.0
        if self.node is None:
            if constrained_by(dynamics)[names.index(name)]:
                return None
        else:
            moved = self._consistent(name, by_p)
        p = self.prepared.values[: len(by_p)].copy()
        places, function = reference_slopes(dynamics)
        p[places] = 0.0
        start = self.prepared.start_time, self.prepared.start.state, p
        by_state, by_values = (np.asarray(matrix) for matrix in function(*start))
        by_p[places] = by_state @ moved + by_values @ by_p
        return np.concatenate([moved, by_p])

    def _consistent(self, name: str, by_p: np.ndarray) -> np.ndarray:
        """Return how all states follow a value of the node, or values in p."""
        assert self.node is not None
        dynamics, states = self.prepared.dynamics, self.prepared.problem.labels.states
        p = self.prepared.values[: len(by_p)]
        found = constraint_slopes(dynamics)(self.prepared.start_time, self.prepared.start.state, p)
        by_state, by_values = (np.asarray(matrix) for matrix in found)
        kept = np.eye(len(states))[[states.index(own) for own in self.node]]
        right = [1.0 if own == name else 0.0 for own in self.node]
        rows = np.vstack([by_state, kept])
        sizes: np.ndarray = np.linalg.norm(rows, axis=1)
        sizes[sizes == 0.0] = 1.0
        sides = np.concatenate([-by_values @ by_p, right]) / sizes
        return np.linalg.lstsq(rows / np.expand_dims(sizes, 1), sides, rcond=None)[0]

    def _alone(self, request: Requests, name: str, value: float) -> bool:
        """Return whether a request for another number differs in this number alone."""
        other = ASIDE * value if value else ASIDE - 1.0
        there = request({name: other})
        parameters = {**self.asked.parameters, name: other}
        return (there.parameters, there.initial, there.guess) == (
            parameters,
            self.asked.initial,
            self.asked.guess,
        )


@built_once
def constraint_slopes(dynamics: Dynamics) -> ca.Function:
    """(t, x, p) -> the derivatives by x and p of what is zero on consistent states."""
    links = ca.vertcat(ca.SX(0, 1), *manifold(dynamics))
    slopes = [ca.jacobian(links, by) for by in (dynamics.x, dynamics.p)]
    return ca.Function("constraint_slopes", [dynamics.t, dynamics.x, dynamics.p], slopes)
