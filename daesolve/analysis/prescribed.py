"""A prescribed motion, posed as goals of a system that leave it without freedom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from daesolve.core.encoding import is_tuple
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.goals import Holonomic, as_scalar
from daesolve.core.posing.symbols import time
from daesolve.core.posing.tables import Table
from daesolve.core.system.driving import named_symbols
from daesolve.core.system.system import MechanicalSystem, System
from daesolve.core.system.written import expression_in
from daesolve.errors import FreedomLeftError, PosingError, UnsupportedError, unknown_name

PREFIX = "prescribed_"
"""The prefix of the names of goals that prescribe a motion."""


@dataclass(frozen=True, eq=False)
class Prescribed:
    """A system with a prescribed motion.

    Parameters
    ----------
    system
        The system with one more goal for each quantity.
    names
        The quantities.
    drives
        The inputs that produce the motion; none if separate forces do, one along each quantity.
    """

    system: MechanicalSystem
    names: tuple[str, ...]
    drives: tuple[str, ...]

    @property
    def goals(self) -> tuple[str, ...]:
        """The names of their goals."""
        return tuple(PREFIX + name for name in self.names)

    def influence(self, dynamics: Dynamics) -> ca.SX:
        """Return the influence of drives, (nv, drives), as a function of (t, x, p).

        Raises
        ------
        UnsupportedError
            An input does not act as a force proportional to it.
        """
        if not self.drives:
            goals = {row.name: row for row in dynamics.rows}
            return ca.horzcat(*[goals[name].jacobian.T for name in self.goals])
        order = list(dynamics.values)
        symbols = ca.vertcat(*[dynamics.p[order.index(name)] for name in self.drives])
        others = [dynamics.mass, dynamics.influence, dynamics.position_rates]
        others += [part for row in dynamics.rows for part in (*row.chain, row.bias)]
        acting = ca.jacobian(dynamics.force, symbols)
        for name, column in zip(self.drives, ca.horzsplit(acting), strict=True):
            own = symbols[self.drives.index(name)]
            if ca.depends_on(ca.veccat(*others), own):
                raise UnsupportedError(
                    f"the input {name!r} is not only a force, so it does not follow from a "
                    "motion: give it a value in inputs={...}"
                )
            if ca.depends_on(ca.vec(column), symbols):
                raise UnsupportedError(
                    f"forces are not linear in the input {name!r}, so it does not follow from "
                    "a motion: make the force itself the input"
                )
        return acting


def prescribed(system: System, motion: Mapping[str, Any]) -> Prescribed:
    """Return a system with a prescribed motion.

    Parameters
    ----------
    system
        The system with given inputs substituted; the remaining inputs are the drives.
    motion
        By the name of a coordinate, its motion; or under any name a pair: a quantity (an expression
        of coordinates) and its motion. A motion is an expression of time and parameters, also as
        text, a number, or a smooth table of time.

    Raises
    ------
    PosingError, UnknownNameError, UnsupportedError
        The system is not mechanical, a name is unknown, or a quantity is invalid.
    """
    if not isinstance(system, MechanicalSystem):
        raise UnsupportedError(
            "a motion can be prescribed only to a MechanicalSystem, whose forces follow from "
            "it; for a ControlSystem pose the motion as a goal"
        )
    if not motion:
        raise PosingError("nothing is prescribed: give a coordinate, as in {'q1': ds.time**2}")
    goals = [
        Holonomic(PREFIX + name, _residual(system, name, given)) for name, given in motion.items()
    ]
    return Prescribed(
        replace(system, goals=[*system.goals, *goals]), tuple(motion), tuple(system.inputs.names)
    )


def _residual(system: MechanicalSystem, name: str, given: Any) -> ca.SX:
    owner = f"the motion of {name!r}"
    if is_tuple(given) and len(given) == 2:
        quantity = as_scalar(f"the quantity {name!r}", given[0])
        wanted: Any = given[1]
    else:
        if name not in system.coordinates:
            raise unknown_name(
                "coordinate with a motion; for another quantity give a pair (expression, motion)",
                name,
                system.coordinates,
            )
        quantity, wanted = system.coordinates[name], given
    if isinstance(wanted, Table):
        wanted = wanted(time)
    if isinstance(wanted, str):
        wanted = expression_in(owner, wanted, named_symbols(system))
    return quantity - as_scalar(owner, wanted)


def check_freedom(rank: int, count: int, names: tuple[str, ...]) -> None:
    """Refuse a motion that leaves a degree of freedom.

    Parameters
    ----------
    rank, count
        The number of independent constraints, and the number of velocities.
    names
        The prescribed quantities.

    Raises
    ------
    FreedomLeftError
        A degree of freedom is left.
    """
    left = count - rank
    if left > 0:
        raise FreedomLeftError(
            f"{', '.join(names)} prescribe the motion except for {left} "
            f"{'freedoms' if left > 1 else 'freedom'}: prescribe that many more quantities, or "
            "pose these as goals (ds.Holonomic) and solve for the rest"
        )
