"""Whether goals hold at every node, and contacts push and do not overlap."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daesolve.audit.certificate import Certificate
from daesolve.audit.equations import ENERGY, applied_force, friction_of, without_unit
from daesolve.audit.expressions import Expressions, UnknownSymbolsError
from daesolve.audit.rounding import BESIDE, ROUNDING, measured
from daesolve.posing.goals import AnyGoal, Goal, Holonomic, Invariant, Nonholonomic, Relation
from daesolve.trajectory.findings import Finding, judged, unchecked

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
LEFT = 1e-13
"""A state, in its unit, that solvers may leave of none where all rests."""
TOUCHING = 1e-8
"""The part of its terms, or of the largest force, that counts as zero at a contact."""


def check_goals(certificate: Certificate, along: Expressions) -> list[Finding]:
    """Hold the residual of each goal against the size of its own terms at each node."""
    found: list[Finding] = []
    contacts = any(hasattr(goal, "sticking") for goal in certificate.system.goals)
    faint = _faintest_push(certificate, along) if contacts else 0.0
    for goal in certificate.system.goals:
        try:
            if hasattr(goal, "sticking"):
                found += _contact(goal, certificate, along, faint)
            else:
                found += _goal(goal, certificate, along)
        except UnknownSymbolsError as error:
            found.append(unchecked("goal", goal.name, str(error)))
    return found


def check_outputs(certificate: Certificate, along: Expressions) -> list[Finding]:
    """Hold outputs, and the energy, against their expressions at each node."""
    system, columns = certificate.system, certificate.columns
    posed = {name: without_unit(entry) for name, entry in system.outputs.items()}
    if getattr(system, "kinetic", None) is not None and ENERGY not in posed:
        posed[ENERGY] = ca.SX(system.kinetic) + system.potential
    found: list[Finding] = []
    for name in [name for name in posed if name in columns]:
        try:
            (value,) = along([posed[name]])
        except UnknownSymbolsError as error:
            found.append(unchecked("output", name, str(error)))
            continue
        off = np.nan_to_num(np.abs(columns[name] - value))
        off /= certificate.scale(f"output {name}", columns[name]) + 1e-300
        step, node = np.unravel_index(int(np.argmax(off)), off.shape)
        when = certificate.time_at(int(step), int(node))
        said = f"it is {off[step, node]:.1g} of its largest value off at t = {when:.6g} s"
        found.append(judged("output", name, float(off[step, node]), REPORTED, when, said))
    return found


def _goal(goal: AnyGoal, certificate: Certificate, along: Expressions) -> list[Finding]:
    own = isinstance(goal, Goal)
    if isinstance(goal, Invariant):
        return [unchecked("goal", goal.name, "the run itself measures the drift of invariants")]
    constraint = own and (isinstance(goal, Holonomic | Nonholonomic) or goal.at_start)
    if own and not constraint and not hasattr(certificate.system, "coordinates"):
        return [unchecked("goal", goal.name, "a control system approaches it from its start")]
    values, sizes, beside = measured(along, ("goal", goal.name), goal.residual)
    if own and goal.from_start:
        first = float(values.ravel()[0])
        values = values - certificate.scales.setdefault(f"the start of {goal.name}", first)
    if isinstance(goal, Nonholonomic) and certificate.mobility:
        (push,) = along.once(("push", goal.name), lambda: [goal.reaction])
        values = values + certificate.mobility * push
        sizes = sizes + certificate.mobility * np.abs(push)
    if own and goal.held_by:
        beside = beside + NOTHING
        if goal.held_by not in certificate.values:
            raise UnknownSymbolsError(f"the run does not tell {goal.held_by!r}")
        values = np.where(certificate.values[goal.held_by][:, None] > 0.5, values, 0.0)
    known = np.isfinite(values)
    if not known.any():
        return [unchecked("goal", goal.name, "the run has no reactions here")]
    size = np.nan_to_num(sizes) + beside / DRIVEN + 1e-300
    relative = np.where(known, np.abs(values) / size, 0.0)
    driven = goal.name in certificate.driven or isinstance(goal, Relation)
    step, node = np.unravel_index(int(np.argmax(relative)), relative.shape)
    defect, off = float(relative[step, node]), float(np.abs(values[step, node]))
    terms = float(np.nan_to_num(sizes[step, node]) + beside[step, node])
    time = certificate.time_at(int(step), int(node))
    said = (
        f"its residual is {off:.2g}, {off / (terms + 1e-300):.1g} of its terms, at t = {time:.6g} s"
    )
    return [judged("goal", goal.name, defect, DRIVEN if driven else MEASURED, time, said)]


def _contact(
    goal: Any, certificate: Certificate, along: Expressions, faint: float
) -> list[Finding]:
    """Check gap >= 0, N >= 0, N gap = 0, and Coulomb's law; a push that is fainter is rounding."""
    values, sizes, beside = measured(along, ("goal", goal.name), goal.residual)
    size = sizes + TOUCHING * certificate.scale(f"the gap of {goal.name}", sizes) + 1e-300
    size += beside / TOUCHING
    parts = {"overlaps": -values / size}
    try:
        pushes = along.once(("push", goal.name), lambda: [goal.reaction])[0]
    except UnknownSymbolsError as error:
        overlap = np.maximum(parts["overlaps"], 0.0)
        found = _of_contact(goal.name, "overlaps", overlap, certificate)
        return [found, unchecked("contact", goal.name, str(error))]
    largest = max(certificate.scale(f"the push of {goal.name}", pushes), faint) + 1e-300
    parts |= {
        "pulls": -np.nan_to_num(pushes) / largest,
        "pushes while it is open": np.minimum(
            np.abs(np.nan_to_num(pushes)) / largest, np.abs(values) / size
        ),
    }
    found = [
        _of_contact(goal.name, what, np.maximum(by, 0.0), certificate) for what, by in parts.items()
    ]
    if goal.sticking:
        found += _friction(goal, certificate, along, largest)
    return found


