"""Figures of benchmarks, drawn from the tables of their pages: `python docs/figures.py NAME`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from page_figures import COLOURS, DOCS, LEGEND, RED, panels, tables


def chain_costs() -> Figure:
    """Draw the cost of a step over the number of rods, from the page's tables."""
    found = tables("benchmarks/chains", "| package | method | N = 5, ms")[0]
    numbers = [int(cell.split(",")[0].removeprefix("N = ")) for cell in found[0][2:-1]]
    figure, (axes,) = panels(1, 3.2)
    for colour, row in zip((*COLOURS, "#c44e52"), found[2:], strict=False):
        costs = [float(cell) if cell else np.nan for cell in row[2:-1]]
        axes.loglog(numbers, costs, "o-", color=colour, markersize=3.5, label=f"{row[0]}, {row[1]}")
    axes.set(xlabel="rods", ylabel="ms of a step")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(numbers, [str(number) for number in numbers])
    figure.legend(loc="outside upper center", **LEGEND)
    return figure


def grouped(rows: list[list[str]], column: int = 0) -> dict[str, list[list[str]]]:
    """Return rows by what they have in a column."""
    return {
        cell: [row for row in rows if row[column] == cell] for cell in (r[column] for r in rows)
    }


def peers() -> Figure:
    """Draw error over seconds for every package and setting, from the page's tables."""
    page = (DOCS / "benchmarks/index.md").read_text(encoding="utf-8")
    heading = r"^### (.+)\n\n<details>\n.*\n\n\| package \| method \| error"
    tasks = re.findall(heading, page, re.MULTILINE)
    results = tables("benchmarks/index", "| package | method | error")
    figure, grid = plt.subplots(2, 2, figsize=(5.4, 5.4), layout="constrained")
    looks: dict[str, tuple[str, str]] = {}
    shades = (*COLOURS, "#c44e52", "#937860", "#64b5cd", "#b8860b")
    wheel = iter(zip("Dos^vPX*", shades, strict=False))
    for axes, task, rows in zip(grid.ravel(), tasks[:4], results[:4], strict=True):
        for package, mine in grouped(rows[2:]).items():
            if package not in looks:
                looks[package] = next(wheel, (".", "black"))
            points = [(float(row[5]), float(row[2])) for row in mine if "-" not in (row[2], row[5])]
            if not points:
                continue
            seconds, errors = np.array(points).T
            marker, shade = looks[package]
            axes.loglog(seconds, errors, marker, color=shade, markersize=4)
        axes.set_title(re.sub(r" \(.*?\)", "", task), fontsize="small")
        axes.minorticks_off()
        axes.set(xlabel="processor (s)", ylabel="error")
    for package, (marker, shade) in looks.items():
        grid[0, 0].plot([], [], marker, color=shade, label=package, markersize=4)
    figure.legend(loc="outside upper center", ncols=3, **LEGEND)
    return figure


def contact_errors() -> Figure:
    """Draw error over seconds for a block and a box that come to rest, from the page's tables."""
    results = tables("benchmarks/contacts", "| method | setting | error, m")
    titles = ("a block in the plane", "a box in space")
    figure, both = panels(2)
    for axes, title, rows in zip(both, titles, results, strict=True):
        for mark, colour, (method, mine) in zip(
            "Do^v", COLOURS, grouped(rows[2:]).items(), strict=False
        ):
            points = np.array([(float(row[3]), float(row[2])) for row in mine])
            axes.loglog(*points.T, mark, color=colour, markersize=4, label=method)
        axes.set(xlabel="processor (s)", ylabel="error (m)")
        axes.set_title(title, fontsize="small")
    handles = both[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2, **LEGEND)
    return figure


