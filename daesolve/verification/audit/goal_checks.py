"""Whether goals hold at every node, and contacts push and do not overlap."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from daesolve.contact.posing.brakes import brakes_of
from daesolve.core.posing.goals import AnyGoal, Goal, Holonomic, Invariant, Nonholonomic, Relation
from daesolve.core.results.trajectory.findings import Finding, unchecked
from daesolve.verification.audit.balances import (
    ENERGY,
    friction_of,
    momenta_of,
    without_unit,
)
from daesolve.verification.audit.expressions import (
    BESIDE,
    ROUNDING,
    Expressions,
    UncheckableError,
    applied_force,
    contacts_of,
)
from daesolve.verification.audit.judgement import attempt, judge
from daesolve.verification.audit.left_out_bounces import closed_below

DRIVEN = 1e-8
"""The part of its terms that the residual of a goal may be whose errors are fed back."""
MEASURED = 1e-3
"""The same of a goal that is only measured: a run that leaves it this far is another motion."""
FAINT = 1e-6
"""The part of the usual force beside which the largest push of a contact is rounding itself."""
REPORTED = 1e-9
"""The part of its largest value that an output may be away from its expression."""
NOTHING = 1e-15
"""A slip, m/s, that is none whatever moves: where all rests, nothing else tells its size."""
RUBS = "rubs with more than friction allows"
TOUCHING = 1e-8
"""The part of its terms, or of the largest force, that counts as zero at a contact."""


def check_goals(along: Expressions) -> list[Finding]:
    """Hold the residual of each goal against the size of its own terms at each node."""
    findings: list[Finding] = []
    faint = _faintest_push(along) if contacts_of(along.system) else 0.0
    for goal in along.system.goals:
        if hasattr(goal, "sticking"):
            findings += attempt("contact", goal.name, partial(_contact, goal, along, faint))
        else:
            findings += attempt("goal", goal.name, partial(_goal, goal, along))
    for brake in brakes_of(along.system):
        load = _limit(brake, along)
        largest = along.certificate.scale(f"the friction of {brake.name}", load) + 1e-300
        findings += attempt("contact", brake.name, partial(_rubs, brake, along, largest))
    return findings


def check_outputs(along: Expressions) -> list[Finding]:
    """Hold outputs, and the energy, against their expressions at each node."""
    system, columns = along.system, along.certificate.columns
    posed = {name: without_unit(entry) for name, entry in system.outputs.items()}
    if getattr(system, "kinetic", None) is not None and ENERGY not in posed:
        posed[ENERGY] = ca.SX(system.kinetic) + system.potential
    findings: list[Finding] = []
    for name in [name for name in posed if name in columns]:
        findings += attempt("output", name, partial(_output, name, posed[name], along))
    return findings


def _output(name: str, posed: ca.SX, along: Expressions) -> Iterator[Finding]:
    column = along.certificate.columns[name]
    off = np.nan_to_num(np.abs(column - along.once(("output", name), lambda: [posed])[0]))
    off /= along.certificate.scale(f"output {name}", column) + 1e-300
    yield judge(
        *("output", name, off, REPORTED, along.certificate.times),
        lambda _, worst, when: f"it is {worst:.1g} of its largest value off at {when}",
    )


def _goal(goal: AnyGoal, along: Expressions) -> Iterator[Finding]:
    certificate = along.certificate
    own = isinstance(goal, Goal)
    if isinstance(goal, Invariant):
        yield unchecked("goal", goal.name, "the run itself measures the drift of invariants")
        return
    constraint = own and (isinstance(goal, Holonomic | Nonholonomic) or goal.at_start)
    if own and not constraint and not hasattr(certificate.system, "coordinates"):
        yield unchecked("goal", goal.name, "a control system approaches it from its start")
        return
    rate = certificate.driven.get(goal.name, 0.0)
    lag = 1.0 / rate if rate else 0.0
    values, sizes, beside = along.measured(("goal", goal.name), goal.residual, lag)
    if own and goal.from_start:
        first = float(values.ravel()[0])
        values = values - certificate.scales.setdefault(f"the start of {goal.name}", first)
    if isinstance(goal, Nonholonomic) and certificate.mobility:
        (push,) = along.once(("push", goal.name), lambda: [goal.reaction])
        values = values + certificate.mobility * push
        sizes = sizes + certificate.mobility * np.abs(push)
    if isinstance(goal, Nonholonomic) or (own and goal.held_by):
        beside = beside + NOTHING
    if own and goal.held_by:
        if goal.held_by not in certificate.values:
            raise UncheckableError(f"the run does not tell {goal.held_by!r}")
        values = np.where(certificate.values[goal.held_by][:, None] > 0.5, values, 0.0)
    if not np.isfinite(values).any():
        raise UncheckableError("the run has no reactions here")
    off = np.nan_to_num(np.abs(values), posinf=0.0)
    terms = np.nan_to_num(sizes) + beside + 1e-300
    driven = goal.name in certificate.driven or isinstance(goal, Relation)
    yield judge(
        *("goal", goal.name, off / (terms + beside / DRIVEN), DRIVEN if driven else MEASURED),
        certificate.times,
        lambda place, _, when: (
            f"its residual is {off[place]:.2g}, {off[place] / terms[place]:.1g} of its terms, "
            f"at {when}"
        ),
    )


def _contact(goal: Any, along: Expressions, faint: float) -> Iterator[Finding]:
    """Check gap >= 0, N >= 0, N gap = 0, and Coulomb's law; a push that is fainter is rounding."""
    certificate, judged_by = along.certificate, partial(_judged, goal, along)
    values, sizes, beside = along.measured(("goal", goal.name), goal.residual)
    size = sizes + TOUCHING * certificate.scale(f"the gap of {goal.name}", sizes) + 1e-300
    closed = closed_below(along, goal)
    off = np.sign(values) * np.maximum(np.abs(values) - closed, 0.0)
    apart = off / (size + beside / TOUCHING)
    yield judged_by("overlaps", -apart)
    push = np.nan_to_num(along.once(("push", goal.name), lambda: [goal.reaction])[0])
    largest = max(certificate.scale(f"the push of {goal.name}", push), faint) + 1e-300
    yield judged_by("pulls", -push / largest)
    lifted = np.minimum(np.abs(push) / largest, np.abs(apart))
    yield judged_by("pushes while it is open", lifted)
    if goal.sticking:
        yield from _rubs(goal, along, largest)


