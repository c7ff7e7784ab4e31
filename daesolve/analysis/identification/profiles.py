"""Profiles: how much the misfit grows as one unknown moves and all others follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.analysis.identification.fitting import Fit, ParameterFitting
from daesolve.analysis.identification.identifiability import INVISIBLE
from daesolve.errors import DaesolveError

AROUND = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
"""Where a profile is computed, in standard deviations from the fit."""
CORRECTIONS = 2
"""How many corrections of Gauss and Newton the other unknowns take from the linear prediction."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The misfit over one unknown.

    Parameters
    ----------
    values
        Of the unknown.
    rises
        How much the sum of squares, relative to the noise, exceeds that of the fit. With exact
        linearity it is the square of the number of standard deviations.
    """

    values: np.ndarray
    rises: np.ndarray


def profile_of(
    fitting: ParameterFitting, fit: Fit, place: int, deviation: float, factor: float
) -> Profile:
    """Return the profile of an unknown.

    Parameters
    ----------
    fitting, fit
        The search, and the best fit.
    place
        Which unknown.
    deviation
        Its standard deviation.
    factor
        By which to multiply residuals to have them relative to the noise.
    """
    least = float(np.sum((factor * fit.residuals.vector) ** 2))
    others = np.arange(len(fit.values)) != place
    values = fit.values[place] + deviation * AROUND
    low, high = fitting.bounds[:, place]
    values = values[(values >= low) & (values <= high)]
    rises = [
        factor**2 * _misfit(fitting, fit, place, others, value) - least for value in values.tolist()
    ]
    return Profile(values, np.array(rises))


def _misfit(
    fitting: ParameterFitting, fit: Fit, place: int, others: np.ndarray, value: float
) -> float:
    """Return the sum of squares at a value of one unknown; NaN if there is no motion."""
    point, residuals = fit.values.copy(), fit.residuals
    point[place] = value
    # The first correction is the linear prediction: by the derivatives at the fit.
    vector = residuals.vector + residuals.slopes[:, place] * (value - fit.values[place])
    try:
        for _ in range(CORRECTIONS):
            slopes = residuals.slopes[:, others] * fitting.sizes[others]
            step = np.linalg.lstsq(slopes, vector, rcond=INVISIBLE)[0]
            point[others] -= fitting.sizes[others] * step
            point = np.clip(point, *fitting.bounds)
            residuals = fitting.whole.residuals(point, np.empty(0))
            vector = residuals.vector
    except DaesolveError:
        return float("nan")
    return float(vector @ vector)
