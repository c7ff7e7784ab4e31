import ast

import pytest

from .conftest import NEEDS_HEYOKA, needs_heyoka


@pytest.mark.slow
def test_what_is_listed_is_a_test_and_listed_once_in_order():
    listed = needs_heyoka()
    assert list(listed) == sorted(set(listed))
    for entry in listed:
        path, _, name = entry.partition("[")[0].partition("::")
        tree = ast.parse((NEEDS_HEYOKA.parent / path).read_text(encoding="utf-8"))
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert name in functions if name else functions, entry
