"""Terms of a right-hand side that a step may not see: they sleep at its ends, or where it starts.

An exponential is nothing to sixteen digits where its argument is below -37, and overwhelming above
37; its argument is slow. Such arguments are found here by walking through instructions: those of
exp, tanh, erf and their like; n log|x| of powers x^n with large n; the differences of arguments at
which a sum such as 1 + exp(u), in a logarithm or a fraction, changes over from one term to another;
what divides, where it grows so fast that poles are not felt from afar; roots' branch points.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.expressions.operations import codes_of
from daesolve.core.expressions.plain_data import cached_result, named
from daesolve.core.expressions.program import NONE, joined, program
from daesolve.core.expressions.translation import function_of, taken_by

HIGH = 16.0
"""Powers from which a term is nothing over most of a range of its base."""
DIVIDING, IN_TIME = 4.0, 1.5
"""Degrees of what divides from which its poles are not felt from afar: a blow that is d times
shorter than its distance, and as strong as it is short, is felt there as d^-3 or less. In time it
may be a push that is only as strong as the friction that hides it."""


@dataclass(frozen=True)
class Kind:
    """What an argument does to its term.

    Parameters
    ----------
    low, high
        Where the argument matters: outside of this the term is constant, to rounding.
    width
        How much the argument moves in a step at least for which the term may hide in it.
    """

    low: float
    high: float
    width: float


GROWS = Kind(-120.0, np.inf, 4.0)
"""exp: the width is for a term that rises from rounding to what is felt."""
DIVIDES = Kind(-np.inf, np.inf, 4.0)
"""A power law: between two places its logarithm may go anywhere."""
DIVIDES_IN_TIME = Kind(-np.inf, np.inf, 1.4)
"""So much a power of degree 1.5 moves between the looks into a step that holds its pole."""
CHANGES_OVER = Kind(-80.0, 80.0, 4.0)
"""A sum of two such terms, at whose zero one takes over from the other."""
SATURATES = Kind(-45.0, 45.0, 2.0)
"""tanh."""
SATURATES_SOON = Kind(-14.0, 14.0, 0.7)
"""erf."""
SATURATES_LATE = Kind(-1e12, 1e12, 1e3)
"""atan."""
BRANCHES = Kind(-np.inf, 0.0, 0.0)
"""A root: whose argument comes down to zero."""
SWITCHES = Kind(0.0, 0.0, 0.0)
"""A comparison or a branch cut: at a zero."""
TURNS = Kind(-np.inf, np.inf, 2.0)
"""The phase of a sine within another argument, which comes and goes with it."""

_EXPONENTIAL = frozenset({ca.OP_EXP, ca.OP_EXPM1})
_HYPERBOLIC = frozenset({ca.OP_SINH, ca.OP_COSH})
_SATURATING = {
    ca.OP_TANH: SATURATES,
    ca.OP_ERF: SATURATES_SOON,
    ca.OP_ATAN: SATURATES_LATE,
    ca.OP_SINH: SATURATES,
    ca.OP_COSH: SATURATES,
    ca.OP_EXPM1: CHANGES_OVER,
}
_OF_DIFFERENCE = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX})
_OF_SIGN = frozenset({ca.OP_FABS, ca.OP_SIGN})
_ROUNDING = frozenset({ca.OP_FLOOR, ca.OP_CEIL})
_LOOKED_AT = list(
    {
        *_EXPONENTIAL, *_HYPERBOLIC, *_SATURATING, *_OF_DIFFERENCE, *_OF_SIGN, *_ROUNDING,
        ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ATAN2, ca.OP_FMOD, ca.OP_SQRT, ca.OP_ASIN, ca.OP_ACOS,
        ca.OP_ACOSH, ca.OP_HYPOT, ca.OP_LOG1P,
    }
)  # fmt: skip
"""Operations that may hide whatever they work on."""


@dataclass(frozen=True, eq=False)
class UnresolvedTerms:
    """The arguments of a function's hidden terms.

    Parameters
    ----------
    functions
        In what they were found.
    arguments
        (t, x, p) -> (m,)
    kinds
        (m,) of each.
    needed
        The states that the arguments depend upon.
    """

    functions: tuple[ca.Function, ...]
    arguments: ca.Function
    kinds: tuple[Kind, ...]
    needed: tuple[int, ...]
    low: np.ndarray = field(init=False)
    high: np.ndarray = field(init=False)
    width: np.ndarray = field(init=False)
    turns: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        for name in ("low", "high", "width"):
            object.__setattr__(self, name, np.array([getattr(kind, name) for kind in self.kinds]))
        object.__setattr__(self, "turns", np.array([kind == TURNS for kind in self.kinds]))

    @cached_property
    def nodes(self) -> ca.Function:
        """(t, x, p) -> (k,) the values of the terms themselves."""
        return _walked(self.functions).nodes()

    @cached_property
    def held(self) -> ca.Function:
        """(t, x, (p, values of the terms)) -> the function with the terms held at these values."""
        return _walked(self.functions).held()


@built_once
def unresolved_terms(*functions: ca.Function) -> UnresolvedTerms | None:
    """Return what functions of (t, x, p) have that a step may not see; None if there is nothing.

    Parameters
    ----------
    functions
        Of one output each.
    """
    found = cached_result(
        "unresolved terms", functions, _CLASSES, lambda: _walked(functions).found()
    )
    return UnresolvedTerms(functions, *found) if found else None


@built_once
def phases(function: ca.Function) -> ca.Function | None:
    """Return (t, x, p) -> (m,) the arguments of all sines and cosines that move; None without any.

    Parameters
    ----------
    function
        Of (t, x, p), with one output.
    """
    found = cached_result("phases", (function,), _CLASSES, lambda: _phases_of(function))
    return found[0] if found else None


def _phases_of(function: ca.Function) -> tuple[ca.Function] | tuple[()]:
    return _walked((function,)).phases()


_CLASSES = named([Kind])
_NAMES = ["t", "x", "p"], ["values"]
Found = tuple[ca.Function, tuple[Kind, ...], tuple[int, ...]] | tuple[()]
Factors = dict[int, float]
"""A product: the exponent of each of its factors, which are values of the program."""


class _Walk:
    """One way through the instructions of functions, from their inputs to their outputs."""

    def __init__(self, functions: tuple[ca.Function, ...]) -> None:
        from daesolve.core.expressions import compilation, products  # numba takes long to import

        compiled: Any = products
        self.inputs = [functions[0].sx_in(k) for k in range(3)]
        self._functions = functions
        self._program = program(functions[0]) if len(functions) == 1 else joined(functions)
        self._values = values = self._program.values
        self._expressions: dict[int, ca.SX] = {}
        self._exponents: dict[int, ca.SX] = {}
        self._logarithms: dict[frozenset[tuple[int, float]], ca.SX] = {}
        self._terms: dict[int, None] = {}
        self.arguments: dict[tuple[str, Kind], ca.SX] = {}
        self._moves = (values.kinds == ca.OP_INPUT) & (values.operands[:, 0] != 2)
        self._timed = (values.kinds == ca.OP_INPUT) & (values.operands[:, 0] == 0)
        self._degrees, self._sizes, self._places, self._powers, hides = compilation.for_size(
            compiled.products, len(values.kinds)
        )(
            compiled.VERSION, codes_of(values.kinds), values.taken, self._moves, self._timed,
            np.where(values.kinds == ca.OP_CONST, values.numbers, np.nan), HIGH, DIVIDING, IN_TIME,
        )  # fmt: skip
        looked = (
            (hides | np.isin(values.kinds, _LOOKED_AT)) & self._moves & (values.taken[:, 0] >= 0)
        )
        found: list[int] = []
        for number in np.flatnonzero(looked).tolist():
            known = len(self.arguments)
            self._look(number, *self._step(number))
            if len(self.arguments) > known:
                found.append(number)
        within = taken_by(self._values.taken, found) if found else set[int]()
        for operand in self._turning(within):
            self._keep(self._expression(operand), TURNS)

    def _step(self, number: int) -> tuple[int, list[int]]:
        """Return the operation of a value, and its operands."""
        taken: list[int] = self._values.operands[number].tolist()
        return int(self._values.kinds[number]), [operand for operand in taken if operand != NONE]

    def _turning(self, within: Container[int] | None = None) -> list[int]:
        """Return the values whose sines or cosines are among some values, or are anywhere."""
        kinds = self._values.kinds
        turned = np.flatnonzero(((kinds == ca.OP_SIN) | (kinds == ca.OP_COS)) & self._moves)
        wanted = [number for number in turned.tolist() if within is None or number in within]
        return list(dict.fromkeys(int(self._values.taken[number, 0]) for number in wanted))

    def _expression(self, number: int) -> ca.SX:
        """Return a value in the inputs."""
        if number not in self._expressions:
            operation, operands = self._step(number)
            self._expressions[number] = (
                self.inputs[operands[0]].nz[operands[1]]
                if operation == ca.OP_INPUT
                else self._origin(number)
            )
        return self._expressions[number]

    @cached_property
    def _written(self) -> list[ca.SX]:
        """What each instruction computes, in the inputs; those that read an input are left out."""
        first, *others = self._functions
        parts = [first.instructions_sx()]
        given = ca.vertcat(*self.inputs)
        for function in others:
            own = ca.vertcat(*[function.sx_in(k) for k in range(3)])
            parts.append(ca.substitute(function.instructions_sx(), own, given))
        return parts

    def _origin(self, number: int) -> ca.SX:
        """Return a value as the first instruction that computes it writes it."""
        place = int(self._program.origins[number])
        if len(self._functions) == 1:
            return self._written[0][place]
        for function, part in zip(self._functions, self._written, strict=True):
            known = program(function)
            if place < known.size:
                return part[int(known.origins[place])]
            place -= known.size
        raise AssertionError("each value has an origin")

    def _look(self, number: int, operation: int, operands: list[int]) -> None:
        """Keep the arguments of an operation that may hide, and the operation's value."""
        if operation in (ca.OP_ADD, ca.OP_SUB):
            self._look_at_sum(*operands)
        elif operation == ca.OP_LOG1P:
            factors = self._factors(operands[0])
            if self._hides(factors):
                self._keep(self._logarithm(factors), CHANGES_OVER)
        elif any(  # of a list: each of them looks
            [
                self._look_at_function(number, operation, operands),
                self._look_at_switch(operation, operands),
                self._look_at_branch(operation, operands),
                self._look_at_divisor(number, operation, operands) or self._look_at_product(number),
            ]
        ):
            self._terms[number] = None

    def _look_at_function(self, number: int, operation: int, operands: list[int]) -> bool:
        """Keep the argument of what grows or saturates."""
        if operation in _EXPONENTIAL:
            self._exponents[number] = self._expression(operands[0])
            self._keep(self._exponents[number], GROWS)
        elif operation in _HYPERBOLIC:
            self._exponents[number] = ca.fabs(self._expression(operands[0]))
        elif operation == ca.OP_POW and self._moves[operands[1]]:
            base, exponent = (self._expression(operand) for operand in operands)
            self._exponents[number] = exponent * ca.log(ca.fabs(base))
            self._keep(self._exponents[number], GROWS)
        elif operation not in _SATURATING:
            return False
        if operation in _SATURATING:
            self._keep(self._expression(operands[0]), _SATURATING[operation])
        return True

    def _look_at_switch(self, operation: int, operands: list[int]) -> bool:
        """Keep what a comparison, or what has a kink or a step, changes its mind about."""
        if operation in _OF_DIFFERENCE:
            self._keep(self._expression(operands[0]) - self._expression(operands[1]), SWITCHES)
        elif operation in _OF_SIGN or operation == ca.OP_ATAN2:
            self._keep(self._expression(operands[0]), SWITCHES)
        elif operation in _ROUNDING:
            self._keep(ca.sin(ca.pi * self._expression(operands[0])), SWITCHES)
        elif operation == ca.OP_FMOD:
            one, other = (self._expression(operand) for operand in operands)
            self._keep(ca.sin(ca.pi * one / other), SWITCHES)
        else:
            return False
        return True

    def _look_at_branch(self, operation: int, operands: list[int]) -> bool:
        """Keep what comes down to zero at a branch point."""
        power = operation in (ca.OP_CONSTPOW, ca.OP_POW)
        if operation == ca.OP_SQRT or (power and not self._is_whole(operands[1])):
            self._keep(self._expression(operands[0]), BRANCHES)
        elif operation in (ca.OP_ASIN, ca.OP_ACOS):
            argument = self._expression(operands[0])
            self._keep(1.0 - argument * argument, BRANCHES)
        elif operation == ca.OP_ACOSH:
            self._keep(self._expression(operands[0]) - 1.0, BRANCHES)
        elif operation == ca.OP_HYPOT:
            one, other = (self._expression(operand) for operand in operands)
            self._keep(one * one + other * other, BRANCHES)
        else:
            return False
        return True

    def _is_whole(self, operand: int) -> bool:
        exponent = self._constant(operand)
        return exponent is not None and exponent.is_integer()

    def _constant(self, operand: int) -> float | None:
        constant = self._values.kinds[operand] == ca.OP_CONST
        return float(self._values.numbers[operand]) if constant else None

    def _look_at_product(self, number: int) -> bool:
        """Keep the logarithm of a high power, and of a product of exponentials."""
        if self._sizes[number] == NONE:
            return False
        factors = self._factors(number)
        if not self._hides(factors):
            return False
        moving = [factor for factor in factors if self._moves[factor]]
        if len(moving) == 1 and moving[0] in self._exponents:
            # Its argument is known already, up to a factor.
            return False
        self._keep(self._logarithm(factors), GROWS)
        return True

    def _look_at_divisor(self, number: int, operation: int, operands: list[int]) -> bool:
        """Keep the logarithm of what divides, where its poles are not felt from afar.

        Factors count one by one where this value raises them further, and together where it divides
        by them at once: successive divisors of an elimination are not a high power.
        """
        before = [self._factors(operand) for operand in operands]
        divisors = {f: power for f, power in self._factors(number).items() if power < 0.0}
        groups: list[Factors] = [
            {factor: power}
            for factor, power in divisors.items()
            if not any(known.get(factor) == power for known in before)
        ]
        if operation == ca.OP_DIV:
            groups.append({f: -power for f, power in self._factors(operands[1]).items()})
        elif operation in (ca.OP_INV, ca.OP_CONSTPOW, ca.OP_POW):
            groups.append(divisors)
        kept = [group for group in groups if self._divides_by_much(group)]
        for group in kept:
            kind = DIVIDES_IN_TIME if self._is_timed(group) else DIVIDES
            self._keep(self._logarithm(group), kind)
        return bool(kept)

    def _divides_by_much(self, factors: Factors) -> bool:
        if any(factor in self._exponents for factor in factors):
            return False
        degrees = [-power * self._degrees[f] for f, power in factors.items() if power < 0.0]
        return sum(degrees) >= (IN_TIME if self._is_timed(factors) else DIVIDING)

    def _is_timed(self, divisors: Factors) -> bool:
        """Return whether one that divides depends on time."""
        return any(power < 0.0 and self._timed[factor] for factor, power in divisors.items())

    def _look_at_sum(self, first: int, second: int) -> None:
        """Keep where one of two terms takes over from the other, if that is sudden."""
        both = [self._factors(first), self._factors(second)]
        if not any(self._hides(factors) for factors in both):
            return
        for operand, factors in zip((first, second), both, strict=True):
            if self._moves[operand] and not self._hides(factors):
                return
        self._keep(self._logarithm(both[0]) - self._logarithm(both[1]), CHANGES_OVER)

    def _keep(self, argument: ca.SX, kind: Kind) -> None:
        # CasADi's expressions are shared, so that equal ones mostly are the same.
        self.arguments.setdefault((str(argument.element_hash()), kind), argument)

    def _factors(self, number: int) -> Factors:
        size = int(self._sizes[number])
        if size == NONE:
            return {number: 1.0}
        return dict(
            zip(
                self._places[number, :size].tolist(),
                self._powers[number, :size].tolist(),
                strict=True,
            )
        )

    def _hides(self, factors: Factors) -> bool:
        """Return whether a product is mostly nothing or overwhelming."""
        degree = 0.0
        for factor, exponent in factors.items():
            if factor in self._exponents:
                return True
            if self._moves[factor]:
                degree += abs(exponent)
        return degree >= HIGH

    def _logarithm(self, factors: Factors) -> ca.SX:
        """Return the logarithm of the size of a product, for equal products the same."""
        key = frozenset(factors.items())
        if key not in self._logarithms:
            total = ca.SX(0.0)
            for factor, exponent in factors.items():
                log = self._exponents.get(factor)
                if log is None:
                    log = ca.log(ca.fabs(self._expression(factor)))
                total = total + exponent * log
            self._logarithms[key] = total
        return self._logarithms[key]

    def found(self) -> Found:
        """Return `arguments`, `kinds` and `needed` of what was kept; nothing where nothing was."""
        if not self.arguments:
            return ()
        arguments = ca.vertcat(*self.arguments.values())
        moving = ca.which_depends(arguments, self.inputs[1], 1, False)
        return (
            function_of("hidden", self.inputs, [arguments], _NAMES, share=False),
            tuple(kind for _, kind in self.arguments),
            tuple(index for index, moves in enumerate(moving) if moves),
        )

    def phases(self) -> tuple[ca.Function] | tuple[()]:
        """See `phases`."""
        found = self._turning()
        if not found:
            return ()
        arguments = ca.vertcat(*[self._expression(operand) for operand in found])
        return (function_of("phases", self.inputs, [arguments], _NAMES, share=False),)

    def nodes(self) -> ca.Function:
        """See `UnresolvedTerms.nodes`."""
        nodes = ca.vertcat(*[self._expression(number) for number in self._terms])
        return function_of("terms", self.inputs, [nodes], _NAMES)

    def held(self) -> ca.Function:
        """See `UnresolvedTerms.held`."""
        held = ca.SX.sym("held", len(self._terms))  # pyright: ignore
        fixed = dict(zip(self._terms, ca.vertsplit(held), strict=True))
        together = ca.vertcat(self.inputs[2], held)
        return function_of("held", [*self.inputs[:2], together], [self._with(fixed)], _NAMES)

    def _with(self, fixed: dict[int, ca.SX]) -> ca.SX:
        """Return the function's output where some values are given."""
        values: list[ca.SX] = []
        for number, (operation, operands) in enumerate(self._program.steps):
            if number in fixed:
                values.append(fixed[number])
            elif operation in (ca.OP_CONST, ca.OP_INPUT):
                values.append(self._expression(number))
            else:
                values.append(_made(operation, [values[int(operand)] for operand in operands]))
        columns: list[ca.SX] = []
        for function, pairs in zip(self._functions, self._program.outputs, strict=True):
            column = [ca.SX(0.0)] * function.nnz_out(0)
            for element, value in pairs:
                column[element] = values[value]
            columns += column
        return ca.vertcat(*columns)


_walked = lru_cache(maxsize=8)(_Walk)


def _made(operation: int, taken: list[ca.SX]) -> ca.SX:
    return (ca.SX.unary if len(taken) == 1 else ca.SX.binary)(operation, *taken)
