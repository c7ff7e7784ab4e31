"""Figures of pages that show what their own code computes: `python docs/figures.py NAME`.

Each figure uses the names that a code block of its page defines, so figure and code always agree.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import daesolve as ds
from daesolve.multibody.drawing import Drawing, evaluate, from_json
from daesolve.reporting import document, with_drawing
from daesolve.reporting.figures.renderer import paint

DOCS = Path(__file__).parent
RED = "#c44e52"
COLOURS = ("#1f77b4", "#dd8452", "#2a7f4f", "#8a3c7c", "#8c8c8c")
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small"}


def computed(page: str, having: str) -> dict[str, Any]:
    """Return the names that a code block of a page defines; a text in it identifies the block."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|\{code-cell\})\n(.*?)```", text, re.DOTALL)
    (block,) = [block for block in blocks if having in block]
    names: dict[str, Any] = {}
    exec(compile(block, f"{page}.md", "exec"), names)
    return names


def panels(count: int = 1, height: float = 2.4, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure that is readable on a telephone: its panels stand above each other."""
    size = (5.0, 0.5 + count * height)
    figure, axes = plt.subplots(
        count, 1, figsize=size, layout="constrained", squeeze=False, **options
    )
    return figure, list(axes[:, 0])


def tables(page: str, head: str) -> list[list[list[str]]]:
    """Return the rows of every table of a page that begins with the given heading."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^{re.escape(head)}.*\n(?:\|.*\n)+", text, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        for table in found
    ]


def still(problem: str, case: str, until: float, axes: Axes, index: int = -1) -> None:
    """Draw a problem at a sample of a run."""
    bound = ds.problem(problem).case(case)
    run = bound.solve(until=until, at=np.linspace(0.0, until, 301))
    stored = with_drawing(document(run, bound.identity()), bound.problem.drawing)
    drawing: Drawing = from_json(stored["drawing"])
    own = {name: np.array(values, dtype=float) for name, values in drawing.series.items()}
    series = {"t": run.times, **run.states, **run.outputs, **run.reactions, **own}
    for entry in evaluate(drawing, series, bound.full_parameters, index):
        paint(axes, entry)
    axes.set_aspect("equal")
    axes.set_axis_off()


# -- how to ---------------------------------------------------------------------------------------


def coming_to_rest() -> Figure:
    """Draw how the disc of the page stops: slip and spin end at the same instant."""
    run = computed("how-to/coming-to-rest", "Pad(p.radius)")["run"]
    figure, (speeds, ratio) = panels(2)
    speeds.plot(run.times, run["x_dot"], color=COLOURS[0], label="speed of the centre (m/s)")
    speeds.plot(run.times, 0.1 * run["phi_dot"], color=COLOURS[1], label="speed of the rim (m/s)")
    speeds.axvline(run.end_time, color=COLOURS[4], linewidth=0.8)
    speeds.set(xlabel="t (s)")
    speeds.legend(frameon=False, fontsize="small")
    moving = run.times < run.end_time
    left = run.end_time - run.times[moving]
    ratio.semilogx(left, run["x_dot"][moving] / (0.1 * run["phi_dot"][moving]), color=COLOURS[2])
    ratio.invert_xaxis()
    ratio.set(xlabel="time left until rest (s)", ylabel="centre over rim")
    return figure


def consistent_states() -> Figure:
    """Draw the pendulum's guess and the consistent state that daesolve derives from it."""
    found = computed("how-to/consistent-states", 'fixed=["x"]')["found"]
    figure, (axes,) = panels(1, 3.4)
    turn = np.linspace(0.0, 2 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color=COLOURS[4], linewidth=1.0, label="x² + y² = 1")
    looks = {"guess": ((0.6, -0.9), (1.0, 0.0), COLOURS[1])}
    state = found.state
    looks["consistent"] = (
        (state["x"], state["y"]),
        (state["x_dot"], state["y_dot"]),
        COLOURS[0],
    )
    for label, (place, speed, colour) in looks.items():
        axes.plot(*place, "o", color=colour, label=label)
        axes.annotate(
            "",
            xy=(place[0] + 0.4 * speed[0], place[1] + 0.4 * speed[1]),
            xytext=place,
            arrowprops={"arrowstyle": "-|>", "color": colour},
        )
    axes.axvline(0.6, color=COLOURS[4], linewidth=0.6, linestyle=":")
    axes.set(xlabel="x (m), kept", ylabel="y (m)", xlim=(0.1, 1.3), ylim=(-1.1, -0.4))
    axes.set_aspect("equal")
    axes.legend(frameon=False, loc="upper left", fontsize="small")
    return figure


