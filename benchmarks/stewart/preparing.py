"""Measures everything before the platform's first step, in a separate process: seconds as JSON."""

from __future__ import annotations

import json
from functools import partial

import daesolve as ds
from benchmarks.common.timing import processor_seconds
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.request import Request

from .daesolve import mechanism, solved
from .platform import UNTIL


def main() -> None:
    """Measure the stages one after the other."""
    pendulum = ds.problem("pendulum").case()
    pendulum.solve(0.1)  # Code that is compiled once per machine does not count for this model.
    seconds: dict[str, float] = {}
    seconds["posing"], (system, start) = processor_seconds(_posed)
    request = partial(Request, UNTIL, guess=start)
    seconds["preparing it"], _ = processor_seconds(partial(prepare_once, system, request()))
    seconds["the rest of the first run"], _ = processor_seconds(partial(solved, system, start))
    seconds["the same request again"], _ = processor_seconds(
        partial(prepare_once, system, request())
    )
    seconds["the whole run again"], _ = processor_seconds(partial(solved, system, start))
    alike, _ = _posed()
    seconds["posed anew, prepared"], _ = processor_seconds(partial(prepare_once, alike, request()))
    print(json.dumps(seconds))


def _posed() -> tuple[ds.MechanicalSystem, dict[str, float]]:
    posed = mechanism()
    return posed.system(), {name: float(value) for name, value in posed.start.items()}


if __name__ == "__main__":
    main()
