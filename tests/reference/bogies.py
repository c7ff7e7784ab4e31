"""The vehicle on two symmetric bogies, without multipliers and with all of them.

A frame with the axes e1, e2 carries the bogies in r_1 = b_1 e2 and r_2 = -b_2 e2; their skates
are turned by theta_k, normals n_k = (cos theta_k, sin theta_k). What the two skates leave of the
velocities v_1, v_2 of the frame's origin and its rate of turn omega is one direction,

    N = (b_2 s_1 c_2 + b_1 c_1 s_2,  -(b_1 + b_2) c_1 c_2,  sin(theta_2 - theta_1)),

along which the energy fixes the speed: (v_1, v_2, omega) = V N / |N|_G. With
theta_k' + omega = C_k the motion is in five coordinates (A. V. Borisov, A. A. Kilin, I. S. Mamaev,
Regular and Chaotic Dynamics 20 (2015) 752-766, section 4.2). `reduced_motion` integrates it in
quadruple precision; ``bogies.json`` holds the motions that `table` tells of:

    python -m tests.reference.bogies

`absolute_motion` has three rigid bodies in nine absolute coordinates, four equations of the pivots
and two of the skates, in floating point: it shares nothing with the above but the start.

Every `float` is taken as the binary number it is.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import heyoka as hy
import numpy as np
from scipy.integrate import solve_ivp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TABLE: Final = Path(__file__).with_suffix(".json")
COORDINATES: Final = ("x", "y", "psi", "theta_1", "theta_2")
VELOCITIES: Final = ("v_1", "v_2", "psi_dot", "theta_dot_1", "theta_dot_2")


@dataclass(frozen=True, slots=True)
class BogiesParameters:
    """Constants of the vehicle: kg, m and kg m^2."""

    mass: float = 3.0
    centre: float = 0.2
    front: float = 1.0
    rear: float = 0.8
    bogie_inertia: float = 0.3
    inertia: float = 2.1


DEFAULT_PARAMETERS: Final = BogiesParameters()


# --- the reduced motion --------------------------------------------------------------------------


def reduced_velocities(
    theta: Sequence[Any], level: Any, turning: Sequence[Any], parameters: BogiesParameters
) -> list[Any]:
    """The five velocities as heyoka's expressions; `level` has the sign of the motion."""
    a, b_1, b_2 = (
        hy.expression(hy.real128(getattr(parameters, name))) for name in ("centre", "front", "rear")
    )
    central = (
        hy.real128(parameters.inertia) - 2 * hy.real128(parameters.bogie_inertia)
    ) / hy.real128(parameters.mass)
    s_1, c_1, s_2, c_2 = (f(angle) for angle in theta for f in (hy.sin, hy.cos))
    along = [b_2 * s_1 * c_2 + b_1 * c_1 * s_2, -(b_1 + b_2) * c_1 * c_2, s_2 * c_1 - c_2 * s_1]
    # |N|_G^2 = N1^2 + (N2 + a N3)^2 + (central - a^2) N3^2
    square = along[0] ** 2 + along[1] ** 2 + 2 * a * along[1] * along[2]
    speed = level / hy.sqrt(square + hy.expression(central) * along[2] ** 2)
    velocities = [speed * part for part in along]
    return [*velocities, *(rate - velocities[2] for rate in turning)]


