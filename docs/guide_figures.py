"""More figures of how-to pages: `python docs/figures.py NAME`.

Like the figures of `page_figures.py`, they draw what the code of their own pages computes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.ticker import NullFormatter
from page_figures import COLOURS, DOCS, LEGEND, RED, computed, panels
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.verification.audit.balances import ALLOWED
from daesolve.verification.audit.goal_checks import DRIVEN


def compared() -> Figure:
    """Draw error over wall time for the default pairs and the pendulum of the page."""
    pendulum = computed("how-to/compare", "comparison = ds.compare(")["pendulum"]
    found = ds.compare(pendulum, until=2.0, initial={"x": -1.0})
    figure, (axes,) = panels(1, 3.6)
    shades = dict(zip(("taylor", "dop853", "idas"), COLOURS, strict=False))
    marks = dict(zip(("feedback", "null-space", "index-1", "index-2", "ggl"), "os^vD", strict=True))
    for runs in found.pairs.values():
        done = [run for run in runs if run.error is not None and run.trajectory is not None]
        points = [(1e3 * run.trajectory.statistics.wall_seconds, run.error) for run in done]
        if points:
            solver, mark = done[0].solver.partition(" ")[0], marks[done[0].formulation]
            look = {"color": shades[solver], "markersize": 4.5, "linewidth": 0.6}
            axes.loglog(*np.array(points).T, f"{mark}-", **look)
    for solver, shade in shades.items():
        axes.plot([], [], "-", color=shade, linewidth=3, label=solver)
    for formulation, mark in marks.items():
        axes.plot([], [], mark, color=COLOURS[4], label=formulation, markersize=4.5)
    axes.set(xlabel="wall time (ms)", ylabel="error, relative")
    figure.legend(loc="outside upper center", ncols=4, **LEGEND)
    return figure


def audited() -> Figure:
    """Draw the defects of the page's pendulum over the length of fixed steps."""
    pendulum = computed("how-to/audit", "run = ds.solve(pendulum")["pendulum"]
    steps = np.geomspace(0.02, 0.3, 13)
    goal: list[float] = []
    balance: list[float] = []
    for step in steps:
        solver = ds.Dop853(fixed_step=float(step))
        run = ds.solve(pendulum, 10.0, {"x": 0.6}, guess={"y": -0.8}, solver=solver)
        found = run.audit().findings
        goal.append(max(f.defect or 0.0 for f in found if f.check == "goal"))
        balance.append(max(f.defect or 0.0 for f in found if f.check == "equations of motion"))
    figure, (axes,) = panels(1, 3.2)
    rows = (("rod", goal, DRIVEN), ("equations of motion", balance, ALLOWED))
    for colour, (label, defects, limit) in zip(COLOURS, rows, strict=False):
        axes.loglog(steps, defects, "o-", color=colour, markersize=3, label=label)
        axes.axhline(limit, color=colour, linestyle="--", linewidth=0.8)
    axes.set(xlabel="fixed step (s)", ylabel="largest defect, relative")
    axes.set_xticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
    axes.xaxis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside upper center", ncols=2, **LEGEND)
    return figure


def shrinking_patch() -> Figure:
    """Draw how states of the page's reduced sleigh attract others: a patch of states shrinks."""
    sleigh = computed("how-to/distributions", "x = ds.states(speed=")["sleigh"]
    figure, (axes,) = panels(1, 3.4)
    turn = np.linspace(0.0, 2 * np.pi, 33)[:-1]
    edge = np.array([-1.2 + 0.25 * np.cos(turn), 0.35 + 0.25 * np.sin(turn)]).T
    times = np.linspace(0.0, 16.0, 161)
    paths = np.array(
        [
            [run["speed"], run["turn"]]
            for place in edge
            for run in [ds.solve(sleigh, 16.0, dict(zip(sleigh.states.names, place, strict=True)),
                                 at=times)]
        ]
    )  # fmt: skip
    for path in paths[::4]:
        axes.plot(*path, color=COLOURS[4], linewidth=0.6)
    for colour, time in zip(COLOURS, (0.0, 4.0, 8.0, 16.0), strict=False):
        patch = paths[:, :, round(time * 10)]
        x, y = patch.T
        area = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        axes.add_patch(
            Polygon(patch, color=colour, alpha=0.75, label=f"t = {time:g} s: area {area:.2g}")
        )
    axes.axhline(0.0, color=COLOURS[4], linewidth=0.6)
    axes.set(xlabel="speed (m/s)", ylabel="rate of turn (rad/s)")
    figure.legend(**LEGEND, loc="outside upper center", ncols=2)
    return figure


