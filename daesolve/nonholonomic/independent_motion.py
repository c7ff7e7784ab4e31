"""The motion of a system in the velocities that goals leave free, its reactions as functions of it.

With independent velocities w, the goals J v + e = 0 give all velocities, v = G w + g. Released from
its goals, the system has M v' - B u = h with reactions u, in whose directions B forces may contain
them (a normal load in a force of creep). Both hold at once for one v' and one u, so

    A w' = Q(t, q, w),    A = G^T M G,    p = G^T dT/dv

has no reactions, and u is a function of (t, q, w), whatever forces depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.linear import determinant, solve_definite, solve_small
from daesolve.core.expressions.singular_values import singular_directions, unit_length
from daesolve.core.posing.events import RISING, Event, Stop
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import PosingError, check_names
from daesolve.nonholonomic.constraint_forms import pivots

INDEPENDENT = 1e-9
"""Goals depend on each other if the smallest singular value of their gradients, of unit length, is
below this; and do not determine velocities if that of their columns is."""
LOST = "dependent_velocities_lost"
"""The event that ends a run where the goals no longer determine the dependent velocities."""
NEAR = 1e-6
"""The part of its largest value by which the volume of the dependent velocities must differ from
zero."""


@dataclass(frozen=True, eq=False)
class IndependentMotion:
    """The equations of a system in independent velocities.

    Parameters
    ----------
    dynamics
        The equations of the system, as posed.
    dependent
        The indices of the velocities that goals determine, as many as there are goals.
    """

    dynamics: Dynamics
    dependent: tuple[int, ...] = ()

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The indices of w in v."""
        return tuple(k for k in range(self.dynamics.velocity_count) if k not in self.dependent)

    @cached_property
    def w(self) -> ca.SX:
        """The symbols of the independent velocities, (nw, 1)."""
        return self.dynamics.velocities[[*self.independent], :]

    @cached_property
    def velocities(self) -> ca.SX:
        """All velocities as functions of (t, q, w)."""
        d = self.dynamics
        if not self.dependent:
            return d.velocities
        rest = ca.substitute(
            ca.vertcat(*[row.chain[-1] for row in d.rows]),
            d.velocities[[*self.dependent], :],
            ca.SX.zeros(len(self.dependent)),
        )
        found = -solve_small(d.gradients[:, [*self.dependent]], rest)
        whole = ca.SX(d.velocities)
        for place, index in enumerate(self.dependent):
            whole[index] = found[place]
        return whole

    def of_independent(self, expression: ca.SX, w: ca.SX | None = None) -> ca.SX:
        """Write a function of all velocities as one of w, or of others in place of w."""
        written = ca.substitute(expression, self.dynamics.velocities, self.velocities)
        return written if w is None else ca.substitute(written, self.w, w)

    @cached_property
    def momenta(self) -> ca.SX:
        """G^T dT/dv, (nw, 1)."""
        assert self.dynamics.kinetic is not None
        return ca.gradient(self.of_independent(self.dynamics.kinetic), self.w)

    @cached_property
    def mass(self) -> ca.SX:
        """A, (nw, nw)."""
        if not self.dependent:
            return self.dynamics.mass
        basis = ca.jacobian(self.velocities, self.w)
        return ca.SX(basis.T @ self.dynamics.mass @ basis)

    @cached_property
    def force(self) -> ca.SX:
        """Q, (nw, 1)."""
        if not self.dependent:
            return self.dynamics.force
        return self.mass @ self.of_independent(self._solution[0][[*self.independent], :])

    @cached_property
    def reactions(self) -> ca.SX:
        """u, (nu, 1)."""
        if not self.dependent:
            return ca.SX(0, 1)
        return self.of_independent(self._solution[1])

    @cached_property
    def accelerations(self) -> ca.SX:
        """The accelerations v' as functions of (t, q, v)."""
        if not self.dynamics.rows:
            return solve_definite(self.dynamics.mass, self.dynamics.force)
        return self._solution[0]

    @cached_property
    def _solution(self) -> tuple[ca.SX, ca.SX]:
        d = self.dynamics
        targets = [-row.bias for row in d.rows]
        offsets = [row.offset for row in d.relations]
        return Saddle(d, EliminationPlan()).solve(d.force, targets, offsets)

    @property
    def on_positions(self) -> tuple[GoalRow, ...]:
        """The goals that positions fulfil."""
        return tuple(row for row in self.dynamics.rows if row.degree > 1)

    def restoring(self, row: GoalRow) -> ca.SX:
        """Return the change of positions across a goal on them, in the metric of the masses."""
        d = self.dynamics
        back = solve_definite(d.mass, row.jacobian.T)
        return ca.jtimes(d.position_rates, d.velocities, back)

    def lost(self, write: Callable[[ca.SX], ca.SX]) -> list[Event]:
        """Return the event where goals cease to determine the dependent velocities."""
        if not self.dependent:
            return []
        block = write(self.dynamics.gradients[:, [*self.dependent]])
        if block.is_constant() or not ca.symvar(block):
            return []
        sizes = ca.sum1(write(self.dynamics.gradients).T ** 2)
        volume = determinant(block) ** 2
        for k in range(block.shape[0]):
            volume = volume / sizes[k]
        named = ", ".join(repr(self._names[k]) for k in self.dependent)
        why = f"the goals no longer determine {named}: choose other velocities by dependent="
        return [Event(LOST, NEAR - volume, RISING, Stop(why))]

    @property
    def _names(self) -> Sequence[str]:
        return self.dynamics.labels.states[self.dynamics.position_count :]


