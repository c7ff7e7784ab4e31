"""Whether impacts obey their law: momenta, restitution, friction and energy.

The rates w of gaps, of slips and of imposed constraints before (-) and after (+) an impact follow
from the states that its event records, the impulses P from its record:

    jump of dT/dv = J^T P,    0 <= P,    |P_T| <= mu P,    w+ = -e w- where P > 0    (Newton).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.audit.certificate import NODES, Certificate
from daesolve.audit.equations import (
    gradient_of,
    momenta_of,
    momentum_of,
    moving_of,
    rate_of,
    reactions_of,
)
from daesolve.audit.expressions import Expressions, UnknownSymbolsError
from daesolve.audit.passages import posed_events
from daesolve.audit.rounds import Round, at_instants
from daesolve.posing.goals import Goal
from daesolve.trajectory.findings import Finding, judged, unchecked

CHECK = "impulses"
BALANCED = 1e-7
"""The part of its terms, and of a thousandth of the usual ones, by which a law may be missed."""
LEFT_OUT = 1e-5
"""The part of the usual momentum that may go where a contact stays closed: bounces lower than what
counts as a closed gap, 1e-12 of the usual one, are left out, and begin 1e-6 as fast."""
PUSHING = 1e-6
"""The part of the largest impulse at an instant from which a contact takes part in the impact."""


@dataclass(frozen=True, eq=False)
class Impacts:
    """All impacts of a run, n of them, in which no reset changes velocities by itself.

    Parameters
    ----------
    rounds
        In which they happened.
    impulses
        (n,) by the name of the reaction.
    before, after
        What evaluates expressions before and after them.
    """

    certificate: Certificate
    rounds: Sequence[Round]
    impulses: Mapping[str, np.ndarray]
    before: Expressions
    after: Expressions

    @cached_property
    def stays(self) -> np.ndarray:
        """(n,) whether a contact stays closed, so that bounces may have been left out."""
        holds = [goal.held_by for goal in contacts_of(self.certificate.system)]
        return np.array([any(one.after.get(name) for name in holds) for one in self.rounds])

    @cached_property
    def lowest(self) -> np.ndarray:
        """(n,) the part of the fastest rate of a gap below which a bounce may have been left out.

        Late in time, gaps count as closed that change in its rounding.
        """
        lasts = float(np.sum(np.abs(self.certificate.lengths))) + 1e-300
        ticks = np.spacing(np.abs([one.time for one in self.rounds]))
        return np.maximum(LEFT_OUT, 10.0 * np.sqrt(ticks / lasts))

    def of(self, expression: Any) -> np.ndarray:
        """Return an expression before them, (n,)."""
        return self.before([self.before.written(ca.SX(expression))])[0, :, 0]

    def rates(self, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
        """Return the rate of a goal before and after them, (n,) each."""
        rate = rate_of(self.before, goal)
        return self.before([rate])[0, :, 0], self.after([rate])[0, :, 0]

    def pushes(self, contact: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the impulse along the gap of a contact and the size of that of friction, (n,)."""
        push = self.impulses[contact.reaction_label]
        along = [self.impulses[slip.reaction_label] for slip in contact.sticking]
        return push, np.sqrt(np.sum(np.square(along), axis=0)) if along else 0.0 * push

    def judged(
        self, subject: str, off: np.ndarray, terms: np.ndarray, what: str, among: str = ""
    ) -> Finding:
        """Judge by how much, (n,), something is off that is made of such terms.

        What is usual may be known among the terms of others as well.
        """
        usual = self.certificate.scale(f"impacts {among or subject}", terms)
        off = np.maximum(off - LEFT_OUT * usual * self.stays, 0.0)
        relative = off / (terms + 1e-3 * usual + 1e-300)
        place = int(np.argmax(relative))
        worst, when = float(relative[place]), self.rounds[place].time
        said = f"{what} in the impact at t = {when:.6g} s, by {worst:.1g} of its terms"
        return judged(CHECK, subject, worst, BALANCED, when, said)


def contacts_of(system: Any) -> list[Any]:
    """Return the contacts of a system."""
    return [goal for goal in system.goals if hasattr(goal, "sticking")]


