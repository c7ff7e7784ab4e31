"""Expressions as data: they come back operation by operation, and nothing else does."""

import json

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.described_expressions import described, expressions
from daesolve.errors import NotResumableError


def test_expressions_come_back_as_they_were():
    x = ca.SX.sym("x", 3)
    parts = [
        ca.if_else(x[0] > 1, x[1], x[0] ** 2) + ca.fabs(x[2]) ** 1.5,
        ca.atan2(x[0], x[1]) * ca.fmin(x[0], ca.exp(-x[2])) + ca.floor(3 * x[1]),
        ca.SX(2.5),
        x[1],
    ]
    saved = json.loads(json.dumps(described(parts)))
    by_name = {f"x_{k}": x[k] for k in range(3)}
    found = expressions(saved, [by_name[name] for name in saved["names"]])
    both = ca.Function("both", [x], [ca.vertcat(*parts), ca.vertcat(*found)])
    for point in np.random.default_rng(1).normal(size=(20, 3)):
        posed, read = both(point)
        assert np.array_equal(posed.full(), read.full())
    assert described(found) == described(parts)


FALSE = {
    "a library": {"steps": [["call", 0]], "results": [0]},
    "no operation": {"steps": [["system", 0]], "results": [0]},
    "what comes later": {"steps": [["sin", 1], ["const", 1.0]], "results": [0]},
    "from behind": {"steps": [["const", 1.0], ["sin", -1]], "results": [1]},
    "no number": {"steps": [["const", "nan"]], "results": [0]},
    "three operands": {"steps": [["const", 1.0], ["add", 0, 0, 0]], "results": [1]},
    "nothing": {},
}


@pytest.mark.parametrize("fault", FALSE)
def test_data_that_tell_something_else_are_refused(fault):
    with pytest.raises(NotResumableError, match="contains no expression"):
        expressions(FALSE[fault], [])
