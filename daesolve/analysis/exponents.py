"""Lyapunov exponents: the mean growth rates of small changes of a motion.

The variational equations carry tangent vectors along the motion, through events and resets (see
`propagation`); `error_growth` measures how far they grow between repeated orthonormalisations.

The vectors are changes from one consistent state to another: tangent to every constraint, hidden
constraint and implicit equation, and including every possible motion. Feedback does not affect such
changes, and it damps all others at its rates. These never enter, because the vectors start tangent
and are projected each time. Driven invariants are different. Motions of another energy are
possible, so the exponents are computed with the energy released: of the two zeros in Hamiltonian
motion, one belongs to the energy.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from daesolve.analysis.manifold import Manifold
from daesolve.analysis.members import of_members
from daesolve.analysis.propagation import Propagation
from daesolve.analysis.run_legs import legs_of
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.beside import in_lane
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.integration.record import Boundary, RunRecord
from daesolve.core.run.integration.run_options import (
    Initial,
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.integration.simulation import simulate_recorded
from daesolve.core.solvers import Solver
from daesolve.core.system.system import System
from daesolve.errors import DaesolveError, NoDerivativeError, OutOfRangeError
from daesolve.verification.error_growth import POLYNOMIAL, Growth, distinct, measured_growth

SKIPPED = 0.05
"""The fraction of the run in which the vectors align with their directions; it is not counted."""
PIECES = 128
"""The least number of orthonormalisations in a complete run."""
FEWEST = 40
"""The number of pieces below which there is no verdict."""
TRIED = 8
"""The number of pieces after which their length is judged."""
SHORTENINGS = 10
"""How often pieces are halved."""
BLOCKS = (8, 16, 32, 64)
"""The numbers of blocks into which the run is divided to compare its parts."""
SHOWN = 1000
"""The length of the longest history."""
NO_SAMPLES = "it does not keep samples; leave it out"

if TYPE_CHECKING:
    from daesolve.core.solvers.lanes import Batch

Verdict = Literal["exponential", "regular", "unknown"]


@dataclass(frozen=True, eq=False)
class LyapunovExponent:
    """The growth of small changes of a motion.

    Parameters
    ----------
    spectrum, uncertainties
        (n,) exponents, largest first, and their standard errors, 1/s: the largest of those from 8
        to 64 blocks of the run. If a motion lingers in different parts of its range for longer than
        a block, the errors are underestimated.
    times, history
        (k,) s after the start, and (k, n) the estimates up to these times, 1/s.
    dimension
        The number of directions that the constraints leave free, and so the total number of
        exponents.
    verdict
        "exponential" if the largest exceeds zero by two standard errors and changes grew beyond
        (number of pieces)^3; "regular" if they grew by no more than such a power of the time, which
        cannot be distinguished from exponents below 9 / `counted`; otherwise "unknown".
    counted
        The time over which growth was measured, s.
    piece
        The time between orthonormalisations, s.
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
        """The largest exponent, 1/s."""
        return float(self.spectrum[0])

    @property
    def uncertainty(self) -> float:
        """The standard error of the largest exponent, 1/s."""
        return float(self.uncertainties[0])

    @property
    def time(self) -> float | None:
        """The Lyapunov time, s; None if the motion is regular, NaN if unknown."""
        if self.verdict == "regular":
            return None
        return 1.0 / self.exponent if self.verdict == "exponential" else math.nan

    def __str__(self) -> str:
        pairs = zip(self.spectrum.tolist(), self.uncertainties.tolist(), strict=True)
        shown = ", ".join(f"{value:.4g} ± {error:.2g}" for value, error in pairs)
        count = f"{len(self.spectrum)} of {self.dimension} exponents"
        return f"{count}: {shown} 1/s, {self.verdict}, measured over {self.counted:.4g} s"


