"""Checks that energies and momenta are continuous where piecewise expressions and tables switch.

Across a switch the velocities stay as they are. That is right if nothing acts for an instant:
where the kinetic energy, the momenta dT/dv and, in space, the potential are the same on both sides
of the surface on which the guards vanish. A momentum along the gradients of constraints may jump,
because their reactions absorb it.

An event is found only to rounding. So jumps are evaluated on that surface, and not where the event
was found: an energy that vanishes there would be all rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import ArrayFunction
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.posing.symbols import symbol
from daesolve.errors import ResetError

SAME = 1e-9
"""The fraction of the kinetic energy, or of a momentum, up to which a change is not a jump."""
ROUNDED = 1e-14
"""The fraction of the terms of an energy or a momentum up to which a change is rounding."""
APPROACHES = 3
"""Steps of Newton's method onto the surface on which guards vanish."""


class Continuity:
    """The continuity of energies and momenta at simultaneous events.

    Parameters
    ----------
    dynamics
        The equations.
    events
        The indices of the events.
    switches
        Those of them that are switches, nodes of tables or samples, on which an energy depends.
    """

    def __init__(self, dynamics: Dynamics, events: Sequence[int], switches: Sequence[int]) -> None:
        self.dynamics = dynamics
        self.listed = ", ".join(repr(dynamics.events[index].name) for index in switches)
        names = list(dynamics.values)
        changed = [name for index in switches for name in dynamics.resets[index].values]
        self._changed = [names.index(name) for name in changed]
        counts = [dynamics.events[index].count for index in events]
        self._own = np.repeat([index in switches for index in events], counts)
        guards = ca.vertcat(*[dynamics.events[index].guards for index in events])
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        self._guards = ArrayFunction("guards", [t, x, p], [guards, ca.jacobian(guards, x)])
        own = ca.vertcat(*[dynamics.events[index].guards for index in switches])
        in_space = ca.depends_on(own, x[: dynamics.position_count])
        self._jumps = _jumps(dynamics, p[self._changed], in_space=in_space)

    @classmethod
    def of(cls, dynamics: Dynamics, events: Sequence[int]) -> Continuity | None:
        """Return what to check at some events; None if nothing must be continuous.

        A user's event that changes the state at this instant defines what it becomes.
        """
        kinetic, potential = dynamics.kinetic, dynamics.potential
        if kinetic is None or potential is None:
            return None
        energies = ca.vertcat(kinetic, potential)
        names, switches = list(dynamics.values), list[int]()
        own = {*dynamics.switches, *(name for row in dynamics.drives for name in row.events)}
        for event in events:
            reset = dynamics.resets[event]
            if dynamics.events[event].name not in own:
                if reset.states or reset.imposed:
                    return None
            elif ca.depends_on(
                energies, ca.vertcat(*[dynamics.p[names.index(name)] for name in reset.values])
            ):
                switches.append(event)
        return cls(dynamics, events, switches) if switches else None

    def check(
        self, time: float, x: np.ndarray, p: np.ndarray, values: np.ndarray, fired: np.ndarray
    ) -> None:
        """Refuse a jump that no finite force can cause.

        Parameters
        ----------
        time, x, p
            When (s) and where, and the values before.
        values
            The values after.
        fired
            Which of the guards passed.

        Raises
        ------
        ResetError
            An energy or a momentum jumps.
        """
        after = p.copy()
        after[self._changed] = values[self._changed]
        x = self._on_the_guards(time, x, p, (fired > 0.0) & self._own)
        found = [part.ravel() for part in self._jumps(time, x, p, after)]
        jumps, momenta = found[0], found[3]
        # A root has no slope at its branch point, where it is exact.
        sizes, limits = (
            size + np.nan_to_num(rounding, nan=0.0, posinf=0.0)
            for size, rounding in (found[1:3], found[4:])
        )
        for name, jump, size in zip(("kinetic", "potential"), jumps, sizes, strict=False):
            if abs(jump) > size:
                raise self._refusal(time, f"the {name} energy")
        if (np.abs(momenta) > limits).any():
            left = self._not_taken(time, x, after, momenta)
            over = np.abs(left) > limits + SAME * np.abs(momenta)
            if over.any():
                names = self.dynamics.labels.states[self.dynamics.position_count :]
                raise self._refusal(time, f"the momentum dT/dv of {names[int(np.argmax(over))]!r}")

    def _on_the_guards(
        self, time: float, x: np.ndarray, p: np.ndarray, passed: np.ndarray
    ) -> np.ndarray:
        """Return the nearest state at which guards vanish, where the time does not decide."""
        for _ in range(APPROACHES):
            guards, slopes = (part[passed] for part in self._guards(time, x, p))
            lengths = np.linalg.norm(slopes, axis=1)
            moved = lengths > 0.0
            unit = slopes[moved] / lengths[moved, None]
            missed = guards.ravel()[moved] / lengths[moved]
            if not (np.isfinite(unit).all() and np.isfinite(missed).all()):
                break
            step = shortest_solution(unit, missed)
            if np.linalg.norm(step) > np.linalg.norm(x):
                break
            x = x - step
        return x

    def _not_taken(
        self, time: float, x: np.ndarray, p: np.ndarray, momenta: np.ndarray
    ) -> np.ndarray:
        """Return the jump of the momenta that no reactions of constraints take."""
        influence = self.dynamics.matrices(time, x, p)["influence"]
        own = [
            row.reaction
            for row in self.dynamics.rows
            if row.reaction is not None and row.hold is None
        ]
        taken = shortest_solution(influence[:, own], momenta)
        return momenta - influence[:, own] @ taken

    def _refusal(self, time: float, what: str) -> ResetError:
        return ResetError(
            f"at t = {time:.10g} s {what} jumps where {self.listed} switches, which no finite "
            "force can cause; make it continuous there, or pose the impact as an event"
        )


def _jumps(dynamics: Dynamics, turned: ca.SX, *, in_space: bool) -> ArrayFunction:
    """(t, x, p, values after) -> jumps of T, and of V in space, and of dT/dv, each with its limits.

    The limits are a part of its size, and what rounding makes of its terms. A potential may jump in
    time, as of a spring that stiffens. In space the force were infinite.
    """
    kinetic, potential = dynamics.kinetic, dynamics.potential
    assert kinetic is not None
    assert potential is not None
    x, v, mass = dynamics.x, dynamics.velocities, dynamics.mass
    momenta = ca.gradient(kinetic, v)
    twice = ca.fabs(ca.dot(v, mass @ v))
    # |p_i| <= sqrt(M_ii v.M v), because a mass matrix has no negative eigenvalue.
    largest = ca.fabs(momenta) + ca.sqrt(ca.fabs(ca.diag(mass)) * twice)
    after = symbol("after", dynamics.p.numel())

    def jump(column: ca.SX, size: ca.SX) -> list[ca.SX]:
        if not ca.depends_on(column, turned):
            return [ca.SX(*column.shape)] * 3
        later = ca.substitute(column, dynamics.p, after)
        change = later - column
        terms = ca.fabs(ca.jacobian(change, x)) @ ca.fabs(x) + ca.fabs(column) + ca.fabs(later)
        return [change, SAME * size, ROUNDED * terms]

    moving = ca.fabs(kinetic) + twice
    energies = [jump(energy, moving) for energy in (kinetic, potential)[: 1 + in_space]]
    outputs = [ca.vertcat(*[parts[k] for parts in energies]) for k in range(3)]
    outputs += jump(momenta, largest)
    return ArrayFunction("jumps", [dynamics.t, x, dynamics.p, after], outputs)
