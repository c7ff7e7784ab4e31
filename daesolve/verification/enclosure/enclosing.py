"""A run enclosed: the events of a computed run are followed with sets of states, and proved.

The computed run says which events happen, and about when; the sets prove that exactly these happen.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.preparation.prepared import Prepared
from daesolve.core.results.trajectory.certificate import CertifiedEvent, RunCertificate
from daesolve.verification.enclosure.contact_changes import contact_guards
from daesolve.verification.enclosure.crossings import (
    EnclosedPassage,
    NotCertifiedError,
    SetCrossing,
    cross,
)
from daesolve.verification.enclosure.equations import (
    CertifiedEquations,
    as_exact,
    depending,
    needed,
)
from daesolve.verification.enclosure.exact import (
    evaluate,
    exact,
    from_exact,
    span_between,
    to_exact,
)
from daesolve.verification.enclosure.exact_start import ConstraintManifold, exact_start
from daesolve.verification.enclosure.expected_events import ExpectedEvent
from daesolve.verification.enclosure.field import PoleError
from daesolve.verification.enclosure.interval_matrices import UP, IntervalMatrix
from daesolve.verification.enclosure.quantities import EnclosedQuantities
from daesolve.verification.enclosure.state_sets import StateSet
from daesolve.verification.enclosure.steps import Step, Stepping, Tables, apart, tables_of
from daesolve.verification.enclosure.watching import stays_quiet

ORDER = 32
"""Of Taylor's polynomials: their remainders then are of the size of rounding of two doubles."""
TOLERANCE = 1e-28
"""What the remainder of a step may be, relative."""
SLOPE_TOLERANCE = 1e-7
"""What those of derivatives may be, which widen a set by this part of it."""
DRAWN = 10
"""After so many steps a set is drawn to the constraints."""
WIDEST = 0.5
"""The half-width of a state, relative to its size (at least 1), at which nothing is left to say."""


