"""Which tests a change reaches, in small trees by rule, and in this one."""

import subprocess
from pathlib import Path

import pytest

from tools.reach.__main__ import report
from tools.reach.changes import UnknownBaseError, changed_files, tracked_files
from tools.reach.graph import graph_of, read_all, tree_at

ROOT = Path(__file__).parents[2]

POINTS = """
[project.entry-points."daesolve.problems"]
hoop = "daesolve_problems.hoop:problem"
cart = "daesolve_problems.cart:problem"
"""
LAYERS = """
[[tool.importlinter.contracts]]
ignore_imports = ["daesolve.core.results.displayable -> daesolve.pages"]
"""
TREE = {
    "pyproject.toml": LAYERS,
    "problems/pyproject.toml": POINTS,
    "daesolve/__init__.py": "import lazy_loader\nregister('laws', 'daesolve.laws:Law')\n"
    "register('methods of runs', 'daesolve.drawn:draw')\n__version__ = '1'",
    "daesolve/__init__.pyi": "from .a import solve as solve\nfrom .b import Run as Run\n"
    "from .plugins.registry import problem as problem\n__version__: str",
    "daesolve/__main__.py": "from daesolve.cli.app import main",
    "daesolve/a.py": "def solve():\n    from daesolve.late import inner",
    "daesolve/b.py": "from daesolve.core.results.displayable import Shown\nclass Run(Shown): ...",
    "daesolve/cli/__init__.py": "",
    "daesolve/cli/app.py": "import importlib\ndef main(name):\n"
    "    importlib.import_module(f'daesolve.cli.{name}')",
    "daesolve/cli/run.py": "",
    "daesolve/drawn.py": "def draw(run): ...",
    "daesolve/events.py": "def all_laws():\n    return added('laws')",
    "daesolve/late.py": "inner = 1",
    "daesolve/laws.py": "class Law: ...",
    "daesolve/pages.py": "",
    "daesolve/runs.py": "import daesolve.events\ndef go():\n    daesolve.events.all_laws()",
    "daesolve/plugins/__init__.py": "",
    "daesolve/plugins/registry.py": "def problem(name): ...",
    "daesolve/core/results/displayable.py": "class Shown:\n"
    "    def plot(self):\n        import daesolve.pages",
    "daesolve/core/solvers/__init__.py": "from .one import One\n"
    "from .two import Two\nALL = One, Two",
    "daesolve/core/solvers/one.py": "class One: ...",
    "daesolve/core/solvers/page.jinja": "",
    "daesolve/core/solvers/two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
    "    import daesolve.late\nclass Two: ...",
    "daesolve_pytest.py": "def drift():\n    import daesolve.core.solvers.two",
    "docs/index.md": "",
    "problems/daesolve_problems/cart.py": "",
    "problems/daesolve_problems/hoop.py": "",
    "setup.odd": "",
}
"""A small library; each test below adds its own file."""


@pytest.mark.parametrize(
    ("program", "changed", "expected"),
    [
        ("import daesolve as ds\nds.solve()", "daesolve/a.py", True),
        ("import daesolve as ds\nds.solve()", "daesolve/late.py", True),
        ("import daesolve as ds\nds.solve()", "daesolve/b.py", False),
        ("import daesolve as ds\nprint(ds.__version__)", "daesolve/b.py", False),
        ("import daesolve as ds\ngetattr(ds, 'Run')", "daesolve/b.py", True),
        ("import daesolve as ds\nds.unknown", "daesolve/b.py", True),
        ("from daesolve import solve", "daesolve/a.py", True),
        ("from daesolve.core.solvers import One", "daesolve/core/solvers/one.py", True),
        ("from daesolve.core.solvers import One", "daesolve/core/solvers/__init__.py", True),
        ("from daesolve.core.solvers import One", "daesolve/core/solvers/two.py", False),
        ("from daesolve.core.solvers import ALL", "daesolve/core/solvers/two.py", True),
        ("from daesolve.core.solvers import *", "daesolve/core/solvers/two.py", True),
        ("import daesolve.core.solvers.one", "daesolve/core/solvers/two.py", False),
        ("import daesolve.core.solvers.two", "daesolve/late.py", False),
        ("import daesolve.core.solvers.one", "daesolve/core/solvers/page.jinja", True),
        ("import daesolve.a", "daesolve/core/solvers/page.jinja", False),
        ("load('daesolve.core.solvers.two')", "daesolve/core/solvers/two.py", True),
        ("run('from daesolve import Run; Run()')", "daesolve/b.py", True),
        ("run('from daesolve import Run {')", "daesolve/b.py", True),
        ("run(['python', '-m', 'daesolve', 'run'])", "daesolve/cli/run.py", True),
        ("run('daesolve run x')", "daesolve/cli/run.py", True),
        ("from daesolve.cli.app import main", "daesolve/cli/run.py", True),
        ("from daesolve.cli.app import main", "problems/daesolve_problems/cart.py", True),
        ("import daesolve as d\nd.problem('hoop')", "problems/daesolve_problems/hoop.py", True),
        ("import daesolve as d\nd.problem('hoop')", "problems/daesolve_problems/cart.py", False),
        ("import daesolve as d\nd.problem(name)", "problems/daesolve_problems/cart.py", True),
        ("from daesolve import Run\nRun().x", "daesolve/pages.py", False),
        ("from daesolve import Run\nRun().plot()", "daesolve/pages.py", True),
        ("import daesolve.runs", "daesolve/laws.py", True),
        ("from daesolve.plugins import registry", "daesolve/laws.py", False),
        ("import daesolve as ds\nds.solve()", "daesolve/drawn.py", False),
        ("import daesolve as ds\nds.solve().draw()", "daesolve/drawn.py", True),
        ("def test_x(drift): ...", "daesolve/core/solvers/two.py", True),
        ("def test_x(): ...", "daesolve/core/solvers/two.py", False),
        ("def test_x(): ...", "daesolve_pytest.py", True),
        ("(ROOT / 'docs').glob('*.md')", "docs/index.md", True),
        ("(ROOT / 'docs').glob('*.md')", "daesolve/b.py", True),
        ("def test_x(): ...", "docs/index.md", False),
        ("open('index.md')", "docs/index.md", True),
        ("def test_x(): ...", "setup.odd", True),
        ("def test_x(): ...", "pyproject.toml", True),
        ("def test_x(): ...", "tests/x/test_it.py", True),
        ("def test_x(): ...", "daesolve/a.py", False),
        ("from daesolve.gone import x", "daesolve/gone.py", True),
    ],
)
def test_a_test_is_reached_by_what_it_uses(program, changed, expected):
    texts = TREE | {"tests/x/test_it.py": program}
    texts.setdefault(changed, "")
    reached = graph_of(texts, read_all(texts)).reached([changed])
    assert bool(reached) == expected


