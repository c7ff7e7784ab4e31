"""Exceptions after a time, such as the interruption that Ctrl-C makes."""

from __future__ import annotations

import signal
from contextlib import contextmanager


@contextmanager
def raised_after(seconds: float, error: BaseException):
    """Raise an exception from a signal handler after a time; nothing, where it is over."""

    def late(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def interrupted_after(seconds: float):
    """Raise KeyboardInterrupt after a time."""
    return raised_after(seconds, KeyboardInterrupt())
