"""Sums over the events of a run: how far a foot has come, how often a wheel has struck."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from daesolve.multibody.drawing.traced import numbers

Amount = Callable[[Mapping[str, Any]], Any]
"""What an event of a document adds to a sum."""
FOLLOWED = "sums"
"""The entry of a document that follows sums in other motions: (name, amount, sum) -> sum."""


def sum_over_events(document: Mapping[str, Any], name: str, amount: Amount) -> np.ndarray:
    """Return what an amount adds up to, at each sample, over the events before it.

    A live page adds it up in other motions too, if the amount is a number, or arithmetic and
    functions of NumPy of states and parameters.

    Parameters
    ----------
    document
        Of a run.
    name
        Of the events.
    amount
        An event of the document -> what it adds. `event["detail"]` has the states there, and
        `event["after"]` those after its reset.

    Examples
    --------
    >>> run = {"times": [0.0, 1.0, 2.0], "events": [{"name": "step", "time": 0.5}] * 2}
    >>> sum_over_events(run, "step", lambda event: 0.3).tolist()
    [0.0, 0.6, 0.6]
    """
    times = np.array(document["times"], dtype=float)
    ahead = -1.0 if len(times) and times[-1] < times[0] else 1.0
    events = [event for event in document["events"] if event["name"] == name]
    sums = np.concatenate([[0.0], np.cumsum([float(amount(event)) for event in events])])
    instants = np.array([event["time"] for event in events], dtype=float)
    found = sums[np.searchsorted(ahead * instants, ahead * times, side="left")]
    follow = document.get(FOLLOWED)
    return found if follow is None else numbers(follow(name, amount, found))
