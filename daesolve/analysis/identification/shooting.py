"""Residuals of measured outputs, and of the joints between segments, with exact derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.analysis.identification.measurements import Measurements
from daesolve.analysis.identification.nodes import SegmentNode, nodes_at
from daesolve.analysis.identification.segment_motion import SegmentMotion, segment_motion
from daesolve.analysis.sensitivity import recorded_run
from daesolve.analysis.start_derivatives import Requests
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.system.system import System
from daesolve.errors import NoFitError


@dataclass(frozen=True, eq=False)
class Model:
    """A model, its unknowns, and what was measured of its motion.

    Parameters
    ----------
    name
        Of the experiment.
    system, request
        The system, and the request of a run for some of the numbers.
    names, places
        The unknowns: parameters and start values; and which of the unknowns of all they are.
    data
        The measurements.
    weight
        How many times squared residuals count.
    """

    name: str
    system: System
    request: Requests
    names: tuple[str, ...]
    places: np.ndarray
    data: Measurements
    weight: float

    @property
    def units(self) -> Mapping[str, str]:
        """The units of all states, outputs and reactions."""
        return self.system.dynamics.labels.units()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The unknowns that act all the time, without the start values."""
        return tuple(name for name in self.names if name in self.system.dynamics.posed_ranges)

    def prepared(self, values: Mapping[str, float]) -> Prepared:
        """Return the run for some values of the unknowns, ready to start."""
        system, request = with_inputs(self.system, self.request(values))
        return prepare(system, replace(request, until=float(self.data.times[-1])))

    def early(self, rows: int) -> Model:
        """Return the model with the first rows of data alone."""
        return replace(self, data=self.data.early(rows))

    def nodes(self, values: Mapping[str, float], count: int) -> list[SegmentNode]:
        """Return the nodes between so many segments, on the motion for some values.

        Raises
        ------
        NoDerivativeError
            There is no such motion.
        """
        rows = np.linspace(0, len(self.data.times) - 1, count + 1).round().astype(int)[1:-1]
        if not len(rows):
            return []
        prepared, times = self.prepared(values), self.data.times
        run, _ = recorded_run(prepared, times)
        states = np.array([run[name] for name in prepared.problem.labels.states]).T
        # The motion may be early or late: its state is taken where it shows what was measured.
        shown = [self.data.relative({name: run[name] for name in self.data.columns})]
        shown.append(run.times[:, None] / np.ptp(times))
        asked = [self.data.relative(self.data.columns), times[:, None] / np.ptp(times)]
        apart = np.hstack(asked)[rows][:, None] - np.hstack(shown)[None]
        # What was not measured does not count.
        nearest = np.argmin(np.linalg.norm(np.nan_to_num(apart), axis=2), axis=1)
        places = list(zip(times[rows].tolist(), rows.tolist(), strict=True))
        return nodes_at(prepared, places, states[nearest], self.data)


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals (m,) and their derivatives (m, k).

    Parameters
    ----------
    vector, slopes
        By the unknowns, in their own units, then by the values of the nodes.
    outputs
        The motion at the measured times, by column.
    parts
        The segments.
    """

    vector: np.ndarray
    slopes: np.ndarray
    outputs: Mapping[str, np.ndarray]
    parts: Sequence[SegmentMotion]


@dataclass(frozen=True, eq=False)
class Shooting:
    """The motion in segments, whose joints close as the residuals vanish.

    Parameters
    ----------
    model
        The model and the data.
    nodes
        Where segments begin, besides the start; with none, all is one motion.
    noise
        The standard deviation of each column.
    opening
        The deviation of a joint that counts as much as one measured value by its noise, relative
        to the size of the states.
    """

    model: Model
    nodes: Sequence[SegmentNode]
    noise: Mapping[str, float]
    opening: float

    @property
    def start(self) -> np.ndarray:
        """The values of the nodes, as they are listed."""
        return np.concatenate([np.empty(0), *(node.values for node in self.nodes)])

    @property
    def sizes(self) -> np.ndarray:
        """What counts as a large change of these values."""
        return np.concatenate([np.empty(0), *(node.sizes for node in self.nodes)])

    def residuals(self, unknowns: np.ndarray, values: np.ndarray) -> Residuals:
        """Return the residuals for some values of the unknowns and of the nodes.

        Raises
        ------
        DaesolveError
            A segment of the motion does not exist.
        """
        model, count = self.model, len(self.model.names)
        named = dict(zip(model.names, unknowns.tolist(), strict=True))
        ends = np.cumsum([0, *(len(node.names) for node in self.nodes)])
        pieces = [values[low:high] for low, high in itertools.pairwise(ends)]
        rows = [-1, *(node.row for node in self.nodes), len(model.data.times) - 1]
        vectors: list[np.ndarray] = []
        slopes: list[np.ndarray] = []
        parts: list[SegmentMotion] = []
        for k in range(len(self.nodes) + 1):
            node = self.nodes[k - 1] if k else None
            own = pieces[k - 1] if k else np.empty(0)
            found = self._segment(named, node, own, rows[k] + 1, rows[k + 1] + 1)
            places = self._places(found.by, node, count + int(ends[k - 1]) if k else count)
            vector, slope = self._of_outputs(found, slice(rows[k] + 1, rows[k + 1] + 1))
            wide = np.zeros((len(slope), count + len(values)))
            wide[:, places] = slope
            vectors.append(vector)
            slopes.append(wide)
            parts.append(found)
            if k < len(self.nodes):
                after, low = self.nodes[k], count + int(ends[k])
                vectors.append(after.gap(found.run.end_state, pieces[k]) / self.opening)
                joint = np.zeros((len(after.names), count + len(values)))
                joint[:, places] = found.matrix[[found.states.index(n) for n in after.names]]
                joint[:, low : low + len(after.names)] -= np.eye(len(after.names))
                slopes.append(joint / (after.sizes * self.opening)[:, None])
        outputs = {
            name: np.concatenate([part.run[name] for part in parts]) for name in model.data.columns
        }
        return Residuals(np.concatenate(vectors), np.vstack(slopes), outputs, parts)

    def _places(self, by: Sequence[str], node: SegmentNode | None, first: int) -> list[int]:
        """Return the columns of the derivatives by some names."""
        listed = [] if node is None else list(node.names)
        inner = len(by) - len(listed)
        return [
            self.model.names.index(name) if k < inner else first + listed.index(name)
            for k, name in enumerate(by)
        ]

    def _segment(
        self,
        named: Mapping[str, float],
        node: SegmentNode | None,
        own: np.ndarray,
        first: int,
        last: int,
    ) -> SegmentMotion:
        """Differentiate a segment by the unknowns that act on it, and by the values of its node."""
        model, times = self.model, self.model.data.times[first:last]
        change: dict[str, Any] = {"until": float(times[-1])}
        starts: dict[str, float] = {}
        if node is None:
            varied = dict(named)
        else:
            starts = dict(zip(node.names, own.tolist(), strict=True))
            varied = {name: named[name] for name in model.parameters} | starts
            change |= {"start_time": node.time, "guess": node.others}

        def request(values: Mapping[str, float]) -> Request:
            mine = {**named, **{n: v for n, v in values.items() if n in model.names}}
            if node is not None:
                moved = {n: v for n, v in values.items() if n in node.names}
                mine = {name: mine[name] for name in model.parameters}
                change["initial"] = {**starts, **moved}
            return replace(model.request(mine), **change)

        listed = None if node is None else node.names
        found = segment_motion(model.system, request, varied, listed, times)
        if len(found.run.times) < len(times):
            raise NoFitError(
                f"the motion ends at t = {found.run.end_time:.10g} s, before the last row of the "
                f"data: {found.run.message}"
            )
        return found

    def _of_outputs(self, found: SegmentMotion, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals of the measured outputs of a segment, and their derivatives."""
        vectors: list[np.ndarray] = []
        slopes: list[np.ndarray] = []
        data = self.model.data
        for name in data.columns:
            present, noise = data.present(name, rows), self.noise[name]
            vectors.append(data.apart(name, found.run[name], rows)[present] / noise)
            slopes.append(found.along[name][present] / noise)
        return np.concatenate(vectors), np.vstack(slopes)


