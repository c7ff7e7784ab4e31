"""The loaded supports: piecewise linear equations for reactions, and all their solutions."""

from daesolve.contact.complementarity.answers import VariantAnswer, VariantSolution
from daesolve.contact.complementarity.branching import branch_and_bound, linear_programme
from daesolve.contact.complementarity.enumeration import enumerate_variants
from daesolve.contact.complementarity.homotopy import HomotopyPath, homotopy
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.lemke import lemke
from daesolve.contact.complementarity.newton import newton
from daesolve.contact.complementarity.policies import solve
from daesolve.contact.complementarity.properties import (
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
