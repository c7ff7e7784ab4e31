"""The equations of a system as a LaTeX document: as posed, and reduced.

`to_latex` is a method of systems; see `daesolve.core.features`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics, GoalRow
from daesolve.core.formulations.laws import Law, check_laws, rates_of
from daesolve.core.results.storage.files import located
from daesolve.core.system.system import System
from daesolve.errors import OutOfRangeError, is_number
from daesolve.export.document import body_of, document_of
from daesolve.export.eliminated_equations import Matrices, matrices, matrices_in
from daesolve.export.equation_sections import constants_of, sections, symbols_of
from daesolve.export.reduced_equations import reduced_equations
from daesolve.export.reduced_sections import (
    ReducedSections,
    eliminated_sections,
    matrix_sections,
    mode_section,
    pseudo_symbols,
    reaction_section,
)
from daesolve.export.sections import DOCUMENT, EquationSection, EquationWriter, displayed
from daesolve.export.writing import write


def to_latex(
    system: System,
    path: str | Path | None = None,
    *,
    reduced: bool = False,
    document: bool = True,
    values: Mapping[str, float] | None = None,
    title: str = "",
    rate: float = 0.0,
    laws: Mapping[str, Law] | None = None,
    reactions: bool = False,
) -> str:
    """Return the equations as LaTeX for `pdflatex`.

    Parameters
    ----------
    path
        The file to write, such as "plant.tex"; without it no file is written.
    reduced
        Whether to print the reduced equations instead of the posed ones: the mass matrix, the
        brackets and the equations of motion in pseudo-velocities, first integrals, and the
        reactions as functions of the motion. Pseudo-velocities are used if all reactions act
        along the gradients of their goals and some velocities determine the others: those of
        `independent=`, or chosen ones. Otherwise the reactions are eliminated from the
        equations in all velocities.
    document
        Whether to return a whole document. If False, only its sections are returned, for a
        document that loads `amsmath`.
    values
        Parameters and discrete values by name; others have their defaults. They decide which
        goals hold, and conditions such as which wheel stands on which roller. All other
        parameters stay letters.
    title
        The title of the document.
    rate
        In 1/s. With a rate or laws, the document contains the laws that residuals obey and the
        reactions that impose them as functions of the state, as in `Feedback`.
    laws
        Laws of single constraints instead of the rate, as in `Feedback(laws=...)`.
    reactions
        Whether to print only the reactions as functions of the state, with the laws that they
        impose. Every name is then defined in this text.

    Returns
    -------
    str
        The content of the file.

    Raises
    ------
    UnknownNameError
        There is no such value, or no constraint for a law.
    OutOfRangeError
        A law is not stable, the rate is negative, or feedback or reactions alone are requested
        with the reduced equations, which have no residuals.
    OutputExistsError, StorageError
        The existing file was not written by an export, or the file cannot be written.

    Notes
    -----
    A part that occurs several times gets a name, listed where it first occurs. Equations with
    thousands of operations are replaced by their number of operations.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(angle="rad")
    >>> p = ds.parameters(mass=1.0, length=1.0, gravity=9.81)
    >>> swing = ds.MechanicalSystem(
    ...     q,
    ...     p,
    ...     kinetic=p.mass * p.length**2 * q.dot.angle**2 / 2,
    ...     potential=p.mass * p.gravity * p.length * (1 - ca.cos(q.angle)),
    ... )
    >>> "M^* = " in swing.to_latex(reduced=True)
    True
    """
    if reduced and (rate or laws):
        raise OutOfRangeError("reduced equations have no feedback: leave out rate and laws")
    if reduced and reactions:
        raise OutOfRangeError("reduced equations are without reactions: choose one of the two")
    if reactions:
        found = _closed(system, system.dynamics, values or {}, (rate, laws or {}))
    elif reduced:
        found = _reduced(system, system.dynamics, values or {})
    else:
        found = _posed(system, system.dynamics, values or {}, (rate, laws or {}))
    if document:
        name = "Reduced equations" if reduced else "Equations of motion"
        name = "Reactions" if reactions else name
        text = document_of(f"{title}: {name.lower()}" if title else name, found)
    else:
        text = body_of(found)
    if path is not None:
        write({located(path): text})
    return text


def _posed(
    system: System,
    dynamics: Dynamics,
    values: Mapping[str, float],
    feedback: tuple[float, Mapping[str, Law]],
) -> list[EquationSection]:
    """Return the equations as posed, the resulting matrices, and laws of feedback."""
    symbols = symbols_of(system)
    writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
    found = matrices(dynamics, values)
    return [
        *mode_section(found.mode, symbols),
        *sections(system, dynamics, writer),
        *matrix_sections(found, symbols, writer),
        *feedback_sections(found, symbols, writer, *feedback),
    ]


def _closed(
    system: System,
    dynamics: Dynamics,
    values: Mapping[str, float],
    feedback: tuple[float, Mapping[str, Law]],
) -> list[EquationSection]:
    """Return the reactions as functions of the state, with the laws that they impose."""
    symbols = symbols_of(system)
    writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
    found = matrices(dynamics, values)
    section, found = with_feedback(found, writer, *feedback)
    return [
        *mode_section(found.mode, symbols),
        *([] if section is None else [replace(section, text=f"{section.text}.")]),
        reaction_section(found, symbols, writer),
    ]


def _reduced(
    system: System, dynamics: Dynamics, values: Mapping[str, float]
) -> list[EquationSection]:
    """Return the reduced equations: in pseudo-velocities, or with the reactions eliminated."""
    symbols = symbols_of(system)
    found = reduced_equations(system, dynamics, values)
    if found is not None:
        symbols = {**symbols, **pseudo_symbols(found, symbols)}
        writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
        return ReducedSections(found, symbols, writer).all()
    writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
    posed = matrices(dynamics, values)
    return [
        *mode_section(posed.mode, symbols),
        *matrix_sections(posed, symbols, writer),
        *eliminated_sections(posed, symbols, writer),
    ]


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
    UnknownNameError, OutOfRangeError
        As in `with_feedback`.
    """
    section, imposed = with_feedback(found, writer, rate, laws)
    if section is None:
        return []
    told = replace(section, text=f"{section.text}, where $b$ has their terms.")
    return [told, *eliminated_sections(imposed, symbols, writer)]


