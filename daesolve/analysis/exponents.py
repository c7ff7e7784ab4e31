"""Lyapunov exponents: the mean rates at which small changes of a motion grow.

Tangent vectors are carried along the motion by its variational equations, through events and
resets (see `propagation`), and made orthonormal again and again: what the lengths lose by that is
how far they grew (G. Benettin et al., Meccanica 15, 1980).

They are changes from one consistent state to another: tangent to every constraint, hidden
constraint and implicit equation, orthogonal to none of the motions that are possible. Feedback
leaves such changes alone and draws all others to zero at its rates; these never enter, since the
vectors start tangent and are projected anew each time. Driven invariants are different. A motion
of another energy is possible, so the exponents are those of the motion with the energy let go: of
two zeros in Hamiltonian motion one is the energy's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Unpack

import casadi as ca
import numpy as np

from daesolve.algebra.evaluation import Evaluator
from daesolve.algebra.translation import function_of
from daesolve.analysis.steady_motions import kernel
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import NoDerivativeError, OutOfRangeError
from daesolve.integration.record import Boundary, Happening, Record
from daesolve.integration.run_options import RunOptions, Source, check_options, requested_of
from daesolve.integration.simulation import simulate_recorded
from daesolve.preparation.preparing import Prepared, prepare
from daesolve.solvers import Solver
from daesolve.trajectory.trajectory import Trajectory
from daesolve.verification.propagation import Place, Propagation, legs_of

SKIPPED = 0.05
"""Of the run, in which the vectors turn into their directions; it is not counted."""
PIECES = 128
"""The fewest times that the vectors are made orthonormal in a run that reaches its end."""
FEWEST = 40
"""Pieces below which nothing is concluded."""
STRETCHED = 1e6
"""Growth over a piece beyond which the motion itself, integrated anew, would lose digits."""
PARTED = 1e9
"""Growth over a piece of one vector beside another, beyond which that one would lose digits."""
TRIED = 8
"""Pieces after which it is known whether they are short enough."""
SHORTENINGS = 10
"""How often pieces are halved."""
BLOCKS = (8, 16, 32, 64)
"""Into how many blocks the run is divided to see how far its parts differ."""
POLYNOMIAL = 3.0
"""Growth like this power of time is regular."""
SHOWN = 1000
"""The longest history."""

Verdict = Literal["exponential", "regular", "unknown"]


@dataclass(frozen=True, eq=False)
class LyapunovExponent:
    """How fast small changes of a motion grow.

    Parameters
    ----------
    spectrum, uncertainties
        (n,) exponents, largest first, and their standard errors, 1/s: the largest that follows
        from 8 to 64 blocks of the run. Where a motion lingers now in one part, now in another of
        what it can reach, for longer than a block, they are too small.
    times, history
        (k,) s after the start, and (k, n) the estimates up to then, 1/s.
    dimension
        The number of directions that the constraints leave free, so of exponents in all.
    verdict
        "exponential" where the largest is above zero by two standard errors, and changes grew
        beyond (number of pieces)^3; "regular" where they grew by no more than such a power of the
        time, which no exponent below 9 / `counted` can be told from; else "unknown".
    counted
        The time over which growth was measured, s.
    piece
        The time after which vectors were made orthonormal, s.
    run
        The motion.
    """

    spectrum: np.ndarray
    uncertainties: np.ndarray
    times: np.ndarray
    history: np.ndarray
    dimension: int
    verdict: Verdict
    counted: float
    piece: float
    run: Trajectory

    @property
    def exponent(self) -> float:
        """The largest, 1/s."""
        return float(self.spectrum[0])

    @property
    def uncertainty(self) -> float:
        """Its standard error, 1/s."""
        return float(self.uncertainties[0])

    @property
    def time(self) -> float | None:
        """The Lyapunov time, s; None where the motion is regular, not a number where unknown."""
        if self.verdict == "regular":
            return None
        return 1.0 / self.exponent if self.verdict == "exponential" else math.nan


def lyapunov_exponent(
    source: Source,
    until: float | None = None,
    initial: Mapping[str, float] | None = None,
    *,
    count: int | None = 1,
    **options: Unpack[RunOptions],
) -> LyapunovExponent:
    """Measure the largest Lyapunov exponent of a motion, or several.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    until, initial
        As in `solve`, or in the `solve` of the case, whose horizon holds without `until`. A
        motion that is to be on an attractor should start there.
    count
        How many exponents, from the largest; None takes all that the constraints leave.
    **options
        See `RunOptions`; there are no samples, so `at` is refused.

    Returns
    -------
    LyapunovExponent
        With standard errors, their history and a verdict.

    Raises
    ------
    OutOfRangeError
        There are not as many exponents.
    NoDerivativeError
        A guard that resets the motion has no slope where it passes, or a direction is lost at once.
    DaesolveError
        The run cannot be prepared.

    Notes
    -----
    Each exponent costs 1.5 to 3 times the run.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> saddle = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-(q.x**2) / 2)
    >>> found = ds.analysis.lyapunov_exponent(saddle, 40.0, {"x": 0.0, "x_dot": 0.0}, count=None)
    >>> found.verdict, [f"{value:.3f}" for value in found.spectrum]
    ('exponential', ['1.000', '-1.000'])
    """
    check_options("lyapunov_exponent", options, {"at": "it keeps no samples; leave it out"})
    system, request, _ = requested_of(source, until, initial, options)
    prepared = prepare(system, request)
    if prepared.resting:
        raise NoDerivativeError(
            "dry friction holds the body at rest from the start on: there is no motion whose "
            "errors could grow; start where it slides"
        )
    tangents = _Manifold(prepared)
    wanted = tangents.dimension if count is None else count
    if not (isinstance(wanted, int) and 1 <= wanted <= tangents.dimension):
        raise OutOfRangeError(
            f"count is {count!r}, but must be None or a whole number from 1 to the "
            f"{tangents.dimension} directions that the constraints leave"
        )
    span = abs(prepared.until - prepared.start_time)
    piece = min(prepared.segment, span / PIECES)
    for _ in range(SHORTENINGS):
        tried = prepared.start_time + math.copysign(
            min(TRIED * piece, span), prepared.until - prepared.start_time
        )
        for end in (tried, prepared.until):
            found = _growth(replace(prepared, until=end), request.solver, tangents, wanted, piece)
            if found is None:
                break
        if found is not None:
            return _measured(found, tangents.dimension, piece)
        piece /= 2.0
    raise NoDerivativeError(
        f"the {wanted} directions cannot be told from each other after {2.0 * piece:.2g} s, so "
        "fast do they grow or shrink beside each other: ask for fewer exponents"
    )


@dataclass(frozen=True, eq=False)
class _Growth:
    """What was measured along a run.

    Parameters
    ----------
    run
        The run.
    times
        (m + 1,) where pieces begin and end, s after the start.
    logarithms
        (m, n) of how far each vector grew in each piece.
    """

    run: Trajectory
    times: np.ndarray
    logarithms: np.ndarray


class _Manifold:
    """The consistent states around a motion, in units of the size of each state."""

    def __init__(self, prepared: Prepared) -> None:
        self.dynamics = prepared.dynamics
        self.sizes = _sizes(prepared)
        start = prepared.start
        self.dimension = self.basis(prepared.start_time, start.state, prepared.values).shape[1]

    @cached_property
    def _jacobian(self) -> Evaluator:
        dynamics = self.dynamics
        jacobian = ca.jacobian(ca.vertcat(ca.SX(0, 1), *_kept(dynamics)), dynamics.x)
        arguments = [dynamics.t, dynamics.x, dynamics.p]
        return Evaluator(
            function_of("tangents", arguments, [jacobian.T], (["t", "x", "p"], ["jacobian"]))
        )

    def basis(self, time: float, state: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return orthonormal directions in which the state may change, (n, dimension)."""
        if not _kept(self.dynamics):
            return np.eye(len(self.sizes))
        flat = self._jacobian(time, state, p[: len(self.dynamics.values)])[0]
        return kernel(flat.reshape(-1, len(self.sizes)) * self.sizes)


