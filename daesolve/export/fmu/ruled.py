"""A rule by which the start of a unit follows from its parameters, as expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class StartRule:
    """States at the start as expressions of parameters.

    Parameters
    ----------
    parameters
        The symbols of the parameters, by name.
    states
        Expressions in these symbols, by name; once evaluated, they are made consistent.
    """

    parameters: Mapping[str, ca.SX]
    states: Mapping[str, ca.SX]