def loops() -> Figure:
    """Draw gaps and energies of closed loops after 1000 s, from the page's table."""
    rows = tables("benchmarks/models", "| loop | by | gap")[0][2:]
    figure, (gap, energy) = panels(2)
    names = list(grouped(rows))
    for number, (by, mine) in enumerate(grouped(rows, 1).items()):
        places = [names.index(row[0]) + 0.26 * (number - 1) for row in mine]
        for axes, column in ((gap, 2), (energy, 3)):
            axes.bar(places, [float(row[column]) for row in mine], 0.24, color=COLOURS[number],
                     label=by, bottom=0.0)  # fmt: skip
    for axes, label in ((gap, "largest gap (m, rad)"), (energy, "energy drift, relative")):
        axes.set_yscale("log")
        axes.set(ylim=(1e-17, 10.0), ylabel=label, xticks=range(len(names)))
        axes.set_xticklabels(names)
    handles = gap.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=1, **LEGEND)
    return figure


def driven_costs() -> Figure:
    """Draw error over seconds for a force with a thousand points, and the cost of a sample."""
    rows = tables("benchmarks/driven", "| case | by | processor")[0][2:]
    figure, (points, samples) = panels(2, 2.0, height_ratios=(3, 1.4))
    shades = {"piece by piece": COLOURS[4], "a table": COLOURS[0], "solve_ivp": RED}
    for row in rows:
        if "points" in row[0]:
            kind = row[0].partition(",")[0]
            place = float(row[2].removesuffix(" s")), max(float(row[3]), 1e-16)
            mark = "o" if kind == "linear" else "D"
            points.loglog(*place, mark, color=shades[row[1]], markersize=6)
        else:
            cost = float(row[2].partition(" ")[0])
            colour = RED if row[1] == "solve_ivp" else COLOURS[0]
            samples.barh(row[1], cost, color=colour, height=0.6)
            samples.annotate(f"{cost:g}", (cost, row[1]), (3, -4), textcoords="offset points",
                             fontsize="small")  # fmt: skip
    for by, shade in shades.items():
        label = f"{by}, the reference" if by == "piece by piece" else by
        points.plot([], [], "s", color=shade, label=label)
    for kind, mark in (("linear", "o"), ("cubic", "D")):
        points.plot([], [], mark, color="black", markerfacecolor="white", label=kind)
    figure.legend(loc="outside upper center", ncols=3, **LEGEND)
    points.set(
        xlabel="processor (s)", ylabel="error of the end", xlim=(0.15, 10), ylim=(1e-17, 1e-4)
    )
    points.set_title("1000 points; 0 is drawn at 10⁻¹⁶", fontsize="small")
    samples.set(xlabel="processor, µs a sample", xlim=(0, 150))
    samples.set_title("1 000 000 samples of a law", fontsize="small")
    return figure


def orbit_digits() -> Figure:
    """Draw the digits of periodic orbits over milliseconds, for daesolve and for loops of SciPy."""
    rows = tables("benchmarks/periodic-orbits", "| case | by | ms")[0][2:]
    figure, both = panels(2, 2.4)
    looks = {"SciPy,": (RED, "s-"), "SciPy with": (COLOURS[1], "^-"), "daesolve": (COLOURS[0], "D")}
    labels = {"SciPy,": "SciPy", "SciPy with": "SciPy with slopes", "daesolve": "daesolve"}
    for axes, case in zip(both, ("walker", "Duffing"), strict=True):
        mine = [row for row in rows if row[0] == case and "first call" not in row[1]]
        for start, (colour, mark) in looks.items():
            there = [row for row in mine if row[1].startswith(start)]
            times, states, multipliers = np.array(
                [(float(row[2]), float(row[4]), float(row[5])) for row in there]
            ).T
            axes.semilogx(times, multipliers, mark, color=colour, markersize=5,
                          label=labels[start])  # fmt: skip
            axes.semilogx(times, states, mark, color=colour, markersize=5, alpha=0.35)
        axes.set(ylabel="digits", ylim=(5, 17), xlim=(8, 150))
        axes.set_title(f"{case}: multipliers (pale: the state)", fontsize="small")
        axes.set_xticks([10, 20, 50, 100], ["10", "20", "50", "100"])
        axes.xaxis.set_minor_formatter(NullFormatter())
    both[1].set(xlabel="ms")
    handles = both[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3, **LEGEND)
    return figure


