"""Time steps of systems with contacts that open, close and have friction.

Over a step h, with everything except velocities evaluated in its middle, and with all contacts
whose gaps are not positive there,

    M (v+ - v-) = h Q + W_N^T L_N + W_T^T L_T + J^T p,     Phi v+ = aim,
    0 <= L_N  _|_  g'+ + e g'- >= 0,     -L_T in mu L_N Sgn(c+ + e_T c-),

with the rates g' of gaps and c of slips: an impact by Newton's law, a push, or both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.decisions import Contacts, ContactState, decide, inverse_mass
from daesolve.contact.friction.steppable import Steppable, check_steppable
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.core.system.system import MechanicalSystem

AGREES = 1e-10
"""The accepted violation of an inequality, relative to its terms."""
DEPENDENT = 1e-12
"""Rows with a smaller singular value, relative to the largest, depend on each other."""
SIGNS = {ContactState.FORWARD: 1.0, ContactState.BACKWARD: -1.0}

States = tuple[ContactState, ...]


@dataclass(frozen=True, eq=False)
class ContactStep:
    """The result of a step.

    Parameters
    ----------
    velocities
        The velocities at its end, (nv,).
    impulses
        The impulses along all gaps, then along all slips, contact by contact, N s: (2 n,) in the
        plane, (3 n,) in space.
    states
        The state of each contact, (n,); open ones have no impulse.
    work
        The friction work over the step, J.
    iterations
        The number of linear solves: a second one if the states of the last step did not hold.
    """

    velocities: np.ndarray
    impulses: np.ndarray
    states: States
    work: float
    iterations: int

    @property
    def normal(self) -> np.ndarray:
        """The impulses along all gaps, (n,)."""
        return self.impulses[: len(self.states)]

    @property
    def loaded(self) -> np.ndarray:
        """Which contacts are loaded, 1 or 0, (n,)."""
        return (self.normal > 0.0).astype(int)

    @property
    def slipping(self) -> np.ndarray:
        """Which contacts slide, (n,)."""
        return np.array([state.slides for state in self.states])


class ContactEquations(Steppable):
    """The equations of a system with contacts for a time step.

    Parameters
    ----------
    system
        A system with contacts.
    parameters
        Values that override the defaults.

    Raises
    ------
    UnsupportedError
        The system has something that time stepping does not support.
    OutOfRangeError, UnknownNameError
        A parameter is unknown or out of range.
    """

    def __init__(
        self, system: MechanicalSystem, parameters: Mapping[str, float] | None = None
    ) -> None:
        own = [row.name for row in contacts_in(system.dynamics)]
        check_steppable(system, own)
        super().__init__(system, parameters)
        rows = contacts_in(self.dynamics)
        self.names = tuple(own)
        self.gaps = [row.row for row in rows]
        slips = [() if row.rubbing is None else row.rubbing.rows for row in rows]
        self.width = max(map(len, slips), default=1) or 1
        """The number of directions of slip: 1 in the plane, 2 in space."""
        self.slips = [[*own, *[None] * (self.width - len(own))] for own in slips]
        contacts = {*self.gaps, *(row for own in slips for row in own)}
        self.kept = [k for k in range(len(self.dynamics.rows)) if k not in contacts]
        self.closed[[row.hold for row in rows]] = 1.0
        for rubbing in (row.rubbing for row in rows if row.rubbing is not None):
            self.closed[rubbing.slides] = 0.0
            self.closed[list(rubbing.holds)] = 1.0

    def invariants(self, time: float, x: np.ndarray) -> np.ndarray:
        """Return the invariants of positions, such as the norm of a quaternion, after a zero."""
        return np.asarray(self._invariants(time, x, self.numbers)).ravel()

    def step(
        self, time: float, x: np.ndarray, length: float, last: ContactStep | None
    ) -> ContactStep:
        """Take a step.

        Parameters
        ----------
        time, x
            The middle of the step: time, positions there, and velocities before the step, (nx,).
        length
            h, s
        last
            The last step, whose states are tried first.

        Raises
        ------
        ContactError
            No impulses are possible.
        """
        parts = [np.asarray(part) for part in self._parts(time, x, self.closed)]
        mass, force, rows, rates, gaps, numbers = parts
        v, rates = x[self.dynamics.position_count :], rates.ravel()
        kept = rows[self.kept]
        answer = inverse_mass(mass, kept)
        held = self._held(mass, kept, kept @ v - rates[self.kept])
        free = answer @ (mass @ v + length * force.ravel()) + held
        count, width = len(self.names), self.width
        impulses, states = np.zeros(count * (1 + width)), [ContactState.OPEN] * count
        touching = np.flatnonzero(gaps.ravel() <= 0.0)
        if not touching.size:
            return ContactStep(free, impulses, tuple(states), 0.0, 1)
        friction, static, thrown, returned = (row[touching] for row in numbers)
        own, before = self._of_contacts(rows, rates, touching)
        contacts = Contacts(
            _symmetric(own @ answer @ own.T),
            friction,
            np.maximum(static, friction),
            width,
            names=tuple(self.names[k] for k in touching.tolist()),
        )
        # The laws constrain rates after the step plus restitution times rates before it.
        target = (
            before
            + own @ (free - v)
            + np.concatenate([thrown, np.repeat(returned, width)]) * before
        )
        tried = None if last is None else tuple(last.states[k] for k in touching.tolist())
        pushes, found, decided = _decided(contacts, target, tried)
        after = free + answer @ own.T @ pushes
        tangents = count + touching[:, None] * width + np.arange(width)
        impulses[np.concatenate([touching, tangents.ravel()])] = pushes
        for k, state in zip(touching.tolist(), found, strict=True):
            states[k] = state
        slips = before + before + own @ (after - v)
        work = float(pushes[len(touching) :] @ slips[len(touching) :]) / 2.0
        return ContactStep(after, impulses, tuple(states), work, 1 + decided)

    def _of_contacts(
        self, rows: np.ndarray, rates: np.ndarray, touching: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of gaps and slips of some contacts, and their rates; zeros elsewhere."""
        none = np.zeros(rows.shape[1])
        which: list[int] = touching.tolist()
        places = [*(self.gaps[k] for k in which), *(row for k in which for row in self.slips[k])]
        own = np.array([none if place is None else rows[place] for place in places])
        return own, np.array([0.0 if place is None else rates[place] for place in places])

    def _held(self, mass: np.ndarray, kept: np.ndarray, aims: np.ndarray) -> np.ndarray:
        """Return the smallest velocities with which constraints reach their aims."""
        if not np.any(aims):
            return np.zeros(len(mass))
        whitening = np.linalg.inv(np.linalg.cholesky(mass))
        return whitening.T @ np.linalg.lstsq(kept @ whitening.T, aims, rcond=None)[0]

    @cached_property
    def _parts(self) -> ca.Function:
        dynamics, none = self.dynamics, ca.SX(0)
        rubs = [row.rubbing for row in contacts_in(dynamics)]
        numbers = [
            [none if r is None else r.friction for r in rubs],
            [none if r is None else r.static_friction for r in rubs],
            [row.restitution for row in contacts_in(dynamics)],
            [none if r is None else r.restitution for r in rubs],
        ]
        outputs = [
            dynamics.mass,
            dynamics.force,
            ca.vertcat(*[row.jacobian for row in dynamics.rows]),
            ca.vertcat(*[row.chain[-1] for row in dynamics.rows]),
            ca.vertcat(*[dynamics.rows[k].chain[0] for k in self.gaps]),
            ca.vertcat(*[ca.horzcat(*[ca.SX(n) for n in line]) for line in numbers]),
        ]
        return dynamics.function("step", *outputs)

    @property
    def _positions(self) -> list[ca.SX]:
        rows = self.dynamics.rows
        kept = [rows[k].chain[0] for k in self.kept if rows[k].degree == 2]
        return [*kept, *[ca.fmax(-rows[k].chain[0], 0) for k in self.gaps]]

    @cached_property
    def _invariants(self) -> ca.Function:
        rows = self.dynamics.invariants
        values = [row.value for row in rows if row.on == "positions"]
        return self.dynamics.function("invariants", ca.vertcat(0, *values))


