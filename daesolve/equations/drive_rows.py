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
        The Python law that sets some of them, if any.
    events
        The names of the events that change them.
    together
        Whether it starts from the values before others of these started.
    leans
        The argument, keyed by the name of a value that is 1.0 if the argument falls at the start.
    lookup
        The table, if it is one.
    """

    name: str
    values: tuple[str, ...]
    begin: Mapping[str, ca.SX]
    law: PythonLaw | None = None
    events: tuple[str, ...] = ()
    together: bool = False
    leans: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    lookup: Lookup | None = None
