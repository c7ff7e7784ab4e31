"""A system whose numbers are parameters, so that no derivative rounds them.

CasADi works out what it can of constants: the derivative of sin(3.27 t)/2 holds 1.635, rounded. As
parameters they stay what they are, and their products are enclosed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, cast

import casadi as ca

from daesolve.core.encoding import is_list, is_mapping, is_tuple
from daesolve.core.posing.rewriting import Rewriting
from daesolve.core.posing.symbols import ANY, Parameters, symbol
from daesolve.core.system.system import System

STAYS = {"parameters", "inputs", "discrete", "switching", "outputs", "meters", "recovered", "notes"}
"""What has no part in the motion, or no expressions."""
FACTORS = ("force", "gyroscopic", "mass_matrix", "kinematics", "integrands", "rate", "kinetic",
           "potential", "residual", "guard", "restitution", "friction", "static_friction",
           "tangential_restitution", "changes")  # fmt: skip
"""The fields in which plain numbers are expressions too."""
POWERS = (ca.OP_POW, ca.OP_CONSTPOW)


def with_exact_constants(system: System) -> System:
    """Return a system of the same motions whose numbers are parameters.

    Powers of two stay, since products with them are exact, and exponents from which one can be
    taken without rounding.
    """
    lift = _Lift(system)
    names = [name for name in system.__dataclass_fields__ if name not in STAYS]
    changed = {name: lift.rewrite(lift.numbers(name, getattr(system, name))) for name in names}
    changed = {name: new for name, new in changed.items() if new is not getattr(system, name)}
    if not lift.symbols:
        return system
    values = {symbol.name(): value for value, symbol in lift.symbols.items()}
    own = Parameters(values, dict.fromkeys(values, ""), dict.fromkeys(values, ANY))
    own = own.with_symbols({symbol.name(): symbol for symbol in lift.symbols.values()})
    return replace(system, parameters=system.parameters.joined(own), **changed)


class _Rewriting(Rewriting):
    """Also makes expressions of numbers where expressions may be."""

    def __init__(self, lift: _Lift) -> None:
        super().__init__(lift.expression)
        self.lift = lift

    def _dataclass(self, value: Any) -> Any:
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        posed = {name: self.lift.numbers(name, entry) for name, entry in own.items()}
        if any(posed[name] is not own[name] for name in own):
            other: Any = object.__new__(cast("type[Any]", type(value)))
            for name, entry in posed.items():
                object.__setattr__(other, name, entry)
            return super()._dataclass(other)
        return super()._dataclass(value)


class _Lift:
    """Replaces the numbers of expressions by symbols, one for each number."""

    def __init__(self, system: System) -> None:
        self.symbols: dict[float, ca.SX] = {}
        self.rewrite = _Rewriting(self)
        taken = {*system.parameters.names, *system.inputs.names, *system.discrete.names}
        self._stem = "exact"
        while any(name.startswith(self._stem) for name in taken):
            self._stem += "_"

    def numbers(self, name: str, value: Any) -> Any:
        """Return the value of a field, its plain numbers as expressions."""
        if name not in FACTORS:
            return value
        if isinstance(value, float) and not _is_plain(value):
            return ca.SX(value)
        if is_mapping(value):
            given: Mapping[Any, Any] = value
            found = {key: self.numbers(name, entry) for key, entry in given.items()}
            return found if any(found[key] is not given[key] for key in given) else value
        if is_list(value) or is_tuple(value):
            listed: Sequence[Any] = value
            new = [self.numbers(name, entry) for entry in listed]
            return new if any(a is not b for a, b in zip(new, listed, strict=True)) else value
        return value

    def expression(self, expression: ca.SX) -> ca.SX:
        """Return an expression without numbers that may be rounded."""
        known = ca.symvar(expression)
        function = ca.Function("f", known, [expression], {"allow_free": False})
        if not any(self._is_lifted(function, k) for k in range(function.n_instructions())):
            return expression
        work: dict[int, ca.SX] = {}
        plain: dict[int, ca.SX] = {}
        entries: dict[int, ca.SX] = {}
        for k in range(function.n_instructions()):
            code, out_of = function.instruction_id(k), function.instruction_input(k)
            into = function.instruction_output(k)
            if code == ca.OP_OUTPUT:
                entries[into[1]] = work[out_of[0]]
                continue
            plain.pop(into[0], None)
            if code == ca.OP_CONST:
                value = function.instruction_constant(k)
                work[into[0]], plain[into[0]] = self._symbol(value), ca.SX(value)
            elif code == ca.OP_INPUT:
                work[into[0]] = known[out_of[0]]
            else:
                arguments = [work[place] for place in out_of]
                if code in POWERS and out_of[1] in plain and _is_exponent(float(plain[out_of[1]])):
                    arguments[1] = plain[out_of[1]]
                rule = ca.SX.unary if len(arguments) == 1 else ca.SX.binary
                work[into[0]] = rule(code, *arguments)
        column = ca.vertcat(*[entries[place] for place in range(expression.nnz())])
        return ca.SX(expression.sparsity(), column)

    def _is_lifted(self, function: ca.Function, k: int) -> bool:
        if function.instruction_id(k) != ca.OP_CONST:
            return False
        return not _is_plain(function.instruction_constant(k))

    def _symbol(self, value: float) -> ca.SX:
        if _is_plain(value):
            return ca.SX(value)
        if value not in self.symbols:
            self.symbols[value] = symbol(f"{self._stem}_{len(self.symbols) + 1}")
        return self.symbols[value]


def _is_plain(value: float) -> bool:
    """Return whether products and quotients with a number are exact: zero and powers of two."""
    if not abs(value) < float("inf"):
        return True
    fraction, _ = _parts(value)
    return fraction in (0, 1)


def _parts(value: float) -> tuple[int, int]:
    """Return the odd part of a number, and the power of two beside it."""
    top, bottom = abs(value).as_integer_ratio()
    power = (top & -top).bit_length() - 1 if top else 0
    return top >> power, power - (bottom.bit_length() - 1)


def _is_exponent(value: float) -> bool:
    """Return whether one, two and so on can be taken from an exponent without rounding."""
    return value.is_integer() or value >= 0.5
