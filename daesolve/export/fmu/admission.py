"""Which systems can become a unit; laws in Python and several contacts are refused by name."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from daesolve.contact.laws.contact_law import ContactLaw
from daesolve.contact.laws.frictional_law import FrictionalContactLaw
from daesolve.contact.posing.contact_rows import brakes_in, contacts_in
from daesolve.contact.posing.guides import guides_in
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.events.choices import Choices
from daesolve.core.events.reset_law import ResetLaw
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.preparing import Prepared
from daesolve.errors import UnsupportedError
from daesolve.export.fmu.contacts import MOST_CONTACTS
from daesolve.export.fmu.functions import UnitFunctions
from daesolve.export.fmu.guards import OF_VALUES, WatchedGuard

ELSEWHERE = "run it with solve, or from Python with Simulator"


def check_exportable(prepared: Prepared) -> None:
    """Refuse a system that C alone cannot compute, before anything is built.

    Raises
    ------
    UnsupportedError
        The message names the cause, and says what to do instead.
    """
    problem, formulation = prepared.problem, prepared.formulation
    if problem.project is not None or problem.chart is not None or formulation.form != "ode":
        raise UnsupportedError(
            f"the formulation {formulation.title!r} is not an explicit differential equation "
            "in all states, which a unit needs: use 'feedback'"
        )
    if prepared.resting:
        raise UnsupportedError(
            "the body rests at the start and stays there: there is no motion to export"
        )
    called = [row.name for row in prepared.dynamics.drives if row.law is not None]
    if called:
        raise UnsupportedError(
            f"the sampled law {called[0]!r} is a Python function, but a unit runs without "
            "Python: write it as an expression of its arguments, without traced=False"
        )
    _check_laws(prepared)
    _check_inputs(prepared)


def _check_laws(prepared: Prepared) -> None:
    dynamics, transitions = prepared.dynamics, prepared.transitions
    for law in () if transitions is None else transitions.laws:
        if type(law) in (ContactLaw, FrictionalContactLaw, ResetLaw):
            continue
        events = prepared.problem.events
        names = ", ".join(repr(row.name) for row in contacts_in(dynamics))
        whose = f"the event {events[law.events[0]].name!r}"
        whose = f"the contacts {names}" if names else whose
        guided = guides_in(dynamics) is not None
        whose = "the pairs of supports" if guided else whose
        posed = names or guided
        by = "complementarity" if posed else f"the law {type(law).__name__}"
        raise UnsupportedError(
            f"what follows at {whose} is decided by {by}, which cannot be written "
            "as an expression of the state: "
            f"{'run it with solve' if guided else ELSEWHERE}"
        )
    brakes = ", ".join(repr(brake.name) for brake in brakes_in(dynamics))
    if brakes:
        raise UnsupportedError(
            f"which of the laws of dry friction {brakes} stick and slide is decided together with "
            f"contacts, or with other such laws, which a unit does not do: {ELSEWHERE}"
        )
    names = [row.name for row in contacts_in(dynamics)]
    if len(names) > MOST_CONTACTS:
        raise UnsupportedError(
            f"which of the contacts {', '.join(map(repr, names))} open, stick and slide is decided "
            f"by complementarity, but a unit supports at most {MOST_CONTACTS} contacts: pose the "
            f"others as events with Reset, or {ELSEWHERE}"
        )
    if names and prepared.request.impact != "newton":
        raise UnsupportedError(
            f"the contact {names[0]!r} uses the impact law {prepared.request.impact!r}, but a "
            "unit supports only Newton's"
        )
    if names and transitions is not None:
        choices = transitions.setting.choices
        for option in ("on_gain", "on_jam", "on_ambiguous", "springs"):
            if getattr(choices, option) != getattr(Choices(), option):
                raise UnsupportedError(
                    f"a unit with the contacts {', '.join(map(repr, names))} has no {option} = "
                    f"{getattr(choices, option)!r}: {ELSEWHERE}"
                )


def check_functions(functions: UnitFunctions, guards: Sequence[WatchedGuard]) -> None:
    """Refuse resets and guards that the C code cannot follow.

    Raises
    ------
    UnsupportedError
        The message names the event.
    """
    dynamics, problem = functions.dynamics, functions.problem
    for event, jump in functions.jumps.items():
        if jump.overlaps is not None:
            raise UnsupportedError(
                f"the event {problem.events[event].name!r} may jump past "
                f"{jump.overlaps.titles[0]}, and a unit does not see that: {ELSEWHERE}"
            )
        if jump.imposes and contacts_in(dynamics):
            raise UnsupportedError(
                f"the event {problem.events[event].name!r} imposes constraints while the "
                f"contact {contacts_in(dynamics)[0].name!r} may be closed: a unit cannot decide "
                f"both together; {ELSEWHERE}"
            )
    inputs = ca.vertcat(ca.SX(0, 1), *[dynamics.p[place] for place in _input_places(dynamics)])
    for guard in guards:
        event = problem.events[guard.event]
        jumps = guard.kind == OF_VALUES and "whenever" not in guard.traits and inputs.numel()
        if jumps and ca.depends_on(event.guards, inputs):
            raise UnsupportedError(
                f"the event {event.name!r} depends only on inputs, which jump without passing "
                "zero: use whenever_past, or make the input a parameter"
            )


def _input_places(dynamics: Dynamics) -> list[int]:
    names = list(dynamics.values)
    return [names.index(name) for name in dynamics.inputs.names]


def _check_inputs(prepared: Prepared) -> None:
    """Refuse inputs in what must not jump."""
    dynamics = prepared.dynamics
    rates = {name for name, rate in prepared.rates.items() if rate}
    for name, place in zip(dynamics.inputs.names, _input_places(dynamics), strict=True):
        symbol = dynamics.p[place]
        for row in dynamics.rows:
            if ca.depends_on(ca.vertcat(*row.chain), symbol):
                raise UnsupportedError(
                    f"the input {name!r} appears in the constraint {row.name!r}, which a jump "
                    "would break: replace it by an expression of time or a smooth table, or "
                    "prescribe its acceleration"
                )
        for row in dynamics.invariants:
            watched = [entry for entry in prepared.problem.watched if entry.goal == row.name]
            driven = any(entry.driven for entry in watched) and row.name in rates
            if driven and ca.depends_on(row.held, symbol):
                rate = ValueKind.RATE.name_of(row.name)
                raise UnsupportedError(
                    f"the invariant {row.name!r} is driven but depends on the input {name!r}, "
                    f"which changes it: do not drive it ({rate} off, rates={{{row.name!r}: "
                    "None})"
                )
