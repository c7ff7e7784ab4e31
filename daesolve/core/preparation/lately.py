"""Recent preparations, reused for equal requests: they do not depend on the run.

A system that is posed again, equal in everything, counts as the earlier one, so everything built
for it is reused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from threading import Lock
from typing import Any, cast

import numpy as np

from daesolve.core.events.transitions import LAWS
from daesolve.core.expressions.program import serialized
from daesolve.core.features import references
from daesolve.core.preparation import kept
from daesolve.core.preparation.preparing import Prepared, prepare
from daesolve.core.preparation.request import Request, checked
from daesolve.core.solvers import Compilation
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System

MOST = 32
"""Requests whose preparation is kept."""

_lately: OrderedDict[object, Prepared] = OrderedDict()
_posed: OrderedDict[str, System] = OrderedDict()
_lock = Lock()


def prepare_once(system: System, request: Request) -> Prepared:
    """Prepare a request like `prepare`, or return its recent preparation.

    Raises
    ------
    DaesolveError
        See `prepare`.
    """
    check_system(system)
    system, request = checked(system, request)
    system = first_like(system)
    try:
        key = (id(system), frozen(request), references(LAWS))
        hash(key)
    except TypeError:
        return prepare(system, request)
    with _lock:
        known = _lately.get(key)
        if known is not None:
            _lately.move_to_end(key)
            compilation = Compilation(0.0, True, known.compilation.notes)
            return replace(known, compilation=compilation)
    found = kept.kept(system, request)
    if found is None:
        found = prepare(system, request)
        kept.keep(request, found)
        serialized.cache_clear()  # Large, and no longer needed.
    with _lock:
        # What is kept refers to its system, so no other object can take over its id.
        _lately[key] = found
        while len(_lately) > MOST:
            _lately.popitem(last=False)
    return found


def first_like(system: System) -> System:
    """Return an equal system that was posed recently, or else the system itself.

    This works for systems of plain data; see `digest_of`.
    """
    digest = system.digest
    if digest is None:
        return system
    with _lock:
        first = _posed.setdefault(digest, system)
        # The user may have changed the objects from which the first was posed.
        if first is not system and first.digest_now() != digest:
            first = _posed[digest] = system
        _posed.move_to_end(digest)
        while len(_posed) > MOST:
            _posed.popitem(last=False)
    return first


def forget() -> None:
    """Drop everything that is kept."""
    with _lock:
        _lately.clear()
        _posed.clear()


def frozen(value: object) -> object:
    """Return something that is equal for equal values of one type, and can be a key.

    Raises
    ------
    TypeError
        There is no such key.
    """
    if isinstance(value, Mapping):
        items = cast(Mapping[str, object], value).items()
        return (dict, tuple((name, frozen(item)) for name, item in sorted(items)))
    if isinstance(value, (list, tuple)):
        items = tuple(frozen(item) for item in cast(tuple[object, ...], value))
        return items if isinstance(value, tuple) else (list, items)
    if isinstance(value, np.ndarray):
        array = cast(np.ndarray, value)
        return (array.shape, array.dtype.str, array.tobytes())
    if is_dataclass(value) and not isinstance(value, type):
        named: Any = value
        parts = tuple(frozen(getattr(named, field.name)) for field in fields(named))
        return (named.__class__, parts)
    hash(value)
    return (type(value), value)
