"""Measure the structure of the library; two states of it are measured by the same rules.

    python tools/measure_structure.py --json > before.json
    python tools/measure_structure.py --tree ../other-checkout --against before.json

A module is a file `*.py`, `__init__.py` included; a package is a folder with an `__init__.py`.
Every count covers `daesolve/` of the checkout.

entries at the top
    Packages and modules directly in `daesolve/`; `__main__` counts, `__init__` does not.
lines of code
    Lines that hold a token, without docstrings, comments and blank lines.
the run
    A complete `daesolve run rolling-wheel --case hoop` by `daesolve.cli:main`; once with no
    options, and once with `--out`, which stores the run and writes its report. The run passes a
    module if it calls one of its functions, including methods that `dataclass` writes; executing
    a module or a class body does not count as a call. Functions are distinct functions in the
    library's files, including lambdas and generator expressions. Depth is the deepest nesting of
    Python frames, of all packages, at a call of a library function; the first frame is `main`.
    Comprehensions of lists, sets and dictionaries do not count, as from Python 3.12 on.
the import
    Processor time in new processes, alternating with processes that import its dependencies.
loops over a segment
    Top-level classes and functions of a module in a package `solvers` that contain a `while` or
    `for` statement, and that make a `StepBlock` or a `SegmentEnd` or call `observe`.
questions for the type of a formulation
    Outside the package `formulations`: `isinstance` and `issubclass`, comparisons of types, and
    class patterns with a class that derives from `Formulation`; comparisons of anything called
    `name` or `formulation`, or of `SomeFormulation.name`, with the name of a formulation.
long functions
    Functions with more than 60 lines, docstrings excluded.
names that occur twice
    Top-level public classes, and files other than `__init__.py`.
told, tells, tell
    The words in strings, docstrings and comments in any case; and `told` in the whole text,
    names of variables included, in lower case.
modules with an SVD
    Modules that call a function whose name contains `svd`.

The library runs with this interpreter, with the checkout at the front of `PYTHONPATH`. Installed
entry points name the problems, so the checkout must contain the modules that they name.
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
    """Measure what the files of a checkout contain."""
    modules = modules_of(tree / LIBRARY)
    parts = (sizes, questions, repeated_names, words, other_counts)
    measured = top_entries(tree / LIBRARY)
    for part in parts:
        measured |= part(modules)
    return measured


def shown(value: Value | None) -> str:
    """Return a value in the form that the table shows."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(columns: dict[str, Measures]) -> str:
    """Write measures side by side, followed by the lists of the last column.

    Parameters
    ----------
    columns
        Measures by column heading.
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
    made.add_argument("--tree", type=Path, default=here, help="a checkout (default: this one)")
    made.add_argument("--json", action="store_true", help="print JSON instead of the table")
    made.add_argument("--against", type=Path, metavar="JSON", help="measures to compare with")
    made.add_argument("--repeats", type=int, default=5, help="number of timings of each import")
    made.add_argument("--files-only", action="store_true", help="only read the files; run nothing")
    return made


def main() -> None:
    """Measure a checkout, and print the results."""
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
