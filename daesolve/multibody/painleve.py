"""Where friction leaves no reactions: Painleve's paradoxes, detected before they happen.

Constraints require of their reactions u that J M^-1 (J^T + F) u = b, where J^T u are the ideal
forces and F u is the friction that is proportional to reactions. The ratio

    r = det(J M^-1 (J^T + F)) / det(J M^-1 J^T) = det(1 + S^-1 J M^-1 F),   S = J M^-1 J^T

is one without friction. As long as it is positive while friction grows from zero, the reactions are
determined. Where it falls to zero they grow without bounds; beyond, rigid bodies with dry friction
have several motions or none. Only the nonzero columns of F count, so the size of the determinant is
the number of reactions that rub.

P. Painleve, Sur les lois du frottement de glissement, C. R. Acad. Sci. Paris 121 (1895);
F. Genot, B. Brogliato, New results on Painleve paradoxes, Eur. J. Mech. A/Solids 18 (1999).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.names import JAM
from daesolve.contact.posing.pairs import JAMMED
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.fitting import fitting_values
from daesolve.core.expressions.linear import determinant, is_zero, solve_definite
from daesolve.core.expressions.singular_values import shortest_solution, singular_values
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.system.consistent_state import consistent_state, parameter_values
from daesolve.core.system.system import MechanicalSystem, unswitched
from daesolve.errors import FrictionlessIllPosed, UnsupportedError

LARGEST = 40
"""Constraints beyond which the ratio is too long an expression to be watched along a run."""
RUBBING = 12
"""Reactions that rub, likewise."""
DEPENDENT = 1e-10
"""The least singular value of constraints of length one, below which they depend on each other."""
REAL = 1e-7
"""An eigenvalue is real if its imaginary part is below this fraction of it: rounding parts two that
meet by so much."""
WHY = (
    "friction jams: the normal reactions grow without bounds while the bodies still slide, and "
    "rigid bodies with dry friction have no unique motion after that"
)


def watched_for_jams(system: MechanicalSystem) -> MechanicalSystem:
    """Return a system with the event `jam`, which ends a run before friction leaves no reactions.

    A start beyond it is refused (`JamEvent`). The system is returned unchanged if no friction
    affects the reactions, and where a jam is not monitored: with relations between reactions or
    reactions whose direction a force sets, with contacts that rub (`posing.jamming`), and with
    more than `LARGEST` constraints or `RUBBING` reactions that rub. `margin_at` and
    `friction_margin` return the margin at a state.
    """
    if any(event.name == JAM for event in system.events):
        return system
    dynamics = unswitched(system).dynamics
    if any(row.rubbing for row in contacts_in(dynamics)):
        return system  # These are watched where their reactions are eliminated.
    rubbing = sum(_rubs(dynamics))
    if not (_ideal(dynamics) and 0 < rubbing <= RUBBING and len(dynamics.rows) <= LARGEST):
        return system
    ratio = ca.simplify(determinant_ratio(dynamics))
    if ratio.is_constant():
        return system
    stop = Stop(WHY, whenever_past=True)
    event = Event(JAM, ratio - JAMMED, FALLING, stop)
    return replace(system, events=(*system.events, event))


def determinant_ratio(dynamics: Dynamics) -> ca.SX:
    """Return r: an expression of time, state and values; one without friction."""
    rows = ca.vertcat(*[row.jacobian for row in dynamics.rows])
    chosen = [k for k, rubs in enumerate(_rubs(dynamics)) if rubs]
    answer = solve_definite(dynamics.mass, rows.T)
    # A released constraint has no row: only its own unknown appears there.
    free = [0.0 if row.hold is None else 1 - row.hold for row in dynamics.rows]
    matrix = rows @ answer + ca.diag(ca.vertcat(*free))
    caused = answer.T @ _friction(dynamics)[:, chosen]
    return determinant(ca.SX.eye(len(chosen)) + solve_definite(matrix, caused)[chosen, :])


def friction_margin(
    system: MechanicalSystem,
    state: Mapping[str, float],
    *,
    parameters: Mapping[str, object] | None = None,
    time: float = 0.0,
) -> float:
    """Return the factor by which all friction must grow until no reactions are possible.

    This is the smallest kappa > 0 with det(J M^-1 (J^T + kappa F)) = 0. Above one, the system is
    determined there; at one it jams. Friction follows the slip there: the state and the discrete
    values among `parameters` determine which contacts stick, and in which sense others slip.

    Parameters
    ----------
    system
        The system with friction.
    state
        By the names of states; missing ones are zero. It is projected onto the constraints.
    parameters
        Values instead of the defaults.
    time
        s

    Returns
    -------
    float
        Infinite if no friction is enough.

    Raises
    ------
    UnsupportedError
        There are relations between reactions, or reactions whose direction a force sets.
    FrictionlessIllPosed
        The constraints depend on each other there, with or without friction.
    """
    dynamics = system.dynamics
    refuse_drives(dynamics, "the critical friction")
    found = consistent_state(dynamics, state, parameters=parameters, time=time)
    names = dynamics.labels.states
    x = np.array([found.state[name] for name in names])
    values = {**dynamics.values, **parameter_values(dynamics, dict(parameters or {}))}
    values = fitting_values(dynamics, values, x, time)
    return margin_at(dynamics, x, dynamics.value_vector(values), time)


def margin_at(dynamics: Dynamics, x: np.ndarray, p: np.ndarray, time: float = 0.0) -> float:
    """Return `friction_margin` for equations at a given state (nx,) and values p.

    Raises
    ------
    FrictionlessIllPosed
        The active constraints depend on each other there, with or without friction.
    UnsupportedError
        As in `friction_margin`.
    """
    _check_ideal(dynamics)
    parts = dynamics.in_mode(p).matrices(time, x, p)
    held = _places(dynamics.in_mode(p))
    factor = np.linalg.cholesky(parts["mass"])
    normal = np.linalg.solve(factor, parts["jacobian"].T)
    rubbing = np.linalg.solve(factor, parts["influence"][:, held]) - normal
    lengths = np.linalg.norm(normal, axis=0)
    normal, rubbing = normal / lengths, rubbing / lengths
    if len(held) and singular_values(normal)[-1] < DEPENDENT:
        raise FrictionlessIllPosed(
            "the active constraints depend on each other at this state, with or without "
            "friction, so there is no friction margin; choose another state"
        )
    values = np.linalg.eigvals(shortest_solution(normal, rubbing))
    real = -values.real[np.abs(values.imag) <= REAL * np.abs(values)]
    largest = real.max(initial=0.0)
    rounding = 10 * len(held) * np.finfo(float).eps * np.linalg.norm(rubbing)
    return float(1 / largest) if largest > rounding else float("inf")


def _friction(dynamics: Dynamics) -> ca.SX:
    """Return F, a column for each constraint."""
    ideal = ca.horzcat(*[row.jacobian.T for row in dynamics.rows])
    return ca.sparsify(ca.simplify(dynamics.influence[:, _places(dynamics)] - ideal))


def _places(dynamics: Dynamics) -> list[int]:
    """Return which reaction each constraint has, of those that have their own."""
    return [row.reaction for row in dynamics.rows if row.reaction is not None]


def _rubs(dynamics: Dynamics) -> list[bool]:
    """Return of each constraint whether its reaction makes friction."""
    if len(_places(dynamics)) < len(dynamics.rows) or not dynamics.rows:
        return []
    friction = _friction(dynamics)
    return [
        not all(is_zero(entry) for entry in ca.vertsplit(friction[:, k]))
        for k in range(len(dynamics.rows))
    ]


def _ideal(dynamics: Dynamics) -> bool:
    """Return whether each constraint has its own reaction, and no other reaction is there."""
    return not dynamics.relations and len(_places(dynamics)) == dynamics.reactions.numel()


def _check_ideal(dynamics: Dynamics) -> None:
    if not _ideal(dynamics):
        raise UnsupportedError(
            "the friction margin is known only for systems whose constraints are all ideal, "
            "without relations between reactions and without reactions whose direction depends on "
            "a force"
        )
