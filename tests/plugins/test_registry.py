"""Problems are found by the entry points of installed distributions."""

import sys

import pytest

from daesolve.errors import PluginError, UnknownNameError
from daesolve.plugins import registry

POINTS = """[daesolve.problems]
broken = no_such_module:problem
empty = daesolve:every
good = daesolve_problems.classics.pendulum:problem
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Install a distribution with a problem and two entry points that are wrong."""
    about = tmp_path / "some-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_broken_plugin_is_named_and_takes_no_other_down(plugins):
    found, broken = registry.problems()
    assert registry.problem("good") in found
    assert [(plugin.name, plugin.source) for plugin in broken] == [
        ("broken", "some"),
        ("empty", "some"),
    ]
    assert "no_such_module" in broken[0].reason
    assert "daesolve.Problem" in broken[1].reason


def test_asking_for_a_broken_plugin_says_why(plugins):
    with pytest.raises(PluginError, match="no_such_module"):
        registry.problem("broken")
    with pytest.raises(UnknownNameError, match="good"):
        registry.problem("goood")


def test_a_file_that_defines_problem_is_one(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from daesolve_problems.classics.pendulum import problem\n", encoding="utf-8")
    assert registry.problem(str(path)).name == "pendulum"


@pytest.mark.parametrize(
    ("text", "words"), [("1/0", "ZeroDivisionError"), ("problem = 3", "must define `problem`")]
)
def test_a_file_that_is_none_is_reported(tmp_path, text, words):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PluginError, match=words):
        registry.problem(str(path))


def test_a_file_with_a_system_alone_is_answered_by_the_line_that_makes_it_a_problem(tmp_path):
    path = tmp_path / "mine.py"
    text = (
        "import daesolve as ds\nq = ds.coordinates(x='m')\n"
        "Free_body = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)\n"
    )
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PluginError, match="to run the system 'Free_body'") as error:
        registry.problem(str(path))
    line = str(error.value).split("`")[-2].replace("{...}", "{'x': 0.0, 'x_dot': 1.0}")
    path.write_text(text + line, encoding="utf-8")
    assert registry.problem(str(path)).case().solve().end_state["x"] == pytest.approx(10.0)


def test_the_directory_of_a_run_is_said_to_be_no_problem(tmp_path):
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UnknownNameError, match="directory of a run, not a problem"):
        registry.problem(str(tmp_path))


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(PluginError, match="does not exist"):
        registry.problem(str(tmp_path / "absent.py"))


@pytest.mark.parametrize("late", [False, True])
def test_a_file_imports_the_modules_beside_it(tmp_path, monkeypatch, late):
    monkeypatch.setattr("sys.path", [*sys.path])
    name = f"beside_{late}".lower()
    (tmp_path / f"{name}.py").write_text(
        "import daesolve as ds\nq = ds.coordinates(x='m')\n"
        "system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)\n",
        encoding="utf-8",
    )
    line = f"from {name} import system"
    model = f"    {line}\n" if late else ""
    path = tmp_path / "mine.py"
    path.write_text(
        f"import daesolve as ds\n{'' if late else line}\n"
        f"def model():\n{model}    return system\n"
        "start = {'x': 0.0, 'x_dot': 2.0}\ncases = [ds.Case('go', start=start, until=3.0)]\n"
        "problem = ds.Problem('free', title='Free', models={'one': model}, cases=cases)\n",
        encoding="utf-8",
    )
    assert registry.problem(str(path)).case().solve().end_state["x"] == pytest.approx(6.0)


def test_the_directory_of_a_run_does_not_hide_the_problem_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "pendulum").mkdir()
    (tmp_path / "pendulum" / "manifest.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert registry.problem("pendulum").name == "pendulum"
