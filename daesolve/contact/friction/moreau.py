"""Moreau's time stepping: impulses over steps of equal length, without events."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from daesolve.contact.friction.contact_steps import ContactEquations, ContactStep
from daesolve.contact.friction.impulse_equations import StepEquations
from daesolve.contact.friction.impulse_step import ImpulseStep, take_step
from daesolve.contact.friction.steppable import Steppable
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.guides import SHARP
from daesolve.core.equations.consistency import check_named, complete_start
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import (
    ContactError,
    Named,
    OutOfRangeError,
    VariantError,
    is_number,
    suggest_names,
    unknown_name,
)

Step = TypeVar("Step", ContactStep, ImpulseStep)
STILL = 1e-9
"""The slip that counts as zero at rest, relative to the largest velocity."""
MOST_STEPS = 10_000_000
"""More steps than this are refused, because their results would not fit in memory."""


@dataclass(frozen=True, eq=False)
class TimeStepping:
    """A motion in steps.

    Parameters
    ----------
    times
        (k + 1,) s: the start, then the ends of the steps.
    states
        (k + 1,) each, by name.
    impulses
        Signed normal impulses of each pair over each step, (k,), N s: positive if the second
        support is loaded; those of contacts are never negative.
    frictions
        Friction impulses of each contact over each step along its slip, (k,), or in space along
        both directions, (k, 2), N s; none for pairs.
    loaded
        The loaded support of each pair in each step, 1 or 2, (k,); for a contact, 1 if it is
        loaded; 0 if nothing is loaded.
    slipping
        Whether it slides at the end of each step, (k,).
    rest_time
        The end of the step in which the last slip ended, s; None if a support still slides. With
        contacts, the end of the last step after which something moves.
    energy
        Kinetic and potential, (k + 1,), J.
    friction_work
        The friction work since the start, (k + 1,), J: never positive if guides are fixed.
    violation
        The largest violation of constraints or gaps by positions, or change of invariants of
        positions, over all steps, in their own units. It arises because constraints are imposed
        only on velocities.
    iterations
        The number of linear solves in each step, (k,).
    """

    times: np.ndarray
    states: Mapping[str, np.ndarray]
    impulses: Mapping[str, np.ndarray]
    frictions: Mapping[str, np.ndarray]
    loaded: Mapping[str, np.ndarray]
    slipping: Mapping[str, np.ndarray]
    rest_time: float | None
    energy: np.ndarray
    friction_work: np.ndarray
    violation: float
    iterations: np.ndarray

    def __post_init__(self) -> None:
        suggest_names(self, states="state", impulses="support", loaded="support")
        suggest_names(self, slipping="support", frictions="contact")

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a state by name, (k + 1,)."""
        if name not in self.states:
            raise unknown_name("state", name, self.states)
        return self.states[name]

    @property
    def reactions(self) -> dict[str, np.ndarray]:
        """The mean signed reaction of each pair or contact over each step, (k,), N."""
        lengths = np.diff(self.times)
        return Named(((name, j / lengths) for name, j in self.impulses.items()), "support")

    @property
    def end_state(self) -> dict[str, float]:
        """The last state, by name."""
        return Named(((name, float(x[-1])) for name, x in self.states.items()), "state")


