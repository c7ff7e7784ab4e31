"""Guides: supports that take over, slips that turn or end, a body that comes to rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.friction.coming_to_rest import Rest, RestStatus, come_to_rest
from daesolve.contact.friction.holding import Holding, OtherGuards
from daesolve.contact.friction.initial_contact import first_speed, initial_contact
from daesolve.contact.friction.scaled_time import Rate, SlidingMotion
from daesolve.contact.friction.sliding import Sliding, refuse_open
from daesolve.contact.friction.stiction import stiction_at
from daesolve.contact.friction.variants import with_variant
from daesolve.contact.posing.guides import (
    AT_REST,
    OF_THEIR_OWN,
    SLOW,
    SLOW_ENERGY,
    SLOW_PART,
    SWITCH,
    guides_in,
)
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.law import Beginning, Ending, Jump, Setting, Stretch, StretchEvent
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.posing.value_names import ValueKind
from daesolve.errors import VariantError

EVENTS = frozenset({SWITCH, AT_REST}) | OF_THEIR_OWN
"""The events of guides at which something follows."""
JUMPED = 1e-9
"""A slip counts as ended if friction ends it within this fraction of the time."""
OUT = 1e6
"""Or if it is at most this many times what counts as zero of it."""
ENDINGS = {
    RestStatus.AT_REST: Ending.RESTS,
    RestStatus.SPEEDS_UP: Ending.GOES_ON,
    RestStatus.REACHED: Ending.REACHED,
    RestStatus.LOST: Ending.FAILED,
    RestStatus.FAILED: Ending.FAILED,
}


class GuideLaw(ResetLaw):
    """Chooses the loaded supports of guides, and follows a slow body to rest.

    What changes at an event of guides is a reset; which supports then carry, or whether the body
    rests, is `Sliding`'s to decide.

    Parameters
    ----------
    setting
        The problem.
    events
        The events that guides add.

    Attributes
    ----------
    slow, stopping
        The guards at which the motion has become slow, and at which a slip in the plane ends.
    zero
        How large a slip was at most, m/s, where one ended last.
    """

    def __init__(self, setting: Setting, events: Sequence[int]) -> None:
        super().__init__(setting, events)
        self.sliding = Sliding(setting.dynamics, setting.choices.variant_policy)
        self.slow = frozenset(self._guards_of(SLOW))
        self.stopping = frozenset(self._guards_of(AT_REST))
        self._loaded = self._guards_of(SWITCH)
        self.zero = np.inf

    def _guards_of(self, name: str) -> list[int]:
        table = self.setting.table
        return [k for k, event in enumerate(table.guarded) if event.name == name]

    @classmethod
    def begin(cls, dynamics: Dynamics, beginning: Beginning) -> Beginning:
        """Choose the loaded supports; let friction hold the body, or let it begin to slide."""
        if guides_in(dynamics) is None:
            return beginning
        span = beginning.time, beginning.until
        found = initial_contact(
            dynamics, beginning.values, beginning.state, span, beginning.choices.variant_policy
        )
        return replace(
            beginning,
            state=found.state,
            values={**beginning.values, **found.values},
            resting=found.resting,
            energy=found.energy,
            notes=(*beginning.notes, *found.notes),
        )

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> GuideLaw | None:
        """Return the law of a system with guides."""
        if guides_in(setting.dynamics) is None:
            return None
        return cls(setting, [k for k in free if setting.problem.events[k].name in EVENTS])

    def settled(
        self, time: float, events: Collection[str], x: np.ndarray, before: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return state and values after supports have changed, and whether the body rests."""
        return self.sliding.settle(time, events, x, before, p, self.zero)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Reset what changes at events of guides; find how large a slip may be that ends."""
        if not self.stopping.isdisjoint(fired):
            own = sorted(self.stopping)
            rates = np.abs(np.array(book.measure(time, x, p)[1], dtype=float)[own])
            late = float(np.nanmax(rates, initial=0.0)) * abs(float(time))
            self.zero = max(JUMPED * late, OUT * float(np.max(book.tolerances[own])))
        yield from super().decide(time, x, p, fired, book)

    # -- the end of a motion ------------------------------------------------------------------

    def follows(self, fired: Sequence[int]) -> bool:
        """Return whether the motion is so slow that it is followed in scaled time."""
        return not self.slow.isdisjoint(fired)

    def finish(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        until: float,
        samples_up_to: Callable[[float], np.ndarray],
    ) -> Stretch:
        """Follow a slow motion to rest, and beyond if friction does not hold the body."""
        motion = self._motion(time, x, p)
        rest = come_to_rest(motion, time, x, p, until=until)
        times = samples_up_to(rest.time)
        if len(times):
            rest = come_to_rest(motion, time, x, p, until=until, times=times)
        switchings = tuple(
            StretchEvent(SWITCH, switch.guard, switch.time, switch.state, switch.values)
            for switch in rest.switches
        )
        error, onward = rest.error, None
        if rest.status is RestStatus.AT_REST and rest.time < until:
            try:
                onward = self._onward(rest, until)
            except VariantError as lost:
                error = lost
        return Stretch(
            time=rest.time,
            state=rest.limit,
            ending=ENDINGS[rest.status] if onward is None else Ending.GOES_ON,
            message=rest.message,
            switchings=switchings,
            blocks=tuple(piece.steps for piece in rest.pieces),
            samples=rest.samples,
            evaluations=rest.evaluations,
            event=AT_REST if rest.status is RestStatus.AT_REST else "",
            error=error,
            onward=onward,
        )

    def keeps_still(self, time: float, x: np.ndarray, p: np.ndarray) -> bool:
        """Return whether nothing slides at these velocities."""
        count, own = len(self.dynamics.labels.states), len(self.dynamics.values)
        found = self.sliding.sticking.velocities(time, x[:count], p[:own])
        moved = x[self.dynamics.position_count : count]
        return found is not None and bool(np.allclose(moved, found, rtol=1e-12, atol=0.0))

    def hold(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        until: float,
        samples_up_to: Callable[[float], np.ndarray],
        book: GuardBook,
    ) -> Stretch | None:
        """Follow a body held by friction until a load, or its guides, set it free."""
        if not self._is_held_for_a_time(p):
            return None
        guarded = self._others
        rate, guards = (
            Evaluator(f) for f in (self.setting.problem.rhs, self.setting.problem.guards)
        )
        rates = np.abs(book.at(time, x, p)[1])
        watched = OtherGuards(
            guarded,
            lambda moment, state, values: guards(moment, state, values)[0][guarded],
            book.traits.directions[guarded],
            (book.tolerances + 4.0 * np.spacing(abs(time)) * rates)[guarded],
        )
        holding = Holding(
            self.sliding, lambda moment, state, values: rate(moment, state, values)[0], watched
        )
        try:
            return holding.follow(time, x, p, until, samples_up_to(until))
        except VariantError as lost:
            nothing = np.empty((0, len(x)))
            return Stretch(time, x, Ending.FAILED, "", (), (), nothing, 1, error=lost)

    @cached_property
    def _others(self) -> np.ndarray:
        """The guards that are not those of guides."""
        table = self.setting.table
        own = set(self.events)
        return np.array(
            [k for k, (event, _) in enumerate(table.places) if event not in own], dtype=int
        )

    def _is_held_for_a_time(self, p: np.ndarray) -> bool:
        """Return whether what acts on a body may set it in motion later."""
        dynamics, guides = self.dynamics, self.sliding.guides
        if not self.sliding.guides_stand_still:
            return guides.planar
        numbers = ca.DM(p[: len(dynamics.values)])
        others = [dynamics.events[k].guards for k in dynamics.resets if k not in self.events]
        acting = ca.veccat(dynamics.mass, dynamics.force, dynamics.influence, *others)
        acting = ca.substitute(acting, dynamics.p, numbers)
        # Integrals continue while the body stands still, and may act on it.
        rest = ca.SX.zeros(dynamics.velocity_count)
        rates = ca.substitute(dynamics.position_rates, dynamics.velocities, rest)
        going = [k for k in range(rates.numel()) if not ca.simplify(rates[k]).is_zero()]
        return bool(ca.depends_on(acting, ca.vertcat(dynamics.t, dynamics.x[going])))

    def _motion(self, time: float, x: np.ndarray, p: np.ndarray) -> SlidingMotion:
        """Return the motion from here on, for scaled time."""
        dynamics, problem, sliding = self.dynamics, self.setting.problem, self.sliding
        split, count = dynamics.position_count, len(dynamics.labels.states)
        own = len(dynamics.values)
        rate, guards = Evaluator(problem.rhs), Evaluator(problem.guards)
        variants = [ValueKind.VARIANT.place(n, dynamics.values) for n in sliding.problem.names]

        def switched(moment: float, x: np.ndarray, p: np.ndarray, guard: int) -> np.ndarray:
            asked = p.copy()
            asked[variants[guard]] *= -1.0
            _, after, _ = sliding.settle(moment, {SWITCH}, x[:count], p[:own], asked[:own])
            return np.concatenate([after, p[own:]])

        return SlidingMotion(
            rate=lambda moment, x, p: rate(moment, x, p)[0],
            guards=lambda moment, x, p: guards(moment, x, p)[0][self._loaded],
            switch=switched,
            velocities=slice(split, count),
            metric=dynamics.matrices(time, x[:count], p[:own])["mass"],
            project=_projection(dynamics),
        )

    def _onward(self, rest: Rest, until: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return state and values with which a body that has stopped moves on; None if it rests.

        Raises
        ------
        VariantError
            Neither rest nor any sliding is an answer.
        """
        dynamics, sliding = self.dynamics, self.sliding
        split, count = dynamics.position_count, len(dynamics.labels.states)
        own = len(dynamics.values)
        problem = sliding.problem.with_numbers(rest.values[:own])
        held = stiction_at(problem, rest.state[:count], rest.time)
        if held.sticks:
            return None
        refuse_open(dynamics, held.answer.signs, f"at t = {rest.time:.10g} s")
        direction = np.array([held.direction[name] for name in problem.velocity_names])
        state, values = rest.state.copy(), rest.values.copy()
        state[split:count] = first_speed(held.growth, until - rest.time) * direction
        mass = dynamics.matrices(rest.time, state[:count], values[:own])["mass"]
        kinetic = 0.5 * float(state[split:count] @ mass @ state[split:count])
        found = with_variant({SLOW_ENERGY: SLOW_PART * kinetic}, held.answer)
        found |= sliding.sticking.headed(rest.time, state[:count], values[:own])
        names = list(dynamics.values)
        for name, value in found.items():
            values[names.index(name)] = value
        return state, values


def _projection(dynamics: Dynamics) -> Rate:
    """Return what takes the velocities back to the constraints, in the metric of the masses."""
    split, count, own = (dynamics.position_count, len(dynamics.labels.states), len(dynamics.values))

    def project(time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        parts = dynamics.matrices(time, x[:count], p[:own])
        rows = parts["jacobian"]
        back = np.linalg.solve(parts["mass"], rows.T)
        velocities = x[split:count]
        projected = x.copy()
        projected[split:count] -= back @ np.linalg.solve(rows @ back, rows @ velocities)
        return projected

    return project
