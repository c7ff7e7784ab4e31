"""One time step: the velocities after it, and the impulses of the supports.

At the end of the step each loaded support either slides, and its friction opposes the slip, or it
rests, and its friction keeps it at rest within the limit of dry friction. A path decides which: the
slip V is first replaced by V / sqrt(V^2 + e^2) with a smoothing speed e so large that friction
vanishes, then e is lowered to zero. Supports whose slip fades with e are at rest. Finally these are
held exactly, and the others have exact friction.

The friction of a smoothed support lies within its limit, so the path ends at a solution with dry
friction. If several friction forces can hold the supports at rest, the solution is the one that
slight viscosity would choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.contact.complementarity.answers import answer_at
from daesolve.contact.complementarity.policies import solve
from daesolve.contact.friction.impulse_equations import StepBalance
from daesolve.contact.friction.impulse_iteration import (
    DEPENDENT,
    ImpulseIteration,
    Iterate,
    NotFoundError,
    Resting,
    friction_of,
)
from daesolve.core.expressions.singular_values import rank
from daesolve.errors import BranchLost, UnphysicalVariant, VariantError

SMOOTHEST, SHARPEST = 1e3, 1e-7
"""The range of smoothing speeds along the path, relative to the fastest slip without friction."""
FADING = 1e-2
"""A last reduction of the smoothing: a slip that fades to less than half counts as zero."""
STRIDES = (1e-2, 0.5, 0.95)
"""The largest reductions of the smoothing at once; sharp bends need shorter strides."""
SLOWEST = 1.0 - 1e-7
"""The stride at which a path is abandoned, because it would need even shorter ones."""
MOBILISED = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""The slip of supports that may rest, relative to the smoothing: from little to almost all of
their friction."""
STOPPED = 1e-6
"""A support whose slip drops below this share in a step is examined again: it may have stopped."""
LEAST_WEIGHT = 1e-4
"""The weight of a support that rests without friction: it takes a small part, 1e-8, of a
correction."""
NOTHING = 1e-14
"""The slip, relative to the fastest that a step could cause, that counts as rounding."""


@dataclass(frozen=True, eq=False)
class ImpulseStep:
    """The result of a step.

    Parameters
    ----------
    balance
        What was solved.
    velocities
        v+, (nv,).
    normal
        Signed normal impulses (m,), N s: positive where the second support is loaded.
    friction
        The generalised impulse of friction, (nv,).
    slipping
        Whether the loaded support of each pair slides at the end of the step, (m,).
    iterations
        The number of linear solves.
    """

    balance: StepBalance
    velocities: np.ndarray
    normal: np.ndarray
    friction: np.ndarray
    slipping: np.ndarray
    iterations: int

    @property
    def loaded(self) -> np.ndarray:
        """The loaded support of each pair, 1 or 2, or 0, (m,)."""
        return np.where(self.normal > 0.0, 2, np.where(self.normal < 0.0, 1, 0))

    @property
    def work(self) -> float:
        """The friction work over the step, J."""
        return float(self.friction @ (self.balance.before + self.velocities)) / 2.0


@dataclass(frozen=True, eq=False)
class _Smoothed:
    """A point of the path, and the one before it."""

    smoothing: float
    point: Iterate
    before: float = np.inf
    point_before: Iterate | None = None

    def ahead(self, smoothing: float) -> Iterate:
        """Predict a point of the path: slips of resting supports scale with the smoothing."""
        if self.point_before is None:
            return self.point
        share = (smoothing - self.smoothing) / (self.smoothing - self.before)
        return self.point.at(self.point.all + share * (self.point.all - self.point_before.all))


def take_step(balance: StepBalance, last: ImpulseStep | None = None) -> ImpulseStep:
    """Solve the balance of a step.

    Parameters
    ----------
    balance
        The balance.
    last
        The last step, from which the search starts if all loaded supports slid.

    Raises
    ------
    BranchLost
        The path from the frictionless solution turns back, or cannot be followed.
    UnphysicalVariant
        The path arrives at loaded supports that diverge if they yield slightly.
    VariantError
        The supports do not hold the body, even without friction.
    """
    search = _Search(balance)
    if last is not None and np.all(last.slipping):
        try:
            return search.sliding_on(last.normal)
        except (NotFoundError, UnphysicalVariant):
            pass
    lost: VariantError | None = None
    for stride in STRIDES:
        try:
            return search.from_no_friction(stride)
        except (BranchLost, UnphysicalVariant) as error:
            lost = error
    rest = search.from_rest()
    if rest is None:
        assert lost is not None
        raise lost
    return rest


