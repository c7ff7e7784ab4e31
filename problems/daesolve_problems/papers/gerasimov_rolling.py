"""Gerasimov 2018, chapters 1 and 2: omni-wheels with massive rollers that do not slip."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Paper, Shown
from daesolve_problems.figures import new_figure
from daesolve_problems.orders import slope
from daesolve_problems.papers.common import figure, percent
from daesolve_problems.papers.lifting import OVERTURNING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM, MODEL, MOTION = "omni-rolling", "compact", "motion of the vehicle"
NU = ("nu_1", "nu_2", "nu_3")
PRINTED_B = 1.6e-5


def spin(quick: bool) -> Shown:
    """Figure 2.4: the vehicle turns on the spot."""
    case = ds.problem(PROBLEM).case("spin", model=MODEL)
    run = case.solve(25.0 if quick else None)
    times = [event.time for event in run.events[:4]]
    rows = [
        Compared(f"change of rollers number {n}", f"t = {at:g} s", time, "s")
        for n, (at, time) in enumerate(zip((1.0, 3.0, 5.0, 7.5), times, strict=True), start=1)
    ]
    if not quick:
        lost = 1.0 - run["nu_3"][-1] / run["nu_3"][0]
        rows.append(
            Compared(
                "ν₃ falls in the first 1000 s by",
                "5 %",
                percent(lost),
                why="it decays as 1/t, not exponentially",
            )
        )
    return Shown(rows, {MOTION: figure(case, run, MOTION)})


def straight(quick: bool) -> Shown:
    """Figure 2.5: the vehicle goes straight ahead."""
    case = ds.problem(PROBLEM).case("straight", model=MODEL)
    run = case.solve(30.0 if quick else 60.0, at=ds.every(0.01))
    energy = run["energy"] / run["energy"][0]
    axis, rollers = case.full_parameters["roller_axis_radius"], case.full_structure["rollers"]
    limit = _limit_of_straight_motion(run.description["derived"], axis, rollers)
    late = [event.time for event in run.events if event.time > 20.0]
    why = (
        "each roller loses energy only at its first contact; later it arrives with the spin "
        "that it kept"
    )
    return Shown(
        [
            Compared(
                "T falls", "with every change of rollers", "with the first 16 of them", "", why
            ),
            Compared("T / T(0) at the end", "keeps falling", float(energy[-1])),
            Compared("its limit in closed form", "none", limit),
            Compared("period between changes", "not given", float(np.diff(late).mean()), "s"),
            Compared(
                "largest |ν₃|",
                "0, identically",
                float(np.max(np.abs(run["nu_3"]))),
                "1/s",
                "true if both constraints of an instant are imposed together",
            ),
        ],
        {MOTION: figure(case, run, MOTION)},
    )


def _limit_of_straight_motion(p: Mapping[str, float], axis: float, rollers: int) -> float:
    """Return T(infinity) / T(0): what the first contacts of fresh rollers leave."""
    length, half = p["wheel_radius"], math.pi / rollers
    end = length * math.cos(half) - axis
    middle = length - axis
    inertia, own = p["wheel_inertia"], p["roller_inertia"]
    mass = p["total_mass"] + 1.5 * inertia / length**2 + own / middle**2 + 0.5 * own / end**2
    return 1.0 / (1.0 + (rollers - 1) * own / (2.0 * end**2 * mass))


def twist(quick: bool) -> Shown:
    """Figure 2.6: the vehicle goes ahead and turns."""
    case = ds.problem(PROBLEM).case("twist", model=MODEL)
    until = 60.0 if quick else 1000.0
    run = case.solve(until, at=ds.every(0.05))
    found = {MOTION: figure(case, run, MOTION), "energies after Koenig": _koenig(run)}
    if quick:
        return Shown((), found, note="60 s of 1000 s: the extremes come later.")
    rate, speed = run["nu_3"], np.hypot(run["nu_1"], run["nu_2"])
    best = int(np.argmax(rate))
    slow = float(run.times[np.flatnonzero(speed >= 0.01 * speed[0])[-1]])
    last = speed[run.times > 900.0]
    return Shown(
        [
            Compared("ν₃ is largest at", "about 150 s", float(run.times[best]), "s", "very flat"),
            Compared("its value there", "not given", float(rate[best]), "1/s"),
            Compared("v < v(0)/100 from", "about 300 s", slow, "s"),
            Compared(
                "v in the last 100 s",
                "vanishing",
                f"{last.min():.3g} to {last.max():.3g}",
                "1/s",
                "it never comes to rest, since the wheels are out of phase",
            ),
        ],
        found,
    )


def _koenig(run: ds.Trajectory) -> Figure:
    """Draw the energy of the mass centre, and that of the motion about it."""
    centre = 0.5 * run.description["derived"]["total_mass"] * run["speed"] ** 2
    drawn = new_figure(8.0, 3.0)
    axes = drawn.add_subplot()
    axes.plot(run.times, 1e3 * centre, linewidth=1.0, label="of the mass centre")
    axes.plot(run.times, 1e3 * (run["energy"] - centre), linewidth=1.0, label="about it")
    axes.set(xlabel="t (s)", ylabel="kinetic energy (mJ)")
    axes.legend()
    return drawn


def parameters(quick: bool) -> Shown:
    """Return the parameters in the text, and those that had to be found."""
    case = ds.problem(PROBLEM).case("spin", model=MODEL)
    found = case.solve(0.1).description["derived"]
    larger = 0.05 * 0.025**2 / 2.0
    rows = [
        Compared(
            "B, a roller's moment of inertia",
            f"{PRINTED_B:g}",
            found["roller_inertia"],
            "kg m²",
            f"the printed value is for four rollers, {larger:.4g}; with it the vehicle on the spot "
            "would lose 22 % of its rate in 1000 s, and not the 5 % of the thesis",
        ),
        Compared("Λ", "not defined", found["vehicle_inertia"] / _scale(found), "", "I_S / (M l²)"),
    ]
    return Shown(rows)


def _scale(p: Mapping[str, float]) -> float:
    return p["total_mass"] * p["wheel_radius"] ** 2


def models(quick: bool) -> Shown:
    """(2.3) to (2.8): the reduced equations against rigid bodies with multipliers."""
    until = 1.0 if quick else 10.0
    problem = ds.problem(PROBLEM)
    runs = {
        model: problem.case("twist", model=model).solve(until)
        for model in ("compact", "thesis", "general")
    }
    names = ("x", "y", "theta")

    def apart(model: str) -> float:
        ends = runs[MODEL].end_state, runs[model].end_state
        return max(abs(ends[0][name] - ends[1][name]) for name in names)

    bodies = "largest difference of x, y (m) and θ from the reduced equations, corrected"
    return Shown(
        [
            Compared("by multipliers", "equivalent", apart("thesis"), "", bodies),
            Compared("wheels at any place and tilt", "not treated", apart("general"), "", bodies),
        ],
        note=(
            f"Over {until:g} s with changes of rollers. The documentation of this paper "
            "computes the effect of each misprint on the accelerations."
        ),
    )


def properties(quick: bool) -> Shown:
    """Properties 1, 2 and 4 to 6 of the equations; 3, B = 0, is a separate item."""
    problem = ds.problem(PROBLEM)
    until = 1.0 if quick else 10.0
    case = problem.case("twist", model="thesis")
    run = case.solve(until)
    integrals = [d.max_abs for name, d in run.drift.items() if name.startswith("roller_mo")]
    free = {"nu_1": 0.0, "nu_3": 0.0, "phi_dot_1_2": 3.0, "phi_dot_2_4": -2.0}
    resting = case.starting(free).solve(until)
    kept = max(abs(resting.end_state[name] - free[name]) for name in ("phi_dot_1_2", "phi_dot_2_4"))
    moved = max(abs(resting.end_state[name]) for name in ("x", "y", "theta", *NU))
    reduced = problem.case("twist", model=MODEL)
    faster = reduced.solve(until / 2.5, initial=dict.fromkeys(("nu_1", "nu_3"), 2.5))
    slower = reduced.solve(until)
    scaled = max(abs(faster.end_state[name] - 2.5 * slower.end_state[name]) for name in NU)
    spun = problem.case("spin", model=MODEL).solve(1.0)
    return Shown(
        [
            Compared("1: T between changes varies by", "0", run.drift["energy"].max_relative),
            Compared("2: free rollers of a resting platform change by", "0", kept, "rad/s"),
            Compared("2: the platform then moves by", "0", moved),
            Compared(
                "4: |ν₃ − 1| on the spot, before the first change",
                "of the order of B",
                abs(float(spun["nu_3"][-1]) - 1.0),
                "1/s",
            ),
            Compared("5: (2.8) varies by", "0", max(integrals), "rad/s"),
            Compared(
                "6: error of velocities 2.5 times as large, 2.5 times earlier",
                "equivalent to t → λ t",
                scaled,
                "1/s",
                "ν(t) → λ ν(λ t), and only for λ > 0 where there are impacts",
            ),
        ],
        note=f"Over {until:g} s, through changes of rollers, except for property 4.",
    )


def impacts(quick: bool) -> Shown:
    """Chapter 2, (1.1) to (1.6) and section 1.3: the impact, twice, and its energy loss."""
    until = 2.0 if quick else 20.0
    problem = ds.problem(PROBLEM)
    runs = {m: problem.case("twist", model=m).solve(until) for m in (MODEL, "thesis")}
    results = {
        model: [event.impact for event in run.events if event.impact is not None]
        for model, run in runs.items()
    }
    pairs = list(zip(results[MODEL], results["thesis"], strict=True))
    whole = pairs[0][0].kinetic_before
    lost = {
        model: sum(impact.kinetic_before - impact.kinetic_after for impact in found)
        for model, found in results.items()
    }
    apart = max(abs(one.kinetic_after - other.kinetic_after) for one, other in pairs) / whole
    least = min(one.kinetic_before - one.kinetic_after for one, _ in pairs) / whole
    energy = runs[MODEL]["energy"]
    return Shown(
        [
            Compared(
                "T after an impact, reactions against projection",
                "equal",
                apart,
                "of T",
                "once with the multipliers F of (1.6), once without them from the conserved "
                "momenta",
            ),
            Compared(
                f"energy lost in {len(pairs)} impacts, by (1.6)", "not given", lost["thesis"], "J"
            ),
            Compared("the same by the reduced equations", "not given", lost[MODEL], "J"),
            Compared(
                "the same from T at both ends", "not given", float(energy[0] - energy[-1]), "J"
            ),
            *(
                Compared(
                    f"error of Carnot's theorem in each impact, {where}",
                    "ΔT = −(M Δq̇, Δq̇)/2",
                    max(impact.carnot for impact in found),
                    "of T",
                )
                for where, found in zip(("reduced", "by (1.6)"), results.values(), strict=True)
            ),
            Compared("least loss of an impact", "≥ 0", least, "of T"),
        ],
        note=f"Over {until:g} s of the third motion.",
    )


def without_inertia(quick: bool) -> Shown:
    """Property 3, and "comparison with the model without inertia": B goes to zero."""
    inertias = (1e-8, 1e-9) if quick else (1e-8, 1e-9, 1e-10, 1e-11)
    times = np.linspace(0.0, 20.0, 2001)
    turned: list[float] = []
    moved: list[float] = []
    for inertia in inertias:
        run = (
            ds.problem(PROBLEM)
            .case("twist", model=MODEL, roller_inertia=inertia)
            .solve(20.0, at=times)
        )
        p = run.description["derived"] | dict(run.description["parameters"])
        added = 1.5 * p["wheel_inertia"] / p["wheel_radius"] ** 2
        rate = p["total_mass"] / ((p["total_mass"] + added) * p["velocity_scale"])
        ideal = np.exp(-1j * rate * times)
        turned.append(float(np.max(np.abs(run["nu_3"] - 1.0))))
        moved.append(float(np.max(np.abs(run["nu_1"] + 1j * run["nu_2"] - ideal))))
    why = "the largest over the first 20 s, 68 changes; the rest is of the next order in B"
    last = inertias[-1]
    return Shown(
        [
            Compared("|ν₃ − 1| / B", "m₃₃ ν₃ = const", turned[-1] / last, "1/(s kg m²)", why),
            Compared("order in B", "not given", slope(inertias, turned), "", "theory: 1"),
            Compared(
                "|(ν₁, ν₂) − circle| / B",
                "not given",
                moved[-1] / last,
                "1/(s kg m²)",
                "without inertia v turns in the platform's axes at θ' M / (M + 3J/(2l²))",
            ),
            Compared("order in B", "not given", slope(inertias, moved), "", "theory: 1"),
        ],
        note="The third motion, with the masses and all other moments kept.",
    )


paper = Paper(
    "gerasimov-rolling",
    "Rolling omni-wheels with massive rollers",
    "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with "
    "friction, Moscow State University (2018, in Russian), chapters 1 and 2",
    [
        Item("parameters", "those of chapter 2", parameters),
        Item("(2.3) to (2.8)", "the reduced equations", models),
        Item("properties 1 to 6", "of the equations of motion", properties),
        Item(
            "chapter 2, section 1",
            "the impact at a change of rollers",
            impacts,
            ["daesolve run omni-rolling --case twist --model compact --until 20"],
        ),
        Item(
            "figure 2.4",
            "the vehicle turns on the spot",
            spin,
            ["daesolve run omni-rolling --case spin --model compact --out spin"],
        ),
        Item(
            "figure 2.5",
            "the vehicle goes straight ahead",
            straight,
            ["daesolve run omni-rolling --case straight --model compact --out straight"],
        ),
        Item(
            "figure 2.6",
            "the vehicle goes ahead and turns",
            twist,
            ["daesolve run omni-rolling --case twist --model compact --out twist"],
        ),
        Item(
            "conclusion 2",
            "the model without inertia as the limit B → 0",
            without_inertia,
            ["daesolve analyse omni-laws limit --out DIR"],
        ),
        OVERTURNING,
    ],
    missing={
        "figures 1.1 and 1.2": "sketches of the wheel and the vehicle, which the drawing of the "
        "problem shows in motion",
        "figure 2.1": "a sketch of rollers that are cut off and overlap; the drawing shows the "
        "part of each roller that touches the floor",
        "figures 2.2 and 2.3": (
            "sketches of the components of a reaction and of the projection; their content is "
            "computed under chapter 2, section 1"
        ),
        "(1.1) to (1.5) of chapter 1": (
            "the constraints and the matrix V, which are used rather than compared: the slips "
            "of the model thesis are (1.3) and (1.4)"
        ),
    },
)
