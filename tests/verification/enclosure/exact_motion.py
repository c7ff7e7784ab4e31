"""Motions in 40 digits, from what was posed and nothing else of the library.

Lagrange's equations are formed from the posed energies, forces and constraints, and integrated by
Gragg's method with extrapolation (Hairer, Norsett and Wanner, II.9), in 300 bits. Where a step
converges, its error is below `CLOSE`; otherwise it is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import flint

import daesolve as ds

BITS = 300
CLOSE = 1e-39
"""The error of a step, relative to states (at least 1)."""
STAGES = 20
LEAST = 1e-4
"""The shortest step, s: where none converges, something is not smooth."""

NAMES = {
    ca.OP_ADD: "{0} + {1}", ca.OP_SUB: "{0} - {1}", ca.OP_MUL: "{0} * {1}", ca.OP_DIV: "{0} / {1}",
    ca.OP_NEG: "-{0}", ca.OP_SQ: "{0} * {0}", ca.OP_TWICE: "{0} + {0}", ca.OP_INV: "1 / {0}",
    ca.OP_ASSIGN: "{0}", ca.OP_SIN: "{0}.sin()", ca.OP_COS: "{0}.cos()", ca.OP_TAN: "{0}.tan()",
    ca.OP_EXP: "{0}.exp()", ca.OP_SQRT: "{0}.sqrt()", ca.OP_TANH: "{0}.tanh()",
    ca.OP_POW: "{0} ** {1}", ca.OP_CONSTPOW: "{0} ** {1}", ca.OP_LOG: "{0}.log()",
    ca.OP_FABS: "abs({0})", ca.OP_FMAX: "max({0}, {1})", ca.OP_FMIN: "min({0}, {1})",
    ca.OP_SIGN: "arb(int({0} > 0) - int({0} < 0))", ca.OP_LT: "arb(int({0} < {1}))",
    ca.OP_LE: "arb(int({0} <= {1}))", ca.OP_NOT: "arb(int({0} == 0))",
    ca.OP_IF_ELSE_ZERO: "({1} if {0} != 0 else arb(0))", ca.OP_ATAN: "{0}.atan()",
    ca.OP_EQ: "arb(int({0} == {1}))", ca.OP_NE: "arb(int({0} != {1}))",
}  # fmt: skip


class NoReferenceError(Exception):
    """A system is not of the kind that this integrates, or a step does not converge."""


class Numbers:
    """Symbols for the numbers of expressions, so that derivatives do not round them."""

    def __init__(self) -> None:
        self.of: dict[float, ca.SX] = {}

    def __call__(self, expression: Any) -> ca.SX:
        """Return an expression with a symbol for each number but exponents, and 0, 1 and 2."""
        expression = ca.densify(ca.SX(expression))
        f = ca.Function("f", known := ca.symvar(expression), [expression])
        w: dict[int, ca.SX] = {}
        raw: dict[int, float] = {}
        out = [ca.SX(0)] * expression.numel()
        for k in range(f.n_instructions()):
            code, i, o = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if code == ca.OP_OUTPUT:
                out[o[1]] = w[i[0]]
                continue
            if code == ca.OP_CONST:
                new = f.instruction_constant(k)
                w[o[0]] = ca.SX(new) if new in (0, 1, 2, -1) else self.of.setdefault(
                    new, ca.SX.sym(f"n{len(self.of)}")
                )  # fmt: skip
                raw[o[0]] = new
                continue
            if code == ca.OP_INPUT:
                w[o[0]] = known[i[0]]
            elif len(i) == 1:
                w[o[0]] = ca.SX.unary(code, w[i[0]])
            else:
                power = code in (ca.OP_POW, ca.OP_CONSTPOW)
                second = ca.SX(raw[i[1]]) if power and i[1] in raw else w[i[1]]
                w[o[0]] = ca.SX.binary(code, w[i[0]], second)
            raw.pop(o[0], None)
        return ca.reshape(ca.vertcat(*out), *expression.shape) if out else expression


def written(arguments: list[ca.SX], *columns: ca.SX) -> Callable[..., list[list[Any]]]:
    """Return a function of columns in numbers of `flint`, written out as Python."""
    function = ca.Function("f", arguments, [ca.densify(column) for column in columns])
    lines = [f"def f({', '.join(f'a{k}' for k in range(len(arguments)))}):"]
    lines.append(f" r = [{', '.join(f'[None] * {column.numel()}' for column in columns)}]")
    for k in range(function.n_instructions()):
        code, into = function.instruction_id(k), function.instruction_output(k)
        out_of = function.instruction_input(k)
        if code == ca.OP_INPUT:
            lines.append(f" w{into[0]} = a{out_of[0]}[{out_of[1]}]")
        elif code == ca.OP_OUTPUT:
            lines.append(f" r[{into[0]}][{into[1]}] = w{out_of[0]}")
        elif code == ca.OP_CONST:
            lines.append(f" w{into[0]} = arb({function.instruction_constant(k)!r})")
        elif code in NAMES:
            text = NAMES[code].format(*(f"w{place}" for place in out_of))
            lines.append(f" w{into[0]} = {text}")
        else:
            raise NoReferenceError(f"operation {code}")
    names: dict[str, Any] = {"arb": flint.arb}
    exec("\n".join([*lines, " return r"]), names)
    return names["f"]


@dataclass(frozen=True)
class Moment:
    """Time, positions, velocities and discrete values."""

    t: Any
    q: list[Any]
    v: list[Any]
    d: dict[str, Any]


class PosedMotion:
    """The motion of a posed system.

    Parameters
    ----------
    system
        In coordinates, without inputs and friction in contacts.
    """

    def __init__(self, system: ds.MechanicalSystem) -> None:
        if system.velocities is not None or system.kinetic is None or len(system.inputs):
            raise NoReferenceError("quasi-velocities, or inputs")
        contacts = [goal for goal in system.goals if type(goal) is ds.Contact]
        if any(contact.rubs for contact in contacts):
            raise NoReferenceError("a contact that rubs")
        brought = {event.name for contact in contacts for event in contact.events}
        events = [event for event in system.events if event.name not in brought]
        events += map(closing, contacts)
        self.contacts = {f"contact_{contact.name}": contact for contact in contacts}
        for goal in [goal for goal in system.goals if goal not in contacts]:
            if type(goal) not in (ds.Holonomic, ds.Nonholonomic) or not goal.ideal:
                raise NoReferenceError(f"a goal of type {type(goal).__name__}")
        self.system = system
        q, v, t = system.coordinates.vector, system.coordinates.dot.vector, ds.time
        self.names = [*system.coordinates.names]
        discrete = system.discrete
        self.numbers = Numbers()
        self._motion = [t, q, v, discrete.vector]
        self.first = {name: flint.arb(value) for name, value in discrete.defaults.items()}
        kinetic, potential = self.numbers(system.kinetic), self.numbers(system.potential)
        momentum = ca.jacobian(kinetic, v).T
        self.mass = ca.jacobian(momentum, v)
        bias = ca.jtimes(momentum, q, v) + ca.jacobian(momentum, t)
        bias += ca.gradient(potential - kinetic, q) - self._forces(system)
        places = [self.numbers(g.residual) for g in system.goals if type(g) is ds.Holonomic]
        gaps = [self.numbers(contact.residual) for contact in contacts]
        rates = [self.numbers(g.residual) for g in system.goals if type(g) is ds.Nonholonomic]
        self.places = ca.vertcat(ca.SX(0, 1), *places)
        self.rates = ca.vertcat(self._rate(self.places), *rates)
        given = [(event, self.numbers(ca.vertcat(event.guard))) for event in events]
        whole = ca.vertcat(self.rates, self._rate(ca.vertcat(ca.SX(0, 1), *gaps)))
        slopes = ca.jacobian(whole, v)
        rest = ca.jtimes(whole, q, v) + ca.jacobian(whole, t)
        self.rows = self.rates.numel()
        begun = [gap for gap, contact in zip(gaps, contacts, strict=True) if contact.closed]
        first = ca.vertcat(self.places, *begun)
        second = ca.vertcat(self.rates, self._rate(ca.vertcat(ca.SX(0, 1), *begun)))
        self._equations = self._written(ca.vec(self.mass), bias, ca.vec(slopes), rest)
        self._levels = [
            (self._written(level, ca.vec(ca.jacobian(level, by))), level.numel())
            for level, by in ((first, q), (second, v))
        ]
        self.guards = {
            event.name: (event, self._written(guard, self._rate(guard))) for event, guard in given
        }

    def _written(self, *columns: ca.SX) -> Callable[..., list[list[Any]]]:
        """Return a function of time, positions, velocities and discrete values."""
        own = dict(self.numbers.of)
        inner = written([*self._motion, ca.vertcat(ca.SX(0, 1), *own.values())], *columns)
        return lambda t, q, v, d: inner(t, q, v, d, [flint.arb(value) for value in own])

    def _rate(self, column: ca.SX) -> ca.SX:
        """Return the rate of a function of time and positions."""
        t, q, v, _ = self._motion
        return ca.jtimes(column, q, v) + ca.jacobian(column, t)

    def _forces(self, system: ds.MechanicalSystem) -> ca.SX:
        given = system.force
        if isinstance(given, Mapping):
            rows = {str(name).removesuffix("_dot"): value for name, value in given.items()}
            return self.numbers(ca.vertcat(*[ca.SX(rows.get(name, 0.0)) for name in self.names]))
        column = self.numbers(given)
        return column if column.numel() else ca.SX.zeros(len(self.names))

    def closed(self, m: Moment) -> list[str]:
        """Return the discrete values of the contacts that are closed."""
        return [value for value in self.contacts if m.d[value] == 1]

    def accelerations(self, m: Moment) -> list[Any]:
        """Return the accelerations."""
        return self._answer(m)[: len(self.names)]

    def loads(self, m: Moment) -> dict[str, Any]:
        """Return the loads of closed contacts, by their discrete values."""
        values = self._answer(m)[len(self.names) + self.rows :]
        return {value: -load for value, load in zip(self.closed(m), values, strict=True)}

    def _answer(self, m: Moment) -> list[Any]:
        mass, bias, slopes, rest = self._equations([m.t], m.q, m.v, [*m.d.values()])
        count = len(rest)
        held = [self.rows + k for k, value in enumerate(self.contacts) if m.d[value] == 1]
        active = [*range(self.rows), *held]
        slopes = [slopes[j * count + k] for j in range(len(self.names)) for k in active]
        return solved(mass, slopes, [-b for b in bias], [-rest[k] for k in active])

    def consistent(self, m: Moment, free: set[str]) -> Moment:
        """Return a moment whose free states, a few for each constraint, are moved onto them."""
        q, v = list(m.q), list(m.v)
        for k, (level, count) in enumerate(self._levels):
            moved = q if k == 0 else v
            places = [i for i, n in enumerate(self.names) if (n, n + "_dot")[k] in free]
            for _ in range(10 if places else 0):
                values, table = level([m.t], q, v, [*m.d.values()])
                if all(abs(float(value)) < 1e-80 for value in values):
                    break
                if len(places) != count:
                    raise NoReferenceError("redundant constraints at the start")
                rows = [[table[i * count + r] for i in places] for r in range(count)]
                column = flint.arb_mat([[-value] for value in values])
                for i, change in zip(
                    places, flint.arb_mat(rows).solve(column).entries(), strict=True
                ):
                    moved[i] = (moved[i] + change).mid()
        return Moment(m.t, q, v, m.d)

    def after(self, m: Moment, length: Any) -> Moment | None:
        """Return the moment after a step; None where extrapolation does not converge."""
        n, table = len(self.names), []
        for k in range(1, STAGES + 1):
            row = [self._midpoint(m, length, 2 * k)]
            for j, before in enumerate(table):
                ratio = flint.arb(k) ** 2 / flint.arb(k - 1 - j) ** 2 - 1
                row.append(
                    [(x + (x - y) / ratio).mid() for x, y in zip(row[j], before, strict=True)]
                )
            if k > 1 and apart(*row[-2:]) < CLOSE:
                return Moment((m.t + length).mid(), row[-1][:n], row[-1][n:], m.d)
            table = row
        return None

    def _midpoint(self, m: Moment, length: Any, count: int) -> list[Any]:
        n, h = len(self.names), length / count
        old = [*m.q, *m.v]
        rates = [*m.v, *self.accelerations(m)]
        new = [(x + h * f).mid() for x, f in zip(old, rates, strict=True)]
        for k in range(1, count):
            here = Moment((m.t + k * h).mid(), new[:n], new[n:], m.d)
            rates = [*here.v, *self.accelerations(here)]
            old, new = new, [(x + 2 * h * f).mid() for x, f in zip(old, rates, strict=True)]
        here = Moment((m.t + length).mid(), new[:n], new[n:], m.d)
        rates = [*here.v, *self.accelerations(here)]
        return [((x + y + h * f) / 2).mid() for x, y, f in zip(old, new, rates, strict=True)]

    def until(self, m: Moment, end: Any, seen: list[Moment]) -> Moment:
        """Return the moment at a time; add those on the way to a list."""
        length = (end - m.t).mid()
        while m.t < end:
            length = min(length, (end - m.t).mid())
            further = self.after(m, length)
            if further is None:
                length = (length / 2).mid()
                if length < LEAST:
                    raise NoReferenceError("no step converges")
                continue
            m = further
            seen.append(m)
            length = (length * 1.4).mid()
        return Moment(end, m.q, m.v, m.d)

    def crossing(self, m: Moment, name: str) -> Moment:
        """Return the moment at which a guard is zero, near this one, by Newton's method."""
        if name not in self.guards:
            return self._unloaded(m, name)
        _, guard = self.guards[name]
        for _ in range(6):
            values, rates = guard([m.t], m.q, m.v, [*m.d.values()])
            if self.of_velocities(name):
                raise NoReferenceError("a guard of velocities")
            value, rate = min(zip(values, rates, strict=True), key=lambda pair: abs(float(pair[0])))
            step = (-value / rate).mid()
            if abs(float(step)) < CLOSE:
                break
            found = self.after(m, step)
            if found is None:
                raise NoReferenceError("no step converges")
            m = found
        return m

    def is_lost(self, name: str) -> bool:
        """Return whether an event is that of a contact that opens."""
        return name in {f"{contact.name}_lost" for contact in self.contacts.values()}

    def _unloaded(self, m: Moment, name: str) -> Moment:
        """Return the moment at which a load is zero, near this one, by the secant."""
        value, short = f"contact_{name.removesuffix('_lost')}", flint.arb(2) ** -20
        for _ in range(8):
            later = self.after(m, short)
            if later is None:
                raise NoReferenceError("no step converges")
            load, further = (self.loads(one)[value] for one in (m, later))
            step = (-load * short / (further - load)).mid()
            if abs(float(step)) < CLOSE:
                break
            m, short = self.after(m, step) or later, (step / 1024).mid()
        return m

    def of_velocities(self, name: str) -> bool:
        """Return whether a guard depends on velocities, whose rate this does not know."""
        guard = ca.vertcat(self.guards[name][0].guard)
        return bool(ca.depends_on(guard, self._motion[2]))

    def fired(self, m: Moment, later: Moment) -> list[str]:
        """Return the events whose guards change sign between two moments, in their direction."""
        first, last = self.loads(m), self.loads(later)
        found = [
            f"{self.contacts[value].name}_lost"
            for value in first
            if first[value] > 0 and last[value] < 0
        ]
        closed = {f"{self.contacts[value].name}_closed" for value in self.closed(m)}
        for name, (event, guard) in self.guards.items():
            if name in closed:
                continue
            first, last = (guard([x.t], x.q, x.v, [*x.d.values()])[0] for x in (m, later))
            for a, b in zip(first, last, strict=True):
                rises, falls = a < 0 and b > 0, a > 0 and b < 0
                if (rises and event.direction is not ds.FALLING) or (
                    falls and event.direction is not ds.RISING
                ):
                    found.append(name)
        return found

    def reset(self, m: Moment, name: str) -> Moment:
        """Return the moment after an event."""
        if name not in self.guards:
            opened = f"contact_{name.removesuffix('_lost')}"
            return Moment(m.t, m.q, m.v, {**m.d, opened: flint.arb(0)})
        event, _ = self.guards[name]
        if isinstance(event.then, ds.Stop | ds.Record):
            return m
        if self.closed(m):
            raise NoReferenceError("a reset while a contact is closed")
        if not isinstance(event.then, ds.Reset):
            raise NoReferenceError("several actions")
        fired = ca.DM.ones(ca.vertcat(event.guard).numel())
        changes = event.then.changes_where(name, ca.SX(fired))
        q, v, d = list(m.q), list(m.v), dict(m.d)
        for state, value in changes.items():
            new = self._written(self.numbers(value))([m.t], m.q, m.v, [*m.d.values()])[0][0].mid()
            if state in d:
                d[state] = new
            elif state in self.names:
                q[self.names.index(state)] = new
            else:
                v[self.names.index(state.removesuffix("_dot"))] = new
        met = self.contacts.get(f"contact_{name.removesuffix('_closed')}")
        if met is not None and ca.SX(met.restitution).is_zero():
            d[met.held_by] = flint.arb(1)
        changed = Moment(m.t, q, v, d)
        return self._struck(changed, event.then) if event.then.impose else changed

    def _struck(self, m: Moment, action: ds.Reset) -> Moment:
        """Return the velocities that constraints and imposed ones leave, with restitution."""
        imposed = [g for g in action.impose if not isinstance(g, str)]
        column = ca.vertcat(ca.SX(0, 1), *[
            self._rate(self.numbers(g.residual))
            if isinstance(g, ds.Holonomic)
            else self.numbers(g.residual)
            for g in imposed
        ])  # fmt: skip
        whole = ca.vertcat(self.rates, column)
        slopes = ca.jacobian(whole, self._motion[2])
        values, table, mass, elastic = self._written(
            whole, ca.vec(slopes), ca.vec(self.mass), self.numbers(action.restitution)
        )([m.t], m.q, m.v, [*m.d.values()])
        missed = [
            -value * (1 + elastic[0] if k >= self.rows else 1) for k, value in enumerate(values)
        ]
        change = solved(mass, table, [flint.arb(0)] * len(m.v), missed)[: len(m.v)]
        return Moment(m.t, m.q, [(a + b).mid() for a, b in zip(m.v, change, strict=True)], m.d)


