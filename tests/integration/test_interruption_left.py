"""A Ctrl-C in the last segment of a run is remembered for whoever makes many runs."""

import os
import signal

import pytest

from daesolve.integration.effort import interruptible, interruption_left


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("seen", [False, True])
def test_an_interruption_that_a_run_did_not_see_is_left_once(seen: bool) -> None:
    with interruptible() as interrupted:
        os.kill(os.getpid(), signal.SIGINT)
        assert not seen or interrupted()
    assert interruption_left() is not seen
    assert not interruption_left()
    with interruptible():
        pass
    assert not interruption_left()
