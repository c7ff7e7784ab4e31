"""What is chosen by the size of a model: compiled code, or the same uncompiled."""

import subprocess
import sys
from dataclasses import astuple
from pathlib import Path
from typing import Any

import casadi as ca
import numba
import numpy as np
import pytest

from daesolve.core.expressions import blocks, compilation, program
from daesolve.core.solvers import unresolved_terms
from daesolve.core.solvers.taylor_kernel import instructions


def test_a_function_is_compiled_for_a_large_task_and_after_many_small_ones() -> None:
    def doubled(x: float) -> float:
        return 2.0 * x

    kept: Any = compilation.compile_once(doubled)
    assert compilation.for_size(kept, compilation.SMALL) is kept
    few = compilation.ENOUGH // (compilation.SMALL // 2)
    for _ in range(few):
        assert compilation.for_size(kept, compilation.SMALL // 2) is doubled
    assert compilation.for_size(kept, 1) is kept


def test_another_form_serves_until_it_has_taken_as_long_as_compiling() -> None:
    def doubled(x: float) -> float:
        return 2.0 * x

    kept: Any = compilation.compile_once(doubled)
    part = compilation.PATIENCE / 4.0
    for _ in range(4):
        assert compilation.for_now(kept, lambda: part)
    assert not compilation.for_now(kept, lambda: part)
    nowhere: Any = numba.njit(lambda x: 3.0 * x)
    assert compilation.for_now(nowhere, lambda: part)
    compiled: Any = compilation.compile_once(lambda x: 3.0 * x)
    compiled(1.0)
    assert not compilation.for_now(compiled, lambda: part)


def test_an_installed_function_is_cached_outside_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, package = tmp_path / "cache", tmp_path / "site-packages" / "own"
    monkeypatch.setenv("DAESOLVE_CACHE", str(cache))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")  # which goes before any other
    for folder in (package, tmp_path / "sources"):
        folder.mkdir(parents=True)
        (folder / "square.py").write_text("def square(x):\n    return x * x\n")
        known: dict[str, Any] = {"__name__": "square"}
        exec(compile((folder / "square.py").read_text(), folder / "square.py", "exec"), known)
        kept: Any = compilation.compile_once(known["square"])
        assert kept(3.0) == 9.0
        installed = folder == package
        assert Path(kept.stats.cache_path).is_relative_to(cache if installed else folder)
        assert (folder / "__pycache__").exists() is not installed


COMPILES = """
from daesolve.core.expressions.compilation import compile_once

@compile_once
def total(values):
    found = 0.0
    for value in values:
        found += value
    return found

if __name__ == "__main__":
    import numpy as np
    from summing import total
    total(np.ones(3))
    print(sum(total.stats.cache_misses.values()))
"""


@pytest.mark.long
def test_processes_that_start_together_compile_a_function_once(tmp_path: Path) -> None:
    (tmp_path / "summing.py").write_text(COMPILES, encoding="utf-8")
    started = [
        subprocess.Popen(
            [sys.executable, "summing.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert sorted(process.communicate()[0].strip() for process in started) == ["0", "0", "1"]


def _function() -> ca.Function:
    """Return a function with sums of products, quotients, powers and functions of many kinds."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 2)
    a = x[0] * x[1] - p[0] * x[2] * x[3] + ca.sqrt(1.0 + x[0] ** 2 * x[3])
    b = ca.sin(x[2] * t) * ca.exp(-x[1] * p[1]) / (2.0 + a**2 * ca.cos(x[0]))
    c = -(a - b) * x[0] + (a + b) ** 3 / (1.0 + x[1] ** 2) - p[1] ** 1.5 * ca.sin(p[0] * a)
    rate = ca.vertcat(a, b - 3.0 * c, c / x[3] ** 4, ca.tanh(a * b) + 7.0)
    return ca.Function("f", [t, x, p], [rate], ["t", "x", "p"], ["rate"])


def _parts(found: Any) -> list[Any]:
    """Return the arrays and numbers of nested results in one list."""
    if isinstance(found, list | tuple | dict):
        parts: Any = found.values() if isinstance(found, dict) else found
        return [one for part in parts for one in _parts(part)]
    return [found.tolist() if isinstance(found, np.ndarray) else found]


def _tables(function: ca.Function) -> list[Any]:
    made = instructions._read(function, False)
    own = [made.codes, made.ends, made.terms, made.blocks, made.outputs, made.borders]
    layouts = [astuple(blocks._divided(function, each)) for each in (False, True)]
    shared = program.joined([function, function])
    walk = unresolved_terms._Walk((function,))
    return _parts(
        [own, layouts, shared.outputs, astuple(shared.values), walk._degrees, walk._sizes]
    )


@pytest.mark.slow
def test_tables_are_the_same_compiled_and_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Any]] = []
    for small in (0, 10_000):
        monkeypatch.setattr(compilation, "SMALL", small)
        found.append(_tables(_function()))
    assert found[0] == found[1]
