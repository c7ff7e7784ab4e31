"""Typical sizes of a motion, from a short run: scales, floors, steps, the length of a segment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import DOP853, Radau

from daesolve.algebra.evaluation import BufferedFunction
from daesolve.algebra.translation import evaluate_block, function_of
from daesolve.diagnostics.passages import WEAK
from daesolve.equations.consistency import Start, time_states
from daesolve.equations.dynamics import Dynamics
from daesolve.equations.rank import Samples
from daesolve.errors import DegenerateStartError
from daesolve.formulations import OdeProblem
from daesolve.posing.events import Event
from daesolve.posing.guides import QUICK
from daesolve.posing.value_names import ValueKind
from daesolve.solvers.jacobians import exact_jacobian
from daesolve.solvers.scipy import has_failed

PROBE_STEPS = 300
PROBE_RTOL = 1e-8
Stepper = DOP853 | Radau
LOOKS = 8
"""Places in a step of the probe at which the grip of goals is looked at."""
LONG = 0.9
"""A quantile of the steps that a few close to a singular position do not move."""
ENDLESS = 20.0
"""A step this many times the long ones shows a motion without a scale, a free flight."""
FLOOR = 0.05
"""The floor of an invariant's correction over the largest square of its gradient."""
SMALLEST = 1e-3
"""The least size of a state, beside the largest of the same unit: one may be zero by rounding."""
NOTHING = 1e-12
"""What is below this in the units of the system is taken for rounding."""
ROUNDING = float(np.finfo(float).eps)
"""Of the terms of a value, what is lost in it."""
STEPS_PER_SEGMENT = 5000
STEPS_PER_PROJECTION = 40
"""Between projections of a multistep method, which restarts there; it takes smaller steps."""
RADIANS_PER_SEGMENT = 50.0
ANGLES_AT_ONCE = 16
"""Angles that are turned in one evaluation: one each would cost their number squared."""
SECONDS_PER_INSTRUCTION_STEP = 6e-8
"""What one instruction costs in one step of the slowest code, roughly."""


@dataclass(frozen=True)
class Probe:
    """A short run without feedback: typical steps, and the largest sizes met.

    Parameters
    ----------
    typical_step, mean_step
        s; half of the time is spent in steps longer than the typical one.
    between
        The shortest time between positions where a goal's grip is weak (the first counts from the
        start), s; the length of the probe where it met none, infinite where none is to be passed.
    path
        (k, n) the states that it went through.
    states, reactions, kinetic
        The largest absolute values.
    grips
        Of the goals that are singular at rest, by name, not yet relative to anything.
    weakest
        The least grip of a goal over its largest, of those that are not singular at rest.
    turning
        How fast each state leaves its start, per s: the speed at which an angle grows.
    """

    typical_step: float
    between: float
    mean_step: float
    path: np.ndarray
    states: np.ndarray
    reactions: np.ndarray
    kinetic: float
    grips: Mapping[str, float]
    weakest: float
    turning: np.ndarray


