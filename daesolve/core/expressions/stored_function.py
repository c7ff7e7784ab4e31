"""A CasADi function stored as text, which is read only when more than its sizes is needed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca


class StoredFunction:
    """A function that replaces CasADi's own, which takes long to read if it is large.

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
        text: memoryview,
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
        return bytes(self._text).decode()

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
