"""Equations to use elsewhere: named functions, Python modules, C, and formulas in LaTeX."""

from daesolve.export.named import Entry, NamedFunction, Shape

__all__ = ["Entry", "NamedFunction", "Shape"]