def run_probe(
    problem: OdeProblem,
    values: np.ndarray,
    start: Start,
    start_time: float,
    until: float,
    *,
    stiff: bool = False,
) -> Probe:
    """Integrate a few hundred steps without feedback, up to a reset, for typical sizes and steps.

    Raises
    ------
    DegenerateStartError
        The rate of the state is not finite at the start.
    """
    rate = BufferedFunction(problem.rhs, values)
    state = problem.enter(start_time, start.state, values)
    times, states = [start_time], [state]
    between = _Between(problem, values, start_time)
    # That a body has become quick changes nothing of its motion; neither does what a mode that is
    # put right takes down, as the direction of slip.
    resets = np.array([_leads_away(event) for event in problem.guarded])
    if not np.all(np.isfinite(rate(start_time, state))):
        raise DegenerateStartError(
            "at the start the rate of the state is not finite; start beside this state"
        )
    with np.errstate(all="ignore"):
        tolerances: dict[str, Any] = {"rtol": PROBE_RTOL, "atol": PROBE_RTOL}
        if stiff or problem.stiff:
            jacobian = exact_jacobian(problem, values)
            stepper = Radau(rate, start_time, state, until, jac=jacobian, **tolerances)
        else:
            stepper = DOP853(rate, start_time, state, until, **tolerances)
        while stepper.status == "running" and len(times) <= PROBE_STEPS:
            stepper.step()
            if has_failed(stepper) or not np.all(np.isfinite(stepper.y)):
                break
            if resets.any() and _beyond(problem, resets, stepper, values):
                break
            between.look_into(stepper)
            times.append(float(stepper.t))
            states.append(stepper.y.copy())
            steps = np.abs(np.diff(times))
            if len(steps) >= 10 and steps[-1] > ENDLESS * np.quantile(steps, LONG):
                break
    table = np.array(states)
    moments = np.array(times)
    steps = np.abs(np.diff(moments)) if len(times) > 1 else np.array([1e-3])
    path = problem.visible(moments, table, values)
    count = len(problem.watched)
    measured, _ = evaluate_block(problem.residuals, moments, table, values)
    pivots = dict(zip(problem.pivot_goals, measured[:, count + 1 :].T, strict=True))
    reactions = evaluate_block(problem.recover, moments, table, values)[1]
    return Probe(
        typical_step=_typical_step(steps),
        between=between.shortest(),
        mean_step=float(np.mean(steps)),
        path=path,
        states=np.abs(path).max(axis=0),
        reactions=np.abs(reactions).max(axis=0, initial=0.0),
        kinetic=float(np.max(measured[:, count])),
        grips={name: float(np.nanmax(pivots[name])) for name in problem.singular_goals},
        weakest=_weakest(pivots, problem.singular_goals),
        turning=np.abs(table - table[0]).max(axis=0) / max(abs(moments[-1] - moments[0]), 1e-300),
    )


def _leads_away(event: Event) -> bool:
    """Tell whether no motion lies beyond a reset as it was before it."""
    return event.then.reset is not None and event.name != QUICK and not event.then.counts_past


def _beyond(problem: OdeProblem, resets: np.ndarray, stepper: Stepper, values: np.ndarray) -> bool:
    """Tell whether a step led past a guard that resets: no motion lies beyond."""
    assert stepper.t_old is not None
    assert stepper.y_old is not None
    ways = np.array([event.direction.value for event in problem.guarded])
    before, after = (
        np.asarray(problem.guards(t, y, values)).ravel()
        for t, y in ((stepper.t_old, stepper.y_old), (stepper.t, stepper.y))
    )
    crossed = (before * after <= 0.0) & (ways * (after - before) >= 0.0)
    return bool(np.any(resets & crossed))


def _weakest(pivots: Mapping[str, np.ndarray], singular: Sequence[str]) -> float:
    """Return the least pivot of a goal over its largest."""
    least = 1.0
    for name, pivot in pivots.items():
        known = pivot[np.isfinite(pivot)]
        if name not in singular and known.size and np.max(known) > 0.0:
            least = min(least, float(np.min(known) / np.max(known)))
    return least


def _typical_step(steps: np.ndarray) -> float:
    """Return the step in which half of the time is spent in shorter ones, half in longer ones."""
    ordered = np.sort(steps)
    spent = np.cumsum(ordered)
    return float(ordered[np.searchsorted(spent, 0.5 * spent[-1])])


class _Between:
    """Finds how far apart positions of weak grip lie, also within the probe's steps."""

    def __init__(self, problem: OdeProblem, values: np.ndarray, start_time: float) -> None:
        self.problem, self.values = problem, values
        self.times: list[np.ndarray] = [np.array([start_time])]
        self.states: list[np.ndarray] = []

    def look_into(self, stepper: Stepper) -> None:
        """Take in a step of a system that may pass such positions."""
        if self.problem.plan.proximal:
            assert stepper.t_old is not None
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


def typical_influences(probe: Probe) -> dict[str, float]:
    """Return what the grip of goals that are singular at rest is measured against."""
    return {
        ValueKind.TYPICAL.name_of(name): math.sqrt(grip) if grip > 0.0 else 1.0
        for name, grip in probe.grips.items()
    }


