"""The cheapest step is the shortest solution, whatever solves for it."""

import numpy as np
import pytest

from daesolve.core.equations import least_steps
from daesolve.core.expressions.singular_values import shortest_solution

EPSILON = np.finfo(float).eps


@pytest.mark.parametrize(("rows", "columns"), [(25, 40), (40, 40), (40, 25)])
def test_factors_give_the_shortest_solution_where_the_rank_is_clear(rows: int, columns: int):
    generator = np.random.default_rng(1)
    slopes, wanted = generator.normal(size=(rows, columns)), generator.normal(size=rows)
    found = least_steps._of_clear_rank(slopes, wanted)
    assert found is not None
    # Both err by rounding times the condition, squared where something is missed.
    condition = np.linalg.cond(slopes) ** (2 if rows > columns else 1)
    bound = 100 * EPSILON * condition * np.linalg.norm(found)
    assert np.linalg.norm(found - shortest_solution(slopes, wanted)) <= bound


def test_singular_values_decide_where_slopes_nearly_depend_on_each_other():
    generator = np.random.default_rng(2)
    slopes = generator.normal(size=(25, 40))
    slopes[3] = slopes[4] + 1e-10 * slopes[5]
    assert least_steps._of_clear_rank(slopes, np.ones(25)) is None
    assert least_steps._of_clear_rank(slopes[:5, :10], np.ones(5)) is None
