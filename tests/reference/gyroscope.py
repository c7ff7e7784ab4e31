"""The gyroscope by Newton and Euler in quadruple precision, and its precession by hand.

Along the axes e1, e2, e3 of the housing (e2 the inner axis, e3 the rotor's) the angular velocity is
w = (alpha' cos beta, beta', alpha' sin beta) and the outer axis is (cos beta, 0, sin beta). Housing
and rotor have the angular momentum H = (A2 w1, B0 w2, A3 w3 + C s), s = w3 + gamma', all in units
of eps. The bearings take every moment but

    about e3, the rotor:        C s' = 0,
    about e2:                   (H' + w x H)_2 = Q_beta / eps,
    about the outer axis:       A1 alpha'' + (H' + w x H) . (cos beta, 0, sin beta) = Q_alpha / eps.

No Lagrangian is used. ``gyroscope.json`` holds the states of the cases at `TIMES`:

    python -m tests.reference.gyroscope

Precession: with the matrix M = [[-k, -h cos beta], [h cos beta, -k]], k the damping, and the
moments Q0 at rest, the velocities of order 0 are l = -M^-1 Q0. The next order balances what the
rings' inertia takes at these velocities,

    l1 = l + eps M^-1 (J l_1' + J' l_1 l_2, B0 l_2' - J' l_1^2 / 2),   l' = -M^-1 (Q0' + M' l).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import heyoka as hy
import numpy as np
from scipy.integrate import solve_ivp

TABLE: Final = Path(__file__).with_suffix(".json")
TIMES: Final = (0.25, 0.5, 0.75, 1.0)
NAMES: Final = ("alpha", "beta", "gamma", "alpha_dot", "beta_dot", "gamma_dot")
PLACE: Final = (0.1, 0.3)
KICK: Final = (1.5, -0.7)
CASES: Final = {"on-manifold": (0.0, None), "nutation": (0.0, KICK), "damped": (0.6, KICK)}
"""Damping, and the rings' velocities; None: those of the precession."""
A1, A2, A3, B0, C, MOMENTUM = 0.5, 0.8, 0.3, 0.7, 1.2, 1.0

Array = np.ndarray


def ring_inertia(beta: float) -> tuple[float, float]:
    """Return J and dJ/dbeta."""
    value = A1 + A2 * np.cos(beta) ** 2 + A3 * np.sin(beta) ** 2
    return float(value), float((A3 - A2) * np.sin(2 * beta))


def solvability(beta: float, damping: float) -> Array:
    """Return M."""
    grip = MOMENTUM * np.cos(beta)
    return np.array([[-damping, -grip], [grip, -damping]])


def precession(time: float, alpha: float, beta: float, damping: float) -> Array:
    """Return (alpha', beta') of order 0."""
    moments = [0.3 + 0.2 * np.cos(time), -0.5 * np.cos(beta) - 0.1 * alpha]
    return -np.linalg.solve(solvability(beta, damping), moments)


def refined_precession(time: float, alpha: float, beta: float, damping: float, eps: float) -> Array:
    """Return (alpha', beta') to the second order."""
    matrix = solvability(beta, damping)
    slow = precession(time, alpha, beta, damping)
    bend = MOMENTUM * np.sin(beta) * slow[1]
    changing = np.array([-0.2 * np.sin(time), 0.5 * np.sin(beta) * slow[1] - 0.1 * slow[0]])
    rate = -np.linalg.solve(matrix, changing + np.array([[0.0, bend], [-bend, 0.0]]) @ slow)
    inertia, steep = ring_inertia(beta)
    taken = [inertia * rate[0] + steep * slow[0] * slow[1], B0 * rate[1] - steep * slow[0] ** 2 / 2]
    return slow + eps * np.linalg.solve(matrix, taken)


def refined_place(damping: float, eps: float, velocities: Sequence[float] | Array) -> Array:
    """Return the angles from which the refined motion starts: moved by the fast motion."""
    excess = np.array(velocities) - precession(0.0, *PLACE, damping)
    inertia = eps * np.array([ring_inertia(PLACE[1])[0], B0])
    return np.array(PLACE) - np.linalg.solve(solvability(PLACE[1], damping), inertia * excess)


