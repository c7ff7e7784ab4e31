import ast
import sys

import pytest

import daesolve as ds
from daesolve.core.preparation.naming import formulation_of
from daesolve.reporting import load
from daesolve.reporting.repeating import command, python
from tests.core.preparation.test_extensions import install
from tests.reporting.conftest import pendulum
from tests.reporting.own_formulation import Weighted


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
    asked = {"formulation": {"name": "feedback", "settings": {"rate": 10.0, "rates": rates}}}
    lines = python(told_measured | {"asked": asked})
    assert max(map(len, lines.splitlines())) < 100
    call = next(node for node in ast.walk(ast.parse(lines)) if _name(node) == "Feedback")
    assert ast.literal_eval(call.keywords[1].value) == rates


def formulation_again(lines):
    """What the lines of Python make as the formulation."""
    found = []
    scope = {"case": type("Case", (), {"solve": lambda self, **given: found.append(given)})()}
    imports, _, call = lines.partition("\ncase = ")
    exec(imports, scope)
    exec("run = " + call.partition("run = ")[2], scope)
    return found[0]["formulation"]


@pytest.mark.slow
@pytest.mark.slow_rows("choice1")
@pytest.mark.parametrize(
    "choice",
    [
        Weighted(weights=(2.0, 3.0), inner=ds.Index1(rate=4.0)),
        Weighted(weights=(1.0,)),
        ds.Projected(Weighted(weights=(0.5,), kind="soft")),
    ],
)
def test_a_formulation_of_ones_own_is_repeated_with_its_settings(choice, tmp_path):
    case = ds.problem("pendulum").case()
    case.solve(until=0.1, formulation=choice, solver="dop853", store=tmp_path / "run")
    told = load(tmp_path / "run")
    assert command(told) is None
    assert formulation_again(python(told)) == choice


@pytest.fixture
def two_gains(tmp_path, monkeypatch):
    """The formulation of the guide, installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    install(folder)
    yield type(formulation_of("two-gains"))
    sys.modules.pop("my_methods", None)


@pytest.mark.slow
def test_the_command_names_an_installed_formulation_where_it_has_its_usual_settings(
    two_gains, tmp_path
):
    case = ds.problem("pendulum").case()
    for choice in (two_gains(), two_gains(a=5.0, b=20.0), ds.Projected(two_gains(b=20.0))):
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        case.solve(until=0.1, formulation=choice, solver="dop853", store=directory)
        told = load(directory)
        assert formulation_again(python(told)) == choice
        if choice == two_gains():
            assert "--formulation two-gains --solver" in " ".join(words(told))
        else:
            assert command(told) is None


def test_a_formulation_that_is_not_installed_here_is_named(told):
    told["formulation"] = "forgotten"
    assert command(told) is None
    assert "# forgotten is not installed here: create it with its original settings" in python(told)


def _name(node):
    return getattr(getattr(node, "func", None), "attr", None)
