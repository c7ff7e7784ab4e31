"""`daesolve optimise`: a closed form, the files it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import call, document

CART = """
import daesolve as ds

def cart():
    q, u = ds.coordinates(x="m"), ds.inputs(force=(0.0, "N"))
    p = ds.parameters(mass=(1.0, "kg", ds.POSITIVE))
    kinetic = p.mass * q.dot.x**2 / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, force={"x": u.force}, inputs=u)

case = ds.Case("still", start={"x": 0.0, "x_dot": 0.0}, until=2.0)
problem = ds.Problem("pushed-cart", title="A cart", models={"cart": cart}, cases=[case])
"""
TASK = ("--objective", "force**2", "--end", "x=1", "--end", "x_dot=0", "--nodes", "3")


@pytest.fixture(scope="module")
def cart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that defines a mass on a line that a force pushes."""
    file = tmp_path_factory.mktemp("cart") / "cart.py"
    file.write_text(CART)
    return file


def test_the_answer_is_the_closed_form_for_the_start_values_and_parameters_of_a_case(
    cart: Path,
) -> None:
    # The least integral of F^2 from rest to rest is 12 (mass d)^2 / T^3, with T of the case.
    task = (*TASK, "--initial", "x=0.5", "--set", "mass=3", "--no-verify")
    found = document("optimise", cart, *task)
    assert found["cost"] == pytest.approx(12.0 * (3.0 * 0.5) ** 2 / 2.0**3, rel=1e-12)
    assert found["duration"] == 2.0
    assert found["parameters"]["mass"] == 3.0
    assert found["objection"] == "the run was not verified"


@pytest.mark.slow
def test_a_directory_holds_the_page_the_answer_and_the_run(cart: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer"
    shown = call("optimise", cart, *TASK, "--out", out)
    assert "checks hold" in shown.stdout
    answer = json.loads((out / "answer.json").read_text())
    assert answer["cost"] == pytest.approx(1.5, rel=1e-12)
    assert answer["audit"]["holds"] is True
    assert answer["digits"] >= 8
    assert "the best motion" in (out / "report.html").read_text()
    stored = json.loads((out / "run" / "report.json").read_text())
    assert stored["outcome"] == "completed"
    assert stored["end_state"]["x"] == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--end", "x"), 2, "--end needs NAME=VALUE or NAME=LOW:HIGH"),
        (("--end", "y=1"), 2, "unknown state at the end 'y'"),
        (("--objective", "push**2"), 2, "in the objective 'push'"),
        (("--bounds", "force=1"), 2, "--bounds needs NAME=LOW:HIGH"),
        (("--bounds", "force=a:b"), 2, "needs a number or LOW:HIGH"),
        (("--guess", "x=a"), 2, "--guess needs NAME=V1,V2,..."),
        (("--find", "mass=1:2", "--control", "speed"), 2, "unknown input to control 'speed'"),
        (("--end", "x=9", "--end", "x_dot=0", "--bounds", "force=-1:1", "--nodes", "3"), 3,
         "misses the end of x by 8"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_one_sentence(
    cart: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    assert message in call("optimise", cart, *words, code=code).stderr
