"""Inverse dynamics: the drives of a prescribed motion, and the reactions along it.

If as many quantities are prescribed as there are degrees of freedom, positions follow from the
constraints at each time, velocities and accelerations from their derivatives, and drives u and
reactions r from

    M a - h = B r + H u

without integration. Rolling is the exception: its positions follow from velocities along the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import casadi as ca
import numpy as np

from daesolve.analysis.prescribed import Prescribed, check_freedom, prescribed
from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.contact.posing.guides import guides_in
from daesolve.core.equations.consistency import instantaneous
from daesolve.core.expressions.evaluation import ArrayFunction, Evaluator
from daesolve.core.expressions.singular_values import (
    shortest_solution,
    singular_directions,
    unit_length,
)
from daesolve.core.posing.tables import Kind, Table, table
from daesolve.core.preparation.examination import starting_point
from daesolve.core.preparation.request import Request
from daesolve.core.run.integration.run_options import RunOptions, Source, requested_of
from daesolve.core.run.integration.sampling import sample_times
from daesolve.core.run.solving.solving import solve
from daesolve.core.system.driving import driven
from daesolve.errors import (
    OutOfRangeError,
    UnreachableMotionError,
    UnsupportedError,
    suggest_names,
    unknown_name,
)

UNMADE = 1e-9
"""Drives cannot produce a motion if a larger force remains, relative to the largest force."""
DEPENDENT = 1e-11
"""Drives and reactions with a smaller singular value, relative to the largest, repeat others."""


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """A prescribed motion, and its drives.

    Parameters
    ----------
    times
        (k,) s.
    states, accelerations, drives, reactions, outputs
        (k,) each, by name. A drive is the input of its name; or, if the system has no free inputs,
        the force or torque along the prescribed quantity of its name.
    undetermined
        The names of drives and reactions that the motion does not determine uniquely; these have
        the least norm.
    """

    times: np.ndarray
    states: Mapping[str, np.ndarray]
    accelerations: Mapping[str, np.ndarray]
    drives: Mapping[str, np.ndarray]
    reactions: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    undetermined: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        suggest_names(self, states="state", accelerations="velocity", drives="drive")
        suggest_names(self, reactions="reaction", outputs="output")

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a drive, state, reaction or output by name, in this order of precedence."""
        groups = (self.drives, self.states, self.reactions, self.outputs)
        for group in groups:
            if name in group:
                return group[name]
        raise unknown_name("drive, state, reaction or output", name, [n for g in groups for n in g])

    def tables(self, kind: Kind = "cubic") -> dict[str, Table]:
        """Return the drives as tables of time, to pass to a run as its `inputs`.

        Between nodes at a distance h, a cubic spline deviates from a drive d by about h^4 max
        |d''''| / 100.
        """
        return {
            name: table(name, self.times, drive, kind=kind) for name, drive in self.drives.items()
        }


def inverse_dynamics(
    source: Source,
    motion: Mapping[str, Any],
    until: float | None = None,
    **options: Unpack[RunOptions],
) -> InverseDynamics:
    """Return the drives and reactions along a prescribed motion, including closed loops.

    Parameters
    ----------
    source
        A system, or a case of a problem, whose own inputs are ignored. Inputs that are not given
        are the drives. If there are none, a separate force or torque acts along each prescribed
        quantity.
    motion
        By the name of a coordinate, its motion: an expression of `daesolve.time` and parameters,
        also as text ("0.2 * sin(3 * t)"), or a smooth table. Under any other name, a pair: a
        quantity (an expression of coordinates) and its motion.
    until
        The end, s; None uses the horizon of a case.
    **options
        From the options of `solve`: `at` (by default 1001 even times), `start_time`, `guess` (near
        which the mechanism is assembled), `parameters` and `inputs`.

    Raises
    ------
    FreedomLeftError
        The prescribed quantities leave a degree of freedom.
    UnreachableMotionError
        The inputs cannot produce the motion.
    UnsupportedError
        The system has contacts or pairs of supports, whose modes are not known beforehand, or an
        input does not follow from a motion.
    InconsistentStateError
        The mechanism cannot be assembled at a time that the message gives.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q, u = ds.coordinates(phi="rad"), ds.inputs(torque="N m")
    >>> arm = ds.MechanicalSystem(
    ...     q,
    ...     kinetic=2.0 * q.dot.phi**2,
    ...     potential=5 * ca.sin(q.phi),
    ...     force={"phi": u.torque},
    ...     inputs=u,
    ... )
    >>> found = ds.inverse_dynamics(arm, {"phi": ds.time**2}, 1.0)
    >>> round(float(found["torque"][0]), 12)  # 4 kg m^2 * 2 / s^2 + 5 N m
    13.0
    """
    refused = {*options} - {"at", "start_time", "guess", "parameters", "inputs"}
    if refused:
        raise UnsupportedError(
            f"inverse_dynamics does not accept {min(refused)!r}, because it integrates "
            "nothing; of a run's options it accepts at, start_time, guess, parameters and "
            "inputs"
        )
    given: dict[str, Any] = dict(options)
    inputs: Mapping[str, Any] = given.pop("inputs", None) or {}
    system, request, at = requested_of(source, until, None, given)  # pyright: ignore[reportArgumentType]
    system, numbers = driven(system, inputs)
    # A case lists the defaults of inputs among its parameters: only given ones count here.
    known = {*numbers, *(options.get("parameters") or {})}
    task = prescribed(system, motion)
    task = replace(task, drives=tuple(name for name in task.drives if name not in known))
    request = replace(request, parameters={**request.parameters, **numbers})
    _check(task)
    times = sample_times(at, request.start_time, request.until)
    if np.any(np.diff(times) <= 0.0):
        raise OutOfRangeError("the sample times must grow")
    return _Motion(task, request).driven(times)


