"""Dry friction: pads, the loaded supports of guides, stiction, coming to rest, time stepping."""

from daesolve.friction.coming_to_rest import Piece, Rest, RestStatus, Switch, come_to_rest
from daesolve.friction.moreau import TimeStepping, moreau
from daesolve.friction.pads import Pad, PadNodes, pad_nodes, reduced_friction
from daesolve.friction.scaled_time import SlidingMotion
from daesolve.friction.stiction import Stiction, StictionLimit, stiction, stiction_limit
from daesolve.friction.variants import VariantProblem, Variants, variant_problem
from daesolve.posing.supports import Support, VariantPair

__all__ = [
    "Pad",
    "PadNodes",
    "Piece",
    "Rest",
    "RestStatus",
    "SlidingMotion",
    "Stiction",
    "StictionLimit",
    "Support",
    "Switch",
    "TimeStepping",
    "VariantPair",
    "VariantProblem",
    "Variants",
    "come_to_rest",
    "moreau",
    "pad_nodes",
    "reduced_friction",
    "stiction",
    "stiction_limit",
    "variant_problem",
]
