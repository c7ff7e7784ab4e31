"""Dry friction: pads, the loaded supports of guides, stiction, coming to rest, time stepping."""

from daesolve.friction.beginning_to_slide import (
    Approximations,
    Stagnation,
    stagnation_test,
    successive_approximations,
)
from daesolve.friction.moreau import TimeStepping, moreau
from daesolve.friction.pads import Pad, PadNodes, pad_nodes, reduced_friction
from daesolve.friction.simplified_pads import (
    SimplifiedLengths,
    SimplifiedPad,
    simplified_lengths,
)
from daesolve.friction.stiction import Stiction, StictionLimit, stiction, stiction_limit
from daesolve.friction.variant_forms import (
    FormMatrices,
    GaussFunction,
    SupportBalance,
    VariantForm,
)
from daesolve.friction.variants import VariantProblem, Variants, variant_problem
from daesolve.posing.supports import Support, VariantPair

__all__ = [
    "Approximations",
    "FormMatrices",
    "GaussFunction",
    "Pad",
    "PadNodes",
    "SimplifiedLengths",
    "SimplifiedPad",
    "Stagnation",
    "Stiction",
    "StictionLimit",
    "Support",
    "SupportBalance",
    "TimeStepping",
    "VariantForm",
    "VariantPair",
    "VariantProblem",
    "Variants",
    "moreau",
    "pad_nodes",
    "reduced_friction",
    "simplified_lengths",
    "stagnation_test",
    "stiction",
    "stiction_limit",
    "successive_approximations",
    "variant_problem",
]
