"""Measure the structure of the library, so that two states of it compare by the same rules.

    python tools/measure_structure.py --json > before.json
    python tools/measure_structure.py --tree ../other-checkout --against before.json

A module is a file `*.py`, `__init__.py` among them; a package is a folder with an `__init__.py`.
Every count is over `daesolve/` of the checkout.

entries at the top
    Packages and modules directly in `daesolve/`, `__main__` among them, `__init__` not.
lines of code
    Lines that hold a token, without docstrings, comments and blank lines.
the run
    `daesolve run rolling-wheel --case hoop` to its end, by `daesolve.cli:main`; once as it stands,
    and once with `--out`, which stores the run and writes its report. A module is passed where one
    of its functions is called, methods that `dataclass` writes among them; the execution of a
    module or of a class body is no call. Functions are distinct ones in the library's files,
    lambdas and generator expressions among them. Depth is the deepest nesting of Python frames,
    of all packages, at a call of a function of the library; the first frame is `main`.
    Comprehensions of lists, sets and dictionaries are no functions, as from Python 3.12 on.
the import
    Processor time in new processes, which take turns with those that import what it builds on.
loops over a segment
    Classes and functions at the top of a module in a package `solvers` that hold a `while` or
    `for` statement, and that make a `StepBlock` or a `SegmentEnd` or call `observe`.
questions for the type of a formulation
    Outside the package `formulations`: `isinstance` and `issubclass`, comparisons of types, and
    class patterns with a class that derives from `Formulation`; comparisons of something called
    `name` or `formulation`, or of `SomeFormulation.name`, with the name of one.
long functions
    Lines of a function without its docstring, more than 60.
names that occur twice
    Public classes at the top of a module, and files other than `__init__.py`.
told, tells, tell
    The word in strings, docstrings and comments in any case; and `told` in the whole text, names
    of variables among it, in lower case.
modules with an SVD
    Those that call a function whose name contains `svd`.

The library runs with this interpreter, the checkout in front of `PYTHONPATH`. Entry points that are
installed name the problems, so the checkout must have the modules that they name.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from structure.counts import other_counts, repeated_names, sizes, top_entries, words
from structure.processes import measure_import, measure_run
from structure.questions import questions
from structure.sources import Measures, Value, modules_of

LIBRARY = "daesolve"


def measure_files(tree: Path) -> Measures:
    """Measure what the files of a checkout say."""
    modules = modules_of(tree / LIBRARY)
    parts = (sizes, questions, repeated_names, words, other_counts)
    measured = top_entries(tree / LIBRARY)
    for part in parts:
        measured |= part(modules)
    return measured


def shown(value: Value | None) -> str:
    """Return a value as the table shows it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(columns: dict[str, Measures]) -> str:
    """Write measures side by side, and under them the lists of the last column.

    Parameters
    ----------
    columns
        Measures by the heading of their column.
    """
    keys = list(dict.fromkeys(key for measures in columns.values() for key in measures))
    last = list(columns.values())[-1]
    lists = [key for key in keys if any(isinstance(m.get(key), list) for m in columns.values())]
    rows = [["", *columns]]
    rows += [
        [key, *(shown(m.get(key)) for m in columns.values())] for key in keys if key not in lists
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    for key in lists:
        entries = last.get(key)
        if isinstance(entries, list) and entries:
            lines += ["", f"{key}:", *(f"  {entry}" for entry in entries)]
    return "\n".join(line.rstrip() for line in lines)


def parser() -> argparse.ArgumentParser:
    """Describe the command."""
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    here = Path(__file__).resolve().parents[1]
    made.add_argument("--tree", type=Path, default=here, help="a checkout; this one if not given")
    made.add_argument("--json", action="store_true", help="print JSON in place of the table")
    made.add_argument("--against", type=Path, metavar="JSON", help="measures to print beside")
    made.add_argument("--repeats", type=int, default=5, help="how often each import is timed")
    made.add_argument("--files-only", action="store_true", help="run nothing; only read the files")
    return made


def main() -> None:
    """Measure a checkout, and print what was found."""
    asked = parser().parse_args()
    tree = asked.tree.resolve()
    measured = measure_files(tree)
    if not asked.files_only:
        measured |= measure_run(tree) | measure_import(tree, asked.repeats)
    if asked.json:
        print(json.dumps(measured, indent=2))
        return
    columns = {"measured": measured}
    if asked.against:
        columns = {asked.against.stem: json.loads(asked.against.read_text()), **columns}
    print(table(columns))


if __name__ == "__main__":
    main()
