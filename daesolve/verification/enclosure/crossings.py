"""Sets that pass a guard: every state at its own instant, the reset, and back to the common time.

A set that waits at time t is taken along the motion to where the guard is zero, reset, and taken
back along the motion of the new mode, so that time stays one number. The whole is a map of the
state, enclosed by its value at the centre and its derivatives over the box around the set.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.events import EITHER, RISING, Direction
from daesolve.verification.enclosure.equations import CertifiedEquations
from daesolve.verification.enclosure.exact import evaluate, flint, from_exact, to_exact
from daesolve.verification.enclosure.interval_matrices import UP, IntervalMatrix
from daesolve.verification.enclosure.state_sets import StateSet

WIDER = 4
"""How often a box around a short motion is widened."""


class NotCertifiedError(ArithmeticError):
    """Something cannot be proved; the message says what, `before` are the events that can."""

    def __init__(self, message: str, before: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.before = list(before)


@dataclass(frozen=True, eq=False)
class ShortMotion:
    """The motion from any state of a box, for times within a radius of the present one.

    Parameters
    ----------
    within
        A box that contains it, as balls of python-flint.
    rates
        Its rates there.
    slopes
        Its derivatives by the state from which it begins.
    """

    within: list[Any]
    rates: list[Any]
    slopes: IntervalMatrix


def short_motion(
    equations: CertifiedEquations, moment: Any, box: list[Any], p: list[Any], radius: float
) -> ShortMotion:
    """Enclose the motion from all states of a box, forwards and backwards.

    Raises
    ------
    NotCertifiedError
        No box was found that it does not leave.
    """
    arb = flint().arb
    span = arb(0, radius)
    inflated = 1.1 * radius
    within = box
    for _ in range(WIDER):
        rates, _ = evaluate(equations.slopes, [moment + span], within, p)
        reach = arb(0, inflated)
        within = [x + reach * f + arb(0, 1e-300) for x, f in zip(box, rates, strict=True)]
        rates, slopes = evaluate(equations.slopes, [moment + span], within, p)
        moved = [x + span * f for x, f in zip(box, rates, strict=True)]
        if all(w.is_finite() and w.contains(m) for w, m in zip(within, moved, strict=True)):
            n = equations.size
            sizes = IntervalMatrix.of_balls(_balls(slopes)).size.reshape(n, n)
            norm = float(np.max(np.sum(sizes, axis=0), initial=0.0)) * radius * UP
            if norm < 0.5:
                bound = norm / (1.0 - norm) * UP
                return ShortMotion(within, rates, IntervalMatrix(np.eye(n), np.full((n, n), bound)))
        inflated *= 2.0
    raise NotCertifiedError("the motion beside the event leaves every box that was tried")


@dataclass(frozen=True, eq=False)
class EnclosedPassage:
    """A guard that passes zero, and the reset that follows.

    Parameters
    ----------
    index, direction
        Which guard it is, and the way in which it fires.
    guard
        See `CertifiedEquations.guard`.
    jump
        See `CertifiedEquations.jump`; None for an event at which nothing changes.
    continues
        Whether the guard is the same after the reset, so that it goes on through zero.
    zeros
        The guards that are zero after the reset, which is known of them.
    """

    index: int
    direction: Direction
    guard: ca.Function
    jump: ca.Function | None
    continues: bool
    zeros: Collection[int] = ()


@dataclass(frozen=True, eq=False)
class SetCrossing:
    """An enclosed event.

    Parameters
    ----------
    after
        The set after it, at the common time.
    p
        The values after it.
    delay
        (3,) how long after the common time it happens, s, over the set.
    near
        The instants at which it may happen.
    behind
        A box that contains the motion after it at all of them.
    """

    after: StateSet
    p: list[Any]
    delay: np.ndarray
    near: Any
    behind: list[Any]


def cross(
    equations: CertifiedEquations,
    time: float,
    waiting: StateSet,
    p: list[Any],
    passage: EnclosedPassage,
) -> SetCrossing:
    """Take a set through an event that happens about now.

    Parameters
    ----------
    equations
        The equations.
    time
        The common time, s.
    waiting, p
        The set before, and the values.
    passage
        The event.

    Raises
    ------
    NotCertifiedError
        The guard may touch zero without passing, or a box holds a pole.
    """
    n, guard, jump = equations.size, passage.guard, passage.jump
    moment, box = to_exact((time, 0.0, 0.0)), [to_exact(b) for b in waiting.box]
    centre = [to_exact(b) for b in waiting.point]
    (value,), _, (rate,) = evaluate(guard, [moment], box, p)
    radius = _upper(value) / _lower(rate) * 1.01
    before = short_motion(equations, moment, box, p, radius)
    arb = flint().arb
    near = moment + arb(0, radius)
    _, slope, (rate,) = evaluate(guard, [near], before.within, p)
    if not _upper(value) / _lower(rate) <= radius:
        raise NotCertifiedError("the event cannot be told from one that does not happen")
    if not _fires(passage.direction, rate):
        raise NotCertifiedError("its guard passes zero the other way")
    _refuse_others(equations, {passage.index}, near, before.within, p)
    (at_centre,), *_ = evaluate(guard, [moment], centre, p)
    delay = -at_centre / rate
    by_state = IntervalMatrix.of_balls(_balls([-g / rate for g in slope])[None, :]) @ before.slopes
    delays = np.array(from_exact(delay + arb(0, float(waiting.errors(by_state)[0]))))
    if jump is None:
        return SetCrossing(waiting, p, delays, near, before.within)
    image, values, slopes = _reset(equations, (near, before, by_state), p, jump)
    met = [x + delay * f for x, f in zip(centre, before.rates, strict=True)]
    after_centre = evaluate(jump, [moment + delay], met, p)[0]
    behind = short_motion(equations, near, image, values, radius)
    zeros = {passage.index, *passage.zeros}
    _refuse_others(equations, zeros, near, behind.within, values)
    if not passage.continues:
        (value,), _, (rate,) = evaluate(guard, [near], behind.within, values)
        if value.contains(0) and (rate.contains(0) or _fires(passage.direction, rate)):
            raise NotCertifiedError("it may happen again at once")
    back = [x - delay * f for x, f in zip(after_centre, behind.rates, strict=True)]
    thrown = _balls(behind.rates)[:, None]
    turned = slopes + -(IntervalMatrix.of_balls(thrown) @ by_state)
    whole = behind.slopes @ turned
    after = waiting.mapped(_balls(back), whole)
    assert len(after.centre) == n
    return SetCrossing(after, values, delays, near, behind.within)


def _fires(direction: Direction, rate: Any) -> bool:
    """Return whether a guard with this rate, which is not zero, fires where it is zero."""
    return direction is EITHER or (direction is RISING) == bool(rate > 0)


def _refuse_others(
    equations: CertifiedEquations, own: Collection[int], near: Any, within: list[Any], p: list[Any]
) -> None:
    """Refuse to decide which of several guards is first."""
    places, function = equations.moving
    for place, value in zip(places, evaluate(function, [near], within, p)[0], strict=True):
        if place not in own and value.contains(0):
            other = equations.problem.guarded[place].name
            raise NotCertifiedError(f"{other!r} may happen at the same instant")


def _reset(
    equations: CertifiedEquations,
    here: tuple[Any, ShortMotion, IntervalMatrix],
    p: list[Any],
    jump: ca.Function,
) -> tuple[list[Any], list[Any], IntervalMatrix]:
    """Return the box after a reset, the values, and its derivatives by the state that waits."""
    near, before, by_state = here
    n = equations.size
    image, values, by_time, by_x = evaluate(jump, [near], before.within, p)
    if not all(one.is_finite() for one in image):
        raise NotCertifiedError("the reset may not be finite")
    rates = IntervalMatrix.of_balls(_balls(before.rates)[:, None])
    met = before.slopes + (rates @ by_state)
    shape = _balls(by_x).reshape(n, n, 3).transpose(1, 0, 2)
    own = IntervalMatrix.of_balls(shape) @ met
    return image, values, own + (IntervalMatrix.of_balls(_balls(by_time)[:, None]) @ by_state)


def _balls(values: list[Any]) -> np.ndarray:
    return np.array([from_exact(value) for value in values]).reshape(-1, 3)


def _upper(value: Any) -> float:
    high, low, radius = from_exact(value)
    return (abs(high) + abs(low) + radius) * UP


def _lower(value: Any) -> float:
    """Return what a size is at least.

    Raises
    ------
    NotCertifiedError
        It may be zero.
    """
    high, low, radius = from_exact(value)
    least = abs(high) * (1.0 - 1e-15) - abs(low) - radius * UP
    if not least > 0.0:
        raise NotCertifiedError("a guard may touch zero there without passing (a graze)")
    return least
