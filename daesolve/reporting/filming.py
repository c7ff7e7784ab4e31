"""The films of a run: all of it and, if the eye cannot follow that, its beginning first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.curves import FEWEST, KINDS
from daesolve.core.results.trajectory.samples import Recorded, Samples, StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.system.system import ControlSystem, MechanicalSystem
from daesolve.errors import Tell
from daesolve.multibody.drawing.system_drawing import drawing_of_points, drawing_of_system
from daesolve.multibody.drawing.views import FROM_THE_FRONT
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.stored_problem import in_need_of_source, is_of_file, posed_again
from daesolve.reporting.document import NO_PICTURE, DrawingRule, with_drawing, with_note
from daesolve.reporting.excerpt import (
    CLOSE_PICTURES,
    PICTURES_A_SECOND,
    SECONDS,
    Excerpt,
    Playing,
    from_document,
    from_run,
)
from daesolve.reporting.facts import short
from daesolve.reporting.film import FOLLOWABLE, Film, film
from daesolve.reporting.opening import kept_opening
from daesolve.reporting.sampling import Document, columns, series, visible_turns

Films = tuple[Film, ...]
"""What is shown of a run, in the order in which it is shown; at least one."""
MOST_TURNS = 40
"""Turning points of the fastest state that the beginning shows."""
ENOUGH_TURNS = 8
"""Turning points that are worth being shown in real time."""
TRIES = 6
"""The most lengths of the beginning that are tried."""
REAL_TIME = 1.05
"""Seconds of a run per second of playing time above which a film is a time lapse."""
MOST_OF_IT = 0.5
"""A beginning that is more than this part of a run needs no film if the whole can be followed."""
SHORTER = 0.5, 0.9
"""The least and the largest fraction of a length that is tried next."""


def filmed(
    run: Trajectory | Document | Path | str,
    *,
    seconds: float = SECONDS,
    rate: float | None = None,
    begin: float | None = None,
    end: float | None = None,
    drawing: DrawingRule | None = None,
    source: Path | str | None = None,
    tell: Tell | None = None,
) -> Films:
    """Return the films of a run: the requested part, or else the beginning and the whole.

    The beginning comes first if the eye cannot follow the whole from picture to picture, and the
    beginning is closely sampled or can be integrated again. If twice as many pictures make a part
    easy to follow, it has these.

    Parameters
    ----------
    run, seconds, rate, begin, end, drawing, source, tell
        As in `daesolve.reporting.animate`.

    Raises
    ------
    DaesolveError
        As in `daesolve.reporting.animate`.
    """
    known = Trajectory.from_run(run) if isinstance(run, Path | str) else run
    playing = Playing(seconds, PICTURES_A_SECOND if rate is None else rate, begin, end)
    closest = CLOSE_PICTURES if rate is None else rate
    origin = origin_of(known, drawing, source, tell)
    whole = _shown(known, origin, playing, closest, time_lapse=False)
    if begin is not None or end is not None or whole.followable:
        return (whole,)
    first = _beginning(known, origin, playing, closest)
    if first is None:
        return (whole,)
    first_time, last_time = (first.pictures[place].time for place in (0, -1))
    if abs(last_time - first_time) > MOST_OF_IT * abs(whole.pictures[-1].time - first_time):
        closer = _shown(known, origin, playing, closest)
        if closer.followable:
            return (closer,)
    remark = (
        f"The beginning, t = {short(first_time, 6)} s to {short(last_time, 4)} s of a run to "
        f"{short(whole.pictures[-1].time, 6)} s, slow enough to follow. Choose another part "
        "with --from and --until (begin=, end=)."
    )
    return replace(first, remark=remark), whole


def _shown(
    known: Trajectory | Document,
    origin: Origin,
    playing: Playing,
    closest: float,
    *,
    time_lapse: bool = True,
) -> Film:
    """Return the film of a part of a run, with more pictures if it can then be followed.

    With `time_lapse=False` a time lapse keeps its pictures: its beginning shows more.
    """
    shown = film(_part(known, origin, playing))
    room = FOLLOWABLE * closest * playing.seconds
    hopeless = not shown.joined or shown.turns > room or closest <= playing.rate
    if shown.followable or hopeless or (shown.pace > REAL_TIME and not time_lapse):
        return shown
    closer = film(_part(known, origin, replace(playing, rate=closest)))
    return closer if closer.followable else shown


def _beginning(
    known: Trajectory | Document, origin: Origin, playing: Playing, closest: float
) -> Film | None:
    """Return the film of the first oscillations; None if none of them can be followed."""
    begun = _closely_sampled(known)
    if begun is not known and origin.rule is None and _has_own_series(begun):
        return None
    if isinstance(begun, Trajectory):
        times, found = begun.times, list(begun.states.values())
    else:
        times = columns(begun)["t"].times
        found = [entry.values for entry in series(begun, "states").values()]
    count = beginning_of(times, found, playing.seconds)
    for _ in range(TRIES):
        if count < FEWEST:
            return None
        part = replace(playing, end=float(times[count - 1]))
        shown = _shown(begun, origin, part, closest)
        if shown.followable:
            return shown
        # Turns that are faster than the pictures are counted too low.
        wanted = FOLLOWABLE * closest * playing.seconds / max(shown.turns, 1)
        count = int(count * min(max(wanted, SHORTER[0]), SHORTER[1]))
    return None


def _has_own_series(run: Trajectory | Document) -> bool:
    """Return whether a document's drawing has series, which are those of its samples alone."""
    if isinstance(run, Trajectory):
        return False
    stored: Mapping[str, Any] = run.get("drawing") or {}
    return bool(stored.get("series"))


