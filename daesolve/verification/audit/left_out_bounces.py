"""What a run may leave out of impacts: bounces lower than what counts as a gap of zero.

A gap counts as zero below z, and a contact stays closed where it would leave it with a rate below

    w = sqrt(2 z a),    a = |dw/dv| |v'| + |w' for constant v|,

as after a fall through z. v' are the accelerations with all contacts loose, and all other
constraints kept. The impulses that stop such rates are not recorded. They are up to P = |A_ss|^-1 w
at the contacts s that stay closed, A being the response of all rates to impulses there, and those
of friction up to mu P.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.goals import Goal
from daesolve.verification.audit.balances import rate_of, rates_of, unguided
from daesolve.verification.audit.expressions import (
    Expressions,
    contacts_of,
    ideal_goals,
    momentum_of,
)

CLOSED = 1e-12
"""Gaps up to this size, or this part of the largest gap, count as closed."""
BACK = 2.0
"""How many times what a gap is off where it is met counts as closed as well."""
ROUNDING = 48.0 * float(np.finfo(float).eps)
"""The part of its terms by which a gap is rounded, or of what it would change in all time: runs
count 16 roundings of terms that they know up to a factor of three."""
SINGULAR = 1e-9
"""Contacts repeat each other where their responses are smaller than this part of the largest."""


@dataclass(frozen=True, eq=False)
class LeftOutBounces:
    """What may be left out of n impacts.

    Parameters
    ----------
    lowest
        (n,) by contact, the rates of gaps below which they stay.
    impulses
        (n,) by contact, what stops such rates.
    rates
        (n,) by goal, what impulses that stop such rates change of its rate.
    momenta
        (nv, n) and of the momenta.
    energy
        (n,) and of the kinetic energy.
    """

    lowest: Mapping[Goal, np.ndarray]
    impulses: Mapping[Goal, np.ndarray]
    rates: Mapping[Goal, np.ndarray]
    momenta: np.ndarray
    energy: np.ndarray


def closed_below(along: Expressions, contact: Any) -> float:
    """Return what of the gap of a contact counts as closed in a run."""
    gaps = along.measured(("goal", contact.name), contact.residual)[0]
    return CLOSED * max(1.0, along.certificate.scale(f"the largest gap of {contact.name}", gaps))


def left_out_of(
    along: Expressions,
    before: Expressions,
    after: Expressions,
    contacts: Sequence[Any],
    others: Sequence[Goal],
) -> LeftOutBounces:
    """Return what may be left out of impacts.

    Parameters
    ----------
    along, before, after
        The run, and the instants before and after the impacts.
    contacts, others
        All contacts, and further goals.
    """
    slips = [slip for contact in contacts for slip in contact.sticking]
    goals, count = [*dict.fromkeys([*contacts, *others, *slips])], len(contacts)
    free, thrown, pushed_on, slopes, changes = _responses(before, goals)
    pulls = (np.abs(slopes[:, :count]) @ np.abs(free)[..., None])[..., 0]
    pulls += np.abs(changes[:, :count])
    shape = count, len(pulls)
    lowest, impulses, stays = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
    for place, contact in enumerate(contacts):
        gaps, zeros = _gaps(along, before, contact)
        lowest[place] = np.sqrt(2.0 * np.maximum(zeros, BACK * gaps) * pulls[:, place])
        push = before.certificate.columns.get(contact.reaction_label, np.zeros((shape[1], 1)))
        stays[place] = ((gaps <= zeros) | (push[:, 0] != 0.0)) & (
            np.abs(rates_of(after, contact)[:, 0]) <= lowest[place]
        )
    responses = slopes @ thrown[..., :count]
    for k in np.flatnonzero(stays.any(axis=0)).tolist():
        own = np.flatnonzero(stays[:, k])
        response: np.ndarray = responses[k][np.ix_(own, own)]
        impulses[own, k] = np.abs(np.linalg.pinv(response, SINGULAR)) @ lowest[own, k]
    pushed = impulses.T[..., None]
    rates = (np.abs(responses) @ pushed)[..., 0].T
    momenta = (np.abs(pushed_on[..., :count]) @ pushed)[..., 0].T
    for contact in contacts:
        for slip in contact.sticking:
            across = np.abs(pushed_on[..., goals.index(slip)])
            rubbed = _friction(before, contact) * impulses[contacts.index(contact)]
            momenta += (across * rubbed[:, None]).T
    return LeftOutBounces(
        dict(zip(contacts, lowest, strict=True)),
        dict(zip(contacts, impulses, strict=True)),
        dict(zip(goals, rates, strict=True)),
        momenta,
        np.sum(impulses * lowest, axis=0),
    )


def _friction(before: Expressions, contact: Any) -> np.ndarray:
    """Return the largest coefficient of friction of a contact before impacts, (n,)."""
    values = before.measured(("static friction", contact.name), ca.SX(contact.static))
    return np.abs(values[0][:, 0])


def _gaps(along: Expressions, before: Expressions, contact: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of a gap at instants, and what of them counts as zero, (n,) each."""
    gaps, sizes, rates, *_ = before.terms_of(("goal", contact.name), contact.residual)[..., 0]
    rounding = ROUNDING * (sizes + rates * np.abs(before.certificate.starts))
    return np.abs(gaps), np.maximum(closed_below(along, contact), rounding)


