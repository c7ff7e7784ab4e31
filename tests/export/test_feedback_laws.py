"""Laws of feedback in print and as code: residuals obey them, wherever the state is."""

import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import OutOfRangeError, UnknownNameError

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
