"""What is built alike has one digest, in another process as well; what differs has another."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

from daesolve.core.expressions.digest import NoDigestError, digest_of
from daesolve.core.posing.symbols import symbol
from daesolve.core.solvers.lanes import Batch

POSED = """
import daesolve as ds
from daesolve.core.expressions.digest import digest_of
q, p = ds.coordinates(x="m", y="m"), ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
energies = {"kinetic": (q.dot.x**2 + q.dot.y**2) / 2, "potential": p.gravity * q.y}
found = digest_of(ds.MechanicalSystem(q, p, goals=[rod], **energies))
"""


def found_in(text: str) -> str:
    names: dict[str, str] = {}
    exec(text, names)
    return names["found"]


@pytest.mark.slow
def test_posed_twice_and_in_another_process_a_system_has_one_digest():
    other = subprocess.run(
        [sys.executable, "-c", POSED + "print(found)"], capture_output=True, text=True, check=True
    )
    assert found_in(POSED) == found_in(POSED) == other.stdout.strip()


@pytest.mark.default_rows(4)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("9.81", "9.80"),
        ("1.0", "1.0000000000000002"),
        ("q.x**2 + q.y**2 - p", "q.y**2 + q.x**2 - p"),
        ("(q.dot.x**2 + q.dot.y**2) / 2", "(q.dot.x**2 + q.dot.y**2) / 3"),
        ('x="m", y="m"', 'y="m", x="m"'),
        ('x="m"', "x=ds.ANGLE"),
        ('"rod"', '"bar"'),
        ("gravity * q.y", "gravity * q.x"),
        ("p.gravity", "p.length"),
    ],
)
def test_a_system_that_differs_anywhere_has_another(old: str, new: str):
    assert POSED.replace(old, new) != POSED
    assert found_in(POSED.replace(old, new)) != found_in(POSED)


def test_symbols_of_one_name_are_told_apart_by_their_places():
    one, two = symbol("a"), symbol("a")
    assert digest_of([one, two, one - two]) != digest_of([one, two, two - one])
    assert digest_of([one, two, one - two]) == digest_of([two, one, two - one])


def test_zeros_that_are_written_and_zeros_of_structure_differ():
    assert digest_of(ca.SX(2, 1)) != digest_of(ca.SX.zeros(2, 1))


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), ("1", 1), (0.0, -0.0), ([1, [2]], [[1], 2])])
def test_values_that_compare_equal_or_look_alike_differ(pair: tuple[object, object]):
    assert digest_of(pair[0]) != digest_of(pair[1])


def test_rows_and_matrices_of_expressions_have_digests_of_their_own():
    x = ca.SX.sym("x", 4)
    shapes = [x, x.T, ca.reshape(x, 2, 2), ca.SX(4, 1), ca.SX(1, 4)]
    assert len({digest_of([shape]) for shape in shapes}) == len(shapes)


def test_arrays_count_with_their_shape_and_kind():
    entries = [np.zeros(4), np.zeros((2, 2)), np.zeros(4, dtype=np.float32), np.zeros(4, dtype=int)]
    assert len({digest_of(entry) for entry in entries}) == 4


def test_what_changes_as_it_works_has_none():
    with pytest.raises(NoDigestError):
        digest_of(Batch(2))


@pytest.mark.parametrize("value", [lambda: 0, object(), np.array([object()])])
def test_what_is_no_plain_data_has_none(value: object):
    with pytest.raises(NoDigestError):
        digest_of({"part": [value]})
