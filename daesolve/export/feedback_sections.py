"""Feedback in print: the laws that residuals obey, and the reactions that impose them.

With a law delta^(r) + a_(r-1) delta^(r-1) + ... + a_0 delta = 0 for each constraint,

    J v' + b + a_(r-1) delta^(r-1) + ... + a_0 delta = 0

replaces J v' + b = 0, and the reactions follow as functions of the state.

Source: Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev, (7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import casadi as ca

from daesolve.core.equations.dynamics import GoalRow
from daesolve.core.formulations.laws import Law, check_laws, rates_of
from daesolve.core.system.eliminated_equations import Matrices
from daesolve.errors import OutOfRangeError, is_number
from daesolve.export.reduced_sections import eliminated_sections
from daesolve.export.sections import EquationSection, EquationWriter, displayed


def feedback_sections(
    found: Matrices,
    symbols: Mapping[str, str],
    writer: EquationWriter,
    rate: float,
    laws: Mapping[str, Law],
) -> list[EquationSection]:
    """Return the sections on feedback; none if neither a rate nor a law is given.

    Raises
    ------
    UnknownNameError
        There is no constraint for a law.
    OutOfRangeError
        A law is not stable, or the rate is negative.
    """
    if not is_number(rate) or not 0.0 <= rate < math.inf:
        raise OutOfRangeError(f"the rate is {rate!r}, but must be a number, 0 or more")
    rows = found.mode.dynamics.rows
    check_laws(laws, ())
    _ = rates_of(laws, rows)  # It refuses unknown names and wrong degrees.
    if not rate and not laws:
        return []
    chosen = {row.name: _law(row, rate, laws) for row in rows}
    bias = ca.SX(found.bias)
    for place, row in enumerate(rows):
        links = [found.mode.written(link) for link in row.chain]
        for factor, link in zip(reversed(chosen[row.name]), links, strict=True):
            bias[place] += factor * link
    residuals = [
        (f"\\delta_{{{place + 1}}}", found.mode.written(row.chain[0]))
        for place, row in enumerate(rows)
    ]
    text = "The residuals\n\n" + writer.equations(residuals)
    names = ", ".join(
        f"$\\delta_{{{place + 1}}}$ of `{row.name}`" for place, row in enumerate(rows)
    )
    laws_text = "\n\n".join(
        displayed(_formula(f"\\delta_{{{place + 1}}}", chosen[row.name]))
        for place, row in enumerate(rows)
    )
    text += (
        f"\n\n({names}) obey\n\n{laws_text}\n\nwith the reactions below, where $b$ has their terms."
    )
    return [
        EquationSection("Feedback", text),
        *eliminated_sections(replace(found, bias=bias), symbols, writer),
    ]


def _law(row: GoalRow, rate: float, laws: Mapping[str, Law]) -> tuple[float, ...]:
    """Return a_(r-1), ..., a_0."""
    own = laws.get(row.name)
    if own is not None:
        return tuple(map(float, own))
    degree = row.degree
    return tuple(math.comb(degree, k) * rate ** (degree - k) for k in reversed(range(degree)))


def _formula(letter: str, law: tuple[float, ...]) -> str:
    degree = len(law)
    text = _derivative(letter, degree)
    for place, factor in enumerate(law, start=1):
        if factor:
            sign = "-" if factor < 0.0 else "+"
            text += f" {sign} {abs(factor):g}\\,{_derivative(letter, degree - place)}"
    return f"{text} = 0"


def _derivative(letter: str, order: int) -> str:
    if order == 0:
        return letter
    if order <= 3:
        return f"\\{'d' * order}ot{{{letter}}}"
    return f"{letter}^{{({order})}}"