@dataclass
class Enclosure:
    """A run, enclosed step by step.

    Parameters
    ----------
    prepared
        What was run, in a formulation without charts.
    events
        The events of the computed run.
    samples
        The sample times, s.
    radii
        How uncertain start values and parameters are, by name.
    progress
        Called with the time reached.
    slope_tolerance
        What the remainders of derivatives by the start may be, relative.
    """

    prepared: Prepared
    events: Sequence[ExpectedEvent]
    samples: np.ndarray
    radii: Mapping[str, float] = field(default_factory=dict[str, float])
    progress: Callable[[float], None] | None = None
    slope_tolerance: float = SLOPE_TOLERANCE

    def __post_init__(self) -> None:
        problem = self.prepared.problem
        plain = CertifiedEquations(problem, ())
        names = list(problem.values)
        resets = {id(e.reset): e.reset for e in self.events if e.reset is not None}
        uncertain = {names.index(name) for name in self.radii if name in names}
        self._read = _read(plain, resets.values())
        moving = depending(plain, list(resets.values())) & self._read
        self.equations = CertifiedEquations(problem, tuple(sorted(uncertain | moving)))
        self.guards = problem.guarded
        self._contacts = contact_guards(self.prepared)
        self._just: Mapping[int, int] = {}
        self._jumps = {key: self.equations.jump(reset) for key, reset in resets.items()}
        self._passages = {
            (e.guard, id(e.reset)): EnclosedPassage(
                e.guard,
                self.guards[e.guard].direction,
                self.equations.guard(e.guard),
                self._jumps.get(id(e.reset)),
                e.reset is None or self.equations.continues(e.guard, e.reset),
                tuple(e.zeros),
            )
            for e in self.events
        }

    def certificate(self, until: float, given: Collection[str]) -> RunCertificate:
        """Enclose the motion as far as possible."""
        began = clock.process_time()
        prepared, n = self.prepared, self.equations.states
        message = ""
        try:
            self.follow(self.begin(given)[0], until)
        except NotCertifiedError as reason:
            message = str(reason)
        states, size = prepared.problem.labels.states[:n], self.equations.size
        rows = {name: size + k for k, name in enumerate(self._quantities.names)}
        rows |= {name: k for k, name in enumerate(states)}
        shape = len(self._boxes), size + len(self._quantities.names), 3
        table = np.array(self._boxes).reshape(shape)
        return RunCertificate(
            times=np.array(self._times),
            states=states,
            centres={name: table[:, k, 0] for name, k in rows.items()},
            radii={name: table[:, k, 2] for name, k in rows.items()},
            offsets={name: table[:, k, 1] for name, k in rows.items()},
            events=tuple(self._events),
            until=self._time,
            message=message,
            steps=self._steps,
            seconds=clock.process_time() - began,
        )

    def begin(
        self, given: Collection[str], state: np.ndarray | None = None
    ) -> tuple[StateSet, list[int]]:
        """Return the set at the start, and which states follow from the others there.

        Parameters
        ----------
        given
            The names of the states that keep their values.
        state
            (n, 2) the start in two doubles; None for that of the run.
        """
        prepared, equations = self.prepared, self.equations
        self._time, self._clear, self._just = prepared.start_time, -np.inf, {}
        self._events: list[CertifiedEvent] = []
        self._steps = 0
        self._p = as_exact(prepared.values)
        if state is None:
            state = np.column_stack([prepared.start.state, np.zeros(equations.states)])
        carried = [[prepared.values[k], 0.0] for k in equations.carried]
        whole = np.concatenate([state, np.reshape(carried, (-1, 2))])
        found, dependent = exact_start(
            equations, prepared.dynamics, self._time, whole, self._p, given, self.radii
        )
        self._quantities = EnclosedQuantities(equations, prepared.dynamics)
        # What was not moved is exactly what it was: only so a slip is known to be zero.
        box, names = found.box, prepared.problem.labels.states
        for k, name in enumerate(names):
            if k not in dependent and name not in self.radii:
                box[k] = [*whole[k], 0.0]
        self._first = [to_exact(ball) for ball in box]
        self._sample_at_start(found)
        return found, dependent

    def follow(self, start: StateSet, until: float) -> StateSet:
        """Return the set at a time, through all events.

        Raises
        ------
        NotCertifiedError
            It cannot be proved; the message says why.
        """
        at_start = [event for event in self.events if event.time <= self._time]
        self._start_mode(at_start)
        for event in self.events[len(at_start) :]:
            start = self._advance(start, event.time, event.guard)
            crossing = self._through(event, start, self._p)
            start, self._p = crossing.after, crossing.p
            self._just = {event.guard: 1} if self._passage(event).continues else event.zeros
            self._check(event, self._p)
            if event.reset is not None:
                self._check_contacts(crossing.near, crossing.behind, event.name)
        return self._advance(start, until, None)

    def follow_on(self, start: StateSet, moment: Any) -> StateSet:
        """Return the set at a moment, a ball of python-flint, that one step reaches.

        Raises
        ------
        NotCertifiedError
            There is no such step.
        """
        end = float(np.nextafter(float((moment.mid() + moment.rad()).mid()), np.inf))
        step = self._stepping().step(start, self._time, end)
        if step is None or step.end != end:
            raise NotCertifiedError(f"no step can be proved from t = {self._time:.10g} s on")
        self._watch(step, self._p, self._just, None)
        return step.at(np.array(from_exact(moment - exact(step.time))))

    def rates_at(self, box: np.ndarray) -> list[Any]:
        """Return the rates over a box, (size, 3), in the present mode, as balls of python-flint."""
        moment = [to_exact((self._time, 0.0, 0.0))]
        return evaluate(self.equations.slopes, moment, [to_exact(b) for b in box], self._p)[0]

    @cached_property
    def _tables(self) -> Tables:
        return tables_of(self.equations)

    def _stepping(self) -> Stepping:
        return Stepping(
            self._tables, self._p, ORDER, TOLERANCE, slope_tolerance=self.slope_tolerance
        )

    def _start_mode(self, events: Sequence[ExpectedEvent]) -> None:
        """Take the values of the mode in which the motion begins, and prove that it is right."""
        moment, box = to_exact((self._time, 0.0, 0.0)), self._first
        for event in events:
            self._p = evaluate(self._jumps[id(event.reset)], [moment], box, self._p)[1]
            self._events.append(CertifiedEvent(event.name, event.time, 0.0, 0.0))
        self._just = events[-1].zeros if events else {}
        if not events:
            values = evaluate(self.equations.all_guards, [moment], box, self._p)[0]
            self._just = {k: 1 for k in self._contacts if values[k] == 0}
        self._check_contacts(moment, box, "the start")

    def _check_contacts(self, near: Any, within: list[Any], name: str) -> None:
        """Prove that the conditions of all contacts hold as a mode begins.

        Raises
        ------
        NotCertifiedError
            One may not hold.
        """
        if not self._contacts:
            return
        values = evaluate(self.equations.all_guards, [near], within, self._p)[0]
        moving = self.equations.moving[0]
        highest = max(self._just.values(), default=0)
        box, moment = np.array([from_exact(b) for b in within]), np.array(from_exact(near))
        field = self._stepping().plain
        try:
            series = field.followed(field.series(moment, box, highest))
        except PoleError:
            raise NotCertifiedError(f"after {name!r} the equations may have no series") from None
        smooth = self.equations.smooth
        for k in self._contacts:
            value = values[k]
            if k in self._just and k in smooth:
                value = to_exact(series[smooth.index(k), self._just[k]])
            # What is zero all along, as the reserve of a friction at its limit, goes on so.
            if not (value > 0 if k in moving else value >= 0):
                raise NotCertifiedError(
                    f"after {name!r} at t = {self._time:.10g} s it cannot be decided whether "
                    f"{self.guards[k].name!r} follows at once"
                )

    def _check(self, event: ExpectedEvent, p: list[Any]) -> None:
        """Refuse to go on with a choice that is not decided."""
        read = self._read - {*self.equations.carried}
        if not all(p[k].is_finite() for k in read):
            raise NotCertifiedError(
                f"what {event.name!r} chooses at t = {event.time:.10g} s cannot be decided"
            )

    def _sample_at_start(self, start: StateSet) -> None:
        self._times = [time for time in self.samples.tolist() if time <= self._time]
        here = start.point, IntervalMatrix.exact(np.eye(self.equations.size))
        self._boxes = [self._box(time, start, here) for time in self._times]
        self._ahead = self.samples[len(self._times) :].tolist()[::-1]

    def _advance(self, start: StateSet, until: float, expected: int | None) -> StateSet:
        """Return the set at a time, without any event on the way."""
        p, stepping = self._p, self._stepping()
        manifold = ConstraintManifold(self.equations, self.prepared.dynamics, self._time, p)
        while self._time < until:
            step = stepping.step(start, self._time, until)
            if step is None:
                raise NotCertifiedError(f"no step can be proved from t = {self._time:.10g} s on")
            self._watch(step, p, self._just, expected if step.end == until else None)
            self._sample(step)
            start, self._just = step.at(apart(step.end, step.time)), {}
            self._time, self._steps = step.end, self._steps + 1
            if self._steps % DRAWN == 0:
                start = manifold.drawn(self._time, start)
            sizes = np.maximum(np.abs(start.centre[:, 0]), 1.0)
            if not np.all(start.radii < WIDEST * sizes):
                raise NotCertifiedError(f"the boxes are too wide from t = {self._time:.10g} s on")
            if self.progress is not None:
                self.progress(self._time)
        return start

    def _watch(
        self, step: Step, p: list[Any], just: Mapping[int, int], expected: int | None
    ) -> None:
        """Prove that no guard fires within a step, but the expected one at its end."""
        length = (step.end - step.time) * (1.0 + 1e-15)
        places, function = self.equations.others
        fires = [
            k
            for k, series in zip(self.equations.smooth, step.guards, strict=True)
            if not stays_quiet(
                series, length, self.guards[k].direction, began=just.get(k, 0), ends=k == expected
            )
        ]
        if places:
            moment = [span_between(step.time, step.end)]
            values = evaluate(function, moment, [to_exact(ball) for ball in step.within], p)[0]
            fires += [k for k, value in zip(places, values, strict=True) if value.contains(0)]
        if fires:
            raise NotCertifiedError(
                f"whether {self.guards[fires[0]].name!r} happens between t = {step.time:.10g} and "
                f"{step.end:.10g} s cannot be decided"
            )

    def _sample(self, step: Step) -> None:
        while self._ahead and self._ahead[-1] <= step.end:
            moment = self._ahead.pop()
            if moment > self._clear:
                self._times.append(moment)
                where = step.image(apart(moment, step.time))
                self._boxes.append(self._box(moment, step.start, where))

    def _box(
        self, moment: float, start: StateSet, where: tuple[np.ndarray, IntervalMatrix]
    ) -> np.ndarray:
        """Return the box of the states, and beneath it those of the quantities."""
        image, slopes = where
        box = image.copy()
        box[:, 2] = (box[:, 2] + start.errors(slopes)) * UP
        return np.concatenate([box, self._quantities.at(moment, start, where, self._p)])

    def _passage(self, event: ExpectedEvent) -> EnclosedPassage:
        return self._passages[event.guard, id(event.reset)]

    def _through(self, event: ExpectedEvent, reached: StateSet, p: list[Any]) -> SetCrossing:
        try:
            found = cross(self.equations, event.time, reached, p, self._passage(event))
        except NotCertifiedError as reason:
            raise NotCertifiedError(
                f"{event.name!r} at t = {event.time:.10g} s: {reason}"
            ) from None
        high, low, radius = found.delay
        width = float((abs(low) + radius) * (1.0 + 1e-15))
        reach = abs(high) + width
        if event.time - reach <= self._clear:
            raise NotCertifiedError(
                f"which of two events about t = {event.time:.10g} s is first cannot be decided"
            )
        # Beside an event, a sample may be before or after it.
        self._clear = float(np.nextafter(event.time + reach, np.inf))
        while self._times and self._times[-1] >= event.time - reach * (1.0 + 1e-15):
            self._times.pop()
            self._boxes.pop()
        self._events.append(CertifiedEvent(event.name, event.time, float(high), width))
        return found


def _read(equations: CertifiedEquations, resets: Collection[ca.Function]) -> set[int]:
    """Return the places in p on which the motion and its resets depend."""
    t, s, p = equations.symbols
    columns = [equations.rates, equations.guards]
    columns += [equations.jump(reset)(t, s, p)[0] for reset in resets]
    return needed(equations, columns)
