"""The deepest points of polyhedra, against another solver of linear programmes."""

import numpy as np
import pytest
import scipy

from daesolve.contact.decisions.largest_slack import deepest_point


def by_highs(slopes, constant, farthest, counts):
    """Return the largest t by HiGHS; None if other rows cannot be nonnegative."""
    size = slopes.shape[1]
    found = scipy.optimize.linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack([-slopes, counts.astype(float)]),
        b_ub=constant,
        bounds=[*[(-farthest, farthest)] * size, (None, None)],
    )
    return None if found.status else -found.fun


@pytest.mark.parametrize("whole", [False, True])
def test_points_lie_as_deep_as_another_solver_finds(whole):
    """With whole numbers many rows meet in a vertex, so that pivots may go in circles."""
    random, empty = np.random.default_rng(5), 0
    for _ in range(120):
        size, rows = int(random.integers(1, 7)), int(random.integers(3, 30))
        slopes, constant = random.normal(size=(rows, size)), random.normal(size=rows)
        if whole:
            slopes, constant = np.round(slopes), np.round(constant)
        counts = random.random(rows) < 0.6
        counts[0] = True
        found, known = (find(slopes, constant, 10.0, counts) for find in (by_own, by_highs))
        assert (found is None) is (known is None)
        if found is None or known is None:
            empty += 1
            continue
        assert found.slack == pytest.approx(known, abs=1e-9)
        # The simplex method ends at a vertex, exact to rounding.
        assert np.min(slopes @ found.place + constant - counts * found.slack) >= -1e-11
        assert np.max(np.abs(found.place)) <= 10.0 * (1.0 + 1e-12)
        assert deepest_point(slopes, constant, 10.0, counts=counts, least=known + 1e-6) is None
    assert 0 < empty < 120


def by_own(slopes, constant, farthest, counts):
    return deepest_point(slopes, constant, farthest, counts=counts)
