"""Gerasimov 2018, chapter 3: omni-wheels with massive rollers that slide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.papers import Compared, Item, Paper, Shown
from daesolve_problems.papers.common import figure, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM = "omni-friction"
COMMAND = "daesolve analyse omni-friction deviation --case {} --set roller_share={:g} --out DIR"
SAYS = {
    "spin": "negligible at 1e-6, quite essential at 1e-3",
    "straight": "grows with the mass of the rollers",
}
WHY = {
    "spin": "",
    "straight": "the peak tends to v₀/2, however light the rollers are; its width alone "
    "goes to zero, so that even samples miss it",
}


def examples(quick: bool) -> Shown:
    """Figure 3.7: paths, angles and rollers in contact."""
    found: dict[str, Figure] = {}
    for letter, name in (("a", "spin"), ("b", "straight")):
        case = ds.problem(PROBLEM).case(name, roller_share=0.1)
        run = case.solve(0.5 if quick else None)
        found[f"{letter}, {name}"] = figure(case, run, "motion of the vehicle")
    return Shown((), found)


def deviations(name: str, shares: Sequence[float], quick: bool) -> Shown:
    """Return how far the motion is from that without inertia of the rollers, and the slip."""
    rows: list[Compared] = []
    found: dict[str, Figure] = {}
    for share in shares[:1] if quick else shares:
        answer = ds.problem(PROBLEM).case(name, roller_share=share).analyse("deviation")
        found[f"share {share:g}"] = answer.figures["deviation"]
        values = answer.values
        slip = max(value for key, value in values.items() if key.startswith("peak_slip"))
        deviation = values["angle_deviation" if name == "spin" else "position_deviation"]
        unit = "rad" if name == "spin" else "m"
        rows += [
            Compared(f"{share:g}: peak of the slip", SAYS[name], slip, "m/s", WHY[name]),
            Compared(f"{share:g}: largest deviation", "a curve", deviation, unit),
            Compared(f"{share:g}: energy lost", "not given", percent(values["dissipated_share"])),
        ]
    return Shown(rows, found, note="η of the captions is taken for the share of all rollers.")


def limit(quick: bool) -> Shown:
    """Say with which order motions approach without bound."""
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
    turned = "with J as printed velocities turn the other way"
    return Shown(
        [
            Compared("J", "((0, 1), (−1, 0))", "((0, −1), (1, 0))", why=turned),
            Compared("the vehicle ends away by", "0", away, "m", "J printed, after 10 s"),
            Compared("energy gained", percent(gained), f"{kept:.0e}", "", "mass centre outside"),
        ]
    )


def _series(name: str, *shares: float) -> Item:
    number = {("spin", 0.1): "3.8", ("spin", 1e-3): "3.9", ("spin", 1e-5): "3.10"}
    number |= {("straight", 0.1): "3.11", ("straight", 1e-3): "3.12"}
    what = "turns on the spot" if name == "spin" else "goes straight ahead"
    return Item(
        f"figure {number[name, shares[0]]}",
        f"the vehicle {what}, shares of {' and '.join(f'{share:g}' for share in shares)}",
        partial(deviations, name, shares),
        [COMMAND.format(name, share) for share in shares],
        slow=shares[0] != 0.1,
    )


paper = Paper(
    "gerasimov-sliding",
    "Sliding omni-wheels, and the limit without inertia",
    "K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with "
    "friction, Moscow State University (2018, in Russian), chapter 3",
    [
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
        _series("spin", 0.1, 0.01),
        _series("spin", 1e-3, 1e-4),
        _series("spin", 1e-5, 1e-6),
        _series("straight", 0.1, 0.01),
        _series("straight", 1e-3, 1e-4),
        Item(
            "conclusion 6",
            "the limit of vanishing rollers",
            limit,
            [
                "daesolve sweep omni-friction --case straight "
                "--over roller_share=1e-1,1e-2,1e-3,1e-4,1e-5,1e-6"
            ],
        ),
    ],
    missing={
        "figures 3.1 to 3.6": "sketches of the wheel, the contact and the vehicle, and diagrams of "
        "the object-oriented model; the problem's drawing shows the vehicle",
    },
)
