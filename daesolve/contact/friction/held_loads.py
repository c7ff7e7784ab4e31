"""What acts on a held body over a stretch of time: enclosed, so that no load passes unseen.

A load that exceeds the limit of friction only between two evaluations would go unnoticed. What acts
on the body (forces, the effect of reactions and friction, the motion of guides and, if they move,
the masses) is therefore enclosed over whole stretches of time, together with the quantities that
continue while the body stands still, such as integrals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import casadi as ca
import numpy as np

from daesolve.contact.friction.sticking import StickingSearch
from daesolve.core.expressions.intervals import Interval, bounds

BOW = 0.25
"""The deviation of a curve from its chord, relative to the step times the difference of slopes."""
ROUNDING = 1e-12
"""The excess over the limit, relative to the effect of loads without friction, due to rounding."""
EVEN = 0.1
"""The accepted deviation of a rate from a straight line within a part, relative to the largest."""
PARTS = 64
"""The number of parts of a stretch in which rates are first bounded."""
SHORTEST = 1e-12
"""The shortest part, relative to the whole."""
UNKNOWN = 1.0 / 200.0
"""The longest stretch if loads have no known bound, as a fraction of the remaining time."""
WIDER = 1.25
"""The widening of a box in which a quantity is supposed to stay, until it does."""
MOST_BOXES = 12


class HeldLoads:
    """Bounds how what acts on a held body changes over a stretch of time.

    Parameters
    ----------
    sticking
        The sticking slips.
    """

    def __init__(self, sticking: StickingSearch) -> None:
        self.sticking, dynamics = sticking, sticking.dynamics
        self._still = sticking.guides.still
        names = list(dynamics.values)
        self._senses = [names.index(brake.sense.name()) for brake in sticking.guides.brakes]
        # The effect of reactions and friction coefficients counts as much as their forces.
        parts = [dynamics.force, ca.vec(dynamics.influence), sticking.carried]
        if not self._still:
            parts.append(ca.vec(dynamics.mass))
        acting = ca.densify(ca.vertcat(*parts))
        self._shape = dynamics.influence.shape
        self._count, self._carried = dynamics.force.numel(), sticking.carried.numel()
        going = ca.densify(dynamics.position_rates)
        if self._still:
            rest = ca.SX.zeros(dynamics.velocity_count)
            going = ca.densify(ca.substitute(going, dynamics.velocities, rest))
        slopes = ca.jacobian(acting, dynamics.t)
        slopes += ca.jtimes(acting, dynamics.x[: going.numel()], going)
        slopes = ca.simplify(ca.densify(slopes))
        self.timed = slopes.nnz() > 0 and not slopes.is_zero()
        self._slopes = dynamics.function("slopes_in_time", ca.densify(slopes))
        self._acting = dynamics.function("acting", acting)
        self._going = dynamics.function("going", ca.densify(going))
        self._bent = dynamics.function("bent", ca.densify(ca.jacobian(going, dynamics.t)))
        rates = [ca.simplify(rate) for rate in ca.vertsplit(going)]
        self._moves = [k for k, rate in enumerate(rates) if not rate.is_zero()]

    def change(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return how much each force changes at most after the beginning of a stretch, (nv,).

        Parameters
        ----------
        times
            The ends of the stretch, s.
        x, p
            (nx,) the state at its beginning, at rest on fixed guides, and the values.

        Returns
        -------
        tuple
            The largest changes of forces, and the relative change of the effect of reactions.
        """
        changes = [self._change(times, x, values) for values in self._both_ways(p)]
        return np.max([forces for forces, _ in changes], axis=0), max(turn for _, turn in changes)

    def _both_ways(self, p: np.ndarray) -> list[np.ndarray]:
        """Return p with each sense of laws of friction, which may let go in either."""
        found = [p]
        for place in self._senses:
            found = [_with(values, place, sense) for values in found for sense in (1.0, -1.0)]
        return found

    def _change(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the same for given senses of laws of friction."""
        box = self._box(times, x, p)
        if box is None:
            return np.full(self._count, np.inf), np.inf
        given = [[times], box, _points(p)]
        begin = np.asarray(self._acting(times[0], x, p)).ravel()
        whole, slopes = (np.array(bounds(f, given)[0]) for f in (self._acting, self._slopes))
        with np.errstate(invalid="ignore"):
            apart = np.max(np.abs(whole - begin[:, None]), axis=1)
            moved = (times[1] - times[0]) * np.max(np.abs(slopes), axis=1)
        widths = np.fmin(np.nan_to_num(apart, nan=np.inf), np.nan_to_num(moved, nan=np.inf))
        return self._parted(widths, begin)

    def bend(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return how far each force may deviate from its chord within a stretch; see `change`."""
        bends = [self._bend(times, x, values) for values in self._both_ways(p)]
        return np.max([forces for forces, _ in bends], axis=0), max(turn for _, turn in bends)

    def _bend(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, float]:
        box = self._box(times, x, p)
        if box is None:
            return np.full(self._count, np.inf), np.inf
        slopes = np.array(bounds(self._slopes, [[times], box, _points(p)])[0])
        with np.errstate(invalid="ignore"):
            widths = BOW * (times[1] - times[0]) * (slopes[:, 1] - slopes[:, 0])
        begin = np.asarray(self._acting(times[0], x, p)).ravel()
        return self._parted(np.nan_to_num(widths, nan=np.inf), begin)

    def _parted(self, widths: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the widths of forces, and the largest of other effects relative to these."""
        borne = slice(self._count, self._count + self._shape[0] * self._shape[1])
        usual = max(float(np.max(np.abs(begin[borne]), initial=0.0)), 1e-300)
        return widths[: self._count], float(np.max(widths[borne], initial=0.0)) / usual

    def even_parts(self, times: tuple[float, float], x: np.ndarray, p: np.ndarray) -> list[float]:
        """Return the ends of parts in which the rates of what continues change evenly.

        An integration then passes over no short pulse in these rates.

        Parameters
        ----------
        times
            The ends of the stretch, s.
        x, p
            (nx,) the state at its beginning, at rest on fixed guides, and the values.
        """
        begin, end = times
        if not (self._still and self._moves):
            return [end]
        edges = np.linspace(begin, end, PARTS + 1).tolist()
        pending = [*itertools.pairwise(edges)][::-1]
        largest = np.array([self._rates(part, x, p)[0] for part in pending]).max(axis=0)
        found = list[float]()
        while pending:
            first, last = pending.pop()
            _, bends = self._rates((first, last), x, p)
            middle = 0.5 * (first + last)
            uneven = bool(np.any(bends > EVEN * largest))
            # Rates without a bound are sampled.
            least = SHORTEST if np.all(np.isfinite(bends)) else UNKNOWN
            if uneven and last - first > least * (end - begin):
                pending += [(middle, last), (first, middle)]
            else:
                found.append(last)
        return found

    def _rates(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest rates of what continues, and how far they may bend, by time alone."""
        given = [[times], _points(x), _points(p)]
        rates, slopes = (np.array(bounds(f, given)[0]) for f in (self._going, self._bent))
        with np.errstate(invalid="ignore"):
            widths = BOW * (times[1] - times[0]) * (slopes[:, 1] - slopes[:, 0])
        rates = np.max(np.abs(rates[self._moves]), axis=1)
        return rates, np.nan_to_num(widths[self._moves], nan=np.inf)

    def _box(
        self, times: tuple[float, float], x: np.ndarray, p: np.ndarray
    ) -> list[Interval] | None:
        """Return intervals in which the quantities that continue stay; None if none is found."""
        box = _points(x)
        if not self._moves:
            return box
        span, given = times[1] - times[0], _points(p)
        for _ in range(MOST_BOXES):
            rates = bounds(self._going, [[times], box, given])[0]
            inside, wider = True, list(box)
            for k in self._moves:
                low = x[k] + min(0.0, span * rates[k][0])
                high = x[k] + max(0.0, span * rates[k][1])
                if not (math.isfinite(low) and math.isfinite(high)):
                    return None
                inside &= box[k][0] <= low and high <= box[k][1]
                apart = WIDER * max(high - x[k], x[k] - low)
                wider[k] = (min(box[k][0], x[k] - apart), max(box[k][1], x[k] + apart))
            if inside:
                return box
            box = wider
        return None

    def bow(self, times: tuple[float, float], states: np.ndarray, p: np.ndarray) -> float:
        """Return the deviation of slip accelerations from their chord beyond rounding, m/s^2.

        Parameters
        ----------
        times
            The ends of the step, s.
        states
            (k, nx) the states at some of its times.
        p
            The values.
        """
        if not self.timed:
            return 0.0
        within = self._within(times, states, p)
        if within is None:
            return np.inf
        given = [[times], within, _points(p)]
        slopes = np.array(bounds(self._slopes, given)[0])
        with np.errstate(invalid="ignore"):
            widths = BOW * (times[1] - times[0]) * (slopes[:, 1] - slopes[:, 0])
        if not np.all(np.isfinite(widths)):
            return np.inf
        pushes = self.sticking.pushes(times[0], states[0], p)
        borne = self._count + self._shape[0] * self._shape[1]
        force = self.sticking.dynamics.matrices(times[0], states[0], p)["force"]
        turned = widths[self._count : borne].reshape(self._shape, order="F").sum(axis=1)
        loads = widths[: self._count] + turned * float(np.max(np.abs(force)))
        carried = float(np.max(widths[borne : borne + self._carried], initial=0.0))
        if not self._still:
            masses = widths[borne + self._carried :].reshape(self._count, self._count)
            held = self.sticking.accelerations(times[0], states[0], p)
            loads += masses @ np.abs(held)
        rounding = ROUNDING * float(np.max(pushes @ np.abs(force).ravel(), initial=0.0))
        return float(np.max(pushes @ loads, initial=0.0)) + carried - rounding

    def _within(
        self, times: tuple[float, float], states: np.ndarray, p: np.ndarray
    ) -> list[Interval] | None:
        """Return intervals of the states over a step."""
        low, high = states.min(axis=0), states.max(axis=0)
        box: Sequence[Interval] = [*zip(low.tolist(), high.tolist(), strict=True)]
        if not self._still:
            return list(box)
        return self._box(times, states[0], p)


def _with(numbers: np.ndarray, place: int, value: float) -> np.ndarray:
    """Return numbers of which one is changed."""
    found = numbers.copy()
    found[place] = value
    return found


def _points(numbers: np.ndarray) -> list[Interval]:
    """Return numbers as intervals."""
    return [(value, value) for value in numbers.tolist()]
