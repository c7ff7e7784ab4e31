"""The data of a model for the C code of its unit: sizes and tables of constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca

from daesolve.contact.posing.contact_rows import contacts_in
from daesolve.core.events.jumps import LEFT_OVER, decided_by_laws
from daesolve.core.events.transitions import Transitions
from daesolve.core.posing.events import Event
from daesolve.export.fmu.functions import UnitFunctions
from daesolve.export.fmu.guards import TRAITS, WatchedGuard
from daesolve.export.fmu.variables import Variables

KINDS = """\
enum { GUARD_OF_STATE, GUARD_OF_TIME, GUARD_OF_VALUES };
enum { VALUE_HIDDEN, VALUE_FIXED, VALUE_TUNABLE, VALUE_SETTLED, VALUE_INPUT, VALUE_DISCRETE };
enum { BORDER_ALWAYS = -1, BORDER_NEVER = -2 };
"""
LEAST_TOLERANCE = 1e-15
"""The smallest tolerance of a step."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """The data of a unit.

    Parameters
    ----------
    functions, guards, variables
        Its functions, guards and variables.
    token
        What distinguishes it from other units.
    tolerance
        Of a step, if the importing tool sets none.
    """

    functions: UnitFunctions
    guards: tuple[WatchedGuard, ...]
    variables: Variables
    token: str
    tolerance: float

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the problem."""
        return self.functions.problem.events

    @property
    def start_time(self) -> float:
        """S."""
        return self.functions.prepared.start_time


def sizes(sheet: Sheet, compiled: Sequence[ca.Function]) -> str:
    """Return the header with the sizes."""
    functions, variables = sheet.functions, sheet.variables
    rows = max(len(functions.positions.names), len(functions.velocities.names))
    numbers = {
        "STATES": len(variables.states),
        "VALUES": len(variables.values),
        "GUARDS": len(sheet.guards),
        "EVENTS": len(sheet.events),
        "INDICATORS": len(variables.indicators),
        "ARGUMENTS": len(functions.arguments),
        "ANY_POLES": int(any(sign is not None for sign in functions.bounded.signs)),
        "SHOWN": len(variables.shown),
        "LINKS": len(_links(functions)),
        "ROWS": len(functions.dynamics.rows),
        "POSITIONS": len(functions.positions.names),
        "VELOCITIES": len(functions.velocities.names),
        "STARTS": rows,
        "WORK": max(function.sz_w() for function in compiled),
        "INTEGERS": max(function.sz_iw() for function in compiled),
        "JOINTS": len(functions.joint),
        "SWITCHED": int(functions.prepared.transitions is not None),
        "CONTACTS": int(functions.contact_law is not None),
        "TOGETHER": 0 if functions.contacts is None else len(functions.contacts.rows),
    }
    lines = [f"#define MODEL_{name} {number}" for name, number in numbers.items()]
    lines += [
        f"#define MODEL_TOKEN {_text(sheet.token)}",
        f"#define MODEL_TOLERANCE {_number(sheet.tolerance)}",
        f"#define MODEL_LEAST_TOLERANCE {_number(LEAST_TOLERANCE)}",
        f"#define MODEL_START_TIME {_number(sheet.start_time)}",
        *_contact(sheet),
        *_contacts(functions),
    ]
    return "\n".join(["#ifndef DAESOLVE_MODEL_H", "#define DAESOLVE_MODEL_H", *lines, "#endif", ""])


def _contact(sheet: Sheet) -> list[str]:
    dynamics = sheet.functions.dynamics
    if sheet.functions.contact_law is None:
        return []
    (contact,) = contacts_in(dynamics)
    first = {guard.event: place for place, guard in reversed([*enumerate(sheet.guards)])}
    return [
        f"#define MODEL_CONTACT {_text(contact.name)}",
        f"#define MODEL_CONTACT_ROW {contact.row}",
        f"#define MODEL_HOLD {contact.hold}",
        f"#define MODEL_LOST {first[contact.lost]}",
        f"#define MODEL_MEETS {first[contact.closed]}",
    ]


def _contacts(functions: UnitFunctions) -> list[str]:
    contacts, dynamics = functions.contacts, functions.dynamics
    if contacts is None:
        return []
    guard, pending, ends = contacts.impacts_end
    numbers = {
        "SPEEDS": dynamics.velocity_count,
        "FIRST_SPEED": dynamics.position_count,
        "JAM": contacts.jam,
        "IDLE": len(contacts.idle),
        "IMPACTS_END": guard,
        "PENDING": pending,
        "ENDS": ends,
    }
    lines = [f"#define MODEL_{name} {number}" for name, number in numbers.items()]
    return [*lines, f"#define MODEL_TOGETHER_NAMES {_text(contacts.names)}"]


