"""What is built from something is shared by all runs, and goes when its origin goes."""

import gc
import weakref

from daesolve.core.equations.conservation import rates_function
from daesolve.core.equations.projection import levels
from daesolve.core.expressions.memory_cache import built_once
from tests.systems import pendulum


def test_it_is_built_once_for_the_same_arguments_of_the_same_equations():
    built = []

    @built_once
    def build(dynamics, *further):
        built.append((dynamics, further))
        return len(built)

    one, other = pendulum().dynamics, pendulum().dynamics
    assert [build(one), build(one), build(one, 1), build(other), build(one, 1)] == [1, 1, 2, 3, 2]


def test_it_does_not_keep_the_equations():
    system = pendulum()
    level, _ = levels(system.dynamics)
    rates_function(system.dynamics, tuple(system.dynamics.invariants))
    known = weakref.ref(system.dynamics)
    del system
    gc.collect()
    assert level.goals
    assert known() is None