def independent_motion(
    system: MechanicalSystem,
    small: Iterable[int],
    samples: Sequence[tuple[float, np.ndarray]],
    p: np.ndarray,
    dependent: Iterable[str] | None = None,
) -> IndependentMotion:
    """Choose the velocities that goals determine, none of them small.

    Parameters
    ----------
    system
        The system, with goals that always hold and are linear in the velocities.
    small
        The indices of velocities that must stay independent.
    samples, p
        Consistent states, (time, x), and the numbers in p.
    dependent
        The names of the dependent velocities; by default those that goals determine best.

    Raises
    ------
    PosingError
        Goals depend on each other, or do not determine these velocities, or any besides the small
        ones.
    UnknownNameError
        A name is no velocity.
    """
    d = system.dynamics
    if not d.rows:
        return IndependentMotion(d)
    names = system.v.names
    gradients = _gradients(d, samples, p)
    shown = ", ".join(repr(row.name) for row in d.rows)
    if min(_least(matrix) for matrix in gradients) < INDEPENDENT:
        raise PosingError(
            f"the goals {shown} depend on each other, so their reactions are not determined: "
            "leave out those that follow from others"
        )
    if dependent is None:
        others = [k for k in range(len(names)) if k not in set(small)]
        chosen = _best(gradients, others, len(d.rows))
    else:
        given = tuple(dependent)
        check_names("velocity", given, names)
        chosen = [names.index(name) for name in given]
    blocks = [matrix[:, chosen] for matrix in gradients]
    if len(chosen) != len(d.rows) or min(_least(block) for block in blocks) < INDEPENDENT:
        listed = ", ".join(repr(names[k]) for k in chosen)
        raise PosingError(
            f"the goals {shown} do not determine {listed or 'any velocity'} besides the small "
            "velocities: name fewer small velocities, or others as dependent="
        )
    return IndependentMotion(d, tuple(sorted(chosen)))


def _gradients(
    d: Dynamics, samples: Sequence[tuple[float, np.ndarray]], p: np.ndarray
) -> list[np.ndarray]:
    """Return the gradients of the goals at each state, with rows of unit length."""
    function = ArrayFunction("gradients", [d.t, d.x, d.p], [d.gradients])
    return [unit_length(function(t, x, p)[0], 1) for t, x in samples]


def _best(gradients: Sequence[np.ndarray], others: Sequence[int], count: int) -> list[int]:
    """Return the columns that are pivots somewhere and keep the largest least singular value."""
    found: list[list[int]] = []
    for matrix in gradients:
        chosen = [others[k] for k in pivots(matrix[:, others], min(count, len(others)))]
        if chosen not in found:
            found.append(chosen)
    return max(found, key=lambda chosen: min(_least(matrix[:, chosen]) for matrix in gradients))


def _least(matrix: np.ndarray) -> float:
    """Return the smallest singular value."""
    return float(singular_directions(matrix, whole=False).values[-1])