def choose_rates() -> Figure:
    """Draw the gaps of the slider-crank's joints and the number of steps over the rate."""
    case = ds.problem("slider-crank").case()
    rates = np.geomspace(0.3, 300.0, 19)
    joints: list[float] = []
    steps: list[int] = []
    for rate in rates:
        run = case.solve(
            at=[10.0],
            formulation=ds.Feedback(rate=float(rate), rates={"energy": None}),
            solver=ds.Dop853(rtol=1e-8, atol=1e-10),
        )
        joints.append(max(d.max_relative for n, d in run.drift.items() if n != "energy"))
        steps.append(run.statistics.steps)
    figure, (gap, cost) = panels(2)
    gap.loglog(rates, joints, "o-", color=COLOURS[0], markersize=3)
    gap.set(xlabel="rate (1/s)", ylabel="largest gap of a joint, relative")
    cost.loglog(rates, steps, "o-", color=COLOURS[1], markersize=3)
    cost.set(xlabel="rate (1/s)", ylabel="steps for 10 s")
    return figure


def formulations() -> Figure:
    """Draw the distance of a pendulum from its closed form, for five formulations."""
    from figures import pendulum, worst_so_far

    figure, (axes,) = panels(1, 3.4)
    runs = {
        "feedback": (ds.Feedback(), None),
        "null-space": (ds.NullSpace(), None),
        "ggl, IDAS 1e-8": (ds.GGL(), ds.Idas(rtol=1e-8, atol=1e-8)),
        "index-2, IDAS 1e-8": (ds.Index2(), ds.Idas(rtol=1e-8, atol=1e-8)),
        "index-1, IDAS 1e-8": (ds.Index1(), ds.Idas(rtol=1e-8, atol=1e-8)),
    }
    for colour, (label, (formulation, solver)) in zip(COLOURS, runs.items(), strict=True):
        run = ds.solve(
            pendulum(),
            100.0,
            {"x": 1.0, "y": 0.0, "x_dot": 0.0},
            at=ds.every(0.1),
            formulation=formulation,
            solver=solver,
        )
        axes.loglog(*worst_so_far(run), color=colour, label=label)
    axes.set(xlabel="t (s)", ylabel="distance from the closed form (m)", ylim=(1e-17, 1e-2))
    figure.legend(loc="outside upper center", ncols=2, **LEGEND)
    return figure


def work_precision() -> Figure:
    """Draw error over time for three cases, from the page's table."""
    rows = tables("how-to/choose-a-solver", "| case | tolerance | taylor")[0]
    solvers = [cell.partition(":")[0] for cell in rows[0][2:]]
    cases = ("hoop", "slider-crank", "chain of 50")
    figure, axes = panels(3, 1.8, sharex=True)
    for panel, case in zip(axes, cases, strict=True):
        for colour, column in zip(COLOURS, range(2, 2 + len(solvers)), strict=False):
            cells = [row[column] for row in rows[2:] if row[0] == case]
            pairs = [cell.split(", ") for cell in cells if ", " in cell]
            if pairs:
                times, errors = np.array(pairs, dtype=float).T
                label = solvers[column - 2]
                panel.loglog(times, errors, "o-", color=colour, markersize=3.5, label=label)
        panel.set(ylabel="error at the end")
        panel.set_title(case, fontsize="small")
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
    axes[-1].set(xlabel="ms of the processor")
    shown = axes[1].get_legend_handles_labels()
    figure.legend(*shown, loc="outside upper center", ncols=3, **LEGEND)
    return figure


def degenerate() -> Figure:
    """Draw the rate of turn of the two-bogie vehicle as it passes its degenerate point."""
    figure, (turn, grip) = panels(2)
    bogies = ds.problem("bogies")
    for colour, name in zip(COLOURS, ("near-miss", "collapse"), strict=False):
        run = bogies.case(name).solve()
        turn.plot(run.times, run["psi_dot"], color=colour, label=name, linewidth=1.2)
    turn.set(xlabel="t (s)", ylabel="rate of turn (rad/s)", xlim=(-0.5, 0.5))
    turn.legend(frameon=False, fontsize="small")
    run = bogies.case("collapse").solve(at=-np.geomspace(1.0, 1.4e-3, 120))
    for colour, name in zip(COLOURS, ("skate_1", "skate_2"), strict=False):
        grip.loglog(-run.times, np.abs(run.reactions[name]), color=colour, label=name)
    grip.invert_xaxis()
    grip.set(xlabel="time before the point (s)", ylabel="force on a skate (N)")
    grip.legend(frameon=False, fontsize="small")
    return figure


