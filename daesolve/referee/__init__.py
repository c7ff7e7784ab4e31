"""The same model file in MuJoCo and in daesolve, from the same start, side by side."""

from daesolve.referee.refereeing import Refereed, hardened, refereed
from daesolve.referee.verdict import Divergence, Side, Verdict

__all__ = ["Divergence", "Refereed", "Side", "Verdict", "hardened", "refereed"]
