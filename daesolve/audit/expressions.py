"""Posed expressions as numbers along a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.audit.certificate import Certificate
from daesolve.audit.evaluation import Program
from daesolve.posing.axes import Axis
from daesolve.posing.goals import Goal, Implicit
from daesolve.posing.inputs import Lookup
from daesolve.posing.symbols import time

SUMS = {ca.OP_ADD, ca.OP_SUB}
_programs: WeakKeyDictionary[Any, dict[tuple[str, str], Program]] = WeakKeyDictionary()
"""What was written down once, by the system of which it is."""


class UnknownSymbolsError(Exception):
    """An expression contains what the certificate does not tell; the message names it."""


class Expressions:
    """Evaluates expressions of a posed system at all nodes of a certificate.

    Parameters
    ----------
    certificate
        The run.
    """

    def __init__(self, certificate: Certificate) -> None:
        self.certificate, self.system = certificate, certificate.system
        self._symbols: list[ca.SX] = [time]
        self._rows: list[np.ndarray] = [certificate.times.ravel()]
        system = self.system
        for vector in _state_vectors(system):
            self._know(vector, certificate.columns)
        if hasattr(system, "coordinates") and system.velocities is None:
            rates = system.coordinates.rates
            self._know(rates, certificate.columns)
        for vector in (system.parameters, system.inputs):
            numbers = {n: certificate.parameters[n] for n in vector if n in certificate.parameters}
            self._know(vector, {n: np.full(certificate.times.shape, v) for n, v in numbers.items()})
        nodes = certificate.times.shape[1]
        held = {n: np.repeat(v[:, None], nodes, axis=1) for n, v in certificate.values.items()}
        self._know(system.inputs, certificate.columns)
        # Inputs change from step to step where a motion is stepped from outside.
        self._know(system.inputs, certificate.columns)
        for vector in (system.inputs, system.discrete):
            self._know(vector, held)
        self._know_reactions()
        self._places = {s.element_hash(): k for k, s in enumerate(self._symbols)}
        self.tables: dict[str, float] = {}
        self.kept: dict[str, list[float]] = {}
        for drive in system.drives:
            if drive.lookup is not None:
                self._look_up(drive.name, drive.values, drive.lookup)

    def _know(self, vector: Any, columns: Mapping[str, np.ndarray]) -> None:
        for name in vector.names:
            if name in columns:
                self._symbols.append(vector[name])
                self._rows.append(np.asarray(columns[name], dtype=float).ravel())

    def know(self, symbols: Sequence[ca.SX], values: Sequence[np.ndarray] | np.ndarray) -> None:
        """Take values of symbols that are none of the system's, at all nodes."""
        for symbol, row in zip(symbols, values, strict=True):
            self._places[symbol.element_hash()] = len(self._rows)
            self._rows.append(row.ravel())

    def _know_reactions(self) -> None:
        columns, system = self.certificate.columns, self.system
        self._know(getattr(system, "reactions", getattr(system, "controls", None)), columns)
        for goal in system.goals:
            if isinstance(goal, Goal) and goal.ideal and goal.reaction_label in columns:
                self._symbols.append(goal.reaction)
                self._rows.append(columns[goal.reaction_label].ravel())

    def _look_up(self, name: str, values: Any, lookup: Lookup) -> None:
        """Evaluate a table by itself, and use what it gives instead of what the run used."""
        arguments = self(lookup.arguments).reshape(len(lookup.arguments), -1)
        pieces: list[np.ndarray] = []
        found: dict[str, np.ndarray] = {}
        # Just behind a node, whichever way, a run may still use the piece before it.
        late = np.zeros(len(arguments[0]), dtype=bool)
        for axis, argument, base in zip(lookup.axes, arguments, lookup.bases, strict=True):
            piece, turns = _piece(axis, argument)
            for way in (-2.0, 2.0):
                other, others = _piece(axis, argument + way * axis.late)
                late |= (piece != other) | (turns != others)
            pieces.append(piece)
            found[base] = axis.bases[piece] + turns * axis.period
        terms = lookup.coefficients[tuple(pieces)].reshape(len(arguments[0]), -1)
        found |= dict(zip(lookup.terms, terms.T, strict=True))
        worst = 0.0
        for own, row in found.items():
            place = self._places[values[own].element_hash()]
            row = np.where(late, self._rows[place], row)
            size = np.max(np.abs(row), initial=0.0) + 1e-300
            worst = max(worst, float(np.max(np.abs(self._rows[place] - row), initial=0.0)) / size)
            self._rows[place] = row
        self.tables[name] = worst

    def __call__(self, expressions: Iterable[ca.SX]) -> np.ndarray:
        """Return the values of k expressions, (k, n, NODES).

        Raises
        ------
        UnknownSymbolsError
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
        UnknownSymbolsError
            They contain something of which the certificate has no values.
        """
        known = _programs.setdefault(self.system, {})
        if key not in known:
            known[key] = self._program(write())
        return self._valued(known[key])

    def is_continuous(self, key: tuple[str, str], expression: ca.SX) -> bool:
        """Tell whether an expression, written down once, can change its sign only at zero."""
        self.once(key, lambda: [expression])
        system = self.system
        fixed = {vector[name] for vector in (system.parameters, system.discrete) for name in vector}
        return _programs[system][key].is_continuous({symbol.element_hash() for symbol in fixed})

    def _program(self, expressions: Iterable[ca.SX]) -> Program:
        return Program(self.written(ca.vertcat(ca.SX(0, 1), *expressions)))

    def _valued(self, program: Program) -> np.ndarray:
        times = self.certificate.times
        hashes = [symbol.element_hash() for symbol in program.symbols]
        for key, symbol in zip(hashes, program.symbols, strict=True):
            if key not in self._places:
                raise UnknownSymbolsError(f"the run does not tell {symbol.name()!r}")
        with np.errstate(all="ignore"):
            values = program([self._rows[self._places[key]] for key in hashes], times.size)
        return values.reshape(-1, *times.shape)

    @cached_property
    def moving(self) -> list[Any]:
        """What changes along a motion: positions, massless unknowns, velocities."""
        system = self.system
        if not hasattr(system, "coordinates"):
            return [system.states]
        found = [system.coordinates, system.implicit, system.v]
        return [one for one in found if len(one.names)]

    @cached_property
    def largest(self) -> list[float]:
        """How large the largest entry of each of `moving` is in the run."""
        found: list[float] = []
        certificate = self.certificate
        lasts = float(np.sum(np.abs(certificate.lengths)))
        for vector in self.moving:
            largest = max(certificate.scale(n, certificate.columns[n]) for n in vector.names)
            # What is held still has velocities that are nothing but rounding.
            found.append(max(largest, max(found, default=0.0) / lasts))
        return found

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
    turns = np.zeros(len(argument))
    if axis.periodic:
        turns = np.floor((argument - axis.nodes[0]) / axis.period)
    return np.searchsorted(axis.borders, argument - turns * axis.period, side="right"), turns