def _judged(goal: Any, along: Expressions, what: str, by: np.ndarray) -> Finding:
    return judge(
        *("contact", f"{goal.name} never {what}", by, TOUCHING, along.certificate.times),
        lambda _, worst, when: f"it {what}, by {worst:.1g} of what is usual, at {when}",
    )


def _rubs(goal: Any, along: Expressions, largest: float) -> Iterator[Finding]:
    """Check Coulomb's law of a contact, or of a brake, beside the largest of its loads."""
    judged_by = partial(_judged, goal, along)
    power, excess = _friction(goal, along)
    yield judged_by("is driven by its friction", power / largest)
    if along.certificate.ambiguous:
        said = "rigid bodies do not tell what presses a contact that is kept sticking"
        yield unchecked("contact", f"{goal.name} never {RUBS}", said)
    else:
        yield judged_by(RUBS, excess / largest)


def _friction(goal: Any, along: Expressions) -> tuple[np.ndarray, np.ndarray]:
    """Return the power of friction, for the fastest slip, and its excess over its limit, N."""
    certificate, pairs = along.certificate, friction_of(along.system, goal)
    seen = [along.measured(("goal", slip.name), slip.residual) for slip, _ in pairs]
    slips, beside = (np.array([of[k] for of in seen]) for k in (0, 2))
    forces = np.nan_to_num(along.once(("friction", goal.name), lambda: [f for _, f in pairs]))
    limit = _limit(goal, along)
    # Contacts that hold one slip lend each other friction: only their sum is determined.
    for other in [*contacts_of(certificate.system), *brakes_of(certificate.system)]:
        shares = certificate.values.get(f"stuck_{goal.name}_{other.name}")
        if shares is not None:
            limit = limit + shares[:, None] * _limit(other, along)
    # A contact that never slides, at the limit of its friction, has nothing but the rounding of
    # what its loads would do to it.
    loaded = ROUNDING * along.pull * certificate.lasts
    rounding = max(float(np.max(beside, initial=0.0)), loaded) / TOUCHING
    fastest = certificate.scale(f"the slip of {goal.name}", np.linalg.norm(slips, axis=0))
    power = np.sum(forces * slips, axis=0) / (max(fastest, rounding) + 1e-300)
    return power, np.linalg.norm(forces, axis=0) - limit


def _limit(contact: Any, along: Expressions) -> np.ndarray:
    """Return the largest friction of a contact, N."""
    loads = along.once(("limit", contact.name), lambda: [contact.most])
    return np.nan_to_num(loads)[0]


def _faintest_push(along: Expressions) -> float:
    """Return the largest push, N, beside which others are rounding; zero if that is unknown.

    That is a part of the largest force that acts, or that would stop the system in the time shown;
    and what in a step gives the rounding of the largest momentum, by which feedback moves reactions
    where no force acts; and what forces change within the rounding of an instant.
    """
    certificate = along.certificate

    def changing() -> list[ca.SX]:
        potential = along.written(ca.SX(along.system.potential))
        acting = ca.vertcat(applied_force(along), along.gradient(potential))
        return ca.vertsplit(along.rate(acting))

    try:
        forces, momenta = along.forces, momenta_of(along)
        changes = along.once(("rates of forces", ""), changing)
    except UncheckableError:
        return 0.0
    force, momentum = (float(np.nanmax(np.abs(rows), initial=0.0)) for rows in (forces, momenta))
    lasts, accuracy = certificate.lasts, max(ROUNDING, BESIDE * certificate.accuracy)
    step = lasts / max(len(certificate.lengths), 1)
    late = ROUNDING * float(np.nanmax(np.abs(changes * certificate.times), initial=0.0))
    least = max(accuracy * momentum / step, late) / TOUCHING
    return max(FAINT * force, FAINT * momentum / lasts, least)
