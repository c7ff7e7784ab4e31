"""Which contacts open and close at an instant: one complementarity problem for all of them.

With w the rates of the gaps that are zero, and all other constraints kept, an impact has

    w+ = w- + A P,    0 <= P,  0 <= w+ + e w-,  complementary        (Newton's restitution)

and the smooth motion after it, for the contacts whose gaps stay closed,

    gap'' = A N + q,    0 <= N,  0 <= gap'',  complementary          (Signorini's conditions).

Both are F(N) = b with the columns A of what is closed and -1 of what is open. In the smooth motion
A = J M^-1 B contains the friction that enters the forces with a reaction, which takes no part in an
impact; there A is J M^-1 J^T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.policies import solve
from daesolve.contact.laws.contact_functions import gaps_at_zero, references_of
from daesolve.contact.laws.frictional_instant import respond_to_pushes, sizes_of_pulls
from daesolve.contact.laws.unloaded import (
    CHANGED,
    TIED,
    advanced,
    first_changes,
    moment_of,
    slack_of,
    steps_from,
    typical_loads,
)
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.impacts import settle_function
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.events.guard_book import GuardBook
from daesolve.core.events.guard_table import Place, Role
from daesolve.core.events.jumps import joined
from daesolve.core.events.law import Jump, Setting, SwitchingLaw
from daesolve.core.events.let_go import LettingGo
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.results.trajectory.results import Impact
from daesolve.errors import ResetError, VariantError

STILL = 1e-10
"""A gap does not change if its rate is below this fraction of its terms.

Nor does it below the speed of a fall through a gap that counts as zero: lower bounces do not count,
and a bouncing body comes to rest.
"""
ROUNDED = 1e-13
"""The rate of a gap is rounding below this fraction of its terms."""
MOST_IMPACTS = 1000
"""Impacts at one instant, one after the other."""
BARELY = 1e-3
"""The part of that which takes no contact apart whose reaction does not change."""
INDEPENDENT = 1e-9
"""Contacts repeat each other if the smallest eigenvalue of their response, with a diagonal of ones,
is below this."""

Reactions = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]
"""(x, p, step, pull) -> the reactions of all contacts that are closed in p, a step later, s.

