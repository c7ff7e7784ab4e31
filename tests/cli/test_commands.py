import io
import json
import subprocess
import sys
import warnings
from importlib.metadata import version

import pytest
from rich.console import Console

import daesolve as ds
from daesolve.cli.app import COMMANDS, loaded, summary_of
from daesolve.cli.doctor import PACKAGES
from daesolve.cli.option_sets import KNOWN, listed
from daesolve.cli.orbits import ANALYSES as ORBITS
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.solvers import SOLVERS
from daesolve.errors import EndedEarlyWarning
from daesolve.plugins.analyses import ANALYSES
from daesolve.reporting import summary
from daesolve.reporting.notebook.pictures import KINDS
from daesolve.reporting.papers.paper import names
from tests.systems import WITHOUT_ASSIMULO

from .calling import call, document

SHORT = ["run", "pendulum", "--until", "1"]


def test_the_version_is_that_of_the_distribution():
    assert call("--version").stdout == f"daesolve {version('daesolve')}\n"
    assert version("daesolve") == ds.__version__


@pytest.mark.default_rows(4)
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_is_short_too(command):
    told = call(command, "-h").stdout
    assert told == call(command, "--help").stdout
    assert f"{command} [OPTIONS]" in told


@pytest.mark.core
def test_list_names_every_problem_with_its_cases():
    problems = {entry["name"]: entry for entry in document("list")["problems"]}
    assert problems["rolling-wheel"]["cases"] == [
        "hoop", "hoop-from-rest", "pendulum", "pendulum-from-rest", "pendulum-lost",
        "pendulum-flies", "pendulum-chaotic", "climbing", "bowl",
    ]  # fmt: skip
    assert "chaplygin-sleigh" in call("list").stdout


def test_show_tells_parameters_with_unit_default_and_range():
    shown = document("show", "rolling-wheel")
    assert shown["parameters"]["radius"] == {"default": 0.01, "unit": "m", "range": "> 0"}
    assert shown["goals"] == ["contact", "rolling", "tangency", "torque_balance", "energy"]
    assert "kg m^2" in call("show", "rolling-wheel").stdout


def test_show_tells_discrete_values_in_a_line_and_not_among_the_parameters():
    assert document("show", "omni-rolling")["discrete"] == ["contact_1", "contact_2", "contact_3"]
    told = call("show", "omni-rolling").stdout
    assert "discrete values: contact_1 = 1, contact_2 = 1, contact_3 = 1" in told
    assert told.count("contact_1") == 2  # and among the start values
    assert document("show", "rolling-wheel")["discrete"] == []


@pytest.mark.core
def test_run_gives_the_object_of_the_contract():
    run = document(*SHORT)
    assert list(run)[:22] == [
        "problem", "case", "model", "structure", "parameters", "formulation", "solver", "rates",
        "tolerances", "versions", "outcome", "message", "end_time", "times", "states", "reactions",
        "outputs", "drift", "events", "event_count", "verification", "statistics",
    ]  # fmt: skip
    assert run["problem"] == "pendulum"
    assert run["outcome"] == "completed"
    assert len(run["times"]) == 1001
    assert run["rates"] == {"rod": 10.0, "energy": 10.0}


def test_times_are_exactly_those_asked_for():
    run = document("run", "pendulum", "--at", "0.25,0.125,2")
    assert run["times"] == [0.25, 0.125, 2.0]
    assert run["end_time"] == 2.0


def test_rates_are_common_or_of_one_goal():
    run = document(*SHORT, "--rate", "50", "--rate", "energy=off")
    assert run["rates"] == {"rod": 50.0, "energy": None}
    assert run["drift"]["energy"]["driven"] is False
    automatic = document(*SHORT, "--rate", "auto")["rates"]["rod"]
    assert automatic > 0.0


def test_parameters_come_from_a_file_and_are_overridden(tmp_path):
    table = tmp_path / "numbers.toml"
    table.write_text("length = 2.0\nmass = 3.0\n", encoding="utf-8")
    words = ["--parameters", table, "--set", "mass=4", "--initial", "x=-2"]
    run = document(*SHORT, *words)
    assert run["parameters"]["length"] == 2.0
    assert run["parameters"]["mass"] == 4.0


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("assimulo-odassl", "assimulo-radau5")
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_runs_by_name(solver):
    if solver.startswith("assimulo") and WITHOUT_ASSIMULO:
        pytest.skip("Assimulo is not installed")
    makes = [name for name, kind in FORMULATIONS.items() if kind.makes in SOLVERS[solver].forms]
    words = ["--rtol", "1e-8", "--formulation", makes[0]]
    assert document(*SHORT, "--solver", solver, *words)["solver"] == solver


