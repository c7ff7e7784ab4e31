"""A motion from event to event, every decision by the room of contact: small, slow, in the plane.

Coordinates, kinetic energy, potential, gaps and slips are CasADi expressions. Between events the
accelerations of the states are integrated by DOP853; at events impacts and decisions follow, and of
states with the same motion that lasts whose conditions hold a moment later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from daesolve.contact import Contacts, State, accumulation, collide, decide, margins

CLOSED = 1e-9
"""A gap, and the rates of gaps and slips, that are none."""
MOMENT = 1e-5
"""After which candidates are looked at, s."""
LETTERS = {State.OPEN: "o", State.STICKS: "s", State.FORWARD: "+", State.BACKWARD: "-"}


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What moves, at an instant as numbers.

    Parameters
    ----------
    q, v, t
        Symbols of coordinates, their rates and time.
    kinetic, potential
        Energies.
    gaps, slips
        Gaps by (t, q), slip speeds by (t, q, v), a row each.
    friction, restitution
        (n,).
    names
        Of the contacts.
    """

    q: ca.SX
    v: ca.SX
    t: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    gaps: ca.SX
    slips: ca.SX
    friction: np.ndarray
    restitution: np.ndarray
    names: tuple[str, ...]
    law: str = "newton"
    on_gain: str = "refuse"
    _numbers: Callable[..., list[ca.DM]] = field(init=False)

    def __post_init__(self) -> None:
        q, v, t = self.q, self.v, self.t
        mass, _ = ca.hessian(self.kinetic, v)
        momentum = mass @ v
        force = ca.gradient(self.kinetic - self.potential, q) - ca.jacobian(momentum, q) @ v
        speeds = ca.jacobian(self.gaps, q) @ v + ca.jacobian(self.gaps, t)
        rates = ca.vertcat(speeds, self.slips)
        bias = ca.jacobian(rates, q) @ v + ca.jacobian(rates, t)
        rows = ca.jacobian(rates, v)
        outputs = [mass, force, self.gaps, rows, rates, bias]
        object.__setattr__(
            self, "_numbers", ca.Function("now", [t, q, v], [ca.densify(one) for one in outputs])
        )

    def at(self, time: float, x: np.ndarray) -> Instant:
        """Return everything at a time and state (q, v)."""
        q, v = np.split(x, 2)
        mass, force, gaps, rows, rates, bias = (one.full() for one in self._numbers(time, q, v))
        return Instant(self, mass, force[:, 0], gaps[:, 0], rows, rates[:, 0], bias[:, 0])


@dataclass(frozen=True, eq=False)
class Instant:
    """A mechanism at an instant."""

    mechanism: Mechanism
    mass: np.ndarray
    force: np.ndarray
    gaps: np.ndarray
    rows: np.ndarray
    rates: np.ndarray
    bias: np.ndarray

    @property
    def free(self) -> np.ndarray:
        """Accelerations of gaps and slips without reactions."""
        return self.rows @ np.linalg.solve(self.mass, self.force) + self.bias

    def touching(self, which) -> Contacts:
        count, m = len(self.gaps), self.mechanism
        return Contacts.of_rows(
            self.mass,
            self.rows[:count][which],
            self.rows[count:][which],
            m.friction[which],
            names=tuple(np.array(m.names)[which]),
        )

    def places(self, which) -> np.ndarray:
        return np.concatenate([which, len(self.gaps) + np.asarray(which)])

    def reactions(self, states) -> np.ndarray:
        """Return N and T in given states, by the equations of the mode: of least norm."""
        count, answer = len(states), self.rows @ np.linalg.solve(self.mass, self.rows.T)
        matrix, right = np.eye(2 * count), np.zeros(2 * count)
        for contact, state in enumerate(states):
            traction = count + contact
            if state is not State.OPEN:
                matrix[contact], right[contact] = answer[contact], -self.free[contact]
            if state is State.STICKS:
                matrix[traction], right[traction] = answer[traction], -self.free[traction]
            elif state.slides:
                side = 1.0 if state is State.FORWARD else -1.0
                matrix[traction, contact] = side * self.mechanism.friction[contact]
        return np.linalg.lstsq(matrix, right, rcond=1e-11)[0]

    def acceleration(self, states) -> np.ndarray:
        return np.linalg.solve(self.mass, self.force + self.rows.T @ self.reactions(states))

    def conditions(self, states) -> list[float]:
        """Return what must stay positive in given states: for each contact one or two numbers."""
        count, values = len(states), []
        closed = [k for k, state in enumerate(states) if state is not State.OPEN]
        reactions = self.reactions(states)
        for contact, state in enumerate(states):
            if state is State.OPEN:
                values.append(self.gaps[contact])
                continue
            values.append(reactions[contact])
            if state.slides:
                side = 1.0 if state is State.FORWARD else -1.0
                values.append(side * self.rates[count + contact])
        if any(state is State.STICKS for state in states):
            inner = [states[k] for k in closed]
            free = self.free[self.places(closed)]
            values.append(margins(self.touching(closed), free, inner).stick)
        return values


@dataclass(frozen=True)
class Happening:
    """An event: when, of what kind, what contacts do after it, and the state."""

    time: float
    kind: str
    states: tuple[State, ...]
    x: np.ndarray
    before: np.ndarray

    @property
    def letters(self) -> str:
        return "".join(LETTERS[state] for state in self.states)


