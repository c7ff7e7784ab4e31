import json

import pytest

from tests.cli.calling import call

PLUGIN = """
import numpy as np
from matplotlib.figure import Figure

import daesolve as ds
from daesolve.plugins.family import Answer


def build():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m", ds.POSITIVE))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
    )


def period(case):
    length = case.full_parameters["length"]
    return Answer({"period": 2.0 * length, "bounds": np.array([1.0, np.nan])}, {"a/b c": Figure()})


problem = ds.Problem(
    name="mine",
    title="a rod",
    models={"cartesian": build},
    cases=[ds.Case("rest", until=1.0, start={"x": 1.0})],
    analyses={"period": period, "twice": lambda case: Answer({"case": 1.0})},
)
"""


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN, encoding="utf-8")
    return file


def test_every_problem_has_its_rank(mine):
    answer = json.loads(call("analyse", mine, "rank", "--json").stdout)
    assert answer["degrees"] == {"rod": 2}
    assert answer["start"] == answer["at_rest"]
    assert answer["start"]["rank"] == answer["start"]["of"] == 1


def test_an_answer_follows_the_parameters_and_has_no_numbers_that_json_has_not(mine):
    answer = json.loads(call("analyse", mine, "period", "--set", "length=3", "--json").stdout)
    assert answer["analysis"] == "period"
    assert answer["period"] == 6.0
    assert answer["bounds"] == [1.0, None]


def test_entries_with_the_same_values_are_a_table_with_a_row_each():
    shown = call("analyse", "prism", "variants", "--case", "none-jam").stdout.splitlines()
    assert len(max(shown, key=len)) <= 80
    head = next(line.split() for line in shown if line.strip().startswith("variant"))
    assert head[:3] == ["variant", "normal_1", "normal_2"]
    rows = [line.split() for line in shown if line.strip().startswith(("1,", "2,"))]
    assert [row[0] for row in rows] == ["1,1", "1,2", "2,1", "2,2"]
    assert {len(row) for row in rows} == {len(head)}
    assert "count: 0" in [line.strip() for line in shown]


def test_a_table_that_is_too_wide_has_a_column_for_each_entry():
    shown = call("analyse", "three-supports", "variants").stdout.splitlines()
    assert len(max(shown, key=len)) <= 80
    head = next(line.split() for line in shown if line.strip().startswith("variant"))
    assert head == ["variant", *[f"{i},{j},{k}" for i in (1, 2) for j in (1, 2) for k in (1, 2)]]
    support = next(line.split() for line in shown if line.strip().startswith("support_1"))
    assert len(support) == 9


@pytest.mark.slow
def test_entries_that_differ_in_their_values_have_a_line_each(mine):
    shown = call("analyse", "prism", "regions").stdout.splitlines()
    assert all(len(line) <= 80 for line in shown)


def test_figures_are_written_whatever_their_names(mine, tmp_path):
    out = tmp_path / "answer"
    shown = call("analyse", mine, "period", "--out", out).stdout
    assert "period: 2" in shown
    assert sorted(file.name for file in out.iterdir()) == ["a-b-c.png", "a-b-c.svg", "answer.json"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["raank"], "unknown analysis 'raank': did you mean 'rank'?"),
        (["twice"], "the analysis 'twice' has a value named 'case'"),
        (["rank", "--set", "length=-1"], "parameter 'length' is -1, but must be > 0"),
        (["rank", "--case", "none"], "unknown case 'none'"),
    ],
)
def test_what_cannot_be_asked_gets_one_sentence(mine, words, sentence):
    told = call("analyse", mine, *words, code=2).stderr
    assert sentence in told
    assert len(told.strip().splitlines()) == 1


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("option", ["--rtol", "--atol"])
def test_a_fixed_step_has_no_tolerance(option):
    told = call("run", "pendulum", "--fixed-step", "0.01", option, "1e-6", code=2).stderr
    assert "--fixed-step does not control the error" in told


def test_an_answer_lists_no_values_that_the_problem_derives():
    answer = json.loads(call("analyse", "rolling-wheel", "admissibility", "--json").stdout)
    assert not [name for name in answer["parameters"] if name.startswith("stop_")]
