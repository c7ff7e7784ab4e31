"""The variational equations between events, integrated one direction at a time.

They are posed in all states and without events (see `variational`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daesolve.analysis.variational import changing_values, variational_problem
from daesolve.core.formulations import Feedback, OdeProblem
from daesolve.core.preparation.choosing import choose_solver
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.run.integration.run_state import unobserved
from daesolve.core.solvers import Solver, State, Status
from daesolve.core.solvers.scaling import Scaling
from daesolve.errors import NoDerivativeError

if TYPE_CHECKING:
    from daesolve.core.solvers.lanes import Batch


class WholeState(NamedTuple):
    """Time, state without a chart, and values, to which rates are added."""

    time: float
    x: np.ndarray
    p: np.ndarray


@dataclass(frozen=True, eq=False)
class VariationalFlow:
    """What integrates small changes of a motion.

    Parameters
    ----------
    names
        The k numbers by which the motion is differentiated.
    changing
        The indices of values that may change.
    variational, solver, scaling
        The equations, and how they are integrated.
    method
        A sentence about this.
    """

    names: tuple[str, ...]
    changing: list[int]
    variational: OdeProblem
    solver: Solver
    scaling: Scaling
    method: str

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        names: tuple[str, ...],
        asked: Solver | None,
        steps: float,
        batch: Batch | None,
    ) -> VariationalFlow:
        """Return the flow of a prepared run with so many steps, in lanes of a batch if given."""
        chart = prepared.problem.chart
        problem = prepared.problem if chart is None else chart.whole
        changing = changing_values(prepared.dynamics)
        variational = variational_problem(problem, tuple(changing))
        fits = asked is not None and "ode" in asked.forms
        solver = choose_solver(asked if fits else None, Feedback(), variational, steps, [])
        if batch is not None:
            solver = batch.solver(variational, solver, asked if fits else None)
        scaling = prepared.scaling.of_changes
        scaling.compiled(solver, variational)
        method = (
            f"variational equations of {variational.rhs.n_instructions()} instructions by "
            f"{solver.name}"
        )
        if asked is not None and not fits:
            method += f", because {asked.name} solves only differential-algebraic equations"
        return cls(names, changing, variational, solver, scaling, method)

    def carry(
        self,
        place: WholeState,
        sizes: np.ndarray,
        changes: tuple[np.ndarray, np.ndarray],
        until: float,
        at: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Carry changes of the state along the motion.

        Parameters
        ----------
        place
            Where it begins.
        sizes
            (k,) of the numbers.
        changes
            The derivatives of the state and of the changing values, (size, k) and (nc, k).
        until, at
            The end and moments before it, s.

        Returns
        -------
        tuple
            The derivatives at the end, (size, k), and at the moments, (m, size, k).

        Raises
        ------
        NoDerivativeError
            The equations cannot be integrated to the end.
        """
        size = len(place.x)
        starts = [
            State(
                place.time,
                np.concatenate([place.x, unit * state]),
                np.concatenate([place.p, unit * values]),
            )
            for unit, state, values in zip(sizes, changes[0].T, changes[1].T, strict=True)
        ]
        how = self.solver, self.variational
        self.scaling.foresee(*how, starts, until, at)
        columns: list[np.ndarray] = []
        reached: list[np.ndarray] = []
        for name, unit, start in zip(self.names, sizes, starts, strict=True):
            end = self.scaling.segment(*how, start, until, at, unobserved)
            if end.status is not Status.REACHED:
                raise NoDerivativeError(
                    f"the variational equations by {name!r} end at t = {end.time:.10g} s: "
                    f"{end.message}"
                )
            columns.append(end.state[size:] / unit)
            reached.append(end.samples[:, size:] / unit)
        return np.array(columns).T, np.moveaxis(np.array(reached), 0, -1)
