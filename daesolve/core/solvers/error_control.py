"""Tolerances that hold in every step, and which of them IDA, in either binding, tests.

IDA's backward differentiation formulas (BDF) of order k converge for semi-explicit equations of
index 2 and for those of mechanics of index 3, when each variable is judged by its index: an error
in a variable of index i grows like h^(1-i) as the step h shrinks, so that a test of it shrinks the
step until Newton's iteration breaks down. Such variables are left out of the tests, as
L. R. Petzold and P. Lötstedt, SIAM J. Sci. Stat. Comput. 7 (1986) 720-733, found, and
K. E. Brenan, S. L. Campbell, L. R. Petzold, Numerical Solution of Initial-Value Problems in
Differential-Algebraic Equations (1996), section 5.4, advise; see also E. Hairer, G. Wanner,
Solving Ordinary Differential Equations II, section VII.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daesolve.core.formulations import DaeProblem, OdeProblem
from daesolve.core.solvers.base import Solver, positive
from daesolve.core.solvers.segment import State
from daesolve.errors import OutOfRangeError, is_one_of

TIGHTEST = 1e-15
"""The relative tolerance to which a run is verified at least, where a method names no other."""


SHARE = {1: 3e-3, 2: 3e-3, 3: 1e-4}
"""The fraction of the tolerance for the test of a step, by the highest index: errors of BDF have
one sign over thousands of steps and add up, to 1e4 times the error of a step and more; in index 3
the errors of velocities, which are not tested, are those of positions over the step
(docs/how-to/choose-a-solver.md)."""
SMALLEST = 1e-13
"""The relative tolerance of the test is not smaller: there rounding would decide about steps."""
HIGHEST_ORDER = {1: 5, 2: 5, 3: 4}
"""The highest order, by the highest index. In index 3 only positions are tested, and the
velocities, whose order is lower by one, are rough where BDF of order 5, the least stable one,
changes its steps."""


@dataclass(frozen=True)
class ErrorControlled(Solver):
    """A solver whose steps keep tolerances.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    """

    rtol: float = 1e-10
    atol: float = 1e-12

    def __post_init__(self) -> None:
        positive(self.name, rtol=self.rtol, atol=self.atol)

    @property
    def any_time(self) -> bool:
        """Tolerances are not times."""
        return True

    @property
    def smallest_rtol(self) -> float:
        """The relative tolerance below which a run is not verified."""
        return TIGHTEST

    def refuse_below_smallest(self) -> None:
        """Refuse a relative tolerance that is too small for the method.

        Raises
        ------
        OutOfRangeError
            It is too small.
        """
        if self.rtol < self.smallest_rtol:
            raise OutOfRangeError(
                f"{self.name}: rtol is {self.rtol:g}, but must be at least {self.smallest_rtol:.3g}"
            )

    def tolerances(self) -> dict[str, float]:
        """Return rtol and atol."""
        return {"rtol": self.rtol, "atol": self.atol}

    def refined(self) -> Solver:
        """Return the method with a tenth of the tolerances."""
        return replace(self, rtol=max(self.rtol / 10, self.smallest_rtol), atol=self.atol / 10)


@dataclass(frozen=True)
class Multistep(ErrorControlled):
    """CVODE's multistep methods.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of the error of a step.
    method
        "adams" for smooth motion, "bdf" for stiff.
    """

    method: str = "adams"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_one_of(self.method, ("adams", "bdf")):
            raise OutOfRangeError(
                f"{self.name}: method is {self.method!r}, but must be 'adams' or 'bdf'"
            )


@dataclass(frozen=True)
class Control:
    """How the error of a step is judged.

    Parameters
    ----------
    rtol, atol
        Relative tolerance, and the absolute one of each of (x, z); infinite for what is not tested.
    highest_order
        Of the formulas.
    """

    rtol: float
    atol: np.ndarray
    highest_order: int


@dataclass(frozen=True)
class IdaControlled(ErrorControlled):
    """What the interfaces to IDA share.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance; the test of a step gets a part of them, `SHARE`.
    """

    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_below_smallest()

    @property
    def smallest_rtol(self) -> float:
        """What rounding allows."""
        return SMALLEST

    @property
    def step_tolerance(self) -> float:
        """What the test of a step gets in index 1 and 2."""
        return SHARE[1] * self.rtol


def control(problem: DaeProblem, rtol: float, atol: float, x: np.ndarray) -> Control:
    """Return the error control that the indices of a problem ask for.

    In index 3 a position near zero is judged by the largest one at the start x: rounding of that
    one would else decide, since it reaches the others through the constraints.
    """
    indices = np.array(problem.indices)
    tested = (indices <= 1) & (np.arange(len(indices)) < problem.size)
    highest = int(indices.max())
    share = max(SHARE[highest], SMALLEST / rtol)
    if highest > 2:
        atol = max(atol, rtol * float(np.max(np.abs(x[tested[: len(x)]]))))
    return Control(share * rtol, np.where(tested, share * atol, np.inf), HIGHEST_ORDER[highest])


UNCERTAIN = 0.01
"""A run warns of an error of a velocity above this fraction of its largest value."""


def velocity_warning(
    solver: Solver, problem: OdeProblem, fastest: float, sizes: np.ndarray
) -> str | None:
    """Return a warning if an error test of positions only (index 3) leaves velocities uncertain.

    Positions keep the tolerance of the largest one; in an oscillation of w per second an error of
    one is w times as large in its velocity.

    Parameters
    ----------
    solver, problem
        What integrates what; None is returned for less than index 3.
    fastest
        The fastest oscillation, 1/s.
    sizes
        (n,) the largest that is known of each state.

    Returns
    -------
    str or None
        A sentence with the numbers.
    """
    if not isinstance(problem, DaeProblem) or max(problem.indices) < 3:
        return None
    names = problem.labels.states
    indices = np.array(problem.indices[: len(names)])
    kept = solver.tolerances()
    pushed = np.flatnonzero((indices == 2) & (sizes > kept["atol"]))
    if not pushed.size:
        return None
    positions = kept["atol"] + kept["rtol"] * float(np.max(sizes[indices == 1], initial=0.0))
    worst = int(pushed[np.argmin(sizes[pushed])])
    error = fastest * positions
    if error <= UNCERTAIN * sizes[worst]:
        return None
    return (
        f"index-3 controls only the error of positions: with oscillations of {fastest:.2g} 1/s the "
        f"error of a velocity is about {error:.1g}, and {names[worst]} is no larger than "
        f"{sizes[worst]:.1g}; use index-2 or ggl, or a smaller tolerance"
    )


@dataclass(frozen=True)
class DaeStart:
    """A consistent start: x' and z at a state, and the first step from there, s."""

    rate: np.ndarray
    unknowns: np.ndarray
    first_step: float

    @property
    def finite(self) -> bool:
        """Whether there is one."""
        return bool(np.all(np.isfinite(self.rate)) and np.all(np.isfinite(self.unknowns)))


def consistent_start(problem: DaeProblem, state: State, span: float, judged: Control) -> DaeStart:
    """Return x', z and a first step.

    BDF of order 1 meets the tolerance with a step like its square root (E. Hairer, S. P. Nørsett,
    G. Wanner, Solving Ordinary Differential Equations I, section II.4), and one too large is taken
    back. IDA's own choice is like the tolerance itself, and so small a step rounds badly: errors of
    velocities and multipliers grow like 1/h and 1/h^2.
    """
    rate, unknowns = (
        np.asarray(values).ravel() for values in problem.consistent(state.time, state.x, state.p)
    )
    tested = np.isfinite(judged.atol[: problem.size])
    largest, pace = (float(np.linalg.norm(values[tested])) for values in (state.x, rate))
    step = np.sqrt(judged.rtol) * largest / pace if largest and pace else np.inf
    return DaeStart(rate, unknowns, float(min(step, 1e-3 * abs(span))))