def floors(
    dynamics: Dynamics,
    numbers: np.ndarray,
    samples: Samples,
    probe: Probe,
    least_kinetic: float,
    given: Mapping[str, float],
) -> dict[str, float]:
    """Return what keeps each invariant's correction bounded where its gradient vanishes.

    Parameters
    ----------
    dynamics, numbers, samples
        The equations, p, and consistent states.
    probe, least_kinetic
        Typical sizes, and from where on a kinetic energy is more than rounding, J.
    given
        Scales of invariants that are known, by name.
    """
    found: dict[str, float] = {}
    for row in dynamics.invariants:
        if row.on == "positions":
            continue
        if row.twice_kinetic is not None:
            kinetic = probe.kinetic if probe.kinetic > least_kinetic else 0.0
            largest = 2.0 * max(given.get(row.name, 0.0), kinetic)
        else:
            gradient = function_of(
                "gradient",
                [dynamics.t, dynamics.x, dynamics.p],
                [row.jacobian],
                (["t", "x", "p"], ["jacobian"]),
            )
            largest = 0.0
            for t, x in samples:
                slope = np.asarray(gradient(t, x, numbers)).ravel()
                mass = dynamics.matrices(t, x, numbers)["mass"]
                largest = max(largest, float(slope @ np.linalg.solve(mass, slope)))
        found[ValueKind.FLOOR.name_of(row.name)] = FLOOR * largest if largest > 0 else 1.0
    return found


def least_kinetic(dynamics: Dynamics, numbers: np.ndarray, samples: Samples, probe: Probe) -> float:
    """Return the kinetic energy that is no more than the energy's rounding, J.

    That of a body at rest is no scale: the energy is driven by its residual over twice the kinetic
    energy, and where that is below the residual's own rounding, it would be without bound.

    Parameters
    ----------
    dynamics, numbers, samples
        The equations, p, and consistent states.
    probe
        Typical sizes.
    """
    found = 0.0
    for row in dynamics.invariants:
        if row.twice_kinetic is None:
            continue
        slopes = function_of(
            "slopes",
            [dynamics.t, dynamics.x, dynamics.p],
            [ca.jacobian(row.value, dynamics.x)],
            (["t", "x", "p"], ["slopes"]),
        )
        sizes, held = _typical(dynamics, probe.states), dynamics.all_held(numbers)
        terms = [float(np.abs(np.asarray(slopes(t, x, held))).ravel() @ sizes) for t, x in samples]
        found = max([found, *(ROUNDING * term for term in terms if math.isfinite(term))])
    return found


def scales(
    dynamics: Dynamics,
    problem: OdeProblem,
    numbers: np.ndarray,
    start: Start,
    probe: Probe,
    start_time: float,
    given: Mapping[str, float],
) -> np.ndarray:
    """Scale each residual: the sum of |d residual / d x_i| times the size of x_i, at the start."""
    expressions: list[ca.SX] = []
    for row in dynamics.rows:
        expressions += list(row.chain)
    expressions += [row.residual for row in dynamics.implicit_rows]
    slots = len(expressions)
    expressions += [row.value for row in dynamics.invariants]
    slopes = ca.jacobian(ca.vertcat(ca.SX(0, 1), *expressions), dynamics.x)
    ties = ca.vertcat(
        ca.SX(0, dynamics.reactions.numel()), *[row.jacobian for row in dynamics.relations]
    )
    function = function_of(
        "slopes",
        [dynamics.t, dynamics.x, dynamics.p],
        [slopes, ties],
        (["t", "x", "p"], ["slopes", "ties"]),
    )
    results = function(start_time, start.state, dynamics.all_held(numbers))
    by_state = np.abs(np.asarray(results[0])).reshape(len(expressions), dynamics.x.numel())
    by_reaction = np.abs(np.asarray(results[1]).reshape(ties.shape))
    sizes = by_state @ _typical(dynamics, probe.states)
    automatic = np.concatenate(
        [sizes[:slots], by_reaction @ probe.reactions[: by_reaction.shape[1]], sizes[slots:]]
    )
    chosen = {row.name: row.scale for group in (dynamics.rows, dynamics.implicit_rows,
             dynamics.relations, dynamics.invariants) for row in group}  # fmt: skip
    chosen |= dict(given)
    energies = {row.name for row in dynamics.invariants if row.automatic}
    found: list[float] = []
    for watched, size in zip(problem.watched, automatic, strict=True):
        own = chosen.get(watched.name)
        if own is not None:
            found.append(float(own))
        elif watched.name in energies:
            found.append(math.nan)
        else:
            found.append(float(size) if size > 0 else 1.0)
    return np.array(found)