def moved(mechanism: Mechanism, states, time: float, x: np.ndarray, step: float) -> np.ndarray:
    """Return the state a moment later, by one step of Runge and Kutta."""

    def slope(t, y):
        return np.concatenate([np.split(y, 2)[1], mechanism.at(t, y).acceleration(states)])

    one = slope(time, x)
    two = slope(time + step / 2, x + step / 2 * one)
    three = slope(time + step / 2, x + step / 2 * two)
    four = slope(time + step, x + step * three)
    return x + step / 6 * (one + 2 * two + 2 * three + four)


def settled(mechanism: Mechanism, time: float, x: np.ndarray) -> list[Happening]:
    """Return the impacts at an instant, and the states with which the motion goes on."""
    happened = list[Happening]()
    count, before = len(mechanism.names), x
    while True:
        now = mechanism.at(time, x)
        touching = np.flatnonzero(np.abs(now.gaps) <= CLOSED)
        if not np.any(now.rates[touching] < -CLOSED):
            break
        places = now.places(touching)
        impact = collide(
            now.touching(touching),
            now.rates[places],
            mechanism.law,
            mechanism.restitution[touching],
            on_gain=mechanism.on_gain,
        )
        change = np.linalg.solve(now.mass, now.rows[places].T @ impact.impulses)
        x = x + np.concatenate([np.zeros(len(change)), change])
        after = [State.OPEN] * count
        for place, state in zip(touching, impact.phases[-1], strict=True):
            after[place] = state
        happened.append(Happening(time, "impact", tuple(after), x, before))
        before = x
    closed = touching[np.abs(now.rates[touching]) <= CLOSED]
    states = [State.OPEN] * count
    if closed.size:
        x = projected(now, x, closed)
        now = mechanism.at(time, x)
        places = now.places(closed)
        slip = now.rates[count + closed]
        slip = np.where(np.abs(slip) <= CLOSED, 0.0, slip)
        answer = decide(now.touching(closed), now.free[places], slip).only()
        candidates = []
        for inner in answer.candidates:
            for place, state in zip(closed, inner, strict=True):
                states[place] = state
            candidates.append(tuple(states))
        states = lasting(mechanism, time, x, candidates)
    return [*happened, Happening(time, "phase", tuple(states), x, before)]


def projected(now: Instant, x: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Take rounding out of the speeds of gaps that are closed, and of slips that are none."""
    count = len(now.gaps)
    still = closed[np.abs(now.rates[count + closed]) <= CLOSED]
    places = np.concatenate([closed, count + still])
    change = np.linalg.lstsq(now.rows[places], -now.rates[places], rcond=1e-11)[0]
    return x + np.concatenate([np.zeros(len(change)), change])


def lasting(mechanism: Mechanism, time: float, x: np.ndarray, candidates):
    """Return the states whose conditions hold a moment later."""
    if len(candidates) == 1:
        return candidates[0]
    least = [
        min(
            mechanism.at(time + MOMENT, moved(mechanism, states, time, x, MOMENT)).conditions(
                states
            )
        )
        for states in candidates
    ]
    held = [states for states, value in zip(candidates, least, strict=True) if value > 0.0]
    assert len(held) == 1, (time, candidates, least)
    return held[0]


def follow(
    mechanism: Mechanism,
    x: np.ndarray,
    until: float,
    time: float = 0.0,
    stop: Callable[[list[Happening]], bool] = lambda happened: False,
    precision: float = 1e-13,
) -> list[Happening]:
    """Follow a motion; the last entry is its end."""
    happened = settled(mechanism, time, np.asarray(x, dtype=float))
    while not stop(happened):
        last = happened[-1]
        states, count = last.states, len(mechanism.at(last.time, last.x).conditions(last.states))

        def slope(t, y, states=states):
            return np.concatenate([np.split(y, 2)[1], mechanism.at(t, y).acceleration(states)])

        guards = []
        for place in range(count):

            def guard(t, y, place=place, states=states):
                return mechanism.at(t, y).conditions(states)[place]

            guard.terminal, guard.direction = True, -1.0
            guards.append(guard)
        # Guards that are zero at the beginning are left behind before any is watched.
        ahead = solve_ivp(
            slope, (last.time, last.time + MOMENT), last.x, method="DOP853", rtol=1e-13, atol=1e-15
        )
        run = solve_ivp(
            slope,
            (ahead.t[-1], until),
            ahead.y[:, -1],
            method="DOP853",
            rtol=precision,
            atol=1e-14,
            events=guards,
            max_step=until / 50,
        )
        end = run.y[:, -1]
        if run.status == 0:
            happened.append(Happening(until, "end", states, end, end))
            return happened
        (fired,) = (place for place in range(count) if run.t_events[place].size)
        instant, end = polished(guards[fired], slope, run)
        happened += settled(mechanism, instant, end)
    return happened


def polished(guard, slope, run):
    """Return the instant and state of an event: integrated to it, not interpolated."""
    time, x = run.t[-2], run.y[:, -2]
    instant = run.t[-1]
    for _ in range(4):
        if instant <= time:
            break
        part = solve_ivp(slope, (time, instant), x, method="DOP853", rtol=1e-13, atol=1e-15)
        end = part.y[:, -1]
        value, step = guard(instant, end), 1e-7
        ahead = end + step * slope(instant, end)
        rate = (guard(instant + step, ahead) - value) / step
        if rate == 0.0 or abs(value / rate) < 1e-15:
            return instant, end
        instant -= value / rate
    part = solve_ivp(slope, (time, instant), x, method="DOP853", rtol=1e-13, atol=1e-15)
    return instant, part.y[:, -1]


def rest(happened: list[Happening], tolerance: float):
    """Return where the impacts so far accumulate, or None."""
    times = [one.time for one in happened if one.kind == "impact"]
    return accumulation(times, tolerance) if len(times) > 4 else None
