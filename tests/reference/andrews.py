"""Andrews' squeezing mechanism reduced to its one freedom, by closed loops and a quadrature.

The three loops share the joint E. For a given angle beta of the crank, whose pin is P, E is where
the circle of radius d about P meets that of radius ss about B; the joints of the two chains from A
are found in the same way (two sides of a triangle). The branches are those of the published start.
With I(beta) = 2 T / beta'^2 and V the potential of the spring, from rest at beta_0,

    beta'^2 = 2 (mom (beta - beta_0) - V(beta) + V(beta_0)) / I(beta),
    t(beta) = integral of dbeta / beta'   (substituted by beta = beta_0 + s^2: smooth at s = 0).

Constants are taken as the decimals that are published. ``andrews.json`` holds the states at
`TIMES`; to make it again takes about a minute:

    python -m tests.reference.andrews

SI units, angles in rad, continuous from the start.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mpf

from .one_freedom import places

TABLE: Final = Path(__file__).with_suffix(".json")
TIMES: Final = ("0.001", "0.01", "0.02", "0.03")
DIGITS: Final = 30
NAMES: Final = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
START: Final = "-0.0617138900142764496358948458001"

PUBLISHED_END: Final = {
    "beta": 0.1581077119629904e2,
    "theta": -0.1575637105984298e2,
    "gamma": 0.4082224013073101e-1,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226948,
    "epsilon": 0.1048080741042263e1,
    "beta_dot": 0.1139920302151208e4,
    "theta_dot": -0.1424379294994111e4,
    "gamma_dot": 0.1103291221937134e2,
    "phi_dot": 0.1929337464421385e2,
    "delta_dot": 0.5735699284790808,
    "omega_dot": -0.1929337464421385e2,
    "epsilon_dot": 0.3231791658026955,
}
"""At t = 0.03 s, from the Test Set for Initial Value Problem Solvers (PSIDE, tolerance 1e-14)."""

_PUBLISHED: Final = """
    m1=.04325 m2=.00365 m3=.02373 m4=.00706 m5=.07050 m6=.00706 m7=.05498
    i1=2.194e-6 i2=4.410e-7 i3=5.255e-6 i4=5.667e-7 i5=1.169e-5 i6=5.667e-7 i7=1.912e-5
    xa=-.06934 ya=-.00227 xb=-.03635 yb=.03273 xc=.014 yc=.072 c0=4530 l0=.07785 mom=.033
    d=.028 da=.0115 e=.02 ea=.01421 rr=.007 ra=.00092 ss=.035 sa=.01874 sb=.01043
    sc=.018 sd=.02 ta=.02308 tb=.00916 u=.04 ua=.01228 ub=.00449 zf=.02 zt=.04 fa=.01421
