"""What a long run in memory forgets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.core.run.integration.record import Boundary, RunRecord


def forget(record: RunRecord, here: Boundary) -> None:
    """Forget the boundaries before here, and values in force that nothing in memory needs.

    Samples and events stay.
    """
    record.boundaries = [record.boundaries[-1]]
    places = [*record.sampled_at, *record.boundaries, here]
    for event in record.events:
        places += [event.at] if event.after is None else [event.at, event.after]
    changes = len(record.modes) - record.carried
    record.tally = replace(record.tally, charts=record.tally.charts + changes)
    known: dict[int, int] = {}
    kept: list[np.ndarray] = []
    for place in {id(place): place for place in places}.values():
        if place.mode not in known:
            known[place.mode] = len(kept)
            kept.append(record.modes[place.mode])
        place.mode = known[place.mode]
    # The values in force come last.
    record.modes, record.carried = [*kept, kept[here.mode]], len(kept) + 1
    here.mode = len(kept)
