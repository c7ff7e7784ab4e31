import io
import json

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from daesolve.cli import sweep as sweeping
from daesolve.cli.app import app
from daesolve.ensembles import Sweep, uniform
from daesolve.ensembles.sweep_results import ConvergenceOrders, MeasuredDependence
from daesolve.errors import DaesolveError
from tests.ensembles.problem_file import PLUGIN


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    file = tmp_path_factory.mktemp("problem") / "mine.py"
    file.write_text(PLUGIN, encoding="utf-8")
    return file


def call(*words, code=0):
    result = CliRunner().invoke(app, ["sweep", *map(str, words), "--workers", "0"])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.core
def test_a_sweep_is_printed_as_json(mine, tmp_path):
    words = (mine, "--over", "mass=1,2", "--over", "amplitude=uniform(0.1,1)", "--samples", 2)
    more = ("--at", "0.5,2", "--rtol", "1e-12", "--rate", "20", "--set", "stiffness=2")
    told = json.loads(call(*words, *more, "--out", tmp_path / "out", "--json").stdout)
    assert told == {
        "directory": str(tmp_path / "out"),
        "count": 4,
        "done": 4,
        "failed": 0,
        "interrupted": False,
        "outcomes": {"completed": 4},
    }
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["until"] == 2.0
    assert manifest["options"]["rtol"] == 1e-12
    assert manifest["options"]["formulation"]["rate"] == 20.0
    assert manifest["parameters"] == {"stiffness": 2.0}
    assert list(Sweep.from_directory(tmp_path / "out").to_pandas().mass) == [1.0, 1.0, 2.0, 2.0]


@pytest.mark.slow
def test_members_are_verified_and_the_largest_differences_reported(mine, tmp_path):
    words = (mine, "--over", "mass=1,2", "--out", tmp_path, "--verify-same")
    assert "verified; largest differences: x " in call(*words).stdout
    told = json.loads(call(*words, "--json").stdout)
    assert set(told["differences"]) == {"x", "x_dot"}
    assert set(told["differences"]["x"]) == {"difference", "member"}


def test_what_decides_where_equations_do_not_is_asked_for_as_of_a_run(tmp_path):
    words = (
        "--over",
        "mu_front=0.3",
        "--until",
        "0.1",
        "--impact",
        "poisson",
        "--on-jam",
        "impact",
    )
    call("block", *words, "--out", tmp_path)
    options = json.loads((tmp_path / "manifest.json").read_text())["options"]
    assert (options["impact"], options["on_jam"]) == ("poisson", "impact")


def test_failures_are_counted_on_standard_error_and_the_rest_is_a_success(mine, tmp_path):
    told = call(mine, "--over", "mass=1,13", "--out", tmp_path)
    assert "2 of 2 members done" in told.stdout
    assert "1 of 2 members failed; 1 of them: ZeroDivisionError: thirteen" in told.stderr


def test_status_3_where_no_member_succeeded(mine, tmp_path):
    told = call(mine, "--over", "mass=13", "--out", tmp_path, "--quiet", code=3)
    assert told.stdout == ""
    assert "1 of 1 members failed" in told.stderr


@pytest.mark.default_rows(6)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--over", "mas=1,2"), "did you mean 'mass'"),
        (("--over", "mass=-1,2"), "must be > 0"),
        (("--over", "mass"), "--over needs NAME=V1,V2"),
        (("--over", "mass=1", "--over", "mass=2"), "given twice"),
        (("--over", "mass=1,2", "--set", "mass=5"), "given twice, by --over and by --set"),
        (("--over", "mass=uniform(1,2)"), "samples are missing"),
        (("--over", "mass=unifrom(1,2)"), "did you mean 'uniform'"),
        (("--over", "mass=uniform(1)"), "uniform needs (A,B), two numbers"),
        (("--over", "mass=uniform(2,1)"), "the lower bound first"),
        (("--over", "mass=linspace(1,2)"), "linspace needs (A,B,N)"),
        (("--over", "mass=linspace(1,2,2.5)"), "linspace needs (A,B,N)"),
        (("--over", "mass=geomspace(0,2,3)"), "geomspace needs (A,B,N)"),
        (("--over", "mass=1", "--solver", "idas"), "which the solver 'idas' cannot integrate"),
        (("--over", "mass=1", "--formulation", "index-1", "--batch"), "cannot integrate"),
        (("--over", "mass=1", "--impact", "newtn"), "--impact is 'newtn', but must be newton"),
        (("--over", "mass=1", "--rate", "spring=5"), "unknown goal with a rate 'spring'"),
    ],
)
def test_a_wrong_request_is_reported_with_status_2(mine, tmp_path, words, sentence):
    told = call(mine, *words, "--out", tmp_path / "out", code=2)
    assert sentence in told.stderr
    assert not (tmp_path / "out").exists()


def test_values_are_read_as_lists_ranges_and_distributions():
    found = sweeping.varied(
        ["a=1,2.5", "b=true,false", "c=quartic", "d=linspace(0, 1, 3)", "e=uniform(0,2)"]
    )
    assert found["a"] == [1, 2.5]
    assert found["b"] == [True, False]
    assert found["c"] == ["quartic"]
    np.testing.assert_array_equal(found["d"], [0.0, 0.5, 1.0])
    assert found["e"] == uniform(0, 2)
    # As in NumPy: exponents of ten, and the bounds themselves.
    np.testing.assert_array_equal(sweeping.varied(["a=logspace(-1,1,3)"])["a"], [0.1, 1, 10])
    np.testing.assert_array_equal(sweeping.varied(["a=geomspace(1,4,3)"])["a"], [1, 2, 4])
    with pytest.raises(DaesolveError, match="linspace needs"):
        sweeping.varied(["a=linspace(1,inf,2)"])


def test_progress_is_shown_in_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with sweeping._progress("mine · swing", quiet=False) as told:
        told(sweeping.SweepState(count=4, done=3, failed=1, before=1))
    with sweeping._progress("mine · swing", quiet=True) as told:
        assert told is None


def test_numbers_of_many_measures_stay_whole_in_a_narrow_terminal():
    names = (
        *(f"peak_slip_{k}" for k in (1, 2, 3)),
        "position_deviation",
        "angle_deviation",
        "share",
    )
    measures = tuple(ConvergenceOrders(name, "rad", (2.5e-16, 4e-17), (0.9971,)) for name in names)
    console = Console(width=80, record=True, file=io.StringIO())
    found = MeasuredDependence("roller_share", "", (0.1, 0.01), measures)
    for table in sweeping._orders(found, console.width):
        console.print(table)
    shown = console.export_text()
    assert (shown.count("2.500e-16"), shown.count("4.000e-17")) == (6, 6)
    assert "…" not in shown
    assert all(f"{name} (rad)" in shown for name in names), "no word of a heading is broken"


def test_parameters_of_all_members_come_from_a_file(mine, tmp_path):
    (tmp_path / "numbers.toml").write_text("stiffness = 2.0\n", encoding="utf-8")
    words = ("--over", "mass=1,2", "--until", "0.2", "--parameters", tmp_path / "numbers.toml")
    call(mine, *words, "--out", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["parameters"] == {"stiffness": 2.0}
