"""Andrews' mechanism against its one freedom by quadrature and against the published numbers.

The published end agrees with the quadrature to 9.57 digits in positions and 7.29 in velocities:
that is its own error, for the quadrature has more than twenty.
"""

from functools import cache

import numpy as np
import pytest

import daesolve as ds
from tests.reference.andrews import NAMES, PUBLISHED_END, andrews_states

from .digits import correct_digits

EPSILON = float(np.finfo(float).eps)
RATES = tuple(f"{name}_dot" for name in NAMES)
END = {name: columns[-1] for name, columns in andrews_states().items()}


@cache
def start_case():
    return ds.problem("andrews").case("start")


def test_states_agree_with_the_quadrature_of_the_one_freedom():
    table = andrews_states()
    run = start_case().solve(at=table["times"])
    # Of its largest value, a position answers to a relative change of the torque by up to 2.2, a
    # rate by up to 16; the run takes about a hundred steps, each of which rounds.
    for names, answer in ((NAMES, 2.2), (RATES, 16.0)):
        for name in names:
            size = np.max(np.abs(table[name]))
            assert np.max(np.abs(run[name] - table[name])) < 100 * answer * EPSILON * size, name
    assert run.drift["energy"].max_relative < 1e-14


def test_the_published_end_is_met_as_far_as_it_is_right():
    run = start_case().solve(at=[0.03])
    published = [PUBLISHED_END[name] for name in NAMES]
    assert correct_digits([run[name][0] for name in NAMES], published) > 9.5
    assert correct_digits([END[name] for name in NAMES], published) < 9.6


def test_published_accelerations_and_multipliers_of_the_start():
    start = start_case().consistent_start()
    assert not start.changes
    parameters = list(start_case().full_parameters.values())
    system = start_case().system
    accelerations = np.array(system.function("accelerations")(0.0, start.state, parameters)).ravel()
    expected = [14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0]
    assert np.max(np.abs(accelerations - expected)) < 1e-13 * 14222.0
    multipliers = np.array(system.function("reactions")(0.0, start.state, parameters)).ravel()
    expected = [98.5668703962410896057654982170, -6.12268834425566265503114393122, 0, 0, 0, 0]
    assert np.max(np.abs(multipliers - expected)) < 1e-13 * 98.6


@pytest.mark.parametrize("solver", [ds.Cvodes(), ds.Dop853()], ids=lambda solver: solver.name)
def test_other_solvers_keep_eight_digits(solver):
    run = start_case().solve(at=[0.03], solver=solver)
    assert correct_digits([run[name][0] for name in NAMES], [END[name] for name in NAMES]) > 8.0
