"""Borisov, Kilin, Mamaev 2015: the questions that the paper leaves open."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

import daesolve as ds
from daesolve.errors import NotPeriodicError, OutOfRangeError
from daesolve.reporting.papers import Compared, Shown
from daesolve_problems.bogies.circle import advances, circle_of, drift, separatrices
from daesolve_problems.bogies.circle_pictures import (
    graph,
    plane_of_tongues,
    staircase,
    torus,
    widths_of_tongues,
)
from daesolve_problems.bogies.tongues import (
    NEAR_ENDS,
    ReducedMotion,
    Tongue,
    follow_tongue,
    tongue_near,
)

OPEN = "an open problem"
BESIDE = "or passes it so closely (1e-7) that its rates have fewer than nine digits"
FIRST, DIFFERENCE = 3.0, -2.0
"""C_1 and C_2 - C_1 of the motion that is examined closely, rad/s."""
SLICES = (-2.1, -2.3, -2.5, -2.7, -2.9, -3.1)
"""Further C_2 - C_1 at which tongues are followed, rad/s."""
DRAWN = 2
"""The largest q of tongues in the picture of the plane."""


def circle(quick: bool) -> Shown:
    """First open problem: the motion as a map of a circle, where it locks, and how it drifts."""
    case = ds.problem("bogies").case("regular", model="reduced")
    found = circle_of(case, DIFFERENCE, FIRST)
    stable, unstable = found.fixed_points((3, 1))
    shift = drift(case, found, (3, 1))
    values = np.linspace(2.05, 3.55, 16 if quick else 61).tolist()
    numbers = _numbers(found, values, 100 if quick else 300)
    free = found.at(C1=2.3).rotation_number(400 if quick else 2000)
    rows = [
        Compared(
            "rotation number at C₁ = 3, C₂ = 1",
            OPEN,
            f"{found.rotation_number(100).value:g}",
            "π",
            "locked: both bogies turn 3π",
        ),
        Compared(
            "multiplier of the attracting motion",
            OPEN,
            stable.multiplier,
            "",
            "energy is conserved, and yet it attracts: no volume is preserved",
        ),
        Compared("multiplier of the repelling motion", OPEN, unstable.multiplier),
        Compared(
            "rotation number at C₁ = 2.3, C₂ = 0.3",
            OPEN,
            free.value,
            "π",
            f"not locked, to {free.uncertainty:.0e}",
        ),
        Compared(
            "drift of the place of the locked motion",
            OPEN,
            shift.along,
            "m a period",
            "the frame does not turn: it goes straight away",
        ),
        Compared("turn of the frame in a period", OPEN, abs(shift.turned), "rad"),
    ]
    ended = f"{len(values) - len(numbers)} of {len(values)}"
    rows.append(
        Compared("values of C₁ whose motion ends in a degenerate point", OPEN, ended, "", BESIDE)
    )
    return Shown(
        rows,
        {
            "the map, C₁ = 3, C₂ = 1": graph(found, (3, 1), 60 if quick else 400),
            "rotation numbers": staircase(list(numbers), list(numbers.values())),
            "separatrices": torus(separatrices(case, FIRST, DIFFERENCE)),
        },
        note=(
            "Where no volume is preserved, a motion may attract others on its level of energy and "
            "integrals; daesolve analyse bogies invariant-measure shows that none is preserved."
        ),
    )


def _numbers(
    found: ds.analysis.CircleMap, values: list[float], periods: int
) -> dict[float, ds.analysis.RotationNumber]:
    """Return rotation numbers; motions that run into a degenerate point have none."""
    numbers: dict[float, ds.analysis.RotationNumber] = {}
    for value in values:
        with contextlib.suppress(NotPeriodicError):
            numbers[value] = found.at(C1=value).rotation_number(periods)
    return numbers


def tongues(quick: bool) -> Shown:
    """First open problem: for which C_1 / V and C_2 / V motions are locked."""
    case = ds.problem("bogies").case("regular", model="reduced")
    motion = ReducedMotion.of(case)
    found = [tongue_near(motion, ratio, DIFFERENCE, ends) for ratio, ends in NEAR_ENDS.items()]
    rows = [
        Compared(
            f"tongue {one.ratio[0]}/{one.ratio[1]} at C₂ − C₁ = {DIFFERENCE:g}: C₁",
            OPEN,
            f"{one.low:.12f} to {one.high:.12f}, width {one.width:.3e}",
            "rad/s",
        )
        for one in found
    ]
    slices = SLICES[2::3] if quick else SLICES
    order = 1 if quick else DRAWN
    followed = [_followed(motion, one, slices) for one in found if one.ratio[1] <= order]
    size = 24 if quick else 72
    first, difference = np.linspace(0.5, 8.5, size), np.linspace(-3.1, -1.6, size)
    advance = advances(case, first, difference, 10 if quick else 30, 120 if quick else 200)
    level = float(case.full_start["level"])
    return Shown(
        rows,
        {
            "tongues": plane_of_tongues(first, difference, advance, level, followed),
            "widths of tongues": widths_of_tongues(found),
        },
        note=(
            "At each end a stable and an unstable motion merge; both conditions hold to "
            f"{max(one.missed for one in found):.0e}. A tongue is drawn as far as both ends are "
            "saddle-nodes; beyond, an end is a corner, whose motion meets a degenerate point."
        ),
    )


def _followed(motion: ReducedMotion, known: Tongue, slices: Sequence[float]) -> list[Tongue]:
    """Return a tongue in the order of D, as far as its ends are saddle-nodes."""
    found = [known]
    with contextlib.suppress(OutOfRangeError):
        for difference in slices:
            found.append(follow_tongue(motion, found[-1], difference))
    return found[::-1]


def growth(quick: bool) -> Shown:
    """Last remark: where the growth vector is not constant."""
    answer = ds.problem("bogies").case("regular").analyse("growth")
    values = answer.values
    rows: list[Compared] = []
    for name in ("regular", "front across", "rear across"):
        dims = ", ".join(map(str, values["growth_vectors"][name]))
        rows += [
            Compared(f"growth vector, {name}", "may change", f"({dims})"),
            Compared(f"order of a sideways manoeuvre, {name}", "", values["orders"][name]),
        ]
    for passage in values["passages"]:
        other = "rear" if passage["where"] == "front across" else "front"
        why = "its path has a cusp: turning this bogie does not steer there"
        rows += [
            Compared(
                f"speed of the {other} pivot, {passage['where']}", "", passage["speed"], "m/s", why
            ),
            Compared(f"its rate of change, {passage['where']}", "", passage["rate"], "m/s²"),
            Compared(
                f"largest force about it, {passage['where']}",
                "",
                passage["largest_force"],
                "N",
                "finite: the motion is smooth",
            ),
        ]
    return Shown(rows, dict(answer.figures))


def volume(quick: bool) -> Shown:
    """Introduction: invariant measures, which the paper's equations may or may not have."""
    rows: list[Compared] = []
    for name in ("bogies", "cart", "unicycle", "knife-edge", "rolling-disc"):
        found = ds.analysis.invariant_measure(ds.problem(name).case().system)
        verdict = "kept" if found.exists else "none at all" if found.none_at_all else "none found"
        rows.append(
            Compared(
                f"volume, {name}", "not asked", verdict, "", f"{found.said} ({found.evidence})"
            )
        )
    edge = ds.analysis.reducing_multiplier(ds.problem("knife-edge").case().system, ["x", "phi"])
    ratio = edge.ratio({"phi": 1.0}, {})
    rows.append(
        Compared(
            "reducing multiplier of a knife edge, N(1) / N(0)", f"cos 1 = {np.cos(1.0):.12f}", ratio
        )
    )
    return Shown(rows)
