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
from scipy import sparse
from scipy.sparse import csgraph

from daesolve.audit.certificate import Certificate
from daesolve.audit.expressions import (
    Expressions,
    UncheckableError,
    by_name,
    ideal_goals,
    size_of,
)
from daesolve.audit.judging import attempt, judge
from daesolve.posing.goals import Goal, Nonholonomic
from daesolve.trajectory.findings import Finding, unchecked

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
    """d(held)/dt = load, by name, with the sizes of what load is made of; each (k, n, NODES).

    `beside` has values whose rounding is in what is held as well.
    """

    names: Sequence[str]
    held: np.ndarray
    load: np.ndarray
    sizes: np.ndarray
    beside: np.ndarray | float = 0.0


def check_equations(along: Expressions) -> list[Finding]:
    """Hold rates of positions, velocities, quadratures and meters against what was posed."""
    checks = {
        "rates of positions": _kinematics,
        "equations of motion": momenta_balance,
        "rates of quadratures": _quadratures,
        "meters": _meters,
    }
    found: list[Finding] = []
    for check, balance in checks.items():
        found += attempt(check, "", partial(_judged, check, along, balance))
    return found


def _judged(
    check: str, along: Expressions, balancing: Callable[[Expressions], Balance | None]
) -> Iterator[Finding]:
    balance = balancing(along)
    if balance is None:
        return
    certificate = along.certificate
    largest = certificate.scale(check, np.append(balance.held, balance.beside))
    # Reactions follow from all loads together: the largest one rounds each of them.
    loads = np.nan_to_num(np.max(np.abs(balance.sizes), axis=(0, 2), initial=0.0))
    least = max(ROUNDING, certificate.accuracy)
    least *= np.maximum(largest, np.abs(certificate.lengths) * loads)
    for row in zip(balance.names, balance.held, balance.load, balance.sizes, strict=True):
        yield _judged_one(check, certificate, *row, least)


def _judged_one(
    check: str,
    certificate: Certificate,
    name: str,
    held: np.ndarray,
    load: np.ndarray,
    sizes: np.ndarray,
    least: np.ndarray,
) -> Finding:
    """Judge one balance over n steps, (n, NODES) each; `least`, (n,), tells its rounding."""
    known = np.isfinite(held + load).all(axis=1)
    if not known.any():
        return unchecked(check, name, "the run has no reactions here")
    lengths, fastest = np.abs(certificate.lengths), np.max(np.abs(sizes), axis=1)
    allowed = certificate.allows(ALLOWED)
    # The times of nodes are rounded, which is much of a short step at a late time.
    clock = 4.0 * np.spacing(np.abs(certificate.starts) + lengths)
    size = np.max(np.abs(held), axis=1) + lengths * fastest
    size += (least + clock * fastest) / allowed + 1e-300
    off = np.max(np.abs(held - held[:, :1] - certificate.integrated(load)), axis=1)
    missed = certificate.unresolved(held) + lengths * certificate.unresolved(load)
    relative, blurred = (np.where(known, part / size, 0.0) for part in (off, missed))
    sharp = known & (blurred <= max(SHARP, allowed))
    over = relative - blurred > allowed
    if not (over | sharp).any():
        return unchecked(check, name, "its steps are too long for the nodes of an audit")
    any_over, passed_by = over.any(), np.count_nonzero(~sharp)
    finding = judge(
        *(check, name, np.where(over if any_over else sharp, relative, 0.0)),
        allowed if any_over else np.inf,
        certificate.starts,
        lambda place, worst, when: (
            f"the balance of {name} is off by {off[place]:.2g}, {worst:.1g} of its terms, in the "
            f"step from {when}"
        ),
    )
    rest = f"{passed_by} of {len(sharp)} steps are too long for its nodes" if passed_by else ""
    return replace(finding, sentence=finding.sentence or rest)


def _of_rates(
    along: Expressions,
    names: Sequence[str],
    rates: Sequence[ca.SX],
    unsized: Sequence[ca.SX] | None = None,
    beside: np.ndarray | float = 0.0,
) -> Balance:
    """Return the balance of columns whose rates are given."""
    written = [along.written(rate) for rate in rates]
    held = np.array([along.certificate.columns[name] for name in names])
    sizes = map(size_of, written) if unsized is None else unsized
    return Balance(names, held, along(written), along(sizes), beside)


def _kinematics(along: Expressions) -> Balance:
    system = along.system
    if not hasattr(system, "coordinates"):
        return _of_rates(along, system.states.names, by_name(system.rate, system.states.names))
    rates: ca.SX = system.coordinates.dot.vector
    return _of_rates(along, system.coordinates.names, ca.vertsplit(rates))


def _quadratures(along: Expressions) -> Balance | None:
    names = along.system.quadratures.names if hasattr(along.system, "quadratures") else ()
    return _of_rates(along, names, by_name(along.system.integrands, names)) if names else None


def _meters(along: Expressions) -> Balance | None:
    names = names_of_meters(along.certificate)
    if not names:
        return None
    posed = getattr(along.system, "meters", {})
    powers = {name: along.written(without_unit(posed[name])) for name in names if name in posed}
    sizes = {name: size_of(power) for name, power in powers.items()}
    if WORK in names and WORK not in powers:
        powers[WORK], sizes[WORK] = _power(along)
    listed = [powers[name] for name in names], [sizes[name] for name in names]
    return _of_rates(along, names, *listed, along.certificate.columns.get(ENERGY, 0.0))


