"""A prism on springs and dampers: what its reactions settle to is what really happens.

Supports that yield leave nothing to choose. Each pushes with t = max(0, K d + C d'), d how far the
prism presses into it beyond a gap, and rubs against the slip with f t. The prism, free to rise and
to turn by a little, slides all the while in one sense, so that only its rise y and its turn phi
matter:

    m y'' = P_y + sum (-1)^p t,    J phi'' = M + sum ((-1)^p a + s f b) t,    J = 0.36 m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.integrate import solve_ivp

from .prisms import Prism

if TYPE_CHECKING:
    from collections.abc import Mapping

INERTIA: Final = 0.36
"""J / m, m^2."""
STIFFNESS: Final = 2e4
"""K, N/m."""
DAMPING: Final = 0.7
"""Of the critical damping of the mass on one support."""
UP: Final = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class YieldingPrism:
    """A prism between supports that yield.

    Parameters
    ----------
    prism
        Its measures and the load.
    gap
        The play between the prism and each support, m.
    """

    prism: Prism
    gap: float = 0.0

    def pushes(self, state: np.ndarray) -> np.ndarray:
        """Return t by pair and support, (2, 2), N."""
        rise = state[0] + self.prism.along * state[1]
        climb = state[2] + self.prism.along * state[3]
        pressed = -UP * rise - self.gap
        damping = 2.0 * DAMPING * np.sqrt(STIFFNESS * self.prism.mass)
        force = STIFFNESS * pressed - damping * UP * climb
        return np.where(pressed > 0.0, np.maximum(force, 0.0), 0.0)

    def reactions(self, state: np.ndarray) -> np.ndarray:
        """Return the signed reactions (2,), N."""
        return self.pushes(state) @ UP

    def bearing(self, variant: tuple[int, int]) -> np.ndarray:
        """Return the state (4,) at rest in which a variant bears the load: y, phi, their rates."""
        reactions = self.prism.reactions(variant)
        sides = np.array(variant) - 1
        along = self.prism.along[[0, 1], sides]
        rise = -UP[sides] * self.gap - reactions / STIFFNESS
        phi = (rise[1] - rise[0]) / (along[1] - along[0])
        return np.array([rise[0] - along[0] * phi, phi, 0.0, 0.0])

    def after(self, seconds: float, start: np.ndarray) -> np.ndarray:
        """Return the state (4,) after a time, or where it has left its guide far behind."""
        prism = self.prism
        arms = UP * prism.along + prism.slip * prism.friction * prism.height
        inertia = INERTIA * prism.mass

        def rate(_: float, state: np.ndarray) -> np.ndarray:
            t = self.pushes(state)
            force, moment = prism.force_y + np.sum(t @ UP), prism.moment + np.sum(arms * t)
            return np.array([*state[2:], force / prism.mass, moment / inertia])

        def far(_: float, state: np.ndarray) -> float:
            return 1.0 - np.hypot(state[0], state[1])

        far.terminal = True  # type: ignore[attr-defined]
        run = solve_ivp(
            rate, (0.0, seconds), start, method="LSODA", rtol=1e-9, atol=1e-12, events=far
        )
        return run.y[:, -1]


def told_prism(numbers: Mapping[str, float]) -> Prism:
    """Return the prism whose parameters are called upper_a_1, lower_friction_2, ..."""

    def table(letter: str) -> np.ndarray:
        return np.array(
            [[numbers[f"{side}_{letter}_{k}"] for side in ("upper", "lower")] for k in (1, 2)]
        )

    return Prism(
        along=table("a"),
        height=table("b"),
        friction=table("friction"),
        slip=int(numbers["slip_sign"]),
        force_x=numbers["force_x"],
        force_y=numbers["force_y"],
        moment=numbers["moment"],
        mass=numbers["mass"],
    )
