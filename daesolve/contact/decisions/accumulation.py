"""The accumulation of impacts: the instant to which ever shorter intervals lead.

Intervals d_k between impacts of the same contacts, whose ratios rho_k = d_k / d_(k-1) become less
than 1, end at

    limit_k = t_k + d_k rho_k / (1 - rho_k),

This is exact if the ratio is constant, as for a ball, and improves if it tends to a limit, as for a
rocking block. The agreement of successive limits shows how accurate they are; steady ratios do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from daesolve.errors import OutOfRangeError, PosingError

LEAST_LIMITS = 3
"""The number of successive limits that must agree."""
SAFETY = 2.0
"""A factor on the sum of corrections, whose ratio still grows towards its own limit."""
ROUNDINGS = 4.0
"""The rounding of an interval, in units of the last place of the time."""


@dataclass(frozen=True)
class Accumulation:
    """The instant at which impacts accumulate.

    Attributes
    ----------
    time
        The limit, s.
    uncertainty
        The possible error, s, judged by how successive limits converge, and by rounding.
    remaining
        The time from the last given impact, s.
    ratio
        The ratio of the last two intervals.
    impacts
        The number of given impacts.
    """

    time: float
    uncertainty: float
    remaining: float
    ratio: float
    impacts: int


def accumulation(
    times: ArrayLike, tolerance: float, speeds: ArrayLike | None = None
) -> Accumulation | None:
    """Return where impacts accumulate, once successive limits agree; otherwise None.

    Parameters
    ----------
    times
        The times of successive impacts of the same contacts, increasing: (m,), s.
    tolerance
        The accepted error of the limit, s. Rounding may exceed it; see `uncertainty`.
    speeds
        The speeds at which the contacts left these impacts, positive: (m,), m/s. Their ratio gives
        a separate limit, which must agree.

    Raises
    ------
    PosingError
        Times do not increase, or the number of speeds differs.
    OutOfRangeError
        A number is not finite, or a speed or the tolerance is not positive.
    """
    instants, leaving = _checked(times, tolerance, speeds)
    if len(instants) < LEAST_LIMITS + 2:
        return None
    last = instants[-LEAST_LIMITS - 2 :]
    intervals = np.diff(last)
    ratios = intervals[1:] / intervals[:-1]
    if np.any(ratios >= 1.0):
        return None
    limits = last[2:] + intervals[1:] * ratios / (1.0 - ratios)
    apart = np.abs(np.diff(limits))
    # The remainder of a geometric series of corrections, whose ratio the last two show.
    slowness = apart[-1] / apart[-2] if apart[-2] > 0.0 else 0.0
    # Corrections that do not decrease show the accuracy of the intervals.
    ahead = SAFETY * np.max(apart)
    if slowness < 1.0:
        ahead = SAFETY * apart[-1] * max(1.0, slowness / (1.0 - slowness))
    rounding = ROUNDINGS * np.spacing(abs(instants[-1])) / (1.0 - ratios[-1]) ** 2
    if slowness >= 1.0 and np.max(apart) <= rounding:
        ahead = 0.0
    if leaving is not None:
        falling = leaving[-1] / leaving[-2]
        if falling >= 1.0:
            return None
        by_speeds = instants[-1] + intervals[-1] * falling / (1.0 - falling)
        ahead = max(ahead, abs(by_speeds - limits[-1]))
    uncertainty = float(max(ahead, rounding))
    if uncertainty > max(tolerance, rounding):
        return None
    return Accumulation(
        time=float(limits[-1]),
        uncertainty=uncertainty,
        remaining=float(limits[-1] - instants[-1]),
        ratio=float(ratios[-1]),
        impacts=len(instants),
    )


def _checked(
    times: ArrayLike, tolerance: float, speeds: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None]:
    instants = np.asarray(times, dtype=np.float64)
    leaving = None if speeds is None else np.asarray(speeds, dtype=np.float64)
    if instants.ndim != 1 or np.any(np.diff(instants) <= 0.0):
        raise PosingError("times of impacts must increase")
    if leaving is not None and leaving.shape != instants.shape:
        raise PosingError(f"{len(instants)} impacts need as many speeds, not {leaving.shape}")
    if not np.all(np.isfinite(instants)) or not 0.0 < tolerance < np.inf:
        raise OutOfRangeError("times of impacts must be finite, and the tolerance positive")
    if leaving is not None and not np.all(leaving > 0.0):
        raise OutOfRangeError("speeds with which impacts are left must be positive")
    return instants, leaving
