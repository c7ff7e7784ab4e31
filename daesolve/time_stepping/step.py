"""One time step: the velocities after it, and the impulses of the supports.

At the end of the step each loaded support either slides, and its friction opposes the slip, or it
rests, and its friction is whatever keeps it at rest within the limit of dry friction. Which does
what is found on a path: a slip V first counts as V / sqrt(V^2 + e^2) with a smoothing speed e so
large that nothing rubs, then e is lowered to nothing. Supports whose slip fades with e rest. In
the end they are held exactly, and the others rub exactly.

The friction of a smoothed support lies within its limit, so that the path ends at a solution of
the problem with dry friction. Where supports can rest with more than one friction, it is the one
that a little viscosity would choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.complementarity.answers import answer_at
from daesolve.complementarity.policies import solve
from daesolve.errors import BranchLost, UnphysicalVariant
from daesolve.time_stepping.equations import Balance, Rubs

SMOOTHEST, SHARPEST = 1e3, 1e-7
"""The smoothing speeds between which the path leads, over the fastest slip without friction."""
FADING = 1e-2
"""The last one is lowered once more by this: a slip that fades to less than half is none."""
CONVERGED = 1e-13
"""What is left of the momentum balance, over the momenta in it, where the iteration may end."""
ROUNDED, ROUNDED_SMOOTH = 1e-10, 1e-6
"""The same where rounding ends it: of a slip far below other velocities little is exact."""
ITERATIONS, HALVINGS = 40, 12
FASTEST, SLOWEST = 1e-2, 0.97
"""By what the smoothing is lowered at once: at most, and where the path is given up."""
DEPENDENT = 1e-10
"""Singular values of unit rows below this count as zero."""


@dataclass(frozen=True, eq=False)
class Stepped:
    """What a step leads to.

    Parameters
    ----------
    velocities
        v+, (nv,).
    impulses
        Signed normal impulses (m,), N s: positive where the second support is loaded.
    friction
        The generalised impulse of friction, (nv,).
    slipping
        Whether the loaded support of each pair slides at the end of the step, (m,).
    iterations
        How often linear equations were solved.
    """

    velocities: np.ndarray
    impulses: np.ndarray
    friction: np.ndarray
    slipping: np.ndarray
    iterations: int


@dataclass(frozen=True, eq=False)
class _Point:
    """Velocities, signed normal impulses, and impulses of what is held beside them."""

    v: np.ndarray
    impulses: np.ndarray
    held: np.ndarray

    @property
    def all(self) -> np.ndarray:
        return np.concatenate([self.v, self.impulses, self.held])

    def at(self, values: np.ndarray) -> _Point:
        """Return a point of the same kind."""
        ends = np.cumsum([len(self.v), len(self.impulses)])
        return _Point(*np.split(values, ends))


@dataclass(frozen=True, eq=False)
class _Resting:
    """Supports that are held.

    Parameters
    ----------
    slipping
        Which pairs are not, (m,).
    friction
        (nv,) the friction from which that of the held supports is corrected.
    rows, aims
        rows @ v = aims: no slip, no spin, (k, nv) and (k,).
    """

    slipping: np.ndarray
    friction: np.ndarray
    rows: np.ndarray
    aims: np.ndarray


class _NotFoundError(Exception):
    """The iteration does not converge from here."""


def take_step(balance: Balance, last: np.ndarray | None = None) -> Stepped:
    """Solve the balance of a step.

    Parameters
    ----------
    balance
        The balance.
    last
        The signed impulses of the step before, (m,), from which the search starts where all loaded
        supports slide.

    Raises
    ------
    BranchLost
        The path from no friction turns back, or cannot be followed.
    UnphysicalVariant
        It arrives at loaded supports that are divergent where they yield ever so little.
    VariantError
        The supports do not hold the body, even where nothing rubs.
    """
    search = _Search(balance)
    if last is not None:
        try:
            return search.sliding_on(last)
        except (_NotFoundError, UnphysicalVariant):
            pass
    return search.from_no_friction()


class _Search:
    """The iterations of one step, in which all is measured by the masses.

    With M = L L', momenta are taken as L^-1 M v, and rows of constraints have length one.
    """

    def __init__(self, balance: Balance) -> None:
        self.balance = balance
        self.iterations = 0
        self.factor = np.linalg.cholesky(balance.mass)
        self.size = float(np.linalg.norm(self._by_mass(balance.momentum)))

    def sliding_on(self, last: np.ndarray) -> Stepped:
        """Look for a step in which what is loaded goes on sliding.

        Raises
        ------
        _NotFoundError
            There is none near.
        UnphysicalVariant
            It is divergent.
        """
        balance, before = self.balance, self.balance.before
        if not np.all(_loaded(balance.speeds(before), last) > 0.0):
            raise _NotFoundError
        held = np.zeros(len(balance.rows) - balance.count)
        point = self._newton(_Point(before, last, held), 0.0)
        rubs = balance.rubs(point.v, point.impulses, 0.0)
        if not np.all(_each(rubs, point.impulses).T @ before <= 0.0):
            raise _NotFoundError
        return self._told(point, np.full(balance.count, True))

    def from_no_friction(self) -> Stepped:
        """Follow the path on which friction sets in."""
        point = self._frictionless()
        speeds = [self.balance.speeds(v) for v in (point.v, self.balance.before)]
        scale = float(np.max(speeds))
        if not scale > np.sqrt(np.finfo(float).tiny):
            return self._told(point, np.full(self.balance.count, False))
        smoothing, ratio = SMOOTHEST * scale, 0.1
        previous, point = None, self._newton(point, smoothing)
        while smoothing > SHARPEST * scale:
            following = smoothing * ratio
            try:
                found = self._newton(_ahead(previous, (smoothing, point), following), following)
            except _NotFoundError:
                ratio = ratio**0.5
                if ratio > SLOWEST:
                    raise _lost(smoothing) from None
                continue
            previous, point, smoothing = (smoothing, point), found, following
            ratio = max(ratio**1.5, FASTEST)
        sharp = smoothing * FADING
        try:
            last = self._newton(_ahead(previous, (smoothing, point), sharp), sharp)
        except _NotFoundError:
            raise _lost(sharp) from None
        return self._held(point, last, sharp)

    def _held(self, point: _Point, sharper: _Point, smoothing: float) -> Stepped:
        """Hold what rests, and let the rest rub, exactly."""
        balance = self.balance
        before, after = (_loaded(balance.speeds(p.v), sharper.impulses) for p in (point, sharper))
        slipping = after > before / 2
        resting = None if np.all(slipping) else self._resting(sharper, slipping, smoothing)
        count = 0 if resting is None else len(resting.aims)
        start = _Point(sharper.v, sharper.impulses, np.append(sharper.held, np.zeros(count)))
        try:
            found = self._newton(start, 0.0, resting)
        except _NotFoundError:
            raise _lost(smoothing) from None
        return self._told(found, slipping, resting)

    def _resting(self, point: _Point, slipping: np.ndarray, smoothing: float) -> _Resting:
        balance = self.balance
        rubs = balance.rubs(point.v, point.impulses, smoothing)
        sides = np.where(point.impulses > 0.0, 1, 0)[~slipping]
        rows = balance.slips[sides, np.flatnonzero(~slipping)].reshape(-1, len(point.v))
        aims = -balance.offsets[sides, np.flatnonzero(~slipping)].ravel()
        lengths = self._lengths(rows)
        return _Resting(
            slipping=slipping,
            friction=_each(rubs, point.impulses)[:, ~slipping].sum(axis=1),
            rows=rows[lengths > 0.0] / lengths[lengths > 0.0, None],
            aims=aims[lengths > 0.0] / lengths[lengths > 0.0],
        )

    def _told(
        self, point: _Point, slipping: np.ndarray, resting: _Resting | None = None
    ) -> Stepped:
        """Return what was found, where it is physical.

        Raises
        ------
        UnphysicalVariant
            All supports slide, and the sign of the determinant is not the friction-free one.
        """
        balance, v = self.balance, point.v
        friction = np.zeros(len(v))
        if np.any(slipping):
            rubs = balance.rubs(v, point.impulses, 0.0)
            friction += _each(rubs, point.impulses)[:, slipping].sum(axis=1)
            answer = answer_at(balance.supports(rubs), point.impulses)
            if np.all(slipping) and not answer.physical:
                raise UnphysicalVariant(
                    "the impulses of the supports that were found are divergent where supports "
                    f"yield ever so little: {answer}"
                )
        if resting is not None:
            ideal = len(balance.rows) - balance.count
            friction += resting.friction + resting.rows.T @ point.held[ideal:]
            v = self._at_rest(v, resting)
        return Stepped(v, point.impulses, friction, slipping, self.iterations)

    def _at_rest(self, v: np.ndarray, resting: _Resting) -> np.ndarray:
        """Return velocities without what rounding left of them where nothing can move."""
        rows = np.vstack([self.balance.rows, resting.rows])
        if np.any(self.balance.aims) or np.any(resting.aims):
            return v
        scaled = self._by_mass(rows.T) / self._lengths(rows)
        held = np.linalg.matrix_rank(scaled, tol=DEPENDENT) == len(v)
        return np.zeros_like(v) if held else v

    def _frictionless(self) -> _Point:
        balance = self.balance
        chosen = solve(balance.supports(None)).chosen
        assert chosen is not None
        pushed = np.linalg.norm(self._by_mass(np.hstack([balance.first, balance.second])), axis=0)
        self.size += float(np.concatenate([chosen.first, chosen.second]) @ pushed)
        v, ideal = balance.velocities(chosen.reactions)
        return _Point(v, chosen.reactions, ideal)

    def _newton(self, start: _Point, smoothing: float, resting: _Resting | None = None) -> _Point:
        """Solve by Newton's method, with a search along its steps.

        Raises
        ------
        _NotFoundError
            It does not converge.
        """
        point, (left, matrix) = start, self._linear(start, smoothing, resting)
        enough = ROUNDED_SMOOTH if smoothing > 0.0 else ROUNDED
        for _ in range(ITERATIONS):
            size, share = np.linalg.norm(left), 1.0
            if not np.isfinite(size):
                raise _NotFoundError
            if size <= CONVERGED * self.size:
                return point
            self.iterations += 1
            change = self._change(matrix, left, resting)
            for _ in range(HALVINGS):
                ahead = point.at(point.all + share * change)
                left, matrix = self._linear(ahead, smoothing, resting)
                if np.linalg.norm(left) < size:
                    break
                share /= 2.0
            else:
                if size <= enough * self.size:
                    return point
                raise _NotFoundError
            point = ahead
        if np.linalg.norm(left) <= enough * self.size:
            return point
        raise _NotFoundError

    def _change(self, matrix: np.ndarray, left: np.ndarray, resting: _Resting | None) -> np.ndarray:
        """Solve for Newton's step; where supports rest in several ways, the least one."""
        if resting is not None:
            return np.linalg.lstsq(matrix, -left, rcond=DEPENDENT)[0]
        try:
            return np.linalg.solve(matrix, -left)
        except np.linalg.LinAlgError:
            raise _NotFoundError from None

    def _linear(
        self, point: _Point, smoothing: float, resting: _Resting | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of the equations at a point, and their gradient."""
        balance = self.balance
        loaded = point.impulses if resting is None else point.impulses * resting.slipping
        rubs = balance.rubs(point.v, loaded, smoothing)
        second = point.impulses > 0.0
        columns = np.where(second, balance.second, -balance.first)
        rubbing = np.where(second, rubs.second, -rubs.first)
        rows, aims, held = balance.rows, balance.aims, balance.rows[balance.count :]
        given = balance.momentum
        if resting is None:
            columns = columns + rubbing
        else:
            columns = columns + np.where(resting.slipping, rubbing, 0.0)
            given = given + resting.friction
            rows, aims = np.vstack([rows, resting.rows]), np.append(aims, resting.aims)
            held = np.vstack([held, resting.rows])
        lengths = self._lengths(rows)
        momenta = balance.mass @ point.v - given - columns @ point.impulses - held.T @ point.held
        missed = (rows @ point.v - aims) / lengths
        above = np.hstack([balance.mass - rubs.slope, -columns, -held.T])
        below = np.hstack(
            [rows / lengths[:, None], np.zeros((len(rows), above.shape[1] - len(point.v)))]
        )
        return (
            np.concatenate([self._by_mass(momenta), missed]),
            np.vstack([self._by_mass(above), below]),
        )

    def _by_mass(self, columns: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.factor, columns)

    def _lengths(self, rows: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self._by_mass(rows.T), axis=0)


def _lost(smoothing: float) -> BranchLost:
    return BranchLost(
        "no impulses of the supports were found: on the way from no friction the solution is lost "
        f"where slip below {smoothing:.3g} m/s fades out"
    )


def _ahead(
    previous: tuple[float, _Point] | None, last: tuple[float, _Point], smoothing: float
) -> _Point:
    """Guess a point of the path: the slip of what rests is proportional to the smoothing."""
    at, point = last
    if previous is None:
        return point
    share = (smoothing - at) / (at - previous[0])
    return point.at(point.all + share * (point.all - previous[1].all))


def _loaded(of_supports: np.ndarray, impulses: np.ndarray) -> np.ndarray:
    """Return what belongs to the loaded support of each pair, of (2, m)."""
    return np.where(impulses > 0.0, of_supports[1], of_supports[0])


def _each(rubs: Rubs, impulses: np.ndarray) -> np.ndarray:
    """Return the friction of each pair, (nv, m)."""
    return rubs.second * np.maximum(impulses, 0.0) + rubs.first * np.maximum(-impulses, 0.0)
