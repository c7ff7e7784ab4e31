"""Friction that is shared: the best share is that of a general programme, and smooth in loads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize

from daesolve.contact.decisions.sharing import best_share


def three_feet(random):
    """Return limits, tractions that meet a load, what moves nothing, and the rows of the feet."""
    feet = random.normal(size=(3, 2))
    rows = np.array([[[1.0, 0.0, -y], [0.0, 1.0, x]] for x, y in feet]).reshape(6, 3)
    tractions = np.linalg.lstsq(rows.T, random.normal(size=3))[0]
    return random.uniform(0.5, 1.5, 3), tractions.reshape(3, 2), null_space(rows.T), rows


def used(limits, tractions):
    return float(np.max(np.linalg.norm(tractions, axis=1) / limits))


@pytest.mark.parametrize("seed", range(8))
def test_no_other_share_leaves_more_of_all_cones(seed):
    """The least largest |T| / (mu N), by a general method for smooth programmes."""
    limits, tractions, free, _ = three_feet(np.random.default_rng(seed))
    found = best_share(limits, tractions, free.reshape(3, 2, -1))
    assert found.spare == pytest.approx(1.0 - used(limits, found.tractions), abs=1e-14)

    def left(y):
        own = tractions + (free @ y[:-1]).reshape(3, 2)
        return (y[-1] * limits) ** 2 - np.sum(own**2, axis=1)

    best = minimize(
        lambda y: y[-1],
        np.array([0.0, 0.0, 0.0, 1.5 * used(limits, tractions)]),
        constraints={"type": "ineq", "fun": left},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    # The share lies within a part of 0.02 of the best one.
    assert found.spare >= 1.0 - best.fun - 0.02 * abs(found.spare) - 1e-9


@pytest.mark.slow
def test_where_no_share_is_left_the_feet_slide_as_a_body_does():
    """At the limit each traction acts against a slip, and the slips are those of one motion."""
    limits, tractions, free, rows = three_feet(np.random.default_rng(3))
    least, most = 0.0, 100.0
    while most - least > 1e-15 * most:
        middle = (least + most) / 2.0
        spare = best_share(limits, middle * tractions, free.reshape(3, 2, -1)).spare
        least, most = (middle, most) if spare > 0.0 else (least, middle)
    found = best_share(limits, least * tractions, free.reshape(3, 2, -1))
    assert 0.0 <= found.spare <= 1e-13
    directions = -found.tractions / np.linalg.norm(found.tractions, axis=1)[:, None]
    # Across each direction the motion has no part: three equations for a motion that is none.
    across = directions @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    equations = np.array([a @ rows[2 * k : 2 * k + 2] for k, a in enumerate(across)])
    sizes = np.linalg.svd(equations, compute_uv=False)
    assert sizes[-1] <= 1e-9 * sizes[0]


def test_a_contact_that_hardly_bears_anything_is_no_trouble():
    limits, tractions, free, _ = three_feet(np.random.default_rng(5))
    found = best_share(limits * [1.0, 1.0, 1e-14], tractions, free.reshape(3, 2, -1))
    assert np.all(np.isfinite(found.tractions))
