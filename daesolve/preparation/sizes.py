"""Typical sizes of a motion, from a short run: scales, floors, steps, the length of a segment."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import Radau

from daesolve.algebra.blocks import StateFunction, evaluate_block
from daesolve.algebra.translation import function_of
from daesolve.diagnostics.passages import WEAK
from daesolve.equations.consistency import Start
from daesolve.equations.dynamics import Dynamics
from daesolve.equations.rank import Samples
from daesolve.errors import DegenerateStartError
from daesolve.formulations import OdeProblem
from daesolve.formulations.feedback import ROWS
from daesolve.formulations.semi_explicit import sparse_jacobian
from daesolve.posing.events import Event
from daesolve.posing.guides import QUICK
from daesolve.posing.value_names import ValueKind
from daesolve.preparation.scaling import Begin
from daesolve.solvers.jacobians import exact_jacobian
from daesolve.solvers.scipy import CompiledDop853, has_failed

PROBE_STEPS = 300
PROBE_RTOL = 1e-8
PROBES = 3
"""Times that it is repeated at most, until it shows the sizes that it was judged by."""
Stepper = CompiledDop853 | Radau
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
    times, path
        (k,) s and (k, n) the states that it went through.
    exponents
        (size,) of the states and what is metered, by powers of two: see `preparation.scaling`.
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
    times: np.ndarray
    path: np.ndarray
    exponents: np.ndarray
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
    switches: Collection[str] = (),
    nudged: bool = False,
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
            "at the start the rate of the state is not finite; start beside this state"
        )
    exponents = begin.exponents(np.array([start_time]), state[None, :])
    if nudged:
        exponents = np.zeros_like(exponents)
    sides = _Sides(problem, switches)
    probe = _probed(begin, until, exponents, sides, stiff=stiff)
    for _ in range(0 if nudged else PROBES):
        if np.array_equal(probe.exponents, exponents):
            break
        exponents = probe.exponents
        probe = _probed(begin, until, exponents, sides, stiff=stiff)
    return probe


def _probed(
    begin: Begin, until: float, exponents: np.ndarray, sides: _Sides, *, stiff: bool
) -> Probe:
    """Integrate once, with tolerances in units of these powers of two."""
    problem, values, start_time, state = begin.problem, begin.values, begin.time, begin.x
    between = _Between(problem, values, start_time)
    # That a body has become quick changes nothing of its motion; neither does what a mode that is
    # put right takes down, as the direction of slip.
    resets = np.array([_leads_away(event) for event in problem.guarded])
    absolute = PROBE_RTOL * np.ldexp(1.0, exponents) if exponents.any() else PROBE_RTOL
    stiff = stiff or problem.stiff
    times, states, modes, shortest = [start_time], [state], [values], math.inf
    with np.errstate(all="ignore"):
        tolerances: dict[str, Any] = {"rtol": PROBE_RTOL, "atol": absolute}

        def begun(time: float, x: np.ndarray) -> Stepper:
            rate = StateFunction(problem.rhs, values)
            if stiff:
                jacobian = exact_jacobian(problem, values)
                return Radau(rate, time, x, until, jac=jacobian, **tolerances)
            return CompiledDop853(rate, time, x, until, **tolerances)

        stepper = begun(start_time, state)
        while stepper.status == "running" and len(times) <= PROBE_STEPS:
            stepper.step()
            if has_failed(stepper) or not np.all(np.isfinite(stepper.y)):
                break
            if resets.any() and _beyond(problem, resets, stepper, values):
                break
            between.look_into(stepper)
            times.append(float(stepper.t))
            states.append(stepper.y.copy())
            modes.append(values)
            turned = sides.fitting(times[-1], states[-1], values)
            if turned is not values and times[-1] != until:
                values = turned
                stepper = begun(times[-1], states[-1])
            span = abs(times[-1] - times[-2])
            shortest = min(shortest, span)
            may_be = len(times) > 10 and span > ENDLESS * shortest  # no quantile is below that
            if may_be and span > ENDLESS * np.quantile(np.abs(np.diff(times)), LONG):
                break
    own = begin.values if values is begin.values else np.array(modes)
    return _measured(begin, np.array(times), np.array(states), own, between.shortest())


def _measured(
    begin: Begin, moments: np.ndarray, table: np.ndarray, own: np.ndarray, between: float
) -> Probe:
    """Return the sizes that a short run met, with its own values or those of each step."""
    problem = begin.problem
    steps = np.abs(np.diff(moments)) if len(moments) > 1 else np.array([1e-3])
    path = problem.visible(moments, table, own)
    count = len(problem.watched)
    measured, _ = evaluate_block(problem.residuals, moments, table, own)
    pivots = dict(zip(problem.pivot_goals, measured[:, count + 1 :].T, strict=True))
    reactions = evaluate_block(problem.recover, moments, table, own)[1]
    return Probe(
        typical_step=_typical_step(steps),
        between=between,
        mean_step=float(np.mean(steps)),
        times=moments,
        path=path,
        exponents=begin.exponents(moments, table),
        states=np.abs(path).max(axis=0),
        reactions=np.abs(reactions).max(axis=0, initial=0.0),
        kinetic=float(np.max(measured[:, count])),
        grips={name: float(np.nanmax(pivots[name])) for name in problem.singular_goals},
        weakest=_weakest(pivots, problem.singular_goals),
        turning=np.abs(table - table[0]).max(axis=0) / max(abs(moments[-1] - moments[0]), 1e-300),
    )


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
    """Tell whether no motion lies beyond a reset as it was before it."""
    if event.name == ROWS:
        return True
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
    for row in (*dynamics.rows, *dynamics.aside):
        expressions += list(row.chain if row.posed is None else row.posed)
    expressions += [row.residual for row in dynamics.implicit_rows]
    slots = len(expressions)
    expressions += [row.value for row in dynamics.invariants]
    slopes = sparse_jacobian(ca.vertcat(ca.SX(0, 1), *expressions), dynamics.x)
    ties = ca.vertcat(
        ca.SX(0, dynamics.reactions.numel()), *[row.jacobian for row in dynamics.relations]
    )
    function = function_of(
        "slopes",
        [dynamics.t, dynamics.x, dynamics.p],
        [slopes, ties],
        (["t", "x", "p"], ["slopes", "ties"]),
        share=False,
    )
    results = function(start_time, start.state, dynamics.all_held(numbers))
    by_state = np.abs(np.asarray(results[0])).reshape(len(expressions), dynamics.x.numel())
    by_reaction = np.abs(np.asarray(results[1]).reshape(ties.shape))
    sizes = by_state @ _typical(dynamics, probe.states)
    automatic = np.concatenate(
        [sizes[:slots], by_reaction @ probe.reactions[: by_reaction.shape[1]], sizes[slots:]]
    )
    groups = (dynamics.rows, dynamics.aside, dynamics.implicit_rows, dynamics.relations,
              dynamics.invariants)  # fmt: skip
    chosen = {row.name: row.scale for group in groups for row in group}
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
        for function in ((problem.rhs, problem.guards) if angles else ())
        for column in function.jac_sparsity(0, 1).get_triplet()[1]
    }
    growth = max((probe.turning[index] for index in angles if index in acting), default=0.0)
    if growth * wanted > RADIANS_PER_SEGMENT:
        wanted = RADIANS_PER_SEGMENT / growth
    power = 10.0 ** math.floor(math.log10(wanted))
    # The logarithm of a number just below a power of ten may round to that power.
    fitting = [factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= wanted]
    return max(fitting, default=0.5 * power)
