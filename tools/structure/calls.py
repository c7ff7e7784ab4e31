"""Which functions a command of the library calls, and how deep."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}


class Calls:
    """Records which functions of the library are called, and how deep.

    Parameters
    ----------
    library
        The name of its package.
    """

    def __init__(self, library: str) -> None:
        self.library = library
        self.modules: set[str] = set()
        self.functions: set[CodeType] = set()
        self.depth = 0
        self._of_thread = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Process an event of `sys.setprofile`."""
        if event not in ("call", "return") or frame.f_code.co_name in COMPREHENSIONS:
            return
        stack: list[FrameType] = self._of_thread.__dict__.setdefault("stack", [])
        if event == "call":
            stack.append(frame)
            self._enter(frame, len(stack))
        elif frame in stack:
            del stack[stack.index(frame) :]

    def _enter(self, frame: FrameType, depth: int) -> None:
        module = str(frame.f_globals.get("__name__"))
        # A module, the body of a class and an annotation have no separate locals.
        is_function = frame.f_code.co_flags & inspect.CO_NEWLOCALS
        if module.partition(".")[0] != self.library or not is_function:
            return
        self.modules.add(module)
        self.depth = max(self.depth, depth)
        if not frame.f_code.co_filename.startswith("<"):
            self.functions.add(frame.f_code)

    def watch(self, function: Callable[[], object]) -> None:
        """Call a function, and record its calls."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            function()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def trace(result: Path, arguments: list[str]) -> None:
    """Run a command of the library in this process, and write its calls to a file."""
    import daesolve
    from daesolve.cli import main

    # Otherwise, calls in the body of a module imported on demand would count.
    for found in pkgutil.walk_packages(daesolve.__path__, "daesolve."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)

    sys.argv = ["daesolve", *arguments]
    seen = Calls("daesolve")
    try:
        seen.watch(main)
    except SystemExit as ended:
        if ended.code not in (0, None):
            raise
    counts = {"modules": len(seen.modules), "functions": len(seen.functions), "depth": seen.depth}
    result.write_text(json.dumps(counts), encoding="utf-8")


if __name__ == "__main__":
    trace(Path(sys.argv[1]), sys.argv[2:])