def _decided(
    contacts: Contacts, target: np.ndarray, before: States | None
) -> tuple[np.ndarray, States, int]:
    """Return the impulses (k,) and states of contacts, and whether a search was needed.

    The states of the last step are tried first, then those in which all contacts do the same.
    """
    signs = SIGNS if contacts.directions == 1 else ()
    alike = [(state,) * contacts.count for state in (ContactState.STICKS, *signs)]
    for states in alike if before is None else [before, *alike]:
        pushes = _in_states(contacts, target, states)
        if pushes is not None:
            return pushes, states, 0
    decision = decide(contacts, target)
    answer = decision.answers[0] if decision.answers else decision.only()
    return answer.reactions, answer.states, 1


def _in_states(contacts: Contacts, target: np.ndarray, states: States) -> np.ndarray | None:
    """Return the impulses of contacts in given states; None if the states are inconsistent.

    In space the direction of sliding is unknown; other methods handle this case.
    """
    if ContactState.SLIDES in states:
        return None
    count, width = contacts.count, contacts.directions
    sides = np.array([SIGNS.get(state, 0.0) for state in states])
    closed = np.array([state is not ContactState.OPEN for state in states])
    sticks = np.array([state is ContactState.STICKS for state in states])
    held = np.flatnonzero(np.concatenate([closed, np.repeat(sticks, width)]))
    pushes = np.zeros(len(target))
    if held.size:
        # A sliding contact also pushes along its slip.
        columns = np.eye(len(target))
        firsts = count + np.arange(count) * width
        columns[firsts, np.arange(count)] = -sides * contacts.friction
        answers = (contacts.matrix @ columns)[np.ix_(held, held)]
        found = _shared(contacts, held, answers, -target[held])
        if found is None:
            return None
        pushes = columns[:, held] @ found
    rates = contacts.matrix @ pushes + target
    sizes = np.abs(contacts.matrix) @ np.abs(pushes) + np.abs(target)
    normal, traction = pushes[:count], np.linalg.norm(pushes[count:].reshape(count, width), axis=1)
    along, terms = (part[count:].reshape(count, width)[:, 0] for part in (rates, sizes))
    least = AGREES * float(np.max(np.abs(pushes)))
    agrees = (
        np.all(normal >= -least)
        and np.all(closed | (rates[:count] >= -AGREES * sizes[:count]))
        and np.all(~sticks | (traction <= contacts.static * normal + least))
        and np.all(sides * along >= -AGREES * terms)
    )
    return pushes if agrees else None


def _shared(
    contacts: Contacts, held: np.ndarray, answers: np.ndarray, right: np.ndarray
) -> np.ndarray | None:
    """Return the reactions of held rows; None if they cannot be held.

    Contacts that stick side by side share friction in proportion to their limits.
    """
    found, _, rank, _ = np.linalg.lstsq(answers, right, rcond=DEPENDENT)
    if rank == held.size:
        return found
    if not np.allclose(answers @ found, right, rtol=AGREES, atol=AGREES * np.max(np.abs(right))):
        return None
    count = contacts.count
    weights = np.ones(held.size)
    normal = np.zeros(count)
    normal[held[held < count]] = found[held < count]
    stuck = held >= count
    whose = (held[stuck] - count) // contacts.directions
    weights[stuck] = contacts.static[whose] * normal[whose]
    largest = np.max(weights[stuck], initial=0.0) or 1.0
    weights[stuck] = np.sqrt(np.maximum(weights[stuck], 0.0) / largest)
    return weights * np.linalg.lstsq(answers * weights, right, rcond=DEPENDENT)[0]


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2.0
