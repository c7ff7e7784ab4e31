"""A short run without feedback that shows typical sizes and steps before the run is set up."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy

from daesolve.core.equations.consistency import Start
from daesolve.core.expressions.blocks import StateFunction, evaluate_block
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.feedback import ROWS
from daesolve.core.posing.events import Event
from daesolve.core.preparation.driven_probe import Drives
from daesolve.core.preparation.scale_exponents import Begin
from daesolve.core.preparation.sizes import PROBE_RTOL, UNKNOWN_STEP, Probe, measured
from daesolve.core.solvers.dop853 import Dop853Steps
from daesolve.core.solvers.jacobians import exact_jacobian
from daesolve.core.solvers.scipy import has_failed
from daesolve.errors import DegenerateStartError, ResetError

if TYPE_CHECKING:
    from scipy.integrate import Radau

    from daesolve.core.solvers.scipy_dop853 import CompiledDop853


PROBE_STEPS = 300
PROBES = 3
"""The most repetitions until the probe shows the sizes by which it was judged."""
ENDLESS = 20.0
"""A step this many times the long ones shows a motion without a scale, a free flight."""
FEW = 10
"""So few steps do not show whether one is out of proportion."""
SHRUNK = 0.5
"""The last step over the longest one, below which the steps shrink towards a singular position."""
USUALLY = 0.01
"""The most that a step of unknown length may be of a run: a shorter run is of a quick system."""
LEFT = 1e-6
"""A jump of a residual, over the largest of the state, by which a constraint is left."""
LONG = 0.9
"""A quantile of the steps that a few close to a singular position do not move."""


def run_probe(
    problem: OdeProblem,
    values: np.ndarray,
    start: Start,
    start_time: float,
    until: float,
    *,
    stiff: bool = False,
    switches: Collection[str] = (),
    nudged: bool = False,
    drives: Drives | None = None,
) -> Probe:
    """Integrate a few hundred steps without feedback, up to a reset, for typical sizes and steps.

    Absolute tolerances are in the units that the run itself shows: where these are not those of
    the start, it is repeated. A body that is nudged out of rest shows none: velocities of rounding
    set it out.

    Raises
    ------
    DegenerateStartError
        The rate of the state is not finite at the start.
    """
    state = problem.enter(start_time, start.state, values)
    begin = Begin(problem, values, start_time, state)
    if not np.all(np.isfinite(StateFunction(problem.rhs, values)(start_time, state))):
        raise DegenerateStartError(
            "at the start the rate of the state is not finite; start from another state"
        )
    exponents = begin.exponents(np.array([start_time]), state[None, :])
    if nudged:
        exponents = np.zeros_like(exponents)
    sides = _Sides(problem, switches)
    probe = _probed(begin, until, exponents, (sides, drives), stiff=stiff)
    for _ in range(0 if nudged else PROBES):
        if np.array_equal(probe.exponents, exponents):
            break
        exponents = probe.exponents
        probe = _probed(begin, until, exponents, (sides, drives), stiff=stiff)
    return probe


def _probed(
    begin: Begin,
    until: float,
    exponents: np.ndarray,
    modes: tuple[_Sides, Drives | None],
    *,
    stiff: bool,
) -> Probe:
    """Integrate once, with tolerances in units of these powers of two."""
    problem, values, start_time, state = begin.problem, begin.values, begin.time, begin.x
    between, (sides, drives) = Between(problem, values, start_time), modes
    # That a body has become quick changes nothing of its motion; neither does what a mode that is
    # put right takes down, as the direction of slip.
    resets = np.array([_leads_away(event) for event in problem.guarded], dtype=bool)
    resets &= np.ones_like(resets) if drives is None else ~drives.own
    absolute = PROBE_RTOL * np.ldexp(1.0, exponents) if exponents.any() else PROBE_RTOL
    stiff = stiff or problem.stiff
    times, states, own, shortest = [start_time], [state], [values], math.inf
    begins = 0
    with np.errstate(all="ignore"):
        tolerances: dict[str, Any] = {"rtol": PROBE_RTOL, "atol": absolute}

        def begun(time: float, x: np.ndarray) -> ProbeStepper:
            rate = StateFunction(problem.rhs, values)
            end = until if drives is None else drives.due(time, x, values, until)
            if stiff:
                jacobian = exact_jacobian(problem, values)
                return scipy.integrate.Radau(rate, time, x, end, jac=jacobian, **tolerances)
            if between.looks:
                from daesolve.core.solvers.scipy_dop853 import CompiledDop853  # imports long

                return CompiledDop853(rate, time, x, end, **tolerances)
            return Dop853Steps(rate, time, x, end, **tolerances)

        stepper = begun(start_time, state)
        switched = resets.any() or sides.places or drives is not None
        if isinstance(stepper, Dop853Steps) and not switched:
            return measured(begin, *_at_once(stepper), begin.values, between.shortest())
        while stepper.status == "running" and len(times) <= PROBE_STEPS:
            stepper.step()
            lost = has_failed(stepper) or not np.all(np.isfinite(stepper.y))
            if lost or (resets.any() and _beyond(problem, resets, stepper, values)):
                break
            between.look_into(stepper)
            times.append(float(stepper.t))
            states.append(stepper.y.copy())
            own.append(values)
            turned = _turned(modes, times[-1], states[-1], values)
            if _leaves_goals(problem, (times[-1], states[-1]), values, turned):
                break
            if turned is not values and times[-1] != until:
                values, begins = turned, len(times) - 1
                stepper = begun(times[-1], states[-1])
            shortest = min(shortest, abs(times[-1] - times[-2]))
            if drives is None and _endless(times, shortest):
                break
    kept = _shown_by(times, begins, until)
    times, states, own = times[:kept], states[:kept], own[:kept]
    found = begin.values if values is begin.values else np.array(own)
    probe = measured(begin, np.array(times), np.array(states), found, between.shortest())
    return replace(probe, reset_after=_next_reset(problem, resets, (times, states), values))


def _next_reset(
    problem: OdeProblem,
    resets: np.ndarray,
    path: tuple[Sequence[float], Sequence[np.ndarray]],
    values: np.ndarray,
) -> float:
    """Return how long after its start a motion that goes on as in its last step is reset, s."""
    times, states = path
    if len(times) < 2 or not resets.any():
        return math.inf
    before, after = (
        np.asarray(problem.guards(times[k], states[k], values)).ravel() for k in (-2, -1)
    )
    ways = np.array([event.direction.value for event in problem.guarded])
    coming = resets & (after * (after - before) < 0.0) & (ways * (after - before) >= 0.0)
    ahead = -after[coming] / (after - before)[coming] * abs(times[-1] - times[-2])
    return abs(times[-1] - times[0]) + float(np.min(ahead, initial=math.inf))


def _leaves_goals(
    problem: OdeProblem, place: tuple[float, np.ndarray], before: np.ndarray, after: np.ndarray
) -> bool:
    """Return whether other values leave a constraint that was met: no motion goes on there."""
    if after is before:
        return False
    count, largest = len(problem.watched), float(np.max(np.abs(place[1]), initial=0.0))
    values = [np.asarray(problem.residuals(*place, p)[0]).ravel()[:count] for p in (before, after)]
    return bool(np.any(np.abs(values[1] - values[0]) > LEFT * largest))


def _turned(
    modes: tuple[_Sides, Drives | None], time: float, x: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return the values that fit a state; the same array where they do."""
    sides, drives = modes
    turned = sides.fitting(time, x, values)
    if drives is None:
        return turned
    with suppress(ResetError):  # a law that fails does so in the run, at its instant
        return drives.after(time, x, turned)
    return turned