@pytest.mark.long
def test_out_writes_the_run_and_its_report(tmp_path):
    out = tmp_path / "run"
    call(*SHORT, "--out", out, "--quiet")
    kept = json.loads((out / "report.json").read_text())
    assert kept["end_time"] == 1.0
    assert "times" not in kept
    assert Trajectory.from_run(out).times[-1] == 1.0
    assert "rod" in (out / "report.html").read_text()
    (out / "report.html").unlink()
    call("report", out)
    assert (out / "report.html").exists()
    refused = call(*SHORT, "--out", out, code=2)
    assert "`daesolve resume" in refused.stderr


def test_a_python_file_is_a_problem(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from daesolve_problems.classics.pendulum import problem\n", encoding="utf-8")
    assert document("run", path, "--until", "1")["problem"] == "pendulum"


@pytest.mark.core
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rum", "pendulum"], "did you mean 'run'"),
        (["Plot"], "did you mean 'plot'"),
        (["xyz"], "there are 'analyse'"),
        (["analyse", "pendulum", "rnak"], "did you mean 'rank'"),
        (["run", "Pendulum", "--until", "1"], "did you mean 'pendulum'"),
        (["run", "pendulum", "--case", "RELEASE"], "did you mean 'release'"),
        (["run", "pendulum", "--set", "LENGTH=2"], "did you mean 'length'"),
        (["run", "pendulum", "--solver", "RK45"], "'dop853'"),
        (["compare", "pendulum", "--solvers", "taylor,ode15s"], "'cvodes'"),
        (["run", "pendulm"], "pendulum"),
        (["run", "pendulum", "--case", "relase"], "release"),
        (["run", "pendulum", "--model", "polar"], "cartesian"),
        (["run", "pendulum", "--set", "lenght=2"], "length"),
        (["run", "pendulum", "--set", "length=-2"], "> 0"),
        (["run", "pendulum", "--set", "length=NaN"], "length"),
        (["run", "pendulum", "--set", "length"], "NAME=VALUE"),
        (["run", "pendulum", "--initial", "xx=1"], "'x'"),
        (["run", "pendulum", "--initial", "x=0.5"], "rod"),
        (["run", "pendulum", "--until", "0"], "horizon"),
        (["run", "pendulum", "--until", "inf"], "finite"),
        (["run", "pendulum", "--at", "1,two"], "--at"),
        (["run", "pendulum", "--at", "5,4,3"], "must ascend"),
        (["run", "pendulum", "--at", "1,nan"], "--at needs times"),
        (["run", "pendulum", "--set", "mass=1" + "0" * 400], "inf"),
        (["run", "pendulum", "--set", "mass=" + "[" * 100_000], "must be a number"),
        (["compare", "pendulum", "--formulations", "feedback", "--solvers", "taylor",
          "--tolerances", ""], "--tolerances needs numbers"),
        (["sweep", "pendulum", "--over", "mass=linspace(1,2,1e12)"], "10,000,000"),
        (["run", "pendulum", "--at", "3", "--until", "2"], "outside"),
        (["run", "pendulum", "--solver", "tailor"], "taylor"),
        (["run", "pendulum", "--formulation", "feedbck"], "feedback"),
        (["run", "pendulum", "--rate", "rot=5"], "rod"),
        (["run", "pendulum", "--rate", "-3"], ">= 0"),
        (["run", "pendulum", "--rtol", "-1"], "> 0"),
        (["run", "pendulum", "--solver", "taylor", "--atol", "1"], "atol"),
        (["run", "pendulum", "--redundant", "maybe"], "minimum-norm"),
        (["run", "pendulum", "--rank-loss", "maybe"], "pass"),
        (["run", "pendulum", "--parameters", "absent.json"], "absent.json"),
        (["show", "pendulm"], "pendulum"),
        (["report", "absent"], "absent"),
    ],
)  # fmt: skip
def test_a_wrong_request_ends_with_status_2_and_one_sentence(words, told):
    result = call(*words, code=2)
    assert told in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "text", ["{", "[1]", "[" * 100_000, '{"mass": 1' + "0" * 400 + "}", '{"mass": null}']
)
def test_a_file_of_parameters_that_are_none_is_refused(text, tmp_path):
    table = tmp_path / "numbers.json"
    table.write_text(text, encoding="utf-8")
    result = call(*SHORT, "--parameters", table, code=2)
    assert len(result.stderr.strip().splitlines()) == 1


