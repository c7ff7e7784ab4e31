"""Preparations of large systems, cached on disk for other processes.

What is kept is data: numbers, words, and functions as CasADi writes them. It is found by a digest
of the equations, of the request, and of the program that prepares. A system whose modes switch, or
whose goals were changed by the preparation, is prepared again: what it becomes is more than data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, cached_property, partial
from typing import Any, cast

import casadi as ca

from daesolve.core.equations.consistency import Start
from daesolve.core.equations.elimination.saddle import EliminationPlan
from daesolve.core.events.transitions import LAWS
from daesolve.core.expressions.digest import NoDigestError, digest_of
from daesolve.core.expressions.plain_data import FROM, Classes, key_of, named, read, write
from daesolve.core.features import references
from daesolve.core.formulations import OdeProblem
from daesolve.core.formulations.problem import Watched
from daesolve.core.formulations.semi_explicit import SemiExplicit
from daesolve.core.posing.symbols import Angle, Labels
from daesolve.core.preparation.extensions import formulations, solvers
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.request import Request
from daesolve.core.solvers import Compilation
from daesolve.core.solvers.scaling import Scaling
from daesolve.core.system.system import System

MADE_ANEW = ("system", "request", "dynamics", "problem", "compilation", "transitions")
FUNCTIONS = ("rhs", "recover", "residuals", "guards")
PLAIN = ("labels", "size", "watched", "pivot_goals", "singular_goals", "plan", "stiff")
"""Plain fields of a problem."""


def keep(request: Request, prepared: Prepared) -> None:
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


def kept(system: System, request: Request) -> Prepared | None:
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