def _kept(dynamics: Dynamics) -> list[ca.SX]:
    """Return what has the same value in all consistent states."""
    links = [link for row in dynamics.rows for link in row.chain]
    links += [row.residual for row in dynamics.implicit_rows]
    return links + [row.value for row in dynamics.invariants if row.on == "positions"]


def _sizes(prepared: Prepared) -> np.ndarray:
    """Return the size of each state, none too small; an angle counts as one radian."""
    labels = prepared.problem.labels
    path = np.vstack([prepared.start.state, prepared.path[:, : len(labels.states)]])
    sizes = np.max(np.abs(path), axis=0)
    sizes[list(labels.angles)] = 1.0
    return np.maximum(sizes, 1e-3 * np.max(sizes) or 1.0)


class _Tangents(Propagation):
    """Tangent vectors along a run, in the columns of its derivatives."""

    def __init__(
        self, prepared: Prepared, record: Record, solver: Solver | None, manifold: _Manifold,
        count: int,
    ) -> None:  # fmt: skip
        generator = np.random.default_rng(4)
        # Not the same for all states: where they shrink together, it would never begin to grow.
        basis = manifold.basis(prepared.start_time, prepared.start.state, prepared.values)
        mixed = np.linalg.qr(generator.standard_normal(size=(basis.shape[1], count)))[0]
        states = manifold.sizes[:, None] * (basis @ mixed)
        whole = prepared.problem if prepared.problem.chart is None else prepared.problem.chart.whole
        slopes = np.vstack([states, np.zeros((len(whole.values), count))])
        names = {f"direction {k + 1}": 1.0 for k in range(count)}
        super().__init__(prepared, record, solver, slopes, names)
        self.manifold = manifold
        places = list(self.problem.values)
        for row in prepared.dynamics.invariants:
            if row.on != "positions":
                self.rates[places.index(f"rate_{row.name}")] = 0.0

    def growth(self) -> np.ndarray | None:
        """Return the logarithms of how far each vector grew from boundary to boundary.

        None where digits would be lost.
        """
        boundaries = self.record.boundaries
        found: list[np.ndarray] = []
        happened = legs_of(self.record, self.prepared)
        self._happen(happened[0], {}, np.zeros(len(self.sizes)))
        for here, there, events in zip(boundaries, boundaries[1:], happened[1:], strict=False):
            self._advance(here, there.time, [])
            lengths = self._orthonormal(self._place(events[0].at if events else there))
            if lengths is None:
                return None
            found.append(np.log(lengths))
            if events:
                found[-1] += np.log(self._through_reset(events, there))
        return np.array(found).reshape(len(found), len(self.sizes))

    def _through_reset(self, events: Sequence[Happening], after: Boundary) -> np.ndarray:
        """Go through a reset; return how far each vector grew there.

        Raises
        ------
        NoDerivativeError
            It takes a direction away.
        """
        self._happen(events, {}, None)
        lengths = self._orthonormal(self._place(after))
        if lengths is None:
            raise NoDerivativeError(
                f"at t = {after.time:.10g} s the event {events[0].name!r} takes away one of the "
                f"{len(self.sizes)} directions, as an impact takes a velocity: ask for fewer "
                "exponents"
            )
        return lengths

    def _orthonormal(self, place: Place) -> np.ndarray | None:
        """Make the vectors orthonormal; return how long what is new in each of them was."""
        units = self.manifold.sizes
        visible = len(units)
        if not np.all(np.isfinite(self.state)):
            return None
        basis = self.manifold.basis(place.time, place.x[:visible], place.p)
        along = basis.T @ (self.state[:visible] / units[:, None])
        vectors, lengths = np.linalg.qr(along)
        sizes = np.abs(np.diag(lengths))
        largest, smallest = np.max(sizes), np.min(sizes)
        if not (largest < STRETCHED and smallest * PARTED > largest):
            return None
        self.state[:visible] = units[:, None] * (basis @ vectors)
        self.state[visible:] = 0.0
        # What remembers the state is changed as the state is.
        self.values = np.linalg.solve(lengths.T, self.values.T).T
        return sizes


