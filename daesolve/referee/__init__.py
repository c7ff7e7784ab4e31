"""Compares MuJoCo and daesolve on the same model file from the same start."""

from daesolve.referee.refereeing import Refereed, hardened, refereed
from daesolve.referee.verdict import Divergence, Side, Verdict

__all__ = ["Divergence", "Refereed", "Side", "Verdict", "hardened", "refereed"]
