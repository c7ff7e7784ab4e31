"""The end of a sliding motion: to the stop, through switches of the loaded supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import scipy

from daesolve.contact.following import EPSILON, root
from daesolve.contact.friction.scaled_time import LEAST, ScaledTime, SlidingMotion
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.errors import BranchLost, OutOfRangeError, VariantError, is_number

STRICTER = 0.01
"""The accepted error of a step, as a fraction of the tolerance."""
LOOKS = 4
"""The number of parts of a step at whose ends the guards are evaluated."""
FASTER = float(np.e)
"""The factor over the initial speed beyond which the motion is not about to stop."""
MOST_STEPS = 20000

Within = Callable[[float], np.ndarray]
"""Maps the progress of a step in tau to the scaled state there, by the method's interpolant."""


class RestStatus(Enum):
    """The ending of a motion in scaled time."""

    AT_REST = "the body came to rest"
    SPEEDS_UP = "the body moves faster than before: it does not come to rest here"
    REACHED = "the time ended before the stop"
    LOST = "no choice of the loaded supports continues the motion"
    FAILED = "the motion could not be integrated to the stop"


@dataclass(frozen=True, eq=False)
class GuardPassage:
    """A guard's passage through zero: its number, time (s) and place, and the values after it."""

    guard: int
    time: float
    state: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class SmoothPiece:
    """The accepted steps between two switches, and the values that held."""

    values: np.ndarray
    steps: StepBlock


@dataclass(frozen=True, eq=False)
class Rest:
    """The end of a sliding motion.

    Parameters
    ----------
    status
        Whether it came to rest, or why not.
    time
        The time of the stop, or of the end of the motion in scaled time; s.
    state
        (nx,) there; at rest its velocities are zero.
    limit
        (nx,) the last state whose velocities have a direction: with the smallest speed for which
        friction is evaluated at the stop, otherwise equal to `state`.
    values
        The discrete values there.
    direction
        (nv,) the velocities over the speed, in the limit.
    deceleration
        kappa, in the metric of the motion; negative where the speed grows.
    settled
        Whether the direction has a limit. If it has none although the speed went to zero, the stop
        is known, but not the direction of approach.
    switches, pieces
        The switches on the way, and the accepted steps between them.
    samples
        (j, nx) states at the requested times that were reached.
    error
        The error that ended it, if the status is `LOST`.
    message
        A sentence.
    evaluations
        The number of evaluations of the rate.
    """

    status: RestStatus
    time: float
    state: np.ndarray
    limit: np.ndarray
    values: np.ndarray
    direction: np.ndarray
    deceleration: float
    settled: bool
    switches: tuple[GuardPassage, ...]
    pieces: tuple[SmoothPiece, ...] = field(repr=False)
    samples: np.ndarray = field(repr=False)
    error: VariantError | None
    message: str
    evaluations: int


def come_to_rest(
    motion: SlidingMotion,
    time: float,
    state: np.ndarray,
    values: np.ndarray,
    *,
    until: float = np.inf,
    tolerance: float = 1e-12,
    times: Sequence[float] | np.ndarray = (),
) -> Rest:
    """Integrate a sliding motion in scaled time, to its stop.

    Parameters
    ----------
    motion
        Its rate, guards and switches.
    time, state, values
        The start: s, (nx,), and the discrete values.
    until
        The latest time of interest, s.
    tolerance
        The relative tolerance of the stop's time, of switches and of the states.
    times
        Increasing times at which to return states, s.

    Returns
    -------
    Rest
        The end. The body is at rest once t + s / kappa and the direction no longer change.

    Raises
    ------
    OutOfRangeError
        The body is already at rest, or a number is out of range.
    """
    _check(motion, time, state, until, tolerance, np.asarray(times, dtype=float))
    return _Phase(ScaledTime(motion, time, np.asarray(state, dtype=float)), tolerance).run(
        np.asarray(values, dtype=float), until, [float(moment) for moment in times]
    )


def _check(
    motion: SlidingMotion,
    time: float,
    state: np.ndarray,
    until: float,
    tolerance: float,
    times: np.ndarray,
) -> None:
    if not np.all(np.isfinite(state)) or not np.any(state[motion.velocities]):
        raise OutOfRangeError("coming to rest needs a finite state in which the body moves")
    if not is_number(tolerance) or not 10 * EPSILON <= tolerance <= 1e-3:
        raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must lie in [2.3e-15, 1e-3]")
    if not until > time:
        raise OutOfRangeError(f"until = {until!r} s is not after the start, {time!r} s")
    if np.any(np.diff(times) < 0.0) or np.any(times < time):
        raise OutOfRangeError("times must increase, from the start of the motion on")


