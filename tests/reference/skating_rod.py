"""A rod on a skate, whose tip rubs on a wall: by Gauss' principle, and from event to event.

The coordinates are those of the mass centre and the angle of the rod, in a level plane. The tip is
at -L along the rod and touches the wall y = 0; the skate is at D along the rod and does not move
across it. The skate may rub: its friction along the rod is -nu lambda tanh(v / SPEED) with its
reaction lambda. A load pushes the rod to the wall. Friction of the tip is -mu |N| against its slip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy

L, D, MOMENT, SPEED = 0.5, 0.2, 0.05, 0.05
"""m, m, kg m^2, m/s; the mass is 1 kg."""
PUSH = -9.81
"""The load along y, N."""
MASS = np.diag([1.0, 1.0, MOMENT])
INVERSE = np.diag([1.0, 1.0, 1.0 / MOMENT])
NAMES = ("x", "y", "phi", "x_dot", "y_dot", "phi_dot")

Event = tuple[str, float]
Guard = Callable[[float, np.ndarray], float]


def varying(t: float, sine: Callable[[Any], Any] = math.sin) -> Any:
    """Return a load that lifts the tip at times, N."""
    return PUSH + 20.0 * sine(5.0 * t)


def start(phi: float, slip: float) -> dict[str, float]:
    """Return the state at the wall with a slip of the tip, m/s."""
    s, c = math.sin(phi), math.cos(phi)
    turn = s * slip / (L + D)
    rates = (slip - L * s * turn, L * c * turn, turn)
    return dict(zip(NAMES, (0.0, L * s, phi, *rates), strict=True))


def rows(phi: float) -> np.ndarray:
    """Return the derivatives of the gap, of the skate's and the tip's slip, and of the speed."""
    s, c = math.sin(phi), math.cos(phi)
    return np.array([[0.0, 1.0, -L * c], [-s, c, D], [1.0, 0.0, L * s], [c, s, 0.0]])


def biases(phi: float, v: np.ndarray) -> np.ndarray:
    """Return the accelerations of the gap and of both slips at v' = 0."""
    s, c = math.sin(phi), math.cos(phi)
    return np.array([L * s * v[2] ** 2, -(c * v[0] + s * v[1]) * v[2], L * c * v[2] ** 2])


def grip(phi: float, v: np.ndarray, skate_friction: float) -> float:
    """Return the friction of the skate per unit of its reaction."""
    return skate_friction * math.tanh(rows(phi)[3] @ v / SPEED)


def pushes(
    phi: float, v: np.ndarray, friction: float, skate_friction: float, side: float
) -> np.ndarray:
    """Return the forces of unit reactions of tip and skate, (3, 2), while the tip slides."""
    gap, skate, slip, along = rows(phi)
    return np.column_stack(
        [gap - friction * side * slip, skate - grip(phi, v, skate_friction) * along]
    )


def ratio(phi: float, v: np.ndarray, friction: float, skate_friction: float, side: float) -> float:
    """Return the determinant of the equations for both reactions over the one without friction."""
    held = rows(phi)[:2]
    along = pushes(phi, v, friction, skate_friction, side)
    return float(np.linalg.det(held @ INVERSE @ along) / np.linalg.det(held @ INVERSE @ held.T))


def margin(phi: float, v: np.ndarray, friction: float, skate_friction: float, side: float) -> float:
    """Return the least factor of all friction at which the ratio, a parabola, vanishes."""
    one, two = (ratio(phi, v, k * friction, k * skate_friction, side) for k in (1.0, 2.0))
    bend = (two - 2.0 * one + 1.0) / 2.0
    roots = np.roots([bend, one - 1.0 - bend, 1.0] if abs(bend) > 1e-13 else [one - 1.0, 1.0])
    real = roots.real[(np.abs(roots.imag) < 1e-12) & (roots.real > 0.0)]
    return float(np.min(real, initial=math.inf))


# -- Gauss' principle ------------------------------------------------------------------------------


