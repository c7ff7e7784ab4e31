"""Posed expressions as numbers along a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.contact.posing.guides import SHARP, SMOOTHING
from daesolve.core.posing.axes import Axis
from daesolve.core.posing.goals import Goal, Implicit, Invariant
from daesolve.core.posing.inputs import Lookup
from daesolve.core.posing.symbols import time
from daesolve.verification.audit.certificate import Certificate
from daesolve.verification.audit.structure import is_continuous, size_of

ROUNDING = 1e-15
"""The part of the largest position or velocity, whichever it is, that counts as rounding."""
BESIDE = 100.0
"""How many times the accuracy of a step a residual may be off beside the largest of the positions
or velocities: the terms of a residual may all pass through zero where the states do not."""
TICKS = 4.0
"""How many roundings of time a state may be early or late: that of an event, and of the steps."""
SMOOTHED = ca.SX.sym(SMOOTHING)
"""The slip below which the friction of guides fades, m/s."""
_written: WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = WeakKeyDictionary()
"""What was written down once, by the system of which it is."""


class UncheckableError(Exception):
    """An expression contains what the certificate does not tell; the message names it."""


class Expressions:
    """Evaluates expressions of a posed system at all nodes of a certificate.

    Parameters
    ----------
    certificate
        The run.
    """

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.system = system = certificate.system
        self._rows: dict[int, np.ndarray] = {time.element_hash(): certificate.times}
        columns, shape = certificate.columns, certificate.times.shape
        numbers = {n: np.full(shape, value) for n, value in certificate.parameters.items()}
        held = {n: np.broadcast_to(row[:, None], shape) for n, row in certificate.values.items()}
        self._know(system.parameters, numbers)
        # Inputs change from step to step where a motion is stepped from outside.
        self._know(system.inputs, {**numbers, **columns, **held})
        self._know(system.discrete, held)
        self.know([SMOOTHED], [held.get(SMOOTHING, np.full(shape, SHARP))])
        for vector in _state_vectors(system):
            self._know(vector, columns)
        vector: Any = system.reactions if hasattr(system, "reactions") else system.controls
        named = {goal.reaction_label: goal.reaction for goal in ideal_goals(system)}
        named |= {name: vector[name] for name in vector.names}
        named |= {pair.name: pair.reaction for pair in getattr(system, "pairs", ())}
        self.reactions = [*named.values()]
        told = [name for name in named if name in columns]
        self.know([named[name] for name in told], [columns[name] for name in told])
        self.tables = {
            drive.name: self._look_up(drive.values, drive.lookup)
            for drive in system.drives
            if drive.lookup is not None
        }

    def _know(self, vector: Any, rows: Mapping[str, np.ndarray]) -> None:
        names = [name for name in vector.names if name in rows]
        self.know([vector[name] for name in names], [rows[name] for name in names])

    def know(self, symbols: Sequence[ca.SX], rows: Sequence[np.ndarray] | np.ndarray) -> None:
        """Take values of symbols, (n, NODES) each."""
        self._rows |= {s.element_hash(): row for s, row in zip(symbols, rows, strict=True)}

    def _look_up(self, values: Any, lookup: Lookup) -> float:
        """Evaluate a table by itself, and use what it gives; return how far off the run is."""
        arguments = self(lookup.arguments)
        shape, pieces = arguments.shape[1:], list[np.ndarray]()
        values_by_name: dict[str, np.ndarray] = {}
        # Just behind a node, whichever way, a run may still use the piece before it.
        late = np.zeros(shape, dtype=bool)
        for axis, argument, base in zip(lookup.axes, arguments, lookup.bases, strict=True):
            piece, turns = _piece(axis, argument)
            for way in (-2.0, 2.0):
                other, others = _piece(axis, argument + way * axis.late)
                late |= (piece != other) | (turns != others)
            pieces.append(piece)
            values_by_name[base] = axis.bases[piece] + turns * axis.period
        terms = lookup.coefficients[tuple(pieces)].reshape(*shape, len(lookup.terms))
        values_by_name |= dict(zip(lookup.terms, np.moveaxis(terms, -1, 0), strict=True))
        worst = 0.0
        for name, row in values_by_name.items():
            used = self._rows[values[name].element_hash()]
            row = np.where(late, used, row)
            size = np.max(np.abs(row), initial=0.0) + 1e-300
            worst = max(worst, float(np.max(np.abs(used - row), initial=0.0)) / size)
            self.know([values[name]], [row])
        return worst

    def __call__(self, expressions: Iterable[ca.SX]) -> np.ndarray:
        """Return the values of k expressions, (k, n, NODES).

        Raises
        ------
        UncheckableError
            They contain something of which the certificate has no values.
        """
        return self._valued(self._program(expressions))

    def once(self, key: tuple[str, str], write: Callable[[], Iterable[ca.SX]]) -> np.ndarray:
        """Return the values of expressions that are written down once for all runs of a system.

        Parameters
        ----------
        key
            What they are, and of what.
        write
            Returns them.

        Raises
        ------
        UncheckableError
            They contain something of which the certificate has no values.
        """
        return self._valued(self._kept(key, lambda: self._program(write())))

    def is_continuous(self, key: tuple[str, str], expression: ca.SX) -> bool:
        """Tell whether an expression, looked at once, can change its sign only at zero."""
        system = self.system
        fixed = [vector[name] for vector in (system.parameters, system.discrete) for name in vector]
        return self._kept(key, lambda: is_continuous(self.written(expression), fixed))

    def _kept(self, key: tuple[str, str], make: Callable[[], Any]) -> Any:
        known = _written.setdefault(self.system, {})
        if key not in known:
            known[key] = make()
        return known[key]

    def _program(self, expressions: Iterable[ca.SX]) -> ca.Function:
        column = self.written(ca.densify(ca.vertcat(ca.SX(0, 1), *expressions)))
        symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(column))
        return ca.Function("posed", [symbols], [column])

    def _valued(self, program: ca.Function) -> np.ndarray:
        times, column = self.certificate.times, program.sx_in(0)
        symbols = [column[k] for k in range(column.numel())]
        for symbol in symbols:
            if symbol.element_hash() not in self._rows:
                raise UncheckableError(f"the run does not tell {symbol.name()!r}")
        rows = [self._rows[symbol.element_hash()] for symbol in symbols]
        given = np.array(rows, dtype=float).reshape(len(rows), times.size).T.copy()
        values = np.empty((times.size, program.numel_out()))
        if values.size:
            buffer, run = program.map(times.size).buffer()
            if rows:
                buffer.set_arg(0, memoryview(given))  # pyright: ignore[reportArgumentType, reportCallIssue]
            buffer.set_res(0, memoryview(values))  # pyright: ignore[reportArgumentType, reportCallIssue]
            run()
        return np.ascontiguousarray(values.T).reshape(program.numel_out(), *times.shape)

    @cached_property
    def moving(self) -> list[Any]:
        """What changes along a motion: positions, massless unknowns, velocities."""
        system = self.system
        if not hasattr(system, "coordinates"):
            return [system.states]
        found = [system.coordinates, system.implicit, system.v]
        return [one for one in found if len(one.names)]

    @cached_property
    def _quaternions(self) -> list[tuple[list[int], ca.SX]]:
        """The places of coordinates whose common length an invariant holds, and the lengths."""
        coordinates = self.moving[0]
        named = {coordinates[name].element_hash(): k for k, name in enumerate(coordinates.names)}
        found: list[tuple[list[int], ca.SX]] = []
        for goal in self.system.goals:
            if isinstance(goal, Invariant) and goal.on == "positions":
                entries = ca.symvar(goal.value)
                places = [named.get(entry.element_hash(), -1) for entry in entries]
                column = ca.vertcat(*entries)
                curvature = ca.jacobian(ca.gradient(goal.value, column), column)
                if -1 in places or not curvature.is_constant():
                    continue
                bent = np.array(ca.DM(curvature))
                if np.array_equal(bent, bent[0, 0] * np.eye(len(bent))):
                    found.append((places, ca.norm_2(column)))
        return found

    @cached_property
    def forces(self) -> np.ndarray:
        """Posed forces for each velocity, and the slopes of the potential, (..., n, NODES)."""

        def acting() -> list[ca.SX]:
            potential = self.written(ca.SX(self.system.potential))
            return ca.vertsplit(ca.vertcat(applied_force(self), self.gradient(potential)))

        return self.once(("forces", ""), acting)

    @cached_property
    def pull(self) -> float:
        """The largest acceleration that forces would give if no reactions cancelled them."""
        inverse, loads = self._loads
        return float(np.max(inverse @ loads, initial=0.0))

    @cached_property
    def jolt(self) -> float:
        """The largest acceleration that forces would give if reactions turned them.

        Reactions carry a load to other bodies and along other axes, and all are rounded: a body may
        be moved by the rounding of the largest load of its kind, however light it is.
        """
        inverse, loads = self._loads
        units = np.array(self.system.v.units if loads.size else [], dtype=str)
        same_kind = units[:, None] == units
        turned = np.max(np.where(same_kind, loads, 0.0), axis=1, initial=0.0)
        return float(np.max(inverse @ turned, initial=0.0))

    @cached_property
    def _loads(self) -> tuple[np.ndarray, np.ndarray]:
        """The magnitudes of the inverse of the inertia, and the largest loads along velocities."""
        system, nothing = self.system, (np.zeros((0, 0)), np.zeros(0))
        if not hasattr(system, "coordinates"):
            return nothing

        def write() -> list[ca.SX]:
            momentum = momentum_of(self)
            inertia = ca.densify(ca.jacobian(momentum, system.v.vector))
            return ca.vertsplit(ca.vec(ca.horzcat(inertia, moving_of(system).T)))

        at_the_end = Expressions(self.certificate.only(slice(-1, None)))
        try:
            largest = np.nan_to_num(np.max(np.abs(self.forces), axis=(1, 2)))
            inertia = at_the_end.once(("inertia", ""), write)[:, -1, -1]
        except UncheckableError:
            return nothing
        count = len(system.v.names)
        inertia, moving = np.split(np.nan_to_num(inertia).reshape(count, -1, order="F"), [count], 1)
        return np.abs(np.linalg.pinv(inertia)), largest[:count] + np.abs(moving) @ largest[count:]

    @cached_property
    def extents(self) -> list[tuple[float, float]]:
        """How large, and how fast from node to node, the largest entry of each of `moving` is.

        Where all rests, that is no less than what the loads, which reactions cancel but for
        rounding, would give in a step.
        """
        bounds: list[tuple[float, float]] = []
        certificate, moving = self.certificate, self.moving
        step = max(certificate.lasts, float(np.ptp(certificate.times))) / len(certificate.times)
        largest = 0.0
        for vector in moving:
            rows, times = (
                np.array([certificate.columns[n] for n in vector.names]),
                certificate.times,
            )
            # What is held still has velocities that are nothing but rounding.
            sizes = [certificate.scale(n, row) for n, row in zip(vector.names, rows, strict=True)]
            cancelled = self.pull * step * (1.0 if vector is moving[-1] else step)
            largest = max(*sizes, cancelled, largest / certificate.lasts)
            if times.shape[1] == 1:
                rows, times = np.swapaxes(rows, 1, 2), times.T
            apart = np.abs(np.diff(times))
            rates = np.abs(np.diff(rows)) / np.where(apart, apart, np.inf)
            bounds.append((largest, float(np.nanmax(rates, initial=0.0))))
        return bounds

    def terms_of(self, key: tuple[str, str], expression: Any) -> np.ndarray:
        """Return an expression, the sizes of its terms and its slopes; see `measured`.

        Which entries of a quaternion are zero depends on the axes of space: in others each is as
        large as its length. So terms are counted along the least favourable axes: where they vanish
        by symmetry, a residual may be off by as much as in any other position.
        """

        def write() -> list[ca.SX]:
            written = self.written(ca.SX(expression))
            slopes = [ca.fabs(ca.gradient(written, one.vector)) for one in self.moving]
            size = size_of(written)
            for places, length in self._quaternions:
                size += length * ca.sum1(slopes[0][places])
            sums = [ca.sum1(column) for column in slopes]
            return [written, size, ca.fabs(ca.gradient(written, time)), *sums]

        return self.once(key, write)

    def measured(
        self, key: tuple[str, str], expression: Any, lag: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return an expression, the sizes of its terms, and what it may be off beside these.

        It may be off by its change where all positions, or all velocities, are off by rounding, or
        by the accuracy of steps, of the largest of them: where nothing moves, its terms are
        rounding themselves. And by its change during the rounding of time, which is much at a late
        one, and during what the solver misplaces an event in a step. What is fed back grows by the
        rounding of the loads, which reactions cancel, for as long as feedback lags.

        Parameters
        ----------
        key
            What the expression is, and of what.
        expression
            As posed.
        lag
            The time in which feedback takes back what it is off, s; 0 where none does.
        """
        values, sizes, rate, *slopes = self.terms_of(key, expression)
        certificate, loose = self.certificate, BESIDE * self.certificate.accuracy
        early = TICKS * np.spacing(np.abs(certificate.times))
        early += loose * np.abs(certificate.lengths)[:, None]
        beside = early * rate
        # With g'' + 2 k g' + k^2 g = e, or g' + k g = e, an error e of accelerations leaves e / k^2
        # of a position and e / k of a velocity; less where the run does not last that long.
        lag = min(lag, certificate.lasts)
        for vector, slope, (largest, fastest) in zip(
            self.moving, slopes, self.extents, strict=True
        ):
            beside = beside + slope * (max(ROUNDING, loose) * largest + early * fastest)
            if lag:
                fed = self.jolt * lag * (1.0 if vector is self.moving[-1] else lag)
                beside = beside + slope * ROUNDING * fed
        return values, sizes, np.nan_to_num(beside)

    def gradient(self, expression: ca.SX) -> ca.SX:
        """Return the slopes by positions, which massless unknowns follow, as a column."""
        return self.slopes(expression)[:-1]

    def slopes(self, expression: ca.SX) -> ca.SX:
        """Return the slopes by positions and by time, which massless unknowns follow."""
        system = self.system
        total = ca.gradient(expression, ca.vertcat(system.coordinates.vector, time))
        unknowns = system.implicit.vector
        if unknowns.numel() and ca.depends_on(expression, unknowns):
            total += self._following.T @ ca.gradient(expression, unknowns)
        return total

    def rate(self, column: ca.SX) -> ca.SX:
        """Return the rate of a column along the motion where velocities stay as they are."""
        system = self.system
        flow = ca.vertcat(self.written(system.coordinates.dot.vector), ca.SX(1.0))
        total = ca.jtimes(column, ca.vertcat(system.coordinates.vector, time), flow)
        if ca.depends_on(column, system.implicit.vector):
            total += ca.jtimes(column, system.implicit.vector, self._following @ flow)
        return total

    @cached_property
    def _following(self) -> ca.SX:
        """How massless unknowns change with positions and time, by their equations."""
        system = self.system
        rows = [ca.SX(goal.residual) for goal in system.goals if isinstance(goal, Implicit)]
        equations = self.written(ca.vertcat(*rows))
        by_unknowns = ca.jacobian(equations, system.implicit.vector)
        others = ca.vertcat(system.coordinates.vector, time)
        return -ca.solve(by_unknowns, ca.jacobian(equations, others))

    def written(self, column: ca.SX) -> ca.SX:
        """Write auxiliaries by their meaning, and rates by quasi-velocities."""
        system = self.system
        if not hasattr(system, "coordinates"):
            return column
        auxiliaries = system.auxiliaries
        if len(auxiliaries):
            meanings = ca.SX(auxiliaries.meanings)
            rates = ca.jtimes(meanings, system.coordinates.vector, system.coordinates.dot.vector)
            rates += ca.jacobian(meanings, time)
            column = ca.substitute(column, auxiliaries.dot.vector, rates)
            column = ca.substitute(column, auxiliaries.vector, meanings)
        if ca.depends_on(column, system.implicit.dot.vector):
            moved = ca.vertcat(system.coordinates.dot.vector, ca.SX(1.0))
            column = ca.substitute(column, system.implicit.dot.vector, self._following @ moved)
        if system.kinematics is not None:
            rates = ca.SX(system.kinematics)
            column = ca.substitute(column, system.coordinates.dot.vector, rates)
        return column


