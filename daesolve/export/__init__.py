"""Equations to use elsewhere: functions with names, modules of Python, C; formulas in LaTeX."""

from daesolve.export.named import Entry, NamedFunction, Shape

__all__ = ["Entry", "NamedFunction", "Shape"]
