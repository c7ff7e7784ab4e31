"""Where a guard dips through zero and back between two looks at it.

A guard that grazes zero has the same sign at both looks, and passes through zero twice between
them, however closely they follow each other. Its rate along the motion, exact by CasADi, changes
its sign at the extremum, and does so with a slope: there it is found, and the guard is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np
import scipy

from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.solvers.guard_derivatives import are_large, derivatives_along, moves_of

MARGIN = 2.0
"""A guard may come this many times nearer to zero between two looks than its tangents show."""
FLAT = 0.1
"""The least fraction of the larger rate at two looks that a guard keeps between them if it
continues."""
TRUE = 0.05
"""The largest error of a guard's cubic that is trusted, as a fraction of its change between two
looks."""
HALVINGS = 12
"""The most halvings of a stretch until the cubic through its ends is trusted."""
MOST_ITERATIONS = 5_000
"""The most iterations of Brent's method, which at a zero without slope needs the square of what
halving needs."""
MOST_STRETCHES = 8
"""The most stretches of equal length in which a smooth guard is suspect at once; if there are more,
it is noise."""
PART = 1e-12
"""The fraction of a stretch to which an extremum is found on the interpolant."""
CORRECTIONS = 3
"""How often an extremum on the interpolant is corrected by the method's own states."""


@dataclass(frozen=True, eq=False)
class Look:
    """The motion at an instant: the guards there, and their rates."""

    time: float
    state: np.ndarray
    values: np.ndarray
    rates: np.ndarray


See = Callable[[float], Look]


def guard_rates(problem: OdeProblem) -> ca.Function:
    """(t, x, p) -> the guards and their rates along the motion."""
    t, x, p = (problem.guards.sx_in(k) for k in range(3))
    values = problem.guards(t, x, p)
    moving = ca.jtimes(values, x, problem.rhs(t, x, p)) + ca.jtimes(values, t, ca.SX(1))
    names = ["t", "x", "p"], ["g", "rate"]
    # It is evaluated a few times at each event.
    share = not are_large(problem)
    return function_of("guard_rates", [t, x, p], [values, moving], names, share=share)


