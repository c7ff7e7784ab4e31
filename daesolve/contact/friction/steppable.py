"""The systems that time stepping supports, and what all their steps evaluate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.names import ACCUMULATED, JAM, REST
from daesolve.core.equations.consistency import check_named
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.expressions.identities import vanishes
from daesolve.core.posing.goals import Goal, Invariant
from daesolve.core.system.consistent_state import parameter_values
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import UnsupportedError


class Steppable:
    """A system that time stepping supports, with the values of its parameters.

    Parameters
    ----------
    system
        A system that has passed `check_steppable`.
    parameters
        Values that override the defaults.

    Raises
    ------
    UnsupportedError
        An invariant is driven by a rate.
    OutOfRangeError, UnknownNameError
        A parameter is unknown or out of range.
    """

    def __init__(self, system: MechanicalSystem, parameters: Mapping[str, float] | None) -> None:
        self.system, self.dynamics = system, system.dynamics
        refuse_drives(self.dynamics, "time stepping")
        given = check_named("parameters", parameters)
        self.numbers = self.dynamics.value_vector(parameter_values(self.dynamics, given))
        self.closed = self.numbers.copy()
        """The values with all contacts closed and stuck, so that all their rows exist."""

    def energy(self, time: float, x: np.ndarray) -> float:
        """Return the kinetic and potential energy, J."""
        return float(self._energy(time, x, self.numbers))

    def position_rates(self, time: float, x: np.ndarray) -> np.ndarray:
        """Return q' (nq,)."""
        return np.asarray(self._rates(time, x, self.numbers)).ravel()

    def missed(self, time: float, x: np.ndarray) -> float:
        """Return the largest violation of constraints or gaps by positions, in their units."""
        return float(self._missed(time, x, self.closed))

    def invariants(self, time: float, x: np.ndarray) -> np.ndarray:
        """Return the invariants of positions, such as the norm of a quaternion, after a zero."""
        return np.zeros(1)

    @cached_property
    def _missed(self) -> ca.Function:
        return self.dynamics.function("missed", ca.norm_inf(ca.vertcat(0, *self._positions)))

    @property
    def _positions(self) -> list[ca.SX]:
        """What constraints on positions hold at zero."""
        return [row.chain[0] for row in self.dynamics.rows if row.degree == 2]

    @cached_property
    def _energy(self) -> ca.Function:
        kinetic, named = self.dynamics.kinetic, self.system.auxiliaries
        assert kinetic is not None
        potential = ca.substitute(ca.SX(self.system.potential), named.vector, named.meanings)
        return self.dynamics.function("energy", kinetic + potential)

    @cached_property
    def _rates(self) -> ca.Function:
        rates = self.dynamics.position_rates[: self.dynamics.coordinate_count]
        return self.dynamics.function("rates", rates)


def check_steppable(system: MechanicalSystem, contacts: Collection[str] = ()) -> None:
    """Refuse systems that time stepping does not support.

    Parameters
    ----------
    system
        The system.
    contacts
        The names of its contacts, whose events time stepping handles itself.

    Raises
    ------
    UnsupportedError
        The message names the part to leave out.
    """
    dynamics = system.dynamics
    own = {dynamics.events[k].name for k in _events_of_contacts(system)} | {ACCUMULATED, REST, JAM}
    for event in system.events:
        if not contacts or event.name not in own:
            raise UnsupportedError(
                f"the event {event.name!r} cannot be watched: time stepping has no events; "
                "leave it out, or integrate with solve()"
            )
    if dynamics.implicit_rows or dynamics.relations or len(system.reactions):
        raise UnsupportedError(
            "time stepping supports only reactions of supports and of ideal constraints: leave "
            "out implicit unknowns, relations and further reactions, or integrate with solve()"
        )
    if dynamics.quadrature_count:
        raise UnsupportedError(
            f"time stepping integrates no quadratures, such as {system.quadratures.names[0]!r}: "
            "leave them out, or integrate with solve()"
        )
    if any(ca.depends_on(row.jacobian, dynamics.velocities) for row in dynamics.rows):
        raise UnsupportedError(
            "time stepping needs constraints that are linear in the velocities: integrate with "
            "solve()"
        )
    # The run reports the violation of invariants of positions: `violation`.
    driven = [
        goal.name
        for goal in system.goals
        if isinstance(goal, Invariant) and goal.drive and not (contacts and goal.on == "positions")
    ]
    if driven:
        raise UnsupportedError(
            f"time stepping cannot drive the invariant {driven[0]!r}: pose it with drive=False"
        )
    if contacts:
        _check_contacts(system, contacts)


def _events_of_contacts(system: MechanicalSystem) -> list[int]:
    return [
        event
        for row in contacts_in(system.dynamics)
        for event in (row.lost, row.closed, *(row.rubbing.events if row.rubbing else ()))
    ]


def _check_contacts(system: MechanicalSystem, contacts: Collection[str]) -> None:
    """Refuse goals that are released, and reactions of contacts in the user's forces."""
    dynamics = system.dynamics
    rubbing = [row.rubbing for row in contacts_in(dynamics) if row.rubbing is not None]
    sticking = {dynamics.rows[k].name for rubs in rubbing for k in rubs.rows}
    for goal in system.goals:
        if isinstance(goal, Goal) and goal.held_by and goal.name not in {*contacts, *sticking}:
            raise UnsupportedError(
                f"the goal {goal.name!r} is released at events, which time stepping does not "
                "have: leave it out, or integrate with solve()"
            )
    sides = [rubs.slides for rubs in rubbing]
    symbols = ca.vertcat(ca.SX(0, 1), *[dynamics.p[k] for k in sides])
    influence = ca.substitute(dynamics.influence, symbols, ca.SX.zeros(*symbols.shape))
    for row in dynamics.rows:
        if row.reaction is not None and not vanishes(influence[:, row.reaction] - row.jacobian.T):
            raise UnsupportedError(
                f"the reaction of {row.name!r} appears in a force, but time stepping supports "
                "only reactions along their own constraints: leave it out there, or integrate "
                "with solve()"
            )
