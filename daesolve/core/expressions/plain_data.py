"""Plain data and CasADi functions as bytes, exactly, and results of these cached on disk.

The bytes are a pickle that holds numbers, words, arrays, dataclasses and functions, and from which
nothing else is made. Results are cached for other processes, under a digest of the functions from
which they are made and of the program that makes them.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, TypeVar, cast

import casadi as ca
import numpy as np

from daesolve.core.expressions import disk_cache
from daesolve.core.expressions.program import LARGE, digest, remember, serialized

Result = TypeVar("Result")
Classes = Mapping[str, type]
"""The dataclasses, identified by their fields, and enumerations that may occur, by name."""

PACKAGES = ("casadi", "numpy", "scipy", "numba", "heyoka", "scikit-sundae", "assimulo")
"""The packages on which results and the choice of solvers depend."""
FROM = 1000
"""The number of instructions from which reading a result is faster than making it."""


class NotPlainError(TypeError):
    """An object is not plain data."""


def named(kinds: Iterable[type]) -> Classes:
    """Return classes by their names."""
    return {kind.__qualname__: kind for kind in kinds}


def packed(value: object, classes: Classes) -> bytes:
    """Return a value as bytes.

    Raises
    ------
    NotPlainError
        Some parts are not data, or belong to other classes.
    """
    stream = io.BytesIO()
    _Pickler(stream, classes).dump(value)
    return stream.getvalue()


def unpacked(content: bytes, classes: Classes) -> Any:
    """Return the packed value; only objects of these classes are created."""
    return _Unpickler(io.BytesIO(content), classes).load()


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, classes: Classes) -> None:
        super().__init__(stream, protocol=5)
        self._classes = classes

    def reducer_override(self, obj: Any) -> Any:
        """Return how to make an object; numbers, words and containers do not come here."""
        kind = cast("type[object]", type(obj))
        if isinstance(cast("object", obj), (np.ndarray, np.generic)) and obj.dtype.kind in "fiub":
            array: np.ndarray = np.asarray(obj)
            order = "F" if array.flags.fnc else "C"
            own = array.dtype.str, array.shape, order, array.tobytes(order), kind is np.ndarray
            return _array, own
        if issubclass(kind, (ca.Function, StoredFunction)):
            return _function, _parts_of(obj)
        if is_dataclass(kind) and self._is_known(kind):
            # What it has computed from its fields is made anew.
            own = {f.name: getattr(obj, f.name) for f in fields(kind) if f.init}
            return _instance, (kind, own)
        known = self._is_known(obj if issubclass(kind, type) else kind)
        makes = kind is FunctionType and obj.__module__ == __name__
        if makes or (known and issubclass(kind, (str, type))):
            return NotImplemented
        raise NotPlainError(kind)

    def _is_known(self, kind: type) -> bool:
        return self._classes.get(kind.__qualname__) is kind


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, classes: Classes) -> None:
        super().__init__(stream)
        makers = {maker.__name__: maker for maker in (_array, _function, _instance)}
        self._known: Mapping[str, Any] = {**classes, **makers}

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return one of the classes, or a function that makes plain data."""
        return self._known[global_name]


def _array(
    dtype: str, shape: tuple[int, ...], order: Literal["C", "F"], content: bytes, whole: bool
) -> Any:
    array = np.frombuffer(content, dtype).reshape(shape, order=order).copy(order="K")
    return array if whole else array[()]


def _instance(kind: type, own: dict[str, Any]) -> object:
    return kind(**own)


# -- functions ------------------------------------------------------------------------------------


class StoredFunction:
    """A CasADi function stored as text, which is read only when more than its sizes is needed.

    CasADi takes long to read a large one.

    Parameters
    ----------
    text
        The text as written by CasADi.
    sizes
        The number of instructions; the numbers of entries of each input and of each output.
    names
        The name of the function, and those of its inputs.
    """

    def __init__(
        self,
        text: bytes,
        sizes: tuple[int, list[int], list[int]],
        names: tuple[str, list[str]],
    ) -> None:
        self._text, self._sizes, self._names = text, sizes, names

    @cached_property
    def function(self) -> ca.Function:
        """The function itself."""
        return ca.Function.deserialize(self.serialize())

    def serialize(self) -> str:
        """Return its text."""
        return self._text.decode()

    def n_instructions(self) -> int:
        """Return the number of instructions."""
        return self._sizes[0]

    def nnz_in(self, number: int) -> int:
        """Return the number of entries of an input."""
        return self._sizes[1][number]

    def nnz_out(self, number: int) -> int:
        """Return the number of entries of an output."""
        return self._sizes[2][number]

    def name(self) -> str:
        """Return its name."""
        return self._names[0]

    def name_in(self, number: int) -> str:
        """Return the name of an input."""
        return self._names[1][number]

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Evaluate the function."""
        evaluate: Any = self.function
        return evaluate(*given, **named)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the function."""
        if name == "function" or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Send the function itself to another process."""
        return ca.Function.deserialize, (self.serialize(),)


def _parts_of(function: ca.Function) -> tuple[Any, ...]:
    """Return the text, the digest, and the sizes and names of a `StoredFunction`."""
    inputs, outputs = range(function.n_in()), range(function.n_out())
    return (
        serialized(function).encode(),
        digest(function),
        (
            function.n_instructions(),
            [function.nnz_in(k) for k in inputs],
            [function.nnz_out(k) for k in outputs],
        ),
        (function.name(), [function.name_in(k) for k in inputs]),
    )


def _function(text: bytes, known: str, sizes: Any, names: Any) -> ca.Function:
    """Return a function; a large one is read only on demand."""
    if sizes[0] < LARGE:
        function = ca.Function.deserialize(text.decode())
    else:
        function = cast("ca.Function", StoredFunction(text, sizes, names))
    remember(function, known)
    return function


# -- cached on disk -------------------------------------------------------------------------------


def cached_result(
    what: str, functions: Sequence[ca.Function], classes: Classes, make: Callable[[], Result]
) -> Result:
    """Return the result for some functions, from the cache if they are large.

    Parameters
    ----------
    what
        The kind of result, with everything else that it depends on.
    functions
        The functions.
    classes
        The dataclasses of which it consists.
    make
        Makes the result.
    """
    size = sum(function.n_instructions() for function in functions)
    if size < FROM or disk_cache.directory() is None:
        return make()
    key = key_of(what, *map(digest, functions))
    stored = read(key, classes)
    if stored is not None:
        return cast("Result", stored)
    made = make()
    write(key, made, classes)
    return made


def key_of(*words: str) -> str:
    """Return the key for some words and the program that makes the result."""
    return hashlib.sha256("\n".join([*words, _program()]).encode()).hexdigest()


def read(key: str, classes: Classes) -> object:
    """Return the cached result of a key; None if there is none."""
    content = disk_cache.load(key)
    return None if content is None else unpacked(content, classes)


def write(key: str, value: object, classes: Classes) -> None:
    """Store a result under a key, if it is plain data and there is a place."""
    if disk_cache.directory() is not None:
        with suppress(NotPlainError):
            disk_cache.store(key, packed(value, classes))


@cache
def _program() -> str:
    """Return the digest of daesolve's files, by size and age, and of the packages it uses."""
    program = hashlib.sha256()
    root = Path(__file__).parents[2]
    for path in sorted(root.rglob("*.py")):
        status = path.stat()
        program.update(f"{path.relative_to(root)} {status.st_size} {status.st_mtime_ns}\n".encode())
    program.update(
        " ".join([*map(_version, PACKAGES), platform.machine(), platform.python_version()]).encode()
    )
    return program.hexdigest()


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"
