"""Small motions of a system as a function of a parameter or of the speed of a steady motion.

The system is linearised for each value. Eigenvalues are matched from one value to the next so that
they deviate as little as possible from the extrapolation of their last two places. The growth rate
is the largest real part; a value is critical where this becomes positive or ceases to be positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from daesolve.analysis.linearization import linearize
from daesolve.core.equations.consistency import check_named
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System
from daesolve.errors import NotStationaryError, OutOfRangeError, PosingError, check_names

RESTING = 1e-7
"""Eigenvalues below this share of the largest, for every value, belong to families of states: a
steady motion for each speed, an equilibrium at each place. Two that meet at zero are accurate
only to the square root of rounding."""
NEUTRAL = 1e-12
"""A real part below this share of the largest eigenvalue is rounding."""
NARROWINGS = 50
"""The number of bisections of an interval, down to rounding."""

StateRule = Callable[[float], Mapping[str, float]]


@dataclass(frozen=True)
class Critical:
    """A value at which small motions begin or cease to grow.

    Parameters
    ----------
    value
        The value of the varied quantity.
    frequency
        The imaginary part of the eigenvalue, rad/s; zero if the motion departs without oscillating.
    lost
        Whether stability is lost with a rising value; otherwise it is gained.
    """

    value: float
    frequency: float
    lost: bool


@dataclass(frozen=True, eq=False)
class RootLocus:
    """Eigenvalues of small motions as a function of a varied quantity.

    Parameters
    ----------
    name
        The name of the varied quantity.
    values
        (m,)
    eigenvalues
        (m, n), 1/s: each column follows one eigenvalue.
    growth
        (m,), 1/s: the largest real part, without eigenvalues that are zero for every value.
    critical
        The values where the growth rate becomes positive or ceases to be, between neighbouring
        values. Two of them between the same neighbours go unnoticed.
    """

    name: str
    values: np.ndarray
    eigenvalues: np.ndarray
    growth: np.ndarray
    critical: tuple[Critical, ...]

    def __str__(self) -> str:
        low, high, count = self.values[0], self.values[-1], self.eigenvalues.shape[1]
        lines = [f"{count} eigenvalues for {self.name} from {low:g} to {high:g}"]
        for critical in self.critical:
            what = "lost" if critical.lost else "gained"
            how = (
                f"swinging at {critical.frequency:.6g} rad/s"
                if critical.frequency
                else "not swinging"
            )
            lines.append(f"stability is {what} at {self.name} = {critical.value:.10g}, {how}")
        if not self.critical:
            signs = {True: "grow", False: "do not grow"}
            lines.append(f"no critical value: small motions {signs[bool(self.growth[0] > 0)]}")
        return "\n".join(lines)


def root_locus(
    system: System,
    over: Mapping[str, Sequence[float] | np.ndarray],
    state: Mapping[str, float] | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
    coordinates: Sequence[str] = (),
    state_rule: StateRule | None = None,
) -> RootLocus:
    """Linearize a system along a family of equilibria or steady motions.

    Parameters
    ----------
    system
        The system as posed.
    over
        One name, of a parameter or of a state such as the speed, and its values, rising or falling.
    state
        Values of states to keep, shared by all.
    parameters
        Values that override the defaults.
    coordinates
        As in `linearize`.
    state_rule
        value -> further values of states to keep, if the steady motion depends on it.

    Returns
    -------
    RootLocus
        The eigenvalues, the growth rate and the critical values.

    Raises
    ------
    PosingError
        It is not a system, not one name with at least two values, or not a rule; or the number of
        eigenvalues differs between values.
    OutOfRangeError, UnknownNameError
        A value is out of range, or a name is neither a parameter nor a state.
    NotStationaryError
        The state is neither an equilibrium nor a steady motion; the message names the value.
    InconsistentStateError, DegenerateStartError
        As in `linearize`.

    Examples
    --------
    A pendulum with a drive proportional to its speed, which exceeds the damping beyond drive = 0.4:

    >>> import daesolve as ds
    >>> q, p = ds.coordinates(phi="rad"), ds.parameters(drive=0.0)
    >>> push = {"phi": (p.drive - 0.4) * q.dot.phi}
    >>> swing = ds.MechanicalSystem(
    ...     q, p, kinetic=q.dot.phi**2 / 2, potential=2 * q.phi**2, force=push
    ... )
    >>> print(root_locus(swing, {"drive": [0.0, 0.5, 1.0]}))
    2 eigenvalues for drive from 0 to 1
    stability is lost at drive = 0.4, swinging at 2 rad/s
    """
    check_system(system)
    name, values = _varied(system, over)
    kept, numbers = check_named("state", state), check_named("parameters", parameters)
    if not (state_rule is None or callable(state_rule)):
        raise PosingError(f"state_rule must be a function of {name!r}, not {state_rule!r}")
    spectrum = partial(_spectrum, system, name, kept, numbers, coordinates, state_rule)
    spectra = [spectrum(float(value)) for value in values]
    _check_counts(name, values, spectra)
    resting = min(_resting(found) for found in spectra)
    if resting == len(spectra[0]):
        raise PosingError(f"no eigenvalue differs from zero for any {name}: nothing is critical")

    def growing(value: float) -> complex:
        return _growing(spectrum(value), resting)

    eigenvalues = _followed(spectra)
    growth = np.array([_growing(found, resting).real for found in spectra])
    neutral = NEUTRAL * float(np.max(np.abs(eigenvalues)))
    critical = _critical(growing, values, growth, neutral)
    return RootLocus(name, values, eigenvalues, growth, critical)


def _varied(
    system: System, over: Mapping[str, Sequence[float] | np.ndarray]
) -> tuple[str, np.ndarray]:
    """Return the name of the varied quantity and its values (m,)."""
    if not isinstance(over, Mapping) or len(over) != 1:
        raise PosingError("over must name one parameter or state with its values: {'speed': [...]}")
    ((name, given),) = over.items()
    known = [*system.dynamics.ranges, *system.dynamics.labels.states]
    check_names("parameter or state", [name], known)
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise OutOfRangeError(f"the values of {name!r} must be numbers, not {given!r}") from None
    steps = np.diff(values) if values.ndim == 1 else np.zeros(0)
    if not steps.size or not np.all(np.isfinite(values)):
        raise OutOfRangeError(f"the values of {name!r} must be at least two finite numbers")
    if not (np.all(steps > 0) or np.all(steps < 0)):
        raise OutOfRangeError(f"the values of {name!r} must always rise or always fall")
    return name, values


def _spectrum(
    system: System,
    name: str,
    state: Mapping[str, float],
    parameters: Mapping[str, float],
    coordinates: Sequence[str],
    state_rule: StateRule | None,
    value: float,
) -> np.ndarray:
    """Return the eigenvalues (n,) for one value."""
    own = None if state_rule is None else state_rule(value)
    kept = {**state, **check_named("what state_rule returns", own)}
    numbers = dict(parameters)
    (numbers if name in system.dynamics.ranges else kept)[name] = value
    try:
        return linearize(system, kept, parameters=numbers, coordinates=coordinates).eigenvalues
    except NotStationaryError as error:
        raise NotStationaryError(f"at {name} = {value:g}: {error}") from error


def _check_counts(name: str, values: np.ndarray, spectra: Sequence[np.ndarray]) -> None:
    for value, spectrum in zip(values[1:], spectra[1:], strict=True):
        if len(spectrum) != len(spectra[0]):
            raise PosingError(
                f"there are {len(spectrum)} eigenvalues at {name} = {value:g}, but "
                f"{len(spectra[0])} at {name} = {values[0]:g}: choose coordinates, or "
                "leave out this value"
            )


def _followed(spectra: Sequence[np.ndarray]) -> np.ndarray:
    """Return the eigenvalues (m, n), each column following one of them."""
    rows = [spectra[0]]
    for spectrum in spectra[1:]:
        expected = rows[-1] if len(rows) < 2 else 2 * rows[-1] - rows[-2]
        distances = np.abs(expected[:, None] - spectrum[None, :])
        rows.append(spectrum[scipy.optimize.linear_sum_assignment(distances)[1]])
    return np.array(rows)


def _resting(eigenvalues: np.ndarray) -> int:
    """Return the number of eigenvalues that are effectively zero."""
    sizes = np.abs(eigenvalues)
    return int(np.sum(sizes <= RESTING * np.max(sizes, initial=0.0)))


def _growing(eigenvalues: np.ndarray, resting: int) -> complex:
    """Return the eigenvalue of largest real part, without the `resting` smallest ones."""
    moving = eigenvalues[np.argsort(np.abs(eigenvalues))[resting:]]
    value = moving[np.argmax(np.real(moving))]
    return complex(np.real(value), abs(np.imag(value)))


def _critical(
    growing: Callable[[float], complex], values: np.ndarray, growth: np.ndarray, neutral: float
) -> tuple[Critical, ...]:
    """Refine each place where the growth rate becomes positive or ceases to be.

    Parameters
    ----------
    growing
        value -> the eigenvalue of largest real part.
    values, growth
        (m,), (m,)
    neutral
        Growth rates or frequencies up to this are rounding.
    """
    critical: list[Critical] = []
    unstable = growth > neutral
    for index in np.flatnonzero(unstable[:-1] != unstable[1:]):
        ends = float(values[index]), float(values[index + 1])
        quiet, loud = ends if unstable[index + 1] else ends[::-1]
        if growth[index : index + 2].min() < -neutral:
            value = _root(lambda at: growing(at).real, quiet, loud)
        else:
            value = _onset(lambda at: growing(at).real > neutral, quiet, loud)
        swing = growing(value).imag
        critical.append(Critical(value, swing if swing > neutral else 0.0, lost=loud > quiet))
    return tuple(critical)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function passes through zero, to rounding."""
    root = scipy.optimize.brentq(function, low, high, xtol=1e-15 * max(abs(low), abs(high)))
    return float(root)  # pyright: ignore[reportArgumentType]


def _onset(unstable: Callable[[float], bool], quiet: float, loud: float) -> float:
    """Return the onset of growth, which begins at zero like a square root, without a slope."""
    for _ in range(NARROWINGS):
        middle = (quiet + loud) / 2
        if unstable(middle):
            loud = middle
        else:
            quiet = middle
    return loud
