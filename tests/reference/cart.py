"""The cart of two wheel pairs as a sleigh, by hand: virtual power in the moving axes.

A pair with two wheels (mass m, moment j about the pivot, mass centre R; wheels of radius h and
moment i about the axle, l from its middle rho) moves as one with a skate at rho and, (3.13) of
Borisov, Kilin, Mamaev (2015),

    m_s = m + 2 i / h^2,  m_s R_s = m R + (2 i / h^2) rho,  j_s = j + (2 i / h^2)(rho^2 + l^2).

A body whose mass centre has the acceleration a and which turns at W takes part in virtual power
with m a . dv + I W' dW, I its central moment. With vectors as complex numbers in the moving axes,

    frame    a = V' + i w V + (i w' - w^2) R_f
    pair k   a = V' + i w V + (i w' - w^2) r + (i W' - W^2) R_s exp(i theta),   W = w + theta'.

So neither an energy nor a bracket of quasi-velocities is needed. Accelerations and the skates'
multipliers come from one linear system. The wheels roll at phi' = -(v_pivot . tau + W arm) / h, arm
= rho_n +- l, and their torques act on the sleigh through the derivatives of phi'. The ground acts
across the axle by mu = (i phi'' - torque) / h on each wheel, and along it by the skate's multiplier
less W i (phi_1' + phi_2') / h.

SI units, angles in rad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
TURNS: Final = ("phi_1_1", "phi_1_2", "phi_2_1", "phi_2_2")
VELOCITIES: Final = ("v_1", "v_2", "psi_dot", "theta_dot_1", "theta_dot_2")
STATES: Final[tuple[str, ...]] = ("x", "y", "psi", "theta_1", "theta_2", *TURNS, *VELOCITIES)


@dataclass(frozen=True)
class Skate:
    """A pair whose wheels are replaced: its numbers after (3.13).

    The pivot is seen in the frame, the mass centre and the middle of the axle in the pair.
    """

    number: int
    pivot: complex
    mass: float
    central_moment: float
    centre: complex
    axle: complex
    arms: tuple[float, float]
    radius: float
    wheel_inertia: float
    torques: tuple[float, float]
    spring: float

    @staticmethod
    def of(parameters: Mapping[str, float], k: int) -> Skate:
        """Read a pair."""

        def value(name: str) -> float:
            return float(parameters[f"{name}_{k}"])

        axle = complex(value("axle_centre_n"), value("axle_centre_tau"))
        centre = complex(value("pair_centre_n"), value("pair_centre_tau"))
        half, radius = value("half_track"), value("wheel_radius")
        added = 2.0 * value("wheel_inertia") / radius**2
        mass = value("pair_mass") + added
        about_pivot = value("pair_inertia") + added * (abs(axle) ** 2 + half**2)
        common = (value("pair_mass") * centre + added * axle) / mass
        return Skate(
            number=k,
            pivot=complex(value("pivot_x"), value("pivot_y")),
            mass=mass,
            central_moment=about_pivot - mass * abs(common) ** 2,
            centre=common,
            axle=axle,
            arms=(axle.real + half, axle.real - half),
            radius=radius,
            wheel_inertia=value("wheel_inertia"),
            torques=(parameters[f"torque_{k}_1"], parameters[f"torque_{k}_2"]),
            spring=value("spring"),
        )


@dataclass(frozen=True)
class Share:
    """A pair's part of the equations at one state, for w = ``VELOCITIES``.

    mass (5, 5), force (5,); row @ w' + bias = 0 for the skate; phi'' = rolling @ w' + drift for its
    wheels, (2, 5) and (2,).
    """

    mass: Array
    force: Array
    row: Array
    bias: float
    rolling: Array
    drift: float


@dataclass(frozen=True)
class Moment:
    """What the cart does at one state: rates of all states, and the forces of the ground."""

    rates: Array
    forces: dict[str, float]


class Cart:
    """The equations of the sleigh, for given numbers."""

    def __init__(self, parameters: Mapping[str, float]) -> None:
        self.frame_mass = parameters["frame_mass"]
        self.frame_centre = complex(parameters["frame_centre_x"], parameters["frame_centre_y"])
        self.frame_moment = (
            parameters["frame_inertia"] - self.frame_mass * abs(self.frame_centre) ** 2
        )
        self.skates = [Skate.of(parameters, k) for k in (1, 2)]

    def at(self, state: Array) -> Moment:
        """Give the rates of ``STATES``, the forces and the skates' multipliers, N."""
        psi, w = state[2], state[9:]
        lever = point(self.frame_centre)
        bias = 1j * w[2] * complex(w[0], w[1]) - w[2] ** 2 * self.frame_centre
        mass = self.frame_mass * np.outer(lever.conj(), lever).real
        mass[2, 2] += self.frame_moment
        force = -self.frame_mass * (lever.conj() * bias).real
        shares = [share(*entry, w) for entry in zip(self.skates, state[3:5], strict=True)]
        mass += sum(part.mass for part in shares)
        force += sum(part.force for part in shares)
        rows = np.array([part.row for part in shares])
        saddle = np.block([[mass, -rows.T], [rows, np.zeros((2, 2))]])
        found = np.linalg.solve(saddle, [*force, *(-part.bias for part in shares)])
        place = np.exp(1j * psi) * (w[0] + 1j * w[1])
        spins = [part.rolling @ w for part in shares]
        rates = np.concatenate([[place.real, place.imag], w[2:], *spins, found[:5]])
        forces: dict[str, float] = {}
        for skate, part, multiplier, spin in zip(
            self.skates, shares, found[5:], spins, strict=True
        ):
            forces |= ground(skate, w, multiplier, spin, part.rolling @ found[:5] + part.drift)
        return Moment(rates.astype(float), forces)


