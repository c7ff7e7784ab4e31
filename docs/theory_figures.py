"""Figures of the theory, from the code of its pages: `python docs/figures.py NAME`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from page_figures import COLOURS, LEGEND, RED, computed, panels, tables

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
    """Draw the page's trolley, kicked off its goal of relative degree three."""
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
    """Draw a velocity after an impact: projected in the metric of the masses, and otherwise."""
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
    figure.legend(loc="outside upper center", ncols=2, **LEGEND)
    return figure


def three_balls() -> Figure:
    """Draw the page's three balls, for two models of simultaneous impacts."""
    names = computed("theory/impacts", "def balls(order)")
    figure, axes = panels(2, 1.8, sharex=True)
    for panel, order in zip(axes, ("simultaneous", "sequential"), strict=True):
        run = ds.solve(names["balls"](order), 1.5, names["start"], at=ds.every(0.01))
        for number in (1, 2, 3):
            panel.plot(run.times, run[f"x_{number}"], color=COLOURS[number - 1])
        panel.set(ylabel="balls (m)")
        panel.set_title(order, fontsize="small")
    axes[-1].set(xlabel="t (s)")
    return figure


def driven_energy() -> Figure:
    """Draw energy and phase of a pendulum at a loose tolerance, with the energy driven and not."""
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
    """Draw a guard along a run: samples of steps, and the points where it passes zero."""
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
    """Draw the momentum of the page's brake: conserved, until the run detects that it is not."""
    names = computed("theory/trust", "brake = ds.MechanicalSystem")
    run = ds.solve(names["brake"], 100.0, {"x_dot": 1.0, "y": 1.0}, at=ds.every(0.1))
    figure, (axes,) = panels(1)
    axes.plot(run.times, run["x"], color=COLOURS[0], label="the run")
    axes.plot(run.times, run.times, "--", color=COLOURS[1], label="momentum driven to the end")
    axes.set(xlabel="t (s)", ylabel="x (m)")
    axes.legend(frameon=False, fontsize="small")
    return figure


def creep() -> Figure:
    """Draw how a body at rest creeps under smoothed friction."""
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


def elimination() -> Figure:
    """Draw the operations of both factorisations over the length of a chain, from the table."""
    numbers, _, *rows = tables("theory/elimination", "| rods | 1 |")[0]
    rods = [int(cell) for cell in numbers[1:]]
    figure, (axes,) = panels(1, 2.6)
    looks = (("o-", COLOURS[0], "LΔLᵀ in this order"), ("s-", RED, "generic solve (QR)"))
    for row, (mark, colour, label) in zip(rows, looks, strict=True):
        counts = [int(cell.replace(" ", "")) for cell in row[1:]]
        axes.loglog(rods, counts, mark, color=colour, label=label, markersize=4)
    axes.set(xlabel="rods", ylabel="instructions", xticks=rods)
    axes.set_xticklabels([str(number) for number in rods])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(**LEGEND)
    return figure


def levels() -> Figure:
    """Draw error over residual of the formulations that the page compares."""
    names = computed("theory/formulations-compared", '"overdetermined": (')
    figure, (axes,) = panels(1, 3.4)
    for label, (formulation, solver) in names["pairs"].items():
        found = ds.compare(
            names["pendulum"], [formulation], [solver], 10.0, names["start"], tolerances=[1e-8],
            reference=names["exact"], at=ds.every(0.5),
        )  # fmt: skip
        for run in found.runs:
            if run.trajectory is None or run.error is None:
                raise RuntimeError(f"{label}: {run.failure}")
            place = max(run.trajectory.drift["rod"].max_relative, 1e-17), run.error
            colour = COLOURS[0] if solver == "dop853" else RED
            axes.loglog(*place, "o", color=colour, markersize=5)
            shift = SHIFTS.get(label, (6, -3))
            side = "right" if shift[0] < 0 else "left"
            axes.annotate(label, place, shift, textcoords="offset points", fontsize=7.5, ha=side)
    axes.plot([], [], "o", color=COLOURS[0], label="ODE, dop853")
    axes.plot([], [], "o", color=RED, label="DAE")
    line = np.array([1e-10, 1e-4])
    axes.plot(line, line, color=COLOURS[4], linewidth=0.8, label="error = residual")
    axes.set(xlabel="largest residual of the rod, relative", ylabel="error of the state")
    figure.legend(loc="outside upper center", ncols=3, **LEGEND)
    return figure


SHIFTS = {
    "index 2": (-6, 5),
    "index 1, rate 10": (6, -11),
    "overdetermined": (-6, -9),
    "ggl": (-4, 6),
    "index 1, rate 0": (6, 4),
}
"""Offsets, points, that keep labels apart."""


def passages() -> Figure:
    """Draw how the constraints of the four-bar linkage lose rank at every half turn."""
    case = ds.problem("four-bar").case("swing")
    run = case.solve(at=np.linspace(0.0, 10.0, 2001))
    jacobian, mass = (case.system.function(name) for name in ("jacobian", "mass_matrix"))
    states, given = jacobian.inputs["x"].names, jacobian.inputs["p"].names
    values = np.array([case.full_parameters[name] for name in given])
    smallest: list[float] = []
    for number, time in enumerate(run.times):
        x = np.array([run[name][number] for name in states])
        rows = np.asarray(jacobian(time, x, values))
        root = np.linalg.cholesky(np.linalg.inv(np.asarray(mass(time, x, values))))
        found = np.linalg.svd(rows @ root, compute_uv=False)
        smallest.append(found[-1] / found[0])
    figure, (turn, grip) = panels(2, 1.8, sharex=True)
    angle = np.unwrap(np.arctan2(run["y_1"], run["x_1"]))
    turn.plot(run.times, angle / np.pi, color=COLOURS[0])
    turn.set(ylabel="first bar (half turns)")
    grip.plot(run.times, smallest, color=COLOURS[1])
    grip.set(xlabel="t (s)", ylabel="σ, least over largest", ylim=(0.0, None))
    return figure