def names_of_states(system: Any) -> list[str]:
    """Return the names of positions, velocities and quadratures, or of the states."""
    names = [name for vector in _state_vectors(system) for name in vector.names]
    if hasattr(system, "coordinates") and system.velocities is None:
        names += system.coordinates.rates.names
    return names


def _state_vectors(system: Any) -> Sequence[Any]:
    if not hasattr(system, "coordinates"):
        return [system.states]
    own = [system.coordinates, system.implicit, system.quadratures]
    return own if system.velocities is None else [*own, system.velocities]


def size_of(expression: ca.SX) -> ca.SX:
    """Return the sum of the magnitudes of which an expression is made at a state.

    Sums add the sizes of their parts, products multiply them; anything else counts by its value.
    """
    known: dict[int, ca.SX] = {}
    waiting = [ca.SX(expression)]
    while waiting:
        here = waiting[-1]
        key = here.element_hash()
        op = here.op() if not (here.is_constant() or here.is_symbolic()) else None
        parts = _parts(here, op)
        missing = [part for part in parts if part.element_hash() not in known]
        if key in known or not missing:
            waiting.pop()
            known.setdefault(key, _joined(here, op, [known[p.element_hash()] for p in parts]))
        else:
            waiting.extend(missing)
    return known[ca.SX(expression).element_hash()]


def _parts(here: ca.SX, op: int | None) -> list[ca.SX]:
    if op in SUMS or op in (ca.OP_MUL, ca.OP_DIV):
        return [here.dep(0), here.dep(1)]
    return [here.dep(0)] if op in (ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE) else []


def _joined(here: ca.SX, op: int | None, sizes: Sequence[ca.SX]) -> ca.SX:
    if op in SUMS:
        return sizes[0] + sizes[1]
    if op == ca.OP_MUL:
        return sizes[0] * sizes[1]
    if op == ca.OP_DIV:
        return sizes[0] / ca.fabs(here.dep(1))
    if op == ca.OP_SQ:
        return sizes[0] ** 2
    if op == ca.OP_TWICE:
        return 2.0 * sizes[0]
    return sizes[0] if op == ca.OP_NEG else ca.fabs(here)