def exported() -> Figure:
    """Draw how far the page's exported equations leave the rod, with a rate and without."""
    names = computed("how-to/export", 'pendulum.function("rhs")')
    pendulum, state = names["pendulum"], names["state"]
    figure, (axes,) = panels(1, 2.8)
    times = np.geomspace(0.1, 100.0, 200)
    for colour, rate in zip((RED, COLOURS[0]), (None, 10.0), strict=True):
        options: dict[str, Any] = {} if rate is None else {"rate": rate}
        rhs = pendulum.function("rhs", **options)
        start = np.array([state[name] for name in rhs.inputs["x"].names])
        given = {"mass": 2.0, "length": 1.5, "gravity": 9.81, "wind": 1.0}
        values = np.array([given[name] for name in rhs.inputs["p"].names])

        def slope(t: float, x: np.ndarray, rhs: Any = rhs, values: np.ndarray = values) -> Any:
            return np.asarray(rhs(t, x, values)).ravel()

        run = solve_ivp(slope, (0.0, 100.0), start, rtol=1e-8, atol=1e-10, t_eval=times)
        off = np.abs(np.hypot(run.y[0], run.y[1]) - 1.5)
        label = "plain equations" if rate is None else "with rate=10.0"
        axes.loglog(run.t, np.maximum.accumulate(off), color=colour, label=label)
    axes.set(xlabel="t (s)", ylabel="off the rod so far (m)")
    axes.legend(**LEGEND)
    return figure


def unit() -> Figure:
    """Draw the pendulum with a wall in FMPy, by Co-Simulation, and its difference from the run."""
    import fmpy

    times = np.linspace(0.0, 5.0, 501)
    figure, (place, apart) = panels(2, 2.0, sharex=True)
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        names = computed("how-to/fmu", "wall = ds.Contact(")  # writes pendulum.fmu
        run = ds.solve(names["pendulum"], 5.0, {"x": 0.9}, inputs={"wind": 0.0}, at=times)
        found = fmpy.simulate_fmu(
            "pendulum.fmu", fmi_type="CoSimulation", stop_time=5.0, output_interval=0.01,
            relative_tolerance=1e-13, record_events=False,
        )  # fmt: skip
    x = np.asarray(found["x"])
    place.plot(run.times, run["x"], color=COLOURS[0], label="daesolve")
    place.plot(found["time"][::20], x[::20], "o", color=COLOURS[1], markersize=3.5, label="FMU")
    place.axhline(0.0, color=COLOURS[4], linewidth=0.8)
    place.annotate("the wall", (5.0, 0.0), (0, -11), textcoords="offset points", ha="right",
                   fontsize="small", color="#555")  # fmt: skip
    place.set(ylabel="x (m)", ylim=(-0.25, 1.3))
    place.legend(**LEGEND, loc="upper center", ncols=2)
    off = np.abs(x - run["x"])
    apart.semilogy(run.times, np.where(off > 0, off, np.nan), color=COLOURS[2], linewidth=0.8)
    apart.set(xlabel="t (s)", ylabel="difference (m)")
    return figure


def parts_of_a_run() -> Figure:
    """Draw a stored run: its parts, and where it was extended."""
    case = ds.problem("pendulum").case()
    figure, (axes,) = panels(1, 2.8)
    with tempfile.TemporaryDirectory() as directory:
        run = case.solve(until=600.0, at=ds.every(0.1), store=directory)
        ds.resume(directory, until=1200.0)
        ends: list[float] = []
        for number, file in enumerate(sorted(Path(directory, "samples").glob("*.parquet"))):
            table = parquet.read_table(file, columns=["t", "residual_energy"])
            t, residual = (table.column(name).to_numpy() for name in table.column_names)
            axes.plot(t[::5], 1e15 * residual[::5], ".", color=COLOURS[number % 2], markersize=1.5,
                      rasterized=True)  # fmt: skip
            ends.append(float(t[-1]))
    high = axes.get_ylim()[1]
    axes.axvline(run.end_time, color=RED, linewidth=1.0)
    axes.annotate("resumed here", (run.end_time, high), (4, -10), textcoords="offset points",
                  fontsize="small", color=RED)  # fmt: skip
    axes.set(xlabel="t (s)", ylabel="residual of the energy (10⁻¹⁵ J)")
    axes.set_title(f"{len(ends)} parts on disk, in turn blue and orange", fontsize="small")
    return figure


