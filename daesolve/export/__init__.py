"""Equations to use elsewhere: named functions, Python modules, C, and formulas in LaTeX."""

from daesolve.export.named import Entry, LabelledShape, NamedFunction

__all__ = ["Entry", "LabelledShape", "NamedFunction"]