def nutation_frequency(beta: float, eps: float) -> float:
    """Return the frequency of small nutations without damping, rad/s."""
    return float(MOMENTUM * np.cos(beta) / (eps * np.sqrt(ring_inertia(beta)[0] * B0)))


def angles(rate: Callable[[float, float, float], Array], start: Any, times: Array) -> Array:
    """Integrate (alpha, beta)' = rate(t, alpha, beta); (2, times)."""
    return solve_ivp(
        lambda t, y: rate(t, *y),
        (0.0, float(times[-1])),
        start,
        method="DOP853",
        rtol=1e-13,
        atol=1e-14,
        t_eval=times,
    ).y


def _accelerations(
    state: Sequence[Any], eps: Any, damping: Any, number: Callable[[str], Any]
) -> list[Any]:
    """Return alpha'', beta'', gamma'' as expressions."""
    alpha, beta, _, alpha_dot, beta_dot, gamma_dot = state
    a1, a2, a3, b0, c = map(number, ("0.5", "0.8", "0.3", "0.7", "1.2"))
    cosine, sine = hy.cos(beta), hy.sin(beta)
    w1, w2, w3 = alpha_dot * cosine, beta_dot, alpha_dot * sine
    h1, h2, h3 = a2 * w1, b0 * w2, a3 * w3 + c * (w3 + gamma_dot)
    q_alpha = number("0.3") + number("0.2") * hy.cos(hy.time) - damping * alpha_dot
    q_beta = -number("0.5") * cosine - number("0.1") * alpha - damping * beta_dot
    # w1' and w3' without their parts in alpha''
    w1_rest, w3_rest = -alpha_dot * beta_dot * sine, alpha_dot * beta_dot * cosine
    about_1 = a2 * w1_rest + w2 * h3 - w3 * h2
    about_3 = a3 * w3_rest + w1 * h2 - w2 * h1
    inertia = a1 + a2 * cosine * cosine + a3 * sine * sine
    alpha_dot_2 = (q_alpha / eps - about_1 * cosine - about_3 * sine) / inertia
    beta_dot_2 = (q_beta / eps - w3 * h1 + w1 * h3) / b0
    return [alpha_dot_2, beta_dot_2, -(alpha_dot_2 * sine + w3_rest)]


def _quadruple(decimal: str) -> Any:
    whole, _, rest = decimal.partition(".")
    return hy.real128(int(whole + rest)) / hy.real128(10 ** len(rest))


def integrate(case: str, eps: str = "0.01") -> Array:
    """Return (times, 6) the states of a case at `TIMES`."""
    damping, kick = CASES[case]
    state = hy.make_vars(*NAMES)
    rates = _accelerations(
        state,
        hy.expression(_quadruple(eps)),
        hy.expression(_quadruple(str(damping))),
        lambda decimal: hy.expression(_quadruple(decimal)),
    )
    velocities = precession(0.0, *PLACE, damping) if kick is None else kick
    turning = hy.real128(float(velocities[0])) * np.sin(hy.real128(PLACE[1]))
    spin = hy.real128(MOMENTUM) / (_quadruple(eps) * _quadruple("1.2")) - turning
    start = [*map(hy.real128, (*PLACE, 0.0, float(velocities[0]), float(velocities[1]))), spin]
    motion = hy.taylor_adaptive(
        list(zip(state, [*state[3:], *rates], strict=True)),
        state=start,
        fp_type=hy.real128,
        compact_mode=True,
    )
    rows = []
    for time in TIMES:
        motion.propagate_until(hy.real128(time))
        rows.append(np.array(motion.state, dtype=float))
    return np.array(rows)


@cache
def gyroscope_states() -> dict[str, dict[str, Array]]:
    """Return the stored states by case and name, arrays over `TIMES`."""
    table = json.loads(TABLE.read_text())
    return {
        case: {name: np.array(values) for name, values in columns.items()}
        for case, columns in table.items()
    }


def make_table() -> None:
    """Integrate and write the table."""
    table = {case: dict(zip(NAMES, integrate(case).T.tolist(), strict=True)) for case in CASES}
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()
