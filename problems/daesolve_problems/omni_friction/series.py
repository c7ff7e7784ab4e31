"""The thesis' figures 3.8 to 3.12: deviations and slip as the rollers get lighter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.figures import Document
from daesolve_problems.omni_friction.pictures import beside_each_other, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPIN, STRAIGHT = "spin", "straight"
PAIRS = {
    "3.8": (SPIN, (1e-1, 1e-2)),
    "3.9": (SPIN, (1e-3, 1e-4)),
    "3.10": (SPIN, (1e-5, 1e-6)),
    "3.11": (STRAIGHT, (1e-1, 1e-2)),
    "3.12": (STRAIGHT, (1e-3, 1e-4)),
}
"""The figures: the case, and the rollers' shares of the wheel's mass, eta times their number."""
MEASURED = {SPIN: "angle_deviation", STRAIGHT: "position_deviation"}
"""What deviates in each motion; the other is zero by symmetry."""


def share_series(case: BoundCase) -> ds.Answer:
    """Draw the figures 3.8 to 3.12 of the vehicle, its rollers' share of the mass going down.

    The motions are those of the figures, on the spot and straight on, whatever the case is.
    """
    rows: list[dict[str, Any]] = []
    figures: dict[str, Figure] = {}
    for number, (name, shares) in PAIRS.items():
        found, figures[f"figure {number}"] = pair(case, name, shares)
        rows += [{"figure": number, "case": name, **row} for row in found]
    return ds.Answer({"deviations": _with_orders(rows)}, figures)


def pair(
    case: BoundCase, name: str, shares: Sequence[float]
) -> tuple[list[dict[str, float]], Figure]:
    """Return what is measured at some shares, a row each, and the figure.

    Parameters
    ----------
    case
        The vehicle; its motion and its share do not count.
    name
        The case with the motion.
    shares
        The rollers' shares of the mass of a wheel.
    """
    assert isinstance(case.problem, ds.Problem)
    chosen: dict[str, Any] = {**case.structure, **case.parameters}
    rows: list[dict[str, float]] = []
    documents: dict[str, Document] = {}
    for share in shares:
        chosen["roller_share"] = share
        moving = case.problem.case(name, **chosen)
        values, documents[f"{name}, share {share:g}"] = measured(moving)
        slips = [value for key, value in values.items() if key.startswith("peak_slip")]
        rows.append(
            {
                "roller_share": share,
                "deviation": values[MEASURED[name]],
                "peak_slip": max(slips),
                "dissipated_share": values["dissipated_share"],
            }
        )
    return rows, beside_each_other(documents)


def _with_orders(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with the order of the deviation from the row before, of the same motion."""
    found: list[dict[str, Any]] = []
    for row in rows:
        last = found[-1] if found and found[-1]["case"] == row["case"] else None
        order: float | str = ""
        if last is not None:
            step = np.log(row["deviation"] / last["deviation"])
            order = float(step / np.log(row["roller_share"] / last["roller_share"]))
        found.append({**row, "order": order})
    return found