def lyapunov_exponent(
    source: Source,
    until: float | None = None,
    initial: Initial | None = None,
    *,
    count: int | None = 1,
    **options: Unpack[RunOptions],
) -> LyapunovExponent:
    """Measure the largest Lyapunov exponents of a motion, by default one.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    until, initial
        As in `solve`, or in the `solve` of the case, whose horizon is used without `until`. A
        motion meant to be on an attractor should start there.
    count
        The number of exponents, from the largest; None means all that the constraints leave.
    **options
        See `RunOptions`. There are no samples, so `at` is refused.

    Returns
    -------
    LyapunovExponent
        The exponents with standard errors, history and verdict.

    Raises
    ------
    OutOfRangeError
        There are fewer exponents than requested.
    NoDerivativeError
        A guard that resets the motion has no slope where it passes, or an event removes a
        direction.
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
    check_options("lyapunov_exponent", options, {"at": NO_SAMPLES})
    return _measure_exponents(count, *requested_of(source, until, initial, options))


def many_exponents(
    source: Source,
    members: Sequence[Mapping[str, float]],
    until: float | None = None,
    *,
    count: int | None = 1,
    **options: Unpack[RunOptions],
) -> list[LyapunovExponent | DaesolveError]:
    """Measure the exponents of many motions, several at a time in the lanes of one processor.

    To the rounding of its motion, each result equals that of `lyapunov_exponent`. It is the same to
    the last bit whatever the other members are.

    Parameters
    ----------
    source, until, count, **options
        As in `lyapunov_exponent`.
    members
        The parameters and start values, by name, in which the members differ.

    Returns
    -------
    list
        The exponents of each member, in order, or the error if a member has none.

    Raises
    ------
    OutOfRangeError
        There are no members, or one is not a mapping.
    PosingError
        The source is neither a system nor a case.

    Examples
    --------
    >>> import daesolve as ds
    >>> q, p = ds.coordinates(x="m"), ds.parameters(rate=(1.0, "1/s"))
    >>> energies = {"kinetic": q.dot.x**2 / 2, "potential": -((p.rate * q.x) ** 2) / 2}
    >>> saddle = ds.MechanicalSystem(q, p, **energies)
    >>> members = [{"x": 0.0, "x_dot": 0.0, "rate": rate} for rate in (0.5, 1.0)]
    >>> [f"{one.exponent:.3f}" for one in ds.analysis.many_exponents(saddle, members, 80.0)]
    ['0.500', '1.000']
    """
    check_options("many_exponents", options, {"at": NO_SAMPLES})
    return of_members(partial(_measure_exponents, count), source, members, until, options)


def _measure_exponents(
    count: int | None, system: System, request: Request, _at: At, batch: Batch | None = None
) -> LyapunovExponent:
    """Measure the exponents of prepared runs, in the lanes of a batch if there is one."""
    prepared = prepare(system, request)
    if batch is not None:
        prepared = in_lane(prepared, batch)
    if prepared.resting:
        raise NoDerivativeError(
            "dry friction holds the body at rest from the start on, so there is no motion "
            "whose errors could grow; start where it slides"
        )
    manifold = Manifold(prepared)
    wanted = manifold.dimension if count is None else count
    if not (isinstance(wanted, int) and 1 <= wanted <= manifold.dimension):
        raise OutOfRangeError(
            f"count is {count!r}, but must be None or a whole number from 1 to the "
            f"{manifold.dimension} directions that the constraints leave"
        )
    span = abs(prepared.until - prepared.start_time)
    piece = min(prepared.segment, span / PIECES)
    for _ in range(SHORTENINGS):
        tried = prepared.start_time + math.copysign(
            min(TRIED * piece, span), prepared.until - prepared.start_time
        )
        for end in (tried, prepared.until):
            run, growth = _growth(
                replace(prepared, until=end), request.solver, manifold, wanted, piece, batch
            )
            if growth is None:
                break
        if growth is not None:
            return _exponents(run, prepared.start_time, growth, manifold.dimension, piece)
        piece /= 2.0
    raise NoDerivativeError(
        f"the {wanted} directions cannot be distinguished after {2.0 * piece:.2g} s, because "
        "their growth rates differ too much: request fewer exponents"
    )


class _Tangents:
    """Tangent vectors along a run, as the columns of its derivatives.

    Parameters
    ----------
    prepared, record
        The prepared run and its record, at whose boundaries the vectors are measured.
    solver
        The requested solver; None lets the library choose.
    manifold
        The directions that the constraints leave.
    count
        The number of vectors.
    batch
        The batch that the vectors share with other motions; None if there is none.
    """

    def __init__(
        self, prepared: Prepared, record: RunRecord, solver: Solver | None, manifold: Manifold,
        count: int, batch: Batch | None,
    ) -> None:  # fmt: skip
        generator = np.random.default_rng(4)
        # Different for each state: if the vectors shrank together, they would never begin to grow.
        basis = manifold.basis(prepared.start_time, prepared.start.state, prepared.values)
        mixed = np.linalg.qr(generator.standard_normal(size=(basis.shape[1], count)))[0]
        states = manifold.sizes[:, None] * (basis @ mixed)
        whole = prepared.problem if prepared.problem.chart is None else prepared.problem.chart.whole
        slopes = np.vstack([states, np.zeros((len(whole.values), count))])
        names = {f"direction {k + 1}": 1.0 for k in range(count)}
        # Events that are only recorded change no direction.
        resets = [event for event in record.events if event.after is not None]
        record = replace(record, events=resets)
        self.propagation = Propagation(prepared, record, solver, slopes, names, batch)
        self.manifold, self.count = manifold, count
        places = self.propagation.problem.values
        for row in prepared.dynamics.invariants:
            if row.on != "positions":
                self.propagation.rates[ValueKind.RATE.place(row.name, places)] = 0.0
        self._happened, self._boundaries = (
            deque(legs_of(record, prepared)),
            deque(record.boundaries),
        )
        self._here = self._boundaries.popleft()
        self.propagation.happen(self._happened.popleft(), {}, np.zeros(count))
        self._orthonormal = self._lengths = np.zeros((0, 0))

    @property
    def time(self) -> float:
        """The time of the vectors, s."""
        return self._here.time

    def following(self, piece: float) -> float | None:
        """Return the time of the next boundary of the run: a piece ahead, or at an event."""
        return self._boundaries[0].time if self._boundaries else None

    def stretched(self, ahead: float) -> np.ndarray:
        """Carry the vectors to a boundary; return the length of the new part of each."""
        self.propagation.advance(self._here, ahead, [])
        events = self._happened[0]
        return self._measured(events[0].at if events else self._boundaries[0])

    def renew(self) -> np.ndarray | None:
        """Make the vectors orthonormal, and carry them through the resets here.

        Raises
        ------
        NoDerivativeError
            A reset removes a direction.
        """
        self._replace()
        self._here, events = self._boundaries.popleft(), self._happened.popleft()
        if not events:
            return None
        self.propagation.happen(events, {}, None)
        lengths = self._measured(self._here)
        if not len(lengths):
            raise NoDerivativeError(
                f"at t = {self.time:.10g} s the event {events[0].name!r} leaves no freedom: "
                "the motion forgets its start and has no exponents"
            )
        if len(lengths) < self.count or not distinct(lengths):
            raise NoDerivativeError(
                f"at t = {self.time:.10g} s the event {events[0].name!r} removes one of the "
                f"{self.count} directions, as an impact removes a velocity: request fewer "
                "exponents"
            )
        self._replace()
        return lengths

    def _measured(self, boundary: Boundary) -> np.ndarray:
        """Return the length of the new part of each vector, (n,)."""
        manifold, state = self.manifold, self.propagation.state
        place = self.propagation.place(boundary)
        visible = len(manifold.sizes)
        if not np.all(np.isfinite(state)):
            return np.full(self.count, np.nan)
        basis = manifold.basis(place.time, place.x[:visible], place.p)
        along = basis.T @ (state[:visible] / manifold.sizes[:, None])
        vectors, self._lengths = np.linalg.qr(along)
        self._orthonormal = manifold.sizes[:, None] * (basis @ vectors)
        return np.abs(np.diag(self._lengths))

    def _replace(self) -> None:
        """Replace the vectors measured last with orthonormal ones."""
        propagation, visible = self.propagation, len(self.manifold.sizes)
        propagation.state[:visible] = self._orthonormal
        propagation.state[visible:] = 0.0
        # Values that remember the state change with it.
        propagation.values = np.linalg.solve(self._lengths.T, propagation.values.T).T


def _growth(
    prepared: Prepared,
    solver: Solver | None,
    manifold: Manifold,
    count: int,
    piece: float,
    batch: Batch | None,
) -> tuple[Trajectory, Growth | None]:
    """Run with a boundary after every piece, and measure the growth in each."""
    run, record = simulate_recorded(replace(prepared, segment=piece), [])
    tangents = _Tangents(prepared, record, solver, manifold, count, batch)
    return run, measured_growth(tangents, piece)


# -- what follows from it -------------------------------------------------------------------------


def _exponents(
    run: Trajectory, start_time: float, growth: Growth, dimension: int, piece: float
) -> LyapunovExponent:
    times = np.abs(growth.times - start_time)
    kept = times[:-1] >= SKIPPED * times[-1]
    logarithms = growth.logarithms[kept]
    lengths = np.diff(times)[kept]
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
        times=times[1:][kept][shown],
        history=history[shown][:, order],
        dimension=dimension,
        verdict=_verdict(largest * counted, error * counted, len(lengths)),
        counted=counted,
        piece=piece,
        run=run,
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
    """Judge growth, the logarithm of the growth of the fastest change, and its standard error."""
    if pieces < FEWEST or not math.isfinite(grown):
        return "unknown"
    if grown <= POLYNOMIAL * math.log(1.0 / SKIPPED):
        return "regular"
    if grown >= POLYNOMIAL * math.log(pieces) and grown > 2.0 * error:
        return "exponential"
    return "unknown"
