"""All cases, from the modules of their classes."""

from __future__ import annotations

from . import (
    angles,
    conserved,
    controls,
    features,
    instants,
    not_finite,
    redundancy,
    sizes,
    switches,
    verdicts,
)
from .case import Case

MODULES = (
    *(angles, conserved, features, switches, not_finite, sizes, redundancy, instants),
    *(verdicts, controls),
)
IMPLICIT = ("idas", "sundae-ida", "assimulo-ida", "assimulo-radau5")
"""Solvers of what the formulation index-1 makes."""


def cases() -> list[Case]:
    """Return all of them, in the order of their classes."""
    return [case for module in MODULES for case in module.CASES]