`pull` is the largest acceleration of the free motion, m/s^2.
"""


@dataclass(frozen=True)
class _Response:
    """How gaps answer: gap'' = matrix N + q.

    `normal` is the matrix without friction, `size` the sum of the sizes of the terms of q, and
    `terms` that of its parts by each load on the bodies.
    """

    matrix: np.ndarray
    normal: np.ndarray
    size: np.ndarray
    terms: np.ndarray


class ContactChanges:
    """Decides on the contacts of a system.

    Parameters
    ----------
    dynamics, plan
        The equations, and how reactions are eliminated.
    size
        The length of the state of the problem, work integrals included.
    """

    def __init__(self, dynamics: Dynamics, plan: EliminationPlan, size: int) -> None:
        self.dynamics = dynamics
        self._names = tuple(row.name for row in contacts_in(dynamics))
        self._places = np.array([row.hold for row in contacts_in(dynamics)], dtype=int)
        self._slacks = np.array([row.slack for row in contacts_in(dynamics)], dtype=int)
        self._rows = np.array([row.row for row in contacts_in(dynamics)], dtype=int)
        self._pushes = np.array([dynamics.rows[row].reaction for row in self._rows], dtype=int)
        self._reactions = np.array(dynamics.labels.reactions)[self._pushes]
        self._count = dynamics.x.numel()
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        chains = [dynamics.rows[row.row].chain for row in contacts_in(dynamics)]
        speeds = ca.vertcat(*[chain[1] for chain in chains])
        slopes = ca.jacobian(speeds, dynamics.velocities)
        measured = [
            speeds,
            ca.fabs(slopes) @ ca.fabs(dynamics.velocities),
            ca.vertcat(*[row.restitution for row in contacts_in(dynamics)]),
        ]
        self._measure = Evaluator(
            ca.Function("contacts", [t, x, p], [ca.densify(part) for part in measured])
        )
        self._settle = Evaluator(settle_function(dynamics, plan, ()))
        self._references = references_of(dynamics, size)

    def decide(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        near: tuple[np.ndarray, np.ndarray, np.ndarray],
        reactions: Reactions,
        apart: np.ndarray,
    ) -> Jump | None:
        """Return the changes at an instant; None if there are none.

        Parameters
        ----------
        time, x, p
            When and where, s.
        near
            Which open contacts have their gap at zero; what counts as zero there; and what counts
            as a reaction of zero.
        reactions
            Of contacts that are closed, as functions of x and p from this time on.
        apart
            Whose gaps have been opened from outside.

        Raises
        ------
        ResetError
            No contacts may open or close so that all conditions hold, or several sets may and
            nothing decides between them, or those that close depend on each other.
        """
        before = p[self._places] == 1.0
        if not np.any(before | near[0]):
            return None
        known, p = p, self._mode(p, before & ~apart)
        collided = self._collided(time, x, p, near, reactions)
        states, closed, slack, stopped, hit, impacts = collided
        works = x[self._count :]
        p = self._mode(p, closed)
        moving = closed & ~stopped if impacts else closed & ~before
        if moving.any():
            states, further = self._impose(time, states, p, np.zeros(len(closed)))
            impacts.append(further)
        impact = joined(impacts)
        if impact is None and np.array_equal(closed, before):
            return self._with_slack(x, known, slack)
        p = self._references(time, states, works, p)[0]
        p[self._slacks] = slack
        rows = contacts_in(self.dynamics)
        lost = [row.lost for row, gone in zip(rows, before & ~closed, strict=True) if gone]
        met = (closed & ~before) | hit
        begun = [row.closed for row, here in zip(rows, met, strict=True) if here]
        events = dict.fromkeys([*begun, *lost], (0,))
        return Jump(events, np.concatenate([states, works]), p, impact)

    def _with_slack(self, x: np.ndarray, p: np.ndarray, slack: np.ndarray) -> Jump | None:
        """Return what lets the loads of contacts fall by rounding; None if they may already."""
        if not np.any(slack > p[self._slacks]):
            return None
        p = p.copy()
        p[self._slacks] = slack
        return Jump({}, x, p, None)

    def _collided(
        self,
        time: float,
        x: np.ndarray,
        p: np.ndarray,
        near: tuple[np.ndarray, np.ndarray, np.ndarray],
        reactions: Reactions,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[Impact | None]]:
        """Let contacts collide until none closes; see `decide`.

        Returns
        -------
        tuple
            The states after, which contacts are closed then, with what slack, which the last impact
            stopped, which were hit, and the impacts.
        """
        before, states, works = p[self._places] == 1.0, x[: self._count], x[self._count :]
        touching = before | near[0]
        speeds, sizes, restitution = self._measure(time, states, self._mode(p, touching))
        falls = np.zeros(len(touching))
        if touching.any():
            response = self._response(time, states, p, touching)
            falls[touching] = np.sqrt(2.0 * response.size * near[1][touching])
            # What stops one gap changes the rates of others, which are precise to a part of this.
            stops = np.abs(speeds[touching]) / np.diag(response.normal)
            sizes[touching] = np.maximum(sizes[touching], np.abs(response.normal) @ stops)
        stopped, hit = np.zeros_like(touching), np.zeros_like(touching)
        impacts, slack = list[Impact | None](), np.zeros(len(touching))
        while True:
            still = STILL * sizes + falls
            closing, closed = touching & (speeds < -still), touching & (speeds <= still)
            slow = not closing.any()
            if slow:
                if closed.any():
                    place = np.concatenate([states, works]), self._mode(p, closed)
                    loads = partial(reactions, *place)
                    closed, slack = self._kept((time, states, p), closed, near, loads)
                # However slowly it closes, a gap that nothing holds must not continue to close.
                closing = touching & ~before & ~closed & (speeds < -ROUNDED * sizes)
            if not closing.any():
                break
            if len(impacts) == MOST_IMPACTS:
                raise ResetError(
                    f"at t = {time:.10g} s the impacts of the contacts {self._names_of(hit)} do "
                    "not end"
                )
            thrown = np.where(closing, 0.0 if slow else restitution, 0.0)
            load = -(1.0 + thrown) * (speeds if slow else np.where(closing, speeds, 0.0))
            # A gap that opens takes no part: where it is closed by the impact, another follows.
            among = touching & (speeds <= still)
            response = self._response(time, states, p, among)
            # Impulses act along the gradients alone.
            smooth = replace(response, matrix=response.normal)
            pushed = self._pushing_contacts(time, among, smooth, load[among])
            states, impact = self._impose(time, states, self._mode(p, pushed), thrown)
            impacts.append(impact)
            speeds, terms, _ = self._measure(time, states, self._mode(p, touching))
            sizes = np.maximum(sizes, terms)
            pushes = np.abs([impact.impulses[name] for name in self._reactions[among].tolist()])
            sizes[among] = np.maximum(sizes[among], np.abs(response.normal) @ pushes)
            hit |= closing & pushed
            stopped = pushed & (thrown == 0.0)
        return states, closed, slack, stopped, hit, impacts

    def _mode(self, p: np.ndarray, closed: np.ndarray) -> np.ndarray:
        """Return p with these contacts closed and all others open."""
        p = p.copy()
        p[self._places], p[self._slacks] = closed, 0.0
        return p

    def _kept(
        self,
        place: Place,
        closed: np.ndarray,
        near: tuple[np.ndarray, np.ndarray, np.ndarray],
        loads: Callable[[float, float], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the contacts that may stay closed do, and with what slack, (m,) each.

        Of a reaction that is zero the first change decides. It is so to rounding as well where the
        loads of the contact cancel each other, as the weight and the inertia of a body on a surface
        that moves, in coordinates that move with it.
        """
        time, _, zero = place[0], *near[1:]
        response = self._response(*place, closed)
        pull = float(np.max(response.size))
        found = loads(0.0, pull)[closed]
        terms = response.terms + np.abs(response.matrix) @ np.abs(found)
        typical = typical_loads(response.normal, terms)
        size = np.maximum(TIED * typical, zero[closed])
        tied, idle = np.abs(found) <= size, np.zeros(len(found), dtype=bool)
        slack = np.zeros(len(closed))
        if tied.any():
            slack[closed] = np.where(tied, slack_of(found, typical, zero[closed]), 0.0)
            steps = steps_from(time, moment_of(float(np.max(near[1])), pull))
            changes = first_changes(
                lambda step: loads(step, pull)[closed], tied, CHANGED * typical, steps
            )
            idle = tied & (changes == 0.0)
            scale = np.max(size[changes != 0.0] / np.abs(changes[changes != 0.0]), initial=0.0)
            found = np.where(tied, scale * changes, found)
        least = np.where(idle, BARELY * np.abs(np.diag(response.matrix)) * size, 0.0)
        kept = self._pushing_contacts(time, closed, response, response.matrix @ found, least)
        return kept, np.where(kept, slack, 0.0)

    def _pushing_contacts(
        self,
        time: float,
        among: np.ndarray,
        response: _Response,
        load: np.ndarray,
        least: np.ndarray | float = 0.0,
    ) -> np.ndarray:
        """Return which of some contacts push, (m,).

        Nothing takes those apart of which less than the least acceleration of the gap, m/s^2,
        follows.
        """
        if not np.all(np.isfinite(load)):
            raise self._undetermined_error(time, among)
        pushing = np.zeros_like(among)
        if len(load) == 1 and min(response.matrix[0, 0], response.normal[0, 0]) > 0.0:
            # It pushes where it is loaded; an enumeration gives the same in half a millisecond.
            pushing[among] = load > -least
            return pushing
        open_ = -np.eye(len(load))
        problem = HorizontalComplementarity(
            first=open_,
            second=response.matrix,
            load=load,
            first_normal=open_,
            second_normal=response.normal,
            names=tuple(np.array(self._names)[among]),
        )
        try:
            chosen = solve(problem).chosen
        except VariantError as error:
            raise ResetError(
                f"at t = {time:.10g} s it is not determined which of the contacts "
                f"{self._names_of(among)} open: {error}"
            ) from error
        assert chosen is not None
        pushing[among] = chosen.reactions > -least
        return pushing

    def _names_of(self, among: np.ndarray) -> str:
        return ", ".join(repr(str(name)) for name in np.array(self._names)[among])

    def _undetermined_error(self, time: float, among: np.ndarray) -> ResetError:
        return ResetError(
            f"at t = {time:.10g} s the contacts {self._names_of(among)} touch, but depend on each "
            "other or on other constraints there: their reactions are not determined"
        )

    def _impose(
        self, time: float, x: np.ndarray, p: np.ndarray, thrown: np.ndarray
    ) -> tuple[np.ndarray, Impact]:
        """Impose the constraints that hold in p, and leave contacts with a part of the speed."""
        factors = np.zeros(len(self.dynamics.rows))
        factors[self._rows] = thrown
        after, impulses, energies = self._settle(time, x, p, factors)
        if not np.all(np.isfinite(after)):
            raise self._undetermined_error(time, p[self._places] == 1.0)
        kinetic, remaining, miss = energies.tolist()
        named = dict(zip(self.dynamics.labels.reactions, impulses.tolist(), strict=True))
        miss = abs(miss) / kinetic if kinetic > 0.0 else 0.0
        return after, Impact(named, kinetic, remaining, miss)

    def _response(self, time: float, x: np.ndarray, p: np.ndarray, among: np.ndarray) -> _Response:
        """Return how the gaps of some contacts respond to their reactions, all else being equal."""
        dynamics, p = self.dynamics, self._mode(p, among)
        parts, own = dynamics.matrices(time, x, p), self._rows[among]
        pushes = self._pushes[among]
        gaps = parts["jacobian"][own]
        pushed = np.hstack([parts["influence"][:, pushes], gaps.T])
        ties = parts["ties"][:, pushes]
        tied = np.hstack([-ties, np.zeros_like(ties)])
        try:
            found, _ = respond_to_pushes(dynamics, p, parts, own.tolist(), pushed, tied)
        except np.linalg.LinAlgError:
            raise self._undetermined_error(time, among) from None
        bias, free = parts["bias"][own].ravel(), found[:, -1]
        caused = gaps @ found[:, :-1]
        if _smallest(caused[:, len(own) :]) < INDEPENDENT:
            raise self._undetermined_error(time, among)
        size = np.abs(gaps) @ np.abs(free) + np.abs(bias)
        terms = np.maximum(size, sizes_of_pulls(gaps, parts))
        return _Response(caused[:, : len(own)], caused[:, len(own) :], size, terms)