@dataclass(frozen=True, eq=False)
class JointResiduals:
    """Residuals (m,) of several motions, and their derivatives (m, k).

    Parameters
    ----------
    vector, slopes
        By the unknowns of all, in their own units, then by the values of all nodes.
    motions
        Those of each motion.
    """

    vector: np.ndarray
    slopes: np.ndarray
    motions: Sequence[Residuals]


@dataclass(frozen=True, eq=False)
class JointShooting:
    """Several motions that share unknowns.

    Parameters
    ----------
    motions
        Each in its own segments.
    partial
        Whether these are only the beginnings of the motions.
    """

    motions: Sequence[Shooting]
    partial: bool = False

    @property
    def start(self) -> np.ndarray:
        """The values of all nodes."""
        return np.concatenate([motion.start for motion in self.motions])

    @property
    def sizes(self) -> np.ndarray:
        """What counts as a large change of these values."""
        return np.concatenate([motion.sizes for motion in self.motions])

    def residuals(self, unknowns: np.ndarray, values: np.ndarray) -> JointResiduals:
        """Return the residuals for some values of the unknowns and of the nodes.

        Raises
        ------
        DaesolveError
            A segment of a motion does not exist.
        """
        ends = np.cumsum([len(unknowns), *(len(motion.start) for motion in self.motions)])
        vectors: list[np.ndarray] = []
        slopes: list[np.ndarray] = []
        found: list[Residuals] = []
        for motion, (low, high) in zip(self.motions, itertools.pairwise(ends), strict=True):
            places = motion.model.places
            own = motion.residuals(unknowns[places], values[low - ends[0] : high - ends[0]])
            root = np.sqrt(motion.model.weight)
            wide = np.zeros((len(own.vector), int(ends[-1])))
            wide[:, [*places, *range(low, high)]] = root * own.slopes
            vectors.append(root * own.vector)
            slopes.append(wide)
            found.append(own)
        return JointResiduals(np.concatenate(vectors), np.vstack(slopes), found)