def guard_evaluator(problem: OdeProblem) -> Callable[..., list[np.ndarray]]:
    """(t, x, p) -> the guards of a problem and their rates along the motion."""

    def evaluate(t: float, x: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
        own = problem.in_mode(p)
        if not are_large(own):
            return _built(own)[1](t, x, p)
        return [table[0] for table in guards_at(own, np.array([t]), x[None, :], p)]

    return evaluate


def guards_at(
    problem: OdeProblem, times: np.ndarray, states: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return guards and their rates along the motion, (k, n) each, at times (k,) and states."""
    problem = problem.in_mode(p)
    if are_large(problem):
        moves = moves_of(problem, times, states, p)
        values, slopes = derivatives_along(problem, times, states, p, moves[:, None, :])
        return values, slopes[..., 0]
    values, rates = evaluate_block(_built(problem)[0], times, states, p)
    return values, rates


@built_once
def _built(problem: OdeProblem) -> tuple[ca.Function, Evaluator]:
    function = guard_rates(problem)
    return function, Evaluator(function)


def hidden(
    looks: Sequence[Look], see: See, settle: See, rounding: np.ndarray | float = 0.0
) -> list[Look]:
    """Return looks that show zeros of guards between those that are known.

    Parameters
    ----------
    looks
        In the order of integration.
    see
        Time -> look, by an interpolant.
    settle
        Time -> look, of the method's own accuracy.
    rounding
        What each guard may be off: where it goes no farther, it is not looked into.
    """
    times = np.array([look.time for look in looks])
    values = np.array([look.values for look in looks])
    rates = np.array([look.rates for look in looks])
    found: list[Look] = []
    limits = np.broadcast_to(rounding, values.shape[1:])
    dips, turns = suspect(np.diff(times)[:, None], values, rates, limits)
    for left, guard in np.argwhere(dips | turns).tolist():
        between = _between(looks[left], looks[left + 1], (guard, float(limits[guard])), see, settle)
        row = [looks[left], *between, looks[left + 1]]
        if _changes(row, guard) > _changes([row[0], row[-1]], guard):
            found += between
    return found


def suspect(
    spans: np.ndarray,
    values: np.ndarray,
    rates: np.ndarray,
    rounding: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return between which looks a guard may dip through zero, and where it may turn twice.

    It may dip where it has one sign at both, approaches zero at first and goes away from it in the
    end, and the tangents meet beyond zero, or nearly. It also does where it leaves zero to one side
    and is on the other one in the end. It may turn twice where Simpson's rule says that its rate in
    the middle has another sign than at both ends, which rounding says of a guard that hardly moves.
    """
    with np.errstate(all="ignore"):
        ways = np.sign(spans)
        sign = np.sign(values[:-1]) * ways
        before, after = -sign * rates[:-1], sign * rates[1:]
        sizes, lengths = np.abs(values), np.abs(spans)
        dips = (values[:-1] * values[1:] > 0.0) & (before > 0.0) & (after > 0.0)
        dips &= sizes[:-1] * after + sizes[1:] * before <= MARGIN * before * after * lengths
        dips |= (values[:-1] == 0.0) & (ways * rates[:-1] * values[1:] < 0.0)
        inner = (6.0 * np.diff(values, axis=0) / spans - rates[:-1] - rates[1:]) / 4.0
        fastest = np.maximum(np.abs(rates[:-1]), np.abs(rates[1:]))
        turns = (rates[:-1] * rates[1:] > 0.0) & (inner * np.sign(rates[1:]) < FLAT * fastest)
        reach = lengths * np.maximum(fastest, np.abs(inner))
        turns &= (np.minimum(sizes[:-1], sizes[1:]) <= reach) & (reach > rounding)
    return dips, turns


def _between(
    left: Look, right: Look, judged: tuple[int, float], see: See, settle: See
) -> list[Look]:
    """Return looks between two others, in their order, at whose extrema a guard is judged.

    It is given by its number and its rounding.

    A guard that is smooth is suspect in few parts of the whole, however short these become.
    """
    guard, rounding = judged
    found: list[Look] = []
    stretches = [(left, right)]
    for halving in range(HALVINGS + 1):
        halves: list[tuple[Look, Look]] = []
        for one, other in stretches:
            middle = see(0.5 * (one.time + other.time))
            if not np.isfinite(middle.values[guard]):
                continue
            if halving == HALVINGS or _is_cubic(one, middle, other, guard):
                lowest = _extremum(one, other, guard, see, settle)
                found += [] if lowest is None else [lowest]
            else:
                found.append(middle)
                halves += [(one, middle), (middle, other)]
        stretches = [pair for pair in halves if _issuspect(*pair, guard, rounding)]
        if len(stretches) > MOST_STRETCHES:
            break
    return sorted(found, key=lambda look: abs(look.time - left.time))


def _issuspect(left: Look, right: Look, guard: int, rounding: float) -> bool:
    """Return whether a guard may dip through zero, or turn twice, between two looks."""
    dips, turns = _suspect_between(left, right, guard, rounding)
    moment = 0.5 * (left.time + right.time)
    return (dips or turns) and moment not in (left.time, right.time)


def _suspect_between(
    left: Look, right: Look, guard: int, rounding: float = 0.0
) -> tuple[bool, bool]:
    spans = np.array([[right.time - left.time]])
    values, rates = (
        np.array([[ends[0][guard]], [ends[1][guard]]])
        for ends in ((left.values, right.values), (left.rates, right.rates))
    )
    dips, turns = suspect(spans, values, rates, rounding)
    return bool(dips.any()), bool(turns.any())


def _is_cubic(left: Look, middle: Look, right: Look, guard: int) -> bool:
    """Return whether a guard dips as the cubic through both ends of a stretch does."""
    value = float(middle.values[guard])
    ends = np.array([left.values[guard], right.values[guard]])
    bend = float(right.rates[guard] - left.rates[guard])
    cubic = 0.5 * float(np.sum(ends)) - (right.time - left.time) * bend / 8.0
    trusted = abs(value - cubic) <= TRUE * np.max(np.abs(ends - value))
    return trusted and _suspect_between(left, right, guard)[0]


def _extremum(left: Look, right: Look, guard: int, see: See, settle: See) -> Look | None:
    """Return the extremum of a guard between two looks; None if its rates show none."""
    ends = {look.time: float(look.rates[guard]) for look in (left, right)}
    if not ends[left.time] * ends[right.time] < 0.0:
        return None

    def rate(time: float) -> float:
        return ends[time] if time in ends else float(see(time).rates[guard])

    first, last = sorted(ends)
    least = PART * (last - first) + 1e-300
    time = float(
        scipy.optimize.brentq(rate, first, last, xtol=least, rtol=8.9e-16, maxiter=MOST_ITERATIONS)
    )
    found = settle(time)
    bend = (ends[right.time] - ends[left.time]) / (right.time - left.time)
    for _ in range(CORRECTIONS):
        # How much nearer to zero it comes, where the interpolant is a little off.
        missed = 0.5 * found.rates[guard] ** 2 / abs(bend)
        turned = found.values[guard] * left.values[guard] <= 0.0
        if turned or not missed > np.finfo(float).eps * abs(found.values[guard]):
            break
        time = min(max(found.time - float(found.rates[guard]) / bend, first), last)
        other = settle(time)
        if time != found.time and other.rates[guard] != found.rates[guard]:
            bend = float(other.rates[guard] - found.rates[guard]) / (time - found.time)
        nearer = abs(other.values[guard]) < abs(found.values[guard])
        if not nearer and other.values[guard] * left.values[guard] > 0.0:
            break
        found = other
    return found


def _changes(looks: Sequence[Look], guard: int) -> int:
    """Count the changes of sign of a guard."""
    return sum(a.values[guard] * b.values[guard] <= 0.0 for a, b in pairwise(looks))