class ContactLaw(SwitchingLaw):
    """Lets contacts open and close, once everything else at an instant is done.

    Parameters
    ----------
    setting
        The problem.
    """

    decides = True

    def __init__(self, setting: Setting) -> None:
        rows = contacts_in(setting.dynamics)
        super().__init__([*(row.lost for row in rows), *(row.closed for row in rows)])
        self.problem = setting.problem
        self._lost = setting.table.firsts[[row.lost for row in rows]]
        self._closing = setting.table.firsts[[row.closed for row in rows]]
        self._lets_go, self._holds = {row.lost for row in rows}, [row.hold for row in rows]
        if setting.problem not in _changes:
            plan, size = setting.jumps.plan, setting.problem.size
            _changes[setting.problem] = ContactChanges(setting.dynamics, plan, size)
        self._changes, self._rate = _changes[setting.problem], Evaluator(setting.problem.rhs)
        self._letting_go, self._count = LettingGo(setting), setting.dynamics.x.numel()

    @classmethod
    def of(cls, setting: Setting, free: Sequence[int]) -> ContactLaw | None:
        """Return the law of all contacts of a system, unless another has them."""
        rows = contacts_in(setting.dynamics)
        return cls(setting) if rows and rows[0].closed in free else None

    def role(self, event: int) -> Role:
        """Return that of a reaction that ends, or of a gap that closes; both are always watched."""
        lost = event in self._lets_go
        return Role(returns=lost, stays=True, bars_start=not lost)

    def decide(
        self, time: float, x: np.ndarray, p: np.ndarray, fired: Sequence[int], book: GuardBook
    ) -> Iterator[Jump]:
        """Open and close contacts, with the impact that this takes."""
        # Whatever is decided, a gap that opens now is met again where it closes.
        book.passed[[*self._lost, *self._closing]] = time
        gaps = book.measure(time, x, p)[0][self._closing]
        met, zero = gaps_at_zero(book, self._closing, gaps, fired)
        ended = book.tolerances[self._lost]

        def reactions(x: np.ndarray, p: np.ndarray, step: float, pull: float) -> np.ndarray:
            return book.at(*advanced(self._rate, (time, x, p), step, pull))[0][self._lost]

        apart = self._letting_go.apart(time, x[: self._count], p)
        jump = self._changes.decide(time, x, p, (met, zero, ended), reactions, apart)
        if jump is not None:
            book.armed[self._closing[jump.p[self._holds] == 0.0]] = False
            yield jump


_changes: WeakKeyDictionary[OdeProblem, ContactChanges] = WeakKeyDictionary()


def _smallest(matrix: np.ndarray) -> float:
    """Return the smallest eigenvalue of a symmetric matrix that is scaled to a diagonal of one."""
    lengths = np.sqrt(np.abs(np.diag(matrix)))
    if not np.all(np.isfinite(matrix)) or not np.all(lengths > 0.0):
        return 0.0
    return float(np.linalg.eigvalsh(matrix / lengths / lengths[:, None])[0])
