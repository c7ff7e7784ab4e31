"""Carries out simple resets that follow each other without stopping the solver.

A reset is simple if one guard alone passes zero and the reset is a function of the state: a blow, a
change of mode, a tick. No law needs to look at such an instant: the solver continues from reset to
reset (`solvers.reset_chains`), and this module records what happened. It stops before any instant
that is not simple, where the run continues as usual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daesolve.core.events.guard_book import ANSWERED
from daesolve.core.events.instant import INSTANT
from daesolve.core.events.jumps import LEFT_OVER, WORSE, JumpFunction
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.events.transitions import Transitions
from daesolve.core.expressions.translation import function_of
from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import StepBlock
from daesolve.core.run.integration.event_handling import AT_ONCE
from daesolve.core.run.integration.record import Boundary, Happening
from daesolve.core.run.integration.run_state import RunState
from daesolve.core.run.integration.watches.flat_zeros import FlatZeros
from daesolve.core.run.integration.watches.watch import AGREED_STEPS
from daesolve.core.solvers import State
from daesolve.core.solvers.guard_terms import Limits

if TYPE_CHECKING:
    from daesolve.core.solvers.reset_chains import ResetChain, ResetChains


@dataclass(frozen=True)
class _Answer:
    """What is done where a guard passes: the event, its guard's place in it, and the reset."""

    event: int
    place: int
    jump: JumpFunction


class _Resets:
    """Follows resets of a run as long as they are simple.

    Parameters
    ----------
    run, transitions
        The run, and what switches its modes.
    answers
        By guard.
    chains
        What follows them.
    """

    def __init__(
        self,
        run: RunState,
        transitions: Transitions,
        answers: dict[int, _Answer],
        chains: ResetChains,
    ) -> None:
        self.run, self.transitions, self.answers, self.chains = run, transitions, answers, chains
        zeros = run.monitor.watch(FlatZeros)
        assert zeros is not None
        self._zeros = zeros
        prepared, scales = run.prepared, transitions.setting.scales
        accuracy = min(AGREED_STEPS * prepared.solver.step_tolerance, AT_ONCE)
        self._limits = Limits(
            accuracy,
            ANSWERED,
            (run.instant.width, INSTANT),
            math.nan,
            LEFT_OVER * next(iter(answers.values())).jump.sizes(scales),
            WORSE,
            np.array(prepared.wrapped, dtype=np.int64),
            self._zeros.done,
        )

    def follow(self, here: Boundary, until: float) -> Boundary:
        """Follow a motion; return where the last reset left it.

        Parameters
        ----------
        here, until
            Where it is, and how far to go at most, s.
        """
        run, book = self.run, self.transitions.book
        terms = book.lent()
        start = State(here.time, here.state, run.values(here))
        limits = replace(self._limits, last=run.instant.began, known=self._zeros.done)
        chain = self.chains.follow(start, until, terms, limits)
        run.pace.take(len(chain.guards))
        if not len(chain.guards):
            return here
        book.returned(terms)
        run.effort.begin(here.time)
        here = self._written_down(here, chain)
        record = run.record
        record.steps += len(chain.times)
        record.rhs_evaluations += self.chains.order * len(chain.times)
        run.effort.take(
            StepBlock(chain.times, chain.states), record.rhs_evaluations,
            weak=bool(run.monitor.weakest()),
        )  # fmt: skip
        run.instant.began, run.instant.count = here.time, 1
        return here

    def _written_down(self, here: Boundary, chain: ResetChain) -> Boundary:
        """Record what happened; return where the last reset left the motion."""
        run, first = self.run, 0
        size, count = chain.states.shape[1], len(run.values(here))
        for k, time in enumerate(chain.moments.tolist()):
            run.record.boundaries.append(here)
            answer, last = self.answers[int(chain.guards[k])], int(chain.steps[k])
            at = run.schedule.up_to(run.record.taken, time)
            if len(at):
                run.sample(at, chain.states_at(first, last, at), here)
            for hit in sorted(chain.recorded(k), key=lambda hit: run.sign * hit.time):
                run.happened(hit, here)
            motion = run.motion
            block = chain.block(first, last, keeps=motion is not None and motion.keeps)
            if motion is not None and len(block.times):
                motion.begin(here.time, run.values(here), here.whole_turns)
                motion.take(block)
            run.watch_later([block], here.mode)
            before = Boundary(time, chain.before[k], here.whole_turns.copy(), here.mode)
            row = chain.after[k]
            after = run.in_mode(before, row[:size], row[size : size + count])
            name = run.prepared.problem.events[answer.event].name
            if name not in run.hidden:
                run.sample_event(before)
                impact = answer.jump.impact(row[size + count :].tolist())
                run.record.events.append(
                    Happening(time, name, before, after, (answer.place,), impact)
                )
            here, first = after, last
        return here


