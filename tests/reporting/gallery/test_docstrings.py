import sys
from types import ModuleType

import pytest

import daesolve as ds
from daesolve.reporting.gallery.page import about_model, mechanics, opening, prose, summary

DOCSTRING = """A bead on a wire.

It slides without friction; the
wire's x' and s_1'' are smooth.

The energy is conserved, 2 < 3:

    T = m (x'^2 + z'^2) / 2

    V = m g z

* `first`: one thing,
  told on two lines
* `second`: another, with

      a = b_c

  in it.

Modules
-------
`code` has the equations.
"""


@pytest.fixture
def bead(monkeypatch):
    """Return a problem of a module with a docstring."""
    module = ModuleType("a_module_of_beads", DOCSTRING)
    exec(
        "def wire():\n    'Pose the bead.\\n\\n    On a wire.\\n\\n    Raises\\n    ------\\n'",
        vars(module),
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return ds.Problem("a-bead", "A bead", {"own": module.wire}, [ds.Case("fall", until=1.0)])


def test_a_problem_is_described_by_the_opening_of_its_docstring(bead):
    assert summary(bead) == (
        "A bead on a wire. It slides without friction; the wire's x' and s_1'' are smooth."
    )
    assert opening(bead) == [
        "A bead on a wire.",
        "It slides without friction; the wire's x′ and s\\_1′′ are smooth.",
    ]
    assert about_model(bead.models["own"]) == "Pose the bead. On a wire."


def test_the_rest_is_markdown_in_which_indented_blocks_stay_and_where_code_is_does_not(bead):
    assert mechanics(bead).split("\n\n") == [
        "The energy is conserved, 2 \\< 3:",
        "```text\nT = m (x'^2 + z'^2) / 2",
        "V = m g z\n```",
        "* `first`: one thing, told on two lines\n* `second`: another, with",
        "  ```text\n  a = b_c\n  ```",
        "  in it.",
    ]


def test_a_problem_is_described_by_the_module_that_defines_it_and_not_by_one_of_its_models():
    alone, two = (ds.problem(name) for name in ("wheelset", "wheelset-bogie"))
    assert alone.models["full"] is two.models["full"]
    assert summary(alone).startswith("A railway wheelset")
    assert summary(two).startswith("A stiff bogie")
    assert "`full` is Lagrange's" in mechanics(two)


def test_a_problem_of_a_file_is_described_by_the_file_also_where_its_model_is_anothers(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        '"""A rod of mine."""\n'
        "import daesolve as ds\n"
        "models = ds.problem('pendulum').models\n"
        "problem = ds.Problem('mine', 'Mine', models, [ds.Case('one', until=1.0)])\n"
    )
    assert summary(ds.problem(str(file))) == "A rod of mine."


def untold(problem):
    """What the description of a problem lacks."""
    told = summary(problem).lower()
    parts = {
        "three sentences": told.count(". ") >= 2,
        "reactions": "reaction" in told or "unknown" in told,
        "what is conserved": "conserved" in told,
        "sources": problem.sources,
    }
    return [part for part, there in parts.items() if not there]


@pytest.mark.slow
def test_every_problem_tells_its_reactions_what_is_conserved_and_where_it_comes_from():
    found = ds.problems()[0]
    assert found
    assert {problem.name: lacking for problem in found if (lacking := untold(problem))} == {}


def test_words_are_shown_as_they_are_and_names_stay_code():
    assert prose("a_b |c| <d> of `e_f`\n and 'g'") == "a\\_b \\|c\\| \\<d\\> of `e_f` and 'g'"
