"""Figures of the theory and of benchmarks: `python docs/figures.py NAME`.

Those of the theory draw what the code of their pages computes; those of benchmarks the tables of
their pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from page_figures import COLOURS, DOCS, computed, panels

import daesolve as ds


def residual_dies() -> Figure:
    """Draw the residual of the page's point, and the law that it obeys."""
    names = computed("theory/reactions-as-controls", "law = np.exp")
    run, residual, law = names["run"], names["residual"], names["law"]
    figure, (place, error) = panels(2)
    turn = np.linspace(0.0, 2 * np.pi, 300)
    place.plot(np.cos(turn), np.sin(turn), color=COLOURS[4], linewidth=1.0, label="the goal")
    place.plot(run["x"], run["y"], color=COLOURS[0], label="the motion")
    place.plot(run["x"][0], run["y"][0], "o", color=COLOURS[1], label="start")
    place.set(xlabel="x (m)", ylabel="y (m)", xlim=(-1.3, 1.3), ylim=(-1.3, 0.3))
    place.set_aspect("equal")
    place.legend(frameon=False, fontsize="small", loc="upper center")
    error.plot(run.times, residual, color=COLOURS[0], label="residual")
    error.plot(run.times, law, "--", color=COLOURS[1], label="the law", linewidth=1.0)
    error.set(xlabel="t (s)", ylabel="residual (m²)")
    error.legend(frameon=False, fontsize="small")
    return figure


def trolley() -> Figure:
    """Draw the trolley of the page, kicked off its goal, which is of degree three."""
    names = computed("theory/relative-degree", "trolley = ds.ControlSystem(")
    start = {"place": 0.5, "speed": 0.0, "force": 0.0}
    run = ds.solve(names["trolley"], 6.0, start, at=ds.every(0.02), formulation=ds.Feedback(rate=4))
    figure, (place, voltage) = panels(2)
    place.plot(run.times, np.sin(run.times), color=COLOURS[4], label="sin t")
    place.plot(run.times, run["place"], color=COLOURS[0], label="place")
    place.set(xlabel="t (s)", ylabel="m")
    place.legend(frameon=False, fontsize="small")
    voltage.plot(run.times, run.reactions["voltage"], color=COLOURS[1])
    voltage.set(xlabel="t (s)", ylabel="voltage, the reaction (V)")
    return figure


def projections() -> Figure:
    """Draw what an impact leaves of a velocity: in the metric of the masses, and not in it."""
    figure, (axes,) = panels(1, 3.2)
    masses = np.array([1.0, 4.0])
    row = np.array([1.0, 1.0])
    before = np.array([1.5, 0.6])
    moved = row / masses
    after = before - moved * (row @ before) / (row @ moved)
    straight = before - row * (row @ before) / (row @ row)
    line = np.linspace(-1.6, 1.6, 2)
    axes.plot(line, -line, color=COLOURS[4], label="admissible velocities")
    turn = np.linspace(0.0, 2 * np.pi, 200)
    for level in (masses @ before**2, masses @ after**2):
        axes.plot(
            np.sqrt(level / masses[0]) * np.cos(turn),
            np.sqrt(level / masses[1]) * np.sin(turn),
            color=COLOURS[2],
            linewidth=0.6,
            label="equal kinetic energy" if level == masses @ before**2 else None,
        )
    shown = {"before": (before, 0), "after": (after, 1), "orthogonal: wrong": (straight, 3)}
    for label, (velocity, colour) in shown.items():
        axes.annotate(
            "",
            xy=tuple(velocity),
            xytext=(0, 0),
            arrowprops={"arrowstyle": "-|>", "color": COLOURS[colour], "linewidth": 1.5},
        )
        axes.plot([], [], color=COLOURS[colour], label=label)
    axes.set(xlabel="velocity of 1 kg (m/s)", ylabel="velocity of 4 kg (m/s)")
    axes.set(xlim=(-2.2, 2.2), ylim=(-1.3, 1.3))
    axes.set_aspect("equal")
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def three_balls() -> Figure:
    """Draw the three balls of the page, by two models of impacts at one instant."""
    names = computed("theory/impacts", "def balls(order)")
    figure, axes = panels(2, 3.0, sharey=True)
    for panel, order in zip(axes, ("simultaneous", "sequential"), strict=True):
        run = ds.solve(names["balls"](order), 1.5, names["start"], at=ds.every(0.01))
        for number in (1, 2, 3):
            panel.plot(run.times, run[f"x_{number}"], color=COLOURS[number - 1])
        panel.set(title=order, xlabel="t (s)")
    axes[0].set(ylabel="places of the balls (m)")
    return figure


