"""How far brackets lead beyond the velocities that constraints leave: the growth vector.

The possible velocities D at a position grow by brackets,

    D_1 = D,  D_k+1 = D_k + [D, D_k],

to all directions that combined manoeuvres reach. Their dimensions form the growth vector, and the
number of steps is the degree of nonholonomy. Constraints on positions do not let D grow.

Local bases of D are smooth: the constraints are solved for some velocities, chosen at the state.
Brackets are symbolic. Those that are combinations of others with constant coefficients are left
out, so that a Lie algebra of finite dimension terminates.

Notes
-----
F. Jean, The car with n trailers: characterisation of the singular configurations, ESAIM: Control,
Optimisation and Calculus of Variations 1 (1996) 241-266.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import check_named
from daesolve.core.expressions.singular_values import singular_values
from daesolve.core.system.system import System
from daesolve.nonholonomic.constraint_forms import PfaffSystem, check_numbers, independent_columns

POINTS = 10
"""The number of random states that decide what holds almost everywhere."""
PROBES = 80
"""The number of random positions at which fields are compared, far more than the fields."""
DEEPEST = 10
"""Brackets of more fields are formed only on request."""
LARGEST = 600_000
"""Brackets of brackets with more instructions than this are not formed either."""
VANISHED = 1e-12
"""A bracket below this, relative to the terms of the largest of its depth, is rounding."""
CANCELLED = 1e-4
"""Terms below this, relative to the largest of their depth, may themselves be rounding."""
DEPENDENT = 1e-10
"""A field of unit length with a smaller remainder is a combination of others."""


@dataclass(frozen=True, eq=False)
class GrowthVector:
    """The dimensions of D_1, D_2, ... at a state.

    Parameters
    ----------
    dims
        The dimensions at the state, up to the last that grows: (2, 3, 5).
    generic
        The same at almost every state.
    degree
        The degree of nonholonomy, the number of entries of `dims`; None if brackets deeper than
        `depth` may let them grow further.
    positions
        The number of dimensions that the kinematics can reach without the constraints.
    depth
        The number of fields in the longest bracket formed.
    smallest_kept, largest_dropped
        For D_1, D_2, ... at the state: the singular values next to the limit, of fields of order
        one; infinity and 0.0 if there is none.
    state
        The positions, by name.
    """

    dims: tuple[int, ...]
    generic: tuple[int, ...]
    degree: int | None
    positions: int
    depth: int
    smallest_kept: tuple[float, ...]
    largest_dropped: tuple[float, ...]
    state: Mapping[str, float]

    @property
    def regular(self) -> bool:
        """Whether the dimensions at the state grow as at almost every other state."""
        return self.dims == self.generic

    @property
    def bracket_generating(self) -> bool:
        """Whether D grows almost everywhere to all that the kinematics allow.

        Then no constraint restricts positions.
        """
        return self.generic[-1] == self.positions


def growth_vector(
    system: System,
    state: Mapping[str, float],
    *,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
    tolerance: float = 1e-9,
    depth: int | None = None,
) -> GrowthVector:
    """Find the growth vector of the velocities that the constraints leave.

    Parameters
    ----------
    system
        A mechanical system, in rates of coordinates or quasi-velocities, with any constraints
        linear in the velocities, or none; then the columns of S in q' = S v grow.
    state
        Values of states by name; the others are made consistent, starting from zero.
    parameters
        Values that override the defaults.
    time
        The time at which the state must be consistent, s. Constraints that contain time are
        refused.
    tolerance
        The relative singular value that counts as zero.
    depth
        The number of fields in the longest brackets. By default, brackets of up to ten fields are
        formed, as long as they take no more than about a million instructions.

    Returns
    -------
    GrowthVector
        The dimensions at the state and at almost every state.

    Raises
    ------
    PosingError
        A constraint is not linear in the velocities, or contains time.
    DegenerateStartError
        The constraints become dependent at the state: D has another dimension there.
    UnknownNameError, OutOfRangeError, InconsistentStateError
        A name is unknown, a number is out of range, or no consistent state exists.

    Examples
    --------
    A wheel that rolls upright can reach every state, by brackets of three fields:

    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    >>> goals = [
    ...     ds.Nonholonomic("rolling_x", q.dot.x - 0.3 * ca.cos(q.psi) * q.dot.phi),
    ...     ds.Nonholonomic("rolling_y", q.dot.y - 0.3 * ca.sin(q.psi) * q.dot.phi),
    ... ]
    >>> kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.psi**2 + q.dot.phi**2) / 2
    >>> growth_vector(ds.MechanicalSystem(q, kinetic=kinetic, goals=goals), {}).dims
    (2, 3, 4)
    """
    check_numbers(tolerance, time, depth=DEEPEST if depth is None else depth)
    pfaff = PfaffSystem.of(system)
    p, here = pfaff.numbers(parameters, check_named("state", state), time)
    assert here is not None
    states = [here, *pfaff.random_states(p, 3 * POINTS)]
    fields = _frame(pfaff, states, p, tolerance)
    reached = _Growth(pfaff, fields, states, p, tolerance, depth).run()
    positions = len(pfaff.places)
    if pfaff.velocity_count < positions:
        freed = _Growth(pfaff, pfaff.directions, states, p, tolerance, depth).run()
        positions = freed.generic[-1]
    return GrowthVector(
        dims=_trimmed(reached.here),
        generic=_trimmed(reached.generic),
        degree=len(_trimmed(reached.here)) if reached.complete else None,
        positions=positions,
        depth=len(reached.here),
        smallest_kept=reached.smallest_kept,
        largest_dropped=reached.largest_dropped,
        state=pfaff.named(here),
    )


def growth_vector_report(
    system: System,
    state: Mapping[str, float],
    *,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> dict[str, Any]:
    """Return the growth vector as plain values.

    Parameters
    ----------
    system, state, parameters, time
        As in `growth_vector`, which also lists the errors.

    Returns
    -------
    dict
        The fields of `GrowthVector`, with `regular` and `bracket_generating`; missing singular
        values are None.
    """
    growth = growth_vector(system, state, parameters=parameters, time=time)
    return {
        "dims": list(growth.dims),
        "generic": list(growth.generic),
        "degree": growth.degree,
        "positions": growth.positions,
        "depth": growth.depth,
        "regular": growth.regular,
        "bracket_generating": growth.bracket_generating,
        "smallest_kept": [value if np.isfinite(value) else None for value in growth.smallest_kept],
        "largest_dropped": [value or None for value in growth.largest_dropped],
        "state": dict(growth.state),
    }


def _trimmed(dims: Sequence[int]) -> tuple[int, ...]:
    return tuple(dims[: list(dims).index(dims[-1]) + 1])


# -- a smooth basis ------------------------------------------------------------------------------


def _frame(
    pfaff: PfaffSystem, states: Sequence[np.ndarray], p: np.ndarray, tolerance: float
) -> ca.SX:
    """Return fields in the positions that span D near the first state, as columns.

    Raises
    ------
    DegenerateStartError
        The constraints become dependent at the state.
    """
    if not pfaff.goals:
        return pfaff.directions
    kept, solved = pfaff.regular(states, p, tolerance)
    free = [k for k in range(pfaff.velocity_count) if k not in solved]
    return pfaff.directions @ pfaff.basis(kept, solved, free)


# -- brackets ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Dimensions:
    """Dimensions after each depth, at the state and almost everywhere."""

    here: tuple[int, ...]
    generic: tuple[int, ...]
    complete: bool
    smallest_kept: tuple[float, ...]
    largest_dropped: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Level:
    """Fields that are brackets of equal length.

    Parameters
    ----------
    fields
        (nq, c), symbolic.
    values
        (states, nq, c)
    terms
        (states, c): the lengths of the terms whose difference each field is.
    """

    fields: ca.SX
    values: np.ndarray
    terms: np.ndarray

    def __getitem__(self, chosen: list[int]) -> _Level:
        return _Level(self.fields[:, chosen], self.values[:, :, chosen], self.terms[:, chosen])

    @property
    def largest_terms(self) -> np.ndarray:
        """The largest of the terms at each state, (states, 1)."""
        return np.max(self.terms, axis=1, keepdims=True, initial=0.0)

    @property
    def scaled(self) -> np.ndarray:
        """The values relative to their terms, or to other terms if these are rounding."""
        sizes = np.maximum(self.terms, CANCELLED * self.largest_terms)
        sizes[sizes == 0.0] = 1.0
        return self.values / sizes[:, None, :]


class _Growth:
    """Fields and their brackets at some states, the first one requested, and at probes.

    Parameters
    ----------
    pfaff
        The constraints, in whose positions fields are written.
    fields
        (nq, d)
    states, p
        Where to evaluate. Of the states after the first, those with the shortest fields are used: a
        basis that is good at the first state may fail elsewhere.
    tolerance
        The singular value that counts as zero, of fields of order one.
    depth
        The number of fields in the longest bracket, None for as many as practicable.
    """

    def __init__(
        self,
        pfaff: PfaffSystem,
        fields: ca.SX,
        states: Sequence[np.ndarray],
        p: np.ndarray,
        tolerance: float,
        depth: int | None,
    ) -> None:
        self._positions = pfaff.positions
        self._arguments = [pfaff.dynamics.x, pfaff.dynamics.p]
        self._p, self._tolerance, self._depth = p, tolerance, depth
        self._states = [*states, *_probes(pfaff, states[0])]
        values = self._at(fields)[0]
        rows = np.nanmedian(np.linalg.norm(values, axis=2), axis=0)
        self._rows = np.where(rows > 0.0, rows, 1.0)[:, None]
        lengths = np.linalg.norm(values / self._rows, axis=(1, 2))
        order = [int(index) for index in np.argsort(lengths) if np.isfinite(lengths[index])]
        others = [index for index in order if 0 < index < len(states)][:POINTS]
        probes = [index for index in order if index >= len(states)][:PROBES]
        chosen = [0, *others, *probes]
        self._count = 1 + len(others)
        self._states = [self._states[index] for index in chosen]
        values = values[chosen] / self._rows
        self._first = _Level(fields, values, np.linalg.norm(values, axis=1))

    def run(self) -> _Dimensions:
        """Let fields grow until their span is complete everywhere or `depth` is reached."""
        level = self._first
        raw, scaled = level.values, level.scaled
        found = [self._ranks(scaled)]
        complete = not level.fields.shape[1]
        while not complete and self._goes_on(len(found)):
            level = self._brackets(level, own=len(found) == 1)
            level = level[self._independent(raw, level)]
            raw = np.concatenate([raw, level.values], axis=2)
            scaled = np.concatenate([scaled, level.scaled], axis=2)
            found.append(self._ranks(scaled))
            generic = found[-1].generic
            settled = generic == found[-2].generic and found[-1].here == generic
            complete = settled or found[-1].here == len(self._rows) or not level.fields.shape[1]
        return _Dimensions(
            here=tuple(ranks.here for ranks in found),
            generic=tuple(ranks.generic for ranks in found),
            complete=complete,
            smallest_kept=tuple(ranks.smallest_kept for ranks in found),
            largest_dropped=tuple(ranks.largest_dropped for ranks in found),
        )

    def _goes_on(self, depth: int) -> bool:
        return depth < (self._depth or DEEPEST) and (
            self._depth is not None or self._instructions <= LARGEST
        )

    def _at(self, *fields: ca.SX) -> list[np.ndarray]:
        """Evaluate fields at every state: (states, positions, fields) each."""
        # Searching deep brackets for common subexpressions costs more than evaluating them.
        function = ca.Function("fields", self._arguments, [ca.densify(part) for part in fields])
        self._instructions = function.n_instructions()
        count = len(self._states)
        numbers = np.tile(self._p[:, None], count)
        found = function.map(count).call([np.array(self._states).T, numbers])
        return [
            np.asarray(values).reshape(part.shape[0], count, part.shape[1]).transpose(1, 0, 2)
            for values, part in zip(found, fields, strict=True)
        ]

    def _brackets(self, level: _Level, own: bool) -> _Level:
        """Return [X, Y] for all fields X and all Y of a level, without duplicates."""
        fields = self._first.fields
        left, right = [ca.SX(fields.shape[0], 0)] * 2
        for a in range(fields.shape[1]):
            along, across = fields[:, a], level.fields[:, a + 1 :] if own else level.fields
            turned = ca.jtimes(ca.vec(across), self._positions, along)
            left = ca.horzcat(left, ca.reshape(turned, across.shape))
            right = ca.horzcat(right, ca.jacobian(along, self._positions) @ across)
        parts = [values / self._rows for values in self._at(left, right)]
        terms = np.sum([np.linalg.norm(values, axis=1) for values in parts], axis=0)
        return _Level(left - right, parts[0] - parts[1], terms)

    def _independent(self, known: np.ndarray, level: _Level) -> list[int]:
        """Return the new fields that are not constant combinations of others."""
        lengths = np.linalg.norm(level.values, axis=1)
        present = np.any(lengths > VANISHED * level.largest_terms, axis=0)
        candidates = [int(index) for index in np.flatnonzero(present)]
        if 2 * (known.shape[2] + len(candidates)) > len(self._states):
            return candidates  # With so many fields, some would agree by chance.
        weights = np.max(np.linalg.norm(known, axis=1), axis=1, initial=0.0)[:, None, None]
        basis = np.linalg.qr(_unit_columns(known / weights))[0]
        columns = _unit_columns(level.values / weights)
        return independent_columns(basis, columns, candidates, DEPENDENT)

    def _ranks(self, scaled: np.ndarray) -> _Ranks:
        everywhere = singular_values(scaled[: self._count])
        kept = everywhere > self._tolerance
        return _Ranks(
            here=int(np.sum(kept[0])),
            generic=int(np.max(np.sum(kept, axis=1))),
            smallest_kept=float(np.min(everywhere[0][kept[0]], initial=np.inf)),
            largest_dropped=float(np.max(everywhere[0][~kept[0]], initial=0.0)),
        )


@dataclass(frozen=True, eq=False)
class _Ranks:
    """The rank at the first state, the highest at any, and the singular values that decided."""

    here: int
    generic: int
    smallest_kept: float
    largest_dropped: float


def _probes(pfaff: PfaffSystem, here: np.ndarray) -> list[np.ndarray]:
    """Return random positions anywhere: fields that agree there agree on the constraints."""
    generator = np.random.default_rng(21)
    probes = np.tile(here, (3 * PROBES, 1))
    probes[:, pfaff.places] += generator.normal(size=(len(probes), len(pfaff.places)))
    return list(probes)


def _unit_columns(values: np.ndarray) -> np.ndarray:
    """Stack the values of fields at all states into columns of unit length."""
    columns = values.reshape(values.shape[0] * values.shape[1], values.shape[2])
    lengths = np.linalg.norm(columns, axis=0)
    return columns / np.where(lengths > 0.0, lengths, 1.0)