def tables(sheet: Sheet) -> str:
    """Return the tables of constants."""
    functions, variables, guards = sheet.functions, sheet.variables, sheet.guards
    states, values = variables.states, variables.values
    names = functions.dynamics.labels.states
    parts = [
        KINDS,
        _doubles("START", [state.start for state in states]),
        _doubles("NOMINAL", [state.nominal for state in states]),
        _doubles("DEFAULTS", [value.default for value in values]),
        _doubles("LOW", [value.range.low for value in values]),
        _doubles("HIGH", [value.range.high for value in values]),
        _integers("OPEN_LOW", [value.range.open_low for value in values]),
        _integers("VALUE_KIND", [value.kind for value in values]),
        _integers("RULES", [value.name in functions.ruling for value in values]),
        _texts("VALUE", [value.name for value in values]),
        _integers("INDICATOR", [place for _, place in variables.indicators]),
        _integers("KIND", [guard.kind for guard in guards]),
        _integers("WAY", [guard.way for guard in guards]),
        _integers("OWNER", [guard.event for guard in guards]),
        _integers("STOPS", [guard.stops for guard in guards]),
        *[_integers(name.upper(), [name in guard.traits for guard in guards]) for name in TRAITS],
        _integers("POLES", [sign is not None for sign in functions.bounded.signs]),
        _integers("BARS_START", [guard.bars_start for guard in guards]),
        _integers("BORDER", [guard.border for guard in guards]),
        *_events(sheet),
        *_tables_of_contacts(functions),
        _doubles("ARGUMENT_LOW", [kind.low for _, kind in functions.arguments]),
        _doubles("ARGUMENT_HIGH", [kind.high for _, kind in functions.arguments]),
        _doubles("ARGUMENT_WIDTH", [kind.width for _, kind in functions.arguments]),
        _doubles("LINK_LEFT", [left for _, left, _ in _links(functions)]),
        _integers("LINK_OPENS", [opens for _, _, opens in _links(functions)]),
        _texts("LINK", [name for name, _, _ in _links(functions)]),
        _texts("POSITION_NAMES", functions.positions.names),
        _texts("VELOCITY_NAMES", functions.velocities.names),
        f"/* The states: {', '.join(names)}. */\n",
    ]
    return "".join(parts)


def _tables_of_contacts(functions: UnitFunctions) -> list[str]:
    contacts = functions.contacts
    if contacts is None:
        return []
    return [
        *[_integers(name, numbers) for name, numbers in contacts.integers().items()],
        *[_doubles(name, numbers) for name, numbers in contacts.doubles().items()],
        _integers("IDLE_VALUES", contacts.idle),
    ]


def _events(sheet: Sheet) -> list[str]:
    functions, count = sheet.functions, len(sheet.events)
    firsts = [0] * count
    for place, guard in reversed([*enumerate(sheet.guards)]):
        firsts[guard.event] = place
    resets = functions.dynamics.resets
    jumps = functions.jumps
    names = [f"model_reset_{event}" if event in jumps else "0" for event in range(count)]
    joint = functions.joint
    masks = [sum(1 << event for event in events) for events in joint]
    together = [f"model_joint_{number}" for number in range(len(joint))]
    takes = "const double **, double **, long long int *, double *, int"
    form = f"static int (*const MODEL_{{}}[])({takes}) = {{{{{{}}}}}};\n"
    return [
        _texts("EVENT", [event.name for event in sheet.events]),
        _integers(
            "HIDDEN", [event.name in functions.dynamics.hidden_events for event in sheet.events]
        ),
        _integers(
            "OF_CONTACT", [event in _events_of_contacts(functions) for event in range(count)]
        ),
        _integers("FIRST", firsts),
        _integers("WIDTH", [event.count for event in sheet.events]),
        _integers("RESETS", [event in jumps for event in range(count)]),
        _integers("IMPOSES", [e in jumps and jumps[e].imposes for e in range(count)]),
        _integers("SEQUENTIAL", [e in jumps and resets[e].sequential for e in range(count)]),
        form.format("RESET", ", ".join(names or ["0"])),
        _array("unsigned long long", "JOINT_MASK", [f"{mask}ull" for mask in masks]),
        form.format("JOINT_RESET", ", ".join(together or ["0"])),
    ]


def _events_of_contacts(functions: UnitFunctions) -> set[int]:
    """Return the events that happen where contacts change, not wherever their guards fire."""
    rows = contacts_in(functions.dynamics)
    found = {event for row in rows for event in (row.lost, row.closed)}
    return found | {event for row in rows if row.rubbing for event in row.rubbing.events}


def _links(functions: UnitFunctions) -> list[tuple[str, float, bool]]:
    """Return the residuals that a reset is judged by, what may be left of each, and which open.

    Contacts decide on the rates of gaps and slips that a reset leaves, and on gaps that it opens.
    """
    transitions: Transitions | None = functions.prepared.transitions
    if not functions.jumps or transitions is None:
        return []
    jump = next(iter(functions.jumps.values()))
    sizes = jump.sizes(transitions.setting.scales).tolist()
    rates, gaps = decided_by_laws(functions.dynamics)
    if functions.contacts is None:
        gaps = set[str]()
    left = [
        math.inf if name in rates else LEFT_OVER * size
        for name, size in zip(jump.goals, sizes, strict=True)
    ]
    return [(name, most, name in gaps) for name, most in zip(jump.goals, left, strict=True)]


def _number(value: float) -> str:
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def _doubles(name: str, numbers: Iterable[float]) -> str:
    return _array("double", name, [_number(number) for number in numbers])


def _integers(name: str, numbers: Iterable[float]) -> str:
    return _array("int", name, [str(int(number)) for number in numbers])


def _texts(name: str, texts: Iterable[str]) -> str:
    return _array("char *const", name, [_text(text) for text in texts])


def _text(text: str) -> str:
    escaped = "".join(_character(byte) for byte in text.encode())
    return f'"{escaped}"'


def _character(byte: int) -> str:
    plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"


def _array(kind: str, name: str, entries: Sequence[str]) -> str:
    return f"static const {kind} MODEL_{name}[] = {{{', '.join(entries or ['0'])}}};\n"
