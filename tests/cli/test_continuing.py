"""A run on the command line that begins where a run on disk ended, or within it."""

import json
import shlex
import shutil

import pytest

import daesolve as ds
from daesolve.reporting import load
from daesolve.reporting.repeating import command, python
from tests.cli.calling import call, document

SAME = 1e-12
"""Of states of about 1, over about 1 s; a step is right to 2e-16."""
CART = """
import daesolve as ds


def build():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push}, inputs=u)


problem = ds.Problem(
    "cart-here",
    title="Cart",
    models={"plain": build},
    cases=[ds.Case("at-rest", start={"x": 0.0, "x_dot": 0.0}, until=1.0)],
)
"""


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    """A pendulum of another gravity and mass, up to t = 1 s."""
    out = tmp_path_factory.mktemp("runs") / "light"
    call("run", "pendulum", "--set", "gravity=5", "--initial", "x=0.6", "--initial", "y=-0.8",
         "--until", 1, "--out", out, "--quiet")  # fmt: skip
    return out


@pytest.fixture(scope="module")
def whole():
    return document("run", "pendulum", "--set", "gravity=5", "--initial", "x=0.6", "--initial",
                    "y=-0.8", "--until", 2, "--at", 2)  # fmt: skip


@pytest.mark.long_rows("within0")
@pytest.mark.slow
@pytest.mark.parametrize("within", [[], ["--from", 0.437]])
def test_a_run_after_another_is_the_motion_of_one(light, whole, tmp_path, within):
    out = tmp_path / "second"
    run = document("run", "pendulum", "--after", light, *within, "--until", 2, "--out", out)
    assert run["parameters"]["gravity"] == 5.0
    assert run["times"][0] == (within[1] if within else 1.0)
    assert run["end_state"] == pytest.approx(whole["end_state"], abs=SAME)
    told = json.loads((out / "report.json").read_text(encoding="utf-8"))["continues"]
    assert (
        told
        == json.loads((out / "manifest.json").read_text(encoding="utf-8"))["request"]["continues"]
    )
    assert (told["directory"], told["end_time"]) == (str(light.resolve()), 1.0)
    assert "this run continues the run in" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("within", [[], ["--from", 0.437]])
def test_the_lines_that_repeat_such_a_run_give_the_same_run(light, tmp_path, within):
    out = tmp_path / "second"
    call("run", "pendulum", "--after", light, *within, "--until", 2, "--out", out, "--quiet")
    told = load(out)
    program, *words = shlex.split(command(told).replace("\\\n", ""))
    assert program == "daesolve"
    assert document(*words)["end_state"] == told["end_state"]
    scope = {}
    exec(python(told), scope)
    assert dict(scope["run"].end_state) == told["end_state"]


def test_a_run_after_one_in_memory_has_no_command_and_says_so_in_python():
    case = ds.problem("pendulum").case()
    second = case.solve(until=2.0, initial=case.solve(until=1.0).at(0.25))
    told = ds.reporting.document(second, case.identity())
    assert command(told) is None
    assert "initial=before.at(0.25)" in python(told)
    assert "# before: the run that this one continues" in python(told)


def test_a_run_of_other_versions_has_points_too_and_stays_as_it_is(light, whole, tmp_path):
    older = tmp_path / "older"
    shutil.copytree(light, older)
    manifest = older / "manifest.json"
    text = json.loads(manifest.read_text(encoding="utf-8"))
    text["versions"]["numpy"] = "1.0"
    manifest.write_text(json.dumps(text), encoding="utf-8")
    before = manifest.read_bytes()
    assert "numpy 1.0" in call("resume", older, "--until", 2, code=2).stderr
    run = document("run", "pendulum", "--after", older, "--from", 0.437, "--until", 2)
    assert run["end_state"] == pytest.approx(whole["end_state"], abs=SAME)
    assert manifest.read_bytes() == before