def driven_energy() -> Figure:
    """Draw the energy and the phase of a pendulum by a loose method, driven and not."""
    names = computed("theory/invariants", "reference_run(pendulum")
    pendulum, start = names["pendulum"], names["start"]
    exact = ds.analysis.reference_run(pendulum, 20.0, start)
    figure, (energy, error) = panels(2)
    choices = {
        "energy driven": ds.Projected(),
        "energy measured": ds.Feedback(rates={"energy": None}),
    }
    for colour, (label, formulation) in zip(COLOURS, choices.items(), strict=False):
        run = ds.solve(
            pendulum, 20.0, start, at=exact.times, formulation=formulation,
            solver=ds.Dop853(rtol=1e-5),
        )  # fmt: skip
        history = np.array(run.drift["energy"].history)
        energy.loglog(*history.T, color=colour, label=label)
        apart = np.hypot(run["x"] - exact["x"], run["y"] - exact["y"])
        error.semilogy(run.times[1:], apart[1:], color=colour)
    energy.set(xlabel="t (s)", ylabel="energy drift, relative", xlim=(1e-2, 30), ylim=(1e-17, 1e-3))
    energy.legend(frameon=False, fontsize="small")
    error.set(xlabel="t (s)", ylabel="error of the place (m)")
    return figure


def guard_passes() -> Figure:
    """Draw a guard along a run: samples of steps, and the places where it passes zero."""
    q = ds.coordinates(phi=ds.ANGLE)
    turn = ds.Event("turn", q.dot.phi)
    swing = ds.MechanicalSystem(
        q, kinetic=q.dot.phi**2 / 2, potential=-9.81 * ca.cos(q.phi), events=[turn]
    )
    run = ds.solve(swing, 5.0, {"phi": 2.5}, at=ds.every(0.005))
    figure, (axes,) = panels(1)
    axes.plot(run.times, run["phi_dot"], color=COLOURS[0], label="guard: the rate of the angle")
    times = [event.time for event in run.events]
    axes.plot(times, np.zeros(len(times)), "o", color=COLOURS[1], label="events, to rounding")
    axes.axhline(0.0, color=COLOURS[4], linewidth=0.6)
    axes.set(xlabel="t (s)", ylabel="rad/s")
    axes.legend(frameon=False, fontsize="small")
    return figure


def undone_choice() -> Figure:
    """Draw the momentum of the page's brake: kept, until it is not, which the run notices."""
    names = computed("theory/trust", "brake = ds.MechanicalSystem")
    run = ds.solve(names["brake"], 100.0, {"x_dot": 1.0, "y": 1.0}, at=ds.every(0.1))
    figure, (axes,) = panels(1)
    axes.plot(run.times, run["x"], color=COLOURS[0], label="the run")
    axes.plot(run.times, run.times, "--", color=COLOURS[1], label="momentum driven to the end")
    axes.set(xlabel="t (s)", ylabel="x (m)")
    axes.legend(frameon=False, fontsize="small")
    return figure


def creep() -> Figure:
    """Draw how a body at rest creeps where friction is smoothed."""
    names = computed("theory/friction-alternatives", "run.rest_time")
    figure, (axes,) = panels(1)
    for colour, speed in zip(COLOURS[1:], (1e-2, 1e-3, 1e-4), strict=False):
        run = ds.solve(
            names["body"],
            until=2.0,
            initial=names["rest"],
            parameters=names["load"],
            formulation=ds.Regularised(speed),
        )
        axes.semilogy(
            run.times[1:], run["phi"][1:] - 0.3, color=colour, label=f"smoothed below {speed:g} m/s"
        )
    axes.plot([], [], color=COLOURS[0], label="solve, and steps of Moreau: exactly 0")
    axes.set(xlabel="t (s)", ylabel="turn of a body at rest (rad)")
    axes.legend(frameon=False, fontsize="small")
    return figure


