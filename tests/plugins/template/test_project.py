import importlib.util
import keyword
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import OutOfRangeError, OutputExistsError
from daesolve.plugins.registry import GROUP
from daesolve.plugins.template import FILES, LONGEST, NAME, new_project

NAMES = st.from_regex(NAME, fullmatch=True).filter(lambda name: len(name) <= LONGEST)


def module_of(project: Path):
    """Import the package of a project from where it lies."""
    [source] = (project / "src").glob("*/__init__.py")
    specification = importlib.util.spec_from_file_location(source.parent.name, source)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(name=NAMES)
def test_every_name_of_the_rule_gives_files_that_can_be_read(name, tmp_path_factory):
    module = name.replace("-", "_")
    assume(not keyword.iskeyword(module))
    assume(importlib.util.find_spec(module) is None)
    assume(name not in entry_points(group=GROUP).names)
    project = new_project(name, tmp_path_factory.mktemp("projects"))
    assert project.name == name
    written = {
        path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()
    }
    assert written == {target.format(module=module) for target in FILES}
    for path in project.rglob("*"):
        if path.suffix == ".py":
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
        assert not path.is_file() or "{{" not in path.read_text(encoding="utf-8")
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    assert table["project"]["name"] == name
    assert table["project"]["entry-points"]["daesolve.problems"] == {name: f"{module}:problem"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-Problem", "lower case"),
        ("my_problem", "lower case"),
        ("1st", "begin with a letter"),
        ("a--b", "hyphens"),
        ("a-", "hyphens"),
        ("", "'my-problem'"),
        ("a\n", "lower case"),
        ("../a", "lower case"),
        ("a" * (LONGEST + 1), "longer than 50"),
        ("class", "Python keyword"),
        ("json", "already exists"),
        ("numpy", "already exists"),
        ("daesolve-problems", "already exists"),
        ("rolling-wheel", "already installed"),
    ],
)
def test_a_name_that_would_not_work_is_refused_before_anything_is_written(name, told, tmp_path):
    with pytest.raises(OutOfRangeError, match=told) as refused:
        new_project(name, tmp_path)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(tmp_path):
    project = tmp_path / "my-problem"
    project.mkdir()
    assert new_project("my-problem", tmp_path) == project  # an empty directory is taken
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    with pytest.raises(OutputExistsError, match="not empty"):
        new_project("my-problem", tmp_path)
    assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    (tmp_path / "other").write_text("", encoding="utf-8")
    with pytest.raises(OutputExistsError, match="is a file"):
        new_project("other", tmp_path)
    with pytest.raises(OutputExistsError, match="cannot be written"):
        new_project("another", tmp_path / "other")


def test_the_problem_keeps_its_constraint_and_what_is_conserved(tmp_path, drift):
    problem = module_of(new_project("my-problem", tmp_path)).problem
    assert problem.name == "my-problem"
    run = drift(problem.case(), until=10.0, limits={"rod": 1e-13, "energy": 1e-13})
    assert run.outcome is ds.Outcome.COMPLETED


def test_its_start_answers_to_the_parameters(tmp_path):
    problem = module_of(new_project("my-problem", tmp_path)).problem
    run = problem.case(length=2.0).solve(until=1.0, initial={"angle": 0.5, "speed": 0.0})
    assert run["angle"][0] == pytest.approx(0.5, abs=1e-14)
    assert run["x"][0] ** 2 + run["z"][0] ** 2 == pytest.approx(4.0, abs=1e-14)


@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")
@pytest.mark.parametrize("name", ["a", "my-problem", "z" * LONGEST])
def test_the_linters_have_nothing_to_say(name, tmp_path):
    project = new_project(name, tmp_path)
    for words in (["check"], ["format", "--check"]):
        words = ["ruff", *words, "--no-cache", "."]
        found = subprocess.run(words, cwd=project, capture_output=True, text=True)
        assert found.returncode == 0, found.stdout


@pytest.mark.long
def test_its_own_tests_pass_where_it_is_installed(tmp_path):
    project = new_project("my-problem", tmp_path)
    # What an editable install adds to an environment: the path, and the entry point.
    metadata = tmp_path / "site" / "my_problem-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-problem\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[daesolve.problems]\nmy-problem = my_problem:problem\n"
    )
    paths = f"import sys; sys.path[:0] = {[str(project / 'src'), str(metadata.parent)]!r}"
    code = f"{paths}; import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider']))"
    words = [sys.executable, "-c", code]
    found = subprocess.run(words, cwd=project, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "4 passed" in found.stdout
