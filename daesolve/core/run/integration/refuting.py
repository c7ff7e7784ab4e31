"""Invariants whose residuals grew because they are not conserved, not because digits were lost."""

from __future__ import annotations

import numpy as np

from daesolve.core.equations.conservation import POWER_TOLERANCE, is_proved
from daesolve.core.run.integration.run_state import RunState
from daesolve.core.run.integration.watches.conservation import ConservationWatch


def take_down_refuted(run: RunState) -> None:
    """Record which invariants are not conserved, among those that grew and have no proof.

    Their rates are checked where the run was sampled, and at the ends of its segments.
    """
    dynamics, problem = run.prepared.dynamics, run.prepared.problem
    grown = set(run.monitor.untrusted())
    values = dict(zip(problem.values, run.prepared.values.tolist(), strict=True))
    for row in dynamics.invariants:
        if row.name not in grown or is_proved(dynamics, row, values):
            continue
        watch = ConservationWatch(dynamics, problem, {row.name: POWER_TOLERANCE})
        for time, state, mode in _places(run):
            watch.believed(np.array([time]), state[None, :], run.record.modes[mode])
            if row.name in watch.broken:
                rate = watch.broken[row.name].rate
                note = f"not conserved: at t = {time:.10g} s its rate is {rate:.2g} of its terms"
                run.monitor.measure_only(row.name, note)
                break


def _places(run: RunState) -> list[tuple[float, np.ndarray, int]]:
    """Return times, states and modes in memory, in the order of the run."""
    record = run.record
    places = [(b.time, b.state, b.mode) for b in record.boundaries]
    sampled = zip(record.sample_times, record.samples, record.sampled_at, strict=True)
    places += [(time, state, place.mode) for time, state, place in sampled]
    return sorted(places, key=lambda place: run.sign * place[0])
