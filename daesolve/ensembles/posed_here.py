"""Problems that exist only in this process, such as those of notebooks, sent to workers.

cloudpickle sends functions and classes of `__main__` by value. What it cannot send are CasADi's
symbols: two expressions that share one would arrive with two. So each expression travels as a
function of its symbols, which the worker makes once, by their numbers here. What a system has
derived from its data stays behind, and is derived again.
"""

from __future__ import annotations

import io
import pickle
import uuid
from dataclasses import is_dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca

from daesolve.core.posing.symbols import symbol, time
from daesolve.errors import DaesolveError, MissingPackageError, PosingError, in_words
from daesolve.plugins.family import Family
from daesolve.plugins.registry import Problem


def packed(problem: Family) -> bytes:
    """Return a problem as bytes for a worker.

    Raises
    ------
    MissingPackageError
        cloudpickle is missing, which comes with distributed.
    PosingError
        Something that the problem holds exists only here, such as an open file.
    """
    try:
        from cloudpickle import CloudPickler
    except ImportError:
        raise MissingPackageError("cloudpickle", "sweep") from None
    sender = uuid.uuid4().hex

    class Pickler(CloudPickler):
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, ca.SX):
                symbols = ca.symvar(obj)
                names = [
                    None
                    if one.element_hash() == time.element_hash()
                    else (sender, one.element_hash(), one.name())
                    for one in symbols
                ]
                rule = ca.Function("rule", [ca.vertcat(ca.SX(0, 1), *symbols)], [obj])
                return _expression, (rule.serialize(), names)
            if is_dataclass(obj) and not isinstance(obj, type) and hasattr(obj, "__dict__"):
                own = {
                    name: value
                    for name, value in vars(obj).items()
                    if not isinstance(getattr(type(obj), name, None), cached_property)
                }
                return object.__new__, (type(obj),), own
            return super().reducer_override(obj)  # pyright: ignore[reportUnknownVariableType]

    stream = io.BytesIO()
    try:
        Pickler(stream).dump(problem)
    except DaesolveError:
        raise
    except Exception as error:
        raise PosingError(
            f"the problem {problem.name!r} cannot be sent to worker processes "
            f"({in_words(error)}): pose it in a file and load it from there "
            "(ds.problem('mine.py')), or run all members in this process (workers=0)"
        ) from error
    return stream.getvalue()


@lru_cache(maxsize=4)
def unpacked(sent: bytes) -> Problem:
    """Return a problem from its bytes, once: its systems and their compiled code stay with it."""
    return pickle.loads(sent)


@lru_cache(maxsize=100_000)
def _symbol(sender: str, number: int, name: str) -> ca.SX:
    return symbol(name)


def _expression(rule: str, names: list[tuple[str, int, str] | None]) -> ca.SX:
    symbols = [time if name is None else _symbol(*name) for name in names]
    return ca.SX(ca.Function.deserialize(rule)(ca.vertcat(ca.SX(0, 1), *symbols)))
