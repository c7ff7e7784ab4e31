"""Which loads the prism answers to, and how it leaps from branch to branch."""

import json
import math
from functools import cache

import numpy as np
import pytest
from daesolve_problems.prism import problem
from daesolve_problems.prism.guide import guide
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from daesolve.cli.app import app
from daesolve.errors import OutOfRangeError
from tests.reference.prisms import random_prism, told_prism
from tests.reference.yielding_prism import YieldingPrism

CASES = tuple(case.name for case in problem.cases)
KINDS = {
    "unique-lower": "one",
    "unique-mixed": "one",
    "two-solutions": "several",
    "none-jam": "none",
    "three-solutions": "several",
    "unique-but-negative-det": "unphysical",
    "tall-rough-upper-two": "several",
}


@cache
def answer(name, analysis):
    return problem.case(name).analyse(analysis)


# -- regions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["three-solutions", "none-jam", "unique-but-negative-det"])
def test_enumeration_finds_the_same_regions_as_the_closed_form(name):
    told = answer(name, "regions").values
    assert told["raster"]["loads"] > 1500
    assert told["raster"]["differences"] == 0
    assert told["at_the_load"] == KINDS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_so_it_does_in_all_cases(name):
    told = answer(name, "regions").values
    assert told["raster"]["differences"] == 0
    assert told["at_the_load"] == KINDS[name]


def test_a_map_that_is_wrong_would_be_seen():
    from daesolve_problems.prism.guide import sliding
    from daesolve_problems.prism.loads import loads
    from daesolve_problems.prism.regions import _checked, _extent, _raster

    case = problem.case("three-solutions")
    other = problem.case("three-solutions", lower_friction_1=0.45)
    raster = _raster(loads(case), _extent(sliding(case), (-8.0, -10.0)))
    assert _checked(raster, sliding(case).sectors())["differences"] == 0
    assert _checked(raster, sliding(other).sectors())["differences"] > 0
