"""Whether a motion obeys the posed equations: balances over each step, by quadrature.

Over each step a balance d(momentum) = load dt is integrated from its first node to every other one,
so that nothing is differentiated. Lagrange's equations balance dT/dv; Newton-Euler's balance v;
those in quasi-velocities balance dT/dv by Hamel's equations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import casadi as ca
import numpy as np

from daesolve.contact.posing.guided_brakes import guided_laws
from daesolve.contact.posing.guides import FRICTION_WORK
from daesolve.core.posing.goals import Goal, Nonholonomic
from daesolve.core.results.trajectory.findings import Finding, unchecked
from daesolve.verification.audit.certificate import Certificate
from daesolve.verification.audit.expressions import (
    Expressions,
    applied_force,
    by_name,
    by_velocity,
    ideal_goals,
    momentum_of,
    moving_of,
)
from daesolve.verification.audit.guide_forces import check_guides, guiding, held_by_friction
from daesolve.verification.audit.judgement import attempt, judge
from daesolve.verification.audit.structure import size_of

ALLOWED = 1e-7
"""The relative defect of a balance over one step that a precise method may leave: most leave 1e-12,
and long steps near a singular position 1e-8."""
SHARP = 1e-7
"""The part of its terms that the polynomials of a step may miss for its balance to say much."""
ENERGY = "energy"
"""The output that is T + V, unless another one was posed."""
WORK = "work"
"""The output that is the work on a system whose energy is not conserved."""
ROUNDING = 1e-14
"""The part of the largest momentum, or of what the largest load gives in a step, whichever velocity
it has, that counts as rounding."""


@dataclass(frozen=True)
class Balance:
    """d(quantities)/dt = load, by name, with the sizes of what load is made of; each (k, n, NODES).

    `beside` has values whose rounding is in the quantities as well.
    """

    names: Sequence[str]
    quantities: Sequence[np.ndarray] | np.ndarray
    load: np.ndarray
    sizes: np.ndarray
    beside: np.ndarray | float = 0.0


def check_equations(along: Expressions) -> list[Finding]:
    """Hold rates of positions, velocities, quadratures and meters against what was posed."""
    checks = {"rates of positions": _kinematics}
    if hasattr(along.system, "coordinates"):
        checks |= {"equations of motion": momenta_balance, "balance of power": _power}
    checks |= {"rates of quadratures": _quadratures, "meters": _meters}
    findings: list[Finding] = []
    for check, balance in checks.items():
        findings += attempt(check, "", partial(_judged, check, along, balance))
    if getattr(along.system, "pairs", ()):
        findings += attempt("guides", "", partial(_guides, along))
    return findings


def _guides(along: Expressions) -> Iterator[Finding]:
    load = along.once(("unguided", ""), lambda: ca.vertsplit(unguided(along)))
    borne = [
        [along(ca.vertsplit(gradient_of(along, goal) * size)) for size in (goal.reaction, limit)]
        for goal in guided_laws(along.system)
        for limit in (along.written(ca.SX(goal.bears)),)
    ]
    return check_guides(along, momenta_of(along), load, borne)


def _judged(
    check: str, along: Expressions, balancing: Callable[[Expressions], Balance]
) -> Iterator[Finding]:
    certificate, balance = along.certificate, balancing(along)
    lengths, allowed = np.abs(certificate.lengths), certificate.allows(ALLOWED)
    most = np.nan_to_num(np.max(np.abs(balance.sizes), axis=-1))
    # Reactions follow from all loads together: the largest one rounds each of them.
    largest = certificate.scale(check, np.append(balance.quantities, balance.beside))
    largest = np.maximum(largest, lengths * np.max(most, axis=0, initial=0.0))
    # The times of nodes are rounded, which is much of a short step at a late time.
    clock = 4.0 * np.spacing(np.abs(certificate.starts) + lengths)
    # Both ends of a difference may be off by what a step may.
    least = max(ROUNDING, 2.0 * certificate.accuracy) * largest
    least = (least + clock * most) / allowed + 1e-300
    rows = balance.quantities, balance.load, least + lengths * most
    for name, quantities, load, size in zip(balance.names, *rows, strict=True):
        known = np.isfinite(quantities + load).all(axis=1)
        size += np.max(np.abs(quantities), axis=1)
        off = np.max(np.abs(quantities - quantities[:, :1] - certificate.integrated(load)), axis=1)
        missed = certificate.unresolved(quantities) + lengths * certificate.unresolved(load)
        relative, blurred = (np.where(known, part / size, 0.0) for part in (off, missed))
        sharp = known & (blurred <= max(SHARP, allowed))
        over = relative - blurred > allowed
        if not (over | sharp).any():
            said = "its steps are too long for the nodes of an audit"
            yield unchecked(check, name, said if known.any() else "the run has no reactions here")
            continue
        finding = judge(
            *(check, name, np.where(over if over.any() else sharp, relative, 0.0)),
            *(allowed if over.any() else np.inf, certificate.starts),
            lambda place, worst, when, name=name, off=off: (
                f"the balance of {name} is off by {off[place]:.2g}, {worst:.1g} of its terms, in "
                f"the step from {when}"
            ),
        )
        parts = {"are too long for its nodes": known & ~sharp, "do not tell all forces": ~known}
        words = [
            f"{np.sum(of)} of {len(sharp)} steps {what}" for what, of in parts.items() if of.any()
        ]
        rest = ", ".join(words)
        yield replace(finding, sentence=finding.sentence or rest)


def _terms(
    along: Expressions, what: str, write: Callable[[], Sequence[ca.SX]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return k loads and the sizes of their terms, (k, n, NODES) each."""

    def both() -> list[ca.SX]:
        loads = [along.written(load) for load in write()]
        return [*loads, *map(size_of, loads)]

    found = along.once((what, "terms"), both)
    return found[: len(found) // 2], found[len(found) // 2 :]


def _kinematics(along: Expressions) -> Balance:
    system, mechanical = along.system, hasattr(along.system, "coordinates")
    names: Sequence[str] = (system.coordinates if mechanical else system.states).names
    rates = system.coordinates.dot.vector if mechanical else system.rate
    quantities = [along.certificate.columns[name] for name in names]
    terms = _terms(along, "rates", lambda: by_name(rates, names))
    return Balance(names, quantities, *terms, along.extents[0][0] if mechanical else 0.0)


def _quadratures(along: Expressions) -> Balance:
    names = along.system.quadratures.names if hasattr(along.system, "quadratures") else ()
    quantities = [along.certificate.columns[name] for name in names]
    write = partial(by_name, along.system.integrands if names else {}, names)
    return Balance(names, quantities, *_terms(along, "integrands", write))


def _meters(along: Expressions) -> Balance:
    columns, posed = along.certificate.columns, getattr(along.system, "meters", {})
    names = names_of_meters(along.certificate)
    own = [name for name in names if name in posed or name != WORK]

    def write() -> list[ca.SX]:
        powers = {name: without_unit(posed[name]) for name in own if name in posed}
        if FRICTION_WORK in own and FRICTION_WORK not in powers:
            powers[FRICTION_WORK] = ca.dot(guiding(along)[1], along.system.v.vector)
        return [powers[name] for name in own]

    load, sizes = _terms(along, f"meters {own}", write)
    if own != names:
        _, power, size, _ = _energy(along)
        names, load, sizes = [*own, WORK], np.append(load, [power], 0), np.append(sizes, [size], 0)
    quantities, energy = [columns[name] for name in names], columns.get(ENERGY, 0.0)
    beside = np.append(energy, _largest_momentum_and_energy(along)[1])
    return Balance(names, quantities, _unheld(along, load), sizes, beside)


def _power(along: Expressions) -> Balance:
    """Return the balance of the energy, also of one that depends on time."""
    energy, power, size, most = _energy(along)[:, None]
    # What the energy is made of may be larger than itself.
    size = size + most / np.abs(along.certificate.lengths)[:, None]
    beside = np.append(most, _largest_momentum_and_energy(along)[1])
    return Balance((ENERGY,), energy, _unheld(along, power), size, beside)


def _unheld(along: Expressions, loads: np.ndarray) -> np.ndarray:
    """Return loads, or powers, where no friction holds that is unknown."""
    return np.where(held_by_friction(along), np.nan, loads)


def _energy(along: Expressions) -> np.ndarray:
    """Return v . dL/dv - L, its rate, and the sizes of the terms of the rate and of itself.

    The rate is the power of forces and reactions, and of what time moves; the weight takes no part,
    but a run adds it to that of the inertia, which leaves rounding.
    """

    def write() -> tuple[ca.SX, ...]:
        system, momentum = along.system, momentum_of(along)
        v: ca.SX = system.v.vector
        potential, newton = along.written(ca.SX(system.potential)), system.mass_matrix is not None
        half = ca.dot(v, momentum) / 2
        kinetic = half if newton else along.written(ca.SX(system.kinetic))
        force = applied_force(along) + reactions_of(along) + sum(guiding(along))
        moved = potential + kinetic if newton else potential - kinetic
        power = ca.dot(force, v) + along.slopes(moved)[-1]
        weight = moving_of(system).T @ along.gradient(potential)
        size = size_of(power) + ca.dot(ca.fabs(weight), ca.fabs(v))
        energy = 2 * half - kinetic + potential
        return energy, power, size, size_of(energy)

    return along.once(("energy", ""), write)


def names_of_meters(certificate: Certificate) -> list[str]:
    """Return the names of the works that a run reports."""
    system = certificate.system
    names = [*getattr(system, "meters", {}), *({WORK} - set(system.outputs))]
    names += [FRICTION_WORK] if getattr(system, "pairs", ()) else []
    return [name for name in dict.fromkeys(names) if name in certificate.columns]


def without_unit(entry: Any) -> ca.SX:
    """Return the expression of an output or a meter."""
    return ca.SX(cast(Any, entry)[0] if isinstance(entry, tuple) else entry)


# -- momenta ---------------------------------------------------------------------------------------


def momenta_balance(along: Expressions) -> Balance:
    """Return the balance of the momenta, or of the velocities where a mass matrix is given."""
    loads, sizes = _terms(
        along, "momenta", lambda: ca.vertsplit(unguided(along) + sum(guiding(along)))
    )
    largest, _ = _largest_momentum_and_energy(along)
    return Balance(along.system.v.names, momenta_of(along), _unheld(along, loads), sizes, largest)


def _largest_momentum_and_energy(along: Expressions) -> tuple[float, float]:
    """Return the largest momentum, and the energy, if all velocities were the largest of them.

    What rests has momenta and works that are nothing but rounding.
    """
    if not hasattr(along.system, "coordinates"):
        return 0.0, 0.0

    def write() -> list[ca.SX]:
        v = along.system.v.vector
        return ca.vertsplit(ca.substitute(momentum_of(along), v, ca.SX.ones(*v.shape)))

    at_the_end = Expressions(along.certificate.only(slice(-1, None)))
    masses = at_the_end.once(("momentum", "at 1 m/s"), write)
    speed, _ = along.extents[-1]
    largest = float(np.max(np.abs(np.nan_to_num(masses)), initial=0.0)) * speed
    return largest, largest * speed / 2.0


def momenta_of(along: Expressions) -> np.ndarray:
    """Return dT/dv, or the mass matrix times v, along a run, (nv, n, NODES)."""
    return along.once(("momenta", ""), lambda: ca.vertsplit(momentum_of(along)))


def unguided(along: Expressions) -> ca.SX:
    """Return what changes the momenta, but for guides."""
    system = along.system
    moving, momentum = moving_of(system), momentum_of(along)
    load = applied_force(along) + reactions_of(along)
    load -= moving.T @ along.gradient(along.written(ca.SX(system.potential)))
    if system.mass_matrix is not None:
        return load + along.written(by_velocity(system, system.gyroscopic)) + along.rate(momentum)
    load += moving.T @ along.gradient(along.written(ca.SX(system.kinetic)))
    return load + _turned(system, moving, momentum)


def _turned(system: Any, moving: ca.SX, momentum: ca.SX) -> ca.SX:
    """Return the part of Hamel's equations that comes from brackets, a column.

    For the fields X_i, the columns of S: w . sum_j v_j [X_j, X_i], where S^T w is the momentum.
    """
    q, flow = system.coordinates.vector, moving @ system.v.vector
    if not ca.depends_on(moving, q):
        return ca.SX.zeros(*momentum.shape)
    w = ca.SX.sym("w", q.numel())
    turned = ca.jtimes(moving.T @ w, q, flow) - moving.T @ ca.gradient(ca.dot(w, flow), q)
    return ca.substitute(turned, w, moving @ ca.solve(moving.T @ moving, momentum))


def reactions_of(along: Expressions, *, impulses: bool = False) -> ca.SX:
    """Return the generalised forces, or impulses, of ideal reactions and of friction in contacts.

    The impulse of friction is that of the constraint on a slip, also where the slip goes on.
    """
    system = along.system
    total = ca.SX.zeros(system.v.vector.numel())
    sticking = {id(goal) for one in system.goals for goal in getattr(one, "sticking", ())}
    for goal in ideal_goals(system):
        if impulses or id(goal) not in sticking:
            total += gradient_of(along, goal) * goal.reaction
        for slip, force in () if impulses else friction_of(system, goal):
            total += gradient_of(along, slip) * force
    return total


def friction_of(system: Any, goal: Any) -> list[tuple[Goal, ca.SX]]:
    """Return for each direction of a contact's slip its constraint, and the friction along it.

    Contacts in space that hold one slip together share what holds it: the outputs say how.
    """
    slips: tuple[Goal, ...] = getattr(goal, "sticking", ())
    if len(slips) < 2:
        return [(slip, goal.traction) for slip in slips]
    outputs = [system.outputs[f"{goal.name}_friction_{k}"] for k in (1, 2)]
    return [(slip, without_unit(one)) for slip, one in zip(slips, outputs, strict=True)]


def gradient_of(along: Expressions, goal: Goal) -> ca.SX:
    """Return the direction of a goal's reaction among the velocities, a column."""
    return ca.jacobian(rate_of(along, goal), along.system.v.vector).T


def rate_of(along: Expressions, goal: Goal) -> ca.SX:
    """Return the rate of a constraint on positions, or a constraint on velocities itself."""
    residual = along.written(ca.SX(goal.residual))
    if isinstance(goal, Nonholonomic) or ca.depends_on(residual, along.system.v.vector):
        return residual
    return along.rate(residual)


def rates_of(along: Expressions, goal: Goal) -> np.ndarray:
    """Return the rate of a constraint along a run, (n, NODES)."""
    return along.once(("rate", str(id(goal))), lambda: [rate_of(along, goal)])[0]
