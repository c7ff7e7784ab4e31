"""Resets: events that change discrete values and the state, and impose constraints, as posed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.core.equations.drives import CalledLaw
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.fitting import fitting_values, refuse_past, without_driven
from daesolve.core.events.chart_law import enter, visible_state
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Role
from daesolve.core.events.jumps import JumpFunction, joined
from daesolve.core.events.law import Beginning, Jump, Setting, SwitchingLaw
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.errors import ResetError


class ResetLaw(SwitchingLaw):
    """Carries out the resets of events that pass together.

    Parameters
    ----------
    setting
        The problem.
    events
        The events that it owns, each with a reset.
    """

    def __init__(self, setting: Setting, events: Sequence[int]) -> None:
        super().__init__(events)
        self.setting, self.dynamics = setting, setting.dynamics
        self._own = set(events)
        self._rate = Evaluator(setting.problem.rhs)
        named = {event.name: index for index, event in enumerate(setting.dynamics.events)}
        self._called = {
            named[row.law.event]: CalledLaw(setting.dynamics, row.law)
            for row in setting.dynamics.drives
            if row.law is not None
        }

    @classmethod
    def begin(cls, dynamics: Dynamics, beginning: Beginning) -> Beginning:
        """Change the values that resets `whenever_past` ask for; refuse stops that are past."""
        time, state = beginning.time, beginning.state
        values = fitting_values(dynamics, beginning.values, state, time)
        refuse_past(dynamics, values, state, time)
        return replace(beginning, values=values)

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> ResetLaw | None:
        """Return the law of all resets that no other law has taken."""
        events = [event for event in free if event in setting.dynamics.resets]
        return cls(setting, events) if events else None

    def role(self, event: int) -> Role:
        """Return how the guards of a reset are watched."""
        moved = _moves_its_guard(self.dynamics, event)
        barrier = moved or bool(self.dynamics.resets[event].momentary)
        posed = not self.dynamics.events[event].then.counts_past
        return Role(barrier=barrier, moved=moved, bars_start=barrier, posed=posed)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Reset events together unless they are posed to be reset one after the other."""
        resets = self.dynamics.resets
        groups: dict[int, tuple[int, ...]] = {}
        for guard in sorted(set(fired)):
            event, place = book.table.places[guard]
            groups[event] = (*groups.get(event, ()), place)
        if not any(resets[event].sequential for event in groups):
            if groups:
                yield self._jump(time, x, p, groups)
            return
        for event, places in groups.items():
            taken = [(place,) for place in places]
            steps: list[Jump] = []
            for chosen in taken if resets[event].sequential else [places]:
                steps.append(self._jump(time, x, p, {event: chosen}))
                x, p = steps[-1].x, steps[-1].p
            impact = joined([step.impact for step in steps])
            yield replace(steps[-1], events={event: places}, impact=impact)

    def function(self, events: Sequence[int]) -> JumpFunction:
        """Return the function that resets these events together."""
        return self.setting.jumps(tuple(events))

    def settled(
        self, time: float, events: Collection[str], x: np.ndarray, before: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return state and values as they become after a reset, and whether the body rests.

        Parameters
        ----------
        time
            s
        events
            The names of what happened.
        x, before, p
            (nx,) the state, and the values before and after the reset.
        """
        return x, p, False

    def _with_laws(
        self, time: float, states: np.ndarray, p: np.ndarray, groups: Mapping[int, object]
    ) -> np.ndarray:
        """Return p with what laws in Python say here."""
        calling = [law for event, law in self._called.items() if event in groups]
        if not calling:
            return p
        p, own, names = p.copy(), len(self.dynamics.values), list(self.dynamics.values)
        before = p[:own].copy()
        for law in calling:
            for name, value in law(time, states, before).items():
                p[names.index(name)] = value
        return p

    def _jump(
        self, time: float, x: np.ndarray, p: np.ndarray, groups: Mapping[int, tuple[int, ...]]
    ) -> Jump:
        problem, function = self.setting.problem, self.function(tuple(groups))
        own, count = len(self.dynamics.values), len(self.dynamics.labels.states)
        states = visible_state(problem, time, x, p)
        p = self._with_laws(time, states[:count], p, groups)
        after, values, impact = function(time, states, p[:own], groups, self.setting.scales)
        names = {problem.events[index].name for index in groups}
        settled, values, rests = self.settled(time, names, after[:count], p[:own], values)
        after[:count] = settled
        values, releases = without_driven(self.dynamics, (time, settled), p[:own], values)
        values = np.concatenate([values, p[own:]]) if len(p) > own else values
        after, values = enter(problem, time, after, values)
        if not math.isfinite(sum(self._rate(time, after, values)[0].tolist())):
            listed = ", ".join(repr(problem.events[index].name) for index in groups)
            raise ResetError(
                f"the reset of {listed} at t = {time:.10g} s leaves a state from which no "
                "motion can continue: its changes make a constraint or a mass vanish, or a "
                "force is not finite there; where it releases a constraint, set rank_loss = "
                "'pass'"
            )
        return Jump({**groups, **releases}, after, values, impact, rests)


def _moves_its_guard(dynamics: Dynamics, event: int) -> bool:
    """Return whether a reset changes what its own guards depend on."""
    reset = dynamics.resets[event]
    names = list(dynamics.values)
    changed = [dynamics.x[index] for index in reset.states]
    changed += [dynamics.p[names.index(name)] for name in reset.values]
    return bool(ca.depends_on(dynamics.events[event].guards, ca.vertcat(ca.SX(0, 1), *changed)))
