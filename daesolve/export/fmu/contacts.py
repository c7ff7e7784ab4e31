"""Several contacts, or contacts with friction, in a unit: what their decisions evaluate in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.laws.frictional_instant import ContactNumbers
from daesolve.contact.laws.impacts_end import ImpactsEnd
from daesolve.contact.posing.contact_rows import ContactFriction, ContactRow, contacts_in
from daesolve.contact.posing.names import JAM
from daesolve.core.equations.elimination.saddle import Saddle
from daesolve.core.events.guard_table import GuardTable
from daesolve.core.events.law import Setting
from daesolve.core.events.let_go import LettingGo
from daesolve.core.posing.symbols import symbol
from daesolve.core.posing.value_names import PENDING
from daesolve.core.preparation.preparing import Prepared

MOST_CONTACTS = 4
"""Contacts of which a unit tries all states together."""
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class UnitContacts:
    """The contacts of a unit that decides on them together.

    Parameters
    ----------
    prepared
        A run whose contacts a unit can decide on.
    """

    prepared: Prepared

    @staticmethod
    def of(prepared: Prepared) -> UnitContacts | None:
        """Return those of a run; None if there are none, or a smooth one alone."""
        rows = contacts_in(prepared.dynamics)
        alone = len(rows) == 1 and rows[0].rubbing is None
        return None if alone or not rows else UnitContacts(prepared)

    @cached_property
    def rows(self) -> tuple[ContactRow, ...]:
        """The contacts."""
        return contacts_in(self.prepared.dynamics)

    @cached_property
    def numbers(self) -> ContactNumbers:
        """What evaluates them."""
        return ContactNumbers(self.prepared.dynamics)

    def function(self) -> ca.Function:
        """Return (t, x, p) -> gaps, rates, answers A, rates and sizes without reactions, throws.

        Each row is a gap or a slip, the gaps first; a smooth contact has no slip, and zeros there.
        """
        dynamics, numbers = self.prepared.dynamics, self.numbers
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        none = ca.SX.zeros(1, dynamics.velocity_count)
        gaps = [dynamics.rows[row.row] for row in self.rows]
        slips = [None if r.rubbing is None else dynamics.rows[r.rubbing.row] for r in self.rows]
        gradients = [row.jacobian for row in gaps]
        gradients += [none if row is None else row.jacobian for row in slips]
        biases = [row.bias for row in gaps]
        biases += [ca.SX(0) if row is None else row.bias for row in slips]
        arguments = [t, x, p]
        measured = ca.Function(
            "measured", arguments, [ca.densify(ca.vertcat(*gradients)), ca.vertcat(*biases)]
        )
        saddle = Saddle(dynamics, self.prepared.problem.plan)
        push = symbol("push", dynamics.velocity_count)
        targets = [-row.bias for row in dynamics.rows]
        still = [ca.SX(0)] * len(dynamics.rows)
        offsets = [relation.offset for relation in dynamics.relations]
        unmoved = [ca.SX(0)] * len(offsets)
        free = saddle.solve(dynamics.force, targets, offsets)[0]
        pushed = saddle.solve(push, still, unmoved)[0]
        answers = ca.Function("answers", [*arguments, push], [free, pushed])
        every = numbers.mode(np.zeros(p.numel()), np.ones(len(self.rows), dtype=bool))
        nobody = numbers.mode(np.zeros(p.numel()), np.zeros(len(self.rows), dtype=bool))
        closed, open_ = self._with(every), self._with(nobody)
        jacobian, bias = measured(t, x, closed)
        columns = [answers(t, x, open_, row.T) for row in ca.vertsplit(jacobian)]
        free, thrown = columns[0][0], ca.horzcat(*[pushed for _, pushed in columns])
        matrix = jacobian @ thrown
        places = ca.Function("places", arguments, [ca.vertcat(*[row.chain[0] for row in gaps])])
        parts = [
            places(t, x, closed),
            *numbers.function(t, x, closed),
            (matrix + matrix.T) / 2,
            jacobian @ free + bias,
            ca.fabs(jacobian) @ ca.fabs(free) + ca.fabs(bias),
            thrown,
        ]
        column = ca.densify(ca.vertcat(*[ca.vec(ca.SX(part)) for part in parts]))
        return ca.Function("contacts", arguments, [column])

    def _with(self, mode: np.ndarray) -> ca.SX:
        """Return the values with those of contacts as in a mode."""
        p, numbers = ca.SX(self.prepared.dynamics.p), self.numbers
        shares = np.array(list(numbers.shares.values()), dtype=int)
        places = [numbers.holds, numbers.slides, numbers.sticks.ravel(), numbers.rests, shares]
        for place in np.concatenate(places).tolist():
            p[place] = mode[place]
        return p

    def integers(self) -> Mapping[str, Sequence[int]]:
        """Return the tables of the places of values and guards, one entry a contact."""
        firsts = self._table.firsts
        rubbing = [row.rubbing for row in self.rows]
        shares, own = self.numbers.shares, range(len(self.rows))

        def each(what: str) -> list[int]:
            return [NOWHERE if r is None else int(getattr(r, what)) for r in rubbing]

        def guard(r: ContactFriction | None, what: str) -> int:
            return NOWHERE if r is None else int(firsts[getattr(r, what)])

        return {
            "HOLDS": [row.hold for row in self.rows],
            "SLIDES": each("slides"),
            "STICKS": each("sticks"),
            "LOST": [int(firsts[row.lost]) for row in self.rows],
            "MEETS": [int(firsts[row.closed]) for row in self.rows],
            "STOPPING": [guard(r, "begins_to_stick") for r in rubbing],
            "SLIPPING": [guard(r, "begins_to_slip") for r in rubbing],
            "REVERSING": [guard(r, "reverses") for r in rubbing],
            "SHARES": [shares.get((one, other), NOWHERE) for one in own for other in own],
            "JUDGED": [int(k in self._judged) for k in range(len(self._table.guarded))],
        }

    @property
    def impacts_end(self) -> tuple[int, int, int]:
        """The guard of the end of impacts that are left out, and the places of its values."""
        if PENDING not in self.prepared.dynamics.values:
            return NOWHERE, NOWHERE, NOWHERE
        ends = ImpactsEnd.of(self._setting)
        return ends.guard, ends.pending, ends.ends

    @property
    def idle(self) -> list[int]:
        """The places of values for contacts that rest, or stick with another."""
        return [*self.numbers.rests.tolist(), *self.numbers.shares.values()]

    @property
    def names(self) -> str:
        """Their names, as messages list them."""
        return ", ".join(row.name for row in self.rows)

    def doubles(self) -> Mapping[str, Sequence[float]]:
        """Return the tables of what constraints may leave of rates, one entry a contact."""
        limits = LettingGo(self._setting)
        return {
            "GAP_LEFT": limits.gap_limits.tolist(),
            "GAP_RATE_LEFT": limits.gap_rate_limits.tolist(),
            "SLIP_LEFT": limits.slip_limits.tolist(),
        }

    @property
    def jam(self) -> int:
        """The guard of a jam that is near; -1 if nothing rubs."""
        names = [event.name for event in self.prepared.problem.events]
        return int(self._table.firsts[names.index(JAM)]) if JAM in names else NOWHERE

    @property
    def _setting(self) -> Setting:
        transitions = self.prepared.transitions
        assert transitions is not None
        return transitions.setting

    @property
    def _table(self) -> GuardTable:
        return self._setting.table

    @cached_property
    def _judged(self) -> frozenset[int]:
        """The guards that are positive in the mode of contacts."""
        events = [event for row in self.rows for event in (row.lost, row.closed)]
        events += [event for row in self.rows if row.rubbing for event in row.rubbing.events]
        return frozenset(self._table.guards_of(events).tolist())
