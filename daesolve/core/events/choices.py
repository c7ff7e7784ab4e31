"""What a user lets contacts and guides do where rigid bodies leave the motion open."""

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
class ImpactLaw:
    """The laws of impact of contacts; see `daesolve.contact.decisions.collide`."""

    law: Law = "newton"
    order: tuple[str, ...] | None = None
    on_gain: OnGain = "refuse"


@dataclass(frozen=True)
class ContactPolicy:
    """What contacts do if rigid bodies with friction leave the motion open.

    Attributes
    ----------
    impacts
        The laws of impact.
    on_jam
        If no forces let contacts keep sliding: "end" the run, or "impact" without a collision.
    on_ambiguous
        If several motions are possible: "refuse", or "keep" the current mode if it is one of them.
    springs
        Whether undetermined loads and impulses that affect the motion are those of equal springs
        under all contacts.
    """

    impacts: ImpactLaw = ImpactLaw()
    on_jam: OnJam = "end"
    on_ambiguous: OnAmbiguous = "refuse"
    springs: bool = False
