"""The equations of a system as a LaTeX document: as they are posed, and reduced."""

from __future__ import annotations

from daesolve.equations.dynamics import Dynamics
from daesolve.export.sections import EquationWriter, Section
from daesolve.system.equation_sections import System


def motion_sections(
    system: System, dynamics: Dynamics, symbols: dict[str, str], writer: EquationWriter
) -> list[Section]:
    """Return M, h, J and b of the equations of motion."""
    return []
