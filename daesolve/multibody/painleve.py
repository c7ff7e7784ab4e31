"""Where friction leaves no reactions: Painleve's paradoxes, detected before they happen.

Constraints require of their reactions u that J M^-1 (J^T + F) u = b, where J^T u are the ideal
forces and F u is the friction that is proportional to reactions. The ratio

    r = det(J M^-1 (J^T + F)) / det(J M^-1 J^T) = det(1 + S^-1 J M^-1 F),   S = J M^-1 J^T

is one without friction. As long as it is positive while friction grows from zero, the reactions are
determined. Where it falls to zero they grow without bounds; beyond, rigid bodies with dry friction
have several motions or none. Only the nonzero columns of F count, so the size of the determinant is
the number of reactions that rub.

It does not matter which constraints are holonomic: those that do not rub only change the response
of the bodies to the others, from M^-1 to P = M^-1 - M^-1 J^T (J M^-1 J^T)^-1 J M^-1 with their rows
J, and r is the determinant of the reactions that rub under P. The supports of a pair push along a
combination of constraints, n = J^T C instead of J^T.

P. Painleve, Sur les lois du frottement de glissement, C. R. Acad. Sci. Paris 121 (1895);
F. Genot, B. Brogliato, New results on Painleve paradoxes, Eur. J. Mech. A/Solids 18 (1999).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.contact.complementarity import homotopy, solve
from daesolve.contact.complementarity.horizontal import signs_of
from daesolve.contact.friction.variants import VariantProblem
from daesolve.contact.laws.frictional_instant import DecisionState
from daesolve.contact.laws.frictional_start import values_by_slips
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.guides import guides_in
from daesolve.contact.posing.names import JAM
from daesolve.contact.posing.pairs import JAMMED, friction_of, loaded_columns
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.fitting import fitting_values
from daesolve.core.expressions.linear import determinant, is_zero, solve_definite
from daesolve.core.expressions.singular_values import shortest_solution, singular_values
from daesolve.core.posing.events import FALLING, Event, Stop
from daesolve.core.posing.value_names import ValueKind
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
    determined there; at one it jams. Friction follows the slip there: the state determines which
    contacts stick, and in which sense others slip, and the discrete values among `parameters` which
    laws of friction stick. Of pairs of supports those count that are loaded there, or, if friction
    leaves none, those whose reactions grow without bounds first.

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
    VariantError, OutOfRangeError
        Which supports of pairs are loaded is not determined there, or they do not slide.
    """
    dynamics = system.dynamics
    refuse_drives(dynamics, "the critical friction")
    found = consistent_state(dynamics, state, parameters=parameters, time=time)
    names = dynamics.labels.states
    x = np.array([found.state[name] for name in names])
    values = {**dynamics.values, **parameter_values(dynamics, dict(parameters or {}))}
    values = fitting_values(dynamics, values, x, time)
    return margin_at(dynamics, x, _in_motion(dynamics, x, values, time), time)


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
    mode = dynamics.in_mode(p)
    parts = mode.matrices(time, x, p)
    factor = np.linalg.cholesky(parts["mass"])
    rows, smooth, along = (
        np.linalg.solve(factor, columns)
        for columns in (parts["jacobian"].T, *_pushes(mode, parts, (time, x, p)))
    )
    lengths = np.linalg.norm(rows, axis=0)
    rows, smooth, along = rows / lengths, smooth / lengths, along / lengths
    if rows.size and singular_values(rows)[-1] < DEPENDENT:
        raise FrictionlessIllPosed(
            "the active constraints depend on each other at this state, with or without "
            "friction, so there is no friction margin; choose another state"
        )
    rubbing = along - smooth
    caused = shortest_solution(rows, rubbing)
    if guides_in(mode) is not None:
        caused = np.linalg.solve(shortest_solution(rows, smooth), caused)
    values = np.linalg.eigvals(caused)
    real = -values.real[np.abs(values.imag) <= REAL * np.abs(values)]
    largest = real.max(initial=0.0)
    rounding = 10 * len(lengths) * np.finfo(float).eps * np.linalg.norm(rubbing)
    return float(1 / largest) if largest > rounding else float("inf")


def _in_motion(
    dynamics: Dynamics, x: np.ndarray, values: Mapping[str, float], time: float
) -> np.ndarray:
    """Return p with the friction of contacts and pairs of supports against their slips."""
    p = dynamics.value_vector(values)
    if any(row.rubbing for row in contacts_in(dynamics)):
        return values_by_slips(dynamics, DecisionState(time, x, np.empty(0), p))
    if guides_in(dynamics) is None:
        return p
    problem = VariantProblem(dynamics, values)
    here = problem.at(x, time)
    equations = here.complementarity
    path = homotopy(equations)
    signs = signs_of(path.variants[-1], equations.count)
    if not path.jammed:
        chosen = solve(equations, policy="homotopy").chosen
        assert chosen is not None
        signs = chosen.signs
    loaded = {
        ValueKind.VARIANT.name_of(name): float(sign)
        for name, sign in zip(problem.names, signs, strict=True)
    }
    return dynamics.value_vector({**values, **here.values, **loaded})


def _pushes(
    dynamics: Dynamics, parts: Mapping[str, np.ndarray], place: tuple[float, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the forces of unit reactions without and with friction, (nv, m) each.

    Reactions are in the order of the rows; rows that pairs keep have the reactions of the pairs.
    """
    normals = parts["jacobian"].T.copy()
    places = [row.reaction for row in dynamics.rows]
    guides = guides_in(dynamics)
    if guides is not None:
        kept = [k for k, place in enumerate(places) if place is None]
        names = list(dynamics.labels.reactions)
        loaded = dynamics.function("normals", loaded_columns(guides)[0])
        normals[:, kept] = np.asarray(loaded(*place))
        for k, name in zip(kept, guides.reactions.names, strict=True):
            places[k] = names.index(name)
    return normals, parts["influence"][:, [place for place in places if place is not None]]


def _friction(dynamics: Dynamics) -> ca.SX:
    """Return F, a column for each constraint."""
    return ca.horzcat(*[friction_of(dynamics, row) for row in dynamics.rows])


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
    """Return whether all reactions are those of constraints, or of pairs of supports."""
    guides = guides_in(dynamics)
    pairs = 0 if guides is None else len(guides.pairs)
    return not dynamics.relations and len(_places(dynamics)) + pairs == dynamics.reactions.numel()


def _check_ideal(dynamics: Dynamics) -> None:
    if not _ideal(dynamics):
        raise UnsupportedError(
            "the friction margin is known only if all reactions belong to constraints or pairs of "
            "supports: with relations between reactions, or reactions whose direction a force "
            "sets, nothing says which part of them is friction"
        )