def with_feedback(
    found: Matrices, writer: EquationWriter, rate: float, laws: Mapping[str, Law]
) -> tuple[EquationSection | None, Matrices]:
    """Return the laws of the residuals, and the matrices that impose them.

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
        return None, found
    implicit = found.mode.dynamics.implicit_rows
    driven = {row.rate.name(): rate for row in implicit}
    if driven:
        mode = found.mode
        found = matrices_in(replace(mode, fixed={**mode.fixed, **driven}))
    written = found.mode.written
    bias = ca.SX(found.bias)
    residuals = [(row.name, written(row.chain[0]), _law(row, rate, laws)) for row in rows]
    for place, (row, (_, _, law)) in enumerate(zip(rows, residuals, strict=True)):
        for factor, link in zip(reversed(law), map(written, row.chain), strict=True):
            bias[place] += factor * link
    residuals += [(row.name, written(row.residual), (rate,)) for row in implicit]
    letters = [f"\\delta_{{{number}}}" for number in range(1, len(residuals) + 1)]
    entries = [(letter, of) for letter, (_, of, _) in zip(letters, residuals, strict=True)]
    names = ", ".join(
        f"${letter}$ of `{name}`" for letter, (name, _, _) in zip(letters, residuals, strict=True)
    )
    obeyed = "\n\n".join(
        displayed(_formula(letter, law))
        for letter, (_, _, law) in zip(letters, residuals, strict=True)
    )
    text = (
        f"The residuals\n\n{writer.equations(entries)}\n\n({names}) obey\n\n{obeyed}\n\n"
        "with the reactions below"
    )
    return EquationSection("Feedback", text), replace(found, bias=bias)


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
