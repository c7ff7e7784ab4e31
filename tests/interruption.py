"""An interruption as Ctrl-C makes it, without the key."""

from __future__ import annotations

import signal
from contextlib import contextmanager


@contextmanager
def interrupted_after(seconds):
    """Raise KeyboardInterrupt from a signal handler after a time; nothing, where it is over."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
