"""`daesolve page`: from a problem to Markdown with its files."""

from __future__ import annotations

import pytest

from .test_commands import call

MINE = '''
"""A point that falls.

It falls freely.
"""

import daesolve as ds


def fall() -> ds.MechanicalSystem:
    """Pose the point."""
    q = ds.coordinates(y="m")
    return ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=10 * q.y)


start = {"y": 1.0, "y_dot": 0.0}
cases = [ds.Case("short", until=1.0, start=start), ds.Case("long", until=9.0, start=start)]
problem = ds.Problem("fall", "A fall", {"free": fall}, cases)
'''


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


@pytest.mark.slow
def test_a_python_file_has_its_page_without_the_path_of_this_machine(mine, tmp_path):
    told = call("page", mine, "--to", tmp_path / "pages", "--case", "long", "--until", 2)
    page = tmp_path / "pages" / "fall.md"
    assert told.stdout.split() == ["page:", str(page)]
    text = page.read_text()
    assert "A point that falls.\n" in text
    assert "\nIt falls freely.\n" in text
    assert "**Completed at t = 2 s**" in text
    assert "daesolve run mine.py --case long --model free --until 2" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["page", "pendulun", "--to", "{}/pages"], "pendulum"),
        (["page", "pendulum", "--to", "{}/pages", "--case", "fall"], "release"),
        (["page", "pendulum", "--to", "{}/mine.py"], "cannot be created"),
        (["page", "{}/none.py", "--to", "{}/pages"], "does not exist"),
    ],
)
def test_a_wrong_request_ends_with_status_2_and_one_sentence(mine, tmp_path, words, sentence):
    told = call(*[word.format(tmp_path) for word in words], code=2)
    assert sentence in told.stderr
    assert told.stderr.startswith("daesolve: ")
    assert len(told.stderr.splitlines()) == 1