def beginning_of(times: np.ndarray, values: Sequence[np.ndarray], seconds: float) -> int:
    """Return how many samples show the beginning: in real time, or as much as there is.

    Where little happens in that time, it is some oscillations of the fastest state.
    """
    count = len(times)
    turns = max(map(visible_turns, values), default=0)
    length = count if turns <= MOST_TURNS else max(FEWEST, count * MOST_TURNS // turns)
    in_time = int(np.searchsorted(np.abs(times - times[0]), seconds, side="right"))
    if in_time < FEWEST or turns * in_time < ENOUGH_TURNS * count:
        return length
    return in_time


def _closely_sampled(known: Trajectory | Document) -> Trajectory | Document:
    """Return the same with the samples of its beginning alone, where there are closer ones."""
    if not isinstance(known, Trajectory):
        begun: Mapping[str, Any] | None = known.get("opening")
        if begun is None:
            return known
        last = begun["times"][-1]
        early = [event for event in known["events"] if _is_before(event["time"], known, last)]
        kept: dict[str, Any] = {kind: begun[kind] for kind in KINDS}
        return {**known, **kept, "times": begun["times"], "events": early}
    samples: Recorded | None = known.opening()
    kept_samples = known.samples
    if samples is None and isinstance(kept_samples, StoredSamples):
        names = {kind: getattr(kept_samples, kind) for kind in KINDS}
        stored = kept_opening(kept_samples.stored.directory, names)
        if stored is not None:
            states, reactions, outputs = (_arrays(stored[kind]) for kind in KINDS)
            times = np.array(stored["times"], dtype=float)
            samples = Samples(times, states, reactions, outputs)
    if samples is None or len(samples.times) < FEWEST:
        return known
    last = float(samples.times[-1])
    start = {"start_time": float(samples.times[0])}
    events = [event for event in known.events if _is_before(event.time, start, last)]
    whole = Samples(samples.times, samples.states, samples.reactions, samples.outputs, events)
    return replace(known, samples=whole)


def _arrays(columns: Mapping[str, Sequence[float | None]]) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=float) for name, values in columns.items()}


def _is_before(time: float, run: Mapping[str, Any], last: float) -> bool:
    """Return whether a time comes before the last one, in the direction of the run."""
    start = run.get("start_time", 0.0)
    return abs(time - start) <= abs(last - start)


@dataclass(frozen=True)
class Origin:
    """Where a run comes from: what reports call it, its source, its directory, what draws it."""

    identity: Mapping[str, Any]
    source: Mapping[str, Any] | None
    directory: Path | None
    rule: DrawingRule | None


def origin_of(
    run: Trajectory | Document,
    drawing: DrawingRule | None,
    source: Path | str | None,
    tell: Tell | None,
) -> Origin:
    """Return where a run comes from; a run's own rule is that of its problem."""
    if not isinstance(run, Trajectory):
        return Origin({}, None, None, drawing)
    kept = run.samples
    if not isinstance(kept, StoredSamples):
        case = run.origin if isinstance(run.origin, BoundCase) else None
        identity = {} if case is None else case.identity()
        return Origin(identity, None, None, drawing or _own_rule(run.origin))
    manifest, rule = kept.stored.manifest, drawing
    named: Mapping[str, Any] | None = manifest["source"]
    if rule is None and named is not None and not (is_of_file(named) and source is None):
        rule = posed_again(named, None if source is None else Path(source), tell).drawing
    return Origin(manifest["identity"], named, kept.stored.directory, rule)


def _own_rule(origin: object) -> DrawingRule | None:
    """Return what draws a run of this process: its problem's rule, or points and rods."""
    if isinstance(origin, BoundCase):
        return origin.problem.drawing
    if isinstance(origin, MechanicalSystem | ControlSystem):
        return drawing_of_system(origin, FROM_THE_FRONT)
    return None


def _part(run: Trajectory | Document, origin: Origin, playing: Playing) -> Excerpt:
    """Return the needed part of a run, with its drawing."""
    if not isinstance(run, Trajectory):
        drawn = run if origin.rule is None else with_drawing(dict(run), origin.rule)
        return from_document(drawn, playing)
    part = from_run(run, origin.identity, playing)
    posed_by_hand = origin.rule is None and origin.source is None
    rule = drawing_of_points if posed_by_hand else origin.rule
    document = with_drawing(dict(part.document), rule)
    if origin.rule is None and origin.source is not None and is_of_file(origin.source):
        command = f"daesolve animate {shlex.quote(str(origin.directory))}"
        document = with_note(document, f"{NO_PICTURE}: {in_need_of_source(origin.source, command)}")
    return replace(part, document=document)
