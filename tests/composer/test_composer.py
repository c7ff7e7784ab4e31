"""Systems that nobody thought of run right; and the composer finds what is wrong."""

from __future__ import annotations

import ast
import datetime

import pytest

from .composing import Composition, compose
from .parts import Part
from .running import begin, judge, warm
from .shrinking import shrink
from .writing import HEAD, TAIL, script_of

SYSTEMS = 10
"""In one test, of about a CPU second each."""
SEED = 11
"""Of systems that are always the same."""
WEEK = int(f"{datetime.date.today():%G%V}")
"""The year and its week, so that other systems are tried every week."""


def pendulum() -> Part:
    return Part(
        "pendulum",
        {"phi1": "rad"},
        kinetic=["q.dot.phi1 ** 2 / 2"],
        potential=["-9.81 * ca.cos(q.phi1)"],
        initial={"phi1": 1.234},
    )


def counter() -> Part:
    reset = 'ds.Reset({"count2": d.count2 + 1.0})'
    event = f'ds.Event("passes2", q.phi1, ds.EITHER, {reset})'
    return Part("counter", discrete={"count2": 0.0}, events=[event], forward=True)


def chained() -> Part:
    event = 'ds.Event("follows3", d.count2 - 1.5, ds.RISING)'
    return Part("caused by a reset", events=[event], forward=True)


def test_a_composition_follows_from_its_seed_and_index_alone():
    assert compose(5, 3) == compose(5, 3)
    assert len({repr(compose(5, index)) for index in range(30)}) == 30


def test_every_composition_is_a_program_whose_parts_use_only_earlier_ones():
    for index in range(100):
        composition = compose(7, index)
        ast.parse(script_of(composition) + TAIL)
        every = {name for part in composition.parts for name in part.defines}
        defined: set[str] = set()
        for part in composition.parts:
            defined |= part.defines
            assert part.uses & every <= defined, index


def test_a_part_is_left_out_with_all_that_use_it():
    whole = Composition((pendulum(), counter(), chained()))
    assert whole.without(1) == Composition((pendulum(),))
    assert whole.without(2) == Composition((pendulum(), counter()))


def test_nothing_is_wrong_with_the_passages_of_a_pendulum():
    ended, found = judge(script_of(Composition((pendulum(), counter()), length=2.0)))
    assert ended == "completed"
    assert not found


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("run = 1 / 0", "error"),
        ("while True: pass", "hang"),
        ("import os; os._exit(3)", "crash"),
    ],
)
def test_errors_and_hangs_and_crashes_are_findings(line, kind):
    result = begin(HEAD + line, seconds=1).result()
    assert [finding.kind for finding in result.findings] == [kind]


def test_a_refusal_is_a_finding_unless_compositions_may_lead_to_it():
    for error, findings in (("InconsistentStateError", 0), ("PosingError", 1)):
        ended, found = judge(f"{HEAD}raise ds.errors.{error}('what is wrong in x1')")
        assert ended == f"refused: {error}: what is wrong in x"
        assert len(found) == findings


def test_what_has_no_part_in_a_finding_is_left_out():
    """A force that names nothing that exists raises an error that is no refusal."""
    wrong = Part("wrong", force=[("phi1", "1.0 / 0 * q.phi1")])
    composition = Composition((pendulum(), counter(), chained(), wrong), options={"rtol": "1e-9"})
    found = begin(script_of(composition)).result()
    smallest = shrink(composition, found.keys)
    assert [part.kind for part in smallest.parts] == ["pendulum", "wrong"]
    assert not smallest.options
    assert smallest.parts[0].initial == {"phi1": 1.0}


def wrong_among(seed: int, first: int) -> list[str]:
    """Return what is wrong with some systems; ``--seed SEED --only INDEX`` repeats one."""
    warm()
    told: list[str] = []
    for index in range(first, first + SYSTEMS):
        composition = compose(seed, index)
        must = composition.must_run
        result = begin(script_of(composition), must_run=must).result()
        told += [f"--seed {seed} --only {index}: {finding.key}" for finding in result.findings]
    return told


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, SYSTEMS])
def test_nothing_is_wrong_with_systems_that_nobody_thought_of(first):
    told = wrong_among(SEED, first)
    assert not told, "\n".join(told)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 200, SYSTEMS))
def test_nothing_is_wrong_with_other_systems_every_week(first):
    told = wrong_among(WEEK, first)
    assert not told, "\n".join(told)
