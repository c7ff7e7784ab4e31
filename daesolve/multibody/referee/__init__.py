"""Compares MuJoCo and daesolve on the same model file from the same start."""

from daesolve.multibody.referee.refereeing import RefereeReport, hardened, refereed
from daesolve.multibody.referee.verdict import Divergence, RefereeVerdict, Side

__all__ = ["Divergence", "RefereeReport", "RefereeVerdict", "Side", "hardened", "refereed"]
