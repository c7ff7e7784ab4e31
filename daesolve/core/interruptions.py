"""Ctrl-C: it ends a run where it can be resumed, and no other code loses it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

_left: list[int] = []
"""Signals that no run has answered: raised and perhaps dropped, or too late for the last run."""
_open: list[list[int]] = []
"""The signals that each open `interruptible` has seen, the outermost first."""


def interruption_left() -> bool:
    """Return, once, whether the last run finished in spite of an interruption.

    Code that makes many short runs calls this after each: otherwise a Ctrl-C in a last segment
    would be lost.
    """
    left = bool(_left)
    _left.clear()
    return left


def _note(number: int, frame: FrameType | None) -> None:
    _left.append(number)
    raise KeyboardInterrupt


@contextmanager
def noted_interruptions() -> Generator[None]:
    """Note each Ctrl-C when it is raised, so that work of many runs ends with the next of them.

    CasADi looks at its arguments in Python, and drops what is raised there, also KeyboardInterrupt.
    Outside the main thread, and where Ctrl-C has a handler of someone else, nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _left.clear()
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _left.clear()


@contextmanager
def interruptible(*, by_termination: bool = False) -> Generator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that the current segment is finished and kept.

    A second one interrupts at once. Outside the main thread nothing is caught. Within
    `noted_interruptions`, what no run has answered yet counts as the first; so does what work of
    many runs has seen between two of them.

    Parameters
    ----------
    by_termination
        Whether a request to terminate (SIGTERM) is treated in the same way.

    Yields
    ------
    A function that returns whether there was an interruption.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    numbers = [signal.SIGINT, signal.SIGTERM] if by_termination else [signal.SIGINT]
    previous = {number: signal.getsignal(number) for number in numbers}
    pressed = [number for around in _open for number in around]
    if not pressed and previous[signal.SIGINT] is _note:
        pressed = [*_left]
    seen: list[int] = []
    _left.clear()

    def remember(number: int, frame: FrameType | None) -> None:
        if pressed:
            signal.signal(signal.SIGINT, previous[signal.SIGINT])
            raise KeyboardInterrupt
        pressed.append(number)

    def asked() -> bool:
        seen[:] = pressed
        return bool(pressed)

    for number in numbers:
        signal.signal(number, remember)
    _open.append(pressed)
    try:
        yield asked
    finally:
        _open.pop()
        if pressed and not seen:
            _left.extend(pressed)
        for number, handler in previous.items():
            signal.signal(number, handler)
