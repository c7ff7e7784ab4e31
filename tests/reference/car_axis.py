"""The car axis in its two freedoms, in quadruple precision.

With n(t) = (-yb, xb)/L the normal of the line through the wheels, the left chassis is at s n, the
right one at s n + L (cos psi, sin psi). Newton's equations of the two equal masses, projected on
what s and psi move:

    (P1'' - F1/m) . n + (P2'' - F2/m) . n = 0,    (P2'' - F2/m) . (-sin psi, cos psi) = 0,
    P1'' = s'' n + 2 s' n' + s n'',
    P2'' = P1'' + L psi'' (-sin psi, cos psi) - L psi'^2 (cos psi, sin psi).

Constants are taken as decimals. ``car_axis.json`` holds the states at `TIMES`:

    python -m tests.reference.car_axis
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import heyoka as hy
import numpy as np

TABLE: Final = Path(__file__).with_suffix(".json")
TIMES: Final = (0.5, 1.0, 2.0, 3.0)
NAMES: Final = ("xl", "yl", "xr", "yr")
PUBLISHED_END: Final = (
    0.493455784275402809122e-1,
    0.496989460230171153861,
    0.104174252488542151681e1,
    0.373911027265361256927,
    -0.770583684040972357970e-1,
    0.744686658723778553466e-2,
    0.175568157537232222276e-1,
    0.770341043779251976443,
)
PUBLISHED_MULTIPLIERS: Final = (-0.473688659084893324729e-2, -0.110468033125734368808e-2)
"""At t = 3, from the Test Set for Initial Value Problem Solvers."""


def _quadruple(decimal: str) -> Any:
    whole, _, rest = decimal.partition(".")
    return hy.real128(int(whole + rest)) / hy.real128(10 ** len(rest))


def _road() -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return the right wheel, n, n' and n'' with the slope a: sin(a) = r sin(w t), L = 1."""
    radius = hy.expression(_quadruple("0.1"))
    wave, cowave = radius * hy.sin(10.0 * hy.time), radius * hy.cos(10.0 * hy.time)
    cosine = hy.sqrt(1.0 - wave * wave)
    rate = 10.0 * cowave / cosine
    rate_dot = (wave * rate * rate - 100.0 * wave) / cosine
    wheel, normal = [cosine, wave], [-wave, cosine]
    first = [-rate * part for part in wheel]
    second = [-rate_dot * w - rate * rate * n for w, n in zip(wheel, normal, strict=True)]
    return wheel, normal, first, second


def _dot(one: list[Any], other: list[Any]) -> Any:
    return one[0] * other[0] + one[1] * other[1]


def _system() -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return the equations in s, s', psi, psi', and the eight states of the chassis in them."""
    s, s_dot, psi, psi_dot = hy.make_vars("s", "s_dot", "psi", "psi_dot")
    wheel, normal, first, second = _road()
    mass, rest = hy.expression(_quadruple("0.0005")), 0.5
    along, across = [hy.cos(psi), hy.sin(psi)], [-hy.sin(psi), hy.cos(psi)]
    left = [s * n for n in normal]
    right = [p + a for p, a in zip(left, along, strict=True)]
    stretch = [p - w for p, w in zip(right, wheel, strict=True)]
    length = hy.sqrt(_dot(stretch, stretch))
    # what the accelerations lack of s'' n, and of s'' n + psi'' (-sin psi, cos psi), less F/m
    rest_1 = [
        2.0 * s_dot * f + s * b - (rest - s) * n / mass
        for f, b, n in zip(first, second, normal, strict=True)
    ]
    rest_2 = [
        2.0 * s_dot * f + s * b - psi_dot * psi_dot * a - (rest - length) * d / (length * mass)
        for f, b, a, d in zip(first, second, along, stretch, strict=True)
    ]
    rest_1[1] += 1.0
    rest_2[1] += 1.0
    mixed = _dot(normal, across)
    sum_1, sum_2 = _dot(rest_1, normal) + _dot(rest_2, normal), _dot(rest_2, across)
    # 2 s'' + mixed psi'' = -sum_1, mixed s'' + psi'' = -sum_2
    s_acceleration = (mixed * sum_2 - sum_1) / (2.0 - mixed * mixed)
    equations = [
        (s, s_dot),
        (s_dot, s_acceleration),
        (psi, psi_dot),
        (psi_dot, -sum_2 - mixed * s_acceleration),
    ]
    left_dot = [s_dot * n + s * f for n, f in zip(normal, first, strict=True)]
    right_dot = [v + psi_dot * a for v, a in zip(left_dot, across, strict=True)]
    return equations, [*left, *right, *left_dot, *right_dot]


def integrate() -> np.ndarray:
    """Return (times, 8) the states at `TIMES` from the published start."""
    equations, states = _system()
    # at the start n = (0, 1), n' = (-1, 0): xl' = -s = -1/2, and the axis is level
    start = [hy.real128(value) for value in (0.5, 0.0, 0.0, 0.0)]
    motion = hy.taylor_adaptive(equations, state=start, fp_type=hy.real128, compact_mode=True)
    function = hy.cfunc(
        states, vars=[variable for variable, _ in equations], fp_type=hy.real128, compact_mode=True
    )
    rows = []
    for time in TIMES:
        motion.propagate_until(hy.real128(time))
        rows.append(np.array(function(motion.state, time=motion.time), dtype=float))
    return np.array(rows)


@cache
def car_axis_states() -> dict[str, np.ndarray]:
    """Return the stored states by name, arrays over ``times``."""
    return {name: np.array(values) for name, values in json.loads(TABLE.read_text()).items()}


def make_table() -> None:
    """Integrate and write the table."""
    columns = integrate().T.tolist()
    names = [*NAMES, *(f"{name}_dot" for name in NAMES)]
    table = {"times": list(TIMES)} | dict(zip(names, columns, strict=True))
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()