def chain_costs() -> Figure:
    """Draw the cost of a step over the number of rods, from the tables of the page."""
    page = (DOCS / "benchmarks/chains.md").read_text(encoding="utf-8")
    found = _table(page, "| package | method | N = 5, ms")
    numbers = [int(cell.split(",")[0].removeprefix("N = ")) for cell in found[0][2:-1]]
    figure, (axes,) = panels(1, 3.2)
    for colour, row in zip((*COLOURS, "#c44e52"), found[2:], strict=False):
        costs = [float(cell) if cell else np.nan for cell in row[2:-1]]
        axes.loglog(numbers, costs, "o-", color=colour, markersize=3.5, label=f"{row[0]}, {row[1]}")
    axes.set(xlabel="rods", ylabel="ms of a step")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(numbers, [str(number) for number in numbers])
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _table(page: str, head: str) -> list[list[str]]:
    lines = page[page.index(head) :].splitlines()
    end = next((k for k, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def peers() -> Figure:
    """Draw error over seconds of every package and setting, from the tables of the page."""
    page = (DOCS / "benchmarks/index.md").read_text(encoding="utf-8")
    heading = r"^### (.+)\n\n<details>\n.*\n\n\| package \| method \| error"
    tasks = re.findall(heading, page, re.MULTILINE)[:4]
    figure, grid = plt.subplots(2, 2, figsize=(8.0, 5.6), layout="constrained")
    shades: dict[str, str] = {}
    wheel = iter((*COLOURS, "#c44e52", "#937860", "#64b5cd", "#b8860b"))
    for axes, task in zip(grid.ravel(), tasks, strict=True):
        rows = _table(page[page.index(f"### {task}") :], "| package | method | error")[2:]
        for package in dict.fromkeys(row[0] for row in rows):
            shades.setdefault(package, next(wheel, "black"))
            mine = [row for row in rows if row[0] == package and row[2] != "-" and row[5] != "-"]
            points = [(float(row[5]), float(row[2])) for row in mine]
            if not points:
                continue
            marker = "D" if package == "daesolve" else "o"
            seconds, errors = np.array(points).T
            axes.loglog(seconds, errors, marker, color=shades[package], markersize=4)
        axes.set_title(task, fontsize="small")
        axes.set(xlabel="s", ylabel="error")
    for package, shade in shades.items():
        grid[0, 0].plot([], [], "o", color=shade, label=package, markersize=4)
    figure.legend(loc="outside upper center", ncols=5, frameon=False, fontsize="small")
    return figure


def contact_errors() -> Figure:
    """Draw error over seconds of a block and a box that come to rest, from the page's tables."""
    page = (DOCS / "benchmarks/contacts.md").read_text(encoding="utf-8")
    figure, both = panels(2)
    for axes, title in zip(both, ("a block in the plane", "a box in space"), strict=True):
        head = "| method | setting | error, m"
        rows = _table(page, head)[2:]
        page = page[page.index(head) + len(head) :]
        for colour, method in zip(COLOURS, dict.fromkeys(row[0] for row in rows), strict=False):
            mine = np.array([(float(row[3]), float(row[2])) for row in rows if row[0] == method])
            axes.loglog(*mine.T, "o", color=colour, markersize=4, label=method)
        axes.set(xlabel="s", ylabel="error (m)")
        axes.set_title(title, fontsize="small")
    figure.legend(
        *both[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False
    )
    return figure


def loops() -> Figure:
    """Draw gaps and energies of closed loops after 1000 s, from the table of the page."""
    page = (DOCS / "benchmarks/models.md").read_text(encoding="utf-8")
    rows = _table(page, "| loop | by | gap")[2:]
    figure, (gap, energy) = panels(2)
    names = list(dict.fromkeys(row[0] for row in rows))
    for number, by in enumerate(dict.fromkeys(row[1] for row in rows)):
        mine = [row for row in rows if row[1] == by]
        places = [names.index(row[0]) + 0.26 * (number - 1) for row in mine]
        for axes, column in ((gap, 2), (energy, 3)):
            axes.bar(places, [float(row[column]) for row in mine], 0.24, color=COLOURS[number],
                     label=by, bottom=0.0)  # fmt: skip
    for axes, label in ((gap, "largest gap (m, rad)"), (energy, "energy drift, relative")):
        axes.set_yscale("log")
        axes.set(ylim=(1e-17, 10.0), ylabel=label, xticks=range(len(names)))
        axes.set_xticklabels(names)
    figure.legend(
        *gap.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False
    )
    return figure


THEORY: dict[str, Callable[[], Figure]] = {
    "residual-dies": residual_dies,
    "trolley": trolley,
    "projections": projections,
    "three-balls": three_balls,
    "driven-energy": driven_energy,
    "guard-passes": guard_passes,
    "undone-choice": undone_choice,
    "creep": creep,
    "chain-costs": chain_costs,
    "peers": peers,
    "contact-errors": contact_errors,
    "loops": loops,
}
