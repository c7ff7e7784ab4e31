"""Tables and sampled laws, in the symbols of the equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from daesolve.posing.inputs import Lookup, PythonLaw


@dataclass(frozen=True, eq=False)
class DriveRow:
    """A table or a sampled law: discrete values that follow time or the state.

    Parameters
    ----------
    name, values
        Its name and those of its discrete values.
    begin
        Some of these at the start, as expressions of (t, x, p).
    law
        What gives some of them by Python, where something does.
    events
        The names of what changes them.
    together
        Whether it begins with what was there before others of these began.
    leans
        By the name of a value that is 1.0 where an argument falls at the start, the argument.
    lookup
        The table, where it is one.
    """

    name: str
    values: tuple[str, ...]
    begin: Mapping[str, ca.SX]
    law: PythonLaw | None = None
    events: tuple[str, ...] = ()
    together: bool = False
    leans: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    lookup: Lookup | None = None
