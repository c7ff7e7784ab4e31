"""The reduction by two skates: one direction of motion is left, and the energy level along it.

    N = (b_2 s_1 c_2 + b_1 c_1 s_2,  -(b_1 + b_2) c_1 c_2,  sin(theta_2 - theta_1)),
    |N|_G^2 = N_1^2 + (N_2 + a N_3)^2 + rho_c^2 N_3^2,  rho_c^2 = (I - 2 j) / m - a^2,
    (v_1, v_2, psi') = sigma V N / |N|_G,  theta_k' = C_k - psi'.

The formulas take CasADi's symbols and plain numbers alike. N vanishes where cos theta_1 =
cos theta_2 = 0, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca

from daesolve.errors import OutOfRangeError

INTEGRALS = ("integral_1", "integral_2")
alike: Any = ca
"""CasADi's functions: they treat numbers and symbols alike, which its stub does not say."""


@dataclass(frozen=True, eq=False)
class Turned:
    """N at the angles of the bogies.

    Parameters
    ----------
    parameters
        Numbers or symbols by name.
    direction
        N, three entries in m, m and 1.
    length
        |N|_G, m.
    """

    parameters: Any
    direction: tuple[Any, Any, Any]
    length: Any

    @staticmethod
    def of(angles: Any, parameters: Any) -> Turned:
        """Take the angles by the names `theta_1` and `theta_2`."""
        first, second = angles["theta_1"], angles["theta_2"]
        s_1, c_1, s_2, c_2 = (f(a) for a in (first, second) for f in (alike.sin, alike.cos))
        front, rear = parameters["front"], parameters["rear"]
        direction = (
            rear * s_1 * c_2 + front * c_1 * s_2,
            -(front + rear) * c_1 * c_2,
            alike.sin(second - first),
        )
        square = square_of_speed(parameters, _named(direction))
        return Turned(parameters, direction, alike.sqrt(square))

    def momentum(self, v: Any) -> Any:
        """Return the product of N and the velocities in the metric G, which is |N|_G V for them."""
        n_1, n_2, n_3 = self.direction
        centre = self.parameters["centre"]
        across = (n_2 + centre * n_3) * (v["v_2"] + centre * v["psi_dot"])
        return n_1 * v["v_1"] + across + central_square(self.parameters) * n_3 * v["psi_dot"]

    def velocities(self, given: Any) -> dict[str, Any]:
        """Return the five velocities at a signed level and values of the integrals."""
        speed = given["level"] / self.length
        v = _named(tuple(speed * part for part in self.direction))
        turning = {f"theta_dot_{k}": given[f"integral_{k}"] - v["psi_dot"] for k in (1, 2)}
        return v | turning


def _named(vector: tuple[Any, Any, Any]) -> dict[str, Any]:
    return dict(zip(("v_1", "v_2", "psi_dot"), vector, strict=True))


def central_square(parameters: Any) -> Any:
    """Return rho_c^2, the square of the radius of inertia without the bogies' own, m^2."""
    frame = parameters["inertia"] - 2 * parameters["bogie_inertia"]
    return frame / parameters["mass"] - parameters["centre"] ** 2


def square_of_speed(parameters: Any, v: Any) -> Any:
    """Return v_1^2 + (v_2 + a psi')^2 + rho_c^2 psi'^2, twice the energy of translation over m."""
    across = v["v_2"] + parameters["centre"] * v["psi_dot"]
    return v["v_1"] ** 2 + across**2 + central_square(parameters) * v["psi_dot"] ** 2


# -- the start -----------------------------------------------------------------------------------


def full_start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Place the vehicle, with the velocities that the reduction gives.

    `distance` means theta_1 = theta_2 = pi/2 + distance.
    """
    placed = reduced_start(given, parameters, structure)
    velocities = Turned.of(placed, parameters).velocities(placed)
    constants = {"level", *INTEGRALS}
    place = {name: value for name, value in placed.items() if name not in constants}
    return place | {name: float(value) for name, value in velocities.items()}


def reduced_start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Place the vehicle, its level with the sign of the motion.

    Raises
    ------
    OutOfRangeError
        The level is not positive, the sign is invalid, the body is impossible, or the skates leave
        the direction of motion open.
    """
    check(given, parameters)
    state = {name: given.get(name, 0.0) for name in ("x", "y", "psi")}
    state |= {name: given[name] for name in INTEGRALS}
    state["level"] = given["sign"] * given["level"]
    angles = ("theta_1", "theta_2")
    if "distance" in given and all(name in given for name in angles):
        raise OutOfRangeError(
            "distance replaces theta_1 and theta_2: leave it out, or use a case without them"
        )
    for name in angles:
        state[name] = given[name] if name in given else math.pi / 2 + given["distance"]
    length = float(Turned.of(state, parameters).length)
    if length < 1e-12 * (parameters["front"] + parameters["rear"]):
        raise OutOfRangeError(
            "cos theta_1 = cos theta_2 = 0 at the start, where both skates hold the vehicle in "
            "one direction and its direction of motion is open; choose another start"
        )
    return state


def check(given: Mapping[str, float], parameters: Mapping[str, float]) -> None:
    """Refuse impossible levels, signs and bodies.

    Raises
    ------
    OutOfRangeError
        The message says which, and what would be right.
    """
    if not given["level"] > 0.0:
        raise OutOfRangeError(
            f"level is {given['level']!r}, but must be positive: it is sqrt(2 E / mass)"
        )
    if abs(given["sign"]) != 1.0:
        raise OutOfRangeError(f"sign is {given['sign']!r}, but must be 1 or -1")
    if not central_square(parameters) > 0.0:
        raise OutOfRangeError(
            f"inertia is {parameters['inertia']!r}, but includes the inertia of both bogies "
            "and of the mass off the origin: it must be more than 2 bogie_inertia + mass "
            "centre^2"
        )


def scales(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Scale the energy by its own value, rates of turn by the largest that it allows."""
    turning = given["level"] / math.sqrt(central_square(parameters))
    energy = parameters["mass"] * given["level"] ** 2
    energy += parameters["bogie_inertia"] * sum(given[name] ** 2 for name in INTEGRALS)
    sizes = {name: abs(given[name]) + turning for name in INTEGRALS}
    return {"energy": energy / 2, **sizes}
