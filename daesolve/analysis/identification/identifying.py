"""Parameters and start values from measured outputs, with intervals and what stays unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import scipy

from daesolve.analysis.gradients.objective_gradient import DifferentiableCase
from daesolve.analysis.identification.fitting import Fit, ParameterFitting
from daesolve.analysis.identification.identifiability import (
    INVISIBLE,
    Identifiability,
    NullDirection,
    identifiability,
    named_direction,
)
from daesolve.analysis.identification.identification import Identification
from daesolve.analysis.identification.measurements import Noise, measured
from daesolve.analysis.identification.profiles import profile_of
from daesolve.analysis.identification.shooting import Model
from daesolve.analysis.sensitivity import Varied, recorded_run, varied_system
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.run_options import BoundProblem, RunOptions, check_options
from daesolve.core.system.system import System
from daesolve.errors import (
    DaesolveError,
    NoFitError,
    OutOfRangeError,
    UnsupportedError,
    check_names,
)

CONFIDENCE = 0.95
SETTLED = 1e-3
"""The relative change of an estimated noise level that ends its estimation."""
MOST_ROUNDS = 20
EXACT = 1e-13
"""The relative errors of a motion, below which residuals are no noise."""
UNLIKELY = 1e-3
"""The probability of residuals by the given noise below which a note doubts the model."""
FULL = 15
"""The digits of a double."""
MOVED = 0.1
"""How far unknowns move along a null direction to see how it goes on."""


def identify(
    source: System | DifferentiableCase,
    data: Any,
    parameters: Sequence[str] | Mapping[str, float],
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    *,
    noise: Noise = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    segments: int | None = None,
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
    parameters
        The names of the unknowns: parameters, and start values that `initial` keeps; the search
        starts at their present values, or at those of a mapping.
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
    if options.get("at") is not None:
        raise UnsupportedError("identify takes no 'at': the data have the sample times")
    model, start, horizon = _posed(source, data, parameters, until, initial, noise, options)
    model.data.check_rows(len(model.names))
    prepared = model.prepared(start)
    model.data.check_horizon(prepared.start_time, horizon)
    first = np.array(list(start.values()))
    limits = _limits(model, start, bounds or {})
    _check_units(model, prepared)
    scales = model.data.sizes
    levels = dict(model.data.noise) or {name: 1e-3 * size for name, size in scales.items()}
    opening = float(np.median([levels[name] / size for name, size in scales.items()]))
    fitting = ParameterFitting(model, levels, first, limits, min(max(opening, 1e-6), 1e-2))
    rows = len(model.data.times)
    if segments is not None and not (isinstance(segments, int) and 1 <= segments < max(rows, 2)):
        raise OutOfRangeError(
            f"segments is {segments!r}, but must be a whole number from 1 to fewer than the rows"
        )
    single = _undivided(prepared)
    if single is not None and segments not in (None, 1):
        raise UnsupportedError(f"the motion cannot be divided into segments: {single}")
    fit = fitting.fitted(segments, single)
    if not model.data.noise:
        fit, levels = _with_noise(fitting, fit, levels, scales)
    return _assembled(model, fitting, fit, levels, limits)


def _posed(
    source: System | DifferentiableCase,
    data: Any,
    parameters: Sequence[str] | Mapping[str, float],
    until: float | None,
    initial: Mapping[str, float] | None,
    noise: Noise,
    options: RunOptions,
) -> tuple[Model, dict[str, float], float]:
    """Return the model with its data, the start values of the unknowns, and the horizon."""
    found: Varied
    if isinstance(parameters, Mapping):
        known = source.system if isinstance(source, BoundProblem) else source
        ranges = known.dynamics.posed_ranges if isinstance(known, System) else {}
        begin = {name: value for name, value in parameters.items() if name in ranges}
        begun = {name: value for name, value in parameters.items() if name not in ranges}
        options = {**options, "parameters": begin}
        initial, parameters = {**(initial or {}), **begun}, list(parameters)
    if isinstance(source, DifferentiableCase):
        found = source.varied(parameters, until, initial, options)
    else:
        found = varied_system(source, parameters, math.nan, initial, options)
    system, request, nominal, _ = found
    labels = system.dynamics.labels
    units = labels.units()
    model = Model(system, request, tuple(nominal), measured(data, units, noise), units)
    horizon = request({}).until if until is None else until
    if math.isnan(horizon):
        horizon = max(float(model.data.times[-1]), request({}).start_time)
    return model, dict(nominal), horizon


def _limits(
    model: Model, start: Mapping[str, float], bounds: Mapping[str, tuple[float, float]]
) -> np.ndarray:
    """Return the bounds of the unknowns, (2, k).

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A bound belongs to no unknown, is no interval, or excludes the start value.
    """
    check_names("identified parameter or start value", bounds, model.names)
    ranges = model.system.dynamics.posed_ranges
    limits: list[tuple[float, float]] = []
    for name, value in start.items():
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
        if name in ranges:
            # An open end is not reached: half of the smallest double is still inside.
            own = ranges[name]
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
    fitting: ParameterFitting, fit: Fit, levels: Mapping[str, float], scales: Mapping[str, float]
) -> tuple[Fit, dict[str, float]]:
    """Return the fit with the most likely noise of each column, and this noise."""
    model, columns = fitting.model, fitting.model.data.columns
    for _ in range(MOST_ROUNDS):
        share = max(1.0 - len(fit.values) / model.data.count, 1.0 / model.data.count)
        found = {
            name: max(
                float(np.sqrt(np.mean((fit.residuals.outputs[name] - values) ** 2) / share)),
                EXACT * scales[name],
            )
            for name, values in columns.items()
        }
        change = {name: found[name] / levels[name] for name in columns}
        common = max(change.values())
        # One factor for all columns changes no weight.
        settled = all(abs(one / common - 1.0) < SETTLED for one in change.values())
        levels = found
        if settled:
            break
        fit = fitting.refitted(fit, levels)
    return fit, dict(levels)


def _assembled(
    model: Model,
    fitting: ParameterFitting,
    fit: Fit,
    levels: Mapping[str, float],
    limits: np.ndarray,
) -> Identification:
    columns = model.data.columns
    residuals = {name: fit.residuals.outputs[name] - values for name, values in columns.items()}
    weights = np.concatenate(
        [np.full(len(model.data.times), fitting.whole.noise[n] / levels[n]) for n in columns]
    )
    slopes = fit.residuals.slopes * weights[:, None]
    free = fit.bound == 0
    known = identifiability(slopes[:, free], fit.values[free]) if np.any(free) else None
    covariance = np.zeros((len(free), len(free)))
    if known is not None:
        covariance[np.ix_(free, free)] = known.covariance
    cost = sum(float(np.sum((residuals[n] / levels[n]) ** 2)) for n in columns)
    null = 0 if known is None else len(known.directions)
    freedom = model.data.count - int(np.sum(free)) + null
    deviations = np.sqrt(np.diag(covariance))
    finite = np.where(np.isfinite(deviations) & (deviations > 0.0), deviations, np.nan)
    factor = _quantile(None if model.data.noise else freedom)
    half = factor * deviations
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.floor(-np.log10(half / np.abs(fit.values)))
    digits = np.where(np.isnan(digits), FULL, np.clip(digits, 0, FULL)).astype(int)
    return Identification(
        names=model.names,
        units=_units_of(model),
        values=fit.values,
        deviations=deviations,
        low=fit.values - half,
        high=fit.values + half,
        digits=digits,
        correlations=covariance / np.outer(finite, finite),
        times=model.data.times,
        measured=columns,
        outputs=fit.residuals.outputs,
        residuals=residuals,
        noise=dict(levels),
        cost=cost,
        freedom=freedom,
        undetermined=_directions(model, fitting, fit, free, known),
        segments=fit.segments,
        evaluations=fitting.evaluations,
        run=fit.residuals.parts[0].run,
        notes=_notes(model, fit, cost, freedom, limits),
        _profile=lambda place: profile_of(
            fitting, fit, place, float(deviations[place]), float(weights[0])
        ),
    )


def _quantile(freedom: int | None) -> float:
    """Return how many deviations an interval has on each side; None for known noise."""
    level = (1.0 + CONFIDENCE) / 2.0
    if freedom is None:
        return float(scipy.stats.norm.ppf(level))
    return float(scipy.stats.t.ppf(level, max(freedom, 1)))


def _units_of(model: Model) -> dict[str, str]:
    owned = {
        name: unit
        for name in model.parameters
        for owner in [model.system.owner_of(name)]
        for own, unit in zip(owner.names, owner.units, strict=True)
        if own == name
    }
    known = {**model.units, **owned}
    return {name: known.get(name, "") for name in model.names}


def _directions(
    model: Model,
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
    names = [name for name, is_free in zip(model.names, free, strict=True) if is_free]
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


def _notes(
    model: Model, fit: Fit, cost: float, freedom: int, limits: np.ndarray
) -> tuple[str, ...]:
    notes = list(fit.residuals.parts[0].notes)
    for name, side, low, high in zip(model.names, fit.bound, *limits, strict=True):
        if side:
            notes.append(
                f"{name} is at its {'lower' if side < 0 else 'upper'} bound, "
                f"{low if side < 0 else high:g}: the intervals hold for this value"
            )
    if model.data.noise and freedom > 0 and scipy.stats.chi2.sf(cost, freedom) < UNLIKELY:
        notes.append(
            f"the residuals are {math.sqrt(cost / freedom):.3g} times the given noise: the model "
            "does not describe the data, or the noise is larger"
        )
    return tuple(notes)
