"""The motion that a body held on fixed guides would begin, and when it begins.

Friction holds the body as long as no direction of sliding has a positive growth; see
`direction_flow`. The flow from the direction of the load finds such a direction if there is one: as
long as the growth along it is negative, the flow only approaches each direction u in which sliding
could begin, because

    (u . w)' = A(w) . u - (w . A(w)) (u . w),    A(w) . u >= A(u) . u = g >= 0

for reactions that do not depend on the direction w. While the load hardly turns, the limit of this
flow is followed instead.

Loads change the growth at most by a known multiple of their own change. An enclosure of the loads
therefore proves that a body is held over a whole stretch of time, however they change within it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer
from daesolve.contact.following import root
from daesolve.contact.friction.direction_flow import (
    Attractor,
    RestingBody,
    attraction,
    attractor_from,
)
from daesolve.contact.friction.held_loads import ROUNDING, UNKNOWN, HeldLoads
from daesolve.contact.friction.stiction import YieldingBody, resting_body
from daesolve.contact.friction.support_balance import VariantState
from daesolve.contact.friction.variants import GENTLE, VariantProblem
from daesolve.errors import VariantError

TURNED = 0.1
"""The turning of the load, in radians, after which its direction is examined again."""
FAR = 0.5
"""The angle from the direction of sliding, in radians, beyond which another limit is meant."""
SAME_HEIGHT = 1e-9
"""The difference of growths, relative to accelerations, of supports at one height."""
FEW = 6
"""With at most this many pairs, the effect of loads is bounded for all variants."""
SAFE = 1.5
"""The factor for directions and variants at which the effect of loads is not computed."""
SHARE = 0.9
"""The part of the margin that loads may use up within a stretch."""
AHEAD = 8.0
"""How far ahead the passage is looked for, as a multiple of the stretch without one."""
LEAPS = 1e-9
"""The shortest stretch, as a fraction of the same time."""
STRAIGHT = 0.1
"""The deviation of the loads from a straight line within a stretch, as a fraction of the margin,
up to which the margin passes zero only once in it."""

SETS_OUT = 1e-7
"""The speed at the end of the first moment of a motion, as a fraction of what the accelerations
give in a second, or in the time left if that is shorter."""
FIRST = 1e-6
"""The part of that time over which the rate of a growth is measured."""
EVEN = 1e-6
"""The accepted difference of two quadratures of the speed, relative to it; the better one is far
more accurate than this."""
LEAST = 1e-14
"""The shortest first moment, relative to the time."""
PARTS = np.linspace(0.0, 1.0, 5)
_POWERS = np.vander(PARTS, increasing=True).T
SUMS = np.linalg.solve(_POWERS, 1.0 / np.arange(1.0, 6.0))
"""The weights of the integral of a function of the parts over all of them: Boole's rule."""
MOMENTS = SUMS - np.linalg.solve(_POWERS, 1.0 / np.arange(2.0, 7.0))
"""The weights of the integral of that integral."""


@dataclass(frozen=True, eq=False)
class Loose:
    """The motion that a held body would begin.

    Parameters
    ----------
    margin
        Negative while friction holds the body: the growth of its speed, or that with which its
        supports would lift it.
    growth
        The growth of its speed once it slides, in units of it per second.
    direction
        (nv,) of length one in the metric of the mass matrix.
    answer
        The loaded supports.
    size
        The size of accelerations.
    """

    margin: float
    growth: float
    direction: np.ndarray
    answer: VariantAnswer
    size: float

    @property
    def rounding(self) -> float:
        """The margin that is only rounding."""
        return ROUNDING * self.size

    @property
    def slides(self) -> bool:
        """Whether the body begins to slide; not if it is at the limit to rounding."""
        return self.margin > self.rounding


