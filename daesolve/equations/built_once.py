"""Objects built from equations only once and shared by runs with other numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from daesolve.equations.dynamics import Dynamics

Further = ParamSpec("Further")
Built = TypeVar("Built")


def built_once(
    build: Callable[Concatenate[Dynamics, Further], Built],
) -> Callable[Concatenate[Dynamics, Further], Built]:
    """Build once for the same equations and the same further arguments, which must be hashable.

    The result lives as long as the equations, so it must not refer to them.
    """
    known: WeakKeyDictionary[Dynamics, dict[Hashable, Built]] = WeakKeyDictionary()

    @wraps(build)
    def built(dynamics: Dynamics, *further: Further.args, **named: Further.kwargs) -> Built:
        own, key = known.setdefault(dynamics, {}), (further, tuple(sorted(named.items())))
        if key not in own:
            own[key] = build(dynamics, *further, **named)
        return own[key]

    return built
