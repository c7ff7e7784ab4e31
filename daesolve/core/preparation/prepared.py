"""A run that can start: every choice is made, and every number known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daesolve.core.equations.consistency import Start
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import Samples
from daesolve.core.events.transitions import Transitions
from daesolve.core.formulations import Formulation, OdeProblem
from daesolve.core.preparation.request import (
    Request,
)
from daesolve.core.solvers import Compilation, Observer, SegmentEnd, Solver, State
from daesolve.core.solvers.scaling import Scaling
from daesolve.core.system.system import System


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run that can start.

    Parameters
    ----------
    system, request
        The system and the request.
    dynamics, problem, solver
        The equations, the problem and the solver, with every automatic choice made.
    formulation
        Its formulation.
    start
        The consistent start and what was changed for it; `start_time` and `until` are its times.
    values
        p as numbers, at the start; rates carry the sign of the direction of time.
    parameters, rates
        For the report; a rate is None if a goal is only measured.
    scales
        Of `problem.watched`; NaN for an energy that takes the largest kinetic energy.
    least_kinetic
        The kinetic energy that counts as rounding, J.
    segment
        The length of a segment, s; boundaries lie at whole multiples of it from the start.
    wrapped
        Indices of the angles that are wrapped at the boundaries.
    samples
        Consistent states near the start, which show what is usual.
    assumed
        Driven invariants without a proof that they are conserved, with the limits of their relative
        rates: these are watched.
    surplus
        Goals that depend on the others everywhere, so that their reactions have no grip.
    scaling
        The powers of two by which states and time are divided for the solver.
    compilation
        The cost of compiling.
    transitions
        Switches its modes; None if nothing does.
    resting
        Whether dry friction holds the body at rest from the start on.
    path
        (k, n) states that a short run went through.
    mean_step
        The mean step of that run, s.
    notes
        Every automatic choice in words.
    """

    system: System
    request: Request
    dynamics: Dynamics
    problem: OdeProblem
    formulation: Formulation
    solver: Solver
    start: Start
    start_time: float
    until: float
    values: np.ndarray
    parameters: Mapping[str, float]
    rates: Mapping[str, float | None]
    scales: np.ndarray
    least_kinetic: float
    segment: float
    wrapped: tuple[int, ...]
    samples: Samples
    assumed: Mapping[str, float]
    surplus: tuple[str, ...]
    scaling: Scaling
    compilation: Compilation
    transitions: Transitions | None
    resting: bool
    path: np.ndarray
    mean_step: float
    notes: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether the run continues where constraints lose rank."""
        return self.request.rank_loss == "pass"

    @property
    def follows(self) -> bool:
        """Whether goals are assumed to follow from others."""
        return any(each.follows for each in self.problem.watched)

    @property
    def sign(self) -> float:
        """+1 forwards in time, -1 backwards."""
        return 1.0 if self.until >= self.start_time else -1.0

    @property
    def initial(self) -> np.ndarray:
        """The start in the variables of the problem, with zero for work integrals."""
        return self.problem.enter(self.start_time, self.start.state, self.values)

    def integrated(
        self, state: State, until: float, at: np.ndarray, observe: Observer
    ) -> SegmentEnd:
        """Integrate a segment by the solver, in its units; see `Solver.segment`."""
        return self.scaling.segment(self.solver, self.problem, state, until, at, observe)
