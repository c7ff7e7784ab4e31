"""Whether a motion is the same at another time.

Some discrete values are instants: when a slip ended, when impacts that are left out will have
ended. They move with the clock, so that guards which compare them with the time do not depend on
it.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.value_names import instants

SAMPLES = 8
"""The number of random places at which expressions are compared with themselves later."""
ALIKE = 1e-12
"""The relative difference that is rounding."""


def clocks(dynamics: Dynamics) -> tuple[str, ...]:
    """Return the discrete values that are set to instants along a motion."""
    t, rows = dynamics.t, dynamics.resets.values()
    set_to_time = [n for row in rows for n, value in row.values.items() if ca.is_equal(value, t)]
    of_drives = {name for row in dynamics.drives for name in row.values}
    own = [name for name in instants(dynamics.values) if name not in of_drives]
    return tuple(dict.fromkeys([*set_to_time, *own]))


def resets_of(dynamics: Dynamics) -> ca.SX:
    """Return the values set by resets, in the symbols of the equations."""
    resets = [
        expression
        for row in dynamics.resets.values()
        for expression in (*row.states.values(), *row.values.values(), row.restitution)
    ]
    return ca.vertcat(ca.SX(0, 1), *resets)


def is_autonomous(dynamics: Dynamics, problem: OdeProblem) -> bool:
    """Return whether rates, guards and resets are the same at another time.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated, without charts.
    """
    t, x, p = (problem.rhs.sx_in(k) for k in range(3))
    smooth = ca.vertcat(problem.rhs(t, x, p), problem.guards(t, x, p))
    moving, none = clocks(dynamics), ca.SX(0, 1)
    fired = ca.vertcat(none, *(row.fired for row in dynamics.resets.values()))
    places = np.isin(list(problem.values), moving), np.isin(list(dynamics.values), moving)
    return _moves_along(smooth, (t, x, p, none), places[0]) and _moves_along(
        resets_of(dynamics), (dynamics.t, dynamics.x, dynamics.p, fired), places[1]
    )


def _moves_along(
    expression: ca.SX, arguments: tuple[ca.SX, ca.SX, ca.SX, ca.SX], clocks: np.ndarray
) -> bool:
    """Return whether an expression of (t, x, p, flags) is the same later, with later clocks.

    An entry that is the time itself is later, too.
    """
    t, x, p, flags = arguments
    timed = ca.which_depends(expression, t, 1, True)
    entries = [
        entry for entry, is_timed in zip(ca.vertsplit(expression), timed, strict=True) if is_timed
    ]
    if not entries:
        return True
    function = Evaluator(
        ca.Function("compared", list(arguments), [ca.densify(ca.vertcat(*entries))])
    )
    itself = np.array([ca.is_equal(entry, t) for entry in entries], dtype=float)
    generator, known = np.random.default_rng(3), np.zeros(len(entries), dtype=bool)
    for _ in range(SAMPLES):
        state, values = generator.normal(size=x.numel()), generator.normal(size=p.numel())
        chosen = generator.integers(0, 2, size=flags.numel()).astype(float)
        time, later = generator.normal(size=2).tolist()
        first, second = (
            function(time + moved, state, values + moved * clocks, chosen)[0]
            for moved in (0.0, later)
        )
        if not np.allclose(second, first + later * itself, ALIKE, ALIKE, equal_nan=True):
            return False
        known |= np.isfinite(first)
    return bool(known.all())
