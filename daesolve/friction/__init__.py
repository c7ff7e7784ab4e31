"""Dry friction: supports, pads and how they rub."""

from daesolve.friction.pads import Pad, PadNodes, pad_nodes
from daesolve.friction.pressures import reduced_friction
from daesolve.friction.supports import Support, VariantPair

__all__ = ["Pad", "PadNodes", "Support", "VariantPair", "pad_nodes", "reduced_friction"]
