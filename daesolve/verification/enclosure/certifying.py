"""Certified runs: a run, and the boxes in which it is proved to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from daesolve.core.formulations import Feedback
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.results.trajectory.certificate import RunCertificate
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.run_options import requested
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.run.solving.solving import solve
from daesolve.core.run.solving.stored_runs import Destination
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, UnsupportedError
from daesolve.verification.enclosure.crossings import NotCertifiedError
from daesolve.verification.enclosure.enclosing import Enclosure
from daesolve.verification.enclosure.exact import flint
from daesolve.verification.enclosure.exact_constants import with_exact_constants
from daesolve.verification.enclosure.expected_events import expected_events


def certified(system: System, until: float, initial: Any, options: Mapping[str, Any]) -> Trajectory:
    """Return a run with its certificate; see `solve`.

    Parameters
    ----------
    system, until, initial, options
        As in `solve`; start values and parameters may be pairs of a middle and a half-width.

    Raises
    ------
    OutOfRangeError
        A half-width is not a finite number >= 0, or the run goes backwards in time.
    UnsupportedError
        The equations have an operation without a rule for balls.
    MissingBackendError
        python-flint is not installed.
    """
    flint()
    options = dict(options)
    radii: dict[str, float] = {}
    if isinstance(initial, Mapping):
        initial, wide = parted("initial", cast("Mapping[str, Any]", initial))
        radii |= wide
    if options.get("parameters"):
        options["parameters"], wide = parted("parameters", options["parameters"])
        radii |= wide
    run = solve(system, until, initial, **options)
    asked = {name: value for name, value in options.items() if name not in OF_SOLVE}
    request = requested(until, initial, asked)[0]
    certificate = certificate_of(system, request, run, radii)
    store = options.get("store")
    if store is not None:
        directory = store.directory if isinstance(store, Destination) else Path(store)
        (directory / STORED).write_text(json.dumps(certificate.as_json()) + "\n", encoding="utf-8")
    return replace(run, certificate=certificate)


STORED = "certificate.json"
"""The file of a stored run that holds its certificate; reports read it there."""
CLEAR = 1e-9
"""The part of the motion before an event that cannot be followed which is left out."""
OF_SOLVE = ("verify", "progress", "store")
"""The options of `solve` that are not those of a run."""


def certificate_of(
    system: System,
    request: Request,
    run: Trajectory,
    radii: Mapping[str, float],
    progress: Callable[[float], None] | None = None,
) -> RunCertificate:
    """Return the certificate of a run.

    Parameters
    ----------
    system, request
        What was run.
    run
        Its trajectory.
    radii
        The half-widths of uncertain start values and parameters, by name.
    progress
        Called with the time reached; it ends the certificate by a `NotCertifiedError`.
    """
    system, request = with_inputs(system, replace(request, formulation=Feedback(), solver=None))
    system = with_exact_constants(system)
    prepared = prepare(system, request)
    if prepared.until < prepared.start_time:
        raise OutOfRangeError("a certified run goes forwards in time")
    if any(row.law is not None for row in system.dynamics.drives):
        raise UnsupportedError("a law called in Python cannot be certified: have it traced")
    if prepared.problem.plan.proximal:
        raise UnsupportedError(
            "a certified run needs equations with one solution: set redundant = 'drop'"
        )
    end = min(run.end_time, prepared.until)
    record = simulate_recorded(replace(prepared, until=end))[1]
    samples = np.unique(run.times)
    message = ""
    try:
        events = expected_events(prepared, record)
    except NotCertifiedError as reason:
        events, message = reason.before, f"it cannot follow {reason}"
    if message:
        # Just before it, its guard is not zero yet.
        reached = record.events[len(events)].time
        end = reached - CLEAR * (reached - prepared.start_time)
    enclosure = Enclosure(prepared, events, samples[samples <= end], radii, progress)
    found = enclosure.certificate(end, request.initial)
    return replace(found, message=found.message or message)


def parted(option: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return values, and the half-widths of those that are pairs.

    Raises
    ------
    OutOfRangeError
        A half-width is not a finite number >= 0.
    """
    middles: dict[str, Any] = {}
    radii: dict[str, float] = {}
    for name, value in values.items():
        middles[name] = value
        if isinstance(value, tuple):
            pair = cast("tuple[Any, ...]", value)
            if len(pair) != 2 or not (np.isfinite(pair[1]) and pair[1] >= 0.0):
                raise OutOfRangeError(
                    f"{option}[{name!r}] is {value!r}, but must be a number, or a pair of a number "
                    "and its half-width >= 0"
                )
            middles[name], radii[name] = pair
    return middles, radii
