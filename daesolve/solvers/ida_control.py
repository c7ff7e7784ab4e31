"""What IDA, in either binding, is told about a differential-algebraic equation.

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

from dataclasses import dataclass

import numpy as np

from daesolve.formulations import DaeProblem
from daesolve.solvers.base import State

RESERVE = {1: 3e-3, 2: 3e-3, 3: 1e-4}
"""Part of the tolerance that the test of a step gets, by the highest index (see docs/solvers.md).

BDF damps: its errors have the same sign in every step and add up."""
SMALLEST = 1e-13
"""A relative tolerance of the test below which rounding decides about steps."""
HIGHEST_ORDER = {1: 5, 2: 5, 3: 4}
"""By the highest index. Positions alone are tested in index 3, and the velocities, which are of an
order less, are rough where BDF of order 5, the least stable one, changes its steps."""


@dataclass(frozen=True)
class Control:
    """How the error of a step is judged.

    Parameters
    ----------
    rtol, atol
        Relative tolerance, and the absolute one of each of (x, z); infinite for what is not tested.
    highest_order
        Of the formulas.
    untested
        Whether anything is left out.
    """

    rtol: float
    atol: np.ndarray
    highest_order: int

    @property
    def untested(self) -> bool:
        """Whether anything is left out of the test."""
        return bool(np.any(np.isinf(self.atol)))


def control(problem: DaeProblem, rtol: float, atol: float) -> Control:
    """Return the error control that the indices of a problem ask for."""
    indices = np.array(problem.indices)
    highest = int(indices.max())
    reserve = max(RESERVE[highest], SMALLEST / rtol)
    return Control(
        reserve * rtol,
        np.where((indices <= 1) & (np.arange(len(indices)) < problem.size), reserve * atol, np.inf),
        HIGHEST_ORDER[highest],
    )


@dataclass(frozen=True)
class Start:
    """A consistent start: x' and z at a state, and the first step from there, s."""

    rate: np.ndarray
    unknowns: np.ndarray
    first_step: float

    @property
    def finite(self) -> bool:
        """Whether there is one."""
        return bool(np.all(np.isfinite(self.rate)) and np.all(np.isfinite(self.unknowns)))


def consistent_start(problem: DaeProblem, state: State, span: float, judged: Control) -> Start:
    """Return x', z and a first step.

    Where multipliers are tested the choice of IDA (zero), a step like the tolerance, is right,
    since they start without a derivative. Else it would be far too small: rounding errors of
    velocities and multipliers grow like 1/h and 1/h^2. There BDF of order 1 meets the tolerance
    with its square root, after E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential
    Equations I, section II.4; a step too large is taken back.
    """
    rate, unknowns = (
        np.asarray(values).ravel() for values in problem.consistent(state.time, state.x, state.p)
    )
    if not judged.untested:
        return Start(rate, unknowns, 0.0)
    largest, pace = float(np.linalg.norm(state.x)), float(np.linalg.norm(rate))
    step = np.sqrt(judged.rtol) * largest / pace if largest and pace else np.inf
    return Start(rate, unknowns, float(min(step, 1e-3 * abs(span))))
