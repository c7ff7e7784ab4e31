"""What the measuring script counts in a small library, by hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "measure_structure.py"

LIBRARY = {
    "__init__.py": '"""A library."""\n',
    "__main__.py": "print()\n",
    "shapes.py": '''"""Two lines
of a docstring."""

# A comment that tells.
WORD = """told
twice"""


class Point:
    """A point."""

    told = 1  # told


class _Hidden:
    pass
''',
    "formulations/__init__.py": "",
    "formulations/base.py": """class Formulation: ...
class Plain(Formulation):
    name = "plain"
class Refined(Plain):
    name = "refined"
def inside(given): return isinstance(given, Plain)
""",
    "solvers/__init__.py": "",
    "solvers/one.py": """class Stepping:
    def run(self, observe):
        while observe(StepBlock()):
            pass
class Ended:
    def end(self): return SegmentEnd()
class _Hidden: ...
""",
    "solvers/two.py": """def segment(times):
    for time in times:
        pass
    return SegmentEnd()
def unrelated(times):
    for time in times:
        pass
""",
    "solvers/shapes.py": """import numpy as np
class Point: ...
def rank(matrix): return np.linalg.svd(matrix)
""",
    "choosing.py": """def choose(formulation, rank_loss, goal):
    if isinstance(formulation, Plain | Refined) or type(formulation) is Refined:
        return rank_loss == "plain"
    match formulation:
        case Plain():
            return isinstance(goal, Point)
    return formulation.name == "refined" or goal == Plain.name
""",
}


def measured(tree, *options):
    command = [sys.executable, str(SCRIPT), "--tree", str(tree), "--files-only", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    for name, text in LIBRARY.items():
        path = folder / "daesolve" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def counts(tree):
    return json.loads(measured(tree, "--json"))


def test_entries_at_the_top_are_packages_and_modules(counts):
    assert counts["packages at the top"] == 2  # formulations, solvers
    assert counts["modules at the top"] == 3  # __main__, shapes, choosing
    assert counts["entries at the top"] == 5
    assert (counts["packages"], counts["modules"]) == (3, 10)


def test_docstrings_comments_and_blanks_are_no_lines_of_code(counts):
    # Of shapes: the string that is no docstring has 2 lines, each class 2. Others are all code.
    others = sum(
        len(text.splitlines())
        for name, text in LIBRARY.items()
        if name not in ("__init__.py", "shapes.py")
    )
    assert counts["lines of code"] == 6 + others


def test_every_loop_that_steps_a_segment_is_found_and_no_other(counts):
    loops = ["daesolve.solvers.one:Stepping", "daesolve.solvers.two:segment"]
    assert counts["places of these loops"] == loops
    assert counts["loops over a segment"] == 2


def test_questions_for_a_formulation_are_found_outside_its_package(counts):
    assert counts["where a class is asked for"] == [
        f"daesolve.choosing:{line}" for line in (2, 2, 5)
    ]
    assert counts["where a name is compared"] == ["daesolve.choosing:7"] * 2
    assert counts["modules with such questions"] == 1


def test_names_that_occur_twice_are_public_classes_and_files_of_modules(counts):
    assert counts["repeated class names"] == ["Point"]
    assert counts["repeated file names"] == ["shapes.py"]


def test_words_are_counted_in_what_is_written_for_readers(counts):
    assert counts["`told` in strings and comments"] == 2  # one in a string, one in a comment
    assert counts["`told` in the whole text"] == 3  # and the name
    assert counts["`tells` in strings and comments"] == 1
    assert counts["`tell` in strings and comments"] == 0


def test_modules_that_call_an_svd_are_listed(counts):
    assert counts["modules with an SVD"] == ["daesolve.solvers.shapes"]


def test_an_earlier_state_stands_beside(tree, tmp_path):
    earlier = tmp_path / "before.json"
    earlier.write_text(json.dumps({"modules": 1234, "gone": 1}))
    rows = [line.split() for line in measured(tree, "--against", str(earlier)).splitlines()]
    assert rows[0] == ["before", "measured"]
    assert ["modules", "1,234", "10"] in rows
    assert ["gone", "1", "-"] in rows


def test_calls_are_counted_by_module_function_and_depth(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from structure.calls import Calls

    names = {"__name__": "made_up.inner"}
    text = (
        "def outer():\n    return [f() for f in (inner, inner)]\ndef inner(): ...\ndef idle(): ..."
    )
    exec(compile(text, "inner.py", "exec"), names)
    before = sys.getprofile()
    seen = Calls("made_up")
    try:
        seen.watch(names["outer"])
    finally:
        sys.setprofile(before)
    assert seen.modules == {"made_up.inner"}
    assert {code.co_name for code in seen.functions} == {"outer", "inner"}
    assert seen.depth == 2  # the comprehension is no function
