"""`Simulator`: steps a system from Python, with inputs held constant over each step.

The system is prepared once, as for a run. A step goes through the same segments, events and jumps
as a run, and ends at the requested time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, Unpack

import numpy as np

from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.request import Request
from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.results import Continuable, Outcome, TrajectoryPoint
from daesolve.core.results.trajectory.trajectory import Trajectory, remember_latest
from daesolve.core.run.integration.effort import Effort
from daesolve.core.run.integration.endings import contradicted
from daesolve.core.run.integration.event_handling import at_start, with_values
from daesolve.core.run.integration.loop import to_boundary
from daesolve.core.run.integration.record import Boundary
from daesolve.core.run.integration.replay import (
    PassedError,
    Stage,
    auditor_of,
    last_before,
    point_after,
)
from daesolve.core.run.integration.run_options import (
    Initial,
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.core.run.integration.run_state import RunState, fresh_state
from daesolve.core.run.integration.sampling import Schedule
from daesolve.core.run.integration.simple_resets import SimpleResets
from daesolve.core.system.system import System
from daesolve.errors import (
    OutOfRangeError,
    RunEndedError,
    StepFailedError,
    UnsupportedError,
    is_number,
)
from daesolve.simulator.restarting import restarted
from daesolve.simulator.step_values import HeldInputs, StepValues

FORGOTTEN = 64
"""Values in force after which a simulator that records nothing keeps the last alone."""
REFUSED = {
    "at": "it is sampled at the end of each step",
    "max_evaluations": "each step has its own end",
}
"""Options of a run that make no sense here."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of a simulator as plain numbers: `Simulator.load` continues from it.

    It can be pickled, and loaded in another process by a simulator of the same system and options.
    """

    time: float
    saved: Mapping[str, Any]


class Simulator:
    """A system that advances step by step, with inputs held constant over each step.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    initial
        Start values to keep, as in `solve`; the others become consistent with them.
    horizon
        About how long the motion will be followed, s: it affects the choice of formulation and
        solver. Nothing ends there.
    record
        Whether the end of every step is kept for `trajectory`. Without it memory use stays
        constant.
    **options
        Those of `solve`, except `at` and `max_evaluations`. `inputs` may give initial numbers; an
        expression, a table or a sampled law in it drives its input automatically.

    Raises
    ------
    DaesolveError
        As in `solve`; `UnsupportedError` for pairs of supports, because their coming to rest is
        integrated in one piece.

    Examples
    --------
    >>> import daesolve as ds
    >>> q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    >>> cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    >>> sim = ds.Simulator(cart, {"x": 0.0})
    >>> values = sim.step(0.5, push=4.0)
    >>> values["x"], values["x_dot"], sim.time  # 2 kg
    (0.25, 1.0, 0.5)
    """

    def __init__(
        self,
        source: Source,
        initial: Initial | None = None,
        *,
        horizon: float = 10.0,
        record: bool = True,
        **options: Unpack[RunOptions],
    ) -> None:
        if not (is_number(horizon) and horizon > 0):
            raise OutOfRangeError(f"the horizon is {horizon!r}, but must be a number > 0")
        check_options("Simulator", options, REFUSED, ("horizon", "record"))
        begin = options.get("start_time")
        if begin is None:
            begin = initial.continuation.time if isinstance(initial, Continuable) else 0.0
        until = begin + horizon if is_number(begin) else math.nan
        system, request, _ = requested_of(source, until, initial, options)
        request, unset = _with_unset(system, request)
        prepared = prepare_once(system, request)
        for addition in prepared.dynamics.additions:
            if addition.whole_motions:
                raise UnsupportedError(f"a simulator does not support {addition.whole_motions}")
        self._first = self._prepared = replace(prepared, until=math.inf)
        self._inputs = HeldInputs(prepared, system, unset)
        self._record = record
        self._begin(self._prepared)

    def _begin(self, prepared: Prepared) -> None:
        """Be at the start of a motion."""
        self._prepared = prepared
        self._run = fresh_state(prepared, [])
        self._run.schedule.until = math.inf
        switched = self._run.transitions is not None
        self._resets = SimpleResets(self._run) if switched else None
        self._here = self._run.start()
        self._rest = 0.0
        self._started = False
        self._verdict: tuple[Outcome, str] | None = None
        self._objection: tuple[Outcome, str] | None = None
        self._origin: Snapshot | None = None
        self._unset = self._inputs.unset
        self._steps: list[tuple[float, Mapping[str, float]]] = []
        self._keep()

    # -- where it is ---------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """S."""
        return self._here.time

    @property
    def values(self) -> StepValues:
        """All current values by name: states, inputs, reactions, outputs."""
        run, here = self._run, self._here
        return StepValues(run.prepared, here, run.values(here), self._inputs)

    @property
    def state(self) -> dict[str, float]:
        """The state by name; angles with their whole turns."""
        return self.values.state

    @property
    def inputs(self) -> dict[str, float]:
        """The current inputs that steps can set, by name."""
        return self._inputs.of(self._run.values(self._here))

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it continues."""
        return None if self._verdict is None else self._verdict[0]

    @property
    def message(self) -> str:
        """Why it ended, in a sentence; empty while it continues."""
        return "" if self._verdict is None else self._verdict[1]

    @property
    def notes(self) -> tuple[str, ...]:
        """Automatic choices, in words."""
        return self._prepared.notes

    def __repr__(self) -> str:
        ended = "" if self._verdict is None else f", {self._verdict[0].value}"
        return f"Simulator(t = {self.time:g} s{ended})"

    # -- going on ------------------------------------------------------------------------------

    def step(self, dt: float, /, **inputs: float) -> StepValues:
        """Advance by a time, with inputs held constant over it.

        Events, resets and impacts on the way happen as in a run. If an event ends the motion, the
        step is shorter: `time` says when, `outcome` and `message` how.

        Parameters
        ----------
        dt
            How long, s.
        **inputs
            Numbers by the names of inputs, valid from now on; inputs left out keep their values.

        Returns
        -------
        StepValues
            All values at the end of the step, by name.

        Raises
        ------
        OutOfRangeError, UnknownNameError, UnsupportedError
            The step is not positive, or an input is unknown or must not jump. Nothing has changed.
        RunEndedError
            The motion has already ended.
        StepFailedError
            The motion cannot continue; the message says why. `state` is the last trustworthy state.
        """
        if self._verdict is not None:
            raise RunEndedError(
                f"the motion ended at t = {self.time:.10g} s ({self._verdict[1]}): load a "
                "snapshot, set a state or reset before the next step"
            )
        target, rest = self._target(dt)
        run, here = self._run, self._here
        p = run.values(here)
        given = self._inputs.given(p, inputs) if inputs or self._inputs.unset else p
        run.effort = Effort(None, run.prepared.mean_step)
        if self._record:
            self._steps.append((dt, inputs))
        verdict = None
        if given is not p:
            here, verdict = self._jumped(here, given)
        if not self._started and verdict is None:
            here, verdict = at_start(run, here)
            run.record.begin_in(here)
        self._started = True
        if verdict is None:
            here, verdict = to_boundary(run, here, target, self._resets)
        self._here, self._rest = here, rest if here.time == target else 0.0
        self._verdict = verdict
        self._keep()
        if verdict is not None and not verdict[0].good:
            raise StepFailedError(verdict[1])
        return self.values

    def _jumped(
        self, here: Boundary, given: np.ndarray
    ) -> tuple[Boundary, tuple[Outcome, str] | None]:
        """Let inputs jump, and modes follow."""
        run = self._run
        here, verdict = with_values(run, here, given, started=self._started)
        settled = run.values(here)
        p = self._inputs.referred(here.time, here.state, settled)
        return here if p is settled else run.in_mode(here, here.state, p), verdict

    def _target(self, dt: float) -> tuple[float, float]:
        """Return when a step ends, and what rounding has left of that: many add up to nothing."""
        if not (is_number(dt) and dt > 0):
            raise OutOfRangeError(f"the step is {dt!r}, but must be a number of seconds > 0")
        time, more = self._here.time, dt + self._rest
        target = time + more
        if not time < target < math.inf:
            raise OutOfRangeError(
                f"the step of {dt:g} s is too small to change t = {time:g} s, or the end time "
                "overflows"
            )
        back = target - time
        return target, (time - (target - back)) + (more - back)

    def _keep(self) -> None:
        """Keep the end of a step, or forget what lies before it."""
        record, here = self._run.record, self._here
        if self._record:
            record.take([here.time], [here.state], here)
            return
        record.boundaries = record.boundaries[-1:]
        record.sample_times, record.samples, record.sampled_at = [], [], []
        record.events = [event for event in record.events if event.time == here.time]
        if len(record.modes) > FORGOTTEN and not self._run.queue.blocks:
            record.modes, record.carried = [self._run.values(here)], 1
            self._here = replace(here, mode=0)
            record.boundaries, record.events = [], []

    # -- other states --------------------------------------------------------------------------

    def reset(self) -> StepValues:
        """Go back to the start, with the current inputs."""
        return self._anew(self._first)

    def set_state(self, values: Mapping[str, float], *, time: float | None = None) -> StepValues:
        """Continue from another state; other values stay as close as constraints allow.

        Contacts whose gaps are zero there touch; earlier records are dropped.

        Parameters
        ----------
        values
            Values by the names of states; they are kept exactly.
        time
            s; None keeps the current time.

        Raises
        ------
        UnknownNameError, InconsistentStateError
            A state is unknown, or no consistent state agrees with the values. Nothing has changed.
        """
        when = self.time if time is None else time
        if not is_number(when):
            raise OutOfRangeError(f"the time is {time!r}, but must be a finite number of seconds")
        return self._anew(restarted(self._first, when, values, self.state, self.inputs))

    def _anew(self, prepared: Prepared) -> StepValues:
        held = self._inputs.of(self._run.values(self._here))
        values = prepared.values.copy()
        for name, place in self._inputs.places.items():
            values[place] = held[name]
        self._begin(replace(prepared, values=values))
        return self.values

    def save(self) -> Snapshot:
        """Return a snapshot, from which `load` continues with the same bits."""
        record = self._run.record
        record.boundaries = record.boundaries or [self._here]
        saved = dict(self._run.saved(self._here))
        saved["tally"] = asdict(saved["tally"])
        own = {
            "rest": self._rest,
            "started": self._started,
            "unset": tuple(sorted(self._inputs.unset)),
            "verdict": None if self._verdict is None else (self._verdict[0].value, self.message),
        }
        return Snapshot(self.time, {**saved, "simulator": own})

    def load(self, snapshot: Snapshot) -> StepValues:
        """Continue from a snapshot of `save`; the record begins there.

        Raises
        ------
        OutOfRangeError
            It is not a snapshot of a simulator of this system.
        """
        if not isinstance(snapshot, Snapshot):
            raise OutOfRangeError(
                f"{snapshot!r} is not a snapshot: give the value that save() returned"
            )
        saved, own = snapshot.saved, snapshot.saved["simulator"]
        here = saved["here"]
        run = self._run
        if len(here["state"]) != run.prepared.problem.size or len(here["values"]) != len(
            run.prepared.values
        ):
            raise OutOfRangeError("the snapshot belongs to another system")
        self._begin(self._first)
        run = self._run
        run.record.sample_times, run.record.samples, run.record.sampled_at = [], [], []
        self._here = run.restore(saved)
        self._rest, self._started = float(own["rest"]), bool(own["started"])
        self._inputs.unset = frozenset(own["unset"])
        ended = own["verdict"]
        self._verdict = None if ended is None else (Outcome(ended[0]), str(ended[1]))
        self._origin, self._unset = snapshot, self._inputs.unset
        self._keep()
        return self.values

    def copy(self) -> Self:
        """Return another simulator in the same state, without preparing anything again."""
        other = object.__new__(type(self))
        other._first, other._record = self._first, self._record
        other._inputs = HeldInputs.like(self._inputs)
        other._begin(self._first)
        other.load(self.save())
        return other

    # -- what was recorded ---------------------------------------------------------------------

    def trajectory(self) -> Trajectory:
        """Return the motion since the start, or since a state was set or loaded, as a trajectory.

        Its samples are the ends of the steps, with the inputs held up to there.

        Raises
        ------
        UnsupportedError
            Nothing was recorded.
        """
        if not self._record:
            raise UnsupportedError(
                "nothing was recorded: to get a trajectory, create the simulator without "
                "record=False"
            )
        run, here = self._run, self._here
        until = replace(self._prepared, until=here.time)
        outcome, message = self._verdict or (Outcome.COMPLETED, "")
        untrusted = run.monitor.untrusted_sentence()
        self._objection = self._objection or contradicted(run)
        if outcome.good and untrusted:
            outcome, message = Outcome.FAILED, f"the numbers are {untrusted}"
        elif outcome.good and self._objection is not None:
            outcome, message = self._objection
        run.record.boundaries.append(here)
        assembly = replace(run.assembly, prepared=until)
        made = assembly.trajectory(outcome, message, assembly.samples())
        last = here.time

        def point(moment: float) -> TrajectoryPoint:
            return _point(run, self._prepared.start_time, last, moment)

        auditor = self._auditor(until)
        return remember_latest(replace(made, _evaluate=point, auditor=auditor))

    def _auditor(self, prepared: Prepared) -> Callable[[Trajectory], Audit] | None:
        """Return what audits the motion so far: it is stepped once more, with the same inputs."""
        first, origin, steps = self._prepared, self._origin, tuple(self._steps)
        begun = [] if origin is None else [np.array([origin.time])]
        ends = [*begun, *self._run.monitor.first_steps.ends]
        stage = Stage(None if origin is None else origin.saved, self.time, ends)
        inputs = HeldInputs.like(self._inputs)
        inputs.unset = self._unset

        def again(
            stage: Stage, at: Sequence[float] | np.ndarray, look: Callable[[RunState], None]
        ) -> RunState:
            other = object.__new__(type(self))
            other._first, other._record, other._inputs = first, True, HeldInputs.like(inputs)
            other._begin(first)
            if origin is not None:
                other.load(origin)
            other._run.schedule = Schedule(at, first.start_time, stage.until)
            with suppress(PassedError):
                for dt, given in steps:
                    with suppress(StepFailedError):
                        other.step(dt, **given)
                    look(other._run)
            return other._run

        return auditor_of(prepared, lambda: [stage], again)


def _point(run: RunState, first: float, last: float, moment: float) -> TrajectoryPoint:
    """Integrate from the last boundary before a time."""
    if not is_number(moment):
        raise OutOfRangeError(f"the time is {moment!r}, but must be a number")
    if not first <= moment <= last:
        raise OutOfRangeError(f"the motion covers {first:g} to {last:g} s, not t = {moment:g} s")
    before = last_before(run, moment)
    if before is None:
        raise OutOfRangeError(f"t = {moment:g} s is before the first recorded time")
    return point_after(run, before, moment)


def _with_unset(system: System, request: Request) -> tuple[Request, frozenset[str]]:
    """Return a request in which all inputs have numbers, and those that have none of their own."""
    missing = system.inputs.unset - {*request.inputs} - {*request.parameters}
    numbers = dict.fromkeys(missing, 0.0)
    return replace(request, inputs={**request.inputs, **numbers}), frozenset(missing)
