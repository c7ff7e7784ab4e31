"""Parameters and start values from measured outputs, with intervals and what stays unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import scipy

from daesolve.analysis.identification.experiment import (
    Posed,
    SharedRequest,
    Source,
    Unknowns,
    named_experiments,
    posed,
)
from daesolve.analysis.identification.fitting import Fit, ParameterFitting
from daesolve.analysis.identification.identifiability import (
    INVISIBLE,
    Identifiability,
    NullDirection,
    identifiability,
    named_direction,
    noise_freedom,
)
from daesolve.analysis.identification.identification import ExperimentFit, Identification
from daesolve.analysis.identification.measurements import Missing, Noise
from daesolve.analysis.identification.notes import notes_of
from daesolve.analysis.identification.profiles import profile_of
from daesolve.analysis.identification.shooting import Model, Residuals
from daesolve.analysis.sensitivity import recorded_run
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.run_options import RunOptions, check_options
from daesolve.errors import (
    DaesolveError,
    NoFitError,
    OutOfRangeError,
    TooFewRowsError,
    UnsupportedError,
    check_names,
)

CONFIDENCE = 0.95
SETTLED = 1e-3
"""The relative change of an estimated noise level that ends its estimation."""
MOST_ROUNDS = 20
EXACT = 1e-13
"""The relative errors of a motion, below which residuals are no noise."""
LEAST_FREEDOM = 0.5
"""How many values of a column the fit must leave free for an estimate of their noise."""
FULL = 15
"""The digits of a double."""
MOVED = 0.1
"""How far unknowns move along a null direction to see how it goes on."""


def identify(
    source: Source,
    data: Any,
    parameters: Unknowns,
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    *,
    noise: Noise = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    segments: int | None = None,
    missing: Missing = "refuse",
    # A run's `parameters` are values; here they are the unknowns, which may have values, too.
    **options: Unpack[RunOptions],  # pyright: ignore[reportGeneralTypeIssues]
) -> Identification:
    """Find parameters and start values from measured outputs.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    data
        Measured outputs: a pandas table, a mapping of columns, or the path of a CSV file. The
        column `time` is in s, the others have the names and units of states, outputs or reactions.
        Or a list of several such measurements, or of `Experiment`.
    parameters
        The names of the unknowns: parameters, and start values that `initial` keeps; the search
        starts at their present values, or at those of a mapping. Experiments share parameters; each
        has start values of its own, `name.x` for the start value `x` of the experiment `name`.
    until
        The end of the motion, s; by default that of the case or, for a system, of the data.
    initial
        Start values, as in `solve`.
    noise
        The standard deviation of a measurement, in the unit of its column: one number, or one for
        each column. None estimates one for each column from the residuals.
    bounds
        For some unknowns the least and the largest value. The range of a parameter always holds.
    segments
        In how many segments the fit begins; None chooses the number.
    missing
        What to do with NaN: refuse it, or skip the value, so that columns may have times of their
        own.
    **options
        See `RunOptions`; without `at`.

    Returns
    -------
    Identification
        The values with their intervals, and the combinations that the data do not determine.

    Raises
    ------
    MeasurementError
        The data are unusable; each kind of fault has its own type.
    UnknownNameError, OutOfRangeError, UnsupportedError
        A name is unknown, bounds exclude the start values, or an option makes no sense here.
    NoFitError
        No fit was found.
    DaesolveError
        The request cannot be run.

    Notes
    -----
    The fit minimises the sum of squared residuals, each divided by its noise. Intervals hold for
    independent normal noise, and for small ones: they follow from the derivatives at the fit. For
    estimated noise they are those of Student's distribution.

    Examples
    --------
    >>> import daesolve as ds
    >>> import numpy as np
    >>> q = ds.coordinates(x="m")
    >>> p = ds.parameters(stiffness=(3.0, "N/m", ds.POSITIVE))
    >>> kinetic, potential = q.dot.x**2 / 2, p.stiffness * q.x**2 / 2
    >>> spring = ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential)
    >>> times = np.linspace(0, 3, 31)
    >>> data = {"time": times, "x": np.cos(2 * times)}
    >>> found = ds.identify(spring, data, ["stiffness"], initial={"x": 1.0, "x_dot": 0.0})
    >>> round(found["stiffness"], 10)
    4.0
    """
    check_options("identify", options, more=())
    shared = SharedRequest(source, parameters, until, initial, noise, missing, options)
    task = posed(named_experiments(data), shared)
    models, prepared = task.models, [_prepared(task, k) for k in range(len(task.models))]
    _check_rows(task)
    for model, one, horizon in zip(models, prepared, task.horizons, strict=True):
        model.data.check_horizon(one.start_time, horizon)
    first = np.array(list(task.start.values()))
    limits = _limits(task, bounds or {})
    for model, one in zip(models, prepared, strict=True):
        _check_units(model, one)
    levels = [
        dict(model.data.noise) or {name: 1e-3 * size for name, size in model.data.sizes.items()}
        for model in models
    ]
    ratios = [
        own[name] / size
        for model, own in zip(models, levels, strict=True)
        for name, size in model.data.sizes.items()
    ]
    opening = min(max(float(np.median(ratios)), 1e-6), 1e-2)
    fitting = ParameterFitting(models, levels, first, limits, opening)
    rows = min(len(model.data.times) for model in models)
    if segments is not None and not (isinstance(segments, int) and 1 <= segments < max(rows, 2)):
        raise OutOfRangeError(
            f"segments is {segments!r}, but must be a whole number from 1 to fewer than the rows"
        )
    single = next((why for why in map(_undivided, prepared) if why is not None), None)
    if single is not None and segments not in (None, 1):
        raise UnsupportedError(f"the motion cannot be divided into segments: {single}")
    fit = fitting.fitted(segments, single)
    if not all(model.data.noise for model in models):
        fit, levels = _with_noise(fitting, fit, levels)
    return _assembled(task, fitting, fit, levels)


def _prepared(task: Posed, k: int) -> Prepared:
    """Return the run of an experiment at the start of the search."""
    model, values = task.models[k], list(task.start.values())
    places: list[int] = model.places.tolist()
    return model.prepared(
        {name: values[place] for name, place in zip(model.names, places, strict=True)}
    )


def _check_rows(task: Posed) -> None:
    """Refuse fewer values than unknowns; unknown noise takes one more.

    Raises
    ------
    TooFewRowsError
        The message gives the numbers.
    """
    unknowns, count = len(task.start), sum(model.data.count for model in task.models)
    known = all(model.data.noise for model in task.models)
    needed = unknowns if known else unknowns + 1
    if count < needed:
        raise TooFewRowsError(
            f"{count} measured value{'s' * (count != 1)} cannot determine {unknowns} "
            f"unknown{'s' * (unknowns != 1)}{'' if known else ' and the noise'}: give at least "
            f"{needed}"
        )


def _limits(task: Posed, bounds: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """Return the bounds of the unknowns, (2, k).

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A bound belongs to no unknown, is no interval, or excludes the start value.
    """
    check_names("identified parameter or start value", bounds, task.start)
    limits: list[tuple[float, float]] = []
    for place, (name, value) in enumerate(task.start.items()):
        given: Any = bounds.get(name, (-math.inf, math.inf))
        try:
            low, high = (float(end) for end in given)
        except (TypeError, ValueError):
            low = high = math.nan
        if not low < high:
            raise OutOfRangeError(
                f"the bounds of {name!r} are {given!r}, but must be a lower and an upper number"
            )
        if not low <= value <= high:
            raise OutOfRangeError(
                f"the search for {name!r} starts at {value:g}, outside its bounds, "
                f"{low:g} to {high:g}"
            )
        model, known = task.local(place)
        ranges = model.system.dynamics.posed_ranges
        if known in ranges:
            # An open end is not reached: half of the smallest double is still inside.
            own = ranges[known]
            low = max(low, math.nextafter(own.low, math.inf) if own.open_low else own.low)
            high = min(high, own.high)
        limits.append((low, high))
    return np.array(limits).T


def _check_units(model: Model, prepared: Prepared) -> None:
    """Compare the sizes of the columns with those of the motion at the start of the search."""
    try:
        run, _ = recorded_run(prepared, model.data.times)
    except DaesolveError as error:
        raise NoFitError(f"there is no motion to compare with the data: {error}") from error
    if len(run.times) == len(model.data.times):
        model.data.check_units({name: run[name] for name in model.data.columns}, model.units)


def _undivided(prepared: Prepared) -> str | None:
    """Return why a motion cannot begin anew at a state on its way; None if it can."""
    switching = prepared.transitions
    if switching is not None and not all(isinstance(law, ResetLaw) for law in switching.laws):
        return "contacts or modes change on its way, and a state does not show them"
    if prepared.dynamics.discrete:
        return "it has discrete values, which a state does not show"
    return None


def _with_noise(
    fitting: ParameterFitting, fit: Fit, levels: Sequence[Mapping[str, float]]
) -> tuple[Fit, list[dict[str, float]]]:
    """Return the fit with the most likely noise of each column, and this noise.

    Raises
    ------
    TooFewRowsError
        The fit passes through all values of a column, whatever their noise is.
    """
    found = [dict(own) for own in levels]
    for _ in range(MOST_ROUNDS):
        slopes = fit.residuals.slopes * fitting.sizes
        freedom = noise_freedom(slopes, _row_weights(fitting.models))
        ratios: list[float] = []
        end = 0
        for model, own, part in zip(fitting.models, found, fit.residuals.motions, strict=True):
            for name, count in model.data.counts.items():
                begin, end = end, end + count
                if model.data.noise:
                    ratios.append(1.0)
                    continue
                left = float(np.sum(freedom[begin:end]))
                if left < LEAST_FREEDOM:
                    raise TooFewRowsError(
                        f"the noise of {_column(model, name)} cannot be estimated, because the fit "
                        f"passes through {'its value' if count == 1 else 'its values'}: give the "
                        "noise (noise=..., --noise)"
                    )
                gaps = model.data.apart(name, part.outputs[name])
                level = math.sqrt(float(np.nansum(gaps**2)) / left)
                level = max(level, EXACT * model.data.sizes[name])
                ratios.append(level / own[name])
                own[name] = level
        # One factor for all columns changes no weight.
        if all(abs(ratio / max(ratios) - 1.0) < SETTLED for ratio in ratios):
            break
        fit = fitting.refitted(fit, [dict(own) for own in found])
    return fit, found


def _column(model: Model, name: str) -> str:
    return f"{name!r} of the experiment {model.name!r}" if model.name else repr(name)


def _row_weights(models: Sequence[Model]) -> np.ndarray:
    """Return the weight of each measured value."""
    return np.concatenate([np.full(model.data.count, model.weight) for model in models])


def _assembled(
    task: Posed,
    fitting: ParameterFitting,
    fit: Fit,
    levels: Sequence[Mapping[str, float]],
) -> Identification:
    models, names = fitting.models, tuple(task.start)
    weights = _row_weights(models)
    # What one factor of all noise levels leaves to be multiplied by.
    scale = np.concatenate(
        [
            np.full(count, motion.noise[name] / own[name])
            for motion, own in zip(fitting.whole.motions, levels, strict=True)
            for name, count in motion.model.data.counts.items()
        ]
    )
    slopes = fit.residuals.slopes * (scale / np.sqrt(weights))[:, None]
    free = fit.bound == 0
    known = identifiability(slopes[:, free], fit.values[free], weights) if np.any(free) else None
    covariance, sharpness = _of_all(free, known)
    experiments = tuple(
        _experiment(motion.model, part, own)
        for motion, part, own in zip(
            fitting.whole.motions, fit.residuals.motions, levels, strict=True
        )
    )
    cost = sum(one.cost for one in experiments)
    null = 0 if known is None else len(known.directions)
    freedom = sum(model.data.count for model in models) - int(np.sum(free)) + null
    deviations = np.sqrt(np.diag(covariance))
    finite = np.where(np.isfinite(deviations) & (deviations > 0.0), deviations, np.nan)
    factor = _quantile(None if all(model.data.noise for model in models) else freedom)
    half = factor * deviations
    return Identification(
        names=names,
        units=_units_of(task),
        values=fit.values,
        deviations=deviations,
        low=fit.values - half,
        high=fit.values + half,
        digits=_digits(half, fit.values),
        correlations=covariance / np.outer(finite, finite),
        experiments=experiments,
        cost=cost,
        freedom=freedom,
        undetermined=_directions(names, fitting, fit, free, known),
        segments=fit.segments,
        beginnings=fit.beginnings,
        evaluations=fitting.evaluations,
        notes=notes_of(fitting, fit, names, experiments, freedom),
        _profile=lambda place: profile_of(
            fitting,
            fit,
            place,
            float(deviations[place]),
            float(scale[0] * math.sqrt(sharpness[place])),
        ),
    )


def _of_all(free: np.ndarray, known: Identifiability | None) -> tuple[np.ndarray, np.ndarray]:
    """Return covariance and sharpness of all unknowns; those at a bound do not vary."""
    covariance, sharpness = np.zeros((len(free), len(free))), np.ones(len(free))
    if known is not None:
        covariance[np.ix_(free, free)] = known.covariance
        sharpness[free] = known.sharpness
    return covariance, sharpness


def _digits(half: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how many decimal digits of values the halves of their intervals leave."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.floor(-np.log10(half / np.abs(values)))
    return np.where(np.isnan(digits), FULL, np.clip(digits, 0, FULL)).astype(int)


def _experiment(model: Model, part: Residuals, levels: Mapping[str, float]) -> ExperimentFit:
    residuals = {name: model.data.apart(name, part.outputs[name]) for name in model.data.columns}
    return ExperimentFit(
        name=model.name,
        times=model.data.times,
        measured=model.data.columns,
        outputs=part.outputs,
        residuals=residuals,
        noise=dict(levels),
        weight=model.weight,
        cost=sum(float(np.nansum((gaps / levels[n]) ** 2)) for n, gaps in residuals.items()),
        run=part.parts[0].run,
    )


def _quantile(freedom: int | None) -> float:
    """Return how many deviations an interval has on each side; None for known noise."""
    level = (1.0 + CONFIDENCE) / 2.0
    if freedom is None:
        return float(scipy.stats.norm.ppf(level))
    return float(scipy.stats.t.ppf(level, max(freedom, 1)))


def _units_of(task: Posed) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, name in enumerate(task.start):
        model, known = task.local(place)
        found[name] = model.units.get(known, "")
        if known in model.parameters:
            owner = model.system.owner_of(known)
            found[name] = owner.units[list(owner.names).index(known)]
    return found


def _directions(
    all_names: Sequence[str],
    fitting: ParameterFitting,
    fit: Fit,
    free: np.ndarray,
    known: Identifiability | None,
) -> tuple[NullDirection, ...]:
    """Return the combinations that the data do not determine, by name.

    Each is written by relative changes, if the outputs stay the same when the unknowns move along
    them, and otherwise by changes in own units, if these are better.
    """
    if known is None:
        return ()
    unseen = MOVED * INVISIBLE * float(known.singular_values[0])
    names = [name for name, is_free in zip(all_names, free, strict=True) if is_free]
    values = fit.values[free]
    found: list[NullDirection] = []
    for direction in known.directions:
        changes = (_moved_outputs(fitting, fit, free, direction, way) for way in (True, False))
        relative = next(changes) <= max(next(changes), unseen)
        found.append(named_direction(names, values, direction, relative=relative, exact=True))
    found += [
        named_direction(names, values, direction, relative=True, exact=False)
        for direction in known.weak
    ]
    return tuple(found)


def _moved_outputs(
    fitting: ParameterFitting, fit: Fit, free: np.ndarray, direction: np.ndarray, relative: bool
) -> float:
    """Return how much residuals change along a direction; infinite if unknowns cannot move."""
    moved = fit.values.copy()
    values = fit.values[free]
    sizes = np.where(values != 0.0, np.abs(values), 1.0)
    share = direction / sizes
    share = MOVED * share / np.max(np.abs(share))
    if relative and np.any((values == 0.0) & (direction != 0.0)):
        return math.inf
    moved[free] = values * np.exp(share * np.sign(values)) if relative else values + share * sizes
    try:
        found = fitting.whole.residuals(moved, np.empty(0))
    except DaesolveError:
        return math.inf
    return float(np.linalg.norm(found.vector - fit.residuals.vector))
