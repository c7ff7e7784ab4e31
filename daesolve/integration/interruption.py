"""An interruption from outside, as a flag that a run looks at between segments."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(*, by_termination: bool = False) -> Generator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that the segment under way is finished and kept.

    A second one interrupts at once. In a thread of its own nothing is caught.

    Parameters
    ----------
    by_termination
        Whether a request to terminate (SIGTERM) is taken in the same way.

    Yields
    ------
    Tells whether there was an interruption.
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    numbers = [signal.SIGINT, signal.SIGTERM] if by_termination else [signal.SIGINT]
    previous = {number: signal.getsignal(number) for number in numbers}

    def remember(number: int, frame: FrameType | None) -> None:
        if pressed:
            signal.signal(signal.SIGINT, previous[signal.SIGINT])
            raise KeyboardInterrupt
        pressed.append(number)

    for number in numbers:
        signal.signal(number, remember)
    try:
        yield lambda: bool(pressed)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
