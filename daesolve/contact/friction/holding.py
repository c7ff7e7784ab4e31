"""A body in plane guides held by friction while loads or guides change, until its release.

If nothing slides, the slips of all supports and the constraints determine the velocities: zero on
fixed guides, and those of the guide on a moving one. The body is held as long as it cannot begin to
slide: on fixed guides as long as `stiction` confirms it, on moving ones as long as the slips would
not all grow in either sense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy

from daesolve.contact.following import TIME, DensePath, first_positive, follow
from daesolve.contact.friction.direction_flow import BranchFollower
from daesolve.contact.friction.held_loads import ROUNDING, HeldLoads
from daesolve.contact.friction.loosening import Loose, Loosening, depart
from daesolve.contact.friction.sliding import Sliding, refuse_open
from daesolve.contact.friction.variants import with_variant
from daesolve.contact.posing.guides import FRICTION_WORK, RELEASED, SLOW_ENERGY, SLOW_PART
from daesolve.core.events.law import Ending, Stretch, StretchEvent
from daesolve.core.expressions.singular_values import rank
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.errors import VariantError

STEPS = 200
"""The longest step in search of the release is the remaining time divided by this."""
LEAST = 1e-9
"""The shortest step, as a fraction of the same time."""
AGREES = 0.1
"""The accepted deviation of the margin from a straight line in the middle of a step, as a fraction
of the margin."""
STEEP = 4.0
"""The largest change of velocities in a step, as a multiple of what their rates at its ends
give."""
LASTS = 0.1
"""The remaining share of such a change over a very short time that shows a jump."""
UNKNOWN = 1.0 / 64.0
"""A share of the longest step that is short enough if loads within it have no known bound."""
ACCURACY = 1e-13
"""Relative and absolute error of a step of the motion imposed by a guide."""
UNFELT = 1e-40
"""The slowest start of a motion in space, as a fraction of what accelerations give in a second: its
friction needs a direction."""
TOGETHER = 1e-12
"""Guards that pass within this fraction of the longest step pass together."""

Guards = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class OtherGuards:
    """The guards of others, which may pass while a body is held.

    Parameters
    ----------
    which
        (k,) their numbers among all guards.
    guards
        (t, x, p) -> their values, (k,).
    directions
        (k,) in which they count: 1 rising, -1 falling, 0 either.
    zero
        (k,) what counts as zero where the hold begins: such a guard has passed before.
    """

    which: np.ndarray
    guards: Guards
    directions: np.ndarray
    zero: np.ndarray

    def passed(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the numbers of the guards that pass zero between two values, (k,) each."""
        through = (before * after < 0.0) | ((after == 0.0) & (before != 0.0))
        return np.flatnonzero(through & (self.directions * before <= 0.0))


@dataclass(frozen=True, eq=False)
class Release:
    """The motion that a held body would begin.

    Parameters
    ----------
    margin
        Negative while it is held: an acceleration in the direction of sliding.
    values
        The discrete values of this sliding motion.
    rounding
        The margin that is only rounding.
    state
        The state with earlier velocities, if a guide has jumped away beneath the body.
    loose
        How it begins, if several directions are possible.
    """

    margin: float
    values: Mapping[str, float]
    rounding: float = 0.0
    state: np.ndarray | None = None
    loose: Loose | None = None