def check_impacts(
    certificate: Certificate,
    along: Expressions,
    rounds: Sequence[Round],
    values: Sequence[Mapping[str, float] | None],
) -> list[Finding]:
    """Hold impacts against the balance of momenta, and against their laws."""
    system = certificate.system
    known = {event.name: event.then.reset for event in posed_events(system)}
    assigning = {name for name, reset in known.items() if reset and reset.changes}
    chosen = [
        (one, one.impact.impulses, held)
        for one, held in zip(rounds, values, strict=True)
        if one.impact and one.impact.impulses and held is not None
        if assigning.isdisjoint(record.name for record in one.records)
    ]
    if not chosen or not hasattr(system, "coordinates") or getattr(system, "pairs", ()):
        return []
    struck, held = [one for one, _, _ in chosen], [values for _, _, values in chosen]
    # What only other events impose has no impulse here.
    names = dict.fromkeys(name for _, told, _ in chosen for name in told)
    impulses = {n: np.array([told.get(n, 0.0) for _, told, _ in chosen]) for n in names}
    before, after = (
        Expressions(at_instants(certificate, struck, held, impulses, after=late))
        for late in (False, True)
    )
    impacts = Impacts(certificate, struck, impulses, before, after)
    imposed = [
        (event.name, reset, goal)
        for event in posed_events(system)
        if (reset := event.then.reset) is not None
        for goal in _imposed(system, reset)
    ]
    once = {goal for _, _, goal in imposed if goal.reaction_label in impulses}
    contacts = [one for one in contacts_of(system) if one.reaction_label in impulses]
    slips = [slip for contact in contacts for slip in contact.sticking]
    try:
        found = [_momenta(impacts, once.difference(system.goals)), _kinetic(impacts)]
        found.append(_lost(impacts, [*contacts, *slips, *once]))
        for contact in contacts:
            certificate.scale("impacts pushes", impulses[contact.reaction_label])
        for contact in contacts:
            found += _contact(impacts, contact)
        if contacts:
            found += _rebounds(impacts, along, contacts)
        return [*found, *(_thrown(impacts, *one) for one in imposed)]
    except UnknownSymbolsError as error:
        return [unchecked(CHECK, "", str(error))]


def _imposed(system: Any, reset: Any) -> list[Goal]:
    named = {goal.name: goal for goal in system.goals}
    return [named[goal] if isinstance(goal, str) else goal for goal in reset.impose]


def _momenta(impacts: Impacts, imposed: set[Goal]) -> Finding:
    """Hold the jumps of momenta against the impulses."""
    along, system = impacts.before, impacts.certificate.system
    moving = moving_of(system)
    total = reactions_of(along, moving, impulses=True)
    for goal in imposed:
        row = np.repeat(impacts.impulses[goal.reaction_label][:, None], NODES, axis=1)
        along.know([goal.reaction], [row])
        total += gradient_of(along, goal, system.v.vector, moving) * goal.reaction
    pushes = along(ca.vertsplit(total))[..., 0]
    left, right = momenta_of(along)[..., 0], momenta_of(impacts.after)[..., 0]
    off, terms = np.abs(right - left - pushes), np.abs(right) + np.abs(left) + np.abs(pushes)
    impacts.certificate.scale("impacts momenta", terms)
    found = [
        impacts.judged("", miss, of, f"the momentum of {name} is not balanced", "momenta")
        for name, miss, of in zip(
            system.v.names, off, terms + 1e-2 * np.max(terms, axis=0), strict=True
        )
    ]
    return max(found, key=lambda finding: finding.defect or 0.0)


def _kinetic(impacts: Impacts) -> Finding:
    """Hold the kinetic energies that impacts report against the states there."""
    v = impacts.certificate.system.v.vector
    momentum = momentum_of(impacts.before)
    energy = ca.dot(v, momentum - ca.substitute(momentum, v, ca.SX.zeros(*v.shape))) / 2
    told = [one.impact for one in impacts.rounds if one.impact is not None]
    before, after = impacts.before([energy])[0, :, 0], impacts.after([energy])[0, :, 0]
    off = np.abs(before - [impact.kinetic_before for impact in told])
    off = np.maximum(off, np.abs(after - [impact.kinetic_after for impact in told]))
    said = "the kinetic energy is not what the record says"
    return impacts.judged("kinetic energy", off, np.maximum(before, after), said)