def test_show_tells_that_a_rule_makes_a_state_of_start_values():
    assert document("show", "prism")["start_rule"] is True
    assert document("show", "pendulum")["start_rule"] is False
    told = " ".join(call("show", "prism").stdout.split())
    assert "a rule computes the state from the start values" in told
    assert "a rule computes" not in call("show", "pendulum").stdout


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("words0-theta_dot_1 starts at 2.4")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["cart", "--initial", "theta_dot_1=3.3"], "theta_dot_1 starts at 2.4"),  # projected
        (["rolling-ball", "--initial", "contact_z=0.4"], "contact_z starts at 0, not at 0.4"),
        (["slider-crank", "--initial", "phi_1=0.7"], ""),
        (["pendulum", "--set", "length=2", "--initial", "x=-2"], ""),  # kept: no rule
    ],
)
def test_a_start_value_of_the_case_that_its_rule_moves_is_reported(words, told):
    said = call("run", *words, "--until", "0.01", "--quiet").stderr
    assert told in said
    assert said.count("\n") == bool(told)


@pytest.mark.slow
def test_a_motion_that_cannot_go_on_ends_with_status_3_and_keeps_what_there_is(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import casadi as ca\n"
        "import daesolve as ds\n"
        "def model():\n"
        "    q = ds.coordinates(x='m')\n"
        "    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={'x': q.dot.x**2})\n"
        "problem = ds.Problem('blow-up', title='', models={'one': model},\n"
        "    cases=[ds.Case('a', start={'x': 0.0, 'x_dot': 1.0}, until=2.0)])\n",
        encoding="utf-8",
    )
    out = tmp_path / "out"
    result = call("run", path, "--out", out, "--quiet", code=3)
    assert "t = 1" in result.stderr or "t = 0.99" in result.stderr
    kept = Trajectory.from_run(out)
    assert kept.outcome is Outcome.FAILED
    assert len(kept.times) > 400


def test_help_lists_every_command_with_the_first_paragraph_of_its_own_help():
    listed = {name: summary_of(name) for name in COMMANDS}
    own = {name: loaded(name).help.split("\n\n")[0].replace("\n", " ") for name in COMMANDS}
    assert listed == own
    assert call("-h").stdout == call("--help").stdout
    told = " ".join(call("--help").stdout.replace("│", " ").split())
    assert "--version" in told
    assert all(f"{name} {summary}" in told for name, summary in listed.items())


def test_doctor_knows_the_package_of_every_solver():
    assert tuple(PACKAGES) == tuple(SOLVERS)


def test_doctor_tells_which_solvers_are_usable():
    found = {entry["name"]: entry for entry in document("doctor")["solvers"]}
    assert set(found) == set(SOLVERS)
    assert found["cvodes"]["usable"]
    assert "taylor" in call("doctor").stdout


