"""The forces of guides, by the law of their supports as it was posed.

Of the two supports of a pair one presses at most: with max(N, 0) the second, with max(-N, 0) the
first. It pushes along its normal, and rubs with f times its load against the slip. Where a support
that presses does not slip, its friction is unknown, and at most as large: then the forces that the
motion asks for must lie in the cone of those that the supports can give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.contact.posing.guides import SHARP, SMOOTHING
from daesolve.core.posing.symbols import time
from daesolve.core.results.trajectory.findings import Finding, unchecked
from daesolve.verification.audit.certificate import NODES, rates
from daesolve.verification.audit.expressions import SMOOTHED, Expressions
from daesolve.verification.audit.judgement import judge

CHECK = "guides"
PULLS = 1e-8
"""The part of the largest load that counts as none."""
HOLDS = 1e-6
"""The part of what acts on a body at rest that its guides may fail to bear: it is found from slopes
of the motion."""


@dataclass(frozen=True, eq=False)
class SupportExpressions:
    """A support, by expressions: its load, N, and what it gives to the velocities for one newton.

    Parameters
    ----------
    name
        Of the pair, and its place there.
    load, push, rub
        How much it presses; along its normal; by its friction where it slips.
    grip
        The largest friction along the guide, in the plane.
    speeds
        What is zero where it does not slip: the components of the slip, and the spin.
    """

    name: str
    load: ca.SX
    push: ca.SX
    rub: ca.SX
    grip: ca.SX
    speeds: list[ca.SX]


def pairs_of(along: Expressions) -> list[list[SupportExpressions]]:
    """Return the supports of each pair of guides; that of a single one is its second."""
    pairs: list[list[SupportExpressions]] = []
    for pair in getattr(along.system, "pairs", ()):
        push: ca.SX = pair.reaction
        loads = [ca.fmax(-push, 0.0), ca.fmax(push, 0.0)][-pair.count :]
        named = [f"{pair.name}, {k}" for k in range(pair.count)]
        parts = zip(named, pair.supports, loads, strict=True)
        pairs.append([_rubbing(along, *part) for part in parts])
    return pairs


def _rubbing(along: Expressions, name: str, support: Any, load: ca.SX) -> SupportExpressions:
    q, v = along.system.coordinates, along.system.v.vector
    if support.velocity is None:
        point = along.written(_column(support.point))
        velocity = ca.jtimes(point, q.vector, q.dot.vector) + ca.jacobian(point, time)
    else:
        velocity = _column(support.velocity)
    velocity, normal = along.written(velocity), along.written(_column(support.normal))
    slip = velocity - ca.dot(velocity, normal) * normal
    if normal.numel() == 2:
        slip = normal[1] * velocity[0] - normal[0] * velocity[1]
    squared, spin = ca.sumsqr(slip) + SMOOTHED**2, ca.SX(0)
    against, about = 1.0 / ca.sqrt(squared), ca.SX(0)
    if support.pad is not None:
        spin = along.written(ca.SX(support.spin))
        against, about = support.pad.traction(squared, spin)
    grip = along.written(ca.SX(support.friction)) * ca.jacobian(slip, v).T
    turn = along.written(ca.SX(support.friction)) * about * spin * ca.gradient(spin, v)
    push, speeds = ca.jacobian(velocity, v).T @ normal, [*ca.vertsplit(slip), spin]
    return SupportExpressions(name, load, push, -against * (grip @ slip) - turn, grip, speeds)


def _column(entries: Any) -> ca.SX:
    return ca.SX(entries) if isinstance(entries, ca.SX) else ca.vertcat(*map(ca.SX, entries))


def guiding(along: Expressions) -> tuple[ca.SX, ca.SX]:
    """Return what pushes and what rubs in guides, for each velocity."""
    pushes = rubs = ca.SX.zeros(along.system.v.vector.numel())
    for one in [support for pair in pairs_of(along) for support in pair]:
        pushes, rubs = pushes + one.load * one.push, rubs + one.load * one.rub
    return pushes, rubs


def held_by_friction(along: Expressions) -> np.ndarray:
    """Return where a support that presses does not slip, (n, NODES), and is not smoothed."""
    certificate = along.certificate
    sticking = np.zeros(certificate.times.shape, dtype=bool)
    for support in [support for pair in pairs_of(along) for support in pair]:
        (load,) = along.once(("load", support.name), lambda of=support: [of.load])
        holds = load > PULLS * certificate.scale(CHECK, load)
        for k, speed in enumerate(support.speeds):
            values, _, beside = along.measured(("slip", f"{support.name}, {k}"), speed)
            holds &= np.abs(values) <= beside
        sticking |= holds
    smoothing = certificate.values.get(SMOOTHING, np.full(len(sticking), SHARP))
    return sticking & (smoothing <= SHARP)[:, None]


def check_guides(
    along: Expressions,
    momenta: np.ndarray,
    load: np.ndarray,
    borne: Sequence[Sequence[np.ndarray]] = (),
) -> Iterator[Finding]:
    """Check that single supports press, and that friction can hold what it holds.

    Parameters
    ----------
    along
        The run.
    momenta, load
        (nv, n, NODES) what is balanced, and all that acts but guides.
    borne
        What laws of friction with them show as their share, and what they can bear at most.
    """
    certificate, pairs = along.certificate, along.system.pairs
    for pair in [pair for pair in pairs if pair.kind == "unilateral"]:
        (push,) = along([pair.reaction])
        pulls = -push / (certificate.scale(CHECK, push) + 1e-300)
        yield judge(
            *(CHECK, f"{pair.name} never pulls", pulls, PULLS, certificate.times),
            lambda _, worst, when: f"it pulls, by {worst:.1g} of the largest load, at {when}",
        )
    steps, node = np.flatnonzero(held_by_friction(along).all(axis=1)), NODES // 2
    if steps.size and not all(pair.planar for pair in pairs):
        said = f"bodies are held in space, in {len(steps)} steps"
        yield unchecked(CHECK, "friction holds", said)
    elif steps.size:
        owed = rates(momenta)[:, steps, node] / certificate.lengths[steps] - load[:, steps, node]
        # At rest nothing tells the shares of these laws: they bear what the guides leave to them.
        for share, _ in borne:
            owed = owed + share[:, steps, node]
        limits = [limit[:, steps, node] for _, limit in borne]
        yield judge(
            *(CHECK, "friction holds", _beyond(along, owed, limits, (steps, node)), HOLDS),
            certificate.starts[steps],
            lambda _, worst, when: (
                f"it cannot bear {worst:.1g} of what acts in the step from {when}"
            ),
        )


def _beyond(
    along: Expressions,
    owed: np.ndarray,
    limits: Sequence[np.ndarray],
    where: tuple[np.ndarray, int],
) -> np.ndarray:
    """Return the part of what is owed, (nv, k), that supports in the plane cannot give, (k,).

    Laws of friction with them bear at most their limits, (nv, k) each, either way.
    """
    steps, node = where
    least = np.full(len(steps), np.inf)
    edges = [
        [
            [along(ca.vertsplit(ca.densify(one.push + way * one.grip))) for way in (-1.0, 1.0)]
            for one in pair
        ]
        for pair in pairs_of(along)
    ]
    for chosen in product(*edges):
        cone = np.array([side[:, steps, node] for pair in chosen for side in pair])
        size = np.max(np.abs(cone), axis=0)
        size = np.where(size, size, 1.0)
        for k, wanted in enumerate((owed / size).T):
            shares = [limit[:, k] / size[:, k] for limit in limits]
            missing = _missing((cone / size)[..., k].T, shares, wanted)
            least[k] = min(least[k], missing / (np.max(np.abs(wanted)) + 1e-300))
    return least


def _missing(edges: np.ndarray, shares: Sequence[np.ndarray], wanted: np.ndarray) -> float:
    """Return what edges of cones, and up to one of each share either way, leave of what is owed."""
    if not shares:
        return float(scipy.optimize.nnls(edges, wanted)[1])
    least = np.r_[np.zeros(edges.shape[1]), -np.ones(len(shares))]
    most = np.r_[np.full(edges.shape[1], np.inf), np.ones(len(shares))]
    columns = np.column_stack([edges, *shares])
    found = scipy.optimize.lsq_linear(columns, wanted, (least, most), method="bvls", tol=1e-14)
    return float(np.sqrt(2.0 * found.cost))