def loop_from_a_file() -> Figure:
    """Draw the motion of the linkage in the page's file, and the gap of its loop."""
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        names = computed("how-to/model-files", "four_bar.xml")
    run = names["run"]
    figure, (moving, gap) = panels(2, 2.2, height_ratios=(3, 2))
    for number, moment in enumerate(np.linspace(0.0, run.events[0].time, 4)):
        here = run.at(float(moment))
        turned = here["drive_angle"] + here["upper_angle"]
        knee = _turned((0.0, 0.2), here["drive_angle"])
        coupler = [knee + _turned(place, turned) for place in ((0.0, 0.0), (0.5, 0.0), (0.5, 0.2))]
        top = np.array([0.5, 0.0]) + _turned((0.0, 0.4), here["pivot_angle"])
        if np.hypot(*(coupler[-1] - top)) > 1e-12:
            raise RuntimeError("the drawing and the file differ")
        bars = ([np.zeros(2), knee], coupler, [np.array([0.5, 0.0]), top])
        for colour, bar in zip(COLOURS, bars, strict=False):
            moving.plot(*np.array(bar).T, color=colour, linewidth=2.0, alpha=(1 + number) / 4)
        moving.plot(*top, "o", color="#555", markersize=4)
    for name, colour in zip(("crank", "coupler", "rocker"), COLOURS, strict=False):
        moving.plot([], [], color=colour, label=name, linewidth=2.0)
    moving.plot([0.0, 0.5], [0.0, 0.0], "^", color="#555", markersize=7)
    moving.set(xlabel="x (m)", ylabel="z (m)")
    moving.set_aspect("equal")
    moving.legend(**LEGEND, loc="center left", bbox_to_anchor=(1.0, 0.5))
    pins = [name for name in run.drift if name.startswith("pin") and run.drift[name].history]
    for colour, name in zip(COLOURS, pins, strict=False):
        times, sizes = np.array(run.drift[name].history).T
        gap.loglog(times, np.where(sizes > 0, sizes, np.nan), color=colour, label=name)
    gap.set(xlabel="t (s)", ylabel="gap, relative", ylim=(1e-18, 1e-13))
    gap.legend(**LEGEND, ncols=3)
    return figure


def _turned(place: tuple[float, float], angle: float) -> np.ndarray:
    """Return a point of the plane x, z, turned about y."""
    (x, z), c, s = place, np.cos(angle), np.sin(angle)
    return np.array([c * x + s * z, c * z - s * x])


def pads() -> Figure:
    """Draw force and moment of a pad over its slip ratio, for three pressure distributions."""
    from daesolve.contact.friction import reduced_friction, simplified_lengths

    ratio = np.linspace(0.0, 3.0, 241)
    figure, both = panels(2, 2.0, sharex=True)
    names = {-0.5: "stamp, n = −0.5", 0.0: "uniform, n = 0", 2.0: "n = 2"}
    for colour, (exponent, label) in zip(COLOURS, names.items(), strict=False):
        for axes, part in zip(both, reduced_friction(ratio, exponent=exponent), strict=True):
            axes.plot(ratio, part, color=colour, label=label)
    near = simplified_lengths(0.0)
    look: dict[str, Any] = {"color": COLOURS[1], "linestyle": "--", "linewidth": 1.0}
    both[0].plot(ratio, 1 - np.exp(-ratio / near.slide), **look, label="exponentials for n = 0")
    both[1].plot(ratio, near.turn * np.exp(-ratio / near.decay), **look)
    for axes in both:
        axes.axvline(1.0, color=COLOURS[4], linewidth=0.8)
    both[0].annotate("the rim rests", (1.0, 0.05), (3, 0), textcoords="offset points",
                     fontsize="small", color="#555")  # fmt: skip
    both[0].set(ylabel="force, f′")
    both[1].set(ylabel="moment, f″", xlabel="slip over rim speed, x = |V|/(r|ω|)")
    both[0].legend(**LEGEND, loc="lower right")
    return figure


