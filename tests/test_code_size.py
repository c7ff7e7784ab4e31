"""Modules are short enough to be read at a sitting, and functions to be seen at once."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("daesolve", "problems", "benchmarks", "tests", "tools")
FILES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def code_lines(function):
    """Lines of a function, those of its docstring left out."""
    told = 0
    if ast.get_docstring(function, clean=False) is not None:
        told = function.body[0].end_lineno - function.body[0].lineno + 1
    return function.end_lineno - function.lineno + 1 - told


def long_functions(text):
    """Yield each function that is too long without a comment that says why, and its lines."""
    if "def " not in text:
        return
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            explained = "# Long: " in "".join(lines[node.lineno - 2 : node.lineno + 1])
            if not explained and (count := code_lines(node)) > 60:
                yield node.name, count


def test_no_module_is_longer_than_500_lines():
    assert {name: n for name, text in FILES.items() if (n := text.count("\n")) > 500} == {}


@pytest.mark.long_rows("daesolve", "tests")
@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_is_longer_than_60_lines_of_code_unless_a_comment_says_why(folder):
    long = {
        f"{name}: {function}": count
        for name, text in FILES.items()
        if name.startswith(folder)
        for function, count in long_functions(text)
    }
    assert long == {}
