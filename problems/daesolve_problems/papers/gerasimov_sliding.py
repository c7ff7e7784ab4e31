"""Gerasimov 2018, chapter 3: omni-wheels with massive rollers that slide."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Paper, Shown
from daesolve_problems.omni_friction.series import PAIRS, pair
from daesolve_problems.papers.common import figure, percent
from daesolve_problems.papers.lifting import FLIGHT
from daesolve_problems.spindle import Spindle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM = "omni-friction"
SAYS = {
    "spin": "negligible at 1e-6, quite essential at 1e-3",
    "straight": "grows with the mass of the rollers",
}
WHY = {
    "spin": "",
    "straight": (
        "the peak tends to v₀/2, however light the rollers are; only its width goes to zero, "
        "so evenly spaced samples miss it"
    ),
}


def examples(quick: bool) -> Shown:
    """Figure 3.7: paths, angles and rollers in contact."""
    found: dict[str, Figure] = {}
    rows: list[Compared] = []
    for letter, name in (("a", "spin"), ("b", "straight")):
        case = ds.problem(PROBLEM).case(name, roller_share=0.1)
        run = case.solve(0.5 if quick else None)
        found[f"{letter}, {name}"] = figure(case, run, "motion of the vehicle")
        changes = [event for event in run.events if event.name == "roller_switch"]
        jumps = [
            abs((event.after or {})[state] - value)
            for event in changes
            for state, value in event.detail.items()
        ]
        rows.append(
            Compared(
                f"{name}: largest jump of a state at {len(changes)} changes of rollers",
                "smooth, without impact",
                max(jumps),
                why="conclusion 5: slips never jump, because rollers end in points",
            )
        )
    return Shown(rows, found)


def deviations(number: str, quick: bool) -> Shown:
    """Return the distance from the motion without inertia of the rollers, and the slip."""
    name, shares = PAIRS[number]
    case = ds.problem(PROBLEM).case(name)
    found, drawn = pair(case, name, shares[:1] if quick else shares)
    rows: list[Compared] = []
    for row in found:
        share, unit = row["roller_share"], "rad" if name == "spin" else "m"
        rows += [
            Compared(
                f"{share:g}: peak of the slip", SAYS[name], row["peak_slip"], "m/s", WHY[name]
            ),
            Compared(f"{share:g}: largest deviation", "a curve", row["deviation"], unit),
            Compared(f"{share:g}: energy lost", "not given", percent(row["dissipated_share"])),
        ]
    note = "The η of the captions is read as the share of all rollers."
    return Shown(rows, {f"figure {number}": drawn}, note=note)


def limit(quick: bool) -> Shown:
    """Return the orders with which motions approach each other without bound."""
    rows: list[Compared] = []
    shares, until = ((1e-1, 1e-2), 0.3) if quick else ((1e-3, 1e-4, 1e-5), 2.0)
    for name, measure, order, why in (
        ("spin", "angle_deviation", "1", "no contact has a velocity along its axle"),
        ("straight", "position_deviation", "1/3", "a boundary layer at each change of rollers"),
    ):
        found: list[float] = []
        for share in shares:
            case = ds.problem(PROBLEM).case(name, roller_share=share)
            run = case.solve(until=until, at=np.linspace(0.0, until, 201))
            found.append(case.problem.measures[measure].rule(case, run))
        steps = -np.diff(np.log10(found))
        rows.append(
            Compared(
                f"{name}: order of the deviation in the share",
                "approach without bound",
                ", ".join(f"{step:.3f}" for step in steps),
                why=f"theory: {order}; {why}",
            )
        )
    return Shown(rows, note=f"After {until:g} s, shares {', '.join(f'{s:g}' for s in shares)}.")


def older_model(quick: bool) -> Shown:
    """Section 3.1: the model without inertia of the rollers, with J as printed."""
    vehicle = ds.problem("omni-inertialess")
    right, printed = (
        vehicle.case("off-centre-mixed", model=model).solve(until=10.0, at=[0.0, 10.0])
        for model in ("corrected", "printed")
    )
    away = math.dist(*((run["x"][-1], run["y"][-1]) for run in (right, printed)))
    gained, kept = (run["energy"][-1] / run["energy"][0] - 1.0 for run in (printed, right))
    turned = "with the printed J, velocities turn the other way"
    return Shown(
        [
            Compared("J", "((0, 1), (−1, 0))", "((0, −1), (1, 0))", why=turned),
            Compared("distance of the vehicle at the end", "0", away, "m", "J printed, after 10 s"),
            Compared("energy gained", percent(gained), f"{kept:.0e}", "", "mass centre outside"),
        ]
    )


def imposing(quick: bool) -> Shown:
    """Ask whether friction ends a slip at once, as chapter 2 assumes."""
    rows: list[Compared] = []
    figures: dict[str, Figure] = {}
    for end in (0.01,) if quick else (0.01, 0.004):
        case = ds.problem("omni-laws").case("straight", roller_end_radius=end)
        answer = case.analyse("limit")
        light, strong = (
            answer.values[name] for name in ("impacts_to_inertialess", "friction_to_impacts")
        )
        said = answer.values["imposing_at_once"]
        what = f"ends of {1e3 * end:g} mm"
        rows += [
            Compared(
                f"{what}: duration of a slip over the time between changes",
                "at once",
                said["ratio"],
                why="B |u| / (ρ_e² μ N) over 2π / (n |χ'|)",
            ),
            Compared(
                f"{what}: error of imposing at once",
                "not asked",
                percent(said["error_of_place"]),
                why="of the effect of the rollers' inertia on the position",
            ),
            Compared(
                f"{what}: order of friction → impacts in 1/(μ g)",
                "not asked",
                strong["order_of_place"],
                why="1 in the limit; fitted at 10, 30 and 100 times the weight",
            ),
            Compared(
                f"{what}: order of impacts → no inertia in B",
                "not asked",
                light["order_of_place"],
                why="1 in the limit",
            ),
        ]
        figures |= {f"{what}: {name}": drawn for name, drawn in answer.figures.items()}
    return Shown(
        rows,
        figures,
        note=(
            "With the pointed rollers of chapter 3, rolling cannot be imposed at all: on its "
            "tip a roller would have to turn infinitely fast. They tend to rollers without "
            "inertia with the order 1/3 (conclusion 6); thick ends have both limits, of order "
            "1."
        ),
    )


def lowest_point(quick: bool) -> Shown:
    """(2.1) to (2.5) of chapter 3: the lowest point of a roller by its formula and by search."""
    rollers, radius = 4, 0.05
    roller = Spindle(radius, rollers)
    along = np.linspace(-1.0, 1.0, 2001 if quick else 20001) * roller.half_angle
    worst, lower = 0.0, ""
    for tilt in np.linspace(-1.2, 1.2, 25):
        # The profile in the vertical plane of its axis: x along the axis, rho below it.
        x = radius * np.sin(along)
        rho = radius * np.cos(along) - roller.axis_distance
        heights = x * np.sin(tilt) - rho * np.cos(tilt)
        if abs(tilt) <= roller.half_angle:
            formula = roller.axis_distance * math.cos(tilt) - radius
        else:
            formula = -roller.half_length * abs(math.sin(tilt))
        worst = max(worst, abs(float(heights.min()) - formula))
        if tilt > roller.half_angle:
            lower = "B₋" if along[int(heights.argmin())] < 0.0 else "B₊"
    return Shown(
        [
            Compared("height of the lowest point, over the tilt", "(2.2), (2.3)", worst, "m"),
            Compared("the lowest point, where the axis points up steeply", "B₋", lower),
        ],
        note=(
            "The largest difference from the lowest of all points of the contour; the rest "
            "comes from the grid of the search. These equations are printed without a slip."
        ),
    )


def _item(number: str) -> Item:
    name, shares = PAIRS[number]
    what = "turns on the spot" if name == "spin" else "goes straight ahead"
    return Item(
        f"figure {number}",
        f"the vehicle {what}, shares of {' and '.join(f'{share:g}' for share in shares)}",
        partial(deviations, number),
        ["daesolve analyse omni-friction share-series --out DIR"],
        slow=shares[0] != 0.1,
    )


paper = Paper(
    "gerasimov-sliding",
    "Sliding omni-wheels, and the limit without inertia",
    "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with "
    "friction, Moscow State University (2018, in Russian), chapter 3",
    [
        Item("(2.1) to (2.5)", "the lowest point of a roller", lowest_point),
        Item(
            "section 3.1",
            "the older model",
            older_model,
            ["daesolve run omni-inertialess --case off-centre-mixed --model printed"],
        ),
        Item(
            "figure 3.7",
            "examples of paths, angles and rollers in contact",
            examples,
            ["daesolve run omni-friction --case spin --out spin"],
        ),
        *(_item(number) for number in PAIRS),
        Item(
            "conclusion 6",
            "the limit of vanishing rollers",
            limit,
            [
                "daesolve sweep omni-friction --case straight "
                "--over roller_share=1e-1,1e-2,1e-3,1e-4,1e-5,1e-6"
            ],
        ),
        Item(
            "chapter 2, section 1",
            "does a slip end at once?",
            imposing,
            ["daesolve analyse omni-laws limit --case straight --out DIR"],
        ),
        FLIGHT,
    ],
    missing={
        "figures 3.1 to 3.3": "sketches of the wheel, of a roller and of its contact; what they "
        "define is in the docstrings of the problem, and its drawing shows the vehicle",
        "figures 3.4 and 3.5": "sketches of the model without inertia; the drawing of the problem "
        "omni-inertialess shows it",
        "figure 3.6": (
            "names the parameters, but the available text of the thesis gives no numbers; the "
            "problem uses the sizes of chapter 2 with four pointed rollers, so curves can be "
            "compared in kind and order, but not in value"
        ),
        "section 2, the single roller and wheel": "tests of a roller that falls, lands and slides "
        "on the way to the vehicle; the thesis shows no results",
    },
)
