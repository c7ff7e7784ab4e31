"""Draw figures of pages into docs/_static: `python docs/figures.py [drift] [elements] ...`.

`drift.svg` for the first page: a pendulum of 1 m, released from the horizontal, three times: after
plain index reduction, with Baumgarte's stabilisation, and with daesolve. IDAS integrates the first
two, to 1e-10. The third run measures the energy and does not drive it, so that its drift is
evidence. The upper panel shows what a user can see; the lower one shows what counts, the distance
from the closed form.

`tipping-block.svg` for the page on contacts: a pushed block that tips and rocks to rest.

`driven-pendulum.svg`, `controlled-cart.svg`, `swing-up.svg` and `measured-force.svg` for the pages
on driven systems: torques as numbers and expressions, a sampled law, the least torque that lifts a
pendulum, and a force from measured points.

`motion.webp` for the first page: three problems in motion. All other figures show what the code of
their own pages computes (`page_figures.py`, `theory_figures.py`).

`limping-walker.svg` for the page on periodic motions: the walks of the simplest walker, whose
periods double with the slope.

`one-omni-wheel.svg` for the page on one omni-wheel: the spins of its rollers and the energy that
friction and impacts take, with friction and without slip.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
from benchmark_figures import BENCHMARKS
from body_figures import BODIES
from guide_figures import GUIDES
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from page_figures import PAGES
from PIL import Image
from scipy.special import ellipj, ellipk
from theory_figures import THEORY

import daesolve as ds
from daesolve.reporting import document, with_drawing
from daesolve.reporting.excerpt import Playing, from_document
from daesolve.reporting.figures.renderer import look_at, paint
from daesolve.reporting.film import film

HALF = np.sin(np.pi / 4)  # for an amplitude of a right angle
COLOURS = ("#1f77b4", "#dd8452", "#2a7f4f")
ALL = BODIES | PAGES | GUIDES | THEORY | BENCHMARKS
WANTED = Path(__file__).parent / "_static"
RUNS = {
    "standard: index 1": (ds.Index1(), ds.Idas(rtol=1e-10, atol=1e-10), 1e3, "#c44e52"),
    "standard: index 1, Baumgarte": (
        ds.Index1(rate=10.0),
        ds.Idas(rtol=1e-10, atol=1e-10),
        1e3,
        "#dd8452",
    ),
    "daesolve": (
        ds.Feedback(rates={"energy": None}),
        ds.Taylor(),
        1e5,
        "#1f77b4",
    ),
}


def pendulum() -> ds.MechanicalSystem:
    """Pose a point mass on a rod of 1 m."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"), length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)],
    )


def angle(times: np.ndarray) -> np.ndarray:
    """Return the angle from the downward vertical after a release at a right angle."""
    sine = ellipj(ellipk(HALF**2) - np.sqrt(9.81) * times, HALF**2)[0]
    return 2 * np.arcsin(HALF * sine)


