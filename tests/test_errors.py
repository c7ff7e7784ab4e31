"""Errors reach another process as they were raised: on a cluster, from a worker."""

from __future__ import annotations

import pickle

import pytest

from daesolve import errors
from daesolve.ensembles import WorkerError
from daesolve.ensembles.chunks import ChunkResults, MemberResult
from daesolve.ensembles.dispatch import checked_answer

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.DaesolveError)
]
SPECIAL = {
    errors.DegenerateConstraintError: ("the rod is lost", {"run": 1}),
    errors.MissingPackageError: ("pandas", "tables"),
    errors.TornPartError: ("part 2", "its checkpoint"),
}


def test_an_error_survives_the_way_to_another_process():
    assert KINDS
    changed = {}
    for kind in KINDS:
        error = kind(*SPECIAL.get(kind, ("what is wrong",)))
        try:
            found = pickle.loads(pickle.dumps(error))
        except Exception as failure:
            changed[kind.__name__] = repr(failure)
            continue
        sent, got = ((type(one), str(one), vars(one)) for one in (error, found))
        if got != sent:
            changed[kind.__name__] = f"{sent} became {got}"
    assert changed == {}


def test_what_somebody_elses_error_says_is_on_one_line_even_where_it_cannot_say_it():
    class OddError(Exception):
        def __str__(self):
            raise ValueError

    assert errors.in_words(ValueError("a\n  b")) == "ValueError: a b"
    assert errors.in_words(OddError()) == "OddError"
    assert errors.in_words(SystemExit()) == "SystemExit"


CHUNK = [(3, {"mass": 1.0}), (4, {"mass": 2.0})]
ROWS = tuple(MemberResult({"member": number}, {}) for number, _ in CHUNK)


@pytest.mark.parametrize(
    "answer",
    [None, "done", 3, {}, Exception("x"), ChunkResults((), 0.0), ChunkResults(ROWS[:1], 0.0),
     ChunkResults(ROWS[::-1], 0.0), ChunkResults((MemberResult(None, {}),) * 2, 0.0),
     ChunkResults((None, None), 0.0)],
)  # fmt: skip
def test_rubbish_from_a_worker_is_refused(answer):
    with pytest.raises(WorkerError, match="a worker answered with"):
        checked_answer(CHUNK, answer)


def test_the_results_of_the_members_asked_for_are_taken():
    answer = ChunkResults(ROWS, 1.0)
    assert checked_answer(CHUNK, answer) is answer
