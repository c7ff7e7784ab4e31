"""Laws of feedback in print and as code: residuals obey them, wherever the state is."""

import collections
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import OutOfRangeError, UnknownNameError
from daesolve.export.equation_sections import symbols_of
from daesolve.export.reduced_sections import reaction_symbol
from tests.export.printed import DISPLAY, displays, printed_values

LAW = (50.0, 400.0)
STATE = {"x": 0.7, "y": -0.9, "x_dot": 0.3, "y_dot": 0.4}
"""Off the circle of radius 1, and moving off it."""

VALUES = [1.0, 1.0, 9.81]
"""Mass, length, gravity."""


def pendulum():
    return ds.problem("pendulum").case().system


def module(text):
    names = {}
    exec(compile(text, "plant.py", "exec"), names)
    return names


def left_of_the_law(rates):
    """delta'' + 50 delta' + 400 delta for delta = (x^2 + y^2 - 1) / 2, up to a factor."""
    x, y, u, v = STATE.values()
    a, b = rates[2:]
    second = x * a + y * b + u**2 + v**2
    return second + LAW[0] * (x * u + y * v) + LAW[1] * (x**2 + y**2 - 1.0) / 2


def test_the_exported_module_obeys_the_law_off_the_manifold():
    names = module(ds.problem("pendulum").case().written("python", laws={"rod": LAW}))
    assert abs(left_of_the_law(names["rhs"](0.0, STATE, {}))) < 1e-12
    assert "Residuals obey rod'' + 50 rod' + 400 rod = 0, roots -10, -40 1/s." in names["__doc__"]
    plain = module(ds.problem("pendulum").case().written("python", rate=20.0))
    assert abs(left_of_the_law(plain["rhs"](0.0, STATE, {}))) > 1.0  # (20, 400) is another law


