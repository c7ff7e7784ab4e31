import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.ensembles import log_uniform, normal, sweep, uniform
from daesolve.ensembles.members import members
from daesolve.errors import (
    DaesolveError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
)
from tests.ensembles.problem_file import rows_of


def test_a_grid_is_the_product_with_the_last_name_quickest():
    found = rows_of(members({"mass": [1, 2], "stiffness": np.linspace(0, 1, 3)}))
    assert [tuple(row.values()) for row in found] == [
        (1, 0.0), (1, 0.5), (1, 1.0), (2, 0.0), (2, 0.5), (2, 1.0)
    ]  # fmt: skip


def test_each_point_of_a_grid_has_its_own_samples():
    found = members({"mass": [1.0, 2.0], "stiffness": uniform(0.0, 1.0)}, samples=50, seed=3)
    assert found["mass"] == [1.0] * 50 + [2.0] * 50
    assert len(set(found["stiffness"])) == 100


def test_members_can_be_listed_one_by_one():
    given = [{"mass": 1, "steps": 2.0}, {"mass": 3, "steps": 4.0}]
    assert rows_of(members(given)) == given


def test_the_seed_alone_decides_what_is_drawn():
    over = {"mass": uniform(0.1, 1.0), "stiffness": normal(3.0, 0.5)}
    assert members(over, 20, 7) == members(over, 20, 7)
    assert members(over, 20, 7)["mass"] != members(over, 20, 8)["mass"]
    # More samples go on where fewer ended, and another name has a stream of its own.
    assert members(over, 30, 7)["stiffness"][:20] == members(over, 20, 7)["stiffness"]
    assert members(over, 20, 7)["mass"] != members({"stiffness": uniform(0.1, 1.0)}, 20, 7)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.integers(0, 2**64), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_draws_have_the_moments_of_their_distribution(seed, low, width):
    count = 2000
    drawn = np.array(members({"a": uniform(low, low + width)}, count, seed)["a"])
    assert np.all((low <= drawn) & (drawn <= low + width))
    # Five standard errors of the mean of `count` draws.
    error = width / math.sqrt(12 * count)
    assert abs(drawn.mean() - (low + width / 2)) < 5 * error + 1e-12 * abs(low)
    drawn = np.array(members({"a": normal(low, width)}, count, seed)["a"])
    assert abs(drawn.mean() - low) < 5 * width / math.sqrt(count)
    assert abs(drawn.std() - width) < 5 * width / math.sqrt(2 * count)
    logarithms = np.log(members({"a": log_uniform(width, 10 * width)}, count, seed)["a"])
    error = math.log(10) / math.sqrt(12 * count)
    assert abs(logarithms.mean() - (math.log(width) + math.log(10) / 2)) < 5 * error


@pytest.mark.parametrize(
    ("over", "settings", "sentence"),
    [
        ({}, {}, "over is empty"),
        ({"mass": []}, {}, "no value"),
        ({"mass": 1.0}, {}, "must be a list of values or a distribution"),
        ({"mass": "heavy"}, {}, "must be a list of values or a distribution"),
        ({"mass": [[1.0]]}, {}, "must be a number, true, false or a name"),
        ({"mass": uniform(0.1, 1.0)}, {}, "samples are missing"),
        ({"mass": [1.0]}, {"samples": 3}, "nothing is drawn"),
        ({"mass": uniform(0.1, 1.0)}, {"samples": 0}, "samples is 0"),
        ({"mass": uniform(0.1, 1.0)}, {"samples": 2, "seed": -1}, "seed is -1"),
        ([{"mass": 1.0}, {"steps": 1.0}], {}, "give each member the same names"),
        ([], {}, "at least one"),
        (3, {}, "must be a mapping of names to values"),
        ({"mass": [1.0, -1.0]}, {}, "parameter 'mass' is -1.0, but must be > 0"),
        ({"mass": normal(0.5, 1.0)}, {"samples": 40}, "but must be > 0"),
        ({"amplitude": [0.1, math.nan]}, {}, "amplitude"),
        ({"damped": [True, 1]}, {}, "must be true or false"),
        ({"mass": [1.0]}, {"workers": -1}, "workers is -1"),
        ({"mass": [1.0]}, {"workers": 1, "scheduler": "tcp://h:1"}, "leave one of them out"),
        ({"mass": [1.0]}, {"until": math.inf}, "until is inf"),
        ({"mass": [1.0]}, {"at": [2.0], "until": 1.0}, "lies outside the run"),
        ({"mass": [1.0]}, {"solver": "tailor"}, "unknown solver 'tailor'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(case, tmp_path, over, settings, sentence):
    with pytest.raises(DaesolveError, match=sentence):
        sweep(case, over, out=tmp_path / "out", **settings)


@pytest.mark.parametrize("over", [{"mas": [1.0]}, [{"mas": 1.0}]])
def test_an_unknown_name_is_refused_with_the_nearest(case, tmp_path, over):
    with pytest.raises(UnknownNameError, match="did you mean 'mass'"):
        sweep(case, over, out=tmp_path)
    with pytest.raises(UnknownNameError, match="option of a sweep 'store'"):
        sweep(case, {"mass": [1.0]}, out=tmp_path, store=tmp_path)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: uniform(1.0, 1.0), "the lower bound first"),
        (lambda: log_uniform(0.0, 1.0), "above zero"),
        (lambda: normal(0.0, 0.0), "standard deviation"),
        (lambda: uniform("a", 1.0), "it needs two numbers"),
    ],
)
def test_a_distribution_that_is_none_is_refused(make, sentence):
    with pytest.raises(OutOfRangeError, match=sentence):
        make()


def test_a_sweep_of_a_system_is_answered_by_what_makes_a_case_of_it(tmp_path):
    q, p = ds.coordinates(x="m"), ds.parameters(mass=(1.0, "kg"))
    system = ds.MechanicalSystem(q, p, kinetic=p.mass * q.dot.x**2 / 2)
    with pytest.raises(PosingError, match="a case of a problem, not MechanicalSystem") as error:
        ds.sweep(system, {"mass": [1.0, 2.0]}, out=tmp_path)
    line = str(error.value).split(": ", 1)[1].replace("{...}", "{'x': 0.0, 'x_dot': 1.0}")
    case = eval(line, {"ds": ds, "system": system})
    assert case.solve(until=2.0).end_state["x"] == pytest.approx(2.0)
