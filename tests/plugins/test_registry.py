from importlib.metadata import EntryPoint

import pytest

from daesolve.errors import PluginError, UnknownNameError
from daesolve.plugins import registry

POINTS = [
    EntryPoint("broken", "no_such_module:problem", registry.GROUP),
    EntryPoint("empty", "daesolve:every", registry.GROUP),
    EntryPoint("good", "daesolve_problems.classics.pendulum:problem", registry.GROUP),
]


@pytest.fixture
def plugins(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: list(POINTS))


def test_a_broken_plugin_is_named_and_takes_no_other_down(plugins):
    found, broken = registry.problems()
    assert [problem.name for problem in found] == ["pendulum"]
    assert [plugin.name for plugin in broken] == ["broken", "empty"]
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
def test_a_file_that_is_none_is_told(tmp_path, text, words):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PluginError, match=words):
        registry.problem(str(path))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(PluginError, match="no file"):
        registry.problem(str(tmp_path / "absent.py"))
