"""Analyses of a case besides its motion, with results as numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daesolve.analysis.invariant_measure import invariant_measure
from daesolve.analysis.linearization import linearize_equations
from daesolve.analysis.sensitivity import Sensitivity
from daesolve.contact.friction.stiction import stiction_at
from daesolve.contact.friction.variants import VariantProblem
from daesolve.core.equations.drives import drive_values_at_start
from daesolve.core.equations.rank import Decoupling, decoupling
from daesolve.core.run.integration.sampling import At
from daesolve.core.system.system import MechanicalSystem, System
from daesolve.errors import OutOfRangeError, PosingError, UnsupportedError, unknown_name
from daesolve.nonholonomic.growth import growth_vector_report
from daesolve.nonholonomic.pfaff import substitutable_report
from daesolve.nonholonomic.quasi_holonomic import quasi_holonomic_report
from daesolve.plugins.family import Answer
from daesolve.plugins.foreign import called


@dataclass(frozen=True)
class Subject:
    """The subject of an analysis: a system, the values of its parameters, and its start.

    Parameters
    ----------
    system, values
        The system, and its parameters by name.
    time
        Of the start, s.
    find_start
        Returns the consistent state (nx,) of the start.
    differentiate
        Returns the derivatives by named quantities, up to a horizon in s.
    """

    system: System
    values: Mapping[str, float]
    time: float
    find_start: Callable[[], np.ndarray]
    differentiate: Callable[[Sequence[str], float | None], Sensitivity]

    @cached_property
    def start(self) -> np.ndarray:
        """The consistent state of the start, (nx,)."""
        return self.find_start()

    @property
    def named_start(self) -> dict[str, float]:
        """The consistent state of the start by name."""
        names = self.system.dynamics.labels.states
        return dict(zip(names, self.start.tolist(), strict=True))

    @property
    def numbers(self) -> np.ndarray:
        """The values of everything that can vary between runs, in the order of the symbols."""
        dynamics = self.system.dynamics
        values = {**dynamics.values, **self.values}
        return dynamics.value_vector(
            values | drive_values_at_start(dynamics, values, self.start, self.time)
        )

    @property
    def mechanical(self) -> MechanicalSystem:
        """The system, if it is mechanical.

        Raises
        ------
        UnsupportedError
            It is a control system.
        """
        if not isinstance(self.system, MechanicalSystem):
            raise UnsupportedError(
                "this analysis needs constraints on velocities, and a control system has none; "
                "choose a model that is a mechanical system"
            )
        return self.system


@dataclass(frozen=True)
class Analysis:
    """An analysis that every case has.

    Parameters
    ----------
    answer
        A function of the subject, of names and of a horizon.
    takes_names, takes_horizon
        Whether it uses names, and a horizon and sample times.
    """

    answer: Callable[[Subject, Sequence[str], float | None], dict[str, Any]]
    takes_names: bool = False
    takes_horizon: bool = False


def rank_report(subject: Subject) -> dict[str, Any]:
    """Report whether the reactions influence all goals independently, in motion and at rest.

    Parameters
    ----------
    subject
        The subject. At rest the velocities of its start are set to zero; a control system has none.

    Returns
    -------
    dict
        `degrees` (the relative degree of each goal), and for `start` and `at_rest` (None of a
        control system): `rank`, `of`, `dependent` (the goals that take part in dependences),
        `singular_values` (of the decoupling matrix with rows and columns of unit length) and
        `condition` (None if it is singular; columns of unit length alone, since the lengths of
        rows show goals that lose their grip).
    """
    dynamics, time, p = subject.system.dynamics, subject.time, subject.numbers
    state = subject.start
    mechanical = isinstance(subject.system, MechanicalSystem)
    resting = state.copy()
    resting[dynamics.position_count :] = 0.0
    degrees = {row.name: row.degree for row in dynamics.rows}
    degrees |= {row.name: 1 for row in dynamics.implicit_rows}
    degrees |= {row.name: 0 for row in dynamics.relations}
    return {
        "degrees": degrees,
        "start": _as_json(decoupling(dynamics, time, state, p)),
        "at_rest": _as_json(decoupling(dynamics, time, resting, p)) if mechanical else None,
    }


def linearization_report(subject: Subject) -> dict[str, Any]:
    """Linearize about the start; see `daesolve.analysis.linearize`, also for the errors.

    Parameters
    ----------
    subject
        The subject. It starts in an equilibrium or a steady motion.

    Returns
    -------
    dict
        `names` of the coordinates of small motions, `matrix` (by name, the row of its rate),
        `eigenvalues` (`real` and `imaginary` parts, 1/s), `modes` (by name, `real` and `imaginary`
        components in the motion of each eigenvalue), the rates of the `cyclic` coordinates, the
        relative `residual` of the rates of all others, and `notes` on what was left out and why.
    """
    found = linearize_equations(
        subject.system.dynamics, subject.start, subject.numbers, time=subject.time
    )
    return {
        "names": list(found.names),
        "matrix": dict(zip(found.names, found.matrix.tolist(), strict=True)),
        "eigenvalues": _parts(found.eigenvalues),
        "modes": {name: _parts(found.modes[name]) for name in found.names},
        "cyclic": {name: found.rates[name] for name in found.cyclic},
        "residual": found.residual,
        "notes": list(found.notes),
    }


def sensitivity_report(found: Sensitivity) -> dict[str, Any]:
    """Return derivatives as tables.

    Parameters
    ----------
    found
        From `daesolve.analysis.sensitivity`.

    Returns
    -------
    dict
        `end_time`, `final_state`, `derivatives` (by what, then of which state), those of the end
        time (`end_time_derivatives`), `events` (each with its derivatives by name), `samples` (if
        there are any: rows by column, such as `t` and `x_by_length`), and `notes`.
    """
    columns = found.matrix.T.tolist()
    return {
        "end_time": found.run.end_time,
        "final_state": dict(found.final_state),
        "derivatives": {
            by: dict(zip(found.states, column, strict=True))
            for by, column in zip(found.by, columns, strict=True)
        },
        "end_time_derivatives": dict(found.end_time),
        "events": [
            {
                "name": event.name,
                "time": event.time,
                "derivatives": dict(zip(found.by, row, strict=True)),
            }
            for event, row in zip(found.run.events, found.event_times.tolist(), strict=True)
        ],
        **({} if found.along is None else {"samples": found.along.rows()}),
        "notes": list(found.notes),
    }


def _quasi_holonomic(subject: Subject, of: Sequence[str]) -> dict[str, Any]:
    """Report whether constraints may be substituted, solved for the rates of some coordinates."""
    at, values = subject.named_start, subject.values
    system, time = subject.mechanical, subject.time
    return quasi_holonomic_report(system, of, parameters=values, at=at, time=time)


def _substitutable(subject: Subject) -> dict[str, Any]:
    """Find the combinations of constraints that may be substituted into any Lagrangian."""
    at, values = subject.named_start, subject.values
    return substitutable_report(subject.mechanical, at=at, parameters=values)


def _growth_vector(subject: Subject) -> dict[str, Any]:
    """Find how fast the velocities that constraints leave, and their brackets, span everything."""
    system, state, values = subject.mechanical, subject.named_start, subject.values
    return growth_vector_report(system, state, parameters=values, time=subject.time)


def _invariant_measure(subject: Subject) -> dict[str, Any]:
    """Find out whether the motion keeps a volume, in which variables, and how ln rho changes."""
    at, values = subject.named_start, subject.values
    found = invariant_measure(subject.system, parameters=values, at=at)
    places = {name: at[name] for name in found.positions}
    return {
        "said": found.said,
        "exists": found.exists,
        "evidence": found.evidence,
        "family": found.family,
        "none_at_all": found.none_at_all,
        "variables": list(found.variables),
        "residual": found.residual,
        "gradient_of_log_density": found.gradient(places) if found.exists else None,
    }


def _variants(subject: Subject) -> dict[str, Any]:
    """List every choice of the loaded supports, with what speaks for and against it."""
    problem = VariantProblem(subject.mechanical.dynamics, subject.values)
    direction = None
    if not problem.sliding(subject.start, subject.time):
        direction = stiction_at(problem, subject.start, subject.time).direction
    return problem.report(subject.start, subject.time, direction)


ANALYSES: dict[str, Analysis] = {
    "rank": Analysis(lambda subject, of, until: rank_report(subject)),
    "linearization": Analysis(lambda subject, of, until: linearization_report(subject)),
    "sensitivity": Analysis(
        lambda subject, of, until: sensitivity_report(subject.differentiate(of, until)),
        takes_names=True,
        takes_horizon=True,
    ),
    "quasi-holonomic": Analysis(
        lambda subject, of, until: _quasi_holonomic(subject, of), takes_names=True
    ),
    "substitutable": Analysis(lambda subject, of, until: _substitutable(subject)),
    "growth-vector": Analysis(lambda subject, of, until: _growth_vector(subject)),
    "invariant-measure": Analysis(lambda subject, of, until: _invariant_measure(subject)),
    "variants": Analysis(lambda subject, of, until: _variants(subject)),
}
"""The analyses that every problem has."""


def answer_of(
    own: Mapping[str, Callable[[Any], Answer]],
    case: object,
    subject: Callable[[], Subject],
    name: str,
    of: Sequence[str],
    until: float | None,
    at: At = None,
) -> Answer:
    """Return the answer to one of a problem's own analyses of a case, or of those of every case.

    `BoundCase.analyse` says what is refused.
    """
    if name not in {**ANALYSES, **own}:
        raise unknown_name("analysis", name, [*ANALYSES, *own])
    general = None if name in own else ANALYSES[name]
    if of and not (general and general.takes_names):
        raise OutOfRangeError(f"the analysis {name!r} does not use names: leave out 'of'")
    if at is not None and not (general and general.takes_horizon):
        raise OutOfRangeError(f"the analysis {name!r} does not use sample times, 'at'")
    if until is not None and not (general and general.takes_horizon):
        raise OutOfRangeError(f"the analysis {name!r} does not use a horizon, 'until'")
    if general is not None:
        return Answer(general.answer(subject(), of, until))
    answer = called(f"the analysis {name!r}", own[name], case)
    if not isinstance(answer, Answer):
        raise PosingError(
            f"the analysis {name!r} must return a daesolve.Answer, not {type(answer).__name__}"
        )
    return answer


def _parts(numbers: np.ndarray) -> dict[str, list[float]]:
    return {"real": np.real(numbers).tolist(), "imaginary": np.imag(numbers).tolist()}


def _as_json(matrix: Decoupling) -> dict[str, Any]:
    condition = matrix.condition
    return {
        "rank": matrix.rank,
        "of": len(matrix.goals),
        "dependent": list(matrix.dependent),
        "singular_values": [float(value) for value in matrix.singular_values],
        "condition": condition if np.isfinite(condition) else None,
    }