def _at_once(stepper: Dop853Steps) -> tuple[np.ndarray, np.ndarray]:
    """Take the steps of a run without events in compiled code; return all times and states."""
    times, states, shortest = [stepper.t], [stepper.y], math.inf
    while stepper.status == "running" and len(times) <= PROBE_STEPS:
        known = len(times)
        few = FEW - known, ENDLESS, shortest
        ends, passed = stepper.several(PROBE_STEPS + 1 - known, few)
        times, states = [*times, *ends.tolist()], [*states, *passed]
        shortest = min(shortest, np.min(np.abs(np.diff(times[known - 1 :])), initial=shortest))
        if len(times) == known or _endless(times, shortest):
            break
    return np.array(times), np.array(states)


def _endless(times: Sequence[float], shortest: float) -> bool:
    """Return whether the last step is out of all proportion."""
    span = abs(times[-1] - times[-2])
    may_be = len(times) > FEW and span > ENDLESS * shortest  # no quantile is below that
    return may_be and bool(span > ENDLESS * np.quantile(np.abs(np.diff(times)), LONG))


def _shown_by(times: Sequence[float], begins: int, until: float) -> int:
    """Return how many times show the sizes of a motion: one if it shrinks to its end before.

    As a slip in space that is about to stop, beside which a step of usual length is long: what
    follows has other sizes and steps. A step from a time at which a branch `begins` anew is short
    because that is so, and not because the motion ends.
    """
    steps = np.abs(np.diff(times[begins:]))
    shrinks = len(steps) > 1 and bool(steps[-1] < SHRUNK * np.max(steps))
    ends = shrinks and times[-1] != until and len(times) <= PROBE_STEPS
    usual = USUALLY * abs(until - times[0]) > UNKNOWN_STEP
    return 1 if ends and usual and abs(times[-1] - times[0]) < UNKNOWN_STEP else len(times)


