"""Computed torque: inputs, as functions of the state, that produce requested accelerations.

The requested accelerations a, those of the constraints, and the balance of forces form one linear
system for v', reactions r and inputs u,

    M v' - B r - H u = h,    J v' + b = 0,    S v' + s = a,

which is solved once, symbolically, in the order in which a run eliminates its reactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca

from daesolve.analysis.prescribed import prescribed
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.guides import guides_in
from daesolve.core.encoding import is_tuple
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.saddle import EliminationPlan, Saddle
from daesolve.core.posing.goals import as_scalar
from daesolve.core.system.driving import driven, named_symbols
from daesolve.core.system.system import System
from daesolve.core.system.written import expression_in
from daesolve.errors import PosingError, UnsupportedError


def computed_torque(
    system: System,
    accelerations: Mapping[str, Any],
    *,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, ca.SX]:
    """Return the inputs that give quantities the requested accelerations.

    With a = r'' + d (r' - q') + k (r - q) the error of q obeys e'' + d e' + k e = 0, whatever the
    masses and the loops: feedback linearisation.

    Parameters
    ----------
    system
        The system as posed. Its inputs without given values are computed; there must be as many as
        accelerations.
    accelerations
        By the name of a coordinate, its second derivative as an expression of time, states and
        parameters; or, under any name, a pair: a quantity (an expression of coordinates) and its
        second derivative.
    inputs
        The other inputs: numbers, or expressions of time, states and parameters.

    Returns
    -------
    dict
        Expressions by the names of inputs. Pass them to a run as its `inputs`, or to a
        `daesolve.sampled` law.

    Raises
    ------
    PosingError
        There are more or fewer inputs than accelerations, or they do not determine each other.
    UnsupportedError
        The system has contacts or pairs of supports, or an input is not a force.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q, u = ds.coordinates(phi="rad"), ds.inputs(torque="N m")
    >>> arm = ds.MechanicalSystem(
    ...     q,
    ...     kinetic=2.0 * q.dot.phi**2,
    ...     potential=5 * ca.sin(q.phi),
    ...     force={"phi": u.torque},
    ...     inputs=u,
    ... )
    >>> law = ds.analysis.computed_torque(arm, {"phi": -9 * q.phi - 6 * q.dot.phi})
    >>> run = ds.solve(arm, 1.0, {"phi": 0.5}, inputs=law)
    >>> round(float(run["phi"][-1] / (0.5 * 4 * ca.exp(-3))), 12)  # e = e0 (1 + 3 t) exp(-3 t)
    1.0
    """
    numbers: dict[str, float] = {}
    if inputs:
        system, numbers = driven(system, inputs)
    still = {name: _quantity(given) for name, given in accelerations.items()}
    task = prescribed(system, still)
    drives = tuple(name for name in task.drives if name not in numbers)
    if len(drives) != len(task.names):
        raise PosingError(
            f"{len(task.names)} accelerations ({', '.join(task.names)}) are requested, but "
            f"{len(drives)} inputs ({', '.join(drives) or 'none'}) are free to produce them: the "
            "numbers must be equal; give the values of other inputs in inputs={...}"
        )
    task, dynamics = replace(task, drives=drives), task.system.dynamics
    if contacts_in(dynamics) or guides_in(dynamics) is not None:
        raise UnsupportedError(
            "computed torque does not support contacts or pairs of supports, because it is not "
            "known in advance which are loaded"
        )
    wanted = {
        f"prescribed_{name}": _wanted(system, name, given) for name, given in accelerations.items()
    }
    return _solved(dynamics, task.goals, task.influence(dynamics), drives, wanted, numbers)


def _quantity(given: Any) -> Any:
    return (given[0], 0.0) if is_tuple(given) else 0.0


def _wanted(system: System, name: str, given: Any) -> ca.SX:
    value: Any = given[1] if is_tuple(given) else given
    owner = f"the acceleration of {name!r}"
    if isinstance(value, str):
        value = expression_in(owner, value, named_symbols(system))
    return as_scalar(owner, value)


def _solved(
    dynamics: Dynamics,
    goals: tuple[str, ...],
    acting: ca.SX,
    drives: tuple[str, ...],
    wanted: Mapping[str, ca.SX],
    numbers: Mapping[str, float],
) -> dict[str, ca.SX]:
    """Solve for the drives, which replace the reactions of the goals."""
    rows = {row.name: row for row in dynamics.rows}
    influence = ca.SX(dynamics.influence)
    places: list[int] = []
    for k, name in enumerate(goals):
        place = rows[name].reaction
        assert place is not None
        influence[:, place] = acting[:, k]
        places.append(place)
    directed = tuple(
        replace(row, reaction=None) if row.name in goals else row for row in dynamics.rows
    )
    order = list(dynamics.values)
    own = ca.vertcat(*[dynamics.p[order.index(name)] for name in drives])
    unforced = ca.substitute(dynamics.force, own, ca.SX.zeros(*own.shape))
    whole = replace(dynamics, rows=directed, influence=influence)
    saddle = Saddle(whole, EliminationPlan(refinements=1))
    targets = [wanted.get(row.name, ca.SX(0)) - row.bias for row in directed]
    offsets = [row.offset for row in dynamics.relations]
    _, reactions = saddle.solve(unforced, targets, offsets)
    forces = dynamics.without_feedback(ca.vertcat(*[reactions[place] for place in places]))
    fixed = [dynamics.p[order.index(name)] for name in numbers]
    if fixed:
        forces = ca.substitute(forces, ca.vertcat(*fixed), ca.DM([*numbers.values()]))
    return dict(zip(drives, ca.vertsplit(forces), strict=True))
