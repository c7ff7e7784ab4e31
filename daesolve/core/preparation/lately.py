"""Recent preparations, reused for equal requests: they do not depend on the run.

A system that is posed again, equal in everything, counts as the earlier one, so everything built
for it is reused. What is plain data is also kept on disk, for other processes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, cached_property, partial
from threading import Lock
from typing import Any, cast

import casadi as ca
import numpy as np

from daesolve.core.equations.consistency import Start
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.events.transitions import LAWS
from daesolve.core.expressions.digest import NoDigestError, digest_of
from daesolve.core.expressions.plain_data import FROM, Classes, key_of, named, read, write
from daesolve.core.expressions.program import serialized
from daesolve.core.features import references
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.problem import Watched
from daesolve.core.formulations.semi_explicit import SemiExplicit
from daesolve.core.posing.symbols import Angle, Labels
from daesolve.core.preparation.extensions import formulations, solvers
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request, checked
from daesolve.core.solvers import Compilation
from daesolve.core.solvers.scaling import Scaling
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
    found = read_preparation(system, request)
    if found is None:
        found = prepare(system, request)
        write_preparation(request, found)
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


MADE_ANEW = ("system", "request", "dynamics", "problem", "compilation", "transitions")
FUNCTIONS = ("rhs", "recover", "residuals", "guards")
PLAIN = ("labels", "size", "watched", "pivot_goals", "singular_goals", "plan", "stiff")
"""Plain fields of a problem."""


def write_preparation(request: Request, prepared: Prepared) -> None:
    """Keep a preparation, if its system is large and can be kept."""
    problem, system = prepared.problem, prepared.system
    dynamics = system.dynamics
    if problem.rhs.n_instructions() < FROM or type(problem) is not OdeProblem:
        return
    own = prepared.dynamics is dynamics and problem.events is dynamics.events
    if not own or prepared.transitions is not None:
        return
    if problem.chart is not None or problem.project is not None:
        return
    key = _key(system, request)
    # What the preparation read may have changed since the system was posed.
    if key is None or system.digest_now() != system.digest:
        return
    plain = {f.name: getattr(prepared, f.name) for f in fields(prepared) if f.name not in MADE_ANEW}
    parts = {name: getattr(problem, name) for name in (*FUNCTIONS, *PLAIN)}
    write(key, (plain, parts, _written(problem.equations)), _classes())


def read_preparation(system: System, request: Request) -> Prepared | None:
    """Return the cached preparation of the same request; None if there is none."""
    key = _key(system, request)
    found = None if key is None else read(key, _classes())
    if found is None:
        return None
    plain, parts, before = cast("tuple[dict[str, Any], dict[str, Any], Any]", found)
    dynamics = system.dynamics
    equations = None if before is None else cast("SemiExplicit", _Later(partial(_read, *before)))
    problem = OdeProblem(
        values=dynamics.values, events=dynamics.events, equations=equations, **parts
    )
    prepared = Prepared(
        system=system, request=_plain_times(request), dynamics=dynamics, problem=problem,
        compilation=Compilation(0.0, True), transitions=None, **plain,
    )  # fmt: skip
    compilation = prepared.scaling.compiled(prepared.solver, problem)
    return replace(prepared, compilation=compilation)


def _plain_times(request: Request) -> Request:
    return replace(request, until=float(request.until), start_time=float(request.start_time))


def _key(system: System, request: Request) -> str | None:
    if system.digest is None:
        return None
    try:
        asked = digest_of(_plain_times(request))
    except NoDigestError:
        return None
    # Features may have added laws since, or no longer do.
    laws = [f"{law.module}:{law.name}" for law in references(LAWS)]
    return key_of("prepared", system.digest, asked, *laws)


@cache
def _classes() -> Classes:
    """Return the dataclasses that may be kept; the library's own alone."""
    found: list[type] = [Start, EliminationPlan, Watched, Labels, Angle, Scaling]
    found += [*formulations()[0].values(), *solvers()[0].values()]
    return named(kind for kind in found if kind.__module__.startswith("daesolve."))


# -- equations before the elimination --------------------------------------------------------------


def _written(equations: SemiExplicit | None) -> tuple[ca.Function, int] | None:
    if equations is None:
        return None
    parts = [equations.rate, equations.matrix, equations.right_side]
    if equations.shift is not None:
        parts.append(equations.shift)
    arguments = [equations.t, equations.x, equations.z, equations.p]
    return ca.Function("before", arguments, parts), equations.refinements


class _Later:
    """What is made when something of it is first requested."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> object:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._made, name)

    def __reduce__(self) -> tuple[Callable[[], object], tuple[()]]:
        return self._make, ()


def _read(function: ca.Function, refinements: int) -> SemiExplicit:
    t, x, z, p = (function.sx_in(k) for k in range(4))
    rate, matrix, right_side, *shift = function(t, x, z, p)
    return SemiExplicit(
        t, x, z, p, rate, matrix, right_side, shift[0] if shift else None, refinements
    )