def _lost(impacts: Impacts, goals: Sequence[Goal]) -> Finding:
    """Check that impulses do no work, which is P (w- + w+) / 2, on what moves by itself."""
    if impacts.certificate.gains_allowed:
        return unchecked(CHECK, "energy", "the run was asked to report what impacts gain")
    gained = np.zeros(len(impacts.rounds))
    terms = gained.copy()
    for goal in goals:
        push, (before, after) = impacts.impulses[goal.reaction_label], impacts.rates(goal)
        gained += push * (before + after) / 2.0
        terms += np.abs(push) * (np.abs(before) + np.abs(after))
    return impacts.judged("energy", gained, terms, "energy is gained")


def _contact(impacts: Impacts, contact: Any) -> list[Finding]:
    """Check that a contact pushes, and that its friction stays in its cone."""
    name, push, rubs = contact.name, *impacts.pushes(contact)
    pulls = impacts.judged(f"{name} never pulls", -push, np.abs(push), "it pulls", "pushes")
    if not contact.sticking:
        return [pulls]
    limit = impacts.of(contact.static) * push
    what = "rubs with more than friction allows"
    subject = f"{name} never {what}"
    return [pulls, impacts.judged(subject, rubs - limit, rubs + limit, f"it {what}", "pushes")]


def _rebounds(impacts: Impacts, along: Expressions, contacts: Sequence[Any]) -> list[Finding]:
    """Hold the rates of gaps after impacts against Newton's law.

    A bounce that is left out may be slow beside the fastest that the gap changes in the whole run.

    All laws agree where one contact alone is struck, without friction. Where a gap that opens is
    closed again by others, there are several impacts at one instant, of which only the end is
    known.
    """
    pushes, rubs = np.array([impacts.pushes(one) for one in contacts]).swapaxes(0, 1)
    before, after = np.array([impacts.rates(one) for one in contacts]).swapaxes(0, 1)
    usual = impacts.certificate.scale("impacts rates", np.abs(before) + np.abs(after))
    taking = pushes > PUSHING * np.max(pushes, axis=0)
    once = ~np.any(taking & (before > LEFT_OUT * usual), axis=0)
    alone = (np.sum(taking, axis=0) == 1) & (np.max(rubs, axis=0) == 0.0)
    known = once & (alone | (impacts.certificate.law == "newton"))
    found: list[Finding] = []
    for contact, took, low, high in zip(contacts, taking, before, after, strict=True):
        subject = f"restitution of {contact.name}"
        wanted = -impacts.of(contact.restitution) * low
        rates = along.once(("rate", contact.name), lambda of=contact: [rate_of(along, of)])
        fastest = max(usual, float(np.nanmax(np.abs(rates), initial=0.0)))
        exact: np.ndarray = np.abs(high - wanted)
        nearest: np.ndarray = np.minimum(np.abs(high), exact)
        missed = np.where(wanted <= impacts.lowest * fastest, nearest, exact)
        off = np.where(took & known, missed, 0.0)
        terms, said = np.abs(low) + np.abs(high), "it rebounds otherwise"
        finding = impacts.judged(subject, off, terms, said, "rates")
        several, other = np.sum(took & ~once), np.sum(took & once & ~known)
        words = [f"{several} of its instants have more than one impact"] if several else []
        words += (
            [f"{other} of its instants follow the law {impacts.certificate.law!r}"] if other else []
        )
        why = ", ".join(words)
        if words and not np.any(took & known):
            found.append(unchecked(CHECK, subject, why))
        else:
            found.append(replace(finding, sentence=finding.sentence or why))
    return found


def _thrown(impacts: Impacts, event: str, reset: Any, goal: Goal) -> Finding:
    """Hold the rate of a constraint that a reset imposes against its restitution."""
    subject = f"{goal.name} after {event}"
    if reset.order == "sequential":
        return unchecked(CHECK, subject, "its constraints are imposed one after the other")
    before, after = impacts.rates(goal)
    fired = np.array([any(r.name == event for r in one.records) for one in impacts.rounds])
    off = np.where(fired, np.abs(after + impacts.of(reset.restitution) * before), 0.0)
    terms, said = np.abs(before) + np.abs(after), "it rebounds otherwise"
    return impacts.judged(subject, off, terms, said, "rates")
