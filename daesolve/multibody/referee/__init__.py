"""Compares MuJoCo and daesolve on the same model file from the same start."""

from daesolve.multibody.referee.refereeing import Refereed, hardened, refereed
from daesolve.multibody.referee.verdict import Divergence, Side, Verdict

__all__ = ["Divergence", "Refereed", "Side", "Verdict", "hardened", "refereed"]
