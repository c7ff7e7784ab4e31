"""Whether constraints may be substituted into the Lagrangian: the Hadamard-Hamel problem.

Consider coordinates y that appear only through their rates, constraints solved for these rates, y'
= g, and the remaining constraints f = 0. Substituting g into L changes the equations of the other
velocities w by

    N = sum_i p_i [g_i],    p_i = dL/dy_i' where y' = g,

where [.] is Hamel's operator (`lagrange.hamel`). The equations keep their form, with other
multipliers, if and only if N is a combination of the df/dw wherever f = 0: N = (df/dw)^T alpha.
Then the constraints are quasi-holonomic, and the multipliers found after the substitution are too
large by alpha.

N is a product and vanishes with either factor. For example, a wheel across a skate does not turn,
so p = 0 wherever f = 0, and it may be substituted whatever [g] is. Only the values on f = 0 count.

Random states can refute this. A positive verdict is proved (`combination_proof`) or, if that fails,
claimed only for the examined states.

A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics of wheeled
vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, theorems 1 (rates of coordinates) and 2
(quasi-velocities).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import check_named
from daesolve.core.equations.consistent_start import refuse_drives
from daesolve.core.equations.generic_state import value_at_generic_state
from daesolve.core.expressions.singular_values import independent_rows
from daesolve.core.system.system import MechanicalSystem, unswitched
from daesolve.errors import InconsistentStateError, PosingError
from daesolve.nonholonomic.combination_proof import proved_combinations
from daesolve.nonholonomic.constraint_forms import check_numbers, check_time, parameter_vector
from daesolve.nonholonomic.remainder import (
    given_state,
    largest_remainders,
    nearest_combination,
    random_states,
    referred,
)
from daesolve.nonholonomic.solved_rates import (
    INDEPENDENT,
    Substitution,
    check_free_of,
    check_system,
    constraint_rates,
    rate_indices,
    substitution,
)

Evidence = Literal["proved", "proved at these parameters", "sampled", "refuted"]
"""The basis of a verdict; see `QuasiHolonomic`."""


@dataclass(frozen=True, eq=False)
class QuasiHolonomic:
    """Whether constraints may be substituted into the Lagrangian; true if they may.

    Parameters
    ----------
    holds
        Whether N is a combination of the df/dw where f = 0, to the extent given by `evidence`.
    evidence
        "proved" from the expressions, for every state and all parameter values; "proved at these
        parameters", for every state; "sampled", if true at the random states and not proved for
        others; or "refuted" by one of them.
    each_evidence
        By the names of y, the same for [g_i] alone.
    residual
        The largest part of N that is not a combination, relative to sum |p_i| |[g_i]|.
    for_every_lagrangian
        Whether the same holds for any masses.
    each, each_residual
        By the names of y: whether [g_i] alone is such a combination, and its remainder.
    points, tolerance
        The number of random consistent states examined, and the limit.
    eliminated, by, remaining
        The names of y, of the goals that are solved for y', and of those that remain.
    state
        The consistent state given by `at`, by name; None if none was given.
    alpha
        The `coefficients` at that state. None if no state was given, or if the constraints are not
        quasi-holonomic.
    substitution
        The expressions.
    values
        p as numbers.
    """

    holds: bool
    evidence: Evidence
    each_evidence: Mapping[str, Evidence]
    residual: float
    for_every_lagrangian: bool
    each: Mapping[str, bool]
    each_residual: Mapping[str, float]
    points: int
    tolerance: float
    eliminated: tuple[str, ...]
    by: tuple[str, ...]
    remaining: tuple[str, ...]
    state: Mapping[str, float] | None
    alpha: Mapping[str, float] | None
    substitution: Substitution = field(repr=False)
    values: np.ndarray = field(repr=False)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        solved = ", ".join(self.by)
        rates = ", ".join(f"{name}'" for name in self.eliminated)
        lines = [
            f"{solved} solved for {rates}: {self._verdict}",
            _SAID[self.evidence],
            f"residual {self.residual:.1e} at {self.points} points (limit {self.tolerance:g})",
            f"for every Lagrangian: {self._general}",
        ]
        single = [f"{name} {miss:.1e}" for name, miss in self.each_residual.items()]
        lines.append("each alone, whatever the masses: " + ", ".join(single))
        lines.append("constraints that remain: " + (", ".join(self.remaining) or "none"))
        if self.alpha:
            numbers = [f"{name} {value:.6g}" for name, value in self.alpha.items()]
            lines.append("alpha at the given state: " + ", ".join(numbers))
        return "\n".join(lines)

    @property
    def _verdict(self) -> str:
        if self.evidence == "sampled":
            return f"quasi-holonomic at {self.points} sample states"
        return "quasi-holonomic" if self.holds else "not quasi-holonomic"

    @property
    def _general(self) -> str:
        if not self.for_every_lagrangian:
            return "no"
        kinds = set(self.each_evidence.values())
        if "sampled" in kinds:
            return f"yes at {self.points} sample states"
        return "yes" if kinds == {"proved"} else "yes, at these values of the parameters"

    def coefficients(
        self,
        state: Mapping[str, float],
        parameters: Mapping[str, float] | None = None,
        time: float = 0.0,
    ) -> dict[str, float]:
        """Return alpha by the names of the remaining goals.

        After the substitution, the multipliers of these goals exceed their reactions by alpha. If
        the constraints are not quasi-holonomic, alpha belongs to the nearest combination.

        Parameters
        ----------
        state
            Values of states by name; the others are made consistent.
        parameters
            Values that override those of the test.
        time
            s

        Raises
        ------
        InconsistentStateError, UnknownNameError, OutOfRangeError
            No consistent state exists, or a state or parameter is unknown or out of range.
        """
        check_time(time)
        solution = self.substitution
        numbers = self.values if parameters is None else _numbers(solution, parameters)
        x = given_state(solution, numbers, check_named("state", state), time)
        return nearest_combination(solution, numbers, time, x)


def is_quasi_holonomic(
    system: MechanicalSystem,
    eliminate: Sequence[str],
    *,
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    time: float = 0.0,
    points: int = 20,
    tolerance: float = 1e-9,
) -> QuasiHolonomic:
    """Return whether constraints may be substituted into the Lagrangian.

    Parameters
    ----------
    system
        Lagrangian mechanics, in rates of coordinates or in quasi-velocities. Energies, constraints
        and kinematics may contain the eliminated coordinates y only through their rates. In
        quasi-velocities each y' must be a separate velocity.
    eliminate
        The names of y. The goals that contain y' are solved for it; if there are more of them than
        y, the surplus goals remain. A holonomic goal counts with its rate.
    parameters
        Values that override the defaults. N is compared with the constraints at these values; other
        values reveal masses for which N vanishes by chance.
    at
        Values of states by name, near which to search; the others are made consistent. By default
        the states are random, of order one.
    time
        The time of this state, s.
    points
        The number of random consistent states. States where something is not finite are replaced.
    tolerance
        The limit of the relative residual.

    Notes
    -----
    A sample state can refute. If all samples agree, an identity test attempts a proof, in which
    every function that is not rational becomes an unknown. If it fails, the evidence is "sampled".

    Returns
    -------
    QuasiHolonomic
        The verdict and its numbers.

    Raises
    ------
    PosingError
        The constraints cannot be solved for y', or something depends on y.
    UnknownNameError, OutOfRangeError
        The system has no such coordinate or parameter, or a number is out of range.
    InconsistentStateError
        No random state was found that fulfils the constraints.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    >>> c, s = ca.cos(q.psi), ca.sin(q.psi)
    >>> skate = ds.Nonholonomic("skate", c * q.dot.y - s * q.dot.x)
    >>> rolling = ds.Nonholonomic("rolling", c * q.dot.x + s * q.dot.y - 0.4 * q.dot.phi)
    >>> kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.psi**2 + q.dot.phi**2) / 2
    >>> unicycle = ds.MechanicalSystem(q, kinetic=kinetic, goals=[skate, rolling])
    >>> bool(ds.nonholonomic.is_quasi_holonomic(unicycle, ["phi"]))
    True
    """
    check_numbers(tolerance, time, points=points)
    solution = substitution(system, eliminate)
    numbers = _numbers(solution, parameters)
    given = None if at is None else given_state(solution, numbers, check_named("at", at), time)
    states = random_states(solution, numbers, given, time, points)
    worst, each = largest_remainders(solution, numbers, states)
    seen = [worst <= tolerance, *[bool(miss <= tolerance) for miss in each]]
    exact = referred(solution, numbers, given, time)
    always = proved_combinations(solution, exact, vary=True).listed
    here = always
    if any(holds and not proved for holds, proved in zip(seen, always, strict=True)):
        here = proved_combinations(solution, exact, vary=False).listed
    evidence, *single = map(_evidence, always, here, seen)
    alone = dict(zip(solution.eliminated, single, strict=True))
    holds = evidence != "refuted"
    alpha = (
        None if given is None or not holds else nearest_combination(solution, numbers, time, given)
    )
    return QuasiHolonomic(
        holds=holds,
        evidence=evidence,
        each_evidence=alone,
        residual=worst,
        for_every_lagrangian="refuted" not in alone.values(),
        each={name: kind != "refuted" for name, kind in alone.items()},
        each_residual={n: float(miss) for n, miss in zip(solution.eliminated, each, strict=True)},
        points=len(states),
        tolerance=tolerance,
        eliminated=solution.eliminated,
        by=solution.by,
        remaining=solution.remaining,
        state=None if given is None else _by_name(solution, given),
        alpha=alpha,
        substitution=solution,
        values=numbers,
    )


def _evidence(always: bool, here: bool, sampled: bool) -> Evidence:
    if always:
        return "proved"
    if here:
        return "proved at these parameters"
    return "sampled" if sampled else "refuted"


_SAID: Mapping[Evidence, str] = {
    "proved": "proved from the expressions, for every state and all values of the parameters",
    "proved at these parameters": (
        "proved from the expressions for every state, at these values of the parameters only"
    ),
    "sampled": (
        "not proved for other states: the expressions are not an identity of rational functions"
    ),
    "refuted": "refuted at a sample state",
}


def quasi_holonomic_report(
    system: MechanicalSystem,
    eliminate: Sequence[str] = (),
    *,
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> dict[str, Any]:
    """Return the verdict as a table; see `is_quasi_holonomic`, also for errors.

    Without names it uses the coordinates from `default_coordinates`.

    Returns
    -------
    dict
        `eliminated`, `by` and `remaining` (names), `quasi_holonomic`, its `evidence` and
        `residual`, `said` (the verdict in words), `for_every_lagrangian`, `each` (by coordinate:
        `for_every_lagrangian`, `evidence`, `residual`), `points`, `tolerance`, `state` (as given,
        or None), and `alpha` at that state (by remaining goal; None also if the constraints are not
        quasi-holonomic).
    """
    names = eliminate or default_coordinates(system)
    if not names:
        raise PosingError(
            "no coordinate appears in the constraints only by its rate with a constant "
            "coefficient: name the coordinates to eliminate"
        )
    verdict = is_quasi_holonomic(system, names, parameters=parameters, at=at, time=time)
    return {
        "eliminated": list(verdict.eliminated),
        "by": list(verdict.by),
        "remaining": list(verdict.remaining),
        "quasi_holonomic": verdict.holds,
        "said": str(verdict).splitlines()[:2],
        "evidence": verdict.evidence,
        "residual": verdict.residual,
        "for_every_lagrangian": verdict.for_every_lagrangian,
        "each": {
            name: {
                "for_every_lagrangian": holds,
                "evidence": verdict.each_evidence[name],
                "residual": verdict.each_residual[name],
            }
            for name, holds in verdict.each.items()
        },
        "points": verdict.points,
        "tolerance": verdict.tolerance,
        "state": None if verdict.state is None else dict(verdict.state),
        "alpha": None if verdict.alpha is None else dict(verdict.alpha),
    }


def default_coordinates(system: MechanicalSystem) -> tuple[str, ...]:
    """Return the coordinates that a user would usually eliminate, such as wheel angles.

    Nothing depends on them, and the constraints contain their rates with constant coefficients.
    Their number does not exceed the number of rates for which the constraints can be solved.
    """
    check_system(system)
    dynamics = unswitched(system).dynamics
    goals = constraint_rates(system, dynamics)
    chosen: list[str] = []
    for name in system.coordinates.names:
        try:
            check_free_of(system, dynamics, goals, [name])
            rates = rate_indices(system, [*chosen, name])
        except PosingError:
            continue
        pivots = ca.jacobian(ca.vertcat(ca.SX(0, 1), *goals.values()), system.v.vector[rates])
        if ca.depends_on(pivots, ca.vertcat(dynamics.x, dynamics.t)):
            continue
        if len(independent_rows(value_at_generic_state(dynamics, pivots), INDEPENDENT)) == len(
            rates
        ):
            chosen.append(name)
    return tuple(chosen)


def _by_name(solution: Substitution, x: np.ndarray) -> dict[str, float]:
    return dict(zip(solution.dynamics.labels.states, x.tolist(), strict=True))


def residual_at_other_parameters(
    verdict: QuasiHolonomic, at: Mapping[str, float] | None = None, time: float = 0.0
) -> float | None:
    """Return the residual at random parameter values that differ from the judged ones.

    Parameters
    ----------
    verdict
        The verdict.
    at, time
        As in `is_quasi_holonomic`.

    Returns
    -------
    float or None
        None if there are no parameters, or no state fulfils the constraints at any such values.
    """
    solution = verdict.substitution
    dynamics, generator = solution.dynamics, np.random.default_rng(23)
    given = dict(zip(dynamics.values, verdict.values.tolist(), strict=True))
    for _ in range(3 if len(solution.system.parameters) else 0):
        others = dict(given)
        for name in solution.system.parameters.names:
            step = generator.uniform(0.1, 0.3) * (abs(given[name]) or 1.0)
            near = [given[name] + step, given[name] - step]
            others[name] = next((v for v in near if v in dynamics.ranges[name]), given[name])
        numbers = dynamics.value_vector(others)
        try:
            state = None if at is None else given_state(solution, numbers, at, time)
            states = random_states(solution, numbers, state, time, points=5)
        except InconsistentStateError:
            continue
        return largest_remainders(solution, numbers, states)[0]
    return None


def _numbers(solution: Substitution, parameters: Mapping[str, float] | None) -> np.ndarray:
    refuse_drives(solution.dynamics, "the search for quasi-holonomic constraints")
    return parameter_vector(solution.dynamics, parameters)
