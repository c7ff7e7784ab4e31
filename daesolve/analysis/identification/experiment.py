"""Experiments: measured motions of one model, posed with the unknowns that they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from daesolve.analysis.gradients.objective_gradient import DifferentiableCase
from daesolve.analysis.identification.measurements import Measurements, Missing, Noise, measured
from daesolve.analysis.identification.shooting import Model
from daesolve.analysis.sensitivity import varied_system
from daesolve.core.run.integration.run_options import BoundProblem, RunOptions, check_options
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, UnsupportedError, check_names, is_number

Source = System | DifferentiableCase
Unknowns = Sequence[str] | Mapping[str, float]
"""Names of unknowns; or with the values at which the search starts, instead of the present ones."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """One of several measured motions, with what it does not share with the others.

    Parameters
    ----------
    data
        As in `identify`.
    name
        Names its own unknowns, `name.x`; by default that of its file, or its number.
    initial
        Its start values. Values of the request hold where it has none.
    parameters
        Known values of parameters.
    unknowns
        Parameters and start values that are unknown for it alone.
    until
        The end of its motion, s.
    noise
        As in `identify`, for its columns.
    weight
        How many times its squared residuals count.
    source
        Its own system or case; by default that of the request.
    options
        Further options of its run, such as `{"inputs": ...}`; see `RunOptions`.
    """

    data: Any
    name: str | None = None
    initial: Mapping[str, float] | None = None
    parameters: Mapping[str, object] | None = None
    unknowns: Unknowns = ()
    until: float | None = None
    noise: Noise = None
    weight: float = 1.0
    source: Source | None = None
    options: RunOptions = field(default_factory=RunOptions)


@dataclass(frozen=True, eq=False)
class SharedRequest:
    """What experiments share, as `identify` takes it."""

    source: Source
    unknowns: Unknowns
    until: float | None
    initial: Mapping[str, float] | None
    noise: Noise
    missing: Missing
    options: RunOptions


def named_experiments(data: Any) -> list[Experiment]:
    """Return the experiments in data, each with a name of its own; a single one needs none.

    Raises
    ------
    OutOfRangeError
        There are none, two have one name, or a weight is no positive number.
    """
    given: list[Any] = (
        list(cast("Sequence[Any]", data)) if isinstance(data, list | tuple) else [data]
    )
    if not given:
        raise OutOfRangeError("there are no data: give at least one experiment")
    found: list[Experiment] = []
    for number, one in enumerate(given, 1):
        own = one if isinstance(one, Experiment) else Experiment(one)
        if len(given) == 1:
            name = own.name or ""
        else:
            of_file = Path(own.data).stem if isinstance(own.data, str | Path) else str(number)
            name = own.name or of_file
        if any(name == other.name for other in found):
            raise OutOfRangeError(
                f"two experiments have the name {name!r}: name them (Experiment(name=...), "
                "--data NAME=FILE)"
            )
        if not is_number(own.weight) or not 0.0 < own.weight < math.inf:
            raise OutOfRangeError(
                f"the weight of an experiment is {own.weight!r}, but must be a positive number"
            )
        found.append(replace(own, name=name))
    return found


@dataclass(frozen=True, eq=False)
class Posed:
    """Experiments as models of all unknowns.

    Parameters
    ----------
    models
        One for each experiment.
    start
        The unknowns, with the values at which the search starts.
    horizons
        The end of each motion, s.
    """

    models: Sequence[Model]
    start: Mapping[str, float]
    horizons: Sequence[float]

    def local(self, place: int) -> tuple[Model, str]:
        """Return the first model with one of the unknowns, and how this model calls it."""
        return next(
            (model, model.names[list(model.places).index(place)])
            for model in self.models
            if place in model.places
        )


def posed(experiments: Sequence[Experiment], shared: SharedRequest) -> Posed:
    """Pose experiments together: they share parameters, and have start values of their own.

    Raises
    ------
    DaesolveError
        As `identify`.
    """
    start: dict[str, float] = {}
    models: list[Model] = []
    horizons: list[float] = []
    for experiment in experiments:
        model, nominal, horizon = _posed_alone(experiment, shared)
        own = set(experiment.unknowns)
        ranges = model.system.dynamics.posed_ranges
        prefix = f"{experiment.name}." if len(experiments) > 1 else ""
        names = [
            name if name in ranges and name not in own else prefix + name for name in model.names
        ]
        for name, value in zip(names, nominal.values(), strict=True):
            start.setdefault(name, value)
        places = np.array([list(start).index(name) for name in names])
        models.append(replace(model, places=places, data=_with_noise(model, experiment, shared)))
        horizons.append(horizon)
    if isinstance(shared.noise, Mapping):
        columns = [name for model in models for name in model.data.columns]
        check_names("measured column", shared.noise, columns)
    return Posed(models, start, horizons)


def _posed_alone(
    experiment: Experiment, shared: SharedRequest
) -> tuple[Model, dict[str, float], float]:
    """Return an experiment as a model, the start values of its unknowns, and its horizon."""
    source = experiment.source or shared.source
    check_options("identify", experiment.options)
    options: RunOptions = {**shared.options, **experiment.options}
    options["inputs"] = {**(shared.options.get("inputs") or {}), **(options.get("inputs") or {})}
    if options.get("at") is not None:
        raise UnsupportedError("identify takes no 'at': the data have the sample times")
    both = [name for name in experiment.unknowns if name in shared.unknowns]
    if both:
        raise OutOfRangeError(
            f"{both[0]!r} is an unknown of one experiment and of all: leave it out of the former"
        )
    unknowns = [*shared.unknowns, *experiment.unknowns]
    fixed = dict(options.get("parameters") or {}) | dict(experiment.parameters or {})
    begin: dict[str, Any] = {}
    for given in (shared.unknowns, experiment.unknowns):
        begin |= given if isinstance(given, Mapping) else {}
    known = source.system if isinstance(source, BoundProblem) else source
    ranges = known.dynamics.posed_ranges if isinstance(known, System) else {}
    for name in shared.unknowns:
        if name in (experiment.parameters or {}):
            raise OutOfRangeError(
                f"{name!r} is unknown, but an experiment gives its value: leave it out of one"
            )
    options["parameters"] = fixed | {n: value for n, value in begin.items() if n in ranges}
    first = {name: value for name, value in begin.items() if name not in ranges}
    initial = {**(shared.initial or {}), **first, **(experiment.initial or {})}
    until = experiment.until if experiment.until is not None else shared.until
    if isinstance(source, DifferentiableCase):
        system, request, nominal, _ = source.varied(unknowns, until, initial or None, options)
    else:
        ends = math.nan if until is None else until
        system, request, nominal, _ = varied_system(source, unknowns, ends, initial, options)
    labels = system.dynamics.labels
    angles = [labels.states[k] for k in labels.angles]
    data = measured(experiment.data, labels.units(), angles, shared.missing)
    horizon = request({}).until if until is None else until
    if math.isnan(horizon):
        horizon = max(float(data.times[-1]), request({}).start_time)
    model = Model(
        experiment.name or "",
        system,
        request,
        tuple(nominal),
        np.arange(len(nominal)),
        data,
        experiment.weight,
    )
    return model, dict(nominal), horizon


def _with_noise(model: Model, experiment: Experiment, shared: SharedRequest) -> Measurements:
    """Return the measurements of an experiment with its noise, or with that of all."""
    noise, columns = experiment.noise, model.data.columns
    if noise is None:
        noise = shared.noise
        if isinstance(noise, Mapping):
            noise = {name: level for name, level in noise.items() if name in columns} or None
    return model.data.with_noise(noise)
