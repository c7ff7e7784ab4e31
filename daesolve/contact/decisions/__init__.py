"""Contacts as numbers: which open, stick and slide, what impacts do, where they accumulate."""

from daesolve.contact.decisions.accumulation import Accumulation, accumulation, early_by
from daesolve.contact.decisions.answers import ContactSolution, ContactState, Decision
from daesolve.contact.decisions.decisions import decide
from daesolve.contact.decisions.impacts import ContactImpact, newton, poisson
from daesolve.contact.decisions.laws import collide
from daesolve.contact.decisions.margins import Margins, margins
from daesolve.contact.decisions.painleve import (
    Paradox,
    friction_margin,
    impact_without_collision,
    jam_guard,
    paradox,
    sliding_matrix,
)
from daesolve.contact.decisions.routh import routh
from daesolve.contact.decisions.sequential import sequential
from daesolve.contact.decisions.touching import Contacts, inverse_mass

__all__ = [
    "Accumulation",
    "ContactImpact",
    "ContactSolution",
    "ContactState",
    "Contacts",
    "Decision",
    "Margins",
    "Paradox",
    "accumulation",
    "collide",
    "decide",
    "early_by",
    "friction_margin",
    "impact_without_collision",
    "inverse_mass",
    "jam_guard",
    "margins",
    "newton",
    "paradox",
    "poisson",
    "routh",
    "sequential",
    "sliding_matrix",
]