def test_a_conftest_reaches_the_tests_beside_and_below_it():
    texts = {
        "daesolve/a.py": "",
        "tests/x/conftest.py": "import daesolve.a",
        "tests/x/y/test_below.py": "",
        "tests/z/test_elsewhere.py": "",
    }
    graph = graph_of(texts, read_all(texts))
    assert graph.reached(["daesolve/a.py"]) == {"tests/x/y/test_below.py"}


@pytest.fixture(scope="module")
def here():
    texts = tree_at(ROOT, tracked_files(ROOT))
    return graph_of(texts, read_all(texts))


@pytest.mark.slow
def test_in_this_tree_layers_far_apart_do_not_reach_each_other(here):
    gallery = here.reached(["daesolve/reporting/gallery/page.py"])
    segment = {
        Path(path).parent.name for path in here.reached(["daesolve/core/solvers/segment.py"])
    }
    assert any(path.startswith("tests/reporting/gallery/") for path in gallery)
    assert not any(path.startswith("tests/core/expressions/") for path in gallery)
    assert {"solvers", "problems", "solving"} <= segment


@pytest.mark.slow
def test_in_this_tree_a_change_of_a_room_reaches_all_of_its_tests(here):
    missed = []
    for room in sorted(path for path in (ROOT / "daesolve").iterdir() if path.is_dir()):
        inside = [path for path in here.files if path.startswith(f"daesolve/{room.name}/")]
        mirror = {path for path in here.tests if path.startswith(f"tests/{room.name}/")}
        missed += sorted(mirror - here.reached(inside)) if inside else []
    assert not missed


def test_the_report_says_what_is_left_out():
    text = report({"tests/a/test_1.py"}, ["tests/a/test_1.py", "tests/b/test_2.py"])
    assert text.splitlines() == [
        "tests/a: all 1",
        "reaches 1 of 2 test files in 1 of 2 folders; left out: tests/b",
    ]


def test_changes_are_those_since_the_branch_began_with_uncommitted_and_deleted_files(tmp_path):
    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(name):
        (tmp_path / name).write_text(name)
        git("add", "-A")
        git("commit", "-m", name)

    git("init", "-b", "main")
    commit("old")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    with pytest.raises(UnknownBaseError, match="last tested one"):
        changed_files(tmp_path)
    commit("new")
    (tmp_path / "old").unlink()
    (tmp_path / "fresh").write_text("")
    assert changed_files(tmp_path) == ["fresh", "new", "old"]
    assert tracked_files(tmp_path) == ["fresh", "new"]
    assert changed_files(tmp_path, "HEAD") == ["fresh", "old"]
    with pytest.raises(UnknownBaseError, match="no commit 'nowhere'"):
        changed_files(tmp_path, "nowhere")
    commit("fresh")
    git("mv", "fresh", "moved")
    git("commit", "-m", "moved")
    assert changed_files(tmp_path, "HEAD~1") == ["fresh", "moved"]
    assert changed_files(tmp_path, "HEAD~1", moved=False) == []
