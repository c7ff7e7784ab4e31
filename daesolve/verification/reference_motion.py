"""A motion in quadruple precision: steps of Taylor's method, events, resets, samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daesolve.contact.posing.contact_rows import brakes_in, contacts_in
from daesolve.core.events.instant import INSTANT, SimultaneousResets
from daesolve.core.events.law import Jump
from daesolve.core.expressions.series import missing_in_series
from daesolve.core.expressions.translation import constants_function
from daesolve.core.posing.events import Direction
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.run.integration.event_handling import going_on, past_at_start
from daesolve.core.solvers.heyoka_code import hy, translated
from daesolve.errors import ChatteringError, ResetError, UnsupportedError, VariantError
from daesolve.verification.quadruple import Moment, QuadTransitions, array_of, evaluate, quad

PIECE = 200
"""Steps after which progress is reported, and the run ends if there is none."""
STUCK = 1e-6
"""A piece that covers less than this part of the run leads nowhere."""
AWAY = 1e-6
"""The fraction of a step with which a guard that is zero is left: from there heyoka would not find
the next zero."""
ONCE = 1e-14
"""Guards of one event pass at one instant if their times differ by less than this fraction of the
time, as in `RunState`."""
HALVINGS = 120
"""How often a step is halved to find a zero that heyoka did not find: to the last of 113 bits."""

Progress = Callable[[float], None]
"""Called with the time reached."""


@dataclass(frozen=True)
class QuadrupleState:
    """A point of the motion, in 113 bits; `mode` is the index of p."""

    time: Any
    x: Any
    mode: int


@dataclass(frozen=True)
class ReferenceEvent:
    """An event of the motion: its name, where it was met and where the motion went on."""

    name: str
    at: QuadrupleState
    fired: tuple[int, ...]
    after: QuadrupleState | None = None
    jump: Jump | None = None


@dataclass
class MotionRecord:
    """The record of a motion; `modes` are the values of p, `message` says why it ended."""

    modes: list[Any]
    samples: list[QuadrupleState] = field(default_factory=list[QuadrupleState])
    events: list[ReferenceEvent] = field(default_factory=list[ReferenceEvent])
    steps: int = 0
    message: str = ""


class QuadMotion:
    """Integrates a prepared run from a start to the last of some times.

    Parameters
    ----------
    prepared
        In a formulation without charts.
    start, p
        The start and the values, in 113 bits.
    tolerance
        Relative tolerance of a step.

    Raises
    ------
    UnsupportedError
        The guard of an event has no Taylor series; the message names the event.
    """

    def __init__(self, prepared: Prepared, start: Any, p: Any, tolerance: float) -> None:
        self.prepared, problem = prepared, prepared.problem
        missing = missing_in_series(problem.guards)
        if missing:
            raise UnsupportedError(
                "a reference in quadruple precision cannot find the events "
                f"{', '.join(repr(event.name) for event in problem.events)}: their guards have "
                f"{', '.join(missing)}, which has no Taylor series"
            )
        contacts = (*contacts_in(prepared.dynamics), *brakes_in(prepared.dynamics))
        if contacts:
            raise UnsupportedError(
                "a reference in quadruple precision cannot follow contacts that open, close, stick "
                f"and slide: {', '.join(repr(one.name) for one in contacts)}"
            )
        called = [row.name for row in prepared.dynamics.drives if row.law is not None]
        if called:
            raise UnsupportedError(
                f"a reference in quadruple precision cannot call the law {called[0]!r} in "
                "Python: have it traced (traced=True)"
            )
        self.here = QuadrupleState(quad(prepared.start_time), start, 0)
        self.record = MotionRecord([p])
        self.transitions = QuadTransitions(prepared) if problem.events else None
        self.instant = SimultaneousResets(INSTANT * prepared.segment)
        self.sign = 1.0 if prepared.until >= prepared.start_time else -1.0
        self._met: list[tuple[int, Any]] = []
        self._compile(tolerance)

    def _compile(self, tolerance: float) -> None:
        problem = self.prepared.problem
        rates = translated(problem.rhs)
        guards = translated(problem.guards, len(rates.hoisted))
        self._hoisted = [constants_function(part.function, 2) for part in (rates, guards)]
        self._interrupting: list[int] = []
        ending, passing = [], []
        # Guards of values alone pass through zero at resets, and not between them.
        moving = {row for k in (0, 1) for row in problem.guards.jac_sparsity(0, k).row()}
        ways = {
            Direction.FALLING: hy.event_direction.negative,
            Direction.RISING: hy.event_direction.positive,
            Direction.EITHER: hy.event_direction.any,
        }
        for index, event in enumerate(problem.guarded):
            guard, way = guards.expressions[index], ways[event.direction]
            if index not in moving:
                continue
            if event.then.interrupts:
                ending.append(hy.t_event(guard, direction=way, fp_type=hy.real))
                self._interrupting.append(index)
            else:
                noted = _GuardNotes(self._met, index)
                passing.append(hy.nt_event(guard, noted, direction=way, fp_type=hy.real))
        self.integrator = hy.taylor_adaptive(
            list(zip(rates.variables, rates.expressions, strict=True)),
            self.here.x.copy(),
            time=self.here.time,
            tol=quad(tolerance),
            fp_type=hy.real,
            high_accuracy=True,
            compact_mode=True,
            opt_level=0,
            t_events=ending,
            nt_events=passing,
        )
        self._set_parameters(self.record.modes[0])

    def _set_parameters(self, p: Any) -> None:
        hoisted = [evaluate(function, p)[0] for function in self._hoisted]
        numbers = np.concatenate([p, *hoisted])
        self.integrator.pars[:] = numbers[: len(self.integrator.pars)]

    # -- the motion ---------------------------------------------------------------------------

    def through(self, times: np.ndarray, progress: Progress | None) -> MotionRecord:
        """Integrate to the last of some times, which are in the order of the run."""
        record, until = self.record, quad(times[-1])
        count = int(np.sum(times == self.prepared.start_time))
        record.samples += [self.here] * count
        record.message = self._held_at_start() or self._happen(())
        span = abs(self.prepared.until - self.prepared.start_time)
        began = self.here.time
        while not record.message and self.here.time != until:
            record.message = self._step(until, times)
            record.steps += 1
            if record.steps % PIECE == 0:
                if not record.message and abs(float(self.here.time - began)) < STUCK * span:
                    record.message = self._ended("the steps have become too small to continue")
                began = self.here.time
                if progress is not None:
                    progress(float(self.here.time))
        if progress is not None:
            progress(float(self.here.time))
        return record

    def _step(self, until: Any, times: np.ndarray) -> str:
        """Take a step, to the first event that interrupts; return why the motion ends there."""
        integrator, before = self.integrator, self.here
        self._met.clear()
        farthest, limited = self._farthest(until)
        late = self._late(before)
        outcome, _ = integrator.step(max_delta_t=farthest, write_tc=True)
        if outcome == hy.taylor_outcome.err_nf_state:
            return self._ended("the state is no longer finite")
        time = integrator.time
        if outcome == hy.taylor_outcome.time_limit and not limited:
            time = until
        reached = QuadrupleState(time, integrator.state.copy(), before.mode)
        code = int(outcome)
        found = [self._interrupting[-code - 1]] if 0 > code >= -len(self._interrupting) else []
        missed = [k for k in self._late(reached) if k not in found and k not in late]
        if missed:
            reached, found = self._first_zero(before, reached, missed)
        self._sample(reached, times)
        for index, moment in self._met:
            if self.sign * float(moment - reached.time) <= 0.0:
                self._take_down(index, self._inside(moment))
        if missed:
            integrator.time, integrator.state[:] = reached.time, reached.x
        self.here = reached
        return self._happen(found, late) if found else ""

    def _farthest(self, until: Any) -> tuple[Any, bool]:
        """Return how far to go at most, and whether that is less than to the end."""
        left = until - self.here.time
        if self.transitions is None:
            return left, False
        values, _ = self.transitions.measure(*self._arguments(self.here))
        if 0.0 not in values[self._interrupting]:
            return left, False
        usual = abs(self.integrator.last_h) or abs(left)
        away = self.sign * AWAY * usual
        return (away, True) if abs(away) < abs(left) else (left, False)

    def _inside(self, moment: Any) -> QuadrupleState:
        """Return the place within the last step, by its own series."""
        self.integrator.update_d_output(moment)
        return QuadrupleState(moment, array_of(self.integrator.d_output), self.here.mode)

    def _sample(self, reached: QuadrupleState, times: np.ndarray) -> None:
        samples = self.record.samples
        while len(samples) < len(times):
            moment = times[len(samples)]
            if self.sign * float(quad(moment) - reached.time) > 0.0:
                return
            samples.append(self._inside(quad(moment)))

    # -- events -------------------------------------------------------------------------------

    def _arguments(self, place: QuadrupleState) -> tuple[Moment, Any, Any]:
        return Moment(place.time), place.x, self.record.modes[place.mode]

    def _late(self, place: QuadrupleState) -> list[int]:
        return [] if self.transitions is None else self.transitions.late(*self._arguments(place))

    def _first_zero(
        self, before: QuadrupleState, reached: QuadrupleState, missed: Sequence[int]
    ) -> tuple[QuadrupleState, list[int]]:
        """Return where the first of some guards passed within the last step, and which it is."""
        assert self.transitions is not None
        low, high = before.time, reached
        outside = self.transitions.book.outside(*self._arguments(reached))[missed]
        for _ in range(HALVINGS):
            middle = self._inside((low + high.time) / 2.0)
            zeros = self.transitions.book.outside(*self._arguments(middle))[missed]
            if np.all(zeros < 0.0):
                low = middle.time
            else:
                high, outside = middle, zeros
        return high, [missed[int(np.argmax(outside))]]

    def _held_at_start(self) -> str:
        """Return why the motion ends before it begins, if it does."""
        if self.transitions is None:
            return ""
        guarded, place = self.prepared.problem.guarded, self._arguments(self.here)
        rounded = float(self.here.time), np.asarray(self.here.x, dtype=float), place[2]
        index = past_at_start(self.prepared, rounded, self.transitions.measure(*place)[0])
        if index is None:
            going_on(self.prepared, self.transitions, place)
            return ""
        self._take_down(index, self.here)
        return f"the event {guarded[index].name!r} already holds at the start"

    def _happen(self, found: Sequence[int], past: Sequence[int] = ()) -> str:
        """Do what is due here, until nothing is; return why the motion ends.

        As `events.through`: `past` were past zero all the way here, and have not passed it.
        """
        transitions, guarded = self.transitions, self.prepared.problem.guarded
        if transitions is None:
            return ""
        found = self._interrupted(transitions, found)
        while True:
            arguments = self._arguments(self.here)
            due = {*transitions.due(*arguments)} - {*past}
            due, past = sorted({*found, *due}), ()
            stops = [k for k in due if transitions.stops[k]]
            switches = [k for k in due if transitions.switches[k]]
            for index in stops:
                if index not in switches:
                    self._take_down(index, self.here)
            if transitions.follower(switches) is not None:
                return (
                    f"at t = {arguments[0]:.10g} s dry friction ends the slip, or has slowed "
                    "it so far that scaled time is needed, which quadruple precision does not "
                    "support"
                )
            try:
                found = self._switch(transitions, switches)
            except (ChatteringError, ResetError, VariantError) as error:
                return str(error)
            if stops:
                return f"the event {guarded[stops[0]].name!r} at t = {arguments[0]:.10g} s"
            if not switches:
                return ""

    def _interrupted(self, transitions: QuadTransitions, guards: Sequence[int]) -> list[int]:
        """Record what passes here and changes nothing; return the guards that interrupt."""
        if not guards:
            return []
        arguments, guarded = self._arguments(self.here), self.prepared.problem.guarded
        stops = [k for k in guards if guarded[k].then.reset is None]
        for index in (*stops, *transitions.book.passing(*arguments)):
            self._take_down(index, self.here)
        return transitions.interrupting(*arguments, [(k, arguments[0]) for k in guards])

    def _switch(self, transitions: QuadTransitions, guards: Sequence[int]) -> list[int]:
        """Do what these guards ask for; return the guards of values alone that it switched."""
        if not guards:
            return []
        guarded, arguments = self.prepared.problem.guarded, self._arguments(self.here)
        before = transitions.guards(*arguments)
        self.instant.take(arguments[0], guarded[guards[0]].name)
        for jump in transitions.decide(*arguments, guards):
            self._jump(jump)
        switched = transitions.book.switched(self._arguments(self.here), before, guards)
        for index in switched:
            if not guarded[index].then.interrupts:
                self._take_down(index, self.here)
        return switched

    def _jump(self, jump: Jump) -> None:
        before = self.here
        self.record.modes.append(jump.p)
        self.here = replace(before, x=jump.x, mode=len(self.record.modes) - 1)
        self.integrator.state[:] = jump.x
        self._set_parameters(jump.p)
        for index, fired in jump.events.items():
            name = self.prepared.problem.events[index].name
            if name in self.prepared.dynamics.hidden_events:
                continue
            self.record.events.append(ReferenceEvent(name, before, fired, self.here, jump))
            jump = replace(jump, impact=None)

    def _take_down(self, index: int, place: QuadrupleState) -> None:
        """Record an event that changes nothing: once an instant, with all its guards."""
        guarded, events = self.prepared.problem.guarded, self.record.events
        name, fired = guarded[index].name, index - guarded.index(guarded[index])
        near = ONCE * max(abs(float(place.time)), 1.0)
        for k in reversed(range(len(events))):
            if abs(float(place.time - events[k].at.time)) > near:
                break
            if events[k].name == name:
                events[k] = replace(events[k], fired=tuple(sorted({*events[k].fired, fired})))
                return
        events.append(ReferenceEvent(name, place, (fired,)))

    def _ended(self, why: str) -> str:
        return f"at t = {float(self.integrator.time):.10g} s {why}"


class _GuardNotes:
    """Notes when an event that does not interrupt happens, in the list of its integrator."""

    def __init__(self, met: list[tuple[int, Any]], index: int) -> None:
        self.met, self.index = met, index

    def __call__(self, integrator: Any, time: Any, sign: int) -> None:
        self.met.append((self.index, time))

    def __deepcopy__(self, memo: Any) -> _GuardNotes:
        # heyoka keeps copies of callbacks.
        return self