def moreau(
    system: MechanicalSystem,
    start: Mapping[str, float],
    until: float,
    step: float,
    parameters: Mapping[str, float] | None = None,
) -> TimeStepping:
    """Integrate a system with contacts or pairs of supports by Moreau's midpoint rule.

    Forces are evaluated in the middle of a step, and friction opposes the slip at its end. The
    first-order steps pass through impacts, switches of supports, stops, and jams that end in a
    shock. A body at rest under a load below the friction limit stays in place.

    Parameters
    ----------
    system
        A system with contacts, or with two-sided pairs of supports.
    start
        Values of states by name; missing ones follow from the constraints.
    until
        The end, s; the start is at 0.
    step
        The length of a step, s; it is shortened slightly if it does not divide `until`.
    parameters
        Values that override the defaults.

    Raises
    ------
    PosingError, UnsupportedError
        The system has neither contacts nor pairs, or something that time stepping does not support.
    OutOfRangeError, UnknownNameError
        A number is out of range, or a name is unknown.
    VariantError, ContactError
        Depending on its kind: no impulses of the supports were found in a step, or none that are
        physical; the message gives the time.

    Notes
    -----
    Each step includes all contacts whose gaps are not positive in its middle. They obey Newton's
    impact law, which also pushes resting contacts. Impacts are spread over a step, and a gap may be
    negative by as much as a body moves in one step. If a contact has several possible states, it
    keeps the state of the last step.

    If several solutions exist, a step continues the last solution as long as all supports keep
    sliding; otherwise it takes the solution connected to the frictionless one.

    Source: J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988.
    """
    for name, value in (("until", until), ("step", step)):
        if not is_number(value) or not value > 0.0:
            raise OutOfRangeError(f"{name} is {value!r}, but must be a positive number of seconds")
    if until / step > MOST_STEPS:
        raise OutOfRangeError(
            f"{until / step:.3g} steps are more than {MOST_STEPS:.0e}: choose a longer step"
        )
    touching = isinstance(system, MechanicalSystem) and bool(contacts_in(system.dynamics))
    equations = (ContactEquations if touching else StepEquations)(system, parameters)
    numbers = equations.numbers
    found = complete_start(equations.dynamics, numbers, check_named("start", start))
    times = np.linspace(0.0, until, max(int(np.ceil(until / step * (1.0 - 1e-12))), 1) + 1)
    if isinstance(equations, ContactEquations):
        steps = _march(equations, equations.step, found.state, times)
        frictions, moving = _frictions(equations, steps), _moving(equations, steps)
    else:
        steps = _march(equations, partial(_pair_step, equations), found.state, times)
        frictions, moving = {}, _sliding(equations, steps)
    ended = int(np.max(np.flatnonzero(moving), initial=-1)) + 1
    states, taken = steps.states, steps.taken

    def named(rows: list[np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(equations.names, np.array(rows).T, strict=True))

    return TimeStepping(
        times=times,
        states=dict(zip(equations.dynamics.labels.states, states.T, strict=True)),
        impulses=named([one.normal for one in taken]),
        frictions=frictions,
        loaded=named([one.loaded for one in taken]),
        slipping=named([one.slipping for one in taken]),
        rest_time=float(times[ended]) if ended < len(times) else None,
        energy=np.array([equations.energy(time, x) for time, x in zip(times, states, strict=True)]),
        friction_work=np.cumsum([0.0, *(one.work for one in taken)]),
        violation=steps.violation,
        iterations=np.array([one.iterations for one in taken]),
    )


@dataclass(frozen=True, eq=False)
class Steps(Generic[Step]):
    """Steps that were taken, the states between them, and the largest violation."""

    states: np.ndarray
    taken: list[Step]
    violation: float


def _march(
    equations: Steppable,
    take: Callable[[float, np.ndarray, float, Step | None], Step],
    x: np.ndarray,
    times: np.ndarray,
) -> Steps[Step]:
    """Take steps: `take` gets the time and state in the middle, the length and the step before."""
    split, step = equations.dynamics.position_count, (times[-1] - times[0]) / (len(times) - 1)
    half, states, steps, last = step / 2.0, [x], list[Step](), None
    missed, kept = equations.missed(times[0], x), equations.invariants(times[0], x)
    for begin, end in itertools.pairwise(times):
        middle = begin + half
        centre = np.append(x[:split] + half * equations.position_rates(begin, x), x[split:])
        try:
            last = take(middle, centre, step, last)
        except (ContactError, VariantError) as error:
            raise type(error)(f"in the step from {begin:g} s: {error}", error.solution) from error
        after = np.append(centre[:split], last.velocities)
        position = centre[:split] + half * equations.position_rates(middle, after)
        x = np.append(position, last.velocities)
        states.append(x)
        steps.append(last)
        off = float(np.max(np.abs(equations.invariants(end, x) - kept)))
        missed = max(missed, equations.missed(end, x), off)
    return Steps(np.array(states), steps, missed)


def _frictions(equations: ContactEquations, steps: Steps[ContactStep]) -> dict[str, np.ndarray]:
    """Return the friction impulses of contacts that have friction."""
    names = equations.names
    tangential = np.array([taken.impulses[len(names) :] for taken in steps.taken])
    tangential = tangential.reshape(len(steps.taken), len(names), -1)
    if equations.width == 1:
        tangential = tangential[:, :, 0]
    rubbing = [k for k, rows in enumerate(equations.slips) if rows[0] is not None]
    return {names[k]: tangential[:, k] for k in rubbing}


def _moving(equations: ContactEquations, steps: Steps[ContactStep]) -> np.ndarray:
    """Return at which times something moves."""
    velocities = steps.states[:, equations.dynamics.position_count :]
    speeds: np.ndarray = np.max(np.abs(velocities), axis=1)
    return speeds > STILL * np.max(speeds)


def _sliding(equations: StepEquations, steps: Steps[ImpulseStep]) -> np.ndarray:
    """Return at which times a loaded support slides."""
    rubbing = equations.speeds(0.0, steps.states[0]) > 1e3 * SHARP
    first: np.ndarray = rubbing[0]
    second: np.ndarray = rubbing[1]
    begins = np.where(steps.taken[0].loaded == 2, second, first)
    return np.array([np.any(begins), *(np.any(taken.slipping) for taken in steps.taken)])


def _pair_step(
    equations: StepEquations, time: float, x: np.ndarray, length: float, last: ImpulseStep | None
) -> ImpulseStep:
    """Take a step of pairs of supports, unless it repeats the last one."""
    balance = equations.balance(time, x, length)
    if last is not None and balance.repeats(last.balance):
        return replace(last, iterations=0)
    return take_step(balance, last)
