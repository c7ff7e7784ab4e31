"""A system with the inputs of a run: expressions instead of their symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from daesolve.core.encoding import is_mapping
from daesolve.core.posing.goals import as_scalar
from daesolve.core.posing.inputs import Drive
from daesolve.core.posing.rewriting import Rewriting, substitution
from daesolve.core.posing.sampled import SampledLaw
from daesolve.core.posing.symbols import SymbolVector, time
from daesolve.core.posing.tables import Table
from daesolve.core.system.described_inputs import (
    StoredExpressions,
    described_inputs,
    restored_input,
)
from daesolve.core.system.system import MechanicalSystem, System
from daesolve.core.system.written import expression_in
from daesolve.errors import (
    OutOfRangeError,
    PosingError,
    UnsupportedError,
    is_number,
    unknown_name,
)

Given = float | ca.SX | str | Table | SampledLaw
"""An input as a run may give it."""


def driven(system: System, given: Mapping[str, Any]) -> tuple[System, dict[str, float]]:
    """Return a system with the inputs of a run, and the numbers among these.

    Parameters
    ----------
    system
        As posed.
    given
        For each input by name: a number, an expression (also as text), a table or a sampled law.

    Raises
    ------
    UnknownNameError, PosingError, OutOfRangeError
        There is no such input, or the given value is none of these.
    """
    for name in given:
        if name not in system.inputs:
            raise unknown_name("input", name, system.inputs)
    given = _restored(given)
    numbers = {name: _number(name, value) for name, value in given.items() if _is_number(value)}
    moving = {name: value for name, value in given.items() if name not in numbers}
    if not moving:
        return system, numbers
    return _with_moving(system, moving), numbers


def driven_by(
    system: System, given: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[System, dict[str, Any]]:
    """Return a system with its inputs, and all numbers; numeric inputs count as parameters.

    Raises
    ------
    DaesolveError
        As in `driven`; or an input has no value, or two.
    """
    given = _restored(given)
    for name, value in given.items():
        if name in parameters and not (_is_number(value) and value == parameters[name]):
            raise OutOfRangeError(
                f"the input {name!r} is given twice, as the parameter value "
                f"{parameters[name]!r} and in inputs: give it once"
            )
    system, numbers = driven(system, given)
    numbers = {**parameters, **numbers}
    unset = [name for name in sorted(system.inputs.unset) if name not in numbers]
    if unset:
        raise OutOfRangeError(
            f"the input {unset[0]!r} is not given: inputs={{{unset[0]!r}: ...}} needs a number, "
            "an expression of time and states, a table or a sampled law; the commands run, sweep, "
            f"compare and export take it as --input {unset[0]}=..."
        )
    return system, numbers


def _with_moving(system: System, moving: Mapping[str, Any]) -> System:
    drives: list[Drive] = []
    seen = named_symbols(system)
    meanings: dict[str, ca.SX] = {}
    for name, value in moving.items():
        meaning = _meaning(name, value, seen, drives)
        meanings[name] = meaning
    meanings = _explicit(system.inputs, meanings)
    return _with(system, meanings, drives)


def named_symbols(system: System) -> dict[str, ca.SX]:
    """Return the symbols by name that inputs and sampled laws may contain; time is "t"."""
    vectors: Sequence[SymbolVector]
    if isinstance(system, MechanicalSystem):
        rates = [] if system.velocities is None else [system.coordinates.rates]
        vectors = [system.coordinates, system.v, *rates, system.implicit, system.quadratures]
    else:
        vectors = [system.states]
    vectors = [*vectors, system.parameters, system.discrete, system.inputs]
    found = {"t": time}
    for vector in vectors:
        found |= {name: vector[name] for name in vector.names}
    return found


def described(system: System, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a run as plain data; see `described_inputs`."""
    return described_inputs(given, named_symbols(system)) if given else {}


def as_stored(system: System, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a run as a run directory gives them back.

    Expressions that share parts with each other or with the system do so no longer. A run that is
    stored uses them from its start, so that it finds the same equations when it resumes. Inputs
    that a directory cannot hold stay as they are.

    Raises
    ------
    UnknownNameError, PosingError, OutOfRangeError
        As in `driven`.
    """
    driven(system, given)
    found = described(system, given)
    return {name: given[name] if "anew" in value else value for name, value in found.items()}


def portable(system: System, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a run as plain data that other processes can use.

    Raises
    ------
    UnsupportedError
        A law is called in Python, or an expression contains a table.
    """
    found = described(system, given)
    for name, value in found.items():
        if "anew" in value:
            raise UnsupportedError(
                f"a sweep must record its inputs, but cannot record {name!r} "
                f"({value['anew']}): give a number, an expression, a table, or a traced "
                "sampled law"
            )
    return found


def _restored(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: restored_input(value) if is_mapping(value) else value for name, value in given.items()
    }


def _is_number(value: Any) -> bool:
    return not isinstance(value, ca.SX | str | Table | SampledLaw | StoredExpressions)


def _number(name: str, value: Any) -> float:
    if not is_number(value):
        raise OutOfRangeError(
            f"the input {name!r} is {value!r}, but must be a finite number, an expression, a table "
            "or a sampled law"
        )
    return float(value)


def _meaning(name: str, value: Any, seen: Mapping[str, ca.SX], drives: list[Drive]) -> ca.SX:
    if isinstance(value, Table):
        if len(value.axes) > 1:
            raise PosingError(
                f"the input {name!r} is the table {value.name!r} over two arguments: name "
                f"them, {value.name}(first, second)"
            )
        return value(time)
    if isinstance(value, SampledLaw):
        held, drive = value.drive(seen)
        drives.append(drive)
        return held
    if isinstance(value, StoredExpressions):
        (value,) = value.of(seen)
    if isinstance(value, str):
        value = expression_in(f"the input {name!r}", value, seen)
    return as_scalar(f"the input {name!r}", value)


def _explicit(inputs: SymbolVector, meanings: dict[str, ca.SX]) -> dict[str, ca.SX]:
    """Substitute inputs that are defined in terms of each other.

    Raises
    ------
    PosingError
        The definitions form a cycle.
    """
    symbols = ca.vertcat(*[inputs[name] for name in meanings])
    whole = ca.vertcat(*meanings.values())
    for _ in meanings:
        if not ca.depends_on(whole, symbols):
            break
        whole = ca.substitute(whole, symbols, whole)
    else:
        if ca.depends_on(whole, symbols):
            raise PosingError(
                f"the inputs {', '.join(map(repr, meanings))} are defined in terms of each other"
            )
    return dict(zip(meanings, ca.vertsplit(whole), strict=True))


def _with(system: System, meanings: Mapping[str, ca.SX], drives: Iterable[Drive]) -> System:
    symbols = ca.vertcat(*[system.inputs[name] for name in meanings])
    units = dict(zip(system.inputs.names, system.inputs.units, strict=True))
    rewriting = Rewriting(substitution(symbols, ca.vertcat(*meanings.values())))
    left_alone = {"inputs", "parameters", "switching"}
    names = [name for name in system.__dataclass_fields__ if name not in left_alone]
    changed = {name: rewriting(getattr(system, name)) for name in names}
    changed = {name: new for name, new in changed.items() if new is not getattr(system, name)}
    for drive in drives:
        # A law sees the values of other inputs.
        own = rewriting(drive)
        changed["drives"] = (*changed.get("drives", system.drives), own)
    changed["outputs"] = {
        **changed.get("outputs", system.outputs),
        **{name: (meaning, str(units[name])) for name, meaning in meanings.items()},
    }
    return replace(system, inputs=system.inputs.without([*meanings]), **changed)