class _Sides:
    """Keeps the switches of piecewise expressions in agreement with a short run.

    Parameters
    ----------
    problem
        Its guards, and the values that the switches are.
    switches
        The names of events and values.
    """

    def __init__(self, problem: OdeProblem, switches: Collection[str]) -> None:
        self.guards, names = problem.guards, list(problem.values)
        firsts = np.cumsum([0, *(event.count for event in problem.events)]).tolist()
        self.places = [
            (names.index(event.name), first, event.count)
            for event, first in zip(problem.events, firsts, strict=False)
            if event.name in switches
        ]

    def fitting(self, time: float, x: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the values that fit a state; the same array where they do."""
        for _ in self.places:
            guards = np.asarray(self.guards(time, x, values)).ravel()
            changed = values.copy()
            for value, first, count in self.places:
                if count == 1 and guards[first] < 0.0:
                    changed[value] = -changed[value]
                elif count > 1 and guards[first] > 0.0:
                    changed[value] += np.floor(guards[first]) + 1.0
                elif count > 1 and guards[first + 1] > 0.0:
                    changed[value] -= np.floor(guards[first + 1]) + 1.0
            if np.array_equal(changed, values):
                break
            values = changed
        return values


def _leads_away(event: Event) -> bool:
    """Return whether no motion lies beyond a reset as it was before it."""
    if event.name == ROWS:
        return True
    return event.then.reset is not None and not (event.then.leaves_motion or event.then.counts_past)


def _beyond(
    problem: OdeProblem, resets: np.ndarray, stepper: ProbeStepper, values: np.ndarray
) -> bool:
    """Return whether a step led past a guard that resets: no motion lies beyond."""
    assert stepper.t_old is not None
    assert stepper.y_old is not None
    ways = np.array([event.direction.value for event in problem.guarded])
    before, after = (
        np.asarray(problem.guards(t, y, values)).ravel()
        for t, y in ((stepper.t_old, stepper.y_old), (stepper.t, stepper.y))
    )
    crossed = (before * after <= 0.0) & (ways * (after - before) >= 0.0)
    return bool(np.any(resets & crossed))


ProbeStepper: TypeAlias = "Dop853Steps | CompiledDop853 | Radau"
WEAK = 1e-2
"""A grip below this part of the largest one met belongs to a passage."""
LOOKS = 8
"""Places in a step of the probe at which the grip of goals is looked at."""


class Between:
    """Finds how far apart positions of weak grip lie, also within the probe's steps."""

    def __init__(self, problem: OdeProblem, values: np.ndarray, start_time: float) -> None:
        self.problem, self.values, self.looks = problem, values, problem.plan.proximal
        self.times: list[np.ndarray] = [np.array([start_time])]
        self.states: list[np.ndarray] = []

    def look_into(self, stepper: ProbeStepper) -> None:
        """Take in a step of a system that may pass such positions."""
        if self.looks:
            assert stepper.t_old is not None
            assert not isinstance(stepper, Dop853Steps)
            inside = np.linspace(stepper.t_old, stepper.t, LOOKS + 1)[1:]
            self.times.append(inside)
            self.states.append(stepper.dense_output()(inside).T)

    def shortest(self) -> float:
        """Return the shortest time from one to the next, or from the start to the first, in s."""
        times = np.concatenate(self.times)
        elapsed = np.abs(times - times[0])
        if not self.states:
            return math.inf
        table, _ = evaluate_block(
            self.problem.residuals, times[1:], np.vstack(self.states), self.values
        )
        grips = np.nan_to_num(table[:, len(self.problem.watched) + 1 :])
        if not grips.size:
            return math.inf
        largest = grips.max(axis=0)
        least = (grips / np.where(largest > 0.0, largest, 1.0)).min(axis=1)
        apart = np.diff(elapsed[1:][_valleys(least)], prepend=0.0)
        return float(np.min(apart, initial=elapsed[-1]))


def _valleys(height: np.ndarray) -> list[int]:
    """Return where values are least between two that are larger by 1 / WEAK."""
    found: list[int] = []
    top, bottom, place = float(height[0]), math.inf, 0
    for index, value in enumerate(height):
        if value < bottom:
            bottom, place = float(value), index
        if bottom < WEAK * top and value > bottom / WEAK:
            found.append(place)
            top = bottom = float(value)
        elif value > top:
            top, bottom, place = float(value), float(value), index
    return found
