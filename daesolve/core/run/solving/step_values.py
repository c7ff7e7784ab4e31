"""All values of a simulator at its current time, by name; reactions and outputs on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from daesolve.core.expressions.built_once import built_once
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.run.integration.record import Boundary
from daesolve.core.run.solving.held_inputs import HeldInputs
from daesolve.errors import unknown_name


class StepValues(Mapping[str, float]):
    """States, inputs, reactions and outputs at one time: `values["x"]`, `dict(values)`.

    Parameters
    ----------
    prepared, here, p
        The run, its place, and the values in force there.
    inputs
        Its inputs.

    Attributes
    ----------
    time
        s
    """

    def __init__(
        self, prepared: Prepared, here: Boundary, p: np.ndarray, inputs: HeldInputs
    ) -> None:
        self._prepared, self._here, self._p, self._held = prepared, here, p, inputs
        self.time = here.time

    @cached_property
    def state(self) -> dict[str, float]:
        """The state by name; angles with their whole turns."""
        problem, here = self._prepared.problem, self._here
        visible = problem.visible(np.array([here.time]), here.state[None, :], self._p)[0].tolist()
        for place, turns in zip(self._prepared.wrapped, here.whole_turns.tolist(), strict=True):
            visible[place] += 2.0 * math.pi * turns
        return dict(zip(problem.labels.states, visible, strict=True))

    @cached_property
    def accelerations(self) -> np.ndarray:
        """v', (nv,), in the order of the velocities."""
        return self._recovered[0]

    @cached_property
    def _recovered(self) -> list[np.ndarray]:
        problem = self._prepared.problem
        return _recovery(problem)(self._here.time, self._here.state, self._p)

    @cached_property
    def _others(self) -> dict[str, float]:
        labels = self._prepared.problem.labels
        numbers = [*self._recovered[1].tolist(), *self._recovered[2].tolist()]
        return dict(zip((*labels.reactions, *labels.outputs), numbers, strict=True))

    @cached_property
    def _inputs(self) -> dict[str, float]:
        return self._held.of(self._p)

    def __getitem__(self, name: str) -> float:
        for known in (self.state, self._inputs):
            if name in known:
                return known[name]
        if name not in self._others:
            raise unknown_name("state, input, reaction or output", name, [*self])
        return self._others[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.state, *self._inputs, *self._others]))

    def __len__(self) -> int:
        return len([*self])

    def __repr__(self) -> str:
        entries = ", ".join(f"{name}={self[name]:.6g}" for name in self)
        return f"StepValues(time={self.time:g}, {entries})"


@built_once
def _recovery(problem: OdeProblem) -> Evaluator:
    return Evaluator(problem.recover)