class Loosening:
    """Follows the direction in which a held body would begin to slide.

    Parameters
    ----------
    problem
        The equations of the supports.
    loads
        What acts on the body.
    """

    def __init__(self, problem: VariantProblem, loads: HeldLoads) -> None:
        self.problem, self.loads = problem, loads
        self._direction: np.ndarray | None = None
        self._load = np.zeros(0)
        self._yields: np.ndarray | None = None
        self._level = True
        self._known: tuple[np.ndarray, float] | None = None

    def at(self, time: float, x: np.ndarray, p: np.ndarray) -> Loose:
        """Return the motion that a body would begin.

        Raises
        ------
        VariantError
            Neither rest nor sliding is possible.
        """
        body = resting_body(self.problem.with_numbers(p), x, time, p)
        sliding = self._sliding(body, time, x, p)
        margin, direction = sliding.growth, sliding.direction
        if self._yields is None:
            with suppress(VariantError):
                yields = self._yielding(body, direction)
                self._level = abs(yields - margin) <= SAME_HEIGHT * body.size
        if not self._level or margin > ROUNDING * body.size:
            margin = min(margin, self._yielding(body, direction))
        return Loose(margin, sliding.growth, direction, sliding.answer, body.size)

    def _sliding(self, body: RestingBody, time: float, x: np.ndarray, p: np.ndarray) -> Attractor:
        """Return the strongest direction of sliding."""
        known, load = self._direction, self._pull(body, time, x, p)
        if known is None:
            try:
                found = attractor_from(body, body.velocities(load))
            except VariantError:
                found = attraction(body).strongest
        else:
            found = attractor_from(body, known)
            if not load @ self._load > np.cos(TURNED):
                other = attractor_from(body, body.velocities(load))
                # Under a load of rounding, all directions are alike.
                if other.growth >= found.growth - ROUNDING * body.size:
                    found = other
        if known is None or not load @ self._load > np.cos(TURNED):
            self._load = load
        self._direction = found.direction
        return found

    def _pull(self, body: RestingBody, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the direction of the load: of the accelerations without friction, reduced."""
        axes = np.eye(body.freedom)
        here = self.problem.at(x, time, body.velocities(axes[0]), numbers=p)
        load = body.reduced(here.free)
        if self.problem.guides.brakes:  # Their friction reverses with the direction.
            back = self.problem.at(x, time, body.velocities(-axes[0]), numbers=p)
            load = 0.5 * (load + body.reduced(back.free))
        length = float(np.linalg.norm(load))
        return load / length if length > 0.0 else axes[0]

    def _yielding(self, body: RestingBody, direction: np.ndarray) -> float:
        """Return the growth with slips of velocities that lift the body; see `stiction`."""
        start = direction if self._yields is None else self._yields
        if not start @ body.mass @ direction > np.cos(FAR):
            start = direction
        found = attractor_from(YieldingBody(body), start)
        self._yields = found.direction
        return found.growth

    # -- the release ------------------------------------------------------------------------------

    def release(
        self, path: Callable[[float], np.ndarray], span: tuple[float, float], p: np.ndarray
    ) -> tuple[list[float], Loose | None]:
        """Return the times up to the release of a body that is held, and how it then slides.

        Parameters
        ----------
        path
            Time -> the state (nx,) of the body while it is held.
        span
            The first and the last time, s; it is held at the first one.
        p
            The values.
        """
        here, stop = span
        whole, times, step, rate = stop - here, [here], stop - here, 0.0
        before = self.at(here, path(here), p)
        while here < stop:
            after = self._safe((here, min(here + step, stop)), whole, path(here), p, before)
            # Where the margin is likely to have passed zero.
            ahead = here - 1.5 * before.margin / rate if rate > 0.0 else np.inf
            if after < ahead <= min(here + AHEAD * (after - here), stop):
                passed = self.at(ahead, path(ahead), p)
                if passed.slides and self._straight((here, ahead), path(here), p, before):
                    return self._passage((here, ahead), times, path, p)
            found = self.at(after, path(after), p)
            if found.slides:
                # Its loads have no bound, or it was at its limit before.
                return self._passage((here, after), times, path, p)
            rate = (found.margin - before.margin) / (after - here)
            step = 2.0 * (after - here)
            here, before = after, found
            times.append(here)
        return times, None

    def _safe(
        self, times: tuple[float, float], whole: float, x: np.ndarray, p: np.ndarray, loose: Loose
    ) -> float:
        """Return a time up to which loads cannot set a body in motion."""
        begin, end = times
        x = x.copy()
        x[-len(loose.direction) :] = GENTLE * loose.direction
        effects, leaning = self._effects(begin, x, p)
        spare = max(-SHARE * loose.margin, ROUNDING * loose.size)
        least = max(LEAPS * whole, 4.0 * np.spacing(abs(begin)))
        while end - begin > least:
            forces, turned = self.loads.change((begin, end), x, p)
            if effects @ forces + leaning * loose.size * turned <= spare:
                return end
            if end - begin <= UNKNOWN * whole and not np.all(np.isfinite(forces)):
                return min(begin + UNKNOWN * whole, times[1])
            end = begin + 0.5 * (end - begin)
        return min(begin + least, times[1])

    def _straight(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray, loose: Loose
    ) -> bool:
        """Return whether the margin passes zero only once within a stretch, and with the loads."""
        x = x.copy()
        x[-len(loose.direction) :] = GENTLE * loose.direction
        effects, leaning = self._effects(times[0], x, p)
        forces, turned = self.loads.bend(times, x, p)
        return bool(effects @ forces + leaning * loose.size * turned <= -STRAIGHT * loose.margin)

    def _passage(
        self,
        span: tuple[float, float],
        times: list[float],
        path: Callable[[float], np.ndarray],
        p: np.ndarray,
    ) -> tuple[list[float], Loose]:
        """Return the times up to where the margin passes zero, and how the body then slides."""
        begin, end = span

        def margin(moment: float) -> float:
            return self.at(moment, path(moment), p).margin

        moment = end if margin(begin) >= 0.0 else root(margin, begin, end)
        return [*times, moment], self.at(moment, path(moment), p)

    def _effects(self, time: float, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the largest growth that a unit of each force causes, (nv,), and of leaning."""
        if self._known is None:
            body = resting_body(self.problem.with_numbers(p), x, time, p)
            along, across = body.basis, body.lifting
            straight = np.linalg.norm(along, axis=1)
            indirect = np.zeros_like(straight)
            oblique = np.linalg.qr(np.random.default_rng(1).standard_normal(2 * [body.freedom]))[0]
            for direction in (*oblique, *-oblique):
                here = self.problem.at(x, time, body.velocities(direction), numbers=p)
                indirect = np.fmax(indirect, _borne(here, along, across))
            self._known = straight + SAFE * indirect, SAFE
        return self._known


def _borne(here: VariantState, along: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Return the friction that a unit of each force causes by the reactions to it, at most."""
    found = np.zeros(len(along))
    count = here.first.shape[1]
    sides = [(1,) if not np.any(first) else (0, 1) for first in here.first.T]
    if count > FEW:
        sides = [(1,)] * count
    for chosen in itertools.product(*sides):
        loaded = np.where(np.array(chosen, dtype=bool), here.second, here.first)
        rubs = np.linalg.norm(along.T @ here.mass @ loaded, axis=0)
        pressed = across.T @ here.mass @ loaded
        with suppress(np.linalg.LinAlgError):
            reactions = np.abs(np.linalg.solve(pressed, across.T))
            found = np.fmax(found, rubs @ reactions)
    return found


@dataclass(frozen=True, eq=False)
class Departure:
    """The first moment of a motion that begins at the limit of friction.

    The speed s obeys s' = g(t), with the growth g in the direction u(t) that the body would take
    from rest. The true direction lags behind by s u'/|A|, and the places change by the integral of
    s: neither matters as long as s is far smaller than the accelerations A times a second.

    Parameters
    ----------
    time
        Its end, s.
    speed, way
        s there, and its integral.
    loose
        The motion that would begin there.
    """

    time: float
    speed: float
    way: float
    loose: Loose


def depart(at: Callable[[float], Loose], begin: Loose, time: float, end: float) -> Departure:
    """Return the first moment of a motion.

    Parameters
    ----------
    at
        Time -> the motion that a body would begin that has been held until then.
    begin, time
        The motion that begins, and when, s.
    end
        The latest end of that moment, s.
    """
    longest = end - time
    goal = SETS_OUT * begin.size * min(longest, 1.0)
    span = min(FIRST * min(longest, 1.0), longest)
    rate = max((at(time + span).growth - begin.growth) / span, 0.0)
    # s = g t + g' t^2 / 2
    root = begin.growth + np.sqrt(begin.growth**2 + 2.0 * rate * goal)
    span = min(2.0 * goal / root if root > 0.0 else longest, longest)
    while True:
        found = [begin, *(at(time + part * span) for part in PARTS[1:])]
        growths = np.array([loose.growth for loose in found])
        speed, way = span * float(SUMS @ growths), span**2 * float(MOMENTS @ growths)
        rough = span * (growths[0] + 4.0 * growths[2] + growths[4]) / 6.0
        even = abs(speed - rough) <= EVEN * speed and np.all(growths[1:] > 0.0)
        if even or span <= LEAST * max(abs(time), longest):
            return Departure(time + span, max(speed, 0.0), max(way, 0.0), found[-1])
        span *= 0.25
