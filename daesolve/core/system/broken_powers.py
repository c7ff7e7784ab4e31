"""Broken powers whose base vanishes where a piecewise expression switches: max(0, -x)^1.5.

In the mode of a branch, such a power, (-x)^1.5, is not a number just past its switch, so no step
could approach the switch. This module finds these powers, which are then left unchanged: 0 past the
switch. So are roots such as sqrt|x|: they have no slope at the switch, but steps can cross it.
"""

from __future__ import annotations

from collections import defaultdict

import casadi as ca

from daesolve.core.expressions.program import Program

ZERO = (ca.OP_CONST, (0.0,))
_NO_VALUE = -1


def kinked_powers(program: Program) -> frozenset[int]:
    """Return the numbers of broken powers, roots too, of |a|, max(a, 0) and min(a, 0)."""
    steps, found = program.steps, set[int]()
    for number in [*_broken_powers(program, above=0.0), *_square_roots(program)]:
        operation, operands = steps[int(steps[number][1][0])]
        beside_zero = operation in (ca.OP_FMIN, ca.OP_FMAX) and _has_zero(program, operands)
        if operation == ca.OP_FABS or beside_zero:
            found.add(number)
    return frozenset(found)


def one_sided_powers(program: Program) -> frozenset[int]:
    """Return the broken powers above 1 used only in branches at whose edge they vanish.

    (-x)^1.5 is one if it occurs only in a branch for x < 0.
    """
    powers = _broken_powers(program, above=1.0)
    users = _users(program) if powers else {}

    def only_inside(number: int, base: int) -> bool:
        for user in users.get(number, ()):
            if user == _NO_VALUE:
                return False
            operation, operands = program.steps[user]
            chosen = operation == ca.OP_IF_ELSE_ZERO and operands[1] == number != operands[0]
            if chosen and _edge(program, operands[0]) == base:
                continue
            if not only_inside(user, base):
                return False
        return True

    bases = {number: _unsigned(program, program.steps[number][1][0]) for number in powers}
    return frozenset(number for number in powers if only_inside(number, bases[number]))


def _users(program: Program) -> dict[int, list[int]]:
    """Return the values that use each value; -1 represents an output."""
    users: dict[int, list[int]] = defaultdict(list)
    for number, (operation, operands) in enumerate(program.steps):
        if operation not in (ca.OP_CONST, ca.OP_INPUT):
            for operand in dict.fromkeys(operands):
                users[operand].append(number)
    for _, value in (pair for pairs in program.outputs for pair in pairs):
        users[value].append(_NO_VALUE)
    return users


def _square_roots(program: Program) -> list[int]:
    return [number for number, (kind, _) in enumerate(program.steps) if kind == ca.OP_SQRT]


def _broken_powers(program: Program, above: float) -> list[int]:
    found: list[int] = []
    for number, (operation, operands) in enumerate(program.steps):
        if operation in (ca.OP_CONSTPOW, ca.OP_POW):
            kind, value = program.steps[int(operands[1])]
            if kind == ca.OP_CONST and value[0] > above and not float(value[0]).is_integer():
                found.append(number)
    return found


def _has_zero(program: Program, operands: tuple[int, ...]) -> bool:
    return any(program.steps[operand] == ZERO for operand in operands)


def _unsigned(program: Program, number: int) -> int:
    """Return a value without its leading minus signs."""
    operation, operands = program.steps[number]
    return _unsigned(program, operands[0]) if operation == ca.OP_NEG else number


def _edge(program: Program, condition: int) -> int | None:
    """Return what vanishes where a condition changes; None if it is not a comparison with 0."""
    operation, operands = program.steps[condition]
    if operation == ca.OP_NOT:
        return _edge(program, operands[0])
    if operation not in (ca.OP_LT, ca.OP_LE) or not _has_zero(program, operands):
        return None
    first, last = operands
    return _unsigned(program, last if program.steps[first] == ZERO else first)
