"""Contacts as numbers: which open, stick and slide, what impacts do, where they accumulate."""

from daesolve.contact.decisions.accumulation import Accumulation, accumulation
from daesolve.contact.decisions.answers import ContactSolution, ContactState, Decision
from daesolve.contact.decisions.decisions import decide
from daesolve.contact.decisions.impacts import (
    ContactImpact,
    impact_without_collision,
    newton,
    poisson,
)
from daesolve.contact.decisions.laws import collide
from daesolve.contact.decisions.sequential import routh, sequential
from daesolve.contact.decisions.touching import Contacts, inverse_mass

__all__ = [
    "Accumulation",
    "ContactImpact",
    "ContactSolution",
    "ContactState",
    "Contacts",
    "Decision",
    "accumulation",
    "collide",
    "decide",
    "impact_without_collision",
    "inverse_mass",
    "newton",
    "poisson",
    "routh",
    "sequential",
]
