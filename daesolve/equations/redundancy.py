"""Reactions that dependent constraints leave open: which, what they move, how they are shared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daesolve.algebra.singular_values import null_space, unit_length
from daesolve.equations.dynamics import Dynamics
from daesolve.equations.rank import RANK_TOLERANCE, Samples, influence
from daesolve.errors import OutOfRangeError, is_number, unknown_name

WIDEST_WEIGHTS = 1e2
"""The ratio of redundant weights up to which the proximal iteration converges to rounding."""
MOVED = 1e-6
"""The part of undetermined reactions' accelerations that does not cancel, above which they move."""


def undetermined(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the combinations of reactions that no goal and no relation determines at a state.

    Parameters
    ----------
    parts
        From `Dynamics.matrices`.

    Returns
    -------
    np.ndarray
        (nu, k); zero in the rows of reactions that are determined.
    """
    caused = np.vstack([np.linalg.solve(np.linalg.cholesky(parts["mass"]), parts["influence"]),
                        parts["ties"]])  # fmt: skip
    sizes = np.linalg.norm(caused, axis=0)
    sizes[sizes == 0.0] = 1.0
    loose = null_space(unit_length(influence(parts) / sizes, 1), RANK_TOLERANCE)
    return np.where(np.abs(loose) > 1e-6, loose, 0.0) / sizes[:, None]


def friction_on_redundant(
    dynamics: Dynamics, samples: Samples, values: np.ndarray
) -> tuple[str, ...]:
    """Return the reactions that are not determined and yet move the system.

    Reactions of dependent constraints can be shared in many ways. That leaves the motion alone
    where each acts along its goal's gradient. Where one enters a friction law as well, another
    share is another friction: then the motion itself is not determined.

    Parameters
    ----------
    dynamics, values
        The equations and p as numbers.
    samples
        Consistent states.

    Returns
    -------
    tuple of str
        The names of the reactions, empty where the motion is determined.
    """
    names = dynamics.labels.reactions
    found: list[str] = []
    for t, x in samples:
        parts = dynamics.matrices(t, x, values)
        loose = undetermined(parts)
        if not loose.size:
            continue
        factor = np.linalg.cholesky(parts["mass"])
        caused = np.linalg.solve(factor, parts["influence"])
        moved = np.linalg.norm(caused @ loose, axis=0)
        by_each = np.linalg.norm(caused, axis=0)[:, None] * np.abs(loose)
        size = np.sum(by_each, axis=0)
        for column in np.flatnonzero(moved > MOVED * size):
            taking_part = by_each[:, column] > 1e-6 * size[column]
            found += [name for name, part in zip(names, taking_part, strict=True) if part]
    return tuple(dict.fromkeys(found))


def check_weights(dynamics: Dynamics, weights: Mapping[str, float]) -> None:
    """Refuse shares of a load that have no meaning.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        No goal with a reaction of its own has such a name, or a weight is no positive number or
        lies too far from the others.
    """
    own = [row.name for row in dynamics.rows if row.reaction is not None]
    for name, weight in weights.items():
        if name not in own:
            raise unknown_name("goal with a redundant weight", name, own)
        if not (is_number(weight) and weight > 0.0):
            raise OutOfRangeError(
                f"the redundant weight of {name!r} is {weight!r}, but must be a number > 0"
            )
    sizes = [1.0, *weights.values()]
    if not max(sizes) <= WIDEST_WEIGHTS * min(sizes):
        raise OutOfRangeError(
            f"the redundant weights reach from {min(sizes):g} to {max(sizes):g} (goals without one "
            f"have 1), but must lie within a factor of {WIDEST_WEIGHTS:g}"
        )