def long_horizon() -> Figure:
    """Draw error over seconds for three motions and horizons, from the page's table."""
    rows = tables("benchmarks/long-horizon", "| motion | method | step")[0][2:]
    figure, each = panels(3, 2.0)
    looks = {
        "daesolve": (COLOURS[0], "-", "full"),
        "daesolve, energy measured": (COLOURS[0], "--", "none"),
        "Gauss 16": (COLOURS[1], "-", "full"),
        "RATTLE 8": (COLOURS[3], ":", "none"),
    }
    marks = {1e5: "o", 1e6: "s", 1e7: "^"}
    for axes, motion in zip(each, dict.fromkeys(row[0] for row in rows), strict=True):
        for method, (colour, line, fill) in looks.items():
            mine = [row for row in rows if row[:2] == [motion, method]]
            until, error, seconds = np.array([(row[3], row[4], row[7]) for row in mine], float).T
            axes.loglog(seconds, error, line, color=colour, linewidth=1.2, label=method)
            for horizon, place in zip(until, zip(seconds, error, strict=True), strict=True):
                axes.loglog(*place, marks[horizon], color=colour, fillstyle=fill, markersize=5)
        axes.set(ylabel="error (m)", xlim=(1.5, 400))
        axes.set_title(motion, fontsize="small")
        axes.set_xticks([2, 10, 50, 200], ["2", "10", "50", "200"])
        axes.xaxis.set_minor_formatter(NullFormatter())
    shown = each[0].get_legend_handles_labels()
    for horizon, mark in marks.items():
        shown[0].extend(each[0].plot([], [], mark, color="black", fillstyle="none"))
        shown[1].append(f"1e{round(np.log10(horizon))} s of motion")
    each[-1].set(xlabel="processor seconds")
    figure.legend(*shown, loc="outside upper center", ncols=2, **LEGEND)
    return figure


def speed_history() -> Figure:
    """Draw each figure of the history over the commits, relative to its first row."""
    lines = (DOCS.parent / "benchmarks/history/rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = sorted(map(json.loads, lines), key=lambda row: row["committed"])
    places = np.arange(len(rows))
    names = list(dict.fromkeys(name for row in rows for name in row["ratios"]))
    figure, both = panels(2, sharex=True, sharey=True)
    for axes, some in zip(both, (names[: len(names) // 2], names[len(names) // 2 :]), strict=True):
        for colour, name in zip((*COLOURS, RED), some, strict=False):
            low, median, high = np.array([row["ratios"].get(name, [np.nan] * 3) for row in rows]).T
            first = median[np.isfinite(median)][0]
            axes.errorbar(places, median / first, (median - low, high - median) / first,
                          fmt="o-", color=colour, markersize=3.5, linewidth=1.0, capsize=2.0,
                          label=name)  # fmt: skip
        axes.axhline(1.2, color=COLOURS[4], linewidth=0.8, linestyle=":")
        axes.set_yscale("log")
        axes.set(ylabel="time, first row = 1")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks([0.5, 1.0, 2.0], ["0.5", "1", "2"])
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **LEGEND)
    both[1].set_xticks(places, [row["commit"] for row in rows], rotation=90, fontsize="small")
    return figure


BENCHMARKS: dict[str, Callable[[], Figure]] = {
    "chain-costs": chain_costs,
    "peers": peers,
    "contact-errors": contact_errors,
    "loops": loops,
    "driven-costs": driven_costs,
    "orbit-digits": orbit_digits,
    "long-horizon": long_horizon,
    "speed-history": speed_history,
}