class SimpleResets:
    """Follows the simple resets of a run once several instants have been looked at.

    Parameters
    ----------
    run
        The run.
    """

    def __init__(self, run: RunState) -> None:
        self.run, self._zeros = run, run.monitor.watch(FlatZeros)

    @cached_property
    def _resets(self) -> _Resets | None:
        return _found(self.run)

    def follow(self, here: Boundary, until: float) -> Boundary:
        """Return where simple resets up to a time leave the motion; `here` if there are none."""
        zeros = self._zeros
        if zeros is None or not zeros.done.any() or not self.run.pace.begins():
            return here
        return here if self._resets is None else self._resets.follow(here, until)


def _found(run: RunState) -> _Resets | None:
    """Return what follows the simple resets of a run; None if there are none.

    Parameters
    ----------
    run
        Of which several instants have been looked at already.
    """
    prepared, transitions = run.prepared, run.transitions
    if transitions is None or not _plain(run, transitions):
        return None
    answers = _answers(run, transitions)
    followed = {guard: _column(prepared.problem, answer) for guard, answer in answers.items()}
    chains = prepared.solver.reset_chains(prepared.problem, followed) if answers else None
    return None if chains is None else _Resets(run, transitions, answers, chains)


def _plain(run: RunState, transitions: Transitions) -> bool:
    """Return whether nothing but guards and resets must be examined."""
    prepared = run.prepared
    problem, solver = prepared.problem, prepared.solver
    return (
        [type(law) for law in transitions.laws] == [ResetLaw]
        and transitions.book.plain
        and problem.project is None
        and problem.chart is None
        and len(prepared.values) == problem.rhs.nnz_in(2)
        and prepared.request.max_evaluations is None
        and run.scheduled is None
        and not run.ahead.needed
        and not prepared.scaling.seen_by(solver).needed
        and not run.monitor.needs_stops
    )


def _answers(run: RunState, transitions: Transitions) -> dict[int, _Answer]:
    """Return by guard the action where guards pass whose resets are functions."""
    prepared, table = run.prepared, transitions.setting.table
    called = {row.law.event for row in prepared.dynamics.drives if row.law is not None}
    found: dict[int, _Answer] = {}
    for guard, (event, place) in enumerate(table.places):
        then, reset = table.events[event].then, prepared.dynamics.resets.get(event)
        if reset is None or then.stops or table.events[event].name in called:
            continue
        if not {*reset.states}.isdisjoint(prepared.wrapped):
            continue
        jump = transitions.function((event,))
        if jump.plain:
            found[guard] = _Answer(event, place, jump)
    return found


def _column(problem: OdeProblem, answer: _Answer) -> ca.Function:
    """(t, x, p) -> state and values after the reset that one guard asks for, and the rest."""
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    function = answer.jump.function
    own, count = function.nnz_in(2), function.nnz_in(3)
    fired = ca.DM.zeros(count)
    fired[answer.place] = 1.0
    after, values, *rest = function(t, x, p[:own], fired)
    column = ca.densify(ca.vertcat(after, values, p[own:], *rest))
    return function_of("reset", [t, x, p], [column], (["t", "x", "p"], ["after"]))
