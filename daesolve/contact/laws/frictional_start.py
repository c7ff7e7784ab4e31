"""In which mode contacts with friction begin: which of them slide and stick."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daesolve.contact.decisions import ContactSolution, ContactState, decide
from daesolve.contact.decisions.decisions import NOT_ALONE
from daesolve.contact.decisions.touching import DEPENDENT
from daesolve.contact.laws.brake_decisions import decide_with_brakes
from daesolve.contact.laws.contact_functions import SHARED, at_rest, is_timed
from daesolve.contact.laws.frictional_impacts import CollisionResolver, without_rounding
from daesolve.contact.laws.frictional_instant import (
    ContactNumbers,
    DecisionState,
    Rates,
    TouchingContacts,
    speeds_of,
)
from daesolve.contact.laws.frictional_modes import (
    answer_of,
    are_chosen,
    chosen_among,
    closed_contacts,
    rows_held,
    states_by_contact,
    states_by_slips,
    values_in_states,
)
from daesolve.contact.laws.redundant_contacts import shares_of, with_implied_contacts
from daesolve.contact.laws.shared_friction import Sharing, independent
from daesolve.contact.laws.shared_loads import said_of, share_loads
from daesolve.contact.laws.spatial_modes import (
    NEAR,
    SPRINGS,
    ContactTransitions,
    candidates,
    values_for_transitions,
)
from daesolve.contact.posing.contact_rows import contacts_in, in_space, rub
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.law import Beginning
from daesolve.core.expressions.singular_values import independent_rows
from daesolve.errors import NoMotion, UnsupportedError


def begin_with_friction(dynamics: Dynamics, beginning: Beginning) -> Beginning:
    """Return the beginning with closed contacts that slide and stick.

    Raises
    ------
    DaesolveError
        They have no motion from there, or several.
    """
    if not rub(dynamics):
        return beginning
    spatial = in_space(contacts_in(dynamics))
    if spatial and beginning.choices.on_jam != "end":
        raise UnsupportedError(
            'on_jam = "impact" needs contacts in the plane, but one has two directions '
            "of slip: leave it out"
        )
    numbers = ContactNumbers(dynamics)
    p = dynamics.value_vector(dict(beginning.values))
    place = DecisionState(beginning.time, beginning.state, np.empty(0), p)
    touching = numbers.closed(p)
    rates = numbers.rates(place)
    rates = without_rounding(rates, rates, touching, np.zeros_like(touching))
    touching &= rates.gaps == 0.0
    if not touching.any():
        return beginning
    instant = numbers.instant(place, touching, rates)
    begin = _begin_in_space if spatial else _begin_in_plane
    chosen, notes = begin(numbers, beginning, place, instant, rates)
    values = dict(zip(dynamics.values, map(float, chosen), strict=True))
    return replace(beginning, values=values, notes=(*beginning.notes, *notes))


def values_by_slips(dynamics: Dynamics, place: DecisionState) -> np.ndarray:
    """Return p with closed contacts that slide as their slips say, whatever the loads.

    Those without slip stick, unless others hold their slips already.
    """
    numbers = ContactNumbers(dynamics)
    closed, none = numbers.closed(place.p), np.zeros(len(numbers.names), dtype=bool)
    rates = numbers.rates(place)
    slips = without_rounding(rates, rates, none, none).slips.reshape(len(none), -1)
    p, moving = numbers.mode(place.p, closed), closed & slips.any(axis=1)
    p[numbers.sticks[moving[numbers.rubs]]] = 0.0
    sides = np.sign(slips[:, 0]) if numbers.directions == 1 else np.ones(len(none))
    p[numbers.slides] = np.where(moving, sides, 0.0)[numbers.rubs]
    mode, values = dynamics.in_mode(p), list(dynamics.values)
    holds = [None if row.hold is None else values.index(row.hold.name()) for row in mode.rows]
    stuck = [k for k, hold in enumerate(holds) if hold in numbers.sticks]
    order = [*(k for k in range(len(holds)) if k not in stuck), *stuck]
    rows = mode.matrices(place.time, place.x, p)["jacobian"][order]
    adding = {order[k] for k in independent_rows(rows, DEPENDENT)}
    p[[hold for k in stuck if k not in adding and (hold := holds[k]) is not None]] = 0.0
    return p


def _length(dynamics: Dynamics, x: np.ndarray) -> float:
    """Return the size of the motion, m, from positions."""
    sizes = np.abs(x[: dynamics.position_count])
    return max(float(np.max(sizes, initial=0.0)), np.finfo(float).tiny)


def _begin_in_plane(
    numbers: ContactNumbers,
    beginning: Beginning,
    place: DecisionState,
    instant: TouchingContacts,
    rates: Rates,
) -> tuple[np.ndarray, list[str]]:
    """Return the values of the first mode, and what was chosen, in words."""
    dynamics, p = numbers.dynamics, place.p
    slips, notes = rates.slips[instant.which], list[str]()
    so_far, rest, reactions = states_by_slips(slips), False, None
    try:
        instant, found = decide_with_brakes(numbers, place, instant, slips)
        notes += [] if found.complete else [NOT_ALONE]
        answer = answer_of(found, so_far, beginning.choices, beginning.time)
        states = with_implied_contacts(instant, answer, answer.states, slips)
        reactions = answer.reactions
        velocities = place.x[dynamics.position_count :]
        rest = at_rest(instant, answer, velocities, _length(dynamics, place.x))
    except NoMotion as error:
        # The impact that follows, if one does, is an event of the run.
        closed = np.isin(np.arange(len(numbers.names)), instant.which)
        CollisionResolver(numbers, beginning.choices).end_slips(place, closed, rates, error)
        states = so_far
    rest = rest and not is_timed(dynamics)
    chosen = values_in_states(
        numbers, instant, p, states_by_contact(instant, states), slips, reactions, rest=rest
    )
    if chosen[numbers.rests].any():
        return numbers.with_following(chosen, numbers.closed(chosen)), [*notes, SHARED]
    # One that opens does so at the start, with an event; until then it slides as it does.
    chosen = _with_what_opens(numbers, instant, chosen, p)
    sides = (np.sign(rates.slips) * numbers.closed(p))[numbers.rubs]
    chosen[numbers.slides] = np.where(chosen[numbers.slides] == 0.0, sides, chosen[numbers.slides])
    now = closed_contacts(numbers, instant, chosen)
    chosen = numbers.with_following(chosen, now)
    shared = are_chosen(numbers, chosen, now)
    return chosen, [*notes, *([chosen_among(numbers, now)] if shared else [])]


def _with_what_opens(
    numbers: ContactNumbers, instant: TouchingContacts, chosen: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return values in which contacts that open at once are still closed, as in p.

    What follows from others is closed with them.
    """
    chosen, matrix = chosen.copy(), instant.contacts.matrix
    places: list[int] = instant.which.tolist()
    rows = rows_held(numbers, instant, chosen)
    for contact in np.flatnonzero(~closed_contacts(numbers, instant, chosen)).tolist():
        row = places.index(contact) if contact in places else None
        if row is None or shares_of(matrix, rows, row) is None:
            chosen[numbers.holds[contact]] = p[numbers.holds[contact]]
            rows += [] if row is None else [row]
    return chosen


