"""Where contacts jam: the motion up to there, and the impact without a collision that may follow.

A jam is near where the ratio r of the determinants of the sliding contacts, with friction and
without, falls to zero (`elimination.jamming`). Reactions grow like r^(C - 1), with 0 < C < 1, so
that the state has a limit, but no derivative there, and steps in time become ever shorter. In tau
with dt = r T dtau, T the time in which r would fall from one to zero, all is smooth and tends
exponentially to the jam: r like exp(-tau), the velocities like exp(-C tau).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from daesolve.contact import Contacts, State
from daesolve.errors import ContactError, JamEvent, NoMotion, VariantError
from daesolve.modes.law import Setting
from daesolve.modes.rubbing_instant import ContactNumbers, Instant
from daesolve.posing.guides import JAM

END = 1e-12
"""The ratio at which the limit is as near as rounding lets it be seen."""
AWAY = 2.0
"""Times the ratio at the entry, beyond which the motion does not jam after all."""
MOST_STEPS = 2000
TOLERANCE = 1e-13
"""Of a step."""
BEYOND = 1e-9
"""Of friction, how far beyond a jam the impact is looked for that follows it."""
SHARE = 1e-6
"""Of the largest, the part of a reaction in the direction that grows from which it jams."""

Rate = Callable[[float, np.ndarray], np.ndarray]
Grip = Callable[[float, np.ndarray], float]
Guards = Callable[[float, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Approach:
    """A motion towards a jam.

    Parameters
    ----------
    time, state
        Where it ended; s.
    jams
        Whether reactions grow without bounds there; else the motion goes on as any other.
    samples
        (k, size) states at the times that were asked for and reached.
    evaluations
        Of the right-hand side.
    """

    time: float
    state: np.ndarray
    jams: bool
    samples: np.ndarray
    evaluations: int


@dataclass(frozen=True, eq=False)
class _Path:
    """Steps of (state, time since the entry) in tau, and the interpolant of each."""

    start: np.ndarray
    ends: list[float] = field(default_factory=lambda: [0.0])
    pieces: list[Callable[[float], np.ndarray]] = field(default_factory=list)
    reached: list[np.ndarray] = field(default_factory=list)

    @property
    def last(self) -> np.ndarray:
        return self.reached[-1] if self.reached else self.start

    def at(self, elapsed: float) -> np.ndarray:
        """Return the state at a time since the entry, s."""
        for place, piece in enumerate(self.pieces):
            if elapsed <= self.reached[place][-1]:
                ends = self.ends[place : place + 2]
                tau = scipy.optimize.brentq(lambda tau, w=piece: w(tau)[-1] - elapsed, *ends)
                return piece(float(tau))[:-1]
        return self.last[:-1]


def approach(
    rate: Rate,
    grip: Grip,
    guards: Guards,
    place: tuple[float, np.ndarray],
    until: float,
    times_up_to: Callable[[float], np.ndarray],
) -> Approach:
    """Follow a motion to where the ratio is zero.

    Parameters
    ----------
    rate
        (time, state) -> state'
    grip
        (time, state) -> what reactions are divided by where they are solved for, which falls to
        zero with the ratio. It has the same rounding as they have: their product has none.
    guards
        (time, state) -> guards and their rates, (k,) each: the ratio, and others that bound the
        mode. Where one of these passes zero the motion ends a step before.
    place
        Time and state where a jam is near, s.
    until
        The end of the run, s.
    times_up_to
        Time -> the sample times up to there, s.
    """
    time, x = place
    values, rates = guards(time, x)
    first, inside = float(values[0]), values[1:] > 0.0
    path, jams, evaluations = _Path(np.append(x, 0.0)), abs(first) <= END, 0
    if first > END and rates[0] < 0.0:
        scale = first / grip(time, x) / -float(rates[0])

        def slope(_: float, y: np.ndarray) -> np.ndarray:
            moment = time + y[-1]
            return grip(moment, y[:-1]) * scale * np.append(rate(moment, y[:-1]), 1.0)

        size = np.append(np.maximum(np.abs(x), np.max(np.abs(x))), -1.0 / rates[0])
        stepper = scipy.integrate.DOP853(
            slope, 0.0, path.start, np.inf, rtol=TOLERANCE, atol=TOLERANCE * size
        )
        while len(path.pieces) < MOST_STEPS:
            stepper.step()
            y = np.array(stepper.y)
            values = guards(time + y[-1], y[:-1])[0]
            if stepper.status == "failed" or np.any(values[1:][inside] <= 0.0):
                break
            path.pieces.append(stepper.dense_output())
            path.ends.append(float(stepper.t))
            path.reached.append(y)
            jams = bool(values[0] <= END)
            if jams or time + y[-1] >= until or values[0] > AWAY * first:
                break
        evaluations = stepper.nfev
    end = float(time + path.last[-1])
    if end > until:
        end, jams = until, False
    samples = np.array([path.at(moment - time) for moment in times_up_to(end)])
    state = path.at(end - time) if end == until else path.last[:-1]
    return Approach(end, state, jams, samples.reshape(-1, len(x)), evaluations)


# -- at the jam ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Growth:
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


def growth(numbers: ContactNumbers, instant: Instant, p: np.ndarray, slips: np.ndarray) -> Growth:
    """Return what grows where the matrix of reactions is singular.

    Parameters
    ----------
    numbers, instant, p
        The contacts that touch, and the values of their mode.
    slips
        (n,) their slips, m/s.
    """
    count, contacts = len(instant.which), instant.contacts
    rubbing = [numbers.rubbing[k] for k in instant.which.tolist()]
    stuck = [k for k, own in enumerate(rubbing) if own is not None and p[own.sticks] == 1.0]
    rows = [*range(count), *(count + k for k in stuck)]
    pulls = np.eye(2 * count)[:, rows]
    sliding = [k for k in range(count) if k not in stuck]
    pulls[[count + k for k in sliding], sliding] = -(contacts.friction * np.sign(slips))[sliding]
    matrix = (contacts.matrix @ pulls)[rows]
    lengths = np.sqrt(np.diag(contacts.matrix)[rows])
    left, _, right = np.linalg.svd(matrix / lengths / lengths[:, None])
    grows = right[-1] / lengths
    grows *= np.sign(np.sum(grows[:count]) or 1.0)
    weighs = np.zeros(2 * count)
    weighs[rows] = left[:, -1] / lengths
    acting = np.abs(grows[:count]) > SHARE * np.max(np.abs(grows[:count]))
    names = tuple(name for name, acts in zip(contacts.names, acting, strict=True) if acts)
    return Growth(names, instant.thrown @ pulls @ grows, weighs)


def limit(
    instant_at: Callable[[np.ndarray], Instant], velocities: np.ndarray, found: Growth
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
        if JAM not in names or not any(row.rubbing for row in setting.dynamics.contacts):
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


def going_on(slips: np.ndarray) -> tuple[State, ...]:
    """Return the states of contacts that touch, by their slips (n,) alone: none opens."""
    by_sign = {1.0: State.FORWARD, -1.0: State.BACKWARD}
    return tuple(by_sign.get(float(np.sign(slip)), State.STICKS) for slip in slips)


def stopped_by_jam(
    time: float,
    names: Sequence[str],
    no_motion: NoMotion | None = None,
    no_impact: ContactError | None = None,
) -> VariantError:
    """Return why contacts do not go on where they jam.

    Parameters
    ----------
    time, names
        When, s, and the contacts whose reactions grow without bounds, where they do.
    no_motion
        That no reactions agree, where that is why.
    no_impact
        Why no impact without a collision follows; None where one would.
    """
    when = f"at t = {time:.10g} s"
    onward = '; on_jam = "impact" goes on with the impact without a collision that ends the slip'
    if no_impact is not None:
        onward = f", and {no_impact}"
    if no_motion is not None:
        return NoMotion(f"{when} {no_motion}{onward}", no_motion.solution)
    listed = ", ".join(map(repr, names))
    who = (
        f"contact {listed} jams: its reaction grows"
        if len(names) == 1
        else (f"contacts {listed} jam: their reactions grow")
    )
    return JamEvent(
        f"{when} the {who} without bounds while it still slides, and no forces let rigid bodies "
        f"go on from there{onward}"
    )