def least_constraint(
    phi: float, v: np.ndarray, force: np.ndarray, *, opens: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise (v' - M^-1 f) M (v' - M^-1 f) / 2 over what the constraints allow.

    The skate's slip has no acceleration; that of the gap is zero, or if it `opens` not negative.
    The multipliers of both are the reactions: returns v' and these.
    """
    whole = rows(phi)[:3]
    back = np.linalg.inv(whole)
    base = -back @ biases(phi, v)
    root = np.sqrt(MASS)
    free = [0, 2] if opens else [2]
    least = scipy.optimize.lsq_linear(
        root @ back[:, free],
        root @ (INVERSE @ force - base),
        ([0.0, -np.inf] if opens else [-np.inf], np.inf),
        tol=1e-15,
        method="bvls",
    )
    found = base + back[:, free] @ least.x
    return found, (back.T @ (MASS @ found - force))[:2]


def gauss(
    phi: float,
    v: np.ndarray,
    coefficients: tuple[float, float],
    force: float = PUSH,
    *,
    opens: bool = True,
) -> list[np.ndarray]:
    """Return all reactions (N, lambda) that friction and Gauss' principle give each other.

    Gauss' principle gives reactions from the friction of given ones. What is left is piecewise
    linear, so Newton's method with differences ends at once from each piece.
    """
    friction, skate_friction = coefficients
    _, _, slip, along = rows(phi)
    side, hold = np.sign(slip @ v), grip(phi, v, skate_friction)

    def miss(given: np.ndarray) -> np.ndarray:
        rubbing = -friction * side * abs(given[0]) * slip - hold * given[1] * along
        applied = np.array([0.0, force, 0.0]) + rubbing
        return least_constraint(phi, v, applied, opens=opens)[1] - given

    answers: list[np.ndarray] = []
    for first in (-300.0, 0.0, 1e-3, 3.0, 300.0):
        at = np.array([first, 0.0])
        for _ in range(30):
            off = miss(at)
            if np.max(np.abs(off)) < 1e-10 * (1.0 + np.max(np.abs(at))):
                if not any(np.allclose(at, other, 1e-7, 1e-8) for other in answers):
                    answers.append(at)
                break
            step = 1e-4 * (1.0 + np.abs(at))
            slopes = [(miss(at + step * unit) - off) / (step @ unit) for unit in np.eye(2)]
            at = at - np.linalg.solve(np.column_stack(slopes), off)
    return answers


# -- from event to event ---------------------------------------------------------------------------


def accelerations(
    phi: float, v: np.ndarray, force: float, columns: np.ndarray, held: Sequence[int] = (0, 1)
) -> tuple[np.ndarray, np.ndarray]:
    """Return v' and the reactions of those of tip and skate that are held."""
    chosen, free = list(held), np.array([0.0, force, 0.0])
    kept, reactions = rows(phi)[chosen], np.zeros(2)
    missing = -biases(phi, v)[chosen] - kept @ INVERSE @ free
    reactions[chosen] = np.linalg.solve(kept @ INVERSE @ columns[:, chosen], missing)
    return INVERSE @ (free + columns @ reactions), reactions


def to_event(
    state: np.ndarray, span: tuple[float, float], rate: Callable[..., np.ndarray], guards: list[Any]
) -> tuple[float, np.ndarray, int | None]:
    """Integrate by DOP853 to the first guard that falls through zero."""
    for guard in guards:
        guard.terminal, guard.direction = True, -1
    found = scipy.integrate.solve_ivp(
        rate, span, state, "DOP853", events=guards, rtol=1e-13, atol=1e-14
    )
    fired = [k for k, times in enumerate(found.t_events) if len(times)]
    return float(found.t[-1]), found.y[:, -1], fired[0] if fired else None


def contact_by_hand(
    friction: float, skate_friction: float, begin: dict[str, float], until: float
) -> tuple[np.ndarray, list[Event]]:
    """Return the end of a motion with a contact that is lost, closed without rebound, reversed."""
    y, t, closed, events = np.array([begin[name] for name in NAMES]), 0.0, True, list[Event]()
    side = float(np.sign(rows(y[2])[2] @ y[3:]))
    while True:

        def parts(
            t: float, y: np.ndarray, side: float = side, closed: bool = closed
        ) -> tuple[np.ndarray, np.ndarray]:
            columns = pushes(y[2], y[3:], friction, skate_friction, side)
            return accelerations(y[2], y[3:], varying(t), columns, (0, 1) if closed else (1,))

        def slips(_: float, y: np.ndarray, side: float = side) -> float:
            return side * (rows(y[2])[2] @ y[3:])

        guards = [lambda t, y, parts=parts: parts(t, y)[1][0], slips]
        if not closed:
            guards = [lambda t, y: y[1] - L * math.sin(y[2])]

        def rate(t: float, y: np.ndarray, parts: Any = parts) -> np.ndarray:
            return np.concatenate([y[3:], parts(t, y)[0]])

        t, y, fired = to_event(y, (t, until), rate, guards)
        if fired is None:
            return y, events
        if not closed:
            y, side = landed(y, friction, skate_friction, varying(t))
            closed = True
            events.append(("tip_closed", t))
        elif fired == 0:
            closed = False
            events.append(("tip_lost", t))
        else:
            side = slides_on(y, friction, skate_friction, varying(t))
            # The guard of the slip is zero here: a step of 1e-9 s leaves an error of its square.
            columns = pushes(y[2], y[3:], friction, skate_friction, side)
            turned = accelerations(y[2], y[3:], varying(t), columns)[0]
            y, t = y + 1e-9 * np.concatenate([y[3:], turned]), t + 1e-9
            events.append(("tip_reverses", t - 1e-9))


def landed(
    y: np.ndarray, friction: float, skate_friction: float, force: float
) -> tuple[np.ndarray, float]:
    """Return the state after an impact of the tip without rebound, and the side of its slip."""
    phi, v = y[2], y[3:]
    gap, skate, slip, along = rows(phi)
    pushed = INVERSE @ (skate - grip(phi, v, skate_friction) * along)
    response = INVERSE - np.outer(pushed, skate @ INVERSE) / (skate @ pushed)
    own = np.array([gap, slip])
    matrix, before = own @ response @ own.T, own @ v
    impulses = np.linalg.solve(matrix, -before)
    if abs(impulses[1]) <= friction * impulses[0]:
        still = np.concatenate([y[:3], np.zeros(3)])  # It has one degree of freedom on the wall.
        return still, slides_on(still, friction, skate_friction, force)
    for side in (1.0, -1.0):
        normal = -before[0] / (matrix[0, 0] - friction * side * matrix[0, 1])
        impulses = np.array([normal, -friction * side * normal])
        if normal > 0.0 and side * (before + matrix @ impulses)[1] > 0.0:
            return np.concatenate([y[:3], v + response @ own.T @ impulses]), side
    raise AssertionError("no impulses fit")


def slides_on(y: np.ndarray, friction: float, skate_friction: float, force: float) -> float:
    """Return the side to which the tip slides from rest."""
    for side in (1.0, -1.0):
        columns = pushes(y[2], y[3:], friction, skate_friction, side)
        found, reactions = accelerations(y[2], y[3:], force, columns)
        if reactions[0] > 0.0 and side * (rows(y[2])[2] @ found + biases(y[2], y[3:])[2]) > 0.0:
            return side
    raise AssertionError("it stays at rest")


def guide_by_hand(
    friction: float, skate_friction: float, begin: dict[str, float], until: float
) -> tuple[np.ndarray, list[float]]:
    """Return the end, and when another support is loaded, with the tip between two supports.

    The motion must not come to rest.
    """
    y, t, switches = np.array([begin[name] for name in NAMES]), 0.0, list[float]()
    side = float(np.sign(rows(y[2])[2] @ y[3:]))
    loaded = 1.0
    while True:

        def parts(
            t: float, y: np.ndarray, side: float = loaded * side
        ) -> tuple[np.ndarray, np.ndarray]:
            columns = pushes(y[2], y[3:], friction, skate_friction, side)
            return accelerations(y[2], y[3:], varying(t), columns)

        def guard(t: float, y: np.ndarray, parts: Any = parts, loaded: float = loaded) -> float:
            return loaded * parts(t, y)[1][0]

        def rate(t: float, y: np.ndarray, parts: Any = parts) -> np.ndarray:
            return np.concatenate([y[3:], parts(t, y)[0]])

        t, y, fired = to_event(y, (t, until), rate, [guard])
        if fired is None:
            return y, switches
        loaded = -loaded
        switches.append(t)