def _begin_in_space(
    numbers: ContactNumbers,
    beginning: Beginning,
    place: DecisionState,
    instant: TouchingContacts,
    rates: Rates,
) -> tuple[np.ndarray, list[str]]:
    """Return the values of the first mode in space, and that loads are shared, in words."""
    dynamics, p = numbers.dynamics, place.p
    slips, springs = rates.slips[instant.which], beginning.choices.springs
    found = decide(instant.contacts, instant.free, slips, closure=SPRINGS if springs else None)
    answer = answer_of(found, states_by_slips(slips), beginning.choices, beginning.time)
    velocities = place.x[dynamics.position_count :]
    rests = at_rest(instant, answer, velocities, _length(dynamics, place.x))
    springs = springs or (rests and not is_timed(dynamics))
    shared = answer.motion_determined and not springs and share_loads(instant)
    springs = springs or shared
    courses = candidates(instant, answer, slips)[0]
    terms = speeds_of(rates.slip_sizes[instant.which])
    chosen = values_for_transitions(
        numbers, instant, p, courses, answer, slips, terms, springs=springs
    )
    if beginning.choices.springs:
        chosen = _with_all_slips_held(numbers, instant, chosen, answer)
    # One that opens does so at the start, with an event; until then it slides as it does.
    stays = np.zeros(len(numbers.names), dtype=bool)
    stays[instant.which] = answer.gap_rates <= NEAR * instant.size[: len(slips)]
    stays[_without_load(numbers, instant, chosen, courses)] = False
    chosen[numbers.holds[~stays]] = p[numbers.holds[~stays]]
    moving = ~rates.resting[numbers.rubs]
    chosen[numbers.slides[moving]] = 1.0
    notes = [said_of(instant)] if shared else []
    return chosen, notes if found.complete else [*notes, NOT_ALONE]


def _without_load(
    numbers: ContactNumbers,
    instant: TouchingContacts,
    chosen: np.ndarray,
    courses: ContactTransitions,
) -> list[int]:
    """Return the contacts that would open without a load, though their gaps keep their rates.

    What holds other gaps does not hold theirs. Whether they open is decided at the start.
    """
    count, places = instant.contacts.count, instant.which.tolist()
    kept = [k for k in range(count) if chosen[numbers.holds[places[k]]] == 1.0]
    kept = independent(instant.contacts.matrix, [], kept)
    opens = [k for k, course in courses.items() if course.state is ContactState.OPEN]
    more = independent(instant.contacts.matrix, kept, opens)
    return [places[k] for k in more]


def _with_all_slips_held(
    numbers: ContactNumbers, instant: TouchingContacts, chosen: np.ndarray, answer: ContactSolution
) -> np.ndarray:
    """Return values in which the elimination shares friction, if that is within all cones."""
    sharing = Sharing.of(numbers, instant, chosen, lambda later: answer.reactions)
    if sharing is None:
        return chosen
    stuck = [*sharing.stuck]
    limits = instant.contacts.static[stuck] * answer.normal[stuck]
    inside = speeds_of(answer.tangential[stuck]) < (1.0 - NEAR) * limits
    return sharing.holding_all() if inside.all() else chosen
