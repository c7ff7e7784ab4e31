"""In which mode contacts that rub begin: which of them slide and stick."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.contact.decisions import decide
from daesolve.contact.laws.jams import going_on
from daesolve.contact.laws.redundant_contacts import with_standing
from daesolve.contact.laws.resting import SHARED, at_rest, is_timed
from daesolve.contact.laws.rubbing_impacts import CollisionResolver, DecisionState, rested
from daesolve.contact.laws.rubbing_instant import ContactNumbers
from daesolve.contact.laws.rubbing_modes import (
    answer_of,
    are_chosen,
    chosen_among,
    in_states,
    of_all,
    standing,
)
from daesolve.contact.posing.contact_rows import SpatialRubbing, contacts_in
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.law import Beginning
from daesolve.errors import NoMotion


def begun(dynamics: Dynamics, beginning: Beginning) -> Beginning:
    """Return the beginning with closed contacts that slide and stick.

    Raises
    ------
    DaesolveError
        They have no motion from there, or several.
    """
    rubbing = [row.rubbing for row in contacts_in(dynamics) if row.rubbing is not None]
    if not rubbing:
        return beginning
    if isinstance(rubbing[0], SpatialRubbing):
        return beginning
    numbers = ContactNumbers(dynamics)
    p = dynamics.value_vector(dict(beginning.values))
    place = DecisionState(beginning.time, beginning.state, np.empty(0), p)
    touching = numbers.closed(p)
    rates = numbers.rates(place.time, place.x, p)
    rates = rested(rates, rates, touching, np.zeros_like(touching))
    touching &= rates.gaps == 0.0
    if not touching.any():
        return beginning
    instant = numbers.instant(place.time, place.x, p, touching, rates)
    slips = rates.slips[instant.which]
    found = decide(instant.contacts, instant.free, slips)
    so_far, none = going_on(slips), np.zeros(len(slips), dtype=bool)
    rest, reactions = False, None
    try:
        answer = answer_of(found, so_far, none, beginning.choices, beginning.time)
        states = with_standing(instant, answer, answer.states, slips)
        reactions = answer.reactions
        positions = place.x[: dynamics.position_count]
        length = max(float(np.max(np.abs(positions), initial=0.0)), np.finfo(float).tiny)
        rest = at_rest(instant, answer, place.x[dynamics.position_count :], length)
    except NoMotion as error:
        # The impact that follows, if one does, is an event of the run.
        CollisionResolver(numbers, beginning.choices).freed(place, touching, rates, error)
        states = so_far
    rest = rest and not is_timed(dynamics)
    chosen = in_states(numbers, instant, p, of_all(instant, states), slips, reactions, rest=rest)
    if chosen[numbers.rests].any():
        values = dict(zip(dynamics.values, map(float, chosen), strict=True))
        return replace(beginning, values=values, notes=(*beginning.notes, SHARED))
    # One that opens does so at the start, with an event; until then it slides as it does.
    opens = ~standing(numbers, instant, chosen)
    chosen[numbers.holds[opens]] = p[numbers.holds[opens]]
    sides = (np.sign(rates.slips) * numbers.closed(p))[numbers.rubs]
    chosen[numbers.slides] = np.where(chosen[numbers.slides] == 0.0, sides, chosen[numbers.slides])
    values, notes = dict(zip(dynamics.values, map(float, chosen), strict=True)), beginning.notes
    now = standing(numbers, instant, chosen)
    if are_chosen(numbers, chosen, now):
        notes = (*notes, chosen_among(numbers, now))
    return replace(beginning, values=values, notes=notes)
