"""How far a model with small velocities can be trusted at a state.

The model assumes that (q, p1) is slow and that small velocities are small. Both follow from
friction if the finite velocities hardly enter the slips: in the words of A. V. Vlakhova, if the
columns of the finite velocities in u = B q' are small. Otherwise the limit of ever stiffer friction
is rolling and not Dirac's model: the large velocities carry the small ones along, with their
inertia.

B need not be known. In units of the kinetic energy, |p1| by A11^-1 and |lambda| by S,

    K = p1'_lambda M^-1 S^1/2,    F = S^1/2 M^-1 R_p1

describe how the fast motion changes the large velocities, and how these change the small ones. With
friction along u = B1 v1 + B2 v2, both are B1 by B2: a column of K is zero if that column of B is. K
F is the neglected inertia as a share of the inertia of the large velocities; its errors do not
vanish with the slip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from daesolve.core.expressions.singular_values import singular_directions
from daesolve.nonholonomic.slow_manifold import in_units_of_inertia

Kind = Literal["strong", "weak", "invalid"]

FAR_APART = 0.25
"""The ratio of slow to fast rates up to which a reduced model is assumed to hold."""
SHARE = 0.05
"""The share of the inertia of large velocities that may be neglected."""
LASTING = 0.02
"""Directions in which friction is weaker than this, relative to the strongest, do not have small
slip."""
STANDING = 1e-6
"""Slow rates below this share of the fast ones set no time scale."""


@dataclass(frozen=True, eq=False)
class Validity:
    """How far a reduced model can be trusted at a state.

    Parameters
    ----------
    kind
        As in `FastSpectrum.kind`.
    separation
        The fastest rate of the slow motion over the slowest of the fast one. Errors of order 0 are
        about as large; those of the refinement are about its square.
    correction
        The change by the refinement in the small velocities, relative to them, in the metric S.
    grip
        The smallest singular value of M relative to its typical size: zero if secondary constraints
        follow.
    lengthening
        The rate at which the duration of the fast motion changes. Where it reaches one, a run ends,
        because the slow motion is lost.
    lag
        The largest correction here and at some later times, up to 24 times the time of the fast
        motion, relative to the largest of the small velocities there, because these and their rates
        vanish at times.
    rates
        The changes by the refinement in the rates of positions and momenta, by name, relative to
        the largest of their kind: large velocities by A11, forces p1' by A11^-1.
    columns
        How far the fast motion carries each large velocity along, by name: its change with a small
        velocity, both in units of kinetic energy. Like a column of B, it is zero for a velocity
        that does not enter the slips.
    left_out
        The neglected share of the inertia of large velocities, |K F|.
    jump
        The change in the large momenta due to the fast motion from this state, relative to the
        velocities, in units of kinetic energy.
    nutation
        The average change that an undamped oscillation from this state causes in the rates of the
        large momenta, by the names of the velocities, relative to the largest of them.
    lasting
        Combinations of small velocities that friction hardly holds and that have not reached the
        slow motion, if nothing slow sets a time to compare with: they stay finite for long.
    """

    kind: Kind
    separation: float
    correction: float
    grip: float
    lengthening: float
    lag: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict[str, float])
    columns: Mapping[str, float] = field(default_factory=dict[str, float])
    left_out: float = 0.0
    jump: float = 0.0
    nutation: Mapping[str, float] = field(default_factory=dict[str, float])
    lasting: Sequence[Mapping[str, float]] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        """The objections to the model at this state, in words."""
        name, worst = max(self.rates.items(), key=lambda one: one[1], default=("", 0.0))
        swung, swing = max(self.nutation.items(), key=lambda one: one[1], default=("", 0.0))
        carried = ", ".join(f"{name} {value:.3g}" for name, value in self.columns.items())
        limit = f"where {FAR_APART:g} is the limit"
        said = {
            "the fast motion grows": self.kind == "invalid",
            f"slow rates are {self.separation:.3g} of the fast ones, {limit}": (
                self.separation > FAR_APART
            ),
            f"the time of the fast motion changes by {self.lengthening:.3g} of itself, {limit}": (
                self.lengthening > FAR_APART
            ),
            f"small velocities lag behind by {self.lag:.3g} of their size, {limit}": (
                self.lag > FAR_APART
            ),
            f"the rate of {name} changes by {worst:.3g} of its size, {limit}": worst > FAR_APART,
            f"finite velocities enter the slips (columns {carried}), so {self.left_out:.3g} of "
            f"their inertia is left out, but {SHARE:g} is the limit, and stiffer friction leads "
            "to rolling instead of this model; use the slips themselves as small "
            "velocities": self.left_out > SHARE,
            f"the fast motion adds {self.jump:.3g} of the motion to large momenta, {limit}": (
                self.jump > FAR_APART
            ),
            f"the oscillation from this start changes the rate of {swung}'s momentum on average by "
            f"{swing:.3g} of its size, {limit}; start on the slow manifold, or integrate the full "
            "system": swing > FAR_APART,
            f"friction hardly holds {self._lasting()}, which stays finite for long, and there "
            "is no slow time to compare with (give horizon=)": bool(self.lasting),
        }
        return tuple(words for words, fails in said.items() if fails)

    @property
    def holds(self) -> bool:
        """Whether there is no objection at this state; other states may differ."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        """Return a sentence that describes the validity."""
        fast = {
            "strong": "decays",
            "weak": "oscillates without decay, so the velocities hold only on average",
            "invalid": "grows, so motions leave the slow one",
        }[self.kind]
        parts = [
            f"at this state the reduced model {'holds' if self.holds else 'does not hold'}: the "
            f"fast motion {fast}",
            f"slow rates are {self.separation:.3g} of the fast ones, and the refinement changes "
            f"the small velocities by {self.correction:.3g} of their size",
        ]
        if self.rates:
            changed = ", ".join(f"{name} by {value:.3g}" for name, value in self.rates.items())
            carried = ", ".join(f"{name} by {value:.3g}" for name, value in self.columns.items())
            parts.append(f"of other rates it changes {changed}")
            parts.append(
                f"the fast motion carries along {carried}, so {self.left_out:.3g} of the inertia "
                "of large velocities is left out"
            )
        if not self.holds:
            parts.append(f"objections to the model: {'; '.join(self.failures)}")
        return "; ".join(parts)

    def _lasting(self) -> str:
        return " and ".join(
            " + ".join(f"{value:.3g} {name}" for name, value in one.items()) for one in self.lasting
        )


@dataclass(frozen=True, eq=False)
class Coupling:
    """How large and small velocities affect each other, in units of kinetic energy.

    Parameters
    ----------
    mobility
        A11^-1, (nl, nl).
    inertia, solvability
        S and M, (m, m).
    pull
        The derivative of p1' with respect to the small velocities, (nl, m).
    following
        The derivative of R with respect to p1, (m, nl).
    """

    mobility: np.ndarray
    inertia: np.ndarray
    solvability: np.ndarray
    pull: np.ndarray
    following: np.ndarray

    @property
    def carried(self) -> np.ndarray:
        """K, (nl, m)."""
        pushed = self.pull @ np.linalg.solve(self.solvability, np.linalg.cholesky(self.inertia))
        return self._root.T @ pushed

    @property
    def columns(self) -> np.ndarray:
        """The change in each large velocity by the fast motion, (nl,)."""
        changed = np.linalg.norm(self._root @ self.carried, axis=1)
        return changed * np.sqrt(np.diag(np.linalg.inv(self.mobility)))

    @property
    def left_out(self) -> float:
        """|K F|."""
        if not len(self.mobility):
            return 0.0
        driven = np.linalg.solve(self.solvability, self.following)
        driven = np.linalg.cholesky(self.inertia).T @ np.linalg.solve(self._root, driven.T).T
        return float(np.linalg.norm(self.carried @ driven, 2))

    def force_size(self, force: np.ndarray) -> float:
        """Return |p1'| or |p1| in units of kinetic energy."""
        return float(np.linalg.norm(self._root.T @ force))

    def velocity_size(self, velocity: np.ndarray) -> float:
        """Return |v1| in units of kinetic energy."""
        return float(np.linalg.norm(np.linalg.solve(self._root, velocity)))

    @property
    def _root(self) -> np.ndarray:
        return np.linalg.cholesky(self.mobility)


