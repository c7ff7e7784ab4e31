"""Two laws by which nothing slips: rollers without inertia, and rolling with impacts.

`impacts`: the contact roller rolls, u_n = u_tau = 0. Where a wheel goes over to its next roller the
constraints of that roller are imposed at once, in the metric of the masses: Carnot's loss.

`inertialess`: rollers have mass but do not turn about their own axes, so the roller's spin takes
away any slip across its axis, and one constraint a wheel is left, u_tau with u_n = 0:

    V . tau + lambda w + l chi' + (V . n) tan(psi) / cos(chi) = 0.

Its coefficients depend on where the roller touches, unless psi = 0, and jump where a wheel goes
over to its next roller: lambda = -r tan(chi) tan(psi) changes its sign. So inclined rollers lose
energy at their changes even without inertia. The thesis' model (`omni-inertialess`) puts the
contact in the middle of the wheel, chi = 0 throughout; for psi = 0 the two are the same.
"""

from __future__ import annotations

import daesolve as ds
from daesolve.typing import Order
from daesolve_problems.omni_laws.description import IMPACTS, INERTIALESS
from daesolve_problems.omni_laws.equations import (
    Model,
    independent,
    model_of,
    roller_switch,
    speed,
)

SIDES = ("n", "tau")


def impacts(wheels: int, rollers: int, imposition: Order, compliant: bool) -> ds.MechanicalSystem:
    """Pose the vehicle whose contact rollers roll, each brought to its speed by an impact.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    model = model_of(IMPACTS, wheels, rollers)
    goals = [
        ds.Nonholonomic(
            f"no_slip_{side}_{stand.i}",
            stand.slip[place],
            unit="N",
            reaction_name=f"force_{side}_{stand.i}",
        )
        for stand in model.stands
        for place, side in enumerate(SIDES)
    ]
    return _system(model, goals, imposition)


def inertialess(
    wheels: int, rollers: int, imposition: Order, compliant: bool
) -> ds.MechanicalSystem:
    """Pose the vehicle whose rollers turn without inertia: one constraint a wheel.

    Raises
    ------
    OutOfRangeError
        There are too few wheels or rollers.
    """
    model = model_of(INERTIALESS, wheels, rollers)
    goals = [
        ds.Nonholonomic(
            f"no_slip_{stand.i}", stand.lagging, unit="N", reaction_name=f"force_{stand.i}"
        )
        for stand in model.stands
    ]
    return _system(model, goals, imposition)


def _system(model: Model, goals: list[ds.Nonholonomic], imposition: Order) -> ds.MechanicalSystem:
    names = [goal.name for goal in goals]
    return model.system(
        goals=goals,
        independent=independent(model),
        events=[roller_switch(model, names, imposition)],
        outputs={"speed": speed(model)},
    )
