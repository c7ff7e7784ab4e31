"""Piecewise expressions as modes: each jump or kink becomes smooth, with a switch.

    fabs, sign, copysign        s a, s                  s = 1 where the guard a > 0, else -1
    a < b, a <= b               s > 0, not s > 0        guard b - a, a - b
    fmin, fmax, if_else         one branch, by s        guard a - b, or that of the condition
    tan(a) < b, a / b > c       two signs               guards of the zeros, and of the poles
    floor, ceil, fmod,          n, a number of          guards a - (n + 1), n - a
    remainder                   whole steps
    atan2                       turned by s pi / 2      guard (x + r) cos c + s y sin c

s and n are discrete values. Each has an event at which it changes, and which keeps it consistent
with the state at all times: at the start, along the motion, and after any other reset. Between
these events the motion is smooth, so every solver keeps its order and finds the instants to
rounding. An angle switches at its cut, and else only where it is pi / 4 on the other side of y = 0:
one that stays at zero does not switch. Conditions on parameters and discrete values alone, or on a
reaction, are no switches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import casadi as ca

from daesolve.core.expressions.program import COMMUTATIVE, program
from daesolve.core.expressions.translation import OPERATION_NAMES
from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import AnyGoal, Holonomic, Nonholonomic
from daesolve.core.posing.piecewise import SMOOTH
from daesolve.core.posing.symbols import ANY, Parameters
from daesolve.core.system.broken_powers import kinked_powers, one_sided_powers
from daesolve.core.system.poles import without_poles
from daesolve.core.system.switches import Switch
from daesolve.errors import PosingError

PIECEWISE = frozenset(
    {ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FABS, ca.OP_SIGN, ca.OP_COPYSIGN, ca.OP_FMIN,
     ca.OP_FMAX, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_ATAN2,
     ca.OP_IF_ELSE_ZERO, ca.OP_NOT, ca.OP_AND, ca.OP_OR}
)  # fmt: skip
"""Operations that are not smooth everywhere."""
COUNTED = frozenset({ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMOD, ca.OP_REMAINDER})
"""Those that count whole steps."""
KINKED = frozenset({ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX, ca.OP_ATAN2})
"""Those whose zeros solvers also find without a switch."""


SIDE = 0.375 * math.pi
"""c, rad: above its cut, an angle is measured from c - 5 pi / 8 to c + 5 pi / 8, the cut itself."""


class _Kind(IntEnum):
    """The dependence of an expression; of two kinds, the larger one prevails."""

    FIXED = 0
    MOVING = 1
    REACTING = 2


Key = tuple[Any, ...]


@dataclass(eq=False)
class Switching:
    """The switches of a system, and its expressions written with them.

    Parameters
    ----------
    fixed, reacting
        The hashes of symbols that no motion changes, and of reactions.
    switches
        The switches by what they follow: the number of a guard, or those of y and x.
    orders
        The order in which the operands of a minimum or maximum are compared.
    """

    fixed: Collection[int] = ()
    reacting: Collection[int] = ()
    switches: dict[Key, Switch] = field(default_factory=dict[Key, Switch])
    orders: dict[frozenset[int], tuple[int, int]] = field(
        default_factory=dict[frozenset[int], tuple[int, int]]
    )
    _numbers: dict[Key, int] = field(default_factory=dict[Key, int])
    _keys: list[Key] = field(default_factory=list[Key])
    _nodes: list[ca.SX] = field(default_factory=list[ca.SX])
    _kinds: list[_Kind] = field(default_factory=list[_Kind])
    _counted: dict[str, int] = field(default_factory=dict[str, int])
    _changed: bool = False

    @property
    def plain(self) -> bool:
        """Whether all expressions are written exactly as posed."""
        return not self._changed

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the discrete values and of their events."""
        return tuple(switch.name for switch in self.switches.values())

    @property
    def values(self) -> Parameters:
        """The discrete values."""
        # A value that stays at zero is not above it.
        start = {s.name: 0.0 if s.counts else -1.0 for s in self.switches.values()}
        empty = Parameters(start, dict.fromkeys(start, ""), dict.fromkeys(start, ANY),
                           "discrete value")  # fmt: skip
        return empty.with_symbols({s.name: s.value for s in self.switches.values()})

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that change them."""
        return tuple(switch.event for switch in self.switches.values())

    def written(self, expression: ca.SX, owner: str = "", goal: AnyGoal | None = None) -> ca.SX:
        """Write an expression of any shape with switches instead of jumps and kinks.

        Parameters
        ----------
        expression
            The expression as posed.
        owner
            The owner of the expression, from which new switches take their names.
        goal
            The goal of which the expression is the residual, if any.

        Raises
        ------
        PosingError
            It contains a condition that is true only for an instant.
        """
        inputs = ca.symvar(expression)
        function = ca.Function("posed", [ca.vertcat(ca.SX(0, 1), *inputs)], [expression])
        if not _is_piecewise(function):
            return expression
        imposed = None
        if isinstance(goal, Holonomic | Nonholonomic) and not goal.held_by:
            imposed = goal.name
        walk = _Walk(self, function, inputs, (owner, imposed))
        if not walk.changed:
            return expression
        self._changed = True
        return ca.SX(expression.sparsity(), walk.outputs())

    # -- nodes, each existing once -----------------------------------------------------------------

    def node(self, operation: int, *operands: int) -> int:
        """Return the number of an operation on nodes, whatever their order if they commute."""
        key = (operation, *(sorted(operands) if operation in COMMUTATIVE else operands))
        if key not in self._numbers:
            values = [self._nodes[number] for number in operands]
            make = ca.SX.unary if len(values) == 1 else ca.SX.binary
            self._take(key, make(operation, *values), max(self._kinds[k] for k in operands))
        return self._numbers[key]

    def constant(self, value: float) -> int:
        """Return the number of a constant."""
        key = (ca.OP_CONST, repr(value))
        if key not in self._numbers:
            self._take(key, ca.SX(value), _Kind.FIXED)
        return self._numbers[key]

    def input(self, entry: ca.SX) -> int:
        """Return the number of a symbol."""
        mark = entry.element_hash()
        key = (ca.OP_INPUT, mark)
        if key not in self._numbers:
            kind = _Kind.REACTING if mark in self.reacting else _Kind.MOVING
            self._take(key, entry, _Kind.FIXED if mark in self.fixed else kind)
        return self._numbers[key]

    def kind(self, number: int) -> _Kind:
        """Return the dependence of a node."""
        return self._kinds[number]

    def is_fixed(self, number: int) -> bool:
        """Return whether a node is independent of the motion."""
        return self._kinds[number] is _Kind.FIXED

    def made(self, number: int) -> tuple[int, tuple[Any, ...]]:
        """Return the operation and operands of a node, or the number of a constant."""
        operation, *operands = self._keys[number]
        return operation, tuple(operands)

    def of(self, number: int) -> ca.SX:
        """Return the expression of a node."""
        return self._nodes[number]

    def _take(self, key: Key, value: ca.SX, kind: _Kind) -> None:
        self._numbers[key] = len(self._nodes)
        self._keys.append(key)
        self._nodes.append(value)
        self._kinds.append(kind)

    # -- switches ----------------------------------------------------------------------------------

    def sign(self, guard: int, place: tuple[str, str | None]) -> int:
        """Return the node of a guard's sign."""
        return self._switch((guard,), place, lambda _: guard)

    def whole(self, guard: int, place: tuple[str, str | None]) -> int:
        """Return the node of the number of whole steps in a guard."""
        return self._switch((guard, "counts"), place, lambda _: guard)

    def below(self, y: int, x: int, place: tuple[str, str | None]) -> int:
        """Return the node of the side of its cut from which an angle is measured, 1 below."""

        def guard(side: int) -> int:
            node, constant = self.node, self.constant
            size = node(ca.OP_SQRT, node(ca.OP_ADD, node(ca.OP_SQ, x), node(ca.OP_SQ, y)))
            along = node(ca.OP_MUL, constant(math.cos(SIDE)), node(ca.OP_ADD, x, size))
            across = node(ca.OP_MUL, constant(math.sin(SIDE)), y)
            return node(ca.OP_SUB, node(ca.OP_MUL, side, along), across)

        return self._switch((y, x, "angle"), place, guard)

    def _switch(self, key: Key, place: tuple[str, str | None], guard: Callable[[int], int]) -> int:
        known, (owner, goal) = self.switches.get(key), place
        if known is not None and known.goal is None and goal is not None:
            self.switches[key] = replace(known, goal=goal)
        if known is None:
            self._counted[owner] = self._counted.get(owner, 0) + 1
            name = f"{owner}_switch_{self._counted[owner]}"
            value = ca.SX.sym(name)  # pyright: ignore[reportCallIssue]
            self._take((ca.OP_INPUT, value.element_hash()), value, _Kind.FIXED)
            written = self.of(guard(len(self._nodes) - 1))
            known = self.switches[key] = Switch(name, value, written, key[-1] == "counts", goal)
        return self._numbers[ca.OP_INPUT, known.value.element_hash()]


