"""Values note which of them a rule reads."""

import pytest

from daesolve.errors import UnknownNameError
from daesolve.plugins.ruled_starts import Noted, settled


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
        Noted({"a": 1.0})["z"]