class Holding:
    """Follows a held body.

    Parameters
    ----------
    sliding
        Chooses the loaded supports.
    rate, watched
        (t, x, p) -> x' of the motion, and the guards that may pass while the body is held.
    """

    def __init__(self, sliding: Sliding, rate: Guards, watched: OtherGuards) -> None:
        self.sliding, self.rate, self.watched = sliding, rate, watched
        self.dynamics = sliding.dynamics
        self.split = self.dynamics.position_count
        self.count = len(self.dynamics.labels.states)
        self.own = len(self.dynamics.values)
        self.evaluations, self.freedom = 0, 1
        self._loads = HeldLoads(sliding.sticking)
        self._loosening = Loosening(sliding.problem, self._loads)
        self._branches = {1.0: BranchFollower(), -1.0: BranchFollower()}

    def follow(
        self, time: float, x: np.ndarray, p: np.ndarray, until: float, times: np.ndarray
    ) -> Stretch:
        """Follow a held body until its release.

        Parameters
        ----------
        time, x, p
            s, the state in which nothing slides, and the values.
        until
            The end of the run, s.
        times
            Sample times, s; increasing.

        Raises
        ------
        VariantError
            Neither rest nor sliding is possible, or the supports without slip no longer determine
            the motion.
        """
        self.evaluations = 0
        self._branches = {1.0: BranchFollower(), -1.0: BranchFollower()}
        here = self._placed(time, x, p)
        rows = self.dynamics.matrices(time, here[: self.count], p[: self.own])["jacobian"]
        self.freedom = rows.shape[1] - rank(rows)
        release = self.release(time, here, p)
        planar = self.sliding.guides.planar
        if self._begins(release) and planar:
            return self._stretch((here, p), ([time], [here]), times, lambda _: here, release)
        path, stop, fires = self._path(time, here, p, until)
        found, loose = ([time], release)
        if not self._begins(release):
            found, loose = self._released(time, stop, path, p)
        track = [path(moment) for moment in found]
        if loose is not None and loose.state is not None:
            track[-1] = loose.state
        stretch = self._stretch((track[-1], p), (found, track), times, path, loose, fires)
        if loose is None or loose.loose is None or planar:
            return stretch
        return self._set_out(stretch, loose.loose, path, stop, times)

    def _begins(self, release: Release) -> bool:
        """Return whether a motion begins; not if the body is at its limit to rounding."""
        return release.margin > release.rounding

    def _released(
        self, time: float, stop: float, path: Callable[[float], np.ndarray], p: np.ndarray
    ) -> tuple[list[float], Release | None]:
        """Return the times up to the release of a held body, and the release."""
        own, one = p[: self.own], self.freedom == 1 and self.sliding.guides.planar
        if not self.sliding.guides_stand_still:
            return self._grid(time, stop, path, p)

        def place(moment: float) -> np.ndarray:
            return path(moment)[: self.count]

        try:
            times, loose = self._loosening.release(place, (time, stop), own)
        except VariantError:
            if not one:
                raise
            # It cannot slide in one of the two senses.
            return self._grid(time, stop, path, p)
        if loose is None:
            return times, None
        return times, self._loosened(times[-1], path(times[-1])[: self.count], own, loose)

    def _set_out(
        self,
        stretch: Stretch,
        loose: Loose,
        path: Callable[[float], np.ndarray],
        stop: float,
        times: np.ndarray,
    ) -> Stretch:
        """Return a hold with the first moment of the motion in space that ends it."""
        assert stretch.onward is not None
        begin, values = stretch.time, stretch.onward[1].copy()
        refuse_open(self.dynamics, loose.answer.signs, f"at t = {begin:.10g} s")

        def at(moment: float) -> Loose:
            return self._loosening.at(moment, path(moment)[: self.count], values[: self.own])

        found = depart(at, loose, begin, begin + 0.5 * (stop - begin))
        rest = path(found.time)
        v = slice(self.split, self.count)
        moving = rest.copy()
        moving[v] = max(found.speed, UNFELT * found.loose.size) * found.loose.direction
        free = np.r_[0 : self.split, self.count : len(rest)]
        rates = self.rate(found.time, moving, values) - self.rate(found.time, rest, values)
        after = moving.copy()
        after[free] += found.way / max(found.speed, UNFELT * found.loose.size) * rates[free]
        mass = self.dynamics.matrices(found.time, after[: self.count], values[: self.own])["mass"]
        named = {SLOW_ENERGY: SLOW_PART * 0.5 * float(after[v] @ mass @ after[v])}
        own = after[: self.count], values[: self.own]
        named |= self.sliding.sticking.headed(found.time, *own)
        values = self._with(with_variant(named, found.loose.answer), values)
        samples = [path(moment) for moment in times[times <= found.time]]
        return replace(
            stretch,
            time=found.time,
            state=after,
            blocks=(*stretch.blocks, StepBlock(np.array([found.time]), after[None])),
            samples=np.array(samples).reshape(-1, len(rest)),
            onward=(after, values),
        )

    # -- the motion with which nothing slides -----------------------------------------------------

    def _placed(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        found = self.sliding.sticking.velocities(time, x[: self.count], p[: self.own])
        if found is None:
            raise VariantError(
                f"at t = {time:.10g} s the supports that do not slide no longer determine "
                "how the body moves"
            )
        placed = x.copy()
        placed[self.split : self.count] = found
        return placed

    def _path(
        self, time: float, x: np.ndarray, p: np.ndarray, until: float
    ) -> tuple[Callable[[float], np.ndarray], float, tuple[int, ...]]:
        """Return the held motion over time, its duration, and the guards that end it."""
        free = np.r_[0 : self.split, self.count : len(x)]

        def rate(moment: float, part: np.ndarray) -> np.ndarray:
            return self._rates(moment, whole(moment, part), p)[free]

        def whole(moment: float, part: np.ndarray) -> np.ndarray:
            state = x.copy()
            state[free] = part
            # On fixed guides the velocities stay zero.
            return state if self.sliding.guides_stand_still else self._placed(moment, state, p)

        def guards(moment: float, part: np.ndarray) -> np.ndarray:
            values = self.watched.guards(moment, whole(moment, part), p)
            passed = (moment == time) & (np.abs(values) <= self.watched.zero)
            return np.where(passed, 0.0, values)

        step = (until - time) / STEPS
        steps = DensePath(time, x[free])
        passed: list[int] = []
        for end in self._loads.even_parts((time, until), x[: self.count], p[: self.own]):
            begin = steps.times[-1]
            most = min(step, end - begin)
            solver = scipy.integrate.DOP853(
                rate, begin, steps.states[-1], end, rtol=ACCURACY, atol=ACCURACY, max_step=most
            )
            passed = follow(solver, steps, guards, self.watched.passed)
            if passed:
                break

        def path(moment: float) -> np.ndarray:
            return whole(moment, steps(moment)) if len(steps.times) > 1 else x

        if not passed:
            return path, until, ()
        begin, end = steps.times[-2:]
        moments = {k: self._passage(path, begin, end, p, k) for k in passed}
        first = min(moments.values())
        near = TOGETHER * step + 4.0 * np.spacing(abs(first))
        fires = {k: t for k, t in moments.items() if t - first <= near}
        # All of them have passed there, and pass no more.
        return path, max(fires.values()), tuple(fires)

    def _rates(self, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return x' while nothing slides, including metered work of static friction."""
        found = self.rate(time, x, p).copy()
        v = x[self.split : self.count]
        if not np.any(v):
            return found
        parts = self.dynamics.matrices(time, x[: self.count], p[: self.own])
        mass, force = parts["mass"], parts["force"].ravel()
        held = self.sliding.sticking.accelerations(time, x[: self.count], p[: self.own])
        power = v @ (mass @ held - force)
        meters = list(self.dynamics.meters)
        first = len(x) - len(meters)
        # In the equations of sliding the power of the supports differs from that at rest.
        found[self.count : first] += power - v @ (mass @ found[self.split : self.count] - force)
        found[first + meters.index(FRICTION_WORK)] = power
        return found

    def _passage(
        self, path: Callable[[float], np.ndarray], a: float, b: float, p: np.ndarray, guard: int
    ) -> float:
        """Return the first time between two at which a guard has passed zero."""

        def value(moment: float) -> float:
            return float(self.watched.guards(moment, path(moment), p)[guard])

        way = np.sign(value(b))
        return b if way == 0.0 else first_positive(lambda moment: way * value(moment), a, b)

    # -- the release ------------------------------------------------------------------------------

    def release(self, time: float, x: np.ndarray, p: np.ndarray) -> Release:
        """Return the motion that a body without slip would begin.

        Raises
        ------
        VariantError
            Neither rest nor sliding is possible.
        """
        self.evaluations += 1
        state, values = x[: self.count], p[: self.own]
        if self.freedom > 1 or not self.sliding.guides.planar:
            return self._stuck(time, state, values)
        found = [self._one_sense(time, state, values, sign) for sign in (1.0, -1.0)]
        nearest = max(found, key=lambda release: release.margin)
        if nearest.margin > 0.0 and self.sliding.guides_stand_still:
            # Supports at different heights may hold a body that could also slide.
            return self._stuck(time, state, values)
        return nearest

    def _stuck(self, time: float, x: np.ndarray, p: np.ndarray) -> Release:
        """Return the motion that a body at rest on fixed guides would begin."""
        return self._loosened(time, x, p, self._loosening.at(time, x, p))

    def _loosened(self, time: float, x: np.ndarray, p: np.ndarray, loose: Loose) -> Release:
        """Return the release with the values of the motion that begins."""
        here = self.sliding.problem.at(x, time, loose.direction, numbers=p)
        values = with_variant(here.values, loose.answer)
        return Release(loose.margin, values, loose.rounding, loose=loose)

    def _with(self, found: Mapping[str, float], p: np.ndarray) -> np.ndarray:
        values, names = p.copy(), list(self.dynamics.values)
        for name, value in found.items():
            values[names.index(name)] = value
        return values

    def _one_sense(self, time: float, x: np.ndarray, p: np.ndarray, sign: float) -> Release:
        senses = self.sliding.sticking.senses(time, x, p, sign)
        values = self._with(senses, p)
        here = self.sliding.problem.at(x, time, numbers=values, senses=senses)
        try:
            answer = self._branches[sign].answer(here.complementarity)
        except VariantError:
            # It cannot slide in this sense.
            return Release(-np.inf, senses)
        rates = self.sliding.slip_rates(time, x, values, here.accelerations(answer.reactions))
        margin = float(np.min(rates * np.array([senses[n] for n in self.sliding.senses])))
        # At the limit friction cancels the loads.
        loads = self.sliding.slip_rates(time, x, values, here.free)
        rounding = ROUNDING * float(np.max(np.abs(loads) + np.abs(rates)))
        return Release(margin, with_variant(senses, answer), rounding)

    def _grid(
        self, time: float, stop: float, path: Callable[[float], np.ndarray], p: np.ndarray
    ) -> tuple[list[float], Release | None]:
        """Step along the held motion until its release; return the times and the release."""
        longest = (stop - time) / STEPS
        step, here, times = longest / 16.0, time, [time]

        def margin(moment: float) -> float:
            return self.release(moment, path(moment), p).margin

        # What touches the limit to rounding, and turns back, does not pass it.
        begin = self.release(here, path(here), p)
        before, zero = begin.margin, begin.rounding
        while here < stop:
            step = min(step, stop - here)
            after = stop if step == stop - here else here + step
            jump = self._jump(path, here, after, p)
            if jump is not None:
                return [*times, jump[0]], jump[1]
            middle = 0.5 * (here + after)
            inside, end = margin(middle), margin(after)
            bent = abs(inside - 0.5 * (before + end)) if before != -np.inf else 0.0
            least = max(min(abs(before), abs(inside), abs(end)), zero)
            held = inside <= zero and end <= zero
            limit = AGREES * (least if held else max(abs(before), zero))
            bow = self._bow(path, (here, middle, after), p)
            hidden = bow > limit and (bow != np.inf or step > UNKNOWN * longest)
            if (hidden or (held and bent > AGREES * least)) and step > LEAST * longest:
                step *= 0.5
                continue
            passed = middle if inside > zero else after if end > zero else None
            if passed is not None:
                last = here if passed == middle else middle
                moment = first_positive(margin, last, passed)
                times.append(moment)
                return times, self.release(moment, path(moment), p)
            here, before = after, end
            times.append(here)
            step = min(2.0 * step, longest)
        return times, None

    def _jump(
        self, path: Callable[[float], np.ndarray], a: float, b: float, p: np.ndarray
    ) -> tuple[float, Release] | None:
        """Return when guides jump away beneath the body within a step, and how it then slides.

        Such jumps are possible without an event in a system without switches.
        """
        if self.sliding.guides_stand_still:
            return None
        moving = slice(self.split, self.count)

        def change(low: float, high: float) -> float:
            return float(np.linalg.norm(path(high)[moving] - path(low)[moving]))

        def rate(moment: float) -> float:
            state = path(moment)[: self.count]
            held = self.sliding.sticking.accelerations(moment, state, p[: self.own])
            return float(np.linalg.norm(held))

        whole = change(a, b)
        if whole <= STEEP * (b - a) * max(rate(a), rate(b)):
            return None
        while b - a > TIME * max(abs(a), abs(b)):
            middle = 0.5 * (a + b)
            if not a < middle < b:
                break
            a, b = (a, middle) if change(a, middle) >= change(middle, b) else (middle, b)
        if change(a, b) <= LASTS * whole:
            return None
        state = path(b).copy()
        state[moving] = path(a)[moving]
        values = self.sliding.slid_off(b, state[: self.count], p[: self.own])
        changed = dict(zip(self.dynamics.values, values.tolist(), strict=True))
        return b, Release(np.inf, changed, state=state)

    def _bow(
        self, path: Callable[[float], np.ndarray], times: tuple[float, ...], p: np.ndarray
    ) -> float:
        """Return how far the margin may deviate from a straight line within a step."""
        states = np.array([path(moment)[: self.count] for moment in times])
        return self._loads.bow((times[0], times[-1]), states, p[: self.own])

    def _stretch(
        self,
        end: tuple[np.ndarray, np.ndarray],
        way: tuple[list[float], list[np.ndarray]],
        times: np.ndarray,
        path: Callable[[float], np.ndarray],
        release: Release | None,
        fires: tuple[int, ...] = (),
    ) -> Stretch:
        """Return a hold with its end state and values, the points on the way, and what ends it."""
        (x, p), (found, track) = end, way
        time = found[-1]
        samples = np.array([path(moment) for moment in times[times <= time]])
        stretch = Stretch(
            time=time,
            state=x,
            ending=Ending.GOES_ON if release is not None or fires else Ending.REACHED,
            message="",
            switchings=(),
            blocks=(StepBlock(np.array(found), np.array(track)),) if len(found) > 1 else (),
            samples=samples.reshape(-1, len(x)),
            evaluations=self.evaluations,
        )
        if release is None:
            return replace(stretch, fires=tuple(int(self.watched.which[k]) for k in fires))
        values = self._with(release.values, p)
        values[: self.own] = self.sliding.let_go(time, x[: self.count], values[: self.own])
        loose = StretchEvent(RELEASED, 0, time, x, values)
        return replace(stretch, switchings=(loose,), onward=(x, values))
