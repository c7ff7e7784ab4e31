"""Curves of one quantity over another: lines only where samples follow the motion.

Even samples of a motion that turns back between them must not be joined: a line would show chords
of a curve that does not exist. Then every sample is a dot, and a line goes through the beginning,
which is sampled at and within the accepted steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.typing import ColorType

from daesolve.core.results.trajectory.curves import joinable
from daesolve.errors import unknown_name
from daesolve.reporting.facts import short
from daesolve.reporting.sampling import SEEN, Document, beginnings, in_order, resolved

KINDS = ("states", "reactions", "outputs")
Quantity = str | Callable[[Document], np.ndarray]
"""The name of a state, a reaction or an output; or what is computed of these, by sample."""
MOST_DOTS = 4000
DOT = 1.6
FAINT = 0.35


def draw_curve(
    axes: Axes, document: Document, x: Quantity, y: Quantity, label: str = "", **look: Any
) -> None:
    """Draw one quantity of a run over another.

    Parameters
    ----------
    axes
        Where.
    document
        Of the run; what is computed gets it, or the same with the samples of its beginning.
    x, y
        What is drawn over what.
    label
        In the legend.
    **look
        Of Matplotlib's lines: colour and width.
    """
    across, up = _values(document, x), _values(document, y)
    if _follows(document, (x, y)):
        axes.plot(*_torn(document, (x, y), across, up), label=label, **look)
        return
    begun = _beginning(document)
    every = -(-len(across) // MOST_DOTS)
    words = "samples" if every == 1 else f"one sample in {every}"
    dot: dict[str, Any] = {n: value for n, value in look.items() if n in ("color", "zorder")}
    (dots,) = axes.plot(
        across[::every],
        up[::every],
        "o",
        markersize=DOT,
        markeredgewidth=0.0,
        alpha=1.0 if begun is None else FAINT,
        label=f"{label}, {words}" if label else words,
        **dot,
    )
    if begun is None:
        axes.legend(markerscale=3.0)
        return
    line: dict[str, Any] = {"color": dots.get_color(), "linewidth": 0.9, **look}
    span = abs(begun["times"][-1] - begun["times"][0])
    first = f"the first {short(span, 3)} s"
    axes.plot(_values(begun, x), _values(begun, y), label=first, **line)
    axes.legend(markerscale=3.0)


def mark_peak(axes: Axes, time: float, value: float, colour: ColorType) -> None:
    """Mark the value of largest magnitude over every accepted step, which samples may miss."""
    axes.plot(
        [time],
        [value],
        "v" if value >= 0.0 else "^",
        color=colour,
        markersize=6.0,
        fillstyle="none",
        clip_on=False,
        zorder=5,
    )


def _torn(
    document: Document, pair: tuple[Quantity, Quantity], across: np.ndarray, up: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a curve that ends before each impact, and begins again after it.

    A line from the last sample before an impact to the first one after it would cross where the
    motion never was. The states of an impact are known exactly; of other quantities a gap is left.
    """
    times = np.asarray(document["times"], dtype=float)
    impacts = [event for event in document["events"] if event.get("impact")]
    if not impacts or len(times) < 2 or times[-1] < times[0]:
        return across, up
    places = np.searchsorted(times, [event["time"] for event in impacts])
    curves: list[np.ndarray] = []
    for of, values in zip(pair, (across, up), strict=True):
        sides = ("detail", None, "after")
        met = [_met(event, side, of) for event in impacts for side in sides]
        curves.append(np.insert(np.asarray(values, dtype=float), np.repeat(places, 3), met))
    return curves[0], curves[1]


def _met(event: Document, side: str | None, of: Quantity) -> float:
    """Return a state before or after an impact; NaN between them, and of other quantities."""
    if side is None or not isinstance(of, str):
        return np.nan
    known: Document = event.get(side) or {}
    return float(known.get(of, np.nan))


def _values(document: Document, of: Quantity) -> np.ndarray:
    """Return the samples of a quantity, NaN if there is none."""
    if callable(of):
        return np.asarray(of(document), dtype=float)
    for kind in KINDS:
        if of in document[kind]:
            return np.array(document[kind][of], dtype=float)
    known = [name for kind in KINDS for name in document[kind]]
    raise unknown_name("state, reaction or output", of, known)


def _follows(document: Document, pair: tuple[Quantity, Quantity]) -> bool:
    """Return whether samples may be joined: of coordinates with rates alone, else of the motion."""
    found = in_order(document, document, "states")
    own = [found[of] for of in pair if isinstance(of, str) and of in found]
    if len(own) == len(pair) and all(entry.slopes is not None for entry in own):
        return joinable(own, SEEN)
    return resolved(document)


def _beginning(document: Document) -> Document | None:
    """Return the run with the samples of its beginning, where these can be joined."""
    part = document.get("opening")
    if part is None or not beginnings(document, "states"):
        return None
    return {**document, **{key: part[key] for key in ("times", *KINDS)}}
