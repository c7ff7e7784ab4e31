"""Steps of Taylor's method by the kernel, in one lane or in several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.core.solvers.dense_segments import CALM, StepScreening
from daesolve.core.solvers.taylor_kernel import kernel
from daesolve.core.solvers.taylor_kernel.coefficients import stride_of
from daesolve.core.solvers.taylor_kernel.instructions import Instructions

compiled: Any = kernel
take_steps: Callable[..., int] = compiled.march
states_within: Callable[..., np.ndarray] = compiled.states_within
LINE = 8
"""Numbers of a line of the processor's cache, at which rows begin; and of a block, which may reach
beyond the last row."""
WAIT = 32
"""Steps of others for which a motion waits that is at its end, since short stretches cost most."""
NARROW = 8
"""Lanes that are taken where no more are wanted: a step of them costs half as much as one of 16."""


def order_of(tolerance: float) -> int:
    """Return the order of the series for a relative tolerance of a step (Jorba and Zou 2005)."""
    return max(2, math.ceil(1.0 - 0.5 * math.log(tolerance)))


@dataclass(frozen=True)
class BatchStretch:
    """Steps that were taken together.

    Parameters
    ----------
    when
        (k, 3, lanes) the start of each step, in two numbers, s, and its length.
    coefficients
        (lanes, k, states, order + 1)
    end
        (2, lanes) the time at the end.
    state
        (states, lanes) the state then.
    """

    when: np.ndarray
    coefficients: np.ndarray
    end: np.ndarray
    state: np.ndarray

    def of(self, lane: int, seen: StepScreening | None = None) -> LaneStretch:
        """Return the steps of one lane, and what is known of them."""
        count = np.count_nonzero(self.when[:, 2, lane])
        return LaneStretch(
            self.when[:count, :, lane],
            self.coefficients[lane, :count],
            float(self.end[0, lane]),
            self.state[:, lane],
            seen,
        )


@dataclass(frozen=True)
class LaneStretch:
    """Steps of one motion.

    Parameters
    ----------
    when
        (k, 3) the start of each step, in two numbers, s, and its length.
    coefficients
        (k, states, order + 1)
    end, state
        The time at the end, s, and the state then, (states,).
    seen
        What is known of them already; None if nothing is.
    """

    when: np.ndarray
    coefficients: np.ndarray
    end: float
    state: np.ndarray
    seen: StepScreening | None = None

    @property
    def times(self) -> np.ndarray:
        """(k + 1,) the ends of the steps, from the start."""
        return np.append(self.when[:, 0], self.end)

    @property
    def states(self) -> np.ndarray:
        """(k + 1, states) the states there."""
        return np.vstack([self.coefficients[:, :, 0], self.state])

    @property
    def tcs(self) -> np.ndarray:
        """The Taylor coefficients of each step."""
        return self.coefficients

    @property
    def nbytes(self) -> int:
        """How much memory the series take."""
        return self.coefficients.nbytes

    def kept(self) -> LaneStretch | None:
        """Return the steps for later, without idle memory; None if the series are gone."""
        whole = self.coefficients.base
        return self if whole is None or whole.nbytes <= 2 * self.nbytes else self.copied()

    def copied(self) -> LaneStretch:
        """Return the steps in memory of their own."""
        when, coefficients = self.when.copy(), self.coefficients.copy()
        return LaneStretch(when, coefficients, self.end, self.state, self.seen)

    def __call__(self, moments: np.ndarray) -> np.ndarray:
        """Return the states, (j, states), at times, (j,), within the steps."""
        when = np.ascontiguousarray(self.when)
        return states_within(compiled.VERSION, self.coefficients, when, moments)


@dataclass(frozen=True)
class ScreenedStretch(LaneStretch):
    """Steps of which only the starts are kept, (k, states, 1), since they are not examined."""

    def kept(self) -> None:
        """Return none."""
        return

    def __call__(self, moments: np.ndarray) -> np.ndarray:
        """Refuse: what lies within the steps is gone."""
        raise AssertionError(f"the series at {moments} are requested, but were already dropped")


def passed(stretch: LaneStretch) -> ScreenedStretch:
    """Return the ends of calm steps, in memory of their own."""
    starts = stretch.coefficients[:, :, :1].copy()
    return ScreenedStretch(stretch.when.copy(), starts, stretch.end, stretch.state.copy(), CALM)


def joined(parts: Sequence[LaneStretch]) -> LaneStretch:
    """Return the steps of several stretches, one behind the other."""
    return replace(
        parts[-1],
        when=np.concatenate([part.when for part in parts]),
        coefficients=np.concatenate([part.coefficients for part in parts]),
    )


class LaneStepper:
    """Motions of one system, a lane each, on their way.

    Parameters
    ----------
    instructions
        Those of x'.
    tolerance
        Relative, of a step.
    lanes
        How many motions.
    width
        How many take a step at once if not all are requested; None for all.

    Attributes
    ----------
    work, stride
        Memory for the rows, and how many numbers a row takes there.
    table
        The instructions as the kernel takes them.
    x, low, time, end
        Where the motions are; see `kernel.march`.
    numbers
        (numbers, lanes) to which the instructions refer.
    """

    def __init__(
        self,
        instructions: Instructions,
        tolerance: float,
        lanes: int = 1,
        width: int | None = None,
    ) -> None:
        self.instructions, self.order, self.lanes = instructions, order_of(tolerance), lanes
        self.width = lanes if width is None else width
        self._token: tuple[float, ...] = (0.0,) if lanes == 1 else (0,) * lanes
        self.stride = stride_of(self._token, self.order)
        widest = max(self.stride, stride_of((0,) * self.width, self.order))
        raw = np.zeros(instructions.rows * widest + 4 * LINE)
        self.work = raw[(-raw.ctypes.data // raw.itemsize) % LINE :]
        self.table: tuple[Any, ...] = (
            instructions.codes,
            instructions.ends,
            instructions.terms,
            instructions.blocks,
            instructions.outputs,
        )
        self.x = np.zeros((instructions.states, lanes))
        self.low = np.zeros_like(self.x)
        self.time, self.end = np.zeros((2, lanes)), np.zeros(lanes)
        some = instructions.numbers(np.zeros(instructions.parameters))
        self.numbers = np.zeros((len(some), lanes))

    def begin(self, lane: int, x: np.ndarray, p: np.ndarray, time: float) -> None:
        """Let a motion start in a lane, from (states,) with (parameters,) at a time, s."""
        self.numbers[:, lane] = self.instructions.numbers(p)
        self.x[:, lane], self.low[:, lane] = x, 0.0
        self.time[:, lane] = self.end[lane] = time
        self.time[1, lane] = 0.0

    def steps(self, most: int) -> BatchStretch:
        """Take at most so many steps towards the ends of all motions.

        Those that follow the arrival of the first are few; a motion that has arrived takes steps of
        no length.
        """
        kept = np.empty((self.lanes, most, self.instructions.states, self.order + 1))
        when = np.empty((most, 3, self.lanes))
        taken = self._taken(
            self._token, self.numbers, self.x, self.low, self.time, self.end, kept, when
        )
        return BatchStretch(when[:taken], kept[:, :taken], self.time.copy(), self.x.copy())

    def steps_of(self, places: Sequence[int], most: int, memory: np.ndarray) -> BatchStretch:
        """Take steps in some lanes alone; see `steps`.

        Parameters
        ----------
        places
            These lanes.
        most
            How many steps at most.
        memory
            (lanes, most or more, states, order + 1) takes the coefficients.
        """
        count = len(places)
        width = NARROW if count <= NARROW < self.width else self.width
        # Lanes that are not requested repeat the motion of the first one.
        filled = [*places, *([places[0]] * (width - count))]
        numbers, x, low = self.numbers[:, filled], self.x[:, filled], self.low[:, filled]
        time, end = self.time[:, filled], self.end[filled]
        numbers, x, low, time = map(np.ascontiguousarray, (numbers, x, low, time))
        when = np.empty((most, 3, width))
        taken = self._taken((0,) * width, numbers, x, low, time, end, memory, when)
        x, low, time = x[:, :count], low[:, :count], time[:, :count]
        self.x[:, places], self.low[:, places], self.time[:, places] = x, low, time
        return BatchStretch(when[:taken, :, :count], memory[:count, :taken], time, x)

    def _taken(self, token: tuple[float, ...], numbers: np.ndarray, *given: np.ndarray) -> int:
        stride = stride_of(token, self.order)
        return take_steps(
            compiled.VERSION, token, self.work, stride, numbers, self.table, self.order, *given,
            WAIT,
        )  # fmt: skip


class Lane:
    """One motion on its way.

    Parameters
    ----------
    stepper
        What takes its steps.
    number
        Its lane there.
    """

    def __init__(self, stepper: LaneStepper, number: int = 0) -> None:
        self.stepper, self.number = stepper, number

    @property
    def order(self) -> int:
        """Of the series."""
        return self.stepper.order

    @property
    def time(self) -> float:
        """Where the motion is, s."""
        return float(self.stepper.time[0, self.number])

    @property
    def until(self) -> float:
        """Where it goes, s."""
        return float(self.stepper.end[self.number])

    def begin(
        self, x: np.ndarray, p: np.ndarray, time: float, until: float, looks: np.ndarray
    ) -> None:
        """Start from (states,) with (parameters,) at a time, and go to another, s.

        Looks are the times, (k,), at which the motion will be requested, in their order.
        """
        self.stepper.begin(self.number, x, p, time)
        self.stepper.end[self.number] = until

    def put(self, x: np.ndarray) -> None:
        """Replace the state that was reached."""
        self.stepper.x[:, self.number], self.stepper.low[:, self.number] = x, 0.0

    def steps(self, most: int) -> LaneStretch:
        """Take at most so many steps."""
        return self.stepper.steps(most).of(self.number)
