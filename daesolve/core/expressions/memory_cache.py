"""Objects built from others only once, such as functions from equations, and shared by all runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Origin = TypeVar("Origin")
Further = ParamSpec("Further")
Built = TypeVar("Built")


def built_once(
    build: Callable[Concatenate[Origin, Further], Built],
) -> Callable[Concatenate[Origin, Further], Built]:
    """Build once from the same object and the same further arguments, which must be hashable.

    The result lives as long as the first argument, so it must not refer to it.
    """
    known: WeakKeyDictionary[Origin, dict[Hashable, Built]] = WeakKeyDictionary()

    @wraps(build)
    def built(origin: Origin, *further: Further.args, **named: Further.kwargs) -> Built:
        own, key = known.setdefault(origin, {}), (further, tuple(sorted(named.items())))
        if key not in own:
            own[key] = build(origin, *further, **named)
        return own[key]

    return built