def _piece(axis: Axis, argument: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the piece of an axis in which each argument lies, and after how many whole turns."""
    turns = np.zeros(argument.shape)
    if axis.periodic:
        turns = np.floor((argument - axis.nodes[0]) / axis.period)
    return np.searchsorted(axis.borders, argument - turns * axis.period, side="right"), turns


def names_of_states(system: Any) -> list[str]:
    """Return the names of positions, velocities and quadratures, or of the states."""
    return [name for vector in _state_vectors(system) for name in vector.names]


def _state_vectors(system: Any) -> Sequence[Any]:
    if not hasattr(system, "coordinates"):
        return [system.states]
    return [system.coordinates, system.implicit, system.quadratures, system.v]


def contacts_of(system: Any) -> list[Any]:
    """Return the contacts of a system."""
    return [goal for goal in system.goals if hasattr(goal, "sticking")]


def ideal_goals(system: Any) -> list[Goal]:
    """Return the goals that have a reaction of their own."""
    return [goal for goal in system.goals if isinstance(goal, Goal) and goal.ideal]


def by_name(given: Any, names: Sequence[str]) -> list[ca.SX]:
    """Return expressions given by name or as a column, in order; what is missing is zero."""
    if isinstance(given, Mapping):
        entries = cast(Mapping[str, Any], given)
        return [ca.SX(entries.get(name, 0.0)) for name in names]
    listed = [given] if isinstance(given, ca.SX | ca.DM) else cast(Sequence[ca.SX], given)
    column = ca.vertcat(ca.SX(0, 1), *map(ca.SX, listed))
    return ca.vertsplit(column) if column.numel() else [ca.SX(0)] * len(names)


def applied_force(along: Expressions) -> ca.SX:
    """Return the posed forces, for each velocity."""
    return along.written(by_velocity(along.system, along.system.force))


def by_velocity(system: Any, given: Any) -> ca.SX:
    """Return expressions given by name of velocities, or as a column, in their order."""
    named = system.coordinates if system.velocities is None else system.velocities
    return ca.vertcat(*by_name(given, named.names))


def moving_of(system: Any) -> ca.SX:
    """Return S of q' = S v."""
    if system.kinematics is None:
        return ca.SX.eye(system.coordinates.vector.numel())
    return ca.jacobian(ca.SX(system.kinematics), system.v.vector)


def momentum_of(along: Expressions) -> ca.SX:
    """Return dT/dv, or the mass matrix times v, as a column."""
    system = along.system
    if system.mass_matrix is None:
        return ca.gradient(along.written(ca.SX(system.kinetic)), system.v.vector)
    return along.written(ca.densify(ca.SX(system.mass_matrix)) @ system.v.vector)
