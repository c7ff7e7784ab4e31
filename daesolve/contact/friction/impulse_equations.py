"""The momentum balance of a time step, as numbers.

Over a step h the impulses of the supports P (N s) change the velocities,

    M (v+ - v-) = h Q + sum_k P_k (n_k + f_k tau_k(v+)) + J' p,     Phi v+ = aim,

with everything except the slip evaluated in the middle of the step. Friction opposes the slip at
its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import casadi as ca
import numpy as np

from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.friction.steppable import Steppable, check_steppable
from daesolve.contact.posing.guides import SHARP, SMOOTHING, SupportAction, the_guides
from daesolve.contact.posing.supports import Support, pairs_of
from daesolve.core.posing.symbols import symbol
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import PosingError, UnsupportedError


@dataclass(frozen=True, eq=False)
class SlidingFriction:
    """The friction of supports at given velocities.

    Parameters
    ----------
    first, second
        (nv, m) friction of the first and of the second supports per unit of normal impulse.
    slope
        (nv, nv) the gradient, with respect to v, of the friction of given normal impulses.
    """

    first: np.ndarray
    second: np.ndarray
    slope: np.ndarray


class StepEquations(Steppable):
    """The equations of a system for a time step.

    Parameters
    ----------
    system
        A system with two-sided pairs of supports.
    parameters
        Values that override the defaults.

    Raises
    ------
    PosingError, UnsupportedError
        The system has no pairs of supports, or something that time stepping does not support.
    OutOfRangeError, UnknownNameError
        A parameter is unknown or out of range.
    """

    def __init__(
        self, system: MechanicalSystem, parameters: Mapping[str, float] | None = None
    ) -> None:
        _check(system)
        super().__init__(system, parameters)
        self.guides = the_guides(self.dynamics)
        self.names = self.guides.reactions.names
        self._place = list(self.dynamics.values).index(SMOOTHING)

    def balance(self, time: float, x: np.ndarray, step: float) -> StepBalance:
        """Return the balance of a step.

        Parameters
        ----------
        time, x
            The middle of the step: its time, its positions, and the velocities before the step,
            (nx,).
        step
            h, s
        """
        parts = [np.asarray(part) for part in self._parts(time, x, self.numbers)]
        mass, force, first, second, slips, offsets, rows, aims = parts
        v = x[self.dynamics.position_count :]
        held = np.array([row.reaction is None for row in self.dynamics.rows])
        order = np.concatenate([np.flatnonzero(held), np.flatnonzero(~held)])
        return StepBalance(
            equations=self,
            time=time,
            x=x,
            mass=mass,
            momentum=mass @ v + step * force.ravel(),
            first=first,
            second=second,
            rows=rows[order],
            aims=aims.ravel()[order],
            slips=slips.reshape(2, len(self.names), -1, len(v)),
            offsets=offsets.reshape(2, len(self.names), -1),
        )

    def rubs(
        self, time: float, x: np.ndarray, smoothing: float, loads: tuple[np.ndarray, np.ndarray]
    ) -> SlidingFriction:
        """Return the friction of supports with slips V replaced by V / sqrt(V^2 + smoothing^2)."""
        p = self._smoothed(smoothing)
        first, second, slope = self._rubs(time, x, p, *loads)
        return SlidingFriction(np.asarray(first), np.asarray(second), np.asarray(slope))

    def speeds(self, time: float, x: np.ndarray) -> np.ndarray:
        """Return the mean sliding speeds of the faces of supports, (2, m), m/s."""
        return np.asarray(self._speeds(time, x, self._smoothed(SHARP))).T

    @cached_property
    def timed(self) -> bool:
        """Whether friction depends on time."""
        rubbing = [self._friction(support) for support in self.guides.rubbing]
        return ca.depends_on(ca.vertcat(*rubbing), self.dynamics.t)

    def _smoothed(self, smoothing: float) -> np.ndarray:
        p = self.numbers.copy()
        p[self._place] = max(smoothing, SHARP)
        return p

    @cached_property
    def _pairs(
        self,
    ) -> tuple[list[tuple[SupportAction, Support]], list[tuple[SupportAction, Support]]]:
        """First and second supports."""
        firsts: list[tuple[SupportAction, Support]] = []
        seconds: list[tuple[SupportAction, Support]] = []
        for (first, second), pair in zip(self.guides.supports, self.guides.pairs, strict=True):
            assert first is not None
            firsts.append((first, pair.supports[0]))
            seconds.append((second, pair.supports[1]))
        return firsts, seconds

    @cached_property
    def _parts(self) -> ca.Function:
        dynamics, v = self.dynamics, self.dynamics.velocities
        firsts, seconds = self._pairs
        slips = [self._slip(*support) for supports in self._pairs for support in supports]
        widest = max(slip.numel() for slip in slips)
        padded = ca.vertcat(*[ca.vertcat(s, ca.SX(widest - s.numel(), 1)) for s in slips])
        outputs = [
            dynamics.mass,
            dynamics.force,
            ca.horzcat(*[rubbing.normal for rubbing, _ in firsts]),
            ca.horzcat(*[rubbing.normal for rubbing, _ in seconds]),
            ca.jacobian(padded, v),
            ca.substitute(padded, v, ca.SX.zeros(*v.shape)),
            ca.vertcat(*[row.jacobian for row in dynamics.rows]),
            -ca.substitute(
                ca.vertcat(*[row.chain[-1] for row in dynamics.rows]), v, ca.SX.zeros(*v.shape)
            ),
        ]
        return dynamics.function("step", *outputs)

    @cached_property
    def _rubs(self) -> ca.Function:
        firsts, seconds = (
            ca.horzcat(*[self._friction(rubbing) for rubbing, _ in supports])
            for supports in self._pairs
        )
        loads = [symbol(name, len(self.names)) for name in ("t1", "t2")]
        total = firsts @ loads[0] + seconds @ loads[1]
        slope = ca.jacobian(total, self.dynamics.velocities)
        return self.dynamics.function("rubs", firsts, seconds, slope, further=loads)

    @cached_property
    def _speeds(self) -> ca.Function:
        def speed(rubbing: SupportAction, support: Support) -> ca.SX:
            squared = ca.sumsqr(rubbing.slip) + self.guides.smoothing**2
            if support.pad is None:
                return ca.sqrt(squared)
            spin = self._spin(support)
            along, about = support.pad.traction(squared, spin)
            return along * squared + about * spin**2

        columns = [ca.vertcat(*[speed(*s) for s in supports]) for supports in self._pairs]
        return self.dynamics.function("speeds", ca.horzcat(*columns))

    def _friction(self, rubbing: SupportAction) -> ca.SX:
        if rubbing.sense is None:
            return rubbing.friction
        sense = rubbing.slip / ca.sqrt(rubbing.slip**2 + self.guides.smoothing**2)
        return ca.substitute(rubbing.friction, rubbing.sense, sense)

    def _slip(self, rubbing: SupportAction, support: Support) -> ca.SX:
        return ca.vertcat(rubbing.slip, self._spin(support)) if support.pad else rubbing.slip

    def _spin(self, support: Support) -> ca.SX:
        assert support.spin is not None
        rates = self.system.coordinates.dot.vector
        spin = ca.SX(support.spin)
        kinematics = self.system.kinematics
        return spin if kinematics is None else ca.substitute(spin, rates, ca.SX(kinematics))


@dataclass(frozen=True, eq=False)
class StepBalance:
    """The balance of one step.

    Parameters
    ----------
    equations
        The equations of the system.
    time, x
        The middle of the step; the velocities are those before the step.
    mass, momentum
        M (nv, nv) and M v- + h Q, (nv,).
    first, second
        (nv, m) the normals n of first and second supports.
    rows, aims
        Phi v+ = aim: (m + i, nv) and (m + i,); the rows of the supports, then the ideal ones.
    slips, offsets
        The slip and spin of a support are `slips @ v + offsets`, (2, m, r, nv) and (2, m, r).
    """

    equations: StepEquations
    time: float
    x: np.ndarray
    mass: np.ndarray
    momentum: np.ndarray
    first: np.ndarray
    second: np.ndarray
    rows: np.ndarray
    aims: np.ndarray
    slips: np.ndarray
    offsets: np.ndarray

    @property
    def count(self) -> int:
        """The number m of pairs."""
        return self.first.shape[1]

    @property
    def before(self) -> np.ndarray:
        """v-, (nv,)."""
        return self.x[-len(self.momentum) :]

    def moving(self, v: np.ndarray) -> np.ndarray:
        """Return the state with other velocities, (nx,)."""
        return np.concatenate([self.x[: -len(v)], v])

    def repeats(self, other: StepBalance) -> bool:
        """Return whether it equals the balance of another step, as for a body at rest."""
        return not self.equations.timed and all(
            np.array_equal(getattr(self, part.name), getattr(other, part.name))
            for part in fields(self)
            if part.name not in ("equations", "time")
        )

    def rubs(self, v: np.ndarray, impulses: np.ndarray, smoothing: float) -> SlidingFriction:
        """Return the friction at velocities (nv,), and its slope for signed impulses (m,)."""
        loads = np.maximum(-impulses, 0.0), np.maximum(impulses, 0.0)
        return self.equations.rubs(self.time, self.moving(v), smoothing, loads)

    def speeds(self, v: np.ndarray) -> np.ndarray:
        """Return the mean sliding speeds of the faces of supports, (2, m), m/s."""
        return self.equations.speeds(self.time, self.moving(v))

    def supports(self, rubs: SlidingFriction | None) -> HorizontalComplementarity:
        """Return the equations for the impulses of supports with this friction, or without any."""
        free, first, second = self._reduced
        if rubs is None:
            loaded = first, second
        else:
            size = len(self.momentum)
            moved = self._solve(np.hstack([self.first + rubs.first, self.second + rubs.second]))
            loaded = tuple(np.hsplit(self.rows[: self.count] @ moved[:size], 2))
        return HorizontalComplementarity(
            first=loaded[0],
            second=loaded[1],
            load=self.aims[: self.count] - self.rows[: self.count] @ free,
            first_normal=first,
            second_normal=second,
            names=self.equations.names,
        )

    def velocities(self, impulses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v+ (nv,) and the impulses of ideal constraints without friction."""
        size = len(self.momentum)
        pushed = self.second @ np.maximum(impulses, 0.0) + self.first @ np.maximum(-impulses, 0.0)
        moved = self._solve((self.momentum + pushed)[:, None], self.aims[self.count :])
        return moved[:size, 0], -moved[size:, 0]

    @cached_property
    def _reduced(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return v+ without supports, (nv,), and the effect of normals on rows of supports."""
        size = len(self.momentum)
        free = self._solve(self.momentum[:, None], self.aims[self.count :])[:size, 0]
        moved = self._solve(np.hstack([self.first, self.second]))[:size]
        first, second = np.hsplit(self.rows[: self.count] @ moved, 2)
        return free, first, second

    def _solve(self, columns: np.ndarray, aims: np.ndarray | None = None) -> np.ndarray:
        """Solve for velocities under ideal constraints: (nv + i, columns)."""
        ideal = self.rows[self.count :]
        below = np.zeros((len(ideal), columns.shape[1]))
        if aims is not None:
            below[:, 0] = aims
        saddle = np.block([[self.mass, ideal.T], [ideal, np.zeros((len(ideal), len(ideal)))]])
        return np.linalg.solve(saddle, np.vstack([columns, below]))


def _check(system: object) -> None:
    if not isinstance(system, MechanicalSystem) or not len(system.pairs):
        raise PosingError(
            "time stepping needs a MechanicalSystem with contacts, or with "
            "pairs=[VariantPair(...), ...]: use solve() for anything else"
        )
    for pair in pairs_of(system.pairs):
        if pair.kind == "unilateral":
            raise UnsupportedError(
                f"the pair {pair.name!r} is unilateral, and time stepping has no impact law "
                "for its closing: give two supports, or integrate with solve()"
            )
    check_steppable(system)