def lasting_directions(
    inertia: np.ndarray,
    solvability: np.ndarray,
    missed: np.ndarray,
    size: float,
    slowest: float,
    names: Sequence[str],
) -> list[dict[str, float]]:
    """Return combinations of small velocities that stay finite for long.

    Parameters
    ----------
    inertia, solvability
        S and M.
    missed
        The distance of the small velocities from those of the slow motion.
    size
        The size of the small velocities, in the metric S.
    slowest
        The fastest slow rate, 1/s; if there is one, it decides.
    names
        The names of the small velocities.
    """
    root = np.linalg.cholesky(inertia)
    spanned = singular_directions(in_units_of_inertia(inertia, solvability))
    values, right = spanned.values, spanned.right
    if slowest > STANDING * values[-1]:
        return []
    directions: list[dict[str, float]] = []
    for index, value in enumerate(values.tolist()):
        direction: np.ndarray = right[index]
        off = abs(float(direction @ root.T @ missed))
        if value <= LASTING * values[0] and off > FAR_APART * size:
            shown: np.ndarray = np.linalg.solve(root.T, direction)
            parts: list[float] = (shown / shown[np.argmax(np.abs(shown))]).tolist()
            pairs = zip(names, parts, strict=True)
            directions.append({name: part for name, part in pairs if abs(part) > STANDING})
    return directions
