from pathlib import Path

import pytest

from .test_commands import call, document


def test_new_writes_a_project_and_tells_three_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = call("new", "my-problem").stdout.splitlines()
    assert Path("my-problem/pyproject.toml").is_file()
    assert [line.strip() for line in told[1:]] == [
        'python -m pip install -e "./my-problem[test]"',
        "daesolve run my-problem",
        'python -m pytest "./my-problem"',
    ]


def test_the_project_is_made_where_it_is_asked_for_and_its_file_can_be_run(tmp_path):
    project = tmp_path / "sub" / "my-problem"
    assert str(project) in call("new", "my-problem", "--to", tmp_path / "sub").stdout
    file = project / "src" / "my_problem" / "__init__.py"
    run = document("run", file, "--until", "1")
    assert (run["problem"], run["outcome"]) == ("my-problem", "completed")


@pytest.mark.parametrize("name", ["Mine", "rolling-wheel", "json"])
def test_a_name_that_would_not_work_ends_with_status_2_and_one_sentence(name, tmp_path):
    refused = call("new", name, "--to", tmp_path, code=2)
    assert refused.stdout == ""
    assert len(refused.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_something_in_it_is_refused(tmp_path):
    call("new", "my-problem", "--to", tmp_path)
    assert "not empty" in call("new", "my-problem", "--to", tmp_path, code=2).stderr
