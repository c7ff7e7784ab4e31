"""Tables and sampled laws, in the symbols of the equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from daesolve.core.posing.inputs import Lookup, PythonLaw

ROUNDING = 1e-9
"""The tolerance, as a fraction of a period, within which a time counts as that of a sample."""


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
    period
        The period of a sampled law, s; None for others.
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
    period: float | None = None
    leans: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    lookup: Lookup | None = None

    @property
    def together(self) -> bool:
        """Whether it begins with the values that held before other drives began."""
        return self.period is not None

    def goes_on(self, before: Mapping[str, float], time: float) -> bool:
        """Return whether a sampled law continues a run that ended with these values.

        It does if `time` lies between two samples of that run; not if its period has changed.
        """
        if self.period is None or not before.keys() >= {*self.values}:
            return False
        latest = before[f"{self.name}_first"] + self.period * before[f"{self.name}_sample"]
        return -ROUNDING <= (time - latest) / self.period <= 1.0 + ROUNDING
