"""In which mode contacts in space begin: which of them slide and stick."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.contact.decisions import decide
from daesolve.contact.laws.resting import at_rest, is_timed
from daesolve.contact.laws.rubbing_impacts import rested
from daesolve.contact.laws.rubbing_instant import ContactNumbers, speeds_of
from daesolve.contact.laws.spatial_modes import (
    NEAR,
    answer_in_space,
    candidates,
    going_on,
    in_courses,
)
from daesolve.contact.posing.contact_rows import contacts_in, in_space
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.law import Beginning
from daesolve.errors import UnsupportedError

SPRINGS = "equal springs"
"""How undetermined loads are shared, if requested."""


def begun_in_space(dynamics: Dynamics, beginning: Beginning) -> Beginning:
    """Return the beginning with closed contacts that slide and stick.

    Raises
    ------
    DaesolveError
        They have no motion from there, or several.
    """
    if not in_space(contacts_in(dynamics)):
        return beginning
    if beginning.choices.on_jam != "end":
        raise UnsupportedError(
            'on_jam = "impact" needs contacts in the plane, but one has two directions '
            "of slip: leave it out"
        )
    numbers = ContactNumbers(dynamics)
    p = dynamics.value_vector(dict(beginning.values))
    time, x = beginning.time, beginning.state
    touching = p[numbers.holds] == 1.0
    rates = numbers.rates(time, x, p)
    rates = rested(rates, rates, touching, np.zeros_like(touching))
    touching &= rates.gaps == 0.0
    if not touching.any():
        return beginning
    instant = numbers.instant(time, x, p, touching, rates)
    slips = rates.slips[instant.which]
    closure = SPRINGS if beginning.choices.springs else None
    found = decide(instant.contacts, instant.free, slips, closure=closure)
    answer = answer_in_space(found, going_on(slips), beginning.choices, time)
    courses = candidates(instant, answer, slips)[0]
    terms = speeds_of(rates.slip_sizes[instant.which])
    count = dynamics.position_count
    length = max(float(np.max(np.abs(x[:count]), initial=0.0)), np.finfo(float).tiny)
    rests = at_rest(instant, answer, x[count:], length) and not is_timed(dynamics)
    own = {"springs": closure is not None or rests}
    chosen = in_courses(numbers, instant, p, courses, answer, slips, terms, **own)
    # One that opens does so at the start, with an event; until then it slides as it does.
    stays = np.zeros_like(touching)
    stays[instant.which] = answer.gap_rates <= NEAR * instant.size[: len(slips)]
    chosen[numbers.holds[~stays]] = p[numbers.holds[~stays]]
    for rubbing, moves in zip(numbers.rubbing, ~rates.resting, strict=True):
        if rubbing is not None and moves:
            chosen[rubbing.slides] = 1.0
    values = dict(zip(dynamics.values, map(float, chosen), strict=True))
    return replace(beginning, values=values)
