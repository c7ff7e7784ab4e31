"""Which members run together."""

import pytest

from daesolve.ensembles.chunks import ChunkResults, failure
from daesolve.ensembles.dispatch import FIRST_BATCH, _Queue


def sizes(seconds_each, members, workers=1):
    """The sizes of the batches of members of which each takes so long."""
    queue = _Queue(list(range(members)), {"a": [0.0] * members}, batch=True)
    found = []
    while queue:
        chunk = queue.next_chunk(workers)
        results = tuple(failure(number, values, "") for number, values in chunk)
        queue.results(chunk, ChunkResults(results, seconds_each * len(chunk)))
        found.append(len(chunk))
    return found


@pytest.mark.parametrize("seconds", [0.01, 0.12, 0.2, 0.5, 30.0])
def test_batches_fill_their_lanes_however_long_members_take(seconds):
    *whole, last = sizes(seconds, 10 * FIRST_BATCH + 3)
    assert {size % FIRST_BATCH for size in whole} == {0}
    assert last % FIRST_BATCH == 3


def test_quick_members_go_in_larger_batches_and_none_in_more_than_a_share():
    assert sizes(0.1, 80) == [16, 48, 16]
    assert sizes(0.1, 80, workers=8) == [10] * 8
