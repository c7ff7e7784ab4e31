"""Dry friction: pads, the loaded supports of guides, stiction, coming to rest, time stepping."""

from daesolve.contact.friction.beginning_to_slide import (
    Approximations,
    Stagnation,
    stagnation_test,
    successive_approximations,
)
from daesolve.contact.friction.moreau import TimeStepping, moreau
from daesolve.contact.friction.pads import (
    Pad,
    PadNodes,
    SimplifiedLengths,
    SimplifiedPad,
    pad_nodes,
    reduced_friction,
    simplified_lengths,
)
from daesolve.contact.friction.stiction import Stiction, StictionLimit, stiction, stiction_limit
from daesolve.contact.friction.variant_forms import (
    FormMatrices,
    GaussFunction,
    SupportBalance,
    VariantForm,
)
from daesolve.contact.friction.variants import VariantProblem, Variants, variant_problem
from daesolve.contact.posing.supports import Support, VariantPair

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