def reduced_motion(
    start: Mapping[str, float],
    times: Sequence[float],
    parameters: BogiesParameters = DEFAULT_PARAMETERS,
    start_time: float = 0.0,
) -> dict[str, Array]:
    """States and accelerations at times that go one way from the start, (k,) each by name.

    Parameters
    ----------
    start
        x, y, psi, theta_1, theta_2 and level, sign, integral_1, integral_2.
    times
        s.
    parameters
        Constants.
    start_time
        s.
    """
    variables = hy.make_vars(*COORDINATES)
    level = hy.expression(hy.real128(start["sign"] * start["level"]))
    turning = [hy.expression(hy.real128(start[f"integral_{k}"])) for k in (1, 2)]
    velocities = reduced_velocities(variables[3:], level, turning, parameters)
    cosine, sine = hy.cos(variables[2]), hy.sin(variables[2])
    rates = [
        cosine * velocities[0] - sine * velocities[1],
        sine * velocities[0] + cosine * velocities[1],
        *velocities[2:],
    ]
    accelerations = [
        sum(
            (hy.diff(v, q) * r for q, r in zip(variables[3:], rates[3:], strict=True)),
            hy.expression(0.0),
        )
        for v in velocities[:3]
    ]
    motion = hy.taylor_adaptive(
        [*zip(variables, rates, strict=True)],
        state=[hy.real128(start[name]) for name in COORDINATES],
        time=hy.real128(start_time),
        fp_type=hy.real128,
        compact_mode=True,
    )
    told = hy.cfunc(
        [*velocities, *accelerations], vars=variables, fp_type=hy.real128, compact_mode=True
    )
    rows = []
    for time in times:
        motion.propagate_until(hy.real128(time))
        rows.append(np.concatenate([motion.state, told(motion.state)]).astype(float))
    names = (*COORDINATES, *VELOCITIES, *(f"{name}'" for name in VELOCITIES[:3]))
    return dict(zip(names, np.array(rows).T, strict=True))


REGULAR: Final = {
    "x": 0.0,
    "y": 0.0,
    "psi": 0.2,
    "theta_1": 0.3,
    "theta_2": -0.5,
    "level": 1.1,
    "sign": 1.0,
    "integral_1": 0.9,
    "integral_2": -0.4,
}
REGULAR_TIMES: Final = (1.0, 2.0, 5.0, 10.0)
DISTANCES: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PASSED: Final = (0.3, -0.3)


def near_miss(distance: float) -> dict[str, float]:
    """The start of a motion that passes a degenerate point, at t = 0."""
    angle = math.pi / 2 + distance
    placed = dict.fromkeys(("x", "y", "psi"), 0.0) | dict.fromkeys(("theta_1", "theta_2"), angle)
    return placed | {"level": 1.1, "sign": 1.0, "integral_1": -0.4, "integral_2": 0.9}


def integrate() -> dict[str, Any]:
    """The motion from `REGULAR`, and near misses by distance, ahead and back."""
    found: dict[str, Any] = {"regular": reduced_motion(REGULAR, REGULAR_TIMES)}
    for distance in DISTANCES:
        ways = [reduced_motion(near_miss(distance), [time]) for time in PASSED]
        found[f"{distance:g}"] = {n: np.concatenate([way[n] for way in ways]) for n in ways[0]}
    return found


@cache
def table() -> dict[str, dict[str, Array]]:
    """The stored states and accelerations: "regular" at its times, near misses at `PASSED`."""
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        motion: {name: np.array(values) for name, values in series.items()}
        for motion, series in stored.items()
    }


def make_table() -> None:
    """Integrate and write the table."""
    stored = {
        motion: {name: values.tolist() for name, values in series.items()}
        for motion, series in integrate().items()
    }
    TABLE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


# --- three bodies in absolute coordinates --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AbsoluteMotion:
    """States by name, (k,), and the forces of the skates along their normals, (k, 2), N."""

    states: dict[str, Array]
    forces: Array


def _side(angle: float) -> Array:
    """The vector across the direction of an angle, to its left."""
    return np.array([-np.sin(angle), np.cos(angle)])