def _growth(
    prepared: Prepared, solver: Solver | None, manifold: _Manifold, count: int, piece: float
) -> _Growth | None:
    """Run with boundaries where vectors are made orthonormal, and measure; None: too far apart."""
    run, record = simulate_recorded(replace(prepared, segment=piece), [])
    # What is only recorded changes no direction.
    resets = replace(record, events=[event for event in record.events if event.after is not None])
    logarithms = _Tangents(prepared, resets, solver, manifold, count).growth()
    if logarithms is None:
        return None
    times = np.array([boundary.time for boundary in record.boundaries])
    return _Growth(run, np.abs(times - prepared.start_time), logarithms)


# -- what follows from it -------------------------------------------------------------------------


def _measured(growth: _Growth, dimension: int, piece: float) -> LyapunovExponent:
    span = growth.times[-1]
    kept = growth.times[:-1] >= SKIPPED * span
    logarithms = growth.logarithms[kept]
    lengths = np.diff(growth.times)[kept]
    counted = float(np.sum(lengths))
    elapsed = np.cumsum(lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        history = np.cumsum(logarithms, axis=0) / elapsed[:, None]
    order = np.argsort(-history[-1], kind="stable")
    uncertainties = _uncertainties(logarithms, lengths)
    shown = np.unique(np.linspace(0, len(elapsed) - 1, min(SHOWN, len(elapsed))).astype(int))
    largest = float(history[-1][order[0]])
    error = float(uncertainties[order[0]])
    return LyapunovExponent(
        spectrum=history[-1][order],
        uncertainties=uncertainties[order],
        times=growth.times[1:][kept][shown],
        history=history[shown][:, order],
        dimension=dimension,
        verdict=_verdict(largest * counted, error * counted, len(lengths)),
        counted=counted,
        piece=piece,
        run=growth.run,
    )


def _uncertainties(logarithms: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return standard errors of the mean rates, (n,)."""
    errors = [np.full(logarithms.shape[1], np.nan)]
    for count in BLOCKS:
        if len(lengths) < 2 * count:
            break
        parts = np.array_split(np.arange(len(lengths)), count)
        rates = [logarithms[part].sum(axis=0) / lengths[part].sum() for part in parts]
        errors.append(np.std(rates, axis=0, ddof=1) / math.sqrt(count))
    return np.fmax.reduce(errors)


def _verdict(grown: float, error: float, pieces: int) -> Verdict:
    """Judge growth, the logarithm of how far the fastest change grew, and its standard error."""
    if pieces < FEWEST or not math.isfinite(grown):
        return "unknown"
    if grown <= POLYNOMIAL * math.log(1.0 / SKIPPED):
        return "regular"
    if grown >= POLYNOMIAL * math.log(pieces) and grown > 2.0 * error:
        return "exponential"
    return "unknown"
