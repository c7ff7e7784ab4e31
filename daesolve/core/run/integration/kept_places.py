"""What a run keeps of its motion anyway, held against what was posed."""

from __future__ import annotations

import numpy as np

from daesolve.core.diagnostics.kept_steps import MOST_STEPS
from daesolve.core.expressions.blocks import evaluate_block
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import EventRecord, Outcome
from daesolve.core.run.integration.certifying import held_in
from daesolve.core.run.integration.refuting import take_down_refuted
from daesolve.core.run.integration.run_state import RunState
from daesolve.verification.audit import Instants, glance

UNCONTROLLED = 1e-5
"""The accuracy of steps that is asked of a solver that controls no errors, whose drift is told, and
of a run that passes where constraints lose rank: what is left of their grip there divides errors.
"""
Places = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""n places in the order of the run: times, states, p, the smooth stretch, whether within it."""


def glanced_at(run: RunState) -> tuple[Outcome, str] | None:
    """Return that a run, since this was asked last, contradicts what was posed; None if not.

    Parameters
    ----------
    run
        The run, between two segments.
    """
    places = _places(run)
    if places is None or len(np.unique(places[0])) < 2:
        return None
    found = glance(_instants(run, places))
    if found.holds:
        return None
    take_down_refuted(run)
    # A run that drifted too far fails, and says what to change.
    return None if run.monitor.untrusted() else (Outcome.CONTRADICTED, found.objection)


def _places(run: RunState) -> Places | None:
    """Return the steps that were kept, with the states before and after some of the resets."""
    steps = run.monitor.kept_steps.handed_over()
    if steps is None:
        return None
    times, states, values = steps
    resets = [event for event in run.record.events if event.after is not None]
    ends = run.sign * np.array([event.time for event in resets])
    shown = range(0, len(resets), len(resets) // MOST_STEPS + 1)
    sides = [place for k in shown for place in (resets[k].at, resets[k].after) if place is not None]
    smooth = [np.searchsorted(ends, run.sign * times), *([k, k + 1] for k in shown)]
    if run.record.recent:
        # Between the last step of the part before and this one there may have been resets.
        smooth[0][0] = -1
    happened = [event.time for event in run.record.events]
    within = np.append(~np.isin(times, happened), np.zeros(len(sides), dtype=bool))
    # The step that ends at an event comes before it.
    order = np.argsort(run.sign * np.append(times, [p.time for p in sides]), kind="stable")
    return (
        np.append(times, [place.time for place in sides])[order],
        np.concatenate([states, *(place.state[None] for place in sides)])[order],
        np.concatenate([values, *(run.values(place)[None] for place in sides)])[order],
        np.concatenate(smooth)[order],
        within[order],
    )


def _instants(run: RunState, places: Places) -> Instants:
    """Return the places by name, with their reactions."""
    times, states, values, smooth, within = places
    prepared, problem = run.prepared, run.prepared.problem
    labels = problem.labels
    with np.errstate(all="ignore"):
        _, reactions, outputs = evaluate_block(problem.recover, times, states, values)
        visible = problem.visible(times, states, values)
    columns = {
        name: row[:, None]
        for names, table in (
            (labels.states, visible),
            (labels.reactions, reactions),
            (labels.outputs, outputs),
        )
        for name, row in zip(names, table.T, strict=True)
    }
    index = {name: place for place, name in enumerate(problem.values)}
    numbers = dict(zip(problem.values, prepared.values.tolist(), strict=True))
    begins = times[0] == prepared.start_time
    return Instants(
        system=prepared.system,
        parameters=numbers | dict(prepared.parameters),
        starts=times,
        lengths=np.full(len(times), (times[-1] - times[0]) / len(times)),
        columns=columns,
        values={name: values[:, index[name]] for name in held_in(prepared)},
        events=[EventRecord(e.time, e.name, {}, None, e.fired) for e in run.record.events],
        accuracy=_accuracy(prepared),
        ambiguous=prepared.request.on_ambiguous == "keep",
        driven=frozenset(name for name, rate in prepared.rates.items() if rate is not None),
        mobility=getattr(prepared.formulation, "mobility", 0.0),
        given=dict(prepared.request.initial) if begins else {},
        smooth=smooth,
        within=within,
        turning=[labels.states[angle] for angle in prepared.wrapped],
    )


def _accuracy(prepared: Prepared) -> float:
    """Return the relative error that a step may have."""
    passes = prepared.rank_loss == "pass"
    return UNCONTROLLED if passes else prepared.solver.step_tolerance or UNCONTROLLED
