"""How a body in guides sets out: which supports are loaded, or whether friction holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daesolve.complementarity.policies import solve
from daesolve.dynamics import Dynamics
from daesolve.friction.guides import SHARP, SLOW_ENERGY, SMOOTHING
from daesolve.request import Request
from daesolve.resting.stiction import stiction_at
from daesolve.sliding import SLOW, refuse_open
from daesolve.variants import VariantProblem, with_variant

SET_OUT = 1e-10
"""Of the speed that the body reaches in the time of the run at its first acceleration: with it a
motion in space begins from rest, where friction has no direction."""
UNFELT = 1e-40
"""The same for a body that stays at rest: it has the direction in which it would begin to slide."""


@dataclass(frozen=True)
class SettingOut:
    """How a sliding motion begins.

    Parameters
    ----------
    values
        The discrete values by name, and the energy below which the motion is slow.
    state
        (nx,) the state, with a velocity where the body begins to slide from rest.
    resting
        Whether it stays at rest.
    energy
        The kinetic energy that it has or would reach, J.
    notes
        What was chosen, in words.
    """

    values: Mapping[str, float]
    state: np.ndarray
    resting: bool
    energy: float
    notes: tuple[str, ...]


def set_out(
    dynamics: Dynamics, values: Mapping[str, float], state: np.ndarray, request: Request
) -> SettingOut:
    """Choose the loaded supports at the start.

    Parameters
    ----------
    dynamics, values
        The equations, and p by name.
    state
        (nx,) the consistent start.
    request
        The start time, the end and the policy.

    Raises
    ------
    VariantError
        By its kind: no choice agrees with the signs of the reactions, none that is physical does,
        or several do, or the body leaves a support.
    """
    problem = VariantProblem(dynamics, values)
    time = request.start_time
    split = dynamics.position_count
    notes: list[str] = []
    resting, x, reached = False, state, 0.0
    if values[SMOOTHING] > SHARP or problem.sliding(state, time):
        here = problem.at(state, time)
        policy = "strict" if request.variant_policy == "strict" else "homotopy"
        solution = solve(here.complementarity, policy=policy)
        chosen = solution.chosen
        notes.extend(solution.notes)
    else:
        held = stiction_at(problem, state, time)
        resting, chosen = held.sticks, held.answer
        direction = np.array([held.direction[name] for name in problem.velocity_names])
        here = problem.at(state, time, direction)
        notes.append(held.sentence)
        planar = dynamics.guides is not None and dynamics.guides.planar
        reached = abs(held.growth * (request.until - time))
        if resting or not planar:
            x = state.copy()
            x[split:] = (UNFELT if resting else SET_OUT) * reached * direction
    assert chosen is not None
    refuse_open(dynamics, chosen.signs, "at the start")
    kinetic = max(0.5 * float(x[split:] @ here.mass @ x[split:]), 0.5 * reached**2)
    found = {**here.values, SLOW_ENERGY: SLOW * kinetic}
    return SettingOut(with_variant(found, chosen), x, resting, kinetic, tuple(notes))