def duffing() -> Figure:
    """Draw the branch of the page's driven oscillator, with its folds."""
    branch = computed("how-to/periodic-motions", "duffing = ")["branch"]
    w, x, v = (np.asarray(branch.points[name]) for name in ("w", "x", "x_dot"))
    size = np.hypot(x, v / w)
    stable = np.array([str(verdict) == "stable" for verdict in branch.verdicts])
    figure, (axes,) = panels(1, 3.0)
    axes.plot(w, size, color=COLOURS[4], linewidth=0.8)
    axes.plot(w[stable], size[stable], "o", color=COLOURS[0], markersize=3.5, label="stable")
    axes.plot(w[~stable], size[~stable], "o", color=RED, markersize=3.5, label="unstable",
              markerfacecolor="white")  # fmt: skip
    for point in branch.special:
        values = point.orbit.values
        state = point.orbit.state
        place = values["w"], np.hypot(state["x"], state["x_dot"] / values["w"])
        axes.plot(*place, "D", color="black", markersize=5)
        axes.annotate(f"fold, w = {values['w']:.4f}", place, (8, -3), textcoords="offset points",
                      fontsize="small")  # fmt: skip
    axes.set(xlabel="frequency of the drive w (rad/s)", ylabel="size of the motion (m)")
    axes.legend(**LEGEND)
    return figure


def declared() -> Figure:
    """Draw the pendulum of the page with the meaning of each declaration."""
    names = computed("how-to/posing", '"tension": (-2 * p.length')
    run = ds.solve(names["pendulum"], 3.0, {"x": 0.6}, guess={"y": -0.8}, at=ds.every(0.01))
    index = int(np.argmax(run.times >= 1.25))
    place = np.array([run["x"][index], run["y"][index]])
    speed = np.array([run["x_dot"][index], run["y_dot"][index]])
    figure, (axes,) = panels(1, 3.4)
    axes.plot(run["x"], run["y"], color=COLOURS[4], linewidth=0.8)
    axes.plot(*np.array([[0.0, 0.0], place]).T, color="#555", linewidth=1.5)
    axes.plot(0.0, 0.0, "^", color="#555", markersize=8)
    axes.plot(*place, "o", color="#333", markersize=9)
    arrows = {
        "potential: m g": (np.array([0.0, -9.81]) / 25, COLOURS[1], (6, -2)),
        "reaction: tension": (-place * run["tension"][index] / 25, COLOURS[0], (8, 0)),
        "velocity": (0.25 * speed, COLOURS[2], (2, 8)),
        "force: drag × 20": (-20 * 0.1 * speed / 25, RED, (-4, 8)),
    }
    for label, (arrow, colour, shift) in arrows.items():
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.6}
        axes.annotate("", xy=tuple(place + arrow), xytext=tuple(place), arrowprops=look)
        axes.annotate(label, tuple(place + arrow), shift, textcoords="offset points",
                      color=colour, fontsize="small")  # fmt: skip
    axes.annotate("goal: x² + y² = length²", tuple(0.45 * place), (8, 2),
                  textcoords="offset points", fontsize="small")  # fmt: skip
    axes.annotate("coordinates x, y", tuple(place), (-8, -16), textcoords="offset points",
                  fontsize="small", ha="right")  # fmt: skip
    axes.set(xlabel="x (m)", ylabel="y (m)", xlim=(-1.0, 1.1), ylim=(-1.5, 0.1))
    axes.set_aspect("equal")
    return figure


def true_reactions() -> Figure:
    """Draw the skate's multiplier after the substitution, and the force of the ground."""
    names = computed("how-to/quasi-holonomic", "sleigh = ds.nonholonomic.eliminate")
    run = ds.solve(names["sleigh"], 10.0, names["start"], at=ds.every(0.02))
    figure, (axes,) = panels(1, 2.8)
    shown = {"skate_apparent": (RED, "multiplier of the smaller system"),
             "skate": (COLOURS[0], "true reaction of the ground")}  # fmt: skip
    for name, (colour, label) in shown.items():
        axes.plot(run.times, run.reactions[name], color=colour, label=label)
    axes.set(xlabel="t (s)", ylabel="force on the skate (N)")
    axes.legend(**LEGEND)
    return figure


