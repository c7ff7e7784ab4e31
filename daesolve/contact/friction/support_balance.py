"""The balance of a body on its supports in a state: the effect of each reaction on the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.posing.guides import Guides
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.singular_values import rank, shortest_solution
from daesolve.errors import FrictionlessIllPosed, PosingError

PUSHED = 1e-6
"""The part of a normal along free directions that counts as rounding."""


@dataclass(frozen=True, eq=False)
class VariantState:
    """The equations of the supports in a state.

    Parameters
    ----------
    complementarity
        The equations for the reactions.
    free
        (nv,) accelerations without the reactions of the supports, m/s^2 or rad/s^2.
    first, second
        (nv, m) the contribution of a unit reaction of each support to the accelerations.
    values
        The discrete values that follow from the state: the sense of each slip in the plane.
    mass
        (nv, nv) the mass matrix.
    """

    complementarity: HorizontalComplementarity
    free: np.ndarray
    first: np.ndarray
    second: np.ndarray
    values: Mapping[str, float]
    mass: np.ndarray

    def accelerations(self, reactions: np.ndarray) -> np.ndarray:
        """Return v' (nv,) from signed reactions N (m,)."""
        upper, lower = np.maximum(reactions, 0.0), np.maximum(-reactions, 0.0)
        return self.free + self.second @ upper + self.first @ lower

    def accelerations_of(self, answer: VariantAnswer) -> np.ndarray:
        """Return v' (nv,) with a variant's supports loaded, whatever the signs of its reactions."""
        second = answer.signs > 0
        loaded = np.where(second, self.second, -self.first)
        return self.free + loaded @ answer.reactions


class BodyBalance:
    """The balance of a body in a place, whatever its supports do.

    Accelerations and the multipliers of all other constraints are eliminated. What remains is a
    balance of forces along the constraints that the supports keep. It does not depend on masses if
    these constraints are independent. With the derivatives W of these, J of the others, and the
    forces B of unit reactions of the others,

        balance = (W P0 W^T)^-1 W P,    P = M^-1 - M^-1 B (J M^-1 B)^-1 J M^-1,

    where P0 is P with B = J^T: what friction of other constraints does belongs to friction.

    Parameters
    ----------
    dynamics, guides
        The equations, and their guides.
    parts
        The matrices of the equations in this place.
    """

    def __init__(self, dynamics: Dynamics, guides: Guides, parts: Mapping[str, np.ndarray]) -> None:
        self.guides, self.mass = guides, parts["mass"]
        kept = np.array([row.reaction is None for row in dynamics.rows])
        jacobian, bias = parts["jacobian"], parts["bias"].ravel()
        self._jacobian, size = jacobian, dynamics.velocity_count
        # A goal that is released, such as that of a law of friction which slides, has an empty row.
        acting = ~kept & np.any(jacobian != 0.0, axis=1)
        self._held, others = jacobian[kept], jacobian[acting]
        force = np.concatenate([parts["force"].ravel(), -bias[acting]])
        right = np.column_stack([force, np.eye(len(force), size)])
        smooth = np.linalg.solve(_saddle(self.mass, others.T, others), right)[:size]
        along, moved = along_of_others(dynamics, parts["influence"], acting), smooth
        if not np.array_equal(along, others.T):
            moved = np.linalg.solve(_saddle(self.mass, along, others), right)[:size]
        self.free, self._response = moved[:, 0], moved[:, 1:]
        self._smooth = smooth[:, 1:]
        self._inertia = self._held @ self._smooth @ self._held.T
        self._missing = -bias[kept] - self._held @ self.free

    def at(
        self, columns: list[np.ndarray], values: Mapping[str, float], *, pushing: bool = True
    ) -> VariantState:
        """Return the equations of the supports.

        Parameters
        ----------
        columns
            Normals and frictions of the first and of the second supports, (nv, m) each.
        values
            The discrete values that follow from the state.
        pushing
            Whether to refuse supports that push in a direction held by no constraint.

        Raises
        ------
        PosingError
            The message names the pair.
        """
        if pushing:
            _pushing(self.guides, self._jacobian, columns)
        effects = [self._response @ column for column in columns]
        right = [self._held @ effect for effect in effects]
        balance = np.linalg.solve(self._inertia, np.column_stack([*right, self._missing]))
        normal, rubbed, other_normal, other_rubbed = np.split(balance[:, :-1], 4, axis=1)
        ideal, other_ideal = normal, other_normal
        if not np.array_equal(self._smooth, self._response):
            pushed = [self._held @ self._smooth @ column for column in (columns[0], columns[2])]
            ideal, other_ideal = np.split(
                np.linalg.solve(self._inertia, np.column_stack(pushed)), 2, axis=1
            )
        gaps = _opening(self.guides, self._inertia, other_ideal)
        return VariantState(
            HorizontalComplementarity(
                first=normal + rubbed + gaps,
                second=other_normal + other_rubbed,
                load=balance[:, -1],
                first_normal=ideal + gaps,
                second_normal=other_ideal,
                names=self.guides.reactions.names,
            ),
            self.free,
            effects[0] + effects[1],
            effects[2] + effects[3],
            values,
            self.mass,
        )


def along_of_others(dynamics: Dynamics, influence: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the forces of unit reactions of the chosen goals (rows,), which have their own."""
    places = [row.reaction for row, own in zip(dynamics.rows, chosen, strict=True) if own]
    return influence[:, [place for place in places if place is not None]]


def _saddle(mass: np.ndarray, along: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.block([[mass, along], [rows, np.zeros((len(rows), len(rows)))]])


def _opening(guides: Guides, inertia: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the columns of the accelerations with which unilateral pairs open, (m, m).

    The gaps are combinations of the goals: support k pushes along sum_j normals_jk (row j), so its
    gap has the acceleration sum_j normals_jk (J v' + b)_j.
    """
    opens = np.array([pair.kind == "unilateral" for pair in guides.pairs])
    columns = np.zeros_like(inertia)
    if opens.any():
        if rank(normals) < len(normals):
            raise FrictionlessIllPosed(
                f"the supports of {', '.join(guides.reactions.names)} do not hold the body "
                "even without friction: their normals depend on each other along the goals"
            )
        columns[:, opens] = -np.linalg.solve(inertia, np.linalg.inv(normals.T))[:, opens]
    return columns


def _pushing(guides: Guides, jacobian: np.ndarray, columns: list[np.ndarray]) -> None:
    """Refuse supports that push in a direction held by no constraint.

    Raises
    ------
    PosingError
        The message names the pair.
    """
    for normals in (columns[0], columns[2]):
        shares = shortest_solution(jacobian.T, normals)
        left = np.linalg.norm(normals - jacobian.T @ shares, axis=0)
        for pair, missed, size in zip(
            guides.pairs, left, np.linalg.norm(normals, axis=0), strict=True
        ):
            if missed > PUSHED * size:
                raise PosingError(
                    f"a support of {pair.name!r} pushes in a direction in which no constraint "
                    "holds the body: its normal must be the gradient of a goal, or of several"
                )