def closing(contact: ds.Contact) -> ds.Event:
    """Return the event at which a contact throws back what it meets."""
    gap = ds.Holonomic(f"{contact.name}_gap", contact.residual)
    reset = ds.Reset(impose=[gap], restitution=contact.restitution)
    return ds.Event(f"{contact.name}_closed", contact.residual, ds.FALLING, reset)


def apart(first: list[Any], second: list[Any]) -> float:
    """Return how far two states are from each other, relative to their sizes (at least 1)."""
    pairs = zip(first, second, strict=True)
    return max(float(abs(x - y)) / max(1.0, float(abs(x))) for x, y in pairs)


def solved(mass: list[Any], slopes: list[Any], right: list[Any], lower: list[Any]) -> list[Any]:
    """Solve M a + J^T f = right, J a = lower for a and f; matrices column by column."""
    n, m = len(right), len(lower)
    rows = [
        [*(mass[j * n + i] for j in range(n)), *(slopes[i * m + k] for k in range(m))]
        for i in range(n)
    ]
    rows += [[*(slopes[j * m + k] for j in range(n)), *([flint.arb(0)] * m)] for k in range(m)]
    try:
        found = flint.arb_mat(rows).solve(flint.arb_mat([[x] for x in [*right, *lower]]))
    except ZeroDivisionError:
        raise NoReferenceError("redundant constraints") from None
    return [x.mid() for x in found.entries()]
