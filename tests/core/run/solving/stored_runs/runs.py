"""Runs that are stored, and what to compare of them."""

import signal
from pathlib import Path

import numpy as np

import daesolve as ds
from tests.systems import pendulum

SEGMENT = 0.5


def tables(directory):
    """Return the content of every finished part, byte by byte."""
    found = {}
    for kind in ("samples", "events"):
        for file in sorted(Path(directory, kind).glob("*.parquet")):
            found[f"{kind}/{file.name}"] = file.read_bytes()
    return found


def interrupting(after):
    """Return a progress that presses Ctrl-C once the run has come so far."""
    pressed = []

    def progress(time, monitor, events):
        if abs(time) >= after and not pressed:
            pressed.append(time)
            signal.raise_signal(signal.SIGINT)

    return progress


def swing(directory, progress=None, system=None, **options):
    options = {"until": 10.0, "initial": {"x": -1.0}, "at": ds.every(0.1), **options}
    return ds.solve(system or pendulum(), store=directory, progress=progress, **options)


def alike(run, other):
    """Tell whether two runs have the same samples, events and drift in every bit."""
    return (
        np.array_equal(run.times, other.times)
        and all(np.array_equal(run.states[n], other.states[n]) for n in other.states)
        and all(np.array_equal(run.reactions[n], other.reactions[n]) for n in other.reactions)
        and all(np.array_equal(run.outputs[n], other.outputs[n]) for n in other.outputs)
        and tuple(run.events) == tuple(other.events)
        and run.drift == other.drift
        and run.end_state == other.end_state
    )