class _Phase:
    """Steps in scaled time; the equations do not depend on tau, so each step starts at 0."""

    def __init__(self, scaled: ScaledTime, tolerance: float) -> None:
        self.scaled, self.tolerance = scaled, tolerance
        self.here = scaled.start
        self.derivative = np.zeros_like(self.here)
        self.evaluations = 0
        self.switches: list[GuardPassage] = []
        self.pieces: list[SmoothPiece] = []
        self.samples: list[np.ndarray] = []
        self.steps: list[np.ndarray] = []

    def run(self, values: np.ndarray, until: float, times: list[float]) -> Rest:
        """Integrate piece by piece."""
        self.values, self.until, self.times = values, until, times
        self._take_samples(lambda moment: self.here, self.scaled.start_time)
        status, error, message = None, None, ""
        try:
            sizes = self.scaled.sizes(values)
            self.atol = STRICTER * self.tolerance * sizes
            while status is None:
                status, message = self._piece()
        except VariantError as lost:
            status, error, message = RestStatus.LOST, lost, str(lost)
        self._end_piece()
        return self._rest(status, error, message or status.value)

    # -- steps --------------------------------------------------------------------------------

    def _rate(self, _tau: float, scaled: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        return self.scaled.rate(scaled, self.values)

    def _stepper(
        self, start: np.ndarray, end: float, first: float | None = None
    ) -> scipy.integrate.DOP853:
        rtol = max(STRICTER * self.tolerance, 100 * EPSILON)
        options: dict[str, Any] = {"rtol": rtol, "atol": self.atol, "first_step": first}
        return scipy.integrate.DOP853(self._rate, 0.0, start, end, **options)

    def _advance(self, start: np.ndarray, span: float) -> np.ndarray:
        """Return the scaled state after a part of a step, to the order of the method."""
        if span == 0.0:
            return start
        stepper = self._stepper(start, span, span)
        while stepper.status == "running":
            stepper.step()
        return self.scaled.projected(stepper.y, self.values)

    def _piece(self) -> tuple[RestStatus | None, str]:
        """Step to the next switch, or to the end."""
        stepper = self._stepper(self.here, np.inf)
        while True:
            before, origin = self.here, stepper.t
            message = stepper.step()
            if stepper.status == "failed" or not np.all(np.isfinite(stepper.y)):
                return RestStatus.FAILED, _failure(self.scaled.time(before), message)
            dense = _within(stepper, origin)
            span, guard = self._crossing(before, stepper.t - origin, dense)
            if guard is None:
                stepper.y = self.scaled.projected(stepper.y, self.values)
                stepper.f = self._rate(0.0, stepper.y)
                self.here, self.derivative = stepper.y.copy(), stepper.f
            else:
                self.here = self._advance(before, span)
                self.derivative = self._rate(0.0, self.here)
            if self._passes_until(before, span, dense):
                return RestStatus.REACHED, ""
            self.steps.append(self.here)
            if guard is not None:
                self._switch(guard, instantly=span == 0.0)
                return None, ""
            status = self._judge()
            if status is not None:
                return status, ""
            if len(self.steps) > MOST_STEPS:
                return RestStatus.FAILED, _failure(
                    self.scaled.time(self.here), f"{MOST_STEPS} steps do not lead to a stop"
                )

    def _judge(self) -> RestStatus | None:
        """Return how the motion has ended; None if it goes on."""
        log_speed, elapsed = self.here[-2:]
        start = self.scaled.start[-2]
        if log_speed > start + np.log(FASTER):
            return RestStatus.SPEEDS_UP
        remaining = np.exp(log_speed) / abs(self.derivative[-2])
        if self.derivative[-2] >= 0.0 or remaining > EPSILON * elapsed:
            return None
        if self._settled() or log_speed < start + np.log(LEAST):
            return RestStatus.AT_REST
        return None

    def _settled(self) -> bool:
        turning = np.linalg.norm(self.derivative[self.scaled.motion.velocities])
        return bool(turning <= self.tolerance * abs(self.derivative[-2]))

    # -- guards -------------------------------------------------------------------------------

    def _crossing(self, before: np.ndarray, span: float, dense: Within) -> tuple[float, int | None]:
        """Return the part of the step until a guard first passes zero, and the guard; else None."""
        looks = np.linspace(0.0, span, LOOKS + 1)
        table = np.array([self.scaled.guards(dense(h), self.values) for h in looks])
        negative = table[1:] < 0.0
        if not negative.any():
            return span, None
        row = int(np.flatnonzero(negative.any(axis=1))[0])
        found: list[tuple[float, int]] = []
        for guard in map(int, np.flatnonzero(negative[row])):
            if table[row, guard] <= 0.0:
                found.append((float(looks[row]), guard))
            else:
                found.append((self._root(before, guard, looks[row], looks[row + 1]), guard))
        return min(found)

    def _root(self, before: np.ndarray, guard: int, left: float, right: float) -> float:
        """Return where a guard passes zero, using steps of the method itself."""

        def value(span: float) -> float:
            return float(self.scaled.guards(self._advance(before, span), self.values)[guard])

        ends = value(left), value(right)
        if min(ends) > 0.0 or max(ends) < 0.0:
            # The interpolant passes zero within rounding of the motion itself.
            return left if abs(ends[0]) < abs(ends[1]) else right
        return root(value, left, right)

    def _switch(self, guard: int, *, instantly: bool) -> None:
        """Continue with other values; `instantly` if the guard was negative from the start."""
        time, state = self.scaled.time(self.here), self.scaled.state(self.here)
        last = self.switches[-1] if self.switches else None
        if instantly and last is not None and (last.guard, last.time) == (guard, time):
            raise BranchLost(
                f"at t = {time:.10g} s the reaction of guard {guard} passes zero with both choices "
                "of its loaded support: the branch of the motion ends there"
            )
        values = self.scaled.motion.switch(time, state, self.values, guard)
        self._end_piece()
        self.switches.append(GuardPassage(guard, time, state, values))
        self.values = values

    # -- the result ---------------------------------------------------------------------------

    def _passes_until(self, before: np.ndarray, span: float, dense: Within) -> bool:
        """Take the samples within a step; end the step at the end of the time."""

        def at(moment: float) -> np.ndarray:
            return self._at(moment, before, span, dense)

        reached = self.scaled.time(self.here) >= self.until
        self._take_samples(at, min(self.until, self.scaled.time(self.here)))
        if reached:
            self.here = at(self.until)
            self.derivative = self._rate(0.0, self.here)
            self.steps.append(self.here)
        return reached

    def _take_samples(self, at: Callable[[float], np.ndarray], end: float) -> None:
        while len(self.samples) < len(self.times):
            moment = self.times[len(self.samples)]
            if moment > end:
                break
            self.samples.append(self.scaled.state(at(moment)))

    def _at(self, moment: float, before: np.ndarray, span: float, dense: Within) -> np.ndarray:
        """Return the scaled state at a time within a step."""
        wanted = moment - self.scaled.start_time
        if wanted <= before[-1]:
            return before
        if wanted >= dense(span)[-1]:
            return self._advance(before, span)
        part = root(lambda h: dense(h)[-1] - wanted, 0.0, span)
        found = self._advance(before, part)
        missed = wanted - found[-1]
        if abs(missed) > 4 * EPSILON * wanted:
            found = found + missed / self.scaled.speed(found) * self._rate(0.0, found)
        found[-1] = wanted
        return found

    def _end_piece(self) -> None:
        """Store the steps that have advanced the time."""
        times = np.array([self.scaled.time(step) for step in self.steps])
        last = self.pieces[-1].steps.times[-1] if self.pieces else self.scaled.start_time
        moved = np.diff(times, prepend=last) > 0.0
        states = [self.scaled.state(s) for s, m in zip(self.steps, moved, strict=True) if m]
        if states:
            spent = self.evaluations - sum(piece.steps.evaluations for piece in self.pieces)
            block = StepBlock(times[moved], np.array(states), spent)
            self.pieces.append(SmoothPiece(self.values, block))
        self.steps = []

    def _rest(self, status: RestStatus, error: VariantError | None, message: str) -> Rest:
        limit = self.scaled.state(self.here)
        time = min(self.scaled.time(self.here), self.until)
        state = limit.copy()
        if status is RestStatus.AT_REST:
            time += self.scaled.speed(self.here) / abs(float(self.derivative[-2]))
            state[self.scaled.motion.velocities] = 0.0
            rest = [moment for moment in self.times[len(self.samples) :] if moment <= time]
            self.samples += [limit] * len(rest)
        return Rest(
            status,
            time,
            state,
            limit,
            self.values,
            self.scaled.direction(self.here),
            -float(self.derivative[-2]),
            self._settled(),
            tuple(self.switches),
            tuple(self.pieces),
            np.array(self.samples).reshape(len(self.samples), len(state)),
            error,
            message,
            self.evaluations,
        )


def _within(stepper: scipy.integrate.DOP853, origin: float) -> Within:
    interpolant = stepper.dense_output()
    return lambda span: np.asarray(interpolant(origin + span))


def _failure(time: float, message: str | None) -> str:
    return (
        f"at t = {time:.10g} s the motion in scaled time could not continue "
        f"({message or 'the state is no longer finite'}): a point support that stops sliding "
        "before the body has no direction of friction; give it a pad"
    )
