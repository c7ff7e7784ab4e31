"""The equations of a system as a LaTeX document: as they are posed, and reduced."""

from __future__ import annotations

from collections.abc import Mapping

from daesolve.equations.dynamics import Dynamics
from daesolve.export.document import body_of, document_of
from daesolve.export.sections import DOCUMENT, EquationWriter, Section
from daesolve.system.eliminated_equations import eliminated_equations
from daesolve.system.equation_sections import System, constants_of, sections, symbols_of
from daesolve.system.reduced_equations import reduced_equations
from daesolve.system.reduced_sections import (
    ReducedSections,
    eliminated_sections,
    matrix_sections,
    pseudo_symbols,
)


def latex_of(
    system: System,
    dynamics: Dynamics,
    values: Mapping[str, float],
    *,
    title: str,
    reduced: bool,
    document: bool,
) -> str:
    """Return the equations of a system as LaTeX; see `MechanicalSystem.to_latex`."""
    written = _reduced(system, dynamics, values) if reduced else _posed(system, dynamics, values)
    if not document:
        return body_of(written)
    return document_of(title, [("Reduced equations" if reduced else "Equations", written)])


def _posed(system: System, dynamics: Dynamics, values: Mapping[str, float]) -> list[Section]:
    """Return the equations as they are posed, and the matrices that follow."""
    symbols = symbols_of(system)
    writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
    found = eliminated_equations(dynamics, values)
    return [
        *sections(system, dynamics, writer),
        *matrix_sections(found, symbols, writer),
    ]


def _reduced(system: System, dynamics: Dynamics, values: Mapping[str, float]) -> list[Section]:
    """Return the reduced equations: in pseudo-velocities, else with the reactions eliminated."""
    symbols = symbols_of(system)
    found = reduced_equations(system, dynamics, values)
    if found is not None:
        symbols = {**symbols, **pseudo_symbols(found, symbols)}
        writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
        return ReducedSections(found, symbols, writer).all()
    writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
    eliminated = eliminated_equations(dynamics, values)
    return [
        *matrix_sections(eliminated, symbols, writer),
        *eliminated_sections(eliminated, symbols, writer),
    ]
