"""The nodes of a run within every accepted step, kept or integrated once more, for an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.findings import Audit, Finding, finding_for, unchecked
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.replay import Again, PassedError, Stage
from daesolve.core.run.integration.run_state import RunState
from daesolve.verification.audit import Certificate, audit, merged
from daesolve.verification.audit.certificate import PLACES

STEPS_AT_ONCE = 10_000
"""Steps that are held in memory and audited together."""
STEPS_OFF = 1e4
"""How many times the accuracy of its steps the samples of other methods may be off."""
ROUNDING = 1e-14
"""The part of the largest state, whichever it is, that counts as rounding."""
EVENT_ROUNDING = 1e-11
"""By how much, of the time in s or of 1 s, an event may move where a run is integrated again."""
SAME = 1e-9
"""How far a sample may be from the motion, relative to the largest of its state."""
BEYOND = 1e-6
"""The part of a run without steps at its end that is no loss."""
LEAST_PIECES = 40
"""Pieces of a run that are looked at, at least: guards may turn often within a long step."""


def steps_between(ends: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and lengths of accepted steps.

    Parameters
    ----------
    ends
        The ends of accepted steps, block by block, the start of the run first.
    """
    times = np.concatenate([np.empty(0), *ends])
    if len(times) < 2:
        return np.empty(0), np.empty(0)
    sign = 1.0 if times[-1] >= times[0] else -1.0
    # Steps that were taken back come twice.
    times = _divided(sign * np.unique(sign * times))
    starts, lengths = times[:-1], np.diff(times)
    clear = np.abs(lengths) > 64.0 * np.spacing(np.abs(starts) + np.abs(lengths))
    return starts[clear], lengths[clear]


def _divided(times: np.ndarray) -> np.ndarray:
    """Divide the steps between times evenly that are longer than the longest piece."""
    longest = abs(float(times[-1] - times[0])) / LEAST_PIECES
    counts = np.ceil(np.abs(np.diff(times)) / longest)
    ends = np.concatenate([np.zeros(1), np.cumsum(counts)])
    places = np.arange(float(ends[-1]) + 1.0)
    return np.asarray(np.interp(places, ends, times))


def held_in(prepared: Prepared) -> list[str]:
    """Return the names of discrete values, and of inputs that steps from outside may change."""
    inputs = [name for name in prepared.system.inputs.names if name in prepared.problem.values]
    return [*prepared.dynamics.discrete, *inputs]


def _decided(prepared: Prepared) -> dict[str, str]:
    """Return which law decides, by events, where no posed formula says what changes."""
    events = prepared.problem.events
    laws = () if prepared.transitions is None else prepared.transitions.laws
    return {
        events[event].name: type(law).__name__
        for law in laws
        if not isinstance(law, ResetLaw)
        for event in law.events
        if (reset := events[event].then.reset) and not (reset.changes or reset.impose)
    }


@dataclass(frozen=True, eq=False)
class Auditor:
    """Audits a run.

    Parameters
    ----------
    prepared
        The run as it was prepared.
    stages
        Returns its stages.
    again
        Integrates one of them once more.
    """

    prepared: Prepared
    stages: Callable[[], Iterable[Stage]]
    again: Again

    def __call__(self, run: Trajectory) -> Audit:
        """Return the audit of the run."""
        audits: list[Audit] = []
        samples = self.visit(run, lambda part: audits.append(audit(part)), STEPS_AT_ONCE)
        if not audits:
            audits.append(Audit((unchecked("run", "", "it took no step"),)))
        return merged([*audits, Audit(samples)])

    def certificate(self, run: Trajectory) -> Certificate:
        """Return the run with its motion within each step, all of it in memory."""
        parts: list[Certificate] = []
        self.visit(run, parts.append, np.inf)
        return parts[0]

    def visit(
        self, run: Trajectory, take: Callable[[Certificate], None], most: float
    ) -> tuple[Finding, ...]:
        """Hand over the run in parts of about so many steps; return what its samples show."""
        defects: list[tuple[float, str, float]] = []
        scales: dict[str, float] = {}
        last = self.prepared.start_time
        for stage in self.stages():
            ends = self._ends(stage) if stage.ends is None else stage.ends
            kept = {} if stage.checkpoint is not None else self._given()
            known = self._kept_ends(stage, run)
            ends = ends if known is None else [known]
            passage = _Passage(self, run, steps_between(ends), take, kept, defects, scales)
            if known is not None and stage.state is not None:
                passage.read(stage.state, most)
            else:
                state = self.again(stage, passage.times, partial(passage.gather, most=most))
                with suppress(PassedError):
                    passage.gather(state, 0)
            last = float(passage.ends[-1]) if len(passage.ends) else self.prepared.start_time
        missing = abs(run.end_time - last) > BEYOND * abs(run.end_time - self.prepared.start_time)
        unknown = unchecked("steps", "", f"none are known from t = {last:.6g} s on")
        rest = (unknown,) if missing else ()
        if not defects:
            return rest
        off, name, time = max(defects)
        said = f"{name} is {off:.1g} of its largest value away from the motion at t = {time:.6g} s"
        allowed = max(SAME, STEPS_OFF * self.prepared.solver.step_tolerance)
        return (finding_for("samples", "", off, allowed, time, said), *rest)

    def _kept_ends(self, stage: Stage, run: Trajectory) -> np.ndarray | None:
        """Return the ends of accepted steps if a run has kept the motion within all of them."""
        if stage.state is None or stage.state.motion is None:
            return None
        return stage.state.motion.ends(self.prepared.start_time, run.end_time)

    def _given(self) -> dict[str, float]:
        """Return the values to keep at the start, where meters begin at zero."""
        meters = getattr(self.prepared.system, "meters", {})
        return {**dict.fromkeys(meters, 0.0), **self.prepared.request.initial}

    def _ends(self, stage: Stage) -> Sequence[np.ndarray]:
        """Return the ends of the accepted steps of a stage, which is integrated once more."""
        begun = [] if stage.checkpoint is None else [stage.checkpoint["here"]["time"]]
        state = self.again(stage, [stage.until], lambda _: None)
        return [np.array(begun), *state.monitor.first_steps.ends]