def _friction(
    goal: Any, certificate: Certificate, along: Expressions, largest: float
) -> list[Finding]:
    pairs = friction_of(certificate.system, goal)
    seen = [measured(along, ("goal", slip.name), slip.residual) for slip, _ in pairs]
    slips, beside = (np.array([of[k] for of in seen]) for k in (0, 2))
    forces = np.nan_to_num(along.once(("friction", goal.name), lambda: [f for _, f in pairs]))
    loads = along.once(("limit", goal.name), lambda: [goal.reaction * goal.static])
    limit = np.nan_to_num(loads)[0] + _lent(goal, along)
    force, power = np.sqrt(np.sum(forces**2, axis=0)), np.sum(forces * slips, axis=0)
    speed = np.sqrt(np.sum(slips**2, axis=0))
    rounding = float(np.max(beside, initial=0.0)) / TOUCHING
    fastest = max(certificate.scale(f"the slip of {goal.name}", speed), rounding) + 1e-300
    parts = {"is driven by its friction": power / (largest * fastest)}
    rubs, found = "rubs with more than friction allows", list[Finding]()
    if certificate.ambiguous:
        said = "rigid bodies do not tell what presses a contact that is kept sticking"
        found.append(unchecked("contact", f"{goal.name} never {rubs}", said))
    else:
        parts[rubs] = (force - limit) / largest
    for what, by in parts.items():
        found.append(_of_contact(goal.name, what, np.maximum(by, 0.0), certificate))
    return found


def _faintest_push(certificate: Certificate, along: Expressions) -> float:
    """Return the largest push, N, beside which others are rounding; zero if that is unknown.

    That is a part of the largest force that acts, or that would stop the system in the time shown;
    and what in a step gives the rounding of the largest momentum, by which feedback moves reactions
    where no force acts.
    """
    try:
        force, momentum = _largest_force(certificate, along), _largest_momentum(along)
    except UnknownSymbolsError:
        return 0.0
    lasts = float(np.sum(np.abs(certificate.lengths))) + 1e-300
    rounding = max(ROUNDING, BESIDE * certificate.accuracy) * momentum
    step = lasts / max(len(certificate.lengths), 1)
    return max(FAINT * force, FAINT * momentum / lasts, rounding / step / TOUCHING)


def _largest_force(certificate: Certificate, along: Expressions) -> float:
    system = certificate.system

    def acting() -> list[ca.SX]:
        potential = along.written(ca.SX(system.potential))
        return ca.vertsplit(ca.vertcat(applied_force(along), along.gradient(potential)))

    forces = np.abs(np.nan_to_num(along.once(("forces", ""), acting)))
    return float(np.max(forces, initial=0.0))


def _largest_momentum(along: Expressions) -> float:
    system = along.system
    if system.kinetic is None:
        return 0.0

    def momenta() -> list[ca.SX]:
        kinetic = along.written(ca.SX(system.kinetic))
        return ca.vertsplit(ca.gradient(kinetic, system.v.vector))

    return float(np.nanmax(np.abs(along.once(("momenta", ""), momenta)), initial=0.0))


def _lent(goal: Any, along: Expressions) -> np.ndarray:
    """Return the friction that contacts lend to one that holds their slip too, N.

    Only their sum is determined.
    """
    certificate, total = along.certificate, np.zeros(along.certificate.times.shape)
    for other in certificate.system.goals:
        shares = certificate.values.get(f"stuck_{goal.name}_{other.name}")
        if shares is not None:
            loads = along.once(("limit", other.name), lambda of=other: [of.reaction * of.static])
            total += shares[:, None] * np.nan_to_num(loads)[0]
    return total


def _of_contact(name: str, what: str, defects: np.ndarray, certificate: Certificate) -> Finding:
    step, node = np.unravel_index(int(np.argmax(defects)), defects.shape)
    time = certificate.time_at(int(step), int(node))
    defect = float(defects[step, node])
    sentence = f"it {what}, by {defect:.1g} of what is usual, at t = {time:.6g} s"
    return judged("contact", f"{name} never {what}", defect, TOUCHING, time, sentence)