def worst_so_far(run: ds.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Return times at tenths of decades, and the largest distance from the closed form so far."""
    exact = angle(run.times)
    distance = np.hypot(run["x"] - np.sin(exact), run["y"] + np.cos(exact))
    times = np.geomspace(1.0, run.end_time, 10 * round(np.log10(run.end_time)) + 1)
    worst = np.maximum.accumulate(distance)
    return times, worst[np.searchsorted(run.times, times * (1 + 1e-12)) - 1]


def drift() -> None:
    """Run the pendulum three times and draw the results."""
    figure, (energy, error) = plt.subplots(
        2, 1, figsize=(5.2, 5.4), layout="constrained", sharex=True
    )
    system = pendulum()
    for label, (formulation, solver, until, colour) in RUNS.items():
        run = ds.solve(
            system,
            until=until,
            initial={"x": 1.0, "y": 0.0, "x_dot": 0.0},
            formulation=formulation,
            solver=solver,
            at=ds.every(0.1),
        )
        energy.loglog(*np.array(run.drift["energy"].history).T, color=colour, label=label)
        error.loglog(*worst_so_far(run), color=colour)
        off = worst_so_far(run)[1][-1]
        print(
            f"{label}: {until:g} s, energy {run.drift['energy'].max_relative:.1e}, {off:.1e} m off"
        )
    energy.set(xlim=(1.0, 1e5), ylim=(1e-17, 1.0), ylabel="energy drift, relative")
    error.set(ylim=(1e-17, 1.0), xlabel="t (s)", ylabel="distance from the closed form (m)")
    energy.legend(loc="upper left", frameon=False, fontsize="small")
    _written(figure, (energy, error), "drift")


def tipping_block() -> None:
    """Draw the angle of the block, what its feet carry, and their states."""
    run = ds.problem("block").case("tips").solve(at=ds.every(0.004))
    figure, panels = plt.subplots(
        3, 1, figsize=(5.2, 5.4), layout="constrained", sharex=True, height_ratios=(3, 3, 1.4)
    )
    angle_of, load, states = panels
    angle_of.plot(run.times, np.degrees(run["theta"]), color="#1f77b4")
    angle_of.set(ylabel="tilt (degrees)")
    looks = {1.0: ("slides", "#dd8452"), 2.0: ("sticks", "#1f77b4")}
    for row, (foot, shade) in enumerate({"rear": "#8c8c8c", "front": "#2a7f4f"}.items()):
        load.plot(run.times, run[foot], color=shade, label=f"{foot} foot", linewidth=1.0)
        for state, (word, colour) in looks.items():
            there = np.abs(run[f"{foot}_state"]) == state
            states.fill_between(
                run.times,
                row - 0.35,
                row + 0.35,
                where=there,
                color=colour,
                linewidth=0.0,
                label=word if row == 0 else None,
            )
    load.set(ylabel="load (N)")
    load.legend(loc="upper right", frameon=False, fontsize="small", ncols=2)
    states.set(yticks=(0, 1), yticklabels=("rear", "front"), ylim=(-0.5, 1.5), xlabel="t (s)")
    states.legend(
        loc="upper center", frameon=False, fontsize="small", ncols=2, bbox_to_anchor=(0.5, 1.25)
    )
    _written(figure, panels, "tipping-block")


def driven_pendulum() -> None:
    """Draw a pendulum under four torques."""
    q, u = ds.coordinates(phi="rad"), ds.inputs(torque="N m")
    pendulum = ds.MechanicalSystem(
        q,
        kinetic=0.5 * q.dot.phi**2 / 2,
        potential=-4.0 * ca.cos(q.phi),
        force={"phi": u.torque},
        inputs=u,
    )
    torques = {"2 N m": 2.0, "sin(3 t)": "sin(3 * t)", "−0.2 phi_dot": -0.2 * q.dot.phi}
    figure, panels = plt.subplots(2, 1, figsize=(5.2, 4.6), layout="constrained", sharex=True)
    for (label, torque), colour in zip(torques.items(), COLOURS, strict=False):
        run = ds.solve(pendulum, 10.0, {"phi": 0.3}, inputs={"torque": torque}, at=ds.every(0.02))
        panels[0].plot(run.times, run["torque"], color=colour, label=label)
        panels[1].plot(run.times, run["phi"], color=colour)
    panels[0].set(ylabel="torque (N m)", ylim=(-1.3, 2.9))
    panels[0].legend(loc="upper right", frameon=False, fontsize="small", ncols=3)
    panels[1].set(ylabel="angle (rad)", xlabel="t (s)")
    _written(figure, panels, "driven-pendulum")


def controlled_cart() -> None:
    """Draw a cart under a sampled law with an integral, limits and a delay."""
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push - 1.0}, inputs=u)
    figure, panels = plt.subplots(2, 1, figsize=(5.2, 4.6), layout="constrained", sharex=True)
    for period, colour in zip((0.05, 0.2), COLOURS, strict=False):

        def law(seen: Any, period: float = period) -> Any:
            push = -8.0 * seen.x - 3.0 * seen.x_dot - 4.0 * seen.sum
            return push, {"sum": seen.sum + period * seen.x}

        controller = ds.sampled(
            "controller", period, law, delay=0.04, states={"sum": 0.0}, limits=(-5, 5)
        )
        run = ds.solve(cart, 6.0, {"x": 1.0}, inputs={"push": controller}, at=ds.every(0.005))
        label = f"every {period:g} s"
        panels[0].plot(run.times, run["push"], color=colour, label=label, linewidth=1.0)
        panels[1].plot(run.times, run["x"], color=colour)
    panels[0].set(ylabel="push (N)")
    panels[0].legend(loc="upper right", frameon=False, fontsize="small", ncols=2)
    panels[1].set(ylabel="place (m)", xlabel="t (s)")
    _written(figure, panels, "controlled-cart")


def swing_up() -> None:
    """Draw a pendulum that rises with a torque that could not hold it level."""
    q, u = ds.coordinates(phi="rad"), ds.inputs(torque="N m")
    pendulum = ds.MechanicalSystem(
        q,
        kinetic=q.dot.phi**2 / 2,
        potential=-9.81 * ca.cos(q.phi),
        force={"phi": u.torque},
        inputs=u,
    )
    found = ds.optimise(
        pendulum,
        lambda now: now["torque"] ** 2,
        time=3.0,
        end={"phi": math.pi, "phi_dot": 0.0},
        bounds={"torque": (-5.0, 5.0)},
    )
    figure, panels = plt.subplots(2, 1, figsize=(5.2, 4.2), layout="constrained", sharex=True)
    panels[0].plot(found.run.times, found["torque"], color=COLOURS[0])
    panels[1].plot(found.run.times, found["phi"], color=COLOURS[0])
    panels[0].set(ylabel="torque (N m)")
    panels[1].set(ylabel="angle (rad)", xlabel="t (s)")
    _written(figure, panels, "swing-up")


def measured_force() -> None:
    """Draw three kinds of tables over a few points, and how a cart responds to them."""
    generator = np.random.default_rng(1)
    times = np.linspace(0.0, 10.0, 26)
    forces = np.sin(2 * times) + 0.3 * generator.normal(size=26)
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    cart = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2, potential=2 * q.x**2, force={"x": u.push}, inputs=u
    )
    figure, panels = plt.subplots(2, 1, figsize=(5.2, 4.6), layout="constrained", sharex=True)
    panels[0].plot(times, forces, "o", color="#8c8c8c", markersize=3.5)
    for kind, colour in zip(("steps", "linear", "cubic"), COLOURS, strict=False):
        table = ds.table("pull", times, forces, kind)
        run = ds.solve(cart, 10.0, inputs={"push": table}, at=ds.every(0.01))
        panels[0].plot(run.times, run["push"], color=colour, label=kind, linewidth=1.0)
        panels[1].plot(run.times, run["x"], color=colour)
    panels[0].set(ylabel="push (N)")
    panels[0].legend(loc="upper right", frameon=False, fontsize="small", ncols=3)
    panels[1].set(ylabel="place (m)", xlabel="t (s)")
    _written(figure, panels, "measured-force")


def _written(figure: Figure, panels: Iterable[Axes], name: str) -> None:
    for axes in panels:
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    file = WANTED / f"{name}.svg"
    figure.savefig(file, metadata={"Date": None})
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r'\b(?:d|x|y)="[^"]*"', _rounded, text), encoding="utf-8")


def _rounded(found: re.Match[str]) -> str:
    """Round coordinates to hundredths of a point."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}", found[0])


