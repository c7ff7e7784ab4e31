"""The speed of daesolve from commit to commit: ten figures, each a ratio to a fixed loop.

`measure` times the figures of a checkout and appends a row to `benchmarks/history/rows.jsonl`.
Each figure alternates with its loop, which uses nothing of daesolve, in processor seconds, in
several processes: work beside it, another processor or another clock changes both alike, and the
ratio little. A row keeps the median of the ratios and the quartiles around it.

`compare` compares a row with the five before it, and ends with status 1 if a figure takes over
20 % longer than in the fastest of them and the quartiles are apart by more than the loops spread.
`draw` draws the page.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

from benchmarks.common.conditions import as_json, conditions
from benchmarks.common.options import add_json, add_repeats, options, whole
from benchmarks.common.processes import ONE_THREAD, ROOT, run_module
from benchmarks.common.tables import aligned, markdown, update

from .figures import FIGURES
from .loops import VERSION
from .measuring import Sample
from .rows import BUSY, EARLIER, LOSS, ROWS, Ratio, Row, append, before, changes, place_of, read

PAGE = ROOT / "docs" / "benchmarks" / "history.md"
MARK = "history"
MEASURED = ("daesolve", "problems")
"""What a figure depends on; changes elsewhere do not matter."""


def git(checkout: Path, *arguments: str) -> str:
    """Return what git prints about a checkout; it exits with git's own message if it fails."""
    ended = subprocess.run(
        ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise SystemExit(ended.stderr.strip())
    return ended.stdout.strip()


def quartiles(values: Sequence[float]) -> Ratio:
    """Return the quartiles of two values or more; one value is all three."""
    return Ratio(*(quantiles(values, n=4, method="inclusive") if values[1:] else 3 * [*values]))


def samples_of(checkout: Path, names: Sequence[str], repeats: int, rounds: int) -> list[Sample]:
    """Measure figures in several processes, one after the other, with a new cache.

    Raises
    ------
    SystemExit
        A process failed.
    """
    found: list[Sample] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            lines, reason = run_module(
                "benchmarks.history.measuring",
                [str(checkout), str(repeats), *names],
                {**ONE_THREAD, "DAESOLVE_CACHE": cache, "PYTHONHASHSEED": "0"},
            )
        if reason:
            raise SystemExit(reason)
        found += [Sample(**line) for line in lines]
    return found


def row_of(checkout: Path, found: Sequence[Sample]) -> Row:
    """Return the row of a checkout's samples."""
    known = conditions("numba", "casadi", "scipy")
    good = [one for one in found if not one.reason]
    loops = [
        quartiles([one.after for one in good if FIGURES[one.figure].loop == loop])
        for loop in {FIGURES[one.figure].loop for one in good}
    ]
    changed = git(checkout, "status", "--porcelain", "--", *MEASURED)
    return Row(
        git(checkout, "rev-parse", "--short=8", "HEAD") + ("+" if changed else ""),
        git(checkout, "show", "-s", "--format=%cI", "HEAD"),
        known.date,
        known.machine,
        {name: version for name, version in known.versions.items() if name != "daesolve"},
        VERSION,
        round(max((one.high - one.low) / one.median for one in loops), 3),
        {
            name: quartiles([one.ratio for one in good if one.figure == name])
            for name in dict.fromkeys(one.figure for one in good)
        },
    )


def measure(given: argparse.Namespace) -> int:
    """Append a row, and say what could not be measured and whether the machine was busy."""
    checkout = given.checkout.resolve()
    changed = git(checkout, "status", "--porcelain", "--", *MEASURED)
    if changed and not given.changed:
        raise SystemExit(
            f"there are changes that are not committed, so no commit has this speed:\n{changed}\n"
            "Commit them, or give --changed; the row's commit then ends in +."
        )
    found = samples_of(checkout, given.figure or list(FIGURES), given.repeats, given.rounds)
    for figure, reason in dict.fromkeys((one.figure, one.reason) for one in found if one.reason):
        print(f"{figure} could not be measured: {reason}")
    if all(one.reason for one in found):
        return 1
    row = row_of(checkout, found)
    append(row, given.rows)
    print(table([row], 0))
    if row.spread > BUSY:
        print(f"The machine was busy: the loops spread by {row.spread:.0%}, over {BUSY:.0%}.")
    if given.json:
        given.json.write_text(as_json(conditions(), found))
    return 0


def compare(given: argparse.Namespace) -> int:
    """Print a row beside those before it; return 1 if a figure was lost."""
    rows = read(given.rows)
    if not rows:
        raise SystemExit(f"{given.rows} has no rows; measure some first")
    try:
        commit = git(ROOT, "rev-parse", given.revision) if given.revision else rows[-1].commit
        index = place_of(rows, commit)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    now, earlier = rows[index], before(rows, index)
    if not earlier:
        raise SystemExit(f"there is no earlier row to compare {now.commit} with")
    print(table(rows, index))
    if any((row.machine, row.versions) != (now.machine, now.versions) for row in earlier):
        print("Some of the rows come from another machine or other versions of packages.")
    lost = [change for change in changes(rows, index) if change.lost]
    for one in lost:
        print(f"{one.figure}: {one.factor - 1:.0%} slower than at {one.since}")
    return 1 if lost else 0


def table(rows: Sequence[Row], index: int, page: bool = False) -> str:
    """Return the figures of a row beside the earlier row in which each was fastest."""
    known = {change.figure: change for change in changes(rows, index)}
    lines: list[list[str]] = []
    for name, now in rows[index].ratios.items():
        past = known.get(name)
        lines.append([
            f"{name}: {FIGURES[name].title}" if name in FIGURES else name,
            FIGURES[name].loop if name in FIGURES else "",
            f"{now.median:.3g}", f"{now.low:.3g} to {now.high:.3g}",
            f"{past.before.median:.3g} at {past.since}" if past else "",
            f"{past.factor:.2f}" if past else "",
        ])  # fmt: skip
    heads = ["figure", "loop", rows[index].commit, "quartiles", "fastest before", "times as long"]
    return markdown(heads, lines) if page else aligned(heads, lines)


def draw(given: argparse.Namespace) -> int:
    """Draw the figure and the table of the page."""
    rows = read(given.rows)
    update(PAGE, MARK, page_text(rows))
    script = [sys.executable, str(ROOT / "docs" / "figures.py"), "speed-history"]
    return subprocess.run(script, cwd=ROOT, check=False).returncode


def page_text(rows: Sequence[Row]) -> str:
    """Return the last row as the page shows it."""
    row = rows[-1]
    versions = ", ".join(f"{name} {version}" for name, version in row.versions.items())
    measured = f"Measured on {row.date}: {row.machine}. {versions}. Loops spread by"
    return f"{measured} {row.spread:.0%}.\n\n{table(rows, len(rows) - 1, page=True)}"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.history", __doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    made: dict[str, argparse.ArgumentParser] = {}
    for run, words in (
        (measure, "append a row for a checkout"),
        (compare, f"list what became over {LOSS - 1:.0%} slower than in the {EARLIER} rows before"),
        (draw, "draw the figure and the table of docs/benchmarks/history.md"),
    ):
        made[run.__name__] = commands.add_parser(run.__name__, help=words, description=words)
        made[run.__name__].set_defaults(run=run, rows=ROWS)
    for one in (made["measure"], made["compare"]):
        one.add_argument("--rows", type=Path, default=ROWS, metavar="FILE", help="another file")
    help_text = "a revision that has a row (default: the last row)"
    made["compare"].add_argument("revision", nargs="?", metavar="REV", help=help_text)
    new = made["measure"]
    help_text = "another checkout, such as a git worktree of an earlier commit"
    new.add_argument("--checkout", type=Path, default=ROOT, metavar="DIR", help=help_text)
    new.add_argument("--changed", action="store_true", help="measure changes not committed, too")
    help_text = f"repeatable (all: {', '.join(FIGURES)})"
    new.add_argument("--figure", action="append", choices=list(FIGURES), help=help_text)
    add_repeats(new, 5, "measurements of each figure in each process")
    new.add_argument("--rounds", type=whole, default=2, metavar="N",
                     help="processes, one after the other (%(default)s)")  # fmt: skip
    add_json(new)
    return parser


def main() -> None:
    """Run the command."""
    given = parser().parse_args()
    sys.exit(given.run(given))


if __name__ == "__main__":
    main()