def diagnostics() -> Figure:
    """Draw how the page's Lyapunov exponents converge."""
    found = computed("how-to/diagnostics", "lorenz = ")["found"]
    figure, (axes,) = panels(1)
    history = np.atleast_2d(np.array(found.history))
    history = history if history.shape[0] == len(found.times) else history.T
    for colour, column in zip(COLOURS, history.T, strict=False):
        axes.plot(found.times, column, color=colour, linewidth=1.2)
    axes.set(xlabel="t (s)", ylabel="estimates of the exponents (1/s)")
    axes.axhline(0.0, color=COLOURS[4], linewidth=0.6)
    return figure


def swept() -> Figure:
    """Draw a measure of a sweep: how far the sleigh turns, over its initial speed."""
    case = ds.problem("chaplygin-sleigh").case()
    speeds = np.linspace(-1.5, 1.5, 61)
    with tempfile.TemporaryDirectory() as out:
        table = ds.sweep(case, over={"speed": speeds.tolist()}, until=40.0, out=out).to_pandas()
    figure, (axes,) = panels(1)
    axes.plot(table["speed"], table["end_phi"], "o-", color=COLOURS[0], markersize=3)
    axes.set(xlabel="speed at the start (m/s)", ylabel="turned after 40 s (rad)")
    return figure


def bounces() -> Figure:
    """Draw the page's ball: its height, and the energy, which each impact reduces."""
    names = computed("how-to/events", "bounce = ds.Event(")
    run = ds.solve(names["ball"], until=3.0, initial={"y": 1.0, "x_dot": 1.0}, at=ds.every(0.005))
    figure, (height, energy) = panels(2)
    height.plot(run["x"], run["y"], color=COLOURS[0])
    for event in run.events:
        height.plot(event.detail["x"], 0.0, "v", color=COLOURS[1], markersize=4)
    height.set(xlabel="x (m)", ylabel="y (m)")
    energy.plot(run.times, run["energy"], color=COLOURS[2])
    energy.set(xlabel="t (s)", ylabel="energy (J)", ylim=(0.0, None))
    return figure


def friction_laws() -> Figure:
    """Draw the friction of the three laws over the slip."""
    slip = np.linspace(-0.5, 0.5, 801)
    figure, (axes,) = panels(1)
    laws = {
        "Coulomb": np.sign(slip),
        "regularised, v₀ = 0.05 m/s": slip / np.sqrt(slip**2 + 0.05**2),
        "Stribeck": np.sign(slip) * (1.0 + 0.4 * np.exp(-((slip / 0.1) ** 2))) + 0.3 * slip,
    }
    for colour, (label, law) in zip(COLOURS, laws.items(), strict=False):
        axes.plot(slip, law, color=colour, label=label)
    axes.set(xlabel="slip (m/s)", ylabel="friction over its limit")
    axes.legend(frameon=False, fontsize="small")
    return figure


def bicycle_speeds() -> Figure:
    """Draw the eigenvalues of the upright bicycle over its speed."""
    bicycle = ds.problem("bicycle").case().system
    speeds = np.linspace(0.5, 9.0, 86)
    figure, (axes,) = panels(1, 3.4)
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for speed in speeds:
        state = {"speed": float(speed), "lean": 0.0, "steer": 0.0}
        values = ds.analysis.linearize(bicycle, state, coordinates=("lean", "steer")).eigenvalues
        for value in values:
            found[abs(value.imag) > 1e-9].append((speed, value.real))
    for swings, label in enumerate(("real", "real part of a pair")):
        places = np.array(found[bool(swings)]).T
        axes.plot(*places, ".", color=COLOURS[swings], markersize=3, label=label)
    axes.axhline(0.0, color=COLOURS[4], linewidth=0.8)
    axes.axvspan(4.2923825363411, 6.024262015388, color=COLOURS[2], alpha=0.12, linewidth=0)
    axes.text(5.16, -7.5, "self-stable", color=COLOURS[2], ha="center", fontsize="small")
    axes.set(xlabel="speed (m/s)", ylabel="real part (1/s)", ylim=(-9.0, 6.0))
    axes.legend(frameon=False, fontsize="small")
    return figure


def slack_cable() -> Figure:
    """Draw the page's body on a cable: taut at first, then free."""
    names = computed("how-to/piecewise", "cable = ")
    run = ds.solve(names["body"], until=2.0, initial={"x": 1.0}, at=ds.every(0.01))
    figure, (place, force) = panels(2)
    place.plot(run.times, run["x"], color=COLOURS[0])
    place.axvline(run.events[0].time, color=COLOURS[4], linewidth=0.8)
    place.set(xlabel="t (s)", ylabel="x (m)")
    force.plot(run.times, -4.0 * np.maximum(run["x"], 0.0), color=COLOURS[1])
    force.axvline(run.events[0].time, color=COLOURS[4], linewidth=0.8)
    force.set(xlabel="t (s)", ylabel="pull of the cable (N)")
    return figure