def _typical(dynamics: Dynamics, states: np.ndarray) -> np.ndarray:
    """Return the sizes of states, none of them far below that of others with the same unit.

    Where all states of a unit are zero, it is one of that unit.
    """
    units = np.array([str(unit) for unit in dynamics.labels.state_units])
    sizes = np.maximum(states[: len(units)], NOTHING)
    for unit in set(units):
        same = units == unit
        largest = float(np.max(sizes[same]))
        sizes[same] = np.maximum(sizes[same], SMALLEST * largest if largest > NOTHING else 1.0)
    return sizes


def segment_length(
    problem: OdeProblem, probe: Probe, angles: Sequence[int], *, projects: bool
) -> float:
    """Choose a round number of seconds: many steps, but less than about a second of work.

    Where its end projects the state, it is short. The angles that are wrapped at its ends, and on
    which motion or guards depend, are not to grow so far in between that they lose digits.
    """
    cost = max(problem.rhs.n_instructions(), 1) * SECONDS_PER_INSTRUCTION_STEP
    steps = min(max(0.5 / cost, 20.0), STEPS_PER_PROJECTION if projects else STEPS_PER_SEGMENT)
    wanted = steps * probe.mean_step
    acting = {
        column
        for function in (problem.rhs, problem.guards)
        for column in function.jac_sparsity(0, 1).get_triplet()[1]
    }
    growth = max((probe.turning[index] for index in angles if index in acting), default=0.0)
    if growth * wanted > RADIANS_PER_SEGMENT:
        wanted = RADIANS_PER_SEGMENT / growth
    power = 10.0 ** math.floor(math.log10(wanted))
    # The logarithm of a number just below a power of ten may round to that power.
    fitting = [factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= wanted]
    return max(fitting, default=0.5 * power)


def periodic_angles(
    problem: OdeProblem, samples: Samples, numbers: np.ndarray, notes: list[str]
) -> tuple[int, ...]:
    """Return the angles after a whole turn of which every function is the same."""
    times, visible = time_states(samples)
    states = np.array([problem.enter(t, x, numbers) for t, x in zip(times, visible, strict=True)])
    functions = (problem.rhs, problem.recover, problem.residuals, problem.guards)
    before = [table for f in functions for table in evaluate_block(f, times, states, numbers)]
    periodic: list[int] = []
    for first in range(0, len(problem.labels.angles), ANGLES_AT_ONCE):
        group = problem.labels.angles[first : first + ANGLES_AT_ONCE]
        turned = np.tile(states, (len(group), 1))
        for place, angle in enumerate(group):
            turned[place * len(states) : (place + 1) * len(states), angle] += 2.0 * math.pi
        moments = np.tile(times, len(group))
        after = [table for f in functions for table in evaluate_block(f, moments, turned, numbers)]
        for place, angle in enumerate(group):
            own = slice(place * len(states), (place + 1) * len(states))
            if all(_agree(one, other[own]) for one, other in zip(before, after, strict=True)):
                periodic.append(angle)
                continue
            notes.append(
                f"the angle {problem.labels.states[angle]!r} is not wrapped: the equations "
                "differ after a whole turn"
            )
    return tuple(periodic)


def _agree(before: np.ndarray, after: np.ndarray) -> bool:
    """Compare tables row by row, where they are finite: a sample may lie on a singular state."""
    usable = np.all(np.isfinite(before) & np.isfinite(after), axis=1)
    if not np.any(usable):
        return False
    before, after = before[usable], after[usable]
    atol = max(1e-9 * float(np.max(np.abs(before), initial=0.0)), NOTHING)
    return np.allclose(before, after, rtol=1e-9, atol=atol)
