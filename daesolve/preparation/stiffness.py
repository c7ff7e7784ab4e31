"""Whether something in a motion dies out far faster than the motion goes on.

The eigenvalues of the exact Jacobian at the start tell: -Re of the fastest decay, |Im| of the
fastest oscillation. An explicit method is to take a step of a few times one over the fastest rate,
whatever the tolerance is, while the motion itself asks for steps of a part of the oscillations.
An eigenvalue on the imaginary axis is an oscillation to be followed, and no stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.formulations import OdeProblem
from daesolve.solvers.jacobians import exact_jacobian

PER_STEP = 6.4
"""The greatest stable rate times step of an explicit method of order 8, that of `dop853`."""
MANY = 1e4
"""Steps for stability alone below which an explicit method ends sooner: an implicit step costs
30 to 100 times one of its own."""
FASTER = 30.0
"""Times the fastest oscillation and the rates of feedback that a decay is stiff."""
LARGE = 600
"""States beyond which eigenvalues take seconds; then nothing is recognised."""


@dataclass(frozen=True)
class Stiffness:
    """What the Jacobian at the start says.

    Parameters
    ----------
    decay
        The fastest rate at which something dies out, 1/s.
    motion
        The fastest oscillation, growth or feedback, 1/s.
    span
        How long the run is to last, s.
    """

    decay: float
    motion: float
    span: float

    @property
    def steps(self) -> float:
        """About how many steps an explicit method takes for its stability alone."""
        return self.decay * self.span / PER_STEP

    @property
    def recognised(self) -> bool:
        """Whether a method for stiff equations is worth its cost."""
        return self.steps > MANY and self.decay > FASTER * max(self.motion, 1.0 / self.span)

    @property
    def told(self) -> str:
        """The fastest rate in words."""
        return f"fastest rate {self.decay:.2g} 1/s over {self.span:.4g} s"


def stiffness(
    problem: OdeProblem, values: np.ndarray, time: float, x: np.ndarray, until: float, rate: float
) -> Stiffness | None:
    """Look at a problem at the start of a run; None where its Jacobian does not tell.

    Parameters
    ----------
    problem, values
        Its functions and p, without feedback.
    time, x
        The start.
    until
        The end of the run, s.
    rate
        The largest rate of feedback, 1/s.
    """
    if problem.size > LARGE:
        return None
    matrix = exact_jacobian(problem, values)(time, x)
    if not np.all(np.isfinite(matrix)):
        return None
    sign = 1.0 if until >= time else -1.0
    eigenvalues = sign * np.linalg.eigvals(matrix)
    if not eigenvalues.size:
        return None
    along, across = eigenvalues.real, np.abs(eigenvalues.imag)
    turning = across > np.abs(along)
    motion = max(
        float(np.max(across, where=turning, initial=0.0)),
        float(np.max(along, initial=0.0)),
        rate,
    )
    decay = float(np.max(-along, where=~turning, initial=0.0))
    return Stiffness(decay, motion, abs(until - time))