class _Walk:
    """Rewrites an expression so that it is smooth in each mode.

    Parameters
    ----------
    switching
        Holds the nodes and the switches.
    function, inputs
        The expression, and its symbols.
    place
        The owner of the expression, and its constraint.
    """

    def __init__(
        self,
        switching: Switching,
        function: ca.Function,
        inputs: list[ca.SX],
        place: tuple[str, str | None],
    ) -> None:
        self.switching, self.inputs, self.place = switching, inputs, place
        self.whole = program(function)
        self.kinked, self.one_sided = kinked_powers(self.whole), one_sided_powers(self.whole)
        self.switched, self.kept = self._wanted()
        self.numbers: dict[int, int] = {}
        self.as_they_stand: dict[int, int] = {}
        self.changed = False
        for number in range(len(self.whole.steps)):
            if number in self.kept:
                self.as_they_stand[number] = self._as_it_stands(number)
            if number in self.switched:
                self.numbers[number] = self._smooth(number)

    def outputs(self) -> ca.SX:
        """Return the non-zeros of the expression."""
        found = [self.switching.of(self.numbers[value]) for _, value in self.whole.outputs[0]]
        return ca.vertcat(ca.SX(0, 1), *found)

    def _wanted(self) -> tuple[set[int], set[int]]:
        """Return the values to be switched, and those to be kept unchanged."""
        steps = self.whole.steps
        switched = {value for _, value in self.whole.outputs[0]}
        kept: set[int] = set()
        for number in reversed(range(len(steps))):
            operation, operands = steps[number]
            if operation in (ca.OP_INPUT, ca.OP_CONST):
                continue
            if number in kept:
                kept.update(operands)
            if number in switched:
                marked = self._marked(number)
                if number in self.kinked:
                    kept.update((number, *operands))
                elif marked is None:
                    switched.update(operands)
                else:
                    kept.add(marked)
        return switched, kept

    def _marked(self, number: int) -> int | None:
        """Return the values to be kept unchanged because one is marked so."""
        operation, operands = self.whole.steps[number]
        sides = {ca.OP_ADD: (operands, operands[::-1]), ca.OP_SUB: (operands,)}
        for one, other in sides.get(operation, ()):
            if self.whole.steps[one] == (ca.OP_CONST, (SMOOTH,)):
                return other
        return None

    def _leaf(self, number: int) -> int | None:
        operation, operands = self.whole.steps[number]
        if operation == ca.OP_CONST:
            return self.switching.constant(operands[0])
        if operation == ca.OP_INPUT:
            return self.switching.input(self.inputs[int(operands[1])])
        return None

    def _as_it_stands(self, number: int) -> int:
        leaf = self._leaf(number)
        if leaf is not None:
            return leaf
        operation, operands = self.whole.steps[number]
        return self.switching.node(operation, *[self.as_they_stand[k] for k in operands])

    def _smooth(self, number: int) -> int:
        leaf = self._leaf(number)
        if leaf is not None:
            return leaf
        marked = self._marked(number)
        operation, places = self.whole.steps[number]
        if number in self.kinked:
            self.changed = True
            return self.as_they_stand[number]
        if marked is not None:
            self.changed = True
            kept = self.as_they_stand[marked]
            # CasADi writes the sum of a negative number and the mark as a difference.
            return self.switching.node(ca.OP_NEG, kept) if operation == ca.OP_SUB else kept
        operands = [self.numbers[place] for place in places]
        if number in self.one_sided:
            zero = self.switching.constant(0.0)
            operands[0] = self.switching.node(ca.OP_FMAX, zero, operands[0])
        node, kinds = self.switching.node, [self.switching.kind(k) for k in operands]
        if operation not in PIECEWISE or max(kinds) is not _Kind.MOVING:
            return node(operation, *operands)
        if operation == ca.OP_IF_ELSE_ZERO and kinds[0] is _Kind.FIXED:
            return node(operation, *operands)
        self.changed = True
        return self._switched(operation, operands)

    def _switched(self, operation: int, operands: list[int]) -> int:
        """Write an operation that is not smooth in terms of the switches of its guards."""
        node, (first, last) = self.switching.node, (operands[0], operands[-1])
        if operation == ca.OP_SIGN:
            return self._sign(first)
        if operation == ca.OP_FABS:
            return node(ca.OP_MUL, self._sign(first), first)
        if operation == ca.OP_COPYSIGN:
            size = node(ca.OP_MUL, self._sign(first), first)
            return node(ca.OP_MUL, self._sign(last), size)
        if operation == ca.OP_LT:
            return self._positive(node(ca.OP_SUB, last, first))
        if operation == ca.OP_LE:
            return node(ca.OP_NOT, self._positive(node(ca.OP_SUB, first, last)))
        if operation in (ca.OP_FMIN, ca.OP_FMAX):
            # CasADi may return the two operands in either order: keep the first order seen.
            first, last = self.switching.orders.setdefault(frozenset(operands), (first, last))
            larger = self._positive(node(ca.OP_SUB, first, last))
            ordered = (first, last) if operation == ca.OP_FMAX else (last, first)
            return self._either(larger, *ordered)
        if operation in COUNTED:
            return self._counted(operation, first, last)
        if operation == ca.OP_ATAN2:
            return self._angle(first, last)
        raise PosingError(self._refusal(operation, operands))

    def _counted(self, operation: int, first: int, last: int) -> int:
        """Write an operation that counts whole steps."""
        node, constant = self.switching.node, self.switching.constant
        if operation == ca.OP_FLOOR:
            return self._whole(first)
        if operation == ca.OP_CEIL:
            return node(ca.OP_NEG, self._whole(node(ca.OP_NEG, first)))
        turns = node(ca.OP_DIV, first, last)
        if operation == ca.OP_REMAINDER:
            whole = self._whole(node(ca.OP_ADD, turns, constant(0.5)))
        else:
            back = node(ca.OP_NOT, self._positive(turns))
            whole = node(ca.OP_ADD, self._whole(turns), back)
        return node(ca.OP_SUB, first, node(ca.OP_MUL, last, whole))

    def _refusal(self, operation: int, operands: list[int]) -> str:
        shown = ", ".join(str(self.switching.of(number)) for number in operands)
        what = f"{OPERATION_NAMES[operation]}({shown})"
        if operation in (ca.OP_EQ, ca.OP_NE):
            return (
                f"{self.place[0]} contains {what}: two quantities of a motion are equal only "
                "for an instant; test with < or > which side it is on, or keep the expression "
                "unchanged with smooth(...)"
            )
        return (
            f"{self.place[0]} contains {what}, a condition that is not a comparison: compare "
            "with < or >, or keep the expression unchanged with smooth(...)"
        )

    def _sign(self, guard: int) -> int:
        """Return the node of a guard's sign, which changes at its zeros and across its poles."""
        sign, *others = [self._sign_of(k) for k in without_poles(self.switching, guard)]
        for other in others:
            sign = self.switching.node(ca.OP_MUL, sign, other)
        return sign

    def _sign_of(self, number: int) -> int:
        if self.switching.is_fixed(number):
            return self.switching.node(ca.OP_SIGN, number)
        return self.switching.sign(number, self.place)

    def _whole(self, guard: int) -> int:
        return self.switching.whole(guard, self.place)

    def _positive(self, guard: int) -> int:
        return self.switching.node(ca.OP_LT, self.switching.constant(0.0), self._sign(guard))

    def _either(self, condition: int, one: int, other: int) -> int:
        """Return one branch or the other; the unused branch need not be finite."""
        node = self.switching.node
        chosen = node(ca.OP_IF_ELSE_ZERO, condition, one)
        against = node(ca.OP_NOT, condition)
        return node(ca.OP_ADD, chosen, node(ca.OP_IF_ELSE_ZERO, against, other))

    def _has_poles(self, number: int) -> bool:
        return len(without_poles(self.switching, number)) > 1

    def _angle(self, y: int, x: int) -> int:
        """Return the angle of (x, y), measured from the y axis on its side.

        If the sign of x never changes, the cut is out of reach, or it is y = 0 itself.
        """
        node, constant = self.switching.node, self.switching.constant
        if self.switching.is_fixed(y) or self._has_poles(y) or self._has_poles(x):
            # Zero belongs to the upper side: atan2(0, -1) is pi.
            below = self._positive(node(ca.OP_NEG, y))
            side = node(ca.OP_SUB, constant(1.0), node(ca.OP_TWICE, below))
        else:
            side = node(ca.OP_NEG, self.switching.below(y, x, self.place))
        turned = node(ca.OP_NEG, node(ca.OP_MUL, side, x))
        angle = node(ca.OP_ATAN2, turned, node(ca.OP_MUL, side, y))
        quarter = node(ca.OP_MUL, side, constant(0.5 * math.pi))
        return node(ca.OP_ADD, quarter, angle)