class _Passage:
    """Gathers the nodes of a stage's steps while it is integrated once more."""

    def __init__(
        self,
        auditor: Auditor,
        run: Trajectory,
        steps: tuple[np.ndarray, np.ndarray],
        take: Callable[[Certificate], None],
        given: Mapping[str, float],
        defects: list[tuple[float, str, float]],
        scales: dict[str, float],
    ) -> None:
        self.given, self.scales = given, scales
        self.auditor, self.run, self.take, self.defects = auditor, run, take, defects
        self.starts, self.lengths = steps
        self.ends = self.starts + self.lengths
        self.nodes = (self.starts[:, None] + self.lengths[:, None] * PLACES).ravel()
        self.sign = -1.0 if len(self.lengths) and self.lengths[0] < 0.0 else 1.0
        self.sampled = self.sign * np.unique(self.sign * self._sampled())
        self.times = self.sign * np.unique(self.sign * np.append(self.nodes, self.sampled))
        self.done = 0
        self.carried: Certificate | None = None

    @cached_property
    def _sizes(self) -> Mapping[str, float]:
        """How large each state is in the run's samples, which may lie on disk."""
        return {name: float(np.max(np.abs(row))) for name, row in self.run.states.items()}

    def _sampled(self) -> np.ndarray:
        """Return the run's sample times that lie within steps, where nothing jumps."""
        times = self.run.times
        if not len(self.starts):
            return times[:0]
        order = self.sign * self.starts
        step = np.searchsorted(order, self.sign * times, side="right") - 1
        inside = (step >= 0) & ~np.isin(times, self.starts)
        last = self.ends[np.maximum(step, 0)]
        return times[inside & (self.sign * (last - times) > 0.0)]

    def gather(self, state: RunState, most: float) -> None:
        """Take what a run has sampled since the last time, if it is enough and will stay."""
        record = state.record
        times = record.sample_times
        if not times or not len(self.nodes):
            return
        whole = self.sign * (times[-1] - self.nodes[-1]) >= 0.0
        enough = whole or len(times) >= most * len(PLACES)
        if not enough or not (state.monitor.settled or not most):
            return
        samples = state.assembly.samples()
        self._hold_samples(samples.times, samples.states)
        count = len(PLACES)
        wanted = self.nodes[self.done * count :]
        position = np.searchsorted(self.sign * samples.times, self.sign * wanted)
        known = position < len(samples.times)
        known[known] = samples.times[position[known]] == wanted[known]
        # A run may have taken steps back where it ended.
        reached = len(wanted) if known.all() else int(np.argmin(known))
        place = position[: reached // count * count]
        if len(place):
            modes = np.array([record.sampled_at[int(k)].mode for k in place])
            place = place[self._before_events(modes)]
            firsts: list[int] = place[::count].tolist()
            table = record.mode_table([record.sampled_at[first] for first in firsts])
            series = (samples.states, samples.reactions, samples.outputs)
            columns = {name: row[place] for named in series for name, row in named.items()}
            self._hand_over(columns, table)
        kept = len(samples.times) if not len(place) else int(place[-1]) + 1
        record.sample_times = record.sample_times[kept:]
        record.samples, record.sampled_at = record.samples[kept:], record.sampled_at[kept:]
        if self.done == len(self.starts):
            raise PassedError

    def _before_events(self, modes: np.ndarray) -> np.ndarray:
        """Return by which nodes to replace each of the next ones, of which these are the modes.

        Where a run is integrated once more, an event may come earlier by the rounding of its time.
        Nodes beyond it, at the end of a step before it, are replaced by the last one before it.
        """
        count = len(PLACES)
        modes = modes.reshape(-1, count)
        steps = slice(self.done, self.done + len(modes))
        ends, nodes = self.ends[steps], self.nodes.reshape(-1, count)[steps]
        blur = EVENT_ROUNDING * np.maximum(1.0, np.abs(ends))
        beyond = (modes != modes[:, :1]) & (np.abs(ends[:, None] - nodes) <= blur[:, None])
        own = np.where(beyond, count - 1 - np.sum(beyond, axis=1, keepdims=True), np.arange(count))
        return (own + count * np.arange(len(modes))[:, None]).ravel()

    def read(self, state: RunState, most: float) -> None:
        """Take the nodes of a run that has kept the motion within its steps."""
        assert state.motion is not None
        assembly, count = state.assembly, len(PLACES)
        while self.done < len(self.starts):
            last = int(min(self.done + most, len(self.starts)))
            nodes = self.nodes[self.done * count : last * count]
            ends = self.sign * self.starts[self.done], self.sign * self.ends[last - 1]
            order = self.sign * self.sampled
            sampled = self.sampled[(order >= ends[0]) & (order < ends[1])]
            for piece, which, table in state.motion.states(sampled):
                columns_of_piece = assembly.columns(piece, sampled[which], table)
                self._hold_samples(sampled[which], columns_of_piece)
            parts: list[dict[str, np.ndarray]] = []
            modes: list[np.ndarray] = []
            for piece, which, table in state.motion.states(nodes):
                parts.append(assembly.columns(piece, nodes[which], table))
                modes += [piece.values] * (len(table) // count)
            columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            self._hand_over(columns, np.array(modes))

    def _hand_over(self, columns: Mapping[str, np.ndarray], table: np.ndarray) -> None:
        """Hand over the next steps by the values at their nodes; each row with the p of a step."""
        prepared, shape = self.auditor.prepared, (-1, len(PLACES))
        nodes = {name: row.reshape(shape) for name, row in columns.items()}
        count = len(next(iter(nodes.values())))
        steps = slice(self.done, self.done + count)
        table = np.broadcast_to(table, (count, table.shape[-1]))
        places = {name: k for k, name in enumerate(prepared.problem.values)}
        numbers = dict(zip(prepared.problem.values, prepared.values.tolist(), strict=True))
        # A part begins with the last step of the one before.
        begin = float(self.starts[max(steps.start - 1, 0)])
        request = prepared.request
        part = Certificate(
            system=prepared.system,
            parameters=numbers | dict(prepared.parameters),
            starts=self.starts[steps],
            lengths=self.lengths[steps],
            columns=nodes,
            values={name: table[:, places[name]] for name in held_in(prepared)},
            events=self._events_of(begin, float(self.ends[steps.stop - 1])),
            accuracy=prepared.solver.step_tolerance,
            law=request.impact if request.on_gain != "poisson" else "poisson",
            gains_allowed=request.on_gain == "report",
            ambiguous=request.on_ambiguous == "keep",
            given=self.given if steps.start == 0 else {},
            scales=self.scales,
            driven={n: abs(rate) for n, rate in prepared.rates.items() if rate is not None},
            decided=_decided(prepared),
            mobility=getattr(prepared.formulation, "mobility", 0.0),
            continues=request.begun is not None or self.starts[steps.start] != prepared.start_time,
        )
        self.done = steps.stop
        # With the last step of the part before, so that nothing is missed between the two.
        self.take(part if self.carried is None else self.carried.followed_by(part))
        self.carried = part.only([-1])

    @cached_property
    def _events(self) -> tuple[Sequence[EventRecord], np.ndarray]:
        """The run's events, which may lie on disk, and their times, so that they grow."""
        events = self.run.events
        return events, self.sign * np.array([event.time for event in events])

    def _events_of(self, first: float, last: float) -> Sequence[EventRecord]:
        """Return the events from the start of a part to its end, with those at both."""
        events, times = self._events
        slack = ROUNDING * 100.0 * max(1.0, abs(first), abs(last))
        begin = np.searchsorted(times, self.sign * first - slack)
        end = np.searchsorted(times, self.sign * last + slack, side="right")
        return events[int(begin) : int(end)]

    def _hold_samples(self, moments: np.ndarray, states: Mapping[str, np.ndarray]) -> None:
        """Compare the run's samples with the motion at some moments."""
        times = self.run.times
        position = np.searchsorted(self.sign * moments, self.sign * times)
        known = position < len(moments)
        known[known] = moments[position[known]] == times[known]
        if not known.any():
            return
        rounding = ROUNDING / SAME * max(self._sizes.values(), default=0.0) + 1e-300
        for name, size in self._sizes.items():
            off = np.abs(self.run.states[name][known] - states[name][position[known]])
            worst = int(np.argmax(off))
            off = float(off[worst]) / (size + rounding)
            self.defects.append((off, name, float(times[known][worst])))