"""
CONSTANTS: Final = dict(re.findall(r"(\w+)=(\S+)", _PUBLISHED))


def _cis(angle: Any) -> Any:
    return mpmath.expj(angle)


def _corner(start: Any, end: Any, first: Any, second: Any, side: int) -> Any:
    """Return the corner of a triangle from its base and the two other sides.

    Parameters
    ----------
    start, end
        The base, as complex numbers.
    first, second
        The lengths of the sides from `start` and from `end`.
    side
        1 for the corner to the left of the base, -1 to its right.
    """
    base = abs(end - start)
    along = (base**2 + first**2 - second**2) / (2 * base)
    return start + (end - start) / base * mpmath.mpc(along, side * mpmath.sqrt(first**2 - along**2))


class Mechanism:
    """The mechanism's geometry as a function of beta; to be used in the precision wanted."""

    def __init__(self) -> None:
        self.c: dict[str, Any] = {name: mpf(value) for name, value in CONSTANTS.items()}
        self.pivot_a = mpmath.mpc(self.c["xa"], self.c["ya"])
        self.pivot_b = mpmath.mpc(self.c["xb"], self.c["yb"])
        self.fixed = mpmath.mpc(self.c["xc"], self.c["yc"])

    def angles(self, beta: Any) -> list[Any]:
        """Return the seven angles, each in (-pi, pi] but beta."""
        c = self.c
        pin = c["rr"] * _cis(beta)
        end = _corner(self.pivot_b, pin, c["ss"], c["d"], -1)
        on_5 = _corner(self.pivot_a, end, c["zt"], c["e"], 1)
        on_7 = _corner(self.pivot_a, end, c["u"], c["zf"], -1)
        rod_2 = mpmath.arg(pin - end)
        delta, epsilon = mpmath.arg(on_5 - self.pivot_a), mpmath.arg((on_7 - self.pivot_a) * 1j)
        # a direction s(a) is n(a) turned back by a right angle
        return [
            beta,
            mpmath.arg(_cis(rod_2 - beta)),
            mpmath.arg((end - self.pivot_b) * 1j),
            mpmath.arg((end - on_5) * 1j / _cis(delta)),
            delta,
            mpmath.arg((end - on_7) / _cis(epsilon)),
            epsilon,
        ]

    def rates(self, angles: list[Any]) -> list[Any]:
        """Return the derivatives of the seven angles by beta, by the loops' velocities."""
        c = self.c
        beta, theta, gamma, phi, delta, omega, epsilon = angles
        crank, rod_2 = 1j * c["rr"] * _cis(beta), -1j * c["d"] * _cis(beta + theta)
        plate = c["ss"] * _cis(gamma)  # = i s(gamma) ss: the velocity of E about B
        turn_2, turn_3 = _two(rod_2, -plate, -crank)
        velocity = turn_3 * plate
        turn_5, turn_4 = _two(1j * c["zt"] * _cis(delta), c["e"] * _cis(phi + delta), velocity)
        turn_7, turn_6 = _two(
            c["u"] * _cis(epsilon), 1j * c["zf"] * _cis(omega + epsilon), velocity
        )
        return [mpf(1), turn_2 - 1, turn_3, turn_4 - turn_5, turn_5, turn_6 - turn_7, turn_7]

    def inertia(self, angles: list[Any], rates: list[Any]) -> Any:
        """Return I = 2 T / beta'^2."""
        c = self.c
        beta, theta, _, phi, delta, omega, epsilon = angles
        first, second, third, fourth, fifth, sixth, seventh = rates
        turns = [first, first + second, third, fourth + fifth, fifth, sixth + seventh, seventh]
        speeds = [
            c["ra"],
            1j * (c["rr"] * _cis(beta) * turns[0] - c["da"] * _cis(beta + theta) * turns[1]),
            third * mpmath.hypot(c["sa"], c["sb"]),
            1j * c["zt"] * _cis(delta) * fifth + (c["e"] - c["ea"]) * _cis(phi + delta) * turns[3],
            fifth * mpmath.hypot(c["ta"], c["tb"]),
            c["u"] * _cis(epsilon) * seventh
            + 1j * (c["zf"] - c["fa"]) * _cis(omega + epsilon) * turns[5],
            seventh * mpmath.hypot(c["ua"], c["ub"]),
        ]
        return sum(
            c[f"m{body}"] * abs(speed) ** 2 + c[f"i{body}"] * turn**2
            for body, speed, turn in zip(range(1, 8), speeds, turns, strict=True)
        )

    def spring(self, gamma: Any) -> Any:
        """Return the potential of the spring."""
        c = self.c
        attached = self.pivot_b + (c["sd"] - 1j * c["sc"]) * _cis(gamma)
        return c["c0"] * (abs(attached - self.fixed) - c["l0"]) ** 2 / 2

    def rate(self, beta: Any) -> Any:
        """Return beta' where the crank, released at `START`, passes beta."""
        start = mpf(START)
        angles = self.angles(beta)
        inertia = self.inertia(angles, self.rates(angles))
        work = self.c["mom"] * (beta - start)
        stored = self.spring(angles[2]) - self.spring(self.angles(start)[2])
        return mpmath.sqrt(2 * (work - stored) / inertia)


def _two(first: Any, second: Any, total: Any) -> tuple[Any, Any]:
    """Solve a first + b second = total for real a, b in the complex plane."""

    def cross(one: Any, other: Any) -> Any:
        return (mpmath.conj(one) * other).imag

    area = cross(first, second)
    return cross(total, second) / area, cross(first, total) / area


def crank_angles(times: tuple[str, ...]) -> list[Any]:
    """Return beta at increasing times; to be called in the precision wanted."""
    mechanism = Mechanism()
    start = mpf(START)
    roots = places(
        lambda root: 2 * root / mechanism.rate(start + root**2), times, start="0", panel="0.05"
    )
    return [start + root**2 for root in roots]


@cache
def andrews_states() -> dict[str, np.ndarray]:
    """Return the stored states by name, arrays over ``times``."""
    return {name: np.array(values) for name, values in json.loads(TABLE.read_text()).items()}


def make_table() -> None:
    """Compute the states and write the table."""
    with mpmath.workdps(DIGITS):
        mechanism = Mechanism()
        rows: list[list[float]] = []
        for beta in crank_angles(TIMES):
            angles = mechanism.angles(beta)
            rate = mechanism.rate(beta)
            rates = [rate * one for one in mechanism.rates(angles)]
            # theta alone turns round with the crank: beta + theta swings
            angles[1] = mpmath.arg(_cis(beta + angles[1])) - beta
            rows.append([float(value) for value in (*angles, *rates)])
    names = [*NAMES, *(f"{name}_dot" for name in NAMES)]
    table = {"times": [float(time) for time in TIMES]}
    table |= dict(zip(names, np.array(rows).T.tolist(), strict=True))
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()