def point(place: complex) -> NDArray[np.complex128]:
    """Give what takes w to the velocity of a point of the frame: (5,)."""
    return np.array([1.0, 1j, 1j * place, 0.0, 0.0])


def share(skate: Skate, theta: float, w: Array) -> Share:
    """Give a pair's part of the equations."""
    k, turning, theta_dot = skate.number, w[2], w[2 + skate.number]
    n = complex(np.cos(theta), np.sin(theta))
    spin = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    spin[2 + k] = 1.0
    pivot, arm = point(skate.pivot), skate.centre * n
    lever = pivot + 1j * arm * spin
    bias = 1j * turning * complex(w[0], w[1]) - turning**2 * skate.pivot
    bias -= (turning + theta_dot) ** 2 * arm
    seen = n.conjugate() * pivot  # along n and tau
    rolling = np.array([-(seen.imag + a * spin) / skate.radius for a in skate.arms])
    force = -skate.mass * (lever.conj() * bias).real + np.array(skate.torques) @ rolling
    force[2 + k] -= skate.spring * theta
    return Share(
        mass=skate.mass * np.outer(lever.conj(), lever).real
        + skate.central_moment * np.outer(spin, spin),
        force=force,
        row=seen.real - skate.axle.imag * spin,
        bias=theta_dot * float(seen.imag @ w),
        rolling=rolling,
        drift=theta_dot * float(seen.real @ w) / skate.radius,
    )


def ground(
    skate: Skate, w: Array, multiplier: float, spins: Array, spin_rates: Array
) -> dict[str, float]:
    """Give the forces of the ground on a pair, and its skate's multiplier, N."""
    k = skate.number
    swept = (w[2] + w[2 + k]) * skate.wheel_inertia * spins.sum() / skate.radius
    found = {f"skate_{k}_apparent": float(multiplier), f"skate_{k}": float(multiplier - swept)}
    for i, (rate, torque) in enumerate(zip(spin_rates, skate.torques, strict=True), start=1):
        found[f"rolling_{k}_{i}"] = float(skate.wheel_inertia * rate - torque) / skate.radius
    return found


def cart_states(
    start: Mapping[str, float],
    times: Sequence[float],
    parameters: Mapping[str, float],
) -> dict[str, Array]:
    """States and forces of the ground at given times, from t = 0 on.

    Parameters
    ----------
    start
        ``STATES`` at t = 0; the skates must hold there.
    times
        Increasing, s. Integration starts anew at each: dense output would lose digits.
    parameters
        By the names of the problem.

    Returns
    -------
    dict
        ``STATES``, the forces ``skate_k`` and ``rolling_k_i``, ``skate_k_apparent``; each (n,).
    """
    cart = Cart(parameters)
    state, now = np.array([start[name] for name in STATES], dtype=float), 0.0
    series: dict[str, list[float]] = {}
    for time in times:
        if time > now:
            leg = solve_ivp(
                lambda _, x: cart.at(x).rates, (now, time), state,
                method="DOP853", rtol=3e-14, atol=1e-14,
            )  # fmt: skip
            state, now = leg.y[:, -1], time
        moment = cart.at(state)
        values = dict(zip(STATES, state, strict=True)) | moment.forces
        for name, value in values.items():
            series.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in series.items()}