def refereed_loop() -> Figure:
    """Draw the referee's findings for the planar linkage: gaps, energies, and distances."""
    from daesolve.multibody.referee import refereed

    found = refereed(DOCS.parent / "benchmarks/referee/redundant.xml", 10.0).verdict
    figure, (gap, drift) = panels(2, 2.0, sharex=True)
    finest = found.others[-1]
    for colour, side in ((COLOURS[0], found.own), (RED, finest)):
        motion = side.motion
        label = "daesolve" if side.step is None else f"MuJoCo, steps of {1e3 * side.step:g} ms"
        balance = np.abs(motion.energy - motion.work - motion.energy[0]) / found.own.motion.kinetic
        for axes, sizes in ((gap, np.abs(motion.gaps).max(axis=1)), (drift, balance)):
            axes.semilogy(motion.times, np.where(sizes > 0, sizes, np.nan), color=colour,
                          label=label, linewidth=0.9)  # fmt: skip
    gap.set(ylabel="gap of the loop (m)", ylim=(1e-18, 1.0))
    drift.set(xlabel="t (s)", ylabel="energy, relative", ylim=(1e-18, 1.0))
    gap.legend(**LEGEND, loc="center right")
    return figure


def boundary_layer() -> Figure:
    """Draw how a small velocity of the page's wheelset falls onto the slow motion."""
    names = computed("how-to/small-velocities", "wheelset = ds.MechanicalSystem(")
    model, wheelset, start = names["model"], names["wheelset"], names["start"]
    times = np.concatenate([np.linspace(0.0, 0.12, 121), np.linspace(0.125, 6.0, 236)])
    full = ds.solve(wheelset, 6.0, start, at=times)
    figure, (speed, error) = panels(2, 2.1)
    speed.plot(full.times, full["y_dot"], color="#333", label="full system", linewidth=1.8)
    for order, (system, colour) in enumerate(
        ((model.system, COLOURS[1]), (model.refined, COLOURS[0]))
    ):
        run = ds.solve(system, 6.0, model.start(start, order=order), at=times)
        label = ("order 0: Dirac's equations", "refined")[order]
        speed.plot(run.times, run["y_dot"], "--", color=colour, label=label, linewidth=1.2)
        off = np.abs(run["y"] - full["y"])
        error.semilogy(times, np.where(off > 0, off, np.nan), color=colour, linewidth=0.9)
    speed.set(ylabel="small velocity y′", xlim=(0.0, 0.12), xlabel="t, the boundary layer")
    speed.legend(**LEGEND, loc="lower right")
    error.set(ylabel="error of y", xlabel="t", xlim=(0.0, 6.0))
    return figure


def order_four() -> Figure:
    """Draw the error of the page's custom solver over its step."""
    names = computed("how-to/extend", "class RungeKutta(ds.Solver)")
    steps = np.geomspace(1e-3, 0.3, 11)
    start = {"x": 1.0, "x_dot": 0.0}
    errors = [
        abs(ds.solve(names["spring"], 10.0, start, at=[10.0],
                     solver=names["RungeKutta"](float(step)))["x"][0] - np.cos(10.0))
        for step in steps
    ]  # fmt: skip
    figure, (axes,) = panels(1, 2.6)
    axes.loglog(steps, errors, "o-", color=COLOURS[0], markersize=4, label="runge-kutta")
    axes.loglog(steps, errors[-1] * (steps / steps[-1]) ** 4, "--", color=COLOURS[4],
                label="step⁴", linewidth=1.0)  # fmt: skip
    axes.set(xlabel="step (s)", ylabel="error of x after 10 s (m)")
    axes.legend(**LEGEND)
    return figure


