"""The C code judges by the numbers by which a run does."""

import re
from importlib.resources import files

import numpy as np
import pytest
from scipy.integrate._ivp import dop853_coefficients as scipys

from daesolve.contact.decisions import enumeration, impacts, touching
from daesolve.contact.laws import contact_law, frictional_impacts, frictional_law, impacts_end
from daesolve.contact.laws.redundant_contacts import PARALLEL, SHARE
from daesolve.contact.posing.jamming import NEAR
from daesolve.core.equations.additions import TOUCHING
from daesolve.core.events import guard_book, guard_slopes, instant, leaving
from daesolve.core.run.integration.event_handling import AT_ONCE
from daesolve.core.solvers import dormand_prince

ROOM = files("daesolve.export.fmu").joinpath("runtime")
SOURCES = "guards.c", "events.c", "decisions.c", "contacts.c"
NAMED = {
    "TOGETHER": guard_book.TOGETHER,
    "AT_ONCE": AT_ONCE,
    "PAST": guard_book.PAST,
    "ANSWERED": guard_book.ANSWERED,
    "EARLY": guard_book.EARLY,
    "FLAT": guard_book.FLAT,
    "SPACINGS": guard_book.SPACINGS,
    "PARALLEL": guard_slopes.PARALLEL,
    "LEAST": guard_slopes.LEAST,
    "STARTS": guard_slopes.STARTS,
    "EULER": leaving.STEPS,
    "LONGER": leaving.LONGER,
    "SOONEST": leaving.SHORTEST,
    "LATEST": leaving.LONGEST,
    "MOST_AT_ONCE": instant.MOST_AT_ONCE,
    "INSTANT": instant.INSTANT,
    "STILL": contact_law.STILL,
    "ROUNDED": contact_law.ROUNDED,
    "TIED": contact_law.TIED,
    "MOST_IMPACTS": contact_law.MOST_IMPACTS,
    "TOUCHING": TOUCHING,
    "RATE_STILL": frictional_impacts.STILL,
    "RATE_ROUNDING": frictional_impacts.ROUNDING,
    "MOST_COLLISIONS": frictional_impacts.MOST_IMPACTS,
    "CONDITION": touching.TOLERANCE,
    "SAME_MOTION": enumeration.SAME,
    "REPEATS": PARALLEL,
    "SHARE": SHARE,
    "GAIN": impacts.GAIN,
    "PARTING": frictional_law.PARTING,
    "EARLIEST": frictional_law.EARLIEST,
    "LATE": frictional_law.LATE,
    "NEAR_JAM": NEAR,
    "WITHIN": impacts_end.WITHIN,
}


@pytest.mark.parametrize("name", NAMED)
def test_what_counts_as_zero_is_the_same(name):
    text = "".join(ROOM.joinpath(file).read_text("utf-8") for file in SOURCES)
    found = re.search(rf"#define {name} (\S+)", text)
    assert found is not None
    assert float(found[1]) == NAMED[name]


def table(name):
    """The numbers of a table of coefficients."""
    text = ROOM.joinpath("coefficients.h").read_text("utf-8")
    found = re.search(rf"double {name}\[.*?\] = \{{(.*?)\}};", text, re.DOTALL)
    assert found is not None
    return np.array([float(word) for word in re.findall(r"-?\d[\d.e+-]*", found[1])])


def test_the_coefficients_of_the_method_are_those_of_the_solver_and_of_scipy():
    for name in ("PARTS", "WEIGHTS", "FIFTH", "THIRD", "INCREMENTS"):
        assert np.array_equal(table(name), np.ravel(getattr(dormand_prince, name)))
    assert np.array_equal(table("DENSE"), np.ravel(scipys.D))
    assert np.array_equal(table("DENSE_PARTS"), scipys.C[13:16])
    assert np.array_equal(table("DENSE_INCREMENTS"), np.ravel(scipys.A[13:16]))
