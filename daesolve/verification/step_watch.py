"""What a run keeps of its motion anyway, held against what was posed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.trajectory.results import EventRecord, StepBlock
from daesolve.core.run.integration.record import RunRecord
from daesolve.core.run.integration.watches.watch import Watch
from daesolve.verification.audit import Instants, glance
from daesolve.verification.auditor import held_in
from daesolve.verification.kept_steps import MOST_STEPS, KeptSteps, Row

UNCONTROLLED = 1e-5
"""The accuracy of steps that is asked of a solver that controls no errors, whose drift is told, and
of a run that passes where constraints lose rank: what is left of their grip there divides errors.
"""
Places = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""n places in the order of the run: times, states, p, the smooth stretch, whether within it."""


class Glance(Watch):
    """Holds an even choice of the steps of each part of a run against what was posed."""

    name = "kept_steps"

    def __init__(self, prepared: Prepared) -> None:
        self.prepared, self.steps = prepared, KeptSteps()

    @classmethod
    def of(cls, prepared: Prepared) -> Self:
        """Watch any run."""
        return cls(prepared)

    def take(self, block: StepBlock, p: np.ndarray) -> None:
        """Keep some of the steps."""
        self.steps.take(block, p)

    def contradiction(self, record: RunRecord) -> str | None:
        """Say how a part of the run contradicts what was posed; None if it does not."""
        steps = self.steps.handed_over()
        places = None if steps is None else _places(self.prepared, record, steps)
        if places is None or len(np.unique(places[0])) < 2:
            return None
        audit = glance(_instants(self.prepared, record, places))
        return None if audit.holds else audit.objection

    def saved(self) -> list[np.ndarray] | None:
        """Return the last step, from which another process goes on."""
        return self.steps.saved()

    def restore(self, saved: Sequence[Sequence[Any]]) -> None:
        """Go on from what `saved` returned."""
        self.steps = KeptSteps()
        self.steps.restore(saved)


def _places(prepared: Prepared, record: RunRecord, steps: Row) -> Places:
    """Return the steps that were kept, with the states before and after some of the resets."""
    times, states, values = steps
    sign = prepared.sign
    resets = [event for event in record.events if event.after is not None]
    ends = sign * np.array([event.time for event in resets])
    shown = range(0, len(resets), len(resets) // MOST_STEPS + 1)
    sides = [place for k in shown for place in (resets[k].at, resets[k].after) if place is not None]
    smooth = [np.searchsorted(ends, sign * times), *([k, k + 1] for k in shown)]
    if record.recent:
        # Between the last step of the part before and this one there may have been resets.
        smooth[0][0] = -1
    happened = [event.time for event in record.events]
    within = np.append(~np.isin(times, happened), np.zeros(len(sides), dtype=bool))
    # The step that ends at an event comes before it.
    order = np.argsort(sign * np.append(times, [p.time for p in sides]), kind="stable")
    return (
        np.append(times, [place.time for place in sides])[order],
        np.concatenate([states, *(place.state[None] for place in sides)])[order],
        np.concatenate([values, *(record.modes[place.mode][None] for place in sides)])[order],
        np.concatenate(smooth)[order],
        within[order],
    )


def _instants(prepared: Prepared, record: RunRecord, places: Places) -> Instants:
    """Return the places by name, with their reactions."""
    times, states, values, smooth, within = places
    problem = prepared.problem
    labels = problem.labels
    with np.errstate(all="ignore"):
        _, reactions, outputs = problem.block("recover", times, states, values)
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
        events=[EventRecord(e.time, e.name, {}, None, e.fired) for e in record.events],
        accuracy=_accuracy(prepared),
        ambiguous=prepared.request.on_ambiguous == "keep",
        driven={n: abs(rate) for n, rate in prepared.rates.items() if rate is not None},
        mobility=getattr(prepared.formulation, "mobility", 0.0),
        given=dict(prepared.request.initial) if begins else {},
        smooth=smooth,
        within=within,
        turning=[labels.states[angle] for angle in prepared.wrapped],
    )


def _accuracy(prepared: Prepared) -> float:
    """Return the relative error that a step may have."""
    return UNCONTROLLED if prepared.passes else prepared.solver.step_tolerance or UNCONTROLLED
