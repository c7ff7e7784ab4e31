"""The limit of stiff creep, found twice: from the equations at a state, and from motions.

The two have nothing in common but the slips: `daesolve.nonholonomic.creep_limit` looks at the slow
motion at some states and does not integrate, the sweep integrates the full system at several eps
and measures slips beside their terms once the fast motion has died away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.nonholonomic import CreepLimit, Slip, creep_limit, creep_limits, slip_shares
from daesolve_problems.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, float]
ROUNDING = 1e-8
"""Shares of runs that are not larger are rounding and errors of integration."""
HALF_WAY = 0.25
"""Orders above it are not zero."""


def limit_answer(
    system: ds.MechanicalSystem,
    slips: Sequence[Slip],
    family: Callable[[float], tuple[Values, Values]],
    times: Sequence[float],
    motion: Callable[[float], ds.Trajectory],
    sizes: Sequence[float],
    *,
    apart: bool = True,
) -> ds.Answer:
    """Return the limit of creep for all slips, for each combination, and as measured.

    Parameters
    ----------
    system, slips, family, times
        As in `creep_limits`.
    motion
        eps -> a run of the full system, its samples after the fast motion.
    sizes
        The values of eps of the sweep.
    apart
        Whether combinations of slips are examined: then the forces of slips belong to these.
    """
    whole = creep_limit(system, slips, family, times=times)
    answer: dict[str, Any] = {"kind": whole.kind, "said": str(whole), **_described(whole)}
    if apart and len(slips) > 1:
        found = creep_limits(system, slips, family, times=times)
        answer["combinations"] = {", ".join(names): _summary(one) for names, one in found.items()}
    shares: list[np.ndarray] = []
    for eps in sizes:
        run = motion(eps)
        states = {name: run[name] for name in system.dynamics.labels.states}
        shares.append(slip_shares(system, slips, states, run.times, family(eps)[1]))
    rows = np.array(shares).T
    orders = [_order(sizes, row) for row in rows]
    rolling = [order is None or order > HALF_WAY for order in orders]
    kind = "mixed" if any(rolling) and not all(rolling) else "rolling" if all(rolling) else "dirac"
    answer["sweep"] = {
        "eps": list(sizes), "shares": rows.tolist(), "orders": orders, "kind": kind,
    }  # fmt: skip
    return ds.Answer(answer, {"slips": _drawn(sizes, rows, orders)})


def _described(limit: CreepLimit) -> dict[str, Any]:
    return {
        "principal": [
            {
                "weights": dict(one.weights),
                "order": one.order if math.isfinite(one.order) else None,
                "share": one.share,
                "kind": one.kind,
            }
            for one in limit.principal
        ],
        "velocity_orders": {
            name: order if math.isfinite(order) else None
            for name, order in limit.velocity_orders.items()
        },
    }


def _summary(limit: CreepLimit) -> str:
    """Return the kind, and how many combinations roll where it is mixed."""
    if limit.reason:
        return f"none: {limit.reason}"
    if limit.kind != "mixed":
        return limit.kind
    rolling = sum(one.kind == "rolling" for one in limit.principal)
    return f"mixed: {rolling} of {len(limit.principal)} roll"


def _order(sizes: Sequence[float], shares: np.ndarray) -> float | None:
    """Return the slope in logarithms; None if shares are zero to rounding."""
    kept = shares > ROUNDING
    if int(np.sum(kept)) < 3:
        return None
    return float(np.polyfit(np.log(np.array(sizes)[kept]), np.log(shares[kept]), 1)[0])


def _drawn(sizes: Sequence[float], rows: np.ndarray, orders: Sequence[float | None]) -> Figure:
    """Draw the principal slips beside their terms against eps."""
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    for number, (row, order) in enumerate(zip(rows, orders, strict=True)):
        if order is None:
            axes.plot([], [], " ", label=f"combination {number + 1}: zero to rounding")
        else:
            label = f"combination {number + 1}, order {round(order, 2) + 0.0:.2f}"
            axes.loglog(sizes, row, "o-", label=label)
    low, high = axes.get_ylim()
    axes.set_ylim(10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)))
    axes.set_xticks(list(sizes), [f"{eps:g}" for eps in sizes])
    axes.minorticks_off()
    axes.set_xlabel("ε")
    axes.set_ylabel("slip / its terms")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure
