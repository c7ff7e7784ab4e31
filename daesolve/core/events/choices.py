"""What a user lets laws do where rigid bodies leave the motion open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Law = Literal["newton", "poisson", "routh", "sequential"]
OnGain = Literal["refuse", "report", "poisson"]
OnJam = Literal["end", "impact"]
OnAmbiguous = Literal["refuse", "keep"]
VariantPolicy = Literal["continuity", "homotopy", "strict"]
LAWS: tuple[Law, ...] = get_args(Law)
ORDERED: tuple[Law, ...] = ("sequential", "routh")
"""Laws by which contacts collide one after the other."""
ON_GAIN: tuple[OnGain, ...] = get_args(OnGain)
ON_JAM: tuple[OnJam, ...] = get_args(OnJam)
ON_AMBIGUOUS: tuple[OnAmbiguous, ...] = get_args(OnAmbiguous)


@dataclass(frozen=True)
class Choices:
    """How a motion continues where the equations of rigid bodies leave it open.

    Attributes
    ----------
    variant_policy, impact, impact_order, on_gain, on_jam, on_ambiguous
        As in `solve`.
    springs
        Whether undetermined loads and impulses that affect the motion are those of equal springs.
    """

    variant_policy: VariantPolicy = "continuity"
    impact: Law = "newton"
    impact_order: tuple[str, ...] | None = None
    on_gain: OnGain = "refuse"
    on_jam: OnJam = "end"
    on_ambiguous: OnAmbiguous = "refuse"
    springs: bool = False

    @property
    def says_of_impacts(self) -> bool:
        """Whether impacts follow another law than Newton's, or may add energy."""
        usual = Choices()
        own = self.impact, self.impact_order, self.on_gain
        return own != (usual.impact, usual.impact_order, usual.on_gain)
