"""Contacts with friction at an instant, in numbers: how gaps and slips respond to reactions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daesolve.contact.decisions import Contacts
from daesolve.contact.decisions.touching import without_asymmetry
from daesolve.contact.posing.contact_rows import (
    ContactFriction,
    ContactRow,
    SpatialContactFriction,
    brakes_in,
    contacts_in,
)
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.impacts import impulse_free_holds
from daesolve.core.events.jumps import without
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.identities import vanishes
from daesolve.core.results.trajectory.results import Impact
from daesolve.errors import ResetError, UnsupportedError


@dataclass(frozen=True, eq=False)
class DecisionState:
    """The place of a decision: time, states of the equations followed by works, and values."""

    time: float
    x: np.ndarray
    works: np.ndarray
    p: np.ndarray

    @property
    def whole(self) -> np.ndarray:
        """The state of the problem: with works."""
        return np.concatenate([self.x, self.works])

    def later(self, step: float, whole: np.ndarray, p: np.ndarray) -> DecisionState:
        """Return the place a step later, s, with this state of the problem and values."""
        count = len(self.x)
        return DecisionState(self.time + step, whole[:count], whole[count:], p)

    def pushed(self, thrown: np.ndarray, impulses: np.ndarray) -> DecisionState:
        """Return the place after impulses, of which each adds its column to the velocities."""
        x = self.x.copy()
        x[-len(thrown) :] += thrown @ impulses
        return replace(self, x=x)


@dataclass(frozen=True, eq=False)
class TouchingContacts:
    """The contacts that touch at an instant.

    Parameters
    ----------
    time
        s
    which
        (n,) the contacts that touch, among all.
    contacts
        How their gaps and slips respond to their reactions; a smooth contact has no slip.
    free
        (k,) the accelerations of gaps and slips without reactions, k = 2 n, or 3 n in space.
    rows
        (k, nv) the gradients of their speeds by the velocities.
    thrown
        (nv, k) the velocities that unit impulses along gaps and slips give.
    kept
        (reactions, k) the impulses of all other constraints that come with them.
    size
        (k,) the sizes of the terms of `free`.
    accelerations
        (nv,) those of the bodies without reactions of what touches.
    borne
        (reactions,) those of all other constraints then.
    terms
        (n,) the sizes of the terms of the accelerations of gaps, one for each load on the bodies.
    """

    time: float
    which: np.ndarray
    contacts: Contacts
    free: np.ndarray
    rows: np.ndarray
    thrown: np.ndarray
    kept: np.ndarray
    size: np.ndarray
    accelerations: np.ndarray
    borne: np.ndarray
    terms: np.ndarray


@dataclass(frozen=True, eq=False)
class Rates:
    """Of all contacts: rates of gaps and slips, m/s, the sizes of their terms, and coefficients.

    All are (n,); slips and their sizes are (n, 2) in space.
    """

    gaps: np.ndarray
    gap_sizes: np.ndarray
    slips: np.ndarray
    slip_sizes: np.ndarray
    restitution: np.ndarray
    friction: np.ndarray
    static_friction: np.ndarray
    tangential_restitution: np.ndarray

    @property
    def resting(self) -> np.ndarray:
        """Which slips are zero: (n,)."""
        return speeds_of(self.slips) == 0.0

    def with_zeros(self, held: np.ndarray, stopped: np.ndarray) -> Rates:
        """Return rates of which some of gaps and of slips, (n,) each, are zero."""
        still = stopped if self.slips.ndim == 1 else stopped[:, None]
        return replace(
            self, gaps=np.where(held, 0.0, self.gaps), slips=np.where(still, 0.0, self.slips)
        )


@dataclass(frozen=True, eq=False)
class Arrival:
    """The contacts at an instant, before anything is decided.

    `before` are closed, `held` those of them whose gap is still at zero, and `met` others at zero,
    with what counts as `zero`: (n,) each.
    """

    place: DecisionState
    rates: Rates
    before: np.ndarray
    held: np.ndarray
    met: np.ndarray
    zero: np.ndarray
    fired: Sequence[int]

    def fires(self, guards: np.ndarray) -> np.ndarray:
        """Return which of some guards fire."""
        return np.isin(guards, list(self.fired))

    def fires_any(self, guards: np.ndarray) -> np.ndarray:
        """Return in which rows of guards (n, k) one fires, (n,)."""
        return np.asarray(np.any(self.fires(guards), axis=1))


@dataclass(frozen=True, eq=False)
class ContactOutcome:
    """What was decided: place and mode after it, what is closed in it, events and impacts.

    `hit` and `settled` say which contacts closed, and which of these stay though they would bounce;
    `rests` whether all rests at a place, and `repeats` that the mode is the one before.
    """

    place: DecisionState
    p: np.ndarray
    now: np.ndarray
    events: list[int]
    impacts: list[Impact | None]
    hit: np.ndarray
    settled: np.ndarray
    rests: Callable[[DecisionState], bool]
    repeats: bool = True


def speeds_of(slips: np.ndarray) -> np.ndarray:
    """Return the sizes of slips (n,), or (n, 2) in space: (n,)."""
    return np.linalg.norm(slips.reshape(len(slips), -1), axis=1)


class ContactNumbers:
    """Evaluates the contacts of a system.

    Parameters
    ----------
    dynamics
        The equations, with contacts of which one rubs at least.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        rows, self.brakes = contacts_in(dynamics), brakes_in(dynamics)
        self.count = len(rows)
        """How many contacts have a gap; after these come brakes, which are always closed."""
        self.names = tuple(one.name for one in (*rows, *self.brakes))
        self.holds = np.array([row.hold for row in rows], dtype=int)
        self.follows = np.array([row.follows for row in rows], dtype=int)
        self.slacks = np.array([row.slack for row in rows], dtype=int)
        self.rubbing: tuple[ContactFriction | None, ...] = (
            *(row.rubbing for row in rows),
            *self.brakes,
        )
        self.rubs = np.array([rubbing is not None for rubbing in self.rubbing])
        self.slides = np.array([r.slides for r in self.rubbing if r is not None], dtype=int)
        self.directions = max((len(r.rows) for r in self.rubbing if r is not None), default=1)
        holds = [r.holds for r in self.rubbing if r is not None]
        self.sticks = np.array(holds, dtype=int).reshape(-1, self.directions)
        """(rubbing, directions) the places of what holds the slips of those that rub."""
        rests = {k: r.rests for k, r in enumerate(self.rubbing) if r is not None}
        self._may_rest = [k for k, place in rests.items() if place is not None]
        self.rests = np.array([rests[k] for k in self._may_rest], dtype=int)
        self._splits = [
            place
            for r in self.rubbing
            if isinstance(r, SpatialContactFriction)
            for place in (*r.split, *r.shift, *r.along)
        ]
        places = {name: place for place, name in enumerate(dynamics.values)}
        self.shares = {
            (k, j): places[name]
            for k, one in enumerate(self.names)
            for j, other in enumerate(self.names)
            if (name := f"stuck_{one}_{other}") in places
        }
        """The places of the values that say by which contact another is held that sticks."""
        self._gaps = [row.row for row in rows]
        self._slips = [() if r is None else r.rows for r in self.rubbing]
        gaps = [*self._gaps, *(None for _ in self.brakes)]
        self._impulse_free = impulse_free_holds(dynamics, dynamics.rows)
        self.reactions = [
            (None if gap is None else self._reaction(gap), tuple(map(self._reaction, slips)))
            for gap, slips in zip(gaps, self._slips, strict=True)
        ]
        """Of each contact, the reactions along its gap, if any, and along its slip if it rubs."""
        self._check_reactions()
        self.function = self._function(rows)
        """(t, x, p) -> the parts of `Rates`, of all contacts."""
        self._evaluate = Evaluator(self.function)
        arguments = [dynamics.t, dynamics.x, dynamics.p, dynamics.reactions]
        pressing = ca.vertcat(ca.SX(0, 1), *[brake.presses for brake in self.brakes])
        self._pressing = Evaluator(ca.Function("presses", arguments, [ca.densify(pressing)]))

    def _check_reactions(self) -> None:
        """Refuse reactions that act on more than gaps and slips: decisions do not know of that."""
        dynamics = self.dynamics
        sides = ca.SX(dynamics.p[self.slides.tolist()])
        influence = ca.substitute(dynamics.influence, sides, ca.SX.zeros(*sides.shape))
        ties = ca.vertcat(
            ca.SX(0, dynamics.reactions.numel()), *[row.jacobian for row in dynamics.relations]
        )
        for contact in contacts_in(dynamics):
            slips = () if contact.rubbing is None else contact.rubbing.rows
            for row in (dynamics.rows[k] for k in (contact.row, *slips)):
                assert row.reaction is not None
                besides = influence[:, row.reaction] - row.jacobian.T
                if ca.sparsify(ties[:, row.reaction]).nnz() or not vanishes(besides):
                    raise UnsupportedError(
                        f"the reaction of the contact {contact.name!r} appears in a force or a "
                        "relation, but contacts with friction, and impacts by another law "
                        "than Newton's, depend only on their own friction: remove it there"
                    )

    def _reaction(self, row: int) -> int:
        found = self.dynamics.rows[row].reaction
        assert found is not None
        return found

    def _function(self, rows: tuple[ContactRow, ...]) -> ca.Function:
        dynamics, none = self.dynamics, ca.SX(0)
        smooth = [none] * self.directions
        speeds = ca.vertcat(*[dynamics.rows[row.row].chain[1] for row in rows])
        speeds = ca.vertcat(speeds, ca.SX.zeros(len(self.brakes)))
        slips = ca.vertcat(
            *[
                slip
                for own in self._slips
                for slip in ([dynamics.rows[k].chain[0] for k in own] or smooth)
            ]
        )
        parts: list[ca.SX] = []
        for values in (speeds, slips):
            slopes = ca.jacobian(values, dynamics.velocities)
            parts += [values, ca.fabs(slopes) @ ca.fabs(dynamics.velocities)]
        none_thrown = [none] * len(self.brakes)
        parts.append(ca.vertcat(*[row.restitution for row in rows], *none_thrown))
        for name in ("friction", "static_friction", "restitution"):
            parts.append(
                ca.vertcat(*[none if r is None else getattr(r, name) for r in self.rubbing])
            )
        arguments = [dynamics.t, dynamics.x, dynamics.p]
        return ca.Function("contacts", arguments, [ca.densify(ca.SX(part)) for part in parts])

    def mode(self, p: np.ndarray, closed: np.ndarray) -> np.ndarray:
        """Return p with these contacts closed and stuck, all others open, and nothing shared."""
        p = p.copy()
        p[self.holds], p[self.slacks] = closed[: self.count], 0.0
        p[self.follows] = 0.0
        p[self.slides] = 0.0
        p[self._splits] = 0.0
        p[self.sticks] = closed[self.rubs, None]
        p[self.rests] = 0.0
        p[list(self.shares.values())] = 0.0
        return p

    def with_following(self, p: np.ndarray, closed: np.ndarray) -> np.ndarray:
        """Return p in which those of the closed contacts follow others whose gaps nothing holds."""
        p = p.copy()
        p[self.follows] = closed[: len(self.follows)] & (p[self.holds] == 0.0)
        return p

    def closed(self, p: np.ndarray) -> np.ndarray:
        """Return which contacts are closed, those that rest included: (n,)."""
        found = self.held(p)
        found[self._may_rest] |= p[self.rests] == 1.0
        return found

    def following(self, p: np.ndarray) -> np.ndarray:
        """Return which contacts are kept closed by others, without a load: (n,)."""
        none = np.zeros(len(self.names) - self.count, dtype=bool)
        return np.concatenate([p[self.follows] == 1.0, none])

    def held(self, p: np.ndarray) -> np.ndarray:
        """Return which contacts have a constraint on their gap, or a given load: (n,)."""
        found = np.ones(len(self.names), dtype=bool)
        found[: self.count] = p[self.holds] == 1.0
        return found

    def stuck(self, p: np.ndarray) -> np.ndarray:
        """Return which contacts stick, (n,)."""
        found = self.closed(p) & self.rubs
        found[self.rubs] &= np.abs(p[self.slides]) < 1.0
        return found

    def held_by(self, p: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Return which contacts stick by the constraints of some others, (n,)."""
        found = np.zeros(len(self.names), dtype=bool)
        for (owner, other), place in self.shares.items():
            found[other] |= owners[owner] & (p[place] > 0.0)
        return found

    def are_alike(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Return whether contacts do the same in two modes, held by the same constraints.

        No load may fall farther by rounding in the second one.
        """
        shares = np.array(list(self.shares.values()), dtype=int)
        places = np.concatenate(
            [self.holds, self.follows, self.slides, self.sticks.ravel(), self.rests, shares]
        )
        more = np.any(other[self.slacks] > one[self.slacks])
        return bool(np.array_equal(one[places], other[places]) and not more)

    def rates(self, place: DecisionState) -> Rates:
        """Return the rates of all gaps and slips, whichever are closed."""
        everything = self.mode(place.p, np.ones(len(self.names), dtype=bool))
        parts = [np.array(part) for part in self._evaluate(place.time, place.x, everything)]
        if self.directions > 1:
            parts[2:4] = [part.reshape(-1, self.directions) for part in parts[2:4]]
        return Rates(*parts)

    def instant(self, place: DecisionState, touching: np.ndarray, rates: Rates) -> TouchingContacts:
        """Return how the touching contacts respond, with all other constraints kept.

        Raises
        ------
        ResetError
            Their reactions are not determined.
        """
        which, time, p = np.flatnonzero(touching), place.time, self.mode(place.p, touching)
        parts = self.dynamics.matrices(time, place.x, p)
        jacobian, bias = self._rows(parts["jacobian"], which), self._rows(parts["bias"], which)
        own = {*self._gaps, *(row for rows in self._slips for row in rows)}
        tied = np.zeros((len(parts["ties"]), len(jacobian)))
        try:
            found, kept = respond_to_pushes(self.dynamics, p, parts, own, jacobian.T, tied)
        except np.linalg.LinAlgError:
            raise ResetError(
                f"at t = {time:.10g} s the constraints other than the contacts depend on each other"
            ) from None
        thrown, free = found[:, :-1], found[:, -1]
        matrix = jacobian @ thrown
        # The load of a brake is given: of a gap that moves nothing, under a push.
        own_brakes = np.flatnonzero(which >= self.count)
        answers = np.diag(matrix)[len(which) + own_brakes]
        matrix[own_brakes, own_brakes] = np.where(answers > 0.0, answers, 1.0)
        names = tuple(self.names[k] for k in which)
        try:
            contacts = Contacts(
                without_asymmetry(matrix),
                rates.friction[which],
                np.maximum(rates.static_friction, rates.friction)[which],
                self.directions,
                names,
            )
        except ValueError as error:
            raise ResetError(f"at t = {time:.10g} s: {error}") from error
        size = np.abs(jacobian) @ np.abs(free) + np.abs(bias.ravel())
        rates_free = jacobian @ free + bias.ravel()
        kept, borne = kept[:, :-1], kept[:, -1]
        found = TouchingContacts(
            time, which, contacts, rates_free, jacobian, thrown, kept, size, free, borne,
            sizes_of_pulls(jacobian[: len(which)], parts),
        )  # fmt: skip
        return self.pressed(place, found, np.zeros(len(size)))

    def at_impact(
        self, place: DecisionState, touching: np.ndarray, rates: Rates
    ) -> TouchingContacts:
        """Return the same without what dry friction holds elsewhere: it bears no impulse."""
        if not self._impulse_free:
            return self.instant(place, touching, rates)
        free = replace(place, p=without(place.p, self._impulse_free))
        return self.instant(free, touching, rates)

    def pressed(
        self, place: DecisionState, instant: TouchingContacts, reactions: np.ndarray
    ) -> TouchingContacts:
        """Return contacts with brakes under the loads that come with reactions (k,)."""
        own = np.flatnonzero(instant.which >= self.count)
        if not own.size:
            return instant
        borne = instant.borne + instant.kept @ reactions
        p = self.mode(place.p, np.isin(np.arange(len(self.names)), instant.which))
        loads = np.maximum(self._pressing(place.time, place.x, p, borne)[0], 0.0)
        pushes = np.diag(instant.contacts.matrix)[own] * loads[instant.which[own] - self.count]
        free, size = instant.free.copy(), instant.size.copy()
        free[own], size[own] = -pushes, pushes
        return replace(instant, free=free, size=size)

    def _rows(self, table: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return the rows of gaps and slips of some contacts; a smooth one has none of slip."""
        smooth = np.zeros((self.directions, table.shape[1]))
        slips = [self._slips[int(k)] for k in which]
        tangents = [table[[*rows]] if rows else smooth for rows in slips]
        gaps = np.zeros((len(which), table.shape[1]))
        own = which[which < self.count]
        gaps[which < self.count] = table[np.array(self._gaps, dtype=int)[own]]
        return np.vstack([gaps, *tangents])


def sizes_of_pulls(gaps: np.ndarray, parts: dict[str, np.ndarray]) -> np.ndarray:
    """Return how much of the accelerations of gaps (n, nv) comes from loads that may cancel, (n,).

    `parts` is `dynamics.matrices` there. In a fall all loads on a robot together turn no joint.
    """
    moved = np.abs(np.linalg.inv(parts["mass"])) @ np.abs(parts["force"].ravel())
    return np.asarray(np.abs(gaps) @ moved, dtype=np.float64)


def respond_to_pushes(
    dynamics: Dynamics,
    p: np.ndarray,
    parts: dict[str, np.ndarray],
    left_out: Collection[int],
    pushes: np.ndarray,
    tied: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations that pushes give, and in the last column those without any.

    Parameters
    ----------
    dynamics, p, parts
        The equations, their values, and `dynamics.matrices` there.
    left_out
        The rows that are not kept, beside those of which p lets go.
    pushes, tied
        (nv, k) and (relations, k) what acts on velocities and enters relations.

    Returns
    -------
    numpy.ndarray
        (nv, k + 1)
    numpy.ndarray
        (reactions, k + 1) the reactions of the constraints that are kept, zero for all others.

    Raises
    ------
    numpy.linalg.LinAlgError
        The constraints that are kept depend on each other.
    """
    held = {row.name for row in dynamics.in_mode(p).rows}
    kept = [k for k, row in enumerate(dynamics.rows) if row.name in held and k not in left_out]
    gone = {row.reaction for k, row in enumerate(dynamics.rows) if k not in kept}
    columns = [r for r in range(dynamics.reactions.numel()) if r not in gone]
    count, rows = dynamics.velocity_count, dynamics.velocity_count + len(kept)
    matrix = np.zeros((count + len(columns),) * 2)
    matrix[:count, :count] = parts["mass"]
    matrix[:count, count:] = -parts["influence"][:, columns]
    matrix[count:rows, :count] = parts["jacobian"][kept]
    matrix[rows:, count:] = parts["ties"][:, columns]
    right = np.zeros((len(matrix), pushes.shape[1] + 1))
    right[:count, :-1] = pushes
    right[rows:, :-1] = tied
    free = [parts["force"], -parts["bias"][kept], -parts["offsets"]]
    right[:, -1] = np.concatenate(free).ravel()
    found = np.linalg.solve(matrix, right)
    reactions = np.zeros((dynamics.reactions.numel(), right.shape[1]))
    reactions[columns] = found[count:]
    return found[:count], reactions
