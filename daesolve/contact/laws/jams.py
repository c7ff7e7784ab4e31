"""Where contacts jam: the motion up to there, and the impact without a collision that may follow.

A jam is near where the ratio r of the determinants of the sliding contacts, with friction and
without, falls to zero (`posing.jamming`). Reactions grow like r^(C - 1), with 0 < C < 1, so
that the state has a limit, but no derivative there, and steps in time become ever shorter. In tau
with dt = r T dtau, T the time in which r would fall from one to zero, all is smooth and tends
exponentially to the jam: r like exp(-tau), the velocities like exp(-C tau).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from daesolve.contact.decisions import Contacts
from daesolve.contact.following import DensePath, follow, root
from daesolve.contact.laws.frictional_instant import ContactNumbers, DecisionState, TouchingContacts
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.jamming import NEAR
from daesolve.contact.posing.names import JAM
from daesolve.core.events.law import Setting
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.singular_values import singular_directions
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.solvers.grazing import guard_evaluator
from daesolve.errors import ContactError, JamEvent, NoMotion, VariantError

END = 1e-10
"""The ratio at which positions continue with their velocities: beyond, reactions are rounding."""
LEFT = 1e-3
"""The part of that ratio that is left, so that reactions are numbers still."""
AWAY = 2.0
"""Beyond this many times the ratio at the entry the motion does not jam after all."""
MOST_STEPS = 2000
TOLERANCE = 1e-12
"""The tolerance of a step."""
BEYOND = 1e-9
"""The impact that follows a jam is computed with friction larger by this fraction."""
TAU = 2e-12
"""The accuracy of tau where a guard or a time is sought."""
SHARE = 1e-6
"""A reaction takes part in a jam if it is more than this fraction of the largest in the direction
that grows."""


@dataclass(frozen=True, eq=False)
class Approach:
    """A motion towards a jam.

    Parameters
    ----------
    time, state
        Where it ended; s.
    passed
        The guard that passed zero there, the ratio being the first of all; None if none did and
        the motion continues as any other.
    samples
        (k, size) states at the times requested and reached.
    evaluations
        Of the right-hand side.
    """

    time: float
    state: np.ndarray
    passed: int | None
    samples: np.ndarray
    evaluations: int


@dataclass(frozen=True, eq=False)
class JammingMotion:
    """A motion of contacts that slide.

    Parameters
    ----------
    rate
        (time, state) -> state'
    grip
        (time, state) -> what reactions are divided by where they are solved for, which falls to
        zero with the ratio. It has the same rounding as they have: their product has none.
    guards
        (time, state) -> guards and their rates, (k,) each: the ratio, and others that are positive
        in the mode.
    positions
        Which states are positions.
    """

    rate: Callable[[float, np.ndarray], np.ndarray]
    grip: Callable[[float, np.ndarray], float]
    guards: Callable[[float, np.ndarray], tuple[np.ndarray, np.ndarray]]
    positions: np.ndarray


def approach(
    sliding: JammingMotion,
    place: tuple[float, np.ndarray],
    until: float,
    times_up_to: Callable[[float], np.ndarray],
) -> Approach:
    """Follow a motion to where the ratio, or another guard, is zero.

    Parameters
    ----------
    sliding, place
        What moves, and time and state where a jam is near, s.
    until
        The end of the run, s.
    times_up_to
        Time -> the sample times up to there, s.
    """
    time, x = place
    values, rates = sliding.guards(time, x)
    first = float(values[0])
    path, evaluations = DensePath(0.0, np.append(x, 0.0)), 0
    passed = 0 if abs(first) <= END else None
    if first > END and rates[0] < 0.0:
        stepper = _stepper(sliding, place, first, float(rates[0]))
        passed = _stepped(sliding, time, stepper, path, until)
        evaluations = stepper.nfev
    end, state = float(time + path.states[-1][-1]), path.states[-1][:-1]
    if passed == 0:
        values, rates = sliding.guards(end, state)
        ahead = max((float(values[0]) - LEFT * END) / -float(rates[0]), 0.0)
        moved = state + ahead * sliding.rate(end, state)
        end, state = end + ahead, np.where(sliding.positions, moved, state)
    if end > until:
        end, state, passed = until, _state_at(path, until - time), None
    samples = np.array([_state_at(path, moment - time) for moment in times_up_to(end)])
    return Approach(end, state, passed, samples.reshape(-1, len(x)), evaluations)


def _stepper(
    sliding: JammingMotion, place: tuple[float, np.ndarray], ratio: float, rate: float
) -> scipy.integrate.DOP853:
    """Return what takes steps in tau."""
    time, x = place
    scale = ratio / sliding.grip(time, x) / -rate

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        moment, state = float(time + y[-1]), y[:-1]
        return sliding.grip(moment, state) * scale * np.append(sliding.rate(moment, state), 1.0)

    # What a part of the ratio takes is known as well as the whole ratio is.
    size = np.append(np.maximum(np.abs(x), np.max(np.abs(x))), -1.0 / rate)
    options: dict[str, Any] = {"rtol": TOLERANCE, "atol": TOLERANCE * size}
    return scipy.integrate.DOP853(slope, 0.0, np.append(x, 0.0), np.inf, **options)


def _stepped(
    sliding: JammingMotion,
    time: float,
    stepper: scipy.integrate.DOP853,
    path: DensePath,
    until: float,
) -> int | None:
    """Take steps until a guard passes zero, or the motion leads away; return which."""

    def guards(_: float, y: np.ndarray) -> np.ndarray:
        return sliding.guards(float(time + y[-1]), y[:-1])[0]

    def passed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        crossed = (before > 0.0) & (after <= 0.0)
        crossed[0] = after[0] <= END
        return np.flatnonzero(crossed)

    def over(y: np.ndarray, values: np.ndarray) -> bool:
        away = time + y[-1] >= until or values[0] > AWAY * first
        return bool(away) or len(path.times) > MOST_STEPS

    first = guards(0.0, path.states[0])[0]
    crossed = follow(stepper, path, guards, passed, over)
    others = [guard for guard in crossed if guard]
    if not others:
        return 0 if crossed else None
    within, (begin, end) = path.pieces[-1], path.times[-2:]
    roots = {
        guard: root(lambda tau, k=guard: float(guards(tau, within(tau))[k]), begin, end, TAU)
        for guard in others
    }
    earliest = min(roots, key=roots.__getitem__)
    path.cut(roots[earliest])
    return earliest


def _state_at(path: DensePath, elapsed: float) -> np.ndarray:
    """Return the state at a time since the entry, s."""
    reached = [float(state[-1]) for state in path.states[1:]]
    step = int(np.searchsorted(reached, elapsed))
    if step == len(reached):
        return path.states[-1][:-1]
    within, (begin, end) = path.pieces[step], path.times[step : step + 2]
    return within(root(lambda tau: float(within(tau)[-1]) - elapsed, begin, end, TAU))[:-1]


# -- at the jam ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnboundedReactions:
    """What grows without bounds where contacts jam.

    Parameters
    ----------
    names
        Of the contacts whose reactions grow.
    thrown
        (nv,) the velocities that a unit of it gives.
    left
        (2 n,) the accelerations of gaps and slips without reactions weigh by this: where that is
        zero, finite reactions are possible.
    """

    names: tuple[str, ...]
    thrown: np.ndarray
    left: np.ndarray


def growth(
    numbers: ContactNumbers, instant: TouchingContacts, slips: np.ndarray, p: np.ndarray
) -> UnboundedReactions:
    """Return what grows where the matrix of reactions is singular.

    Parameters
    ----------
    numbers, instant
        The contacts, and those that touch.
    slips, p
        (n,) the slips of these, m/s, and the values of their mode.
    """
    count, contacts = len(instant.which), instant.contacts
    which: list[int] = instant.which.tolist()
    rubbing = [numbers.rubbing[k] for k in which]
    stuck = [k for k, own in enumerate(rubbing) if own is not None and p[own.sticks] == 1.0]
    rows = [*range(count), *(count + k for k in stuck)]
    pulls = np.eye(2 * count)[:, rows]
    sliding = [k for k in range(count) if k not in stuck]
    pulls[[count + k for k in sliding], sliding] = -(contacts.friction * np.sign(slips))[sliding]
    matrix = (contacts.matrix @ pulls)[rows]
    lengths = np.sqrt(np.abs(np.diag(contacts.matrix)[rows]))
    found = singular_directions(matrix / lengths / lengths[:, None])
    grows = found.right[-1] / lengths
    grows *= np.sign(np.sum(grows[:count]) or 1.0)
    weighs = np.zeros(2 * count)
    weighs[rows] = found.left[:, -1] / lengths
    acting = np.abs(grows[:count]) > SHARE * np.max(np.abs(grows[:count]))
    names = tuple(name for name, acts in zip(contacts.names, acting, strict=True) if acts)
    return UnboundedReactions(names, instant.thrown @ pulls @ grows, weighs)


def limit(
    instant_at: Callable[[np.ndarray], TouchingContacts],
    velocities: np.ndarray,
    found: UnboundedReactions,
) -> np.ndarray:
    """Return the velocities with which contacts jam, from those just before.

    What still grows is an impulse, after which finite reactions would be possible: accelerations
    without reactions depend on the velocities.

    Parameters
    ----------
    instant_at
        Velocities -> what touches with them, positions being those of the jam.
    velocities
        (nv,)
    found
        What grows.
    """
    size = float(np.linalg.norm(velocities))
    step = size / max(float(np.linalg.norm(found.thrown)), np.finfo(float).tiny)

    def miss(impulse: float) -> float:
        return float(found.left @ instant_at(velocities + impulse * found.thrown).free)

    root = scipy.optimize.root_scalar(miss, x0=0.0, x1=1e-6 * step, xtol=1e-15 * step)
    if not (root.converged and 0.0 <= root.root <= step):
        return velocities
    return velocities + root.root * found.thrown


@dataclass(frozen=True)
class JamGuards:
    """The event of a jam, the guard that one is near, and that it has come."""

    event: int
    near: int
    here: int

    @staticmethod
    def of(setting: Setting) -> JamGuards | None:
        """Return those of a problem in which contacts rub."""
        names = [event.name for event in setting.table.events]
        if JAM not in names or not any(row.rubbing for row in contacts_in(setting.dynamics)):
            return None
        event = names.index(JAM)
        first = int(setting.table.firsts[event])
        return JamGuards(event, first, first + 1)


def beyond_jam(contacts: Contacts) -> Contacts:
    """Return contacts that rub a little more than where they jam.

    There the impulse that ends the slip is on the edge of its cone, and a part of it would do.
    """
    return replace(
        contacts,
        friction=(1.0 + BEYOND) * contacts.friction,
        static_friction=(1.0 + BEYOND) * contacts.static,
    )


def stopped_by_jam(
    time: float,
    names: Sequence[str],
    no_motion: NoMotion | None = None,
    no_impact: ContactError | None = None,
) -> VariantError:
    """Return why contacts do not continue where they jam.

    Parameters
    ----------
    time, names
        When, s, and the contacts whose reactions grow without bounds, where they do.
    no_motion
        That no reactions agree, where that is why, and when.
    no_impact
        Why no impact without a collision follows; None if one would.
    """
    when = f"at t = {time:.10g} s"
    onward = '; on_jam = "impact" continues with an impact without collision, which ends the slip'
    if no_impact is not None:
        onward = f", and {no_impact}"
    if no_motion is not None:
        return NoMotion(f"{no_motion}{onward}", no_motion.solution)
    listed = ", ".join(map(repr, names))
    who = (
        f"contact {listed} jams: its reaction grows"
        if len(names) == 1
        else (f"contacts {listed} jam: their reactions grow")
    )
    return JamEvent(
        f"{when} the {who} without bounds while it still slides, and no finite forces let "
        f"rigid bodies continue from there{onward}"
    )


def sliding_of(
    problem: OdeProblem, position_count: int, guards: Sequence[int], p: np.ndarray
) -> JammingMotion:
    """Return the motion of a mode without feedback, which amplifies rounding near a jam.

    Parameters
    ----------
    problem, position_count, guards, p
        What is integrated, and how many positions it has; the guard that a jam is near, and those
        of contacts; the values of the mode.
    """
    own, pivots = list(guards), len(problem.pivot_goals)
    free = p.copy()
    free[[k for k, name in enumerate(problem.values) if ValueKind.RATE.is_a(name)]] = 0.0
    rate, residuals = Evaluator(problem.rhs), Evaluator(problem.residuals)
    evaluator = guard_evaluator(problem)

    def grip(time: float, x: np.ndarray) -> float:
        return float(np.prod(residuals(time, x, free)[0][-pivots:]))

    def guarded(time: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, rates = (np.array(part)[own] for part in evaluator(time, x, free))
        return np.append(values[0] + NEAR, values[1:]), rates

    positions = np.arange(problem.size) < position_count
    return JammingMotion(lambda time, x: np.array(rate(time, x, free)[0]), grip, guarded, positions)


def at_limit(numbers: ContactNumbers, time: float, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return a state just before a jam with the velocities of the jam itself."""
    first, count = numbers.dynamics.position_count, numbers.dynamics.x.numel()
    closed = numbers.closed(p)

    def instant(velocities: np.ndarray) -> tuple[TouchingContacts, np.ndarray]:
        states = np.concatenate([x[:first], velocities])
        place = DecisionState(time, states, x[count:], p)
        rates = numbers.rates(place)
        return numbers.instant(place, closed, rates), rates.slips[closed]

    found = growth(numbers, *instant(x[first:count]), p)
    velocities = limit(lambda v: instant(v)[0], x[first:count], found)
    return np.concatenate([x[:first], velocities, x[count:]])
