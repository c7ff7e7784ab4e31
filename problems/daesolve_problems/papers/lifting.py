"""Gerasimov 2018, both parts: how fast a bend may be before a wheel leaves the floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM = "omni-lifting"
KEEPS = "all wheels touch the floor"
NOT_ASKED = "not asked"


def overturning(quick: bool) -> Shown:
    """Return up to which bend all wheels of the symmetric vehicle stay on the floor."""
    case = ds.problem(PROBLEM).case("bend")
    found = case.analyse("bend")
    holds = ds.problem(PROBLEM).case("holds").solve(0.2 if quick else None)
    apart = found.values["lifts"] - found.values["lifts_in_closed_form"]
    least = min(float(np.min(holds[f"rim_{i}"])) for i in (1, 2, 3))
    return Shown(
        [
            Compared(
                "w V at which the wheel inside has no load",
                KEEPS,
                found.values["largest_rate_times_speed"],
                "m/s²",
                "m g R / (2 (m H + 3 J / (2 l))), in closed form",
            ),
            Compared("least load just below it", KEEPS, least, "N"),
            Compared("instant of the lift", KEEPS, found.values["lifts"], "s"),
            Compared("the same, less the closed form", "0", apart, "s"),
        ],
        dict(found.figures),
        note="Rollers so many and light that neither their changes nor their inertia matter.",
    )


def flight(quick: bool) -> Shown:
    """Return what becomes of the vehicle whose wheel has left the floor."""
    figures: dict[str, Figure] = {}
    rows: list[Compared] = []
    for name in ("bend", "tips-over"):
        case = ds.problem(PROBLEM).case(name)
        stops = case.full_parameters["motor_time"]
        answer = case.analyse("bend")
        found, what = answer.values, f"motors stop at {stops:g} s"
        rows += [
            Compared(f"{what}: largest tilt", NOT_ASKED, found["largest_tilt"], "rad"),
            Compared(f"{what}: it", NOT_ASKED, found["ends"]),
        ]
        if found["lands"] is not None:
            rows += [
                Compared(f"{what}: the wheel lands at", NOT_ASKED, found["lands"], "s"),
                Compared(f"{what}: taken by impacts", NOT_ASKED, found["taken_by_impacts"], "J"),
            ]
        figures |= {f"{what}: {title}": drawn for title, drawn in answer.figures.items()}
    if not quick:
        rows += _four()
    return Shown(rows, figures, note="Beyond the thesis, whose wheels stay upright.")


def _four() -> list[Compared]:
    answer = ds.problem(PROBLEM).case("four-wheels").analyse("bend").values
    told = "four wheels on stiff springs"
    why = "springs of 1e5 N/m; the difference falls as they become stiffer"
    return [
        Compared(f"{told}: lift in closed form", NOT_ASKED, answer["lifts_in_closed_form"], "s"),
        Compared(f"{told}: lift", NOT_ASKED, answer["lifts"], "s", why),
    ]


OVERTURNING = Item(
    "chapter 1, assumptions",
    "how fast a bend may be before a wheel leaves the floor",
    overturning,
    ["daesolve analyse omni-lifting bend --case bend --out DIR"],
)
FLIGHT = Item(
    "chapter 3, wheels that stay upright",
    "a wheel leaves the floor, flies and lands",
    flight,
    [
        "daesolve run omni-lifting --case bend --out bend",
        "daesolve run omni-lifting --case tips-over --out tips",
    ],
)