def test_the_function_gives_the_reactions_of_feedback():
    function = pendulum().function("reactions", laws={"rod": LAW})
    kick = {"x": 1e-3}
    found = ds.analysis.disturbance(
        ds.problem("pendulum").case(), kick, 0.5, formulation=ds.Feedback(laws={"rod": LAW})
    )
    assert found.error < 1e-10  # the same law, integrated
    with_law = function(0.0, list(STATE.values()), VALUES)
    without = pendulum().function("reactions")(0.0, list(STATE.values()), VALUES)
    # By hand: J = 2 (x, y), so that J M^-1 J^T = 4 (x^2 + y^2), delta = x^2 + y^2 - 1.
    x, y, u, v = STATE.values()
    delta, rate = x**2 + y**2 - 1.0, 2 * (x * u + y * v)
    expected = -(LAW[0] * rate + LAW[1] * delta) / (4 * (x**2 + y**2))
    assert float(with_law[0]) - float(without[0]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_latex_has_laws_and_reactions():
    text = pendulum().to_latex(laws={"rod": LAW})
    assert r"\ddot{\delta_{1}} + 50\,\dot{\delta_{1}} + 400\,\delta_{1} = 0" in text
    assert r"\section*{Feedback}" in text
    assert r"\section*{Feedback}" not in pendulum().to_latex()
    rate = pendulum().to_latex(rate=3.0)
    assert r"+ 6\,\dot{\delta_{1}} + 9\,\delta_{1} = 0" in rate


@pytest.mark.slow
def test_the_command_takes_laws_of_several_goals():
    words = ["rolling-wheel", "--case", "hoop", "--law", "contact=4,20", "--law", "rolling=3"]
    told = CliRunner().invoke(app, ["equations", *words])
    assert told.exit_code == 0
    assert r"\dot{\delta_{2}} + 3\,\delta_{2} = 0" in told.stdout
    code = CliRunner().invoke(app, ["equations", *words, "--as", "python"])
    assert "contact'' + 4 contact' + 20 contact = 0" in code.stdout


@pytest.mark.parametrize(
    ("word", "said"),
    [("rod", "GOAL=A,B"), ("rod=a,b", "GOAL=A,B"), ("rod=1,-2", "not stable"), ("x=1,2", "'x'")],
)
def test_wrong_laws_have_one_sentence(word, said):
    told = CliRunner().invoke(app, ["equations", "pendulum", "--law", word])
    assert told.exit_code == 2
    assert said in " ".join((told.stderr or told.output).split())


def test_laws_that_cannot_be_are_refused():
    with pytest.raises(UnknownNameError, match="constraint"):
        pendulum().to_latex(laws={"road": LAW})
    with pytest.raises(OutOfRangeError, match="coefficients"):
        pendulum().function("rhs", laws={"rod": (3.0,)})
    with pytest.raises(OutOfRangeError, match="reduced"):
        pendulum().to_latex(reduced=True, rate=1.0)


CLOSED = {
    "pendulum": {"rod": LAW},
    "rolling-wheel:hoop": {"contact": (4.0, 20.0), "rolling": (3.0,)},
    "rolling-wheel:pendulum": {"contact": (4.0, 20.0)},
    "rolling-ball": {},
    "chaplygin-sleigh": {"blade": (3.0,)},
    "slider-crank": {"pin_x": (4.0, 20.0)},
    "four-bar": {},
    "rolling-disc": {"normal": (7.0, 12.0)},
    "knife-edge": {},
    "unicycle": {},
}
"""Systems and laws; those with six reactions are solved by elimination, not by cofactors."""


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(*list(CLOSED)[1:])
@pytest.mark.parametrize("name", CLOSED)
def test_printed_reactions_are_those_of_the_function_and_the_module(name):
    """At random states off the manifold, with the rate 7 1/s for what has no law of its own."""
    problem, _, chosen = name.partition(":")
    case, laws = ds.problem(problem).case(chosen or None), CLOSED[name]
    system, symbols = case.system, symbols_of(case.system)
    text = case.to_latex(document=False, rate=7.0, laws=laws, reactions=True)
    function = system.function("reactions", rate=7.0, laws=laws)
    exported = module(case.written("python", rate=7.0, laws=laws))["reactions"]
    values = {
        entry.name: case.values.get(entry.name, entry.default)
        for entry in function.inputs["p"].rows
    }
    values |= {n: v for n, v in case._mode().items() if n in values}
    random = np.random.default_rng(3)
    names = [reaction_symbol(reaction, symbols) for reaction in function.outputs["reactions"].names]
    for _ in range(5):
        state = {entry.name: random.uniform(0.2, 0.9) for entry in function.inputs["x"].rows}
        known = {symbols.get(n, n): v for n, v in {**state, **values, "t": 0.3}.items()}
        found = printed_values(displays(text), known)
        printed = np.array([found[name] for name in names])
        wanted = np.array(list(function.at(state, values, 0.3).values()))
        # Rounding grows with the condition of the equations, which random states leave below 1e4.
        assert printed == pytest.approx(wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max())
        assert np.array(exported(0.3, state, values)) == pytest.approx(
            wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max()
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["rolling-wheel:hoop", "slider-crank", "omni-rolling", "rolling-disc"]
)
def test_no_name_of_a_document_is_defined_twice(name):
    problem, _, chosen = name.partition(":")
    case = ds.problem(problem).case(chosen or None)
    text = displays(case.to_latex(document=False, rate=7.0))
    left = re.compile(r"^([^&=]+?) &= |^([^&=\n]+?) = ", re.MULTILINE)
    lefts = [a or b for shown in DISPLAY.findall(text) for a, b in left.findall(shown)]
    lefts = [name for name in lefts if "_" in name]  # the others are said in words before
    assert len(lefts) > 10
    assert [name for name, count in collections.Counter(lefts).items() if count > 1] == []


@pytest.mark.slow
def test_too_many_reactions_are_said_to_be_too_many():
    text = ds.problem("n-trailer").case().to_latex(document=False, reactions=True)
    assert "11 reactions are too large to be solved in letters" in text


def test_reactions_alone_are_for_latex_and_not_for_reduced_equations():
    with pytest.raises(OutOfRangeError, match="without reactions"):
        pendulum().to_latex(reduced=True, reactions=True)
    told = CliRunner().invoke(app, ["equations", "pendulum", "--reactions", "--as", "python"])
    assert told.exit_code == 2
    told = CliRunner().invoke(app, ["equations", "pendulum", "--reactions", "--law", "rod=50,400"])
    assert told.exit_code == 0
    assert "section*{Reactions}" in told.stdout
    assert "section*{Energies}" not in told.stdout
