"""Prisms in a straight guide, by the closed form of their equations.

A prism slides along x between two guides a vanishing distance apart, with supports of pair k at
(a_k^p, b_k^p) from its mass centre: p = 1 on the upper guide, p = 2 on the lower one. It neither
rises nor turns, so that forces and moments balance (Nikolskii V. V. and Smirnov Yu. P., On forms
of the equations of dynamics of a system with dry friction, (2.7), reactions positive upwards):

    N_1 + N_2 + P_y = 0,    c_1 N_1 + c_2 N_2 + M = 0,    c_k = a_k + (-1)^p f_k b_k sgn(x').
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

VARIANTS = ((1, 1), (1, 2), (2, 1), (2, 2))


@dataclass(frozen=True, eq=False)
class Prism:
    """Arrays are indexed by pair, then by support: upper, lower."""

    along: np.ndarray
    height: np.ndarray
    friction: np.ndarray
    slip: int
    force_x: float
    force_y: float
    moment: float
    mass: float = 2.0

    def arms(self) -> np.ndarray:
        """c_k^p, (2, 2)."""
        return self.along + np.array([-1, 1]) * self.friction * self.height * self.slip

    def determinant(self, variant: tuple[int, int]) -> float:
        """D_ij = c_2^j - c_1^i."""
        c = self.arms()
        return c[1, variant[1] - 1] - c[0, variant[0] - 1]

    def reactions(self, variant: tuple[int, int]) -> np.ndarray:
        """N of one variant, positive upwards."""
        c = self.arms()
        c1, c2 = c[0, variant[0] - 1], c[1, variant[1] - 1]
        return np.array(
            [
                (self.moment - c2 * self.force_y) / (c2 - c1),
                (c1 * self.force_y - self.moment) / (c2 - c1),
            ]
        )

    def acceleration(self, variant: tuple[int, int]) -> float:
        """x'' of one variant, m/s^2."""
        factors = [(-1) ** p * self.friction[k, p - 1] for k, p in enumerate(variant)]
        return (self.force_x - self.slip * (factors @ self.reactions(variant))) / self.mass

    def answers(self) -> dict[tuple[int, int], np.ndarray]:
        """The variants whose reactions have the right signs."""
        found = {variant: self.reactions(variant) for variant in VARIANTS}
        return {
            (i, j): n
            for (i, j), n in found.items()
            if (-1) ** i * n[0] >= 0 and (-1) ** j * n[1] >= 0
        }

    def degree(self) -> int:
        """The signed count of the answers, where a_1^p < a_2^q."""
        return 1 - (self.determinant((2, 1)) < 0) - (self.determinant((1, 2)) < 0)

    def columns(self) -> dict[str, np.ndarray]:
        """What unit reactions of the upper and lower supports do, from forces and their arms.

        Rows: the force upwards, the moment counter-clockwise about the mass centre. A guide pushes
        the upper support down and the lower one up, and rubs against the slip.
        """
        columns = {}
        for support, side in enumerate(("first", "second")):
            upwards = (-1.0, 1.0)[support]
            backwards = -self.slip * self.friction[:, support]
            lever = upwards * self.along[:, support]
            columns[f"{side}_normal"] = np.array([np.full(2, upwards), lever])
            turning = lever - self.height[:, support] * backwards
            columns[side] = np.array([np.full(2, upwards), turning])
        return {**columns, "load": np.array([-self.force_y, -self.moment])}


def random_prism(random: np.random.Generator) -> Prism:
    """A prism whose first pair is left of its mass centre and the second right of it."""
    return Prism(
        along=np.array([[-1.0], [1.0]]) * random.uniform(0.1, 1.0, (2, 2)),
        height=np.array([1.0, -1.0]) * random.uniform(0.1, 2.0, (2, 2)),
        friction=random.uniform(0.0, 1.0, (2, 2)),
        slip=int(random.choice([-1, 1])),
        force_x=3.0,
        force_y=random.uniform(-20.0, 20.0),
        moment=random.uniform(-20.0, 20.0),
    )


def _prism(
    forces: tuple[float, float], slip: int, upper: list[list[float]], lower: list[list[float]]
) -> Prism:
    """A prism by its load (P_y, M) and, for either guide, a, b and f of both pairs."""
    a, b, f = np.array([upper, lower]).transpose(1, 2, 0)
    return Prism(a, b, f, slip, force_x=3.0, force_y=forces[0], moment=forces[1])


_LEVEL = ([[-1, 1], [0.5, 0.5], [0.2, 0.2]], [[-1, 1], [-0.5, -0.5], [0.2, 0.2]])

CASES = {
    "unique-lower": _prism((-20, 4), 1, *_LEVEL),
    "unique-mixed": _prism((-20, 30), 1, *_LEVEL),
    "two-solutions": _prism(
        (10, -3),
        1,
        [[-0.25, 0.4], [1, 1], [0.1, 0.2]],
        [[-0.6, 0.6], [-2, -2], [0.75, 0.75]],
    ),
    "none-jam": _prism(
        (10, 0),
        1,
        [[-0.25, 0.5], [2, 2], [0.75, 1]],
        [[-0.6, 0.6], [-1.5, -1.5], [0.2, 0.2]],
    ),
    "three-solutions": _prism(
        (-8, -10), -1, [[-1, 1], [5, 5], [0, 0.2]], [[-1, 1], [-5, -5], [0.5, 0]]
    ),
    "unique-but-negative-det": _prism(
        (-10, 4),
        -1,
        [[-0.4, 0.4], [2, 2], [1, 0.1]],
        [[-0.4, 0.4], [-1.5, -1.5], [1, 0.2]],
    ),
    "tall-rough-upper-two": _prism(
        (-1, -5),
        1,
        [[-0.5, 0.5], [2, 2], [0.9, 0.9]],
        [[-0.5, 0.5], [-2, -2], [0.1, 0.1]],
    ),
}
