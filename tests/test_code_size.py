"""Modules are short enough to be read at a sitting, and functions to be seen at once."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in ("daesolve", "problems", "benchmarks", "tests", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def code_lines(function):
    """Lines of a function, those of its docstring left out."""
    told = 0
    if ast.get_docstring(function) is not None:
        told = function.body[0].end_lineno - function.body[0].lineno + 1
    return function.end_lineno - function.lineno + 1 - told


def functions(text):
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def test_no_module_is_longer_than_500_lines():
    assert {name: n for name, text in FILES.items() if (n := len(text.splitlines())) > 500} == {}


def test_no_function_is_longer_than_60_lines_of_code_unless_a_comment_tells_why():
    long = {
        f"{name}: {function.name}": code_lines(function)
        for name, text in FILES.items()
        for function in functions(text)
        if code_lines(function) > 60
        if "# Long: " not in "".join(text.splitlines()[function.lineno - 2 : function.lineno + 1])
    }
    assert long == {}
