"""Values note which of them a rule reads."""

import casadi as ca
import numpy as np
import pytest

from daesolve.errors import UnknownNameError
from daesolve.plugins.ruled_starts import ReadTracker, ruled_start, settled


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        (lambda start, p, structure: {"x": p["a"]}, {"a"}),
        (lambda start, p, structure: {"x": p.get("b", 1.0)}, {"b"}),
        (lambda start, p, structure: {"x": start["x"]}, set()),
        (lambda start, p, structure: {**p}, {"a", "b", "c"}),
        (lambda start, p, structure: dict(p.items()), {"a", "b", "c"}),
        (lambda start, p, structure: sum(p.values()), {"a", "b", "c"}),
        (lambda start, p, structure: dict(p), {"a", "b", "c"}),
        (None, set()),
    ],
)
def test_what_a_rule_reads_is_known_however_it_does_so(rule, read):
    assert settled([rule], {"x": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0}, {}) == read


def test_a_name_that_there_is_not_is_refused_as_ever():
    with pytest.raises(UnknownNameError):
        ReadTracker({"a": 1.0})["z"]


def test_a_rule_of_arithmetic_is_an_expression_and_one_of_numpy_is_not():
    given = {"x": 2.0}, {"a": 0.5, "b": 3.0}, {}

    def arithmetic(start, p, structure):
        return {"y": start["x"] / p["a"], "z": float(start["x"])}

    def by_numbers(start, p, structure):
        return {"y": float(np.arccos(p["a"]))}

    def by_branches(start, p, structure):
        return {"y": 1.0 if p["a"] > 0.2 else 2.0}

    read, rule = ruled_start(arithmetic, None, given)
    assert read == set()
    assert float(ca.substitute(rule.states["y"], rule.parameters["a"], 0.25)) == 8.0
    for other in (by_numbers, by_branches):
        assert ruled_start(other, None, given) == ({"a"}, None)


def test_parameters_of_which_others_follow_cannot_be_set():
    def derived(start, p, structure):
        return {"b": 2 * p["a"]}

    read, rule = ruled_start(None, derived, ({}, {"a": 0.5, "b": 1.0}, {}))
    assert (read, rule) == ({"a"}, None)