def _responses(
    before: Expressions, goals: Sequence[Goal]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return free accelerations, those by pushes along goals, slopes, and changes.

    The accelerations are (n, nv) and (n, nv, goals). What the pushes change of the momenta, with
    what other constraints add to them, is (n, nv, goals) as well. The slopes of the rates of goals
    by velocities are (n, goals, nv), what these rates change where velocities stay (n, goals). All
    reactions and friction are zero.
    """
    system = before.system
    contacts = contacts_of(system)
    loose = {goal for one in contacts for goal in (one, *one.sticking)}
    kept = [goal for goal in ideal_goals(system) if goal not in loose]
    size, v = system.v.vector.numel(), system.v.vector

    def write() -> list[ca.SX]:
        momentum = momentum_of(before)
        none = ca.vertcat(ca.SX(0, 1), *before.reactions)
        load = ca.substitute(unguided(before), none, ca.SX.zeros(*none.shape))
        rates = ca.vertcat(*[rate_of(before, goal) for goal in [*goals, *kept]])
        parts = [ca.jacobian(momentum, v), load - before.rate(momentum)]
        parts += [ca.jacobian(rates, v).T, before.rate(rates)]
        return ca.vertsplit(ca.vertcat(*[ca.vec(ca.densify(part)) for part in parts]))

    key = "left out", " ".join(str(id(goal)) for goal in goals)
    rows, total = before.once(key, write)[..., 0].T, len(goals) + len(kept)
    ends = np.cumsum([size * size, size, size * total])
    inertia, load, slopes, changes = np.split(rows, ends, axis=1)
    inertia = inertia.reshape(-1, size, size).swapaxes(1, 2)
    slopes = slopes.reshape(-1, total, size)
    count = len(goals)
    free, thrown = np.zeros((len(rows), size)), np.zeros((len(rows), size, count))
    values = before.certificate.values
    for k in range(len(rows)):
        holds = [not goal.held_by or values[goal.held_by][k] > 0.5 for goal in kept]
        own = np.flatnonzero([False] * len(goals) + holds)
        held = slopes[k, own]
        matrix = np.block([[inertia[k], -held.T], [held, np.zeros((len(own), len(own)))]])
        pushes = np.vstack([slopes[k, :count].T, np.zeros((len(own), count))])
        loads = np.append(load[k], -changes[k, own])
        found = np.linalg.lstsq(matrix, np.column_stack([loads, pushes]))[0][:size]
        free[k], thrown[k] = found[:, 0], found[:, 1:]
    return free, thrown, inertia @ thrown, slopes[:, :count], changes[:, :count]
