"""Morozov, Matrosov, Pesterev: a hoop, and a wheel with a pendulum, that roll along a curve."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import scipy

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Paper, Shown
from daesolve.typing import BoundCase
from daesolve_problems.figures import new_figure
from daesolve_problems.largest import largest
from daesolve_problems.papers.common import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM = "rolling-wheel"
AT_REST = "where it turns, highest on the right: half the slope of the curve"
EXCEEDED = "rolling needs more there: the event friction_exceeded ends the run"
FEEDBACK, REACTIONS = r"\section*{Feedback}", r"\section*{Reactions}"
LAWS = {"contact": (4.0, 20.0), "rolling": (3.0,)}
BLOCKS = r"(\\begin\{align\*\}.*?\\end\{align\*\})|\\\[\n(.*?)\n\\\]"
ALONG = "reactions along the curve (the paper's figure 3)"


def energy(quick: bool) -> Shown:
    """Figure 2: the energy of the wheel with a pendulum."""
    case = ds.problem(PROBLEM).case("pendulum")
    run = case.solve(60.0 if quick else None)
    claim = "small disturbances that die out at once"
    rows = [
        Compared(f"|{name}|, largest over its scale", claim, run.drift[name].max_relative)
        for name in ("energy", "contact", "rolling")
    ]
    return Shown(rows, {"E(t) − E(0)": _energy_error(run)}, note=_span(run))


def _energy_error(run: ds.Trajectory) -> Figure:
    """Draw E - E0 over time: disturbances die out at once where the energy is driven."""
    drawn = new_figure(8.0, 2.6)
    axes = drawn.add_subplot()
    axes.plot(run.times, run["energy"] - run["energy"][0], linewidth=0.8)
    axes.set_xlabel("t (s)")
    axes.set_ylabel("E − E₀ (J)")
    return drawn


def reactions(quick: bool) -> Shown:
    """Figure 3: the reaction over the place, without and with the pendulum."""
    found: dict[str, Figure] = {}
    widths: dict[str, float] = {}
    for name, words in (("hoop", "without pendulum"), ("pendulum", "with pendulum")):
        case = ds.problem(PROBLEM).case(name)
        run = case.solve(60.0 if quick else None)
        found[words] = figure(case, run, ALONG)
        widths[name] = _width(case, run)
    return Shown(
        [
            Compared(
                "width of the bundle of curves, hoop",
                "visible, and put down to errors of integration",
                widths["hoop"],
                "N",
                "there is no bundle: the reaction is a function of the position",
            ),
            Compared(
                "width of the bundle, with pendulum",
                "visible",
                widths["pendulum"],
                "N",
                "the pendulum swings: its motion has no period in common with the wheel",
            ),
        ],
        found,
    )


def _width(case: BoundCase, run: ds.Trajectory) -> float:
    """Return by how much R_z at one place differs from one passage of the curve to another.

    The first passage from one turning point to the next is sampled so closely that the spline
    through it is as good as the run.
    """
    first = case.solve(5.0, at=ds.every(2e-4))
    turns = np.flatnonzero(np.diff(np.sign(first["x_dot"])) != 0.0)
    passage = slice(int(turns[0]) + 1, int(turns[1]))
    place = first["contact_x"][passage]
    order = np.argsort(place)
    curve = scipy.interpolate.CubicSpline(place[order], first["reaction_z"][passage][order])
    inside = (run["contact_x"] > place.min()) & (run["contact_x"] < place.max())
    return float(np.max(np.abs(run["reaction_z"][inside] - curve(run["contact_x"][inside]))))


def _span(run: ds.Trajectory) -> str:
    return f"Over {run.end_time:g} s, by {run.description['solver']}."


def condition(quick: bool) -> Shown:
    """(4) and (5): the condition of rolling, and the rank of both at rest."""
    case = ds.problem(PROBLEM).case("hoop")
    answer = case.analyse("turning-points")
    attempts = answer.values["attempts"]
    true, wrong = (attempts[name] for name in ("physical", "printed, fixed step 2 ms"))
    ended = attempts["printed, error control"]
    rank = ds.problem(PROBLEM).case("hoop", model="printed").analyse("rank").values["at_rest"]
    missing = "the cross term 2 r² θ' α' is missing in (4)"
    period = f"{wrong['period']:.6f} s"
    return Shown(
        [
            Compared("period of the hoop", period, true["period"], "s", missing),
            Compared(
                "largest slip of the wheel",
                f"{wrong['largest_slip']:.3f} m/s",
                true["largest_slip"],
                "m/s",
                missing,
            ),
            Compared(
                "rank of the equations for the reactions, at rest",
                "4 of 4 is needed",
                f"{rank['rank']} of {rank['of']}",
                "",
                "the reactions enter the rates of (4) and (5) multiplied by velocities",
            ),
            Compared(
                "with error control the printed conditions end at",
                "1800 s",
                ended["end_time"],
                "s",
                "the first turning point; a fixed step leaps over it",
            ),
        ],
        dict(answer.figures),
        note="The column of published values shows the results of the printed conditions.",
    )


def rough(quick: bool) -> Shown:
    """Return the requirements of rolling on the ground and the curve."""
    case = ds.problem(PROBLEM).case("hoop")
    needed, _ = largest(case, case.solve(10.0), "required_friction")
    admissible = case.analyse("admissibility").values
    return Shown(
        [
            Compared("coefficient of friction", "enough", needed, "", AT_REST),
            Compared(
                "largest radius by the curvature, section 2",
                "1 / curvature",
                admissible["largest_local_radius"],
                "m",
            ),
            Compared(
                "largest radius, by the whole curve",
                "not asked",
                admissible["largest_radius"],
                "m",
                "the curve of centres must not meet itself either; here both agree",
            ),
        ]
    )


def laws(quick: bool) -> Shown:
    """(7): residuals after a kick off the manifold, with one rate and with separate laws."""
    answer = ds.problem(PROBLEM).case("hoop").analyse("disturbance")
    rows: list[Compared] = []
    for name, words in (("rate", "λ = 10 for each"), ("laws", "independent coefficients")):
        found = answer.values[name]
        rows.append(
            Compared(
                f"{words}: residuals differ from (7) by",
                "errors die out exponentially",
                found["error"],
                "of the kick",
            )
        )
        rows += [
            Compared(f"{words}: {goal}", "", law) for goal, law in found.items() if goal != "error"
        ]
    return Shown(rows, dict(answer.figures))


def formulas(quick: bool) -> Shown:
    """(6) and (7): the reactions as functions of the state, with chosen coefficients."""
    case = ds.problem(PROBLEM).case("hoop")
    text = case.to_latex(document=False, rate=10.0, laws=LAWS, reactions=True)
    laws, closed = text[text.index(FEEDBACK) :].split(REACTIONS)
    residuals, centre, *rest = _displays(laws)
    reactions, names = _displays(closed)
    found = {"residuals": residuals, "with": centre}
    found |= {f"law {number}": law for number, law in enumerate(rest, start=1)}
    found |= {"the reactions, in closed form": reactions, "the reactions: with": names}
    state = {name: float(values[0]) for name, values in case.solve(1e-3, at=[0.0]).states.items()}
    kicked = {**state, "z": state["z"] + 1e-3, "theta_dot": state["theta_dot"] + 0.1}
    by_laws = case.system.function("reactions", rate=10.0, laws=LAWS)
    values = {n: v for n, v in case.values.items() if n in by_laws.inputs["p"].names}
    rows = [
        Compared(
            f"{name}, off the manifold", "a control", value, "N m" if name == "torque" else "N"
        )
        for name, value in by_laws.at(kicked, values).items()
    ]
    return Shown(
        rows,
        formulas=found,
        note="Numbered by the order of the goals. These reactions make the residuals obey these "
        "laws; at random states the formulas agree with the exported module to 1e-10. The values "
        "are those 1 mm above the curve, with a spin that is 0.1 rad/s too large. The first "
        "command writes the formulas, the second the same as code.",
    )


def _displays(text: str) -> list[str]:
    """Return the displayed formulas of LaTeX."""
    return [one or other for one, other in re.findall(BLOCKS, text, re.DOTALL)]


def grip(quick: bool) -> Shown:
    """Introduction: a drive on the axle; rolling that ends where friction is exhausted."""
    problem = ds.problem(PROBLEM)
    span = 10.0 if quick else 60.0
    hoop, climbing = problem.case("hoop"), problem.case("climbing")
    rough = hoop.solve(span, at=ds.every(0.001))
    needed = largest(hoop, rough, "required_friction")
    driven, calmer = climbing.solve(at=ds.every(0.002)), climbing.changed({"grip": 0.3}).solve()
    limited = problem.case("hoop", limited=True)
    stopped = limited.solve(span)
    enough = limited.changed({"grip": 1.12}).solve(span)
    work = climbing.full_parameters["drive_torque"] * (driven["phi"] - driven["theta"])
    gained = driven["energy"] - driven["energy"][0]
    rows = [
        Compared("friction that the hoop needs", "rolls without slip", needed[0], "", AT_REST),
        Compared("hoop on ground of 1.0: rolls until", "for ever", stopped.end_time, "s", EXCEEDED),
        Compared("hoop on ground of 1.12: ends", "for ever", enough.message or "rolls on"),
        Compared("driven wheel: climbs from x = −0.42 m to", "climbs", _farthest(driven), "m"),
        Compared("on ground of 1.0 it rolls until", "", driven.end_time, "s", EXCEEDED),
        Compared("on ground of 0.3 it rolls until", "", calmer.end_time, "s", EXCEEDED),
        Compared("its energy less the work of the drive", "", _peak_of(gained - work), "J"),
    ]
    return Shown(rows, {"required friction": _friction_over_place(rough, driven, needed[0])})


def _peak_of(values: np.ndarray) -> float:
    return float(np.max(np.abs(values)))


def _farthest(run: ds.Trajectory) -> float:
    return float(np.max(run["contact_x"]))


def _friction_over_place(hoop: ds.Trajectory, driven: ds.Trajectory, needed: float) -> Figure:
    drawn = new_figure(8.0, 3.4)
    axes = drawn.add_subplot()
    for run, label in ((hoop, "hoop"), (driven, "driven by its pendulum")):
        axes.plot(run["contact_x"], run["required_friction"], linewidth=1.0, label=label)
    axes.axhline(needed, color="k", linewidth=0.6, linestyle=":", label="largest, over all steps")
    axes.axhline(
        1.0, color="C3", linewidth=0.8, linestyle="--", label="grip = 1: the run ends here"
    )
    axes.set(xlabel="contact_x (m)", ylabel="|friction| / normal force")
    axes.legend(frameon=False)
    return drawn


def pendulum_energy(quick: bool) -> Shown:
    """(9): the energy of the bob, by the period of small swings on an axle that is fixed."""
    gravity, length = 9.81, 0.008
    plain = math.sqrt(gravity / length)
    doubled = "T₂ has the further term m l² φ'²/2, as if the bob had a moment of inertia"
    return Shown(
        [
            Compared(
                "frequency of the pendulum on a fixed axle",
                f"{plain / math.sqrt(2.0):.4f} rad/s",
                plain,
                "rad/s",
                doubled,
            )
        ]
    )


paper = Paper(
    "morozov-matrosov-pesterev",
    "A wheel with a pendulum on a curve",
    "Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev, The use of approaches of control theory for "
    "the numerical integration of the equations of rolling of robotic systems (in Russian)",
    [
        Item(
            "(4) and (5)",
            "the condition of rolling, and turning points",
            condition,
            [
                "daesolve analyse rolling-wheel turning-points --case hoop --out turning",
                "daesolve analyse rolling-wheel rank --case hoop --model printed",
            ],
        ),
        Item(
            "(7)",
            "a disturbance, and the laws by which it dies out",
            laws,
            ["daesolve analyse rolling-wheel disturbance --case hoop --out disturbance"],
        ),
        Item(
            "(6)",
            "the reactions as functions of the state, printed",
            formulas,
            [
                "daesolve equations rolling-wheel --case hoop --rate 10 --law contact=4,20 "
                "--law rolling=3 --reactions --to feedback.tex",
                "daesolve equations rolling-wheel --case hoop --rate 10 --law contact=4,20 "
                "--law rolling=3 --as python --to feedback.py",
            ],
        ),
        Item("(9)", "the energy of the bob", pendulum_energy),
        Item(
            "introduction",
            "the propelled pendulum, and how far friction carries it",
            grip,
            [
                "daesolve run rolling-wheel --case climbing --out climbing",
                "daesolve run rolling-wheel --case hoop --set limited=true --until 10",
            ],
        ),
        Item(
            "section 2",
            "admissible curves and rough ground",
            rough,
            ["daesolve analyse rolling-wheel admissibility --case hoop"],
        ),
        Item(
            "figure 2",
            "E(t) − E(0) of the wheel with a pendulum",
            energy,
            ["daesolve run rolling-wheel --case pendulum --out pendulum"],
        ),
        Item(
            "figure 3",
            "reactions over the place",
            reactions,
            ["daesolve run rolling-wheel --case hoop --out hoop"],
        ),
    ],
    missing={"figure 1": "a sketch of the wheel on the curve: the problem's scene shows it"},
)