def jumps(guards: ca.SX) -> bool:
    """Return whether guards may jump, so that a zero need not be a passage."""
    function = ca.Function("guards", [ca.vertcat(ca.SX(0, 1), *ca.symvar(guards))], [guards])
    operations = {function.instruction_id(k) for k in range(function.n_instructions())}
    return bool(operations & (PIECEWISE - KINKED))


def _is_piecewise(function: ca.Function) -> bool:
    """Return whether a function has an operation that is not smooth, or a mark of one."""
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation in PIECEWISE:
            return True
        if operation == ca.OP_CONST and function.instruction_constant(k) == SMOOTH:
            return True
    return False


def hashes(*columns: ca.SX) -> frozenset[int]:
    """Return the hashes of symbols."""
    return frozenset(entry.element_hash() for column in columns for entry in ca.symvar(column))


def found(
    expressions: Iterable[tuple[str, ca.SX, AnyGoal | None]], fixed: ca.SX, reacting: ca.SX
) -> Switching:
    """Return the switches of several expressions.

    Parameters
    ----------
    expressions
        Each with its owner, and the goal of which it is the residual.
    fixed, reacting
        The symbols that no motion changes, and the reactions.
    """
    switching = Switching(hashes(fixed), hashes(reacting))
    for owner, expression, goal in expressions:
        switching.written(expression, owner, goal)
    return switching