def orders() -> Figure:
    """Draw the errors of the page's reduced models over ε."""
    names = computed("theory/dirac", "sizes = (0.02, 0.005)")
    model, wheelset, start, at = (names[name] for name in ("model", "wheelset", "start", "at"))
    sizes = np.array([0.0025, 0.005, 0.01, 0.02, 0.04, 0.08])
    figure, (axes,) = panels(1, 3.0)
    shown = (
        ("order 0", model.system, 0, COLOURS[1]),
        ("refined", model.refined, 1, COLOURS[0]),
    )
    for label, system, order, colour in shown:
        errors: list[float] = []
        for eps in sizes:
            value = {"eps": float(eps)}
            full = ds.solve(wheelset, 3.0, start, parameters=value, at=at)
            first = model.start(start, parameters=value, order=order)
            run = ds.solve(system, 3.0, first, parameters=value, at=at)
            errors.append(float(np.abs(run["y"] - full["y"]).max()))
        axes.loglog(sizes, errors, "o-", color=colour, label=label, markersize=4)
        power = order + 1
        axes.loglog(sizes, errors[0] * (sizes / sizes[0]) ** power, "--", color=COLOURS[4],
                    linewidth=1.0, label=("ε", "ε²")[order])  # fmt: skip
    axes.set(xlabel="ε", ylabel="largest error of y", xticks=sizes)
    axes.set_xticklabels([f"{size:g}" for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.legend(**LEGEND, ncols=2)
    return figure


def painleve() -> Figure:
    """Draw m A of a sliding rod over its angle; below zero there is no answer, or there are two."""
    from daesolve.contact.complementarity import HorizontalComplementarity, solve

    angle = np.linspace(0.02, np.pi / 2, 200)
    figure, (axes,) = panels(1, 3.0)
    shades = zip((0.5, 1.0, 4 / 3, 2.0), (*COLOURS[:3], RED), strict=True)
    for friction, colour in shades:
        cosine, sine = np.cos(angle), np.sin(angle)
        grip = 1 + 3 * cosine * (cosine - friction * sine)
        label = "f = 4/3" if friction == 4 / 3 else f"f = {friction:g}"
        axes.plot(np.degrees(angle), grip, color=colour, label=label)
        for one in grip[::20]:
            counts = []
            for lifted in (-9.81, 1.0):
                rod = HorizontalComplementarity(
                    first=[[-1.0]], second=[[one]], load=[-lifted],
                    first_normal=[[-1.0]], second_normal=[[1.0]],
                )  # fmt: skip
                counts.append(len(solve(rod, policy="all").answers))
            if abs(one) > 1e-9 and counts != ([1, 1] if one > 0 else [0, 2]):
                raise RuntimeError(f"{friction:g}, {one:g}: {counts} answers")
    axes.axhspan(-1.6, 0.0, color=RED, alpha=0.08, linewidth=0)
    axes.axhline(0.0, color=COLOURS[4], linewidth=0.8)
    axes.text(3, -1.35, "A < 0: pressed, no answer; lifted, two", fontsize="small", color=RED)
    axes.axvline(np.degrees(np.arctan(2.0)), color=COLOURS[4], linewidth=0.8, linestyle=":")
    axes.text(np.degrees(np.arctan(2.0)) + 1, 3.4, "tan φ = 2", fontsize="small", color="#555")
    axes.set(xlabel="angle φ to the ground (degrees)", ylabel="m A", ylim=(-1.6, 4.2))
    axes.legend(**LEGEND, loc="center left", bbox_to_anchor=(0.0, 0.45))
    return figure


def answers_found() -> Figure:
    """Draw each algorithm's cost over the number of pairs, and how often it finds an answer."""
    head, _, *rows = tables("theory/variants-algorithms", "| method | m = 2")[1]
    pairs = [int(cell.removeprefix("m = ")) for cell in head[1:]]
    figure, (share, cost) = panels(2, 2.1, sharex=True)
    for number, row in enumerate(row for row in rows if not row[0].startswith("*")):
        cells = [cell.split(", ") for cell in row[1:]]
        look: dict[str, Any] = {"color": (*COLOURS, RED, "#b8860b")[number], "markersize": 4}
        share.plot(pairs, [float(cell[0].rstrip(" %")) for cell in cells], "o-", **look)
        times = [float(cell[1].removesuffix(" ms")) for cell in cells]
        cost.semilogy(pairs, times, "o-", **look, label=row[0])
    share.set(ylabel="answers found (%)", ylim=(0, 105))
    cost.set(xlabel="pairs of supports m", ylabel="processor (ms)", xticks=pairs)
    figure.legend(loc="outside upper center", ncols=2, **LEGEND)
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
    "elimination": elimination,
    "levels": levels,
    "passages": passages,
    "orders": orders,
    "painleve": painleve,
    "answers-found": answers_found,
}