@pytest.mark.long
def test_the_module_is_the_same_program():
    words = [sys.executable, "-m", "daesolve", "list", "--json"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(printed.stdout)["broken"] == []


@pytest.mark.long
def test_what_compiled_code_prints_does_not_come_between_results(tmp_path):
    """It writes past `sys.stdout`, to the file descriptor, as the model here does."""
    (tmp_path / "mine.py").write_text("""
import os
import daesolve as ds
def noisy():
    os.write(1, b"noise\\n")
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)
case = ds.Case("even", until=1.0, start={"x_dot": 1.0})
problem = ds.Problem("noisy", "A point that speaks", {"free": noisy}, [case])
""")
    words = [sys.executable, "-m", "daesolve", "run", "mine.py", "--json"]
    ended = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(ended.stdout)["outcome"] == "completed"
    assert "noise\n" in ended.stderr


def test_a_directory_that_cannot_be_made_is_refused_before_the_run(tmp_path):
    (tmp_path / "file").touch()
    directory = tmp_path / "file" / "run"
    refused = call(*SHORT, "--out", directory, code=2)
    assert f"{str(directory)!r} cannot be created" in refused.stderr


@pytest.mark.long
def test_the_pair_that_is_named_is_the_one_whose_value_changed():
    told = document("run", "three-supports")
    shown = Console(file=io.StringIO(), width=200)
    shown.print(summary(told))
    lines = [
        line.split() for line in shown.file.getvalue().splitlines() if "support_switch" in line
    ]
    loaded = dict.fromkeys((f"variant_support_{k}" for k in (1, 2, 3)), 1.0)
    loaded["variant_support_1"] = -1.0  # the supports (1, 2, 2) are loaded at the start
    assert "the supports (1, 2, 2) are loaded at the start" in told["notes"]
    switches = [event for event in told["events"] if event["name"] == "support_switch"]
    assert len(lines) == len(switches) == 4
    for event, (_, _, name, *_) in zip(switches, lines, strict=True):
        changed = [pair for pair, value in loaded.items() if event["after"][pair] != value]
        assert changed == [f"variant_{name}"]
        loaded = {pair: event["after"][pair] for pair in loaded}


@pytest.mark.long
def test_a_run_whose_samples_are_sparse_keeps_its_beginning_for_the_report(tmp_path):
    words = ["run", "pendulum", "--until", "400", "--every", "1.7", "--quiet", "--out"]
    call(*words, tmp_path / "sparse")
    assert (tmp_path / "sparse" / "opening.json").is_file()
    assert "the beginning" in (tmp_path / "sparse" / "report.html").read_text()
    call("report", tmp_path / "sparse")
    assert "the beginning" in (tmp_path / "sparse" / "report.html").read_text()
    call("run", "pendulum", "--until", "2", "--quiet", "--out", tmp_path / "close")
    assert not (tmp_path / "close" / "opening.json").exists()


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_what_one_must_type_is_whole_in_every_terminal(columns, monkeypatch):
    problems, wheel = document("list")["problems"], document("show", "rolling-wheel")
    monkeypatch.setenv("COLUMNS", str(columns))
    typed = {
        ("list",): [
            name
            for entry in problems
            for name in (entry["name"], *entry["models"], *entry["cases"])
        ],
        ("show", "rolling-wheel"): [
            *wheel["parameters"], *wheel["states"], *wheel["models"], *wheel["analyses"],
            *wheel["start"], *wheel["goals"], *(case["name"] for case in wheel["cases"]),
        ],
        ("doctor",): list(SOLVERS),
    }  # fmt: skip
    for words, needed in typed.items():
        told = call(*words).stdout
        assert "…" not in told
        assert set(needed) <= set(told.replace(",", " ").split())


def test_the_command_that_adds_a_solver_is_a_line_of_its_own(monkeypatch):
    commands = {
        name: (package, f"pip install {'x' * 90}") for name, (package, _) in PACKAGES.items()
    }
    monkeypatch.setattr("daesolve.cli.doctor.PACKAGES", {
        name: ("no-such-package", install) for name, (_, install) in commands.items()
    })  # fmt: skip
    assert f"\n  pip install {'x' * 90}\n" in call("doctor").stdout


def help_of(command: str) -> str:
    return " ".join(call(command, "-h").stdout.replace("│", " ").split())


@pytest.mark.long
def test_help_lists_the_choices_of_every_option_that_takes_one_of_a_few_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    decided = [
        "redundant",
        "rank_loss",
        "variant_policy",
        "impact",
        "on_gain",
        "on_jam",
        "on_ambiguous",
    ]
    assert set(decided) == set(KNOWN)
    words = [listed(KNOWN[name]) for name in decided]
    formulations, solvers = listed(tuple(FORMULATIONS)), listed(tuple(SOLVERS))
    expected = {
        "run": [*words, formulations, solvers],
        "sweep": [*words, formulations, solvers],
        "export": [*words[:2], formulations],
        "compare": [", ".join(FORMULATIONS), ", ".join(SOLVERS)],
        "analyse": [*ANALYSES, *ORBITS],
        "equations": ["latex", "python", "c"],
        "plot": [kind.lstrip(".") for kind in KINDS],
        "animate": [".html", ".gif", ".mp4"],
        "paper": names(),
    }
    missing = {
        command: absent
        for command, choices in expected.items()
        if (absent := [choice for choice in choices if choice not in help_of(command)])
    }
    assert missing == {}


def test_an_unknown_option_names_the_nearest():
    for words, nearest in (
        (["run", "pendulum", "--untl", "3"], "--until"),
        (["run", "pendulum", "--formulatoin", "feedback"], "--formulation"),
        (["sweep", "pendulum", "--ovr", "mass=1"], "--over"),
        (["--vers"], "--version"),
    ):
        assert nearest in call(*words, code=2).stderr


BLOW_UP = """
import daesolve as ds
def model():
    q = ds.coordinates(x='m')
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={'x': q.dot.x**2})
case = ds.Case('a', start={'x': 0.0, 'x_dot': 1.0}, until=2.0)
problem = ds.Problem('blow-up', title='', models={'one': model}, cases=[case])
"""


@pytest.mark.parametrize(
    "words",
    [["run"], ["sweep", "--over", "x_dot=1", "--workers", "0", "--out", "swept"]],
)
def test_a_failure_is_printed_once(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "mine.py").write_text(BLOW_UP, encoding="utf-8")
    command, *options = words
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = call(command, "mine.py", *options, code=3)
    assert (result.stdout + result.stderr).count("the state is no longer finite") == 1
    assert "the state is no longer finite" in result.stderr
    assert [str(entry.message) for entry in warned if entry.category is EndedEarlyWarning] == []