def stepped_linkage() -> None:
    """Draw a five-bar linkage that Python pushes step by step."""
    sim = ds.Simulator(ds.problem("five-bar").case("falls"))
    held: list[float] = []
    for _ in range(60):
        state = sim.state
        held.append(float(np.clip(6.0 * (2.2 - state["left"]) - state["left_dot"], -4.0, 4.0)))
        sim.step(0.02, motor_left=held[-1])
    run = sim.trajectory()
    times = np.linspace(0.0, run.end_time, 601)
    figure, panels = plt.subplots(2, 1, figsize=(5.2, 4.6), layout="constrained", sharex=True)
    panels[0].stairs(held, 0.02 * np.arange(len(held) + 1), color=COLOURS[0], baseline=None)
    panels[0].set(ylabel="torque (N m)")
    for name, colour in zip(("left", "right"), COLOURS, strict=False):
        angles = [run.at(moment)[name] for moment in times.tolist()]
        panels[1].plot(times, angles, color=colour, label=f"{name} crank")
    panels[1].legend(frameon=False, fontsize="small", ncols=2)
    panels[1].set(ylabel="angle (rad)", xlabel="t (s)")
    _written(figure, panels, "stepped-linkage")


def prescribed_linkage() -> None:
    """Draw the torques for a prescribed motion of a five-bar linkage, and the load on a joint."""
    linkage = ds.problem("five-bar").case("falls")
    motion = {"left": "2.3 + 0.3 * sin(2 * t)", "right": "0.9 + 0.25 * sin(3 * t)"}
    found = ds.inverse_dynamics(linkage, motion, 4.0, at=ds.every(0.01))
    figure, panels = plt.subplots(3, 1, figsize=(5.2, 5.8), layout="constrained", sharex=True)
    for side, colour in zip(("left", "right"), COLOURS, strict=False):
        panels[0].plot(found.times, found.states[side], color=colour, label=side)
        panels[1].plot(found.times, found[f"motor_{side}"], color=colour)
    for axis, colour in zip("xy", COLOURS, strict=False):
        force = found.reactions[f"joint_{axis}"]
        panels[2].plot(found.times, force, color=colour, label=f"along {axis}")
    for panel, place in ((panels[0], "center right"), (panels[2], "lower left")):
        panel.legend(loc=place, frameon=False, fontsize="small", ncols=2)
    panels[0].set(ylabel="prescribed (rad)")
    panels[1].set(ylabel="torque (N m)")
    panels[2].set(ylabel="joint (N)", xlabel="t (s)")
    _written(figure, panels, "prescribed-linkage")


