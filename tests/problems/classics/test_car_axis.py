from functools import cache

import numpy as np

import daesolve as ds
from tests.reference.car_axis import NAMES, PUBLISHED_END, PUBLISHED_MULTIPLIERS, car_axis_states

from .digits import correct_digits

EPSILON = float(np.finfo(float).eps)


@cache
def road_case():
    return ds.problem("car-axis").case("road")


def test_states_agree_with_quadruple_precision_in_the_two_freedoms():
    table = car_axis_states()
    run = road_case().solve(at=table["times"])
    # A change of the springs' length at rest moves positions by up to 0.97 of itself and rates by
    # 23; of the 260 steps each rounds.
    for name in NAMES:
        assert np.max(np.abs(run[name] - table[name])) < 200 * EPSILON, name
        rate = f"{name}_dot"
        assert np.max(np.abs(run[rate] - table[rate])) < 23 * 200 * EPSILON, name


def test_the_published_end_is_met():
    run = road_case().solve(at=[3.0])
    assert correct_digits([run[name][0] for name in NAMES], PUBLISHED_END[:4]) > 12.0
    multipliers = [run.reactions[name][0] for name in ("lateral", "axis")]
    assert correct_digits(multipliers, PUBLISHED_MULTIPLIERS) > 11.0


def test_the_published_start_is_consistent():
    assert not road_case().consistent_start().changes
