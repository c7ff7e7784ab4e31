"""The values of a simulator by name: its inputs, which change from step to step, and all others."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.events.chart_law import visible_state
from daesolve.core.events.jumps import with_references
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.run.integration.record import Boundary
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, UnsupportedError, is_number, unknown_name


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


class HeldInputs:
    """The inputs of a simulator.

    Parameters
    ----------
    prepared
        What is run.
    posed
        The system as posed, with all of its inputs.
    unset
        The names of inputs without a value or default: the first step must give them.

    Attributes
    ----------
    names, places
        The inputs that a step may give, in the order of the system, and their places in p.
    """

    def __init__(self, prepared: Prepared, posed: System, unset: frozenset[str]) -> None:
        self.prepared = prepared
        self.unset: frozenset[str] = unset
        self.names = tuple(prepared.system.inputs.names)
        self._driven = [name for name in posed.inputs.names if name not in self.names]
        order = list(prepared.problem.values)
        self.places = {name: order.index(name) for name in self.names}
        self._fixed = _in_constraints(prepared.dynamics, self.names)
        self._references = _references(prepared.dynamics, prepared.problem.size, self.names)

    @staticmethod
    def like(other: HeldInputs) -> HeldInputs:
        """Return the same inputs, for another simulator."""
        return copy.copy(other)

    def of(self, p: np.ndarray) -> dict[str, float]:
        """Return the inputs in p, by name."""
        return {name: float(p[place]) for name, place in self.places.items()}

    def given(self, p: np.ndarray, numbers: Mapping[str, object]) -> np.ndarray:
        """Return p with other inputs, the same array where nothing changes.

        Parameters
        ----------
        p
            The values so far.
        numbers
            By the name of an input.

        Raises
        ------
        UnknownNameError, OutOfRangeError, UnsupportedError
            The input is unknown, not a number, or must not jump.
        """
        changed: dict[int, float] = {}
        for name, number in numbers.items():
            if name not in self.places:
                raise self._not_held(name)
            if not is_number(number):
                raise OutOfRangeError(
                    f"the input {name!r} is {number!r}, but must be a finite number during a step"
                )
            place = self.places[name]
            if p[place] != number:
                changed[place] = float(number)
                if name in self._fixed:
                    raise _fixed(name, self._fixed[name])
        if self.unset:
            missing = self.unset - {*numbers}
            if missing:
                raise OutOfRangeError(
                    f"the input {min(missing)!r} has no value yet: give it with the first step, "
                    f"step(dt, {min(missing)}=...), or inputs={{{min(missing)!r}: ...}}"
                )
            self.unset = frozenset[str]()
        if not changed:
            return p
        p = p.copy()
        for place, number in changed.items():
            p[place] = number
        return p

    def referred(self, time: float, state: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return p with references set to the current values, after inputs have jumped.

        The same array where no reference depends on them.

        Parameters
        ----------
        time, state, p
            Where, once modes have followed.
        """
        if self._references is None:
            return p
        own = len(self.prepared.dynamics.values)
        states = visible_state(self.prepared.problem, time, state, p)
        p = p.copy()
        p[:own] = self._references(time, states, p[:own])[0]
        return p

    def _not_held(self, name: str) -> Exception:
        if name in self._driven:
            return UnsupportedError(
                f"the input {name!r} is already driven by an expression, a table or a law "
                "given to the simulator: leave it out there to set it step by step"
            )
        return unknown_name("input", name, self.names)


def _in_constraints(dynamics: Dynamics, names: tuple[str, ...]) -> dict[str, str]:
    """Return the inputs that occur in a constraint, each with its name: none of them may jump.

    In a slip they may: what sticks lets go of it.
    """
    order = list(dynamics.values)
    slips = [dynamics.rows[k] for one in dynamics.unilateral for k in one.slips]
    found: dict[str, str] = {}
    for name in names:
        place = dynamics.p[order.index(name)]
        for row in dynamics.rows:
            lets_go = row in slips or _lets_go(dynamics, row, place)
            if not lets_go and ca.depends_on(ca.vertcat(*row.chain), place):
                found.setdefault(name, row.name)
    return found


def _lets_go(dynamics: Dynamics, row: GoalRow, place: ca.SX) -> bool:
    """Return whether an input that puts a guard past zero releases a constraint."""
    releases = [
        dynamics.events[index].guards
        for index, reset in dynamics.resets.items()
        if dynamics.events[index].then.counts_past
        and row.hold is not None
        and row.hold.name() in reset.values
    ]
    return bool(ca.depends_on(ca.vertcat(ca.SX(0, 1), *releases), place))


def _fixed(name: str, goal: str) -> UnsupportedError:
    return UnsupportedError(
        f"the input {name!r} appears in the constraint {goal!r}, which a jump would break: "
        "give an expression of time or a smooth table in inputs={...}, or prescribe its "
        "acceleration"
    )


@lru_cache(maxsize=16)
def _references(dynamics: Dynamics, size: int, names: tuple[str, ...]) -> Evaluator | None:
    """Return (t, states and works, p) -> p with new references; None if none is concerned."""
    order = list(dynamics.values)
    places = ca.vertcat(ca.SX(0, 1), *[dynamics.p[order.index(name)] for name in names])
    held = [row.held for row in dynamics.invariants]
    held += [row.chain[0] for row in dynamics.rows if row.from_start]
    if not held or not ca.depends_on(ca.vertcat(*held), places):
        return None
    works = symbol("works", size - dynamics.x.numel())
    values = with_references(dynamics, dynamics.t, dynamics.x, dynamics.p, works)
    state = ca.vertcat(dynamics.x, works)
    return Evaluator(
        ca.Function("references", [dynamics.t, state, dynamics.p], [ca.densify(values)])
    )