def limping_walker() -> None:
    """Draw the angles at the heel-strikes of the simplest walker, over the slope."""
    walker = ds.problem("walker")
    start = {name: walker.case("doubling").full_start[name] for name in ("theta", "theta_dot")}
    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained", dpi=200)
    points: list[tuple[float, float]] = []
    for slope in np.linspace(0.0140, 0.0190, 251):
        run = walker.case("long", slope=slope).starting(start).solve(until=1200.0)
        struck = [event.after for event in run.events if event.name == "heel_strike"]
        if run.outcome is not ds.Outcome.COMPLETED:
            break
        start = {name: struck[-1][name] for name in start}
        points += [(slope, state["theta"]) for state in struck[-60:]]
    look = {"color": COLOURS[0], "markersize": 1.5, "rasterized": True}
    axes.plot(*np.array(points).T, ".", **look)
    for slope in (0.0150884379411163, 0.01766937486246):
        axes.axvline(slope, color=COLOURS[1], linewidth=0.8)
    axes.set(xlabel="slope (rad)", ylabel="θ after a heel-strike (rad)")
    _written(figure, [axes], "limping-walker")


STAGE = {
    "A wheel with a\npendulum on a curve": ("rolling-wheel", "pendulum"),
    "A vehicle on\nomni-wheels": ("omni-rolling", "spin"),
    "A rattleback": ("rattleback", "reversal"),
}
SHOWN = 10.0
"""Seconds of a run."""
FRAMES, A_SECOND = 120, 12