def sensitivities() -> Figure:
    """Draw a bouncing ball, and the derivative of its height by the restitution."""
    names = computed("how-to/sensitivity", 'by=["y", "restitution"]')
    ball, start = names["ball"], {"y": 5.0, "y_dot": 0.0}
    run = ds.solve(ball, until=2.6, initial=start, at=ds.every(0.01))
    times = np.linspace(0.05, 2.6, 86)
    slopes = [
        ds.analysis.sensitivity(ball, float(time), start, by=["restitution"])["y", "restitution"]
        for time in times
    ]
    figure, (height, slope) = panels(2)
    height.plot(run.times, run["y"], color=COLOURS[0])
    height.set(xlabel="t (s)", ylabel="height (m)")
    slope.plot(times, slopes, ".", color=COLOURS[1], markersize=4)
    slope.set(xlabel="t (s)", ylabel="∂ height / ∂ restitution (m)")
    return figure


def identified() -> Figure:
    """Draw the data of the page, the motion before the search, the fit, and what is left."""
    names = computed("how-to/identify", "found = ds.identify(andrews")
    found, data = names["found"], names["data"]
    begin = names["andrews"].changed({"c0": 4983.0, "mom": 0.0363})
    before = begin.solve(until=0.03, at=found.times)
    figure, (above, middle, below) = panels(3, 2.0)
    for place, name in ((above, "beta"), (middle, "gamma")):
        place.plot(1e3 * found.times, before[name], "--", color=COLOURS[4], label="before")
        place.plot(1e3 * found.times, data[name], ".", color=COLOURS[1], ms=4, label="data")
        place.plot(1e3 * found.times, found.outputs[name], color=COLOURS[0], label="fit")
        place.set(ylabel=f"{name} (rad)")
        below.plot(1e3 * found.times, found.residuals[name] / found.noise[name], ".", label=name)
    above.legend(frameon=False, fontsize="small")
    below.legend(frameon=False, fontsize="small")
    below.set(xlabel="t (ms)", ylabel="residual / noise")
    return figure


def beam() -> Figure:
    """Draw three ways to share the weight of the page's beam among its supports."""
    names = computed("how-to/redundancy", "supports = [")
    shares = {
        "drop": {"redundant": "drop"},
        "minimum-norm": {"redundant": "minimum-norm"},
        "minimum-norm, weighted": {
            "redundant": "minimum-norm",
            "redundant_weights": names["alike"],
        },
    }
    figure, (axes,) = panels(1)
    for row, (label, options) in enumerate(shares.items()):
        run = ds.solve(names["beam"], 1.0, {"x_dot": 1.0}, at=[1.0], **options)
        for number, (name, at) in enumerate(names["places"].items()):
            force = float(run.reactions[name][-1]) if name in run.reactions else 0.0
            width = 0.18
            place = at + (row - 1) * 0.22
            axes.bar(place, force, width, color=COLOURS[row], label=label if number == 0 else None)
    axes.set(xticks=list(names["places"].values()), xticklabels=list(names["places"]))
    axes.set(ylabel="reaction (N)", xlabel="support")
    axes.legend(frameon=False, fontsize="small")
    return figure


def in_space() -> Figure:
    """Draw bodies in space: an ellipsoid, a rolling disc, a bicycle and a gyroscope."""
    shown = (
        ("rattleback", "reversal", 6.0),
        ("rolling-disc", "wobble", 2.0),
        ("bicycle", "m1", 1.5),
        ("gyroscope", "nutation", 1.0),
    )
    figure, grid = plt.subplots(2, 2, figsize=(5.0, 4.6), layout="constrained")
    axes = list(grid.ravel())
    for panel, (problem, case, until) in zip(axes, shown, strict=True):
        still(problem, case, until, panel)
        panel.set_title(problem, fontsize="small")
    axes[2].set(xlim=(3.6, 7.2), ylim=(-2.2, 1.4))
    return figure


PAGES: dict[str, Callable[[], Figure]] = {
    "coming-to-rest": coming_to_rest,
    "consistent-states": consistent_states,
    "choose-rates": choose_rates,
    "formulations": formulations,
    "work-precision": work_precision,
    "degenerate": degenerate,
    "lyapunov": diagnostics,
    "swept": swept,
    "bounces": bounces,
    "friction-laws": friction_laws,
    "bicycle-speeds": bicycle_speeds,
    "slack-cable": slack_cable,
    "sensitivities": sensitivities,
    "identified": identified,
    "beam": beam,
    "in-space": in_space,
}