def _check(task: Prescribed) -> None:
    dynamics = task.system.dynamics
    modes = [row.name for row in dynamics.rows if row.hold is not None]
    if contacts_in(dynamics) or guides_in(dynamics) is not None or modes:
        raise UnsupportedError(
            "inverse dynamics does not support contacts that open or pairs of supports, because "
            "it is not known in advance which are loaded; pose the motion as goals (ds.Holonomic) "
            "and solve"
        )


class _Motion:
    """A prescribed motion at successive times."""

    def __init__(self, task: Prescribed, request: Request) -> None:
        self.task, self.request = task, request
        self.dynamics = dynamics = task.system.dynamics
        goals = {row.name: row for row in dynamics.rows}
        # The drives replace the forces along the motion.
        own = {goals[name].reaction for name in task.goals}
        self.kept = [k for k in range(dynamics.reactions.numel()) if k not in own]
        self.names = (*task.drives,) if task.drives else task.names
        self._acting = ArrayFunction(
            "acting", [dynamics.t, dynamics.x, dynamics.p], [task.influence(dynamics)]
        )
        outputs = ca.vertcat(ca.SX(0, 1), *dynamics.outputs.values())
        arguments = [dynamics.t, dynamics.x, dynamics.p, dynamics.reactions]
        self._outputs = Evaluator(ca.Function("outputs", arguments, [ca.densify(outputs)]))

    def driven(self, times: np.ndarray) -> InverseDynamics:
        """Return the drives at several times."""
        dynamics, rows = self.dynamics, list[tuple[np.ndarray, ...]]()
        rolls = any(row.degree == 1 for row in dynamics.rows) or dynamics.quadrature_count
        path = self._integrated(times) if rolls else None
        guess = dict(self.request.guess)
        loose = np.zeros(len(self.kept) + len(self.names), dtype=bool)
        for k, time in enumerate(times.tolist()):
            if path is not None:
                guess = {name: float(path[name][k]) for name in dynamics.labels.states}
            state, p = self._state(time, guess)
            accelerations, _ = instantaneous(dynamics, time, state, p)
            if not k:
                self._check_rank(time, state, p)
            u, reactions, free = self._balance(time, state, p, accelerations)
            loose |= free
            p = self._with_drives(p, u)
            outputs = self._outputs(time, state, p, reactions)[0]
            rows.append((state, accelerations, u, reactions[self.kept], outputs))
            if k + 1 < len(times):
                guess = self._ahead(time, state, p, accelerations, times[k + 1] - time)
        columns = [np.array(part) for part in zip(*rows, strict=True)]
        reactions = [dynamics.labels.reactions[k] for k in self.kept]
        velocities = dynamics.labels.states[dynamics.position_count :]
        every = [*reactions, *self.names]
        return InverseDynamics(
            times,
            _named(dynamics.labels.states, columns[0]),
            _named(velocities, columns[1]),
            _named(self.names, columns[2]),
            _named(reactions, columns[3]),
            _named([*dynamics.outputs], columns[4]),
            tuple(name for name, free in zip(every, loose, strict=True) if free),
        )

    def _state(self, time: float, guess: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Return the state and p at a time."""
        request = replace(self.request, start_time=time, until=time + 1.0, guess=guess, initial={})
        start, values = starting_point(self.dynamics, request)
        return start.state, self.dynamics.value_vector(values)

    def _ahead(
        self, time: float, state: np.ndarray, p: np.ndarray, accelerations: np.ndarray, dt: float
    ) -> dict[str, float]:
        """Return a guess of the next state, so that the mechanism is assembled in the same way."""
        dynamics = self.dynamics
        count = dynamics.position_count
        rates = dynamics.matrices(time, state, p)["position_rates"].ravel()
        later = state.copy()
        later[:count] += dt * rates
        later[count:] += dt * accelerations
        more = dynamics.matrices(time, later, p)["position_rates"].ravel()
        later[:count] += dt * (more - rates) / 2.0
        return dict(zip(dynamics.labels.states, later.tolist(), strict=True))

    def _check_rank(self, time: float, state: np.ndarray, p: np.ndarray) -> None:
        parts = self.dynamics.matrices(time, state, p)
        jacobian = parts["jacobian"]
        directions = singular_directions(unit_length(jacobian, 1))
        rank = directions.rank(DEPENDENT * directions.values.max(initial=0.0))
        check_freedom(rank, self.dynamics.velocity_count, self.task.names)

    def _balance(
        self, time: float, state: np.ndarray, p: np.ndarray, accelerations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return drives, all reactions, and which kept reactions and drives are undetermined."""
        parts = self.dynamics.matrices(time, state, self._with_drives(p, np.zeros(len(self.names))))
        mass, count = parts["mass"], len(self.kept)
        acting = self._acting(time, state, p)[0]
        ties = parts["ties"][:, self.kept]
        matrix = np.block(
            [[parts["influence"][:, self.kept], acting],
             [ties, np.zeros((len(ties), acting.shape[1]))]]
        )  # fmt: skip
        right = np.concatenate([mass @ accelerations - parts["force"].ravel(),
                                -parts["offsets"].ravel()])  # fmt: skip
        rows = np.ones(len(matrix))
        rows[: len(mass)] = 1.0 / np.sqrt(np.diag(mass))
        scaled, wanted = matrix * rows[:, None], right * rows
        lengths = np.linalg.norm(scaled, axis=0)
        lengths[lengths == 0.0] = 1.0
        forces = shortest_solution(scaled / lengths, wanted, DEPENDENT) / lengths
        terms = np.abs(scaled) @ np.abs(forces) + np.abs(wanted)
        left = np.abs(scaled @ forces - wanted)
        if np.any(left > UNMADE * terms.max(initial=0.0)):
            raise self._unreachable(time, int(np.argmax(left)))
        directions = singular_directions(scaled / lengths)
        rank = directions.rank(DEPENDENT * directions.values.max(initial=1.0))
        free = np.linalg.norm(directions.right[rank:], axis=0) > np.sqrt(DEPENDENT)
        reactions = np.zeros(self.dynamics.reactions.numel())
        reactions[self.kept] = forces[:count]
        return forces[count:], reactions, free

    def _unreachable(self, time: float, row: int) -> UnreachableMotionError:
        velocities = self.dynamics.labels.states[self.dynamics.position_count :]
        where = f" along {velocities[row]!r}" if row < len(velocities) else ""
        return UnreachableMotionError(
            f"the inputs {', '.join(self.names)} cannot make this motion: at t = {time:.10g} s "
            f"a force remains{where}; add an input that acts there, or prescribe another motion"
        )

    def _with_drives(self, p: np.ndarray, u: np.ndarray) -> np.ndarray:
        if not self.task.drives:
            return p
        p, order = p.copy(), list(self.dynamics.values)
        p[[order.index(name) for name in self.task.drives]] = u
        return p

    def _integrated(self, times: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the motion with positions integrated from velocities."""
        request = self.request
        if times[-1] == request.start_time:
            times = times[:1]
        free = {name: 0.0 for name in self.task.system.inputs.names if name in self.task.drives}
        run = solve(
            self.task.system,
            float(times[-1]),
            start_time=request.start_time,
            guess=request.guess,
            parameters={**request.parameters, **free},
            at=times,
        )
        if not run.outcome.good:
            raise UnreachableMotionError(f"the prescribed motion ends: {run.message}")
        return run.states


def _named(names: Any, table: np.ndarray) -> dict[str, np.ndarray]:
    return {name: table[:, k].copy() for k, name in enumerate(names)}
