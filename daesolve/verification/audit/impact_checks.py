"""Whether impacts obey their law: momenta, restitution, friction and energy.

The rates w of gaps, of slips and of imposed constraints before (-) and after (+) an impact follow
from the states that its event records, the impulses P from its record:

    jump of dT/dv = J^T P,    0 <= P,    |P_T| <= mu P,    w+ = -e w- where P > 0    (Newton).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.goals import Goal
from daesolve.core.results.trajectory.findings import Finding, unchecked
from daesolve.verification.audit.balances import (
    gradient_of,
    momenta_of,
    momentum_of,
    rates_of,
    reactions_of,
)
from daesolve.verification.audit.expressions import Expressions, contacts_of
from daesolve.verification.audit.goal_checks import RUBS
from daesolve.verification.audit.guard_passages import posed_events
from daesolve.verification.audit.judgement import attempt, judge
from daesolve.verification.audit.left_out_bounces import LeftOutBounces, left_out_of
from daesolve.verification.audit.rounds import Round, at_instants

CHECK = "impulses"
BALANCED = 1e-7
"""The part of its terms, and of a thousandth of the usual ones, by which a law may be missed."""
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
    left_out
        What may be left out of them.
    """

    rounds: Sequence[Round]
    impulses: Mapping[str, np.ndarray]
    before: Expressions
    after: Expressions
    left_out: LeftOutBounces

    def of(self, expression: Any) -> np.ndarray:
        """Return an expression before them, (n,)."""
        return self.before([self.before.written(ca.SX(expression))])[0, :, 0]

    def rates(self, goal: Goal) -> tuple[np.ndarray, np.ndarray]:
        """Return the rate of a goal before and after them, (n,) each."""
        return rates_of(self.before, goal)[:, 0], rates_of(self.after, goal)[:, 0]

    def pushes(self, contact: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the impulse along the gap of a contact and the size of that of friction, (n,)."""
        push = self.impulses[contact.reaction_label]
        along = [self.impulses[slip.reaction_label] for slip in contact.sticking]
        return push, np.linalg.norm([0.0 * push, *along], axis=0)

    def judged(
        self, subject: str, off: np.ndarray, terms: np.ndarray, *what: str, among: str = ""
    ) -> Finding:
        """Judge by how much, (n,) or by name (k, n), something is off that is made of such terms.

        What is usual may be known among the terms of others as well.
        """
        certificate = self.before.certificate
        usual = certificate.scale(f"impacts {among or subject}", terms)
        off = np.maximum(off, 0.0)
        return judge(
            *(CHECK, subject, off / (terms + 1e-3 * usual + 1e-300), BALANCED, certificate.starts),
            lambda place, worst, when: (
                f"{what[place[0] if off.ndim > 1 else 0]} in the impact at {when}, by {worst:.1g} "
                "of its terms"
            ),
        )


def check_impacts(along: Expressions, rounds: Sequence[Round]) -> list[Finding]:
    """Hold impacts against the balance of momenta, and against their laws."""
    certificate, system = along.certificate, along.system
    posed = [(event, event.then.reset) for event in posed_events(system) if event.then.reset]
    assigning = {event.name for event, reset in posed if reset.changes}
    every = [one for one in rounds if one.impact and one.impact.impulses]
    struck = [
        one
        for one in every
        if one.held is not None and assigning.isdisjoint(record.name for record in one.records)
    ]
    findings: list[Finding] = []
    if len(struck) < len(every):
        said = f"{len(every) - len(struck)} come with a reset of states or a step of an input"
        findings.append(unchecked(CHECK, "some", said))
    if struck and len(system.pairs):
        return [*findings, unchecked(CHECK, "", "guides take a part of them that no run tells")]
    if not struck:
        return findings
    told = [one.impact.impulses for one in struck if one.impact]
    # What only other events impose has no impulse here.
    names = dict.fromkeys(name for impulses in told for name in impulses)
    impulses = {name: np.array([one.get(name, 0.0) for one in told]) for name in names}
    before, after = (
        Expressions(at_instants(certificate, struck, impulses, after=late))
        for late in (False, True)
    )
    named = {goal.name: goal for goal in system.goals}
    imposed = [
        (event.name, reset, named[goal] if isinstance(goal, str) else goal)
        for event, reset in posed
        for goal in reset.impose
    ]
    once = {goal for *_, goal in imposed if goal.reaction_label in impulses}
    contacts = [one for one in contacts_of(system) if one.reaction_label in impulses]
    slips = [slip for contact in contacts for slip in contact.sticking]
    for contact in contacts:
        certificate.scale("impacts pushes", impulses[contact.reaction_label])

    def find() -> Iterator[Finding]:
        every = contacts_of(system)
        goals = dict.fromkeys([*every, *slips, *once, *(goal for *_, goal in imposed)])
        others = [*goals][len(every) :]
        left_out = left_out_of(along, before, after, every, others)
        impacts = Impacts(struck, impulses, before, after, left_out)
        yield from (_momenta(impacts, once.difference(system.goals)), _kinetic(impacts))
        yield _lost(impacts, [*contacts, *slips, *once])
        for contact in contacts:
            yield from _contact(impacts, contact)
        own = [one for one in system.goals if isinstance(one, Goal) and not one.bears_impulses]
        for goal in own:
            if goal.reaction_label in impulses and goal not in [one for *_, one in imposed]:
                yield _none(impacts, goal)
        # Beside the rates of what was imposed, those of contacts may be nothing but rounding.
        yield from [_thrown(impacts, *one) for one in imposed]
        if contacts:
            yield from _rebounds(impacts, contacts)

    return [*findings, *attempt(CHECK, "", find)]


def _momenta(impacts: Impacts, imposed: set[Goal]) -> Finding:
    """Hold the jumps of momenta against the impulses."""
    along = impacts.before
    total = reactions_of(along, impulses=True)
    for goal in imposed:
        along.know([goal.reaction], [impacts.impulses[goal.reaction_label][:, None]])
        total += gradient_of(along, goal) * goal.reaction
    pushes = along(ca.vertsplit(total))[..., 0]
    left, right = momenta_of(along)[..., 0], momenta_of(impacts.after)[..., 0]
    off, terms = np.abs(right - left - pushes), np.abs(right) + np.abs(left) + np.abs(pushes)
    off = off - impacts.left_out.momenta
    terms += 1e-2 * np.max(terms, axis=0)
    said = [f"the momentum of {name} is not balanced" for name in along.system.v.names]
    return impacts.judged("momenta", off, terms, *said)


def _kinetic(impacts: Impacts) -> Finding:
    """Hold the kinetic energies that impacts report against the states there."""
    v = impacts.before.system.v.vector
    momentum = momentum_of(impacts.before)
    energy = ca.dot(v, momentum - ca.substitute(momentum, v, ca.SX.zeros(*v.shape))) / 2
    sides = impacts.before([energy])[0, :, 0], impacts.after([energy])[0, :, 0]
    told = [(i.kinetic_before, i.kinetic_after) for r in impacts.rounds if (i := r.impact)]
    off = np.max(np.abs(np.array(sides) - np.transpose(told)), axis=0) - impacts.left_out.energy
    said = "the kinetic energy is not what the record says"
    return impacts.judged("kinetic energy", off, np.max(sides, axis=0), said)


def _lost(impacts: Impacts, goals: Sequence[Goal]) -> Finding:
    """Check that impulses do no work, which is P (w- + w+) / 2, on what moves by itself."""
    if impacts.before.certificate.gains_allowed:
        return unchecked(CHECK, "energy", "the run was asked to report what impacts gain")
    gained = terms = np.zeros(len(impacts.rounds))
    for goal in goals:
        push, (before, after) = impacts.impulses[goal.reaction_label], impacts.rates(goal)
        gained = gained + push * (before + after) / 2.0
        gained = gained - np.abs(push) * impacts.left_out.rates[goal] / 2.0
        terms = terms + np.abs(push) * (np.abs(before) + np.abs(after))
    return impacts.judged("energy", gained, terms, "energy is gained")


def _contact(impacts: Impacts, contact: Any) -> Iterator[Finding]:
    """Check that a contact pushes, and that its friction stays in its cone."""
    name, push, rubs = contact.name, *impacts.pushes(contact)
    pull = -push - impacts.left_out.impulses[contact]
    yield impacts.judged(f"{name} never pulls", pull, np.abs(push), "it pulls", among="pushes")
    if contact.sticking:
        limit = impacts.of(contact.static) * push
        subject = f"{name} never {RUBS}"
        yield impacts.judged(subject, rubs - limit, rubs + limit, f"it {RUBS}", among="pushes")


def _rebounds(impacts: Impacts, contacts: Sequence[Any]) -> Iterator[Finding]:
    """Hold the rates of gaps after impacts against Newton's law.

    All laws agree where one contact alone is struck, without friction. Where a gap that opens is
    closed again by others, there are several impacts at one instant, of which only the end is
    known.
    """
    certificate = impacts.before.certificate
    pushes, rubs = np.array([impacts.pushes(one) for one in contacts]).swapaxes(0, 1)
    before, after = np.array([impacts.rates(one) for one in contacts]).swapaxes(0, 1)
    certificate.scale("impacts rates", np.abs(before) + np.abs(after))
    lowest = np.array([impacts.left_out.lowest[one] for one in contacts])
    taking = pushes > PUSHING * np.max(pushes, axis=0)
    once = ~np.any(taking & (before > lowest), axis=0)
    alone = (np.sum(taking, axis=0) == 1) & (np.max(rubs, axis=0) == 0.0)
    known = once & (alone | (certificate.law == "newton"))
    rows = zip(contacts, taking, before, after, lowest, strict=True)
    for contact, took, low, high, least in rows:
        subject = f"restitution of {contact.name}"
        wanted = -impacts.of(contact.restitution) * low
        off: np.ndarray = np.abs(high - wanted)
        off = np.where(wanted <= least, np.minimum(np.abs(high), off), off)
        off = off - impacts.left_out.rates[contact]
        off, terms = np.where(took & known, off, 0.0), np.abs(low) + np.abs(high)
        finding = impacts.judged(subject, off, terms, "it rebounds otherwise", among="rates")
        several, other = np.sum(took & ~once), np.sum(took & once & ~known)
        words = [f"{several} of its instants have more than one impact"] if several else []
        words += [f"{other} of its instants follow the law {certificate.law!r}"] if other else []
        if words and not np.any(took & known):
            yield unchecked(CHECK, subject, ", ".join(words))
        else:
            yield replace(finding, sentence=finding.sentence or ", ".join(words))


def _none(impacts: Impacts, goal: Goal) -> Finding:
    """Check that dry friction whose load is finite has no impulse."""
    size = np.max(np.abs(list(impacts.impulses.values())), axis=0)
    off = np.abs(impacts.impulses[goal.reaction_label])
    return impacts.judged(f"{goal.name} bears none", off, size, "a finite force has an impulse")


def _thrown(impacts: Impacts, event: str, reset: Any, goal: Goal) -> Finding:
    """Hold the rate of a constraint that a reset imposes against its restitution."""
    subject = f"{goal.name} after {event}"
    if reset.order == "sequential":
        return unchecked(CHECK, subject, "its constraints are imposed one after the other")
    before, after = impacts.rates(goal)
    fired = np.array([any(r.name == event for r in one.records) for one in impacts.rounds])
    off = np.abs(after + impacts.of(reset.restitution) * before) - impacts.left_out.rates[goal]
    off = np.where(fired, off, 0.0)
    terms = np.abs(before) + np.abs(after)
    return impacts.judged(subject, off, terms, "it rebounds otherwise", among="rates")
