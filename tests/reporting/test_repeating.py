import ast

import pytest

import daesolve as ds
from daesolve.reporting import load
from daesolve.reporting.repeating import command, python
from tests.reporting.conftest import pendulum


def words(told):
    return command(told).replace("\\\n", "").split()


def test_the_command_makes_every_choice_explicitly(told):
    assert " ".join(words(told)) == (
        "daesolve run pendulum --case swing --model physical --until 3 --formulation feedback "
        "--rate 10 --solver taylor --rtol 2.220446049250313e-16 --verify"
    )


def test_what_was_changed_of_the_case_is_repeated(told):
    told["asked"] = {"set": {"mass": 2.5, "kind": "long"}, "initial": {"x": 0.1}}
    text = " ".join(words(told))
    assert "--set mass=2.5 --set kind=long --initial x=0.1" in text
    assert 'mass=2.5, kind="long"' in python(told)
    assert 'initial={"x": 0.1}' in python(told)


def test_a_budget_is_repeated(told):
    told["asked"] = {"max_evaluations": 300}
    assert "--max-evaluations 300" in command(told).replace("\\\n    ", "")
    assert "max_evaluations=300" in python(told)


def test_rates_that_were_switched_off_are_repeated(told_measured):
    assert "--rate 10 --rate energy=off --solver dop853" in " ".join(words(told_measured))
    assert 'ds.Feedback(rate=10.0, rates={"energy": None})' in python(told_measured)


def test_a_system_of_ones_own_has_python_alone(told):
    told["problem"] = None
    assert command(told) is None
    assert "ds.solve(\n    system,\n    until=3.0," in python(told)


def test_lines_fit(told):
    told["asked"] = {"set": {f"a_parameter_with_a_long_name_{k}": 1.5 for k in range(9)}}
    assert max(map(len, command(told).splitlines())) < 100
    assert max(map(len, python(told).splitlines())) < 100


@pytest.mark.parametrize(
    "choice", [ds.Projected(), ds.Projected(ds.Index1()), ds.GGL(), ds.Viscous(1.2345678e-7)]
)
def test_every_formulation_has_lines_that_python_reads(told, choice):
    told["formulation"] = choice.title
    found = eval(
        next(
            line.strip().removeprefix("formulation=").rstrip(",")
            for line in python(told).splitlines()
            if "formulation=" in line
        ),
        {"ds": ds},
    )
    assert found.title == choice.title


def test_the_lines_of_a_stored_run_give_the_same_run(stored, tmp_path):
    told = load(stored)
    lines = python(told)
    assert "at=ds.every(0.01)" in lines
    ast.parse(lines)
    scope = {"system": pendulum()}
    exec(lines, scope)
    assert scope["run"].times.tolist() == told["times"]
    assert scope["run"].states["x"].tolist() == told["states"]["x"]


def test_many_rates_are_broken_into_lines_that_read_back_to_the_same(told_measured):
    rates = {f"a_goal_with_a_long_name_{k}": None for k in range(20)}
    asked = {"formulation": {"settings": {"rate": 10.0, "rates": rates}}}
    lines = python(told_measured | {"asked": asked})
    assert max(map(len, lines.splitlines())) < 100
    call = next(node for node in ast.walk(ast.parse(lines)) if _name(node) == "Feedback")
    assert ast.literal_eval(call.keywords[1].value) == rates


def _name(node):
    return getattr(getattr(node, "func", None), "attr", None)