class _Bodies:
    """Frame and bogies with masses that add up to the parameters'; q is (x, y, angle) of each.

    Any share of the mass will do: the bogies take a fifth of it each, the frame what is left, with
    its mass centre where that of the whole is right.
    """

    def __init__(self, parameters: BogiesParameters) -> None:
        whole, arms = parameters.mass, (parameters.front, -parameters.rear)
        bogie, frame = whole / 5, whole * 3 / 5
        self.centre = np.array([whole * parameters.centre, -bogie * sum(arms)]) / frame
        self.pivots = [np.array([0.0, arm]) - self.centre for arm in arms]
        inertia = parameters.inertia - 2 * parameters.bogie_inertia
        inertia -= bogie * (arms[0] ** 2 + arms[1] ** 2) + frame * self.centre @ self.centre
        masses = [
            [m, m, j] for m, j in ((frame, inertia), *[(bogie, parameters.bogie_inertia)] * 2)
        ]
        self.masses = np.concatenate(masses)

    def constraints(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The Jacobian of pivots and skates, (6, 9), and what is left of its rate times v, (6,)."""
        jacobian, left = np.zeros((6, 9)), np.zeros(6)
        for k, pivot in enumerate(self.pivots):
            turned = np.cos(q[2]) * pivot + np.sin(q[2]) * np.array([-pivot[1], pivot[0]])
            own = 3 * (k + 1)
            rows = slice(2 * k, 2 * k + 2)
            jacobian[rows, :2], jacobian[rows, own : own + 2] = np.eye(2), -np.eye(2)
            jacobian[rows, 2] = [-turned[1], turned[0]]
            left[rows] = -turned * v[2] ** 2
            angle, rate = q[own + 2], v[own + 2]
            jacobian[4 + k, own : own + 2] = [np.cos(angle), np.sin(angle)]
            left[4 + k] = rate * (_side(angle) @ v[own : own + 2])
        return jacobian, left

    def accelerations(self, q: Array, v: Array) -> Array:
        """The accelerations, and the forces of pivots and skates, (15,)."""
        jacobian, left = self.constraints(q, v)
        saddle = np.block([[np.diag(self.masses), -jacobian.T], [jacobian, np.zeros((6, 6))]])
        return np.linalg.solve(saddle, np.concatenate([np.zeros(9), -left]))

    def place(self, state: Mapping[str, float]) -> Array:
        """q and v of the bodies, (18,), of a state by the problem's names."""
        psi, turn = state["psi"], state["psi_dot"]
        axes = np.array([[np.cos(psi), -np.sin(psi)], [np.sin(psi), np.cos(psi)]])
        points = [self.centre, *(self.centre + pivot for pivot in self.pivots)]
        angles = [psi, *(psi + state[f"theta_{k}"] for k in (1, 2))]
        rates = [turn, *(turn + state[f"theta_dot_{k}"] for k in (1, 2))]
        origin = np.array([state["x"], state["y"]])
        moving = np.array([state["v_1"], state["v_2"]])
        q = [[*(origin + axes @ r), angle] for r, angle in zip(points, angles, strict=True)]
        v = [
            [*(axes @ (moving + turn * np.array([-r[1], r[0]]))), rate]
            for r, rate in zip(points, rates, strict=True)
        ]
        return np.concatenate([np.ravel(q), np.ravel(v)])

    def states(self, y: Array) -> dict[str, Array]:
        """The states by the problem's names, of bodies at k instants, (18, k)."""
        psi, turn = y[2], y[11]
        e_1 = np.array([np.cos(psi), np.sin(psi)])
        e_2 = np.array([-np.sin(psi), np.cos(psi)])
        to_origin = -(self.centre[0] * e_1 + self.centre[1] * e_2)
        origin = y[:2] + to_origin
        moving = y[9:11] + turn * np.array([-to_origin[1], to_origin[0]])
        return {
            "x": origin[0],
            "y": origin[1],
            "psi": psi,
            "theta_1": y[5] - psi,
            "theta_2": y[8] - psi,
            "v_1": np.sum(e_1 * moving, axis=0),
            "v_2": np.sum(e_2 * moving, axis=0),
            "psi_dot": turn,
            "theta_dot_1": y[14] - turn,
            "theta_dot_2": y[17] - turn,
        }


def absolute_motion(
    state: Mapping[str, float],
    times: Sequence[float],
    parameters: BogiesParameters = DEFAULT_PARAMETERS,
) -> AbsoluteMotion:
    """Integrate the bodies from a consistent state at t = 0 by DOP853, with steps of 1e-13."""
    bodies = _Bodies(parameters)

    def rate(_: float, y: Array) -> Array:
        return np.concatenate([y[9:], bodies.accelerations(y[:9], y[9:])[:9]])

    solution = solve_ivp(
        rate, (0.0, times[-1]), bodies.place(state), "DOP853", list(times), rtol=1e-13, atol=1e-14
    )
    forces = [bodies.accelerations(y[:9], y[9:])[13:] for y in solution.y.T]
    return AbsoluteMotion(bodies.states(solution.y), np.array(forces))


if __name__ == "__main__":
    make_table()
