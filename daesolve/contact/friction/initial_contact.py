"""The beginning of a motion in guides: which supports are loaded, or whether friction holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.contact.complementarity.answers import VariantSolution
from daesolve.contact.complementarity.policies import solve
from daesolve.contact.friction.sliding import refuse_open
from daesolve.contact.friction.sticking import StickingSearch
from daesolve.contact.friction.stiction import stiction_at
from daesolve.contact.friction.variants import VariantProblem, with_variant
from daesolve.contact.posing.guides import SHARP, SLOW_ENERGY, SLOW_PART, SMOOTHING
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.choices import VariantPolicy
from daesolve.errors import SupportSticks

STARTS = 1e-10
"""The initial speed of a motion in space from rest, where friction has no direction, as a
fraction of the speed that the body would reach with its first acceleration during the run, or in
one second if that is shorter."""
LONGEST = 1.0
"""s"""
LEAST = 1e-300
"""The energy of a body that does not move, J."""
UNFELT = 1e-40
"""The same speed for a body that stays at rest, in the direction in which it would begin to
slide."""


@dataclass(frozen=True, eq=False)
class InitialContact:
    """The beginning of a motion in guides.

    Parameters
    ----------
    values
        The discrete values by name, and the energy below which the motion is slow.
    state
        (nx,) the state, with a velocity if the body begins to slide from rest.
    resting
        Whether it stays at rest.
    energy
        The kinetic energy that it has or would reach, J.
    notes
        Sentences about the choice.
    """

    values: Mapping[str, float]
    state: np.ndarray
    resting: bool
    energy: float
    notes: tuple[str, ...]


def initial_contact(
    dynamics: Dynamics,
    values: Mapping[str, float],
    state: np.ndarray,
    span: tuple[float, float],
    policy: VariantPolicy,
) -> InitialContact:
    """Choose the loaded supports at the start.

    Parameters
    ----------
    dynamics, values
        The equations, and p by name.
    state
        (nx,) the consistent start.
    span
        The start and the end of the run, s.
    policy
        What to do if there are several answers: "strict" refuses.

    Raises
    ------
    VariantError
        Depending on its kind: no choice agrees with the signs of the reactions, none of these is
        physical, several are, or the body leaves a support.
    """
    problem = VariantProblem(dynamics, values)
    time, until = span
    split = dynamics.position_count
    notes: list[str] = []
    resting, x, reached = False, state, 0.0
    if values[SMOOTHING] > SHARP or problem.sliding(state, time):
        here = problem.at(state, time)
        solution = solve(
            here.complementarity, policy="strict" if policy == "strict" else "homotopy"
        )
        chosen = solution.chosen
        notes.extend([_listed(solution), *solution.notes])
    else:
        _refuse_rolling(state[split:])
        held = stiction_at(problem, state, time)
        resting, chosen = held.sticks, held.answer
        direction = np.array([held.direction[name] for name in problem.velocity_names])
        here = problem.at(state, time, direction)
        notes.append(held.sentence)
        if problem.guides.brakes and not resting:
            chosen = solve(here.complementarity).chosen
        planar = problem.guides.planar
        reached = abs(held.growth * (until - time))
        if not planar:
            x = state.copy()
            small = UNFELT * reached if resting else first_speed(held.growth, until - time)
            x[split:] = small * direction
    if problem.guides.brakes:
        notes.append(_shared([brake.name for brake in problem.guides.brakes]))
    assert chosen is not None
    refuse_open(dynamics, chosen.signs, "at the start")
    kinetic = 0.5 * float(x[split:] @ here.mass @ x[split:])
    found = {**here.values, SLOW_ENERGY: max(SLOW_PART * kinetic, LEAST)}
    found |= StickingSearch(dynamics).headed(time, x, problem.numbers)
    found |= problem.slips.bearing(at_rest=resting)
    energy = max(kinetic, 0.5 * reached**2)
    return InitialContact(with_variant(found, chosen), x, resting, energy, tuple(notes))


def first_speed(growth: float, span: float) -> float:
    """Return the speed with which a motion in space begins from rest.

    Parameters
    ----------
    growth
        The growth of the speed, in units of it per second.
    span
        The time to the end of the run, s.
    """
    return STARTS * growth * min(span, LONGEST)


def _refuse_rolling(velocities: np.ndarray) -> None:
    """Refuse a start in which nothing slides although the body moves.

    Raises
    ------
    SupportSticks
        Nothing slides.
    """
    if np.any(velocities):
        raise SupportSticks(
            "at the start no support slides although the body moves, and the equations do not "
            "include sticking supports; start where one slides, or at rest"
        )


def _shared(laws: Sequence[str]) -> str:
    """Return a sentence on what laws of friction bear at rest."""
    return (
        f"while friction holds the body, how the supports and {', '.join(map(repr, laws))} share "
        "their load is not determined: such a law shows what it bears at most"
    )


def _listed(solution: VariantSolution) -> str:
    """Return a sentence on which supports are loaded, and which others could be."""
    assert solution.chosen is not None
    loaded = f"the supports {solution.chosen.variant} are loaded at the start"
    others = [answer for answer in solution.answers if answer.variant != solution.chosen.variant]
    if not others:
        return loaded
    listed = [f"{one.variant}{'' if one.physical else ' (not physical)'}" for one in others]
    return f"{loaded}; {', '.join(listed)} could be loaded instead"