def laws_of_contact() -> Figure:
    """Draw the energy that the page's vehicle loses under its three contact laws."""
    names = computed("problems/omni-laws", 'problem = ds.problem("omni-laws")')
    figure, (axes,) = panels(1, 2.8)
    for colour, law in zip(COLOURS, ("inertialess", "impacts", "friction"), strict=False):
        case = names["problem"].case("mixed", model=law, **names["vehicle"])
        run = case.solve(0.5, at=np.linspace(0.0, 0.5, 501))
        lost = 1e3 * (run["energy"][0] - run["energy"])
        axes.plot(run.times, lost, color=colour, label=law, linewidth=1.2)
    axes.set(xlabel="t (s)", ylabel="energy lost (mJ)")
    axes.legend(**LEGEND)
    return figure


def flange_climbs() -> Figure:
    """Draw the climb of the page's wheelset, and L / N of its wheels beside Nadal's limit."""
    from daesolve_problems.wheelset.flanges import SIDES, quotient

    names = computed("problems/wheelset", 'problem("wheelset-flanges").case("climbing")')
    run = names["case"].solve(at=np.linspace(0.0, 1.62, 811))
    figure, (moved, pressed) = panels(2, 2.1)
    for colour, side in zip(COLOURS, SIDES, strict=False):
        moved.plot(run.times, 1e3 * run[f"lift_{side}"], color=colour, label=f"{side} wheel")
        pressed.plot(run.times, quotient(run, side), color=colour)
    limit = names["nadal"]
    pressed.axhline(limit, color="#333", linestyle="--", linewidth=0.9, label="Nadal's limit")
    moved.set(ylabel="lift (mm)")
    pressed.set(ylabel="L / N", xlabel="t (s)")
    for axes in (moved, pressed):
        axes.legend(**LEGEND)
    return figure


def certified() -> Figure:
    """Draw the page's ball of uncertain height and gravity: all places where it may be."""
    ball = computed("how-to/certify", '{"y": (5.0, 1e-3), "y_dot": 0.0}')["ball"]
    run = ds.solve(
        ball,
        2.5,
        {"y": (5.0, 0.05), "y_dot": 0.0},
        parameters={"gravity": (9.81, 0.05)},
        at=ds.every(0.01),
        certify=True,
    )
    certificate = run.certificate
    if certificate is None or not certificate.complete:
        raise RuntimeError("the run is not certified to its end")
    low, high = certificate.bounds("y")
    figure, (axes,) = panels(1, 2.6)
    axes.fill_between(certificate.times, low, high, color=COLOURS[0], alpha=0.35, linewidth=0.0)
    axes.plot(run.times, run["y"], color=COLOURS[0], linewidth=0.9)
    for event in certificate.events:
        near, far = event.time - event.radius, event.time + event.radius
        axes.axvspan(near, far, color=COLOURS[1], alpha=0.35, linewidth=0.0)
    axes.set(xlabel="t (s)", ylabel="y (m)", ylim=(0.0, None), xlim=(0.0, 2.5))
    return figure


def certified_chaos() -> Figure:
    """Draw how the boxes of the page's double pendulum grow, from three uncertain starts."""
    names = computed("how-to/certify", "double = ds.MechanicalSystem")
    figure, (axes,) = panels(1, 2.6)
    for colour, radius in zip(COLOURS, (1e-6, 1e-9, 1e-12), strict=False):
        start = names["start"] | {"lower": (2.0, radius)}
        run = ds.solve(names["double"], 12.0, start, at=ds.every(0.05), certify=True)
        assert run.certificate is not None
        widths = run.certificate.radii["lower"]
        axes.semilogy(run.certificate.times, widths, color=colour, label=f"{radius:g} rad")
    axes.set(xlabel="t (s)", ylabel="half-width (rad)")
    axes.legend(**LEGEND)
    return figure


GUIDES: dict[str, Callable[[], Figure]] = {
    "certified-chaos": certified_chaos,
    "audited": audited,
    "certified": certified,
    "compared": compared,
    "shrinking-patch": shrinking_patch,
    "exported": exported,
    "unit": unit,
    "parts-of-a-run": parts_of_a_run,
    "loop-from-a-file": loop_from_a_file,
    "pads": pads,
    "duffing": duffing,
    "declared": declared,
    "true-reactions": true_reactions,
    "refereed-loop": refereed_loop,
    "boundary-layer": boundary_layer,
    "order-four": order_four,
    "laws-of-contact": laws_of_contact,
    "flange-climbs": flange_climbs,
}