class _Search:
    """The search for the result of a step."""

    def __init__(self, balance: StepBalance) -> None:
        self.balance = balance
        self.iteration = ImpulseIteration(balance)

    def sliding_on(self, last: np.ndarray) -> ImpulseStep:
        """Search for a step in which the loaded supports keep sliding.

        Raises
        ------
        NotFoundError
            There is none nearby.
        UnphysicalVariant
            It is divergent.
        """
        balance, before = self.balance, self.balance.before
        held = np.zeros(len(balance.rows) - balance.count)
        point = self.iteration.newton(Iterate(before, last, held), 0.0)
        rubs = balance.rubs(point.v, point.impulses, 0.0)
        onwards = friction_of(rubs, point.impulses).T @ before <= 0.0
        speeds = [_loaded(balance.speeds(v), point.impulses) for v in (before, point.v)]
        if not np.all(onwards & (speeds[1] > STOPPED * speeds[0])):
            raise NotFoundError
        return self._stepped(point, np.full(balance.count, True))

    def from_no_friction(self, stride: float) -> ImpulseStep:
        """Follow the path of growing friction.

        Raises
        ------
        BranchLost, UnphysicalVariant
            As in `take_step`, for strides of this length.
        """
        point = self.iteration.frictionless
        speeds = [self.balance.speeds(v) for v in (point.v, self.balance.before)]
        scale = float(np.max(speeds))
        if scale <= NOTHING * self.iteration.fastest:
            return self._held(point, np.full(self.balance.count, False), None)
        smooth = SMOOTHEST * scale
        try:
            start = _Smoothed(smooth, self.iteration.newton(point, smooth))
        except NotFoundError:
            raise _lost(smooth) from None
        return self._arrived(self._lowered(start, SHARPEST * scale, stride), stride)

    def from_rest(self) -> ImpulseStep | None:
        """Search for resting supports where the path of growing friction turns back."""
        balance, point = self.balance, self.iteration.frictionless
        scale = float(np.max(balance.speeds(point.v)))
        smoothing = SHARPEST * scale
        for share in MOBILISED:
            slow = share * SHARPEST * point.v
            rubs = balance.rubs(slow, point.impulses, smoothing)
            for answer in solve(balance.supports(rubs), policy="all").answers:
                try:
                    guess = Iterate(slow, answer.reactions, point.held)
                    found = _Smoothed(smoothing, self.iteration.newton(guess, smoothing))
                    stepped = self._arrived(found, STRIDES[0])
                except (NotFoundError, VariantError):
                    continue
                if not np.any(stepped.slipping):
                    return stepped
        return None

    def _arrived(self, sharp: _Smoothed, stride: float) -> ImpulseStep:
        """Return the supports that rest at the end of the path, and those that slide."""
        sharper = self._lowered(sharp, FADING * sharp.smoothing, stride)
        impulses = sharper.point.impulses
        before, after = (
            _loaded(self.balance.speeds(found.point.v), impulses) for found in (sharp, sharper)
        )
        return self._held(sharper.point, after > before / 2, sharper.smoothing)

    def _lowered(self, start: _Smoothed, smoothing: float, stride: float) -> _Smoothed:
        """Follow the path to a lower smoothing."""
        last, ratio = start, stride
        while last.smoothing > smoothing:
            following = max(last.smoothing * ratio, smoothing)
            try:
                found = self.iteration.newton(last.ahead(following), following)
            except NotFoundError:
                ratio = ratio**0.5
                if ratio > SLOWEST:
                    raise _lost(last.smoothing) from None
                continue
            last = _Smoothed(following, found, last.smoothing, last.point)
            ratio = max(ratio**2, stride)
        return last

    def _held(self, point: Iterate, slipping: np.ndarray, smoothing: float | None) -> ImpulseStep:
        """Hold the resting supports exactly, with exact friction of the others."""
        resting = None if np.all(slipping) else self._resting(point, slipping, smoothing)
        count = 0 if resting is None else len(resting.aims)
        start = Iterate(point.v, point.impulses, np.append(point.held, np.zeros(count)))
        try:
            found = self.iteration.newton(start, 0.0, resting)
        except NotFoundError:
            raise _lost(smoothing or 0.0) from None
        return self._stepped(found, slipping, resting)

    def _resting(self, point: Iterate, slipping: np.ndarray, smoothing: float | None) -> Resting:
        """Return the held supports with the smoothed friction; without friction if nothing pushes.

        If supports can rest in several ways, the rows of those with little friction are short, so
        that the smallest correction hardly changes their friction.
        """
        balance, resting = self.balance, ~slipping
        friction = np.zeros((len(point.v), int(np.sum(resting))))
        if smoothing is not None:
            rubs = balance.rubs(point.v, point.impulses, smoothing)
            friction = friction_of(rubs, point.impulses)[:, resting]
        sides = np.where(point.impulses > 0.0, 1, 0)[resting]
        slips = balance.slips[sides, np.flatnonzero(resting)]
        rows = slips.reshape(-1, len(point.v))
        aims = -balance.offsets[sides, np.flatnonzero(resting)].ravel()
        lengths = self.iteration.lengths(rows)
        weights = _weights(np.linalg.norm(self.iteration.by_mass(friction), axis=0))
        scales = np.repeat(weights, len(rows) // len(weights)) / np.where(lengths > 0, lengths, 1.0)
        return Resting(
            slipping=slipping,
            friction=friction.sum(axis=1),
            rows=(rows * scales[:, None])[lengths > 0.0],
            aims=(aims * scales)[lengths > 0.0],
        )

    def _stepped(
        self, point: Iterate, slipping: np.ndarray, resting: Resting | None = None
    ) -> ImpulseStep:
        """Return the step if it is physical.

        Raises
        ------
        UnphysicalVariant
            All supports slide, and the determinant does not have its friction-free sign.
        """
        balance, v = self.balance, point.v
        friction = np.zeros(len(v))
        if np.any(slipping):
            rubs = balance.rubs(v, point.impulses, 0.0)
            friction += friction_of(rubs, point.impulses)[:, slipping].sum(axis=1)
            answer = answer_at(balance.supports(rubs), point.impulses)
            # Without a load, nothing decides the variant.
            if np.all(slipping) and np.any(point.impulses) and not answer.physical:
                raise UnphysicalVariant(
                    "the impulses found for the supports diverge if the supports yield at "
                    f"all: {answer}"
                )
        if resting is not None:
            ideal = len(balance.rows) - balance.count
            friction += resting.friction + resting.rows.T @ point.held[ideal:]
            v = self._at_rest(v, resting)
        return ImpulseStep(balance, v, point.impulses, friction, slipping, self.iteration.count)

    def _at_rest(self, v: np.ndarray, resting: Resting) -> np.ndarray:
        """Return velocities without rounding where nothing can move."""
        rows = np.vstack([self.balance.rows, resting.rows])
        if np.any(self.balance.aims) or np.any(resting.aims):
            return v
        scaled = self.iteration.by_mass(rows.T) / self.iteration.lengths(rows)
        held = rank(scaled, DEPENDENT) == len(v)
        return np.zeros_like(v) if held else v


def _weights(friction: np.ndarray) -> np.ndarray:
    """Return the square roots of the friction shares, which distribute a correction."""
    largest = float(np.max(friction))
    if largest <= 0.0:
        return np.ones(len(friction))
    return np.maximum(np.sqrt(friction / largest), LEAST_WEIGHT)


def _lost(smoothing: float) -> BranchLost:
    return BranchLost(
        "no impulses of the supports were found: increasing friction from zero, the solution "
        f"is lost when the smoothing of slip below {smoothing:.3g} m/s is removed"
    )


def _loaded(of_supports: np.ndarray, impulses: np.ndarray) -> np.ndarray:
    """Return, from (2, m) entries, those of the loaded support of each pair."""
    first: np.ndarray = of_supports[0]
    second: np.ndarray = of_supports[1]
    return np.where(impulses > 0.0, second, first)