def _power(along: Expressions) -> tuple[ca.SX, ca.SX]:
    """Return d/dt (v . dL/dv - L), and the sizes of its terms.

    It is the power of forces and reactions, and of what time moves; the weight takes no part, but a
    run adds it to that of the inertia, which leaves rounding.
    """
    system, moving = _without_guides(along.system), moving_of(along.system)
    v: ca.SX = system.v.vector
    potential = along.written(ca.SX(system.potential))
    if system.mass_matrix is not None:
        energy = potential + ca.dot(v, momentum_of(along)) / 2
    else:
        energy = potential - along.written(ca.SX(system.kinetic))
    force = applied_force(along) + reactions_of(along)
    power = ca.dot(force, v) + along.slopes(energy)[-1]
    weight = moving.T @ along.gradient(potential)
    return power, size_of(power) + ca.dot(ca.fabs(weight), ca.fabs(v))


def names_of_meters(certificate: Certificate) -> list[str]:
    """Return the names of the works that a run reports."""
    system = certificate.system
    names = [*getattr(system, "meters", {}), *({WORK} - set(system.outputs))]
    return [name for name in dict.fromkeys(names) if name in certificate.columns]


def without_unit(entry: Any) -> ca.SX:
    """Return the expression of an output or a meter."""
    return ca.SX(cast(Any, entry)[0] if isinstance(entry, tuple) else entry)


# -- momenta ---------------------------------------------------------------------------------------


def momenta_balance(along: Expressions) -> Balance | None:
    """Return the balance of the momenta, or of the velocities where a mass matrix is given."""
    system = along.system
    if not hasattr(system, "coordinates"):
        return None
    _without_guides(system)
    moving, momentum = moving_of(system), momentum_of(along)
    load = applied_force(along) + reactions_of(along)
    load -= moving.T @ along.gradient(along.written(ca.SX(system.potential)))
    if system.mass_matrix is not None:
        load += along.written(_by_velocity(system, system.gyroscopic)) + along.rate(momentum)
    else:
        load += moving.T @ along.gradient(along.written(ca.SX(system.kinetic)))
    loads, sizes = along(ca.vertsplit(load)), along(map(size_of, ca.vertsplit(load)))
    if system.mass_matrix is None and system.kinematics is not None:
        turned = _turned(along, moving, momentum)
        loads, sizes = loads + turned, sizes + np.abs(turned)
    return Balance(system.v.names, along(ca.vertsplit(momentum)), loads, sizes)


def _without_guides(system: Any) -> Any:
    """Return a system, unless some of its forces are unknown."""
    if getattr(system, "pairs", ()):
        raise UncheckableError("the friction of guides is not part of the posed forces")
    return system


def applied_force(along: Expressions) -> ca.SX:
    """Return the posed forces, for each velocity."""
    return along.written(_by_velocity(along.system, along.system.force))


def _by_velocity(system: Any, given: Any) -> ca.SX:
    named = system.coordinates if system.velocities is None else system.velocities
    return ca.vertcat(*by_name(given, named.names))


def moving_of(system: Any) -> ca.SX:
    """Return S of q' = S v."""
    if system.kinematics is None:
        return ca.SX.eye(system.coordinates.vector.numel())
    return ca.jacobian(ca.SX(system.kinematics), system.v.vector)


def momentum_of(along: Expressions) -> ca.SX:
    """Return dT/dv, or the mass matrix times v, as a column."""
    system = along.system
    if system.mass_matrix is None:
        return ca.gradient(along.written(ca.SX(system.kinetic)), system.v.vector)
    return along.written(ca.densify(ca.SX(system.mass_matrix)) @ system.v.vector)


def _turned(along: Expressions, moving: ca.SX, momentum: ca.SX) -> np.ndarray:
    """Return the part of Hamel's equations that comes from brackets, (nv, n, NODES).

    For the fields X_i, the columns of S: w . sum_j v_j [X_j, X_i], where S^T w is the momentum.
    """
    q, v = along.system.coordinates.vector, along.system.v.vector
    shape = along.certificate.times.shape
    w, flow = ca.SX.zeros(q.numel()), moving @ v
    for rows, columns in _blocks(moving):
        block: ca.SX = ca.densify(moving[rows, columns])
        # A block that is constant has no brackets.
        if ca.depends_on(block, q):
            fields = along(ca.vertsplit(ca.vec(block))).reshape(len(columns), len(rows), *shape)
            fields = np.ascontiguousarray(np.moveaxis(fields, (0, 1), (-2, -1)))
            held = np.moveaxis(along(ca.vertsplit(momentum[columns])), 0, -1)[..., None]
            turning = np.swapaxes(fields, -1, -2)
            try:
                pushed = (turning @ np.linalg.solve(fields @ turning, held))[..., 0]
            except np.linalg.LinAlgError as error:
                raise UncheckableError("the kinematics are singular") from error
            w[rows] = ca.SX.sym("w", len(rows))
            along.know(ca.vertsplit(w[rows]), np.moveaxis(pushed, -1, 0))
    turned = ca.jtimes(moving.T @ w, q, flow) - moving.T @ ca.gradient(ca.dot(w, flow), q)
    return along(ca.vertsplit(turned))


def _blocks(matrix: ca.SX) -> list[tuple[list[int], list[int]]]:
    """Return the rows and columns of the blocks into which a matrix falls apart."""
    size, (count, others) = matrix.numel(), matrix.shape
    pattern: Any = matrix.sparsity()
    entries = (np.ones(matrix.nnz()), (pattern.row(), count + np.array(pattern.get_col(), int)))
    graph = sparse.coo_matrix(entries, shape=(count + others, count + others))
    number, labels = csgraph.connected_components(graph, directed=False)
    parts = [np.flatnonzero(labels == k).tolist() for k in range(number if size else 0)]
    return [([k for k in p if k < count], [k - count for k in p if k >= count]) for p in parts]


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
