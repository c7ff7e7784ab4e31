"""The loaded supports: piecewise linear equations for reactions, and all their solutions."""

from daesolve.complementarity.answers import VariantAnswer, VariantSolution
from daesolve.complementarity.branching import branch_and_bound, linear_programme
from daesolve.complementarity.enumeration import enumerate_variants
from daesolve.complementarity.homotopy import HomotopyPath, homotopy
from daesolve.complementarity.horizontal import HorizontalComplementarity
from daesolve.complementarity.lemke import lemke
from daesolve.complementarity.newton import newton
from daesolve.complementarity.policies import solve
from daesolve.complementarity.properties import (
    contraction,
    degree,
    friction_margin,
    frictionless_sign,
    w_property,
)

__all__ = [
    "HomotopyPath",
    "HorizontalComplementarity",
    "VariantAnswer",
    "VariantSolution",
    "branch_and_bound",
    "contraction",
    "degree",
    "enumerate_variants",
    "friction_margin",
    "frictionless_sign",
    "homotopy",
    "lemke",
    "linear_programme",
    "newton",
    "solve",
    "w_property",
]