def test_parameters_that_are_given_replace_those_of_the_run(light):
    run = document("run", "pendulum", "--after", light, "--set", "gravity=1.62", "--until", 2)
    assert run["parameters"]["gravity"] == 1.62
    first = ds.Trajectory.from_run(light)
    assert {name: values[0] for name, values in run["states"].items()} == pytest.approx(
        dict(first.end_state), abs=SAME
    )


def test_without_an_end_it_goes_to_the_end_of_the_case(light):
    assert document("run", "pendulum", "--after", light, "--every", 1)["end_time"] == 100.0


def test_a_comparison_after_a_run(light, whole):
    words = ("--formulations", "feedback,null-space", "--solvers", "taylor", "--tolerances", 1e-13)
    found = document("compare", "pendulum", "--after", light, "--until", 2, *words)
    assert (found["start_time"], found["parameters"]["gravity"]) == (1.0, 5.0)
    assert all(run["end_time"] == 2.0 for run in found["runs"])
    assert max(entry["largest"] for entry in found["agreement"]) < 1e-10


@pytest.mark.slow
def test_the_input_of_a_run_goes_on_unless_another_is_given(tmp_path):
    file, out = tmp_path / "mine.py", tmp_path / "first"
    file.write_text(CART, encoding="utf-8")
    call("run", file, "--input", "push=6*t", "--out", out, "--quiet")
    same = document("run", file, "--after", out, "--until", 2)
    assert same["end_state"]["x"] == pytest.approx(8.0, abs=1e-13)  # t^3
    free = document("run", file, "--after", out, "--until", 2, "--input", "push=0")
    assert free["end_state"]["x"] == pytest.approx(4.0, abs=1e-13)
    number = document("run", file, "--after", out, "--until", 2, "--set", "push=2")
    assert number["end_state"]["x"] == pytest.approx(5.0, abs=1e-13)


@pytest.mark.slow
def test_a_run_after_one_that_failed_says_so(tmp_path):
    out = tmp_path / "failed"
    call("run", "pendulum", "--max-evaluations", 100, "--out", out, "--quiet", code=3)
    end = ds.Trajectory.from_run(out).end_time
    said = call("run", "pendulum", "--after", out, "--until", end + 0.1, "--quiet").stderr
    assert f"this run continues the run in {str(out.resolve())!r}, which failed" in said


WRONG = {
    "start twice": (["--after", "RUN", "--initial", "x=1"], "leave out --initial"),
    "time alone": (["--from", "0.5"], "give --after"),
    "time outside": (["--after", "RUN", "--from", "1.5"], "the run covers 0 to 1 s"),
    "no run": (["--after", "nowhere"], "nowhere"),
    "nothing left": (["--after", "RUN", "--until", "1"], "the horizon is zero"),
    "unknown parameter": (["--after", "RUN", "--set", "gravty=1"], "'gravity'"),
    "impossible length": (["--after", "RUN", "--set", "length=2"], "'rod'"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_makes_no_sense_is_refused_in_a_sentence(light, fault):
    words, told = WRONG[fault]
    words = [str(light) if word == "RUN" else word for word in words]
    result = call("run", "pendulum", *words, code=2)
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_a_run_of_another_problem_a_sweep_and_a_system_are_refused(light, tmp_path):
    said = call("run", "rolling-wheel", "--after", light, code=2).stderr
    assert "is of the problem 'pendulum', not 'rolling-wheel'" in said
    call("sweep", "pendulum", "--over", "mass=1,2", "--until", 0.1, "--workers", 0, "--out",
         tmp_path / "swept", "--quiet")  # fmt: skip
    said = call("run", "pendulum", "--after", tmp_path / "swept", code=2).stderr
    assert "contains a sweep, not a run" in said
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)
    ds.solve(free, 1.0, {"x": 0.0, "x_dot": 1.0}, store=tmp_path / "posed")
    said = call("run", "pendulum", "--after", tmp_path / "posed", code=2).stderr
    assert "ds.Trajectory.from_run" in said