def motion() -> None:
    """Film three problems side by side."""
    films = []
    for name, case_name in STAGE.values():
        case = ds.problem(name).case(case_name)
        run = case.solve(until=SHOWN, at=np.linspace(0.0, SHOWN, 20 * FRAMES + 1))
        drawn = with_drawing(document(run, case.identity()), case.problem.drawing)
        films.append(film(from_document(drawn, Playing(FRAMES / A_SECOND, A_SECOND))))
    figure = Figure(figsize=(9.0, 3.4), dpi=80)
    canvas = FigureCanvasAgg(figure)
    pictures: list[Image.Image] = []
    for place in range(FRAMES):
        figure.clear()
        for number, (title, shown) in enumerate(zip(STAGE, films, strict=True)):
            axes = figure.add_axes((number / 3 + 0.005, 0.02, 0.323, 0.78))
            axes.set_axis_off()
            figure.text(
                (number + 0.5) / 3, 0.98, title, fontsize=14, color="#333", ha="center", va="top"
            )
            picture = shown.pictures[place]
            for entry in (*shown.surroundings, *picture.bodies):
                paint(axes, entry)
            look_at(axes, picture.view)
        canvas.draw()
        pictures.append(Image.fromarray(np.array(canvas.buffer_rgba())[:, :, :3]))
    pictures[0].save(
        WANTED / "motion.webp",
        save_all=True,
        append_images=pictures[1:],
        duration=round(1000 / A_SECOND),
        loop=0,
        quality=30,
        method=6,
    )


def of_page(name: str) -> None:
    """Draw a page's figure from the page's own code."""
    figure = ALL[name]()
    _written(figure, figure.axes, name)


def one_omni_wheel() -> None:
    """Draw the spins of the rollers of one wheel, and its kinetic energy, for both models."""
    figure, panels = plt.subplots(3, 1, figsize=(5.2, 6.4), layout="constrained", sharex=True)
    *spins, energies = panels
    problem = ds.problem("omni-wheel")
    for (name, title), panel, colour in zip(
        {"held": "with friction", "ideal": "without slip"}.items(), spins, COLOURS, strict=False
    ):
        run = problem.case(name).solve(0.5, at=ds.every(0.0005))
        for number, shade in enumerate((*COLOURS, "#8c8c8c"), start=1):
            panel.plot(run.times, run[f"spin_{number}"], color=shade, label=f"roller {number}")
        panel.set(ylabel="spin (rad/s)", title=title)
        speeds = [run[f"wheel_{axis}_dot"] for axis in "xyz"]
        energies.plot(run.times, 0.075 * sum(s**2 for s in speeds), color=colour, label=title)
    shown = spins[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside upper center", frameon=False, fontsize="small", ncols=4)
    energies.set(ylabel="energy of the centre (J)", xlabel="t (s)")
    energies.legend(loc="upper right", frameon=False, fontsize="small")
    _written(figure, panels, "one-omni-wheel")


FIGURES: dict[str, Callable[[], None]] = {
    "drift": drift,
    "tipping-block": tipping_block,
    "driven-pendulum": driven_pendulum,
    "controlled-cart": controlled_cart,
    "swing-up": swing_up,
    "measured-force": measured_force,
    "stepped-linkage": stepped_linkage,
    "prescribed-linkage": prescribed_linkage,
    "limping-walker": limping_walker,
    "one-omni-wheel": one_omni_wheel,
    "motion": motion,
    **{name: partial(of_page, name) for name in ALL},
}

if __name__ == "__main__":
    plt.rcParams |= {"svg.hashsalt": "daesolve", "svg.fonttype": "none"}  # keeps text as text
    for asked in sys.argv[1:] or FIGURES:
        FIGURES[asked]()
