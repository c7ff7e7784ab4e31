"""What makes no support and no pair of them, and in which words that is told."""

from __future__ import annotations

from typing import Any

import pytest

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.friction import Pad, Support, VariantPair

Q = ds.coordinates(x="m", y="m", z="m", phi="rad")
FLAT: dict[str, Any] = {"normal": (0.0, 1.0), "point": (Q.x, Q.y)}
SPACE: dict[str, Any] = {"normal": (0.0, 0.0, 1.0), "point": (Q.x, Q.y, Q.z)}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({**FLAT, "normal": (1.0,)}, "must have 2 or 3"),
        ({"normal": (0.0, 1.0)}, "by its point, or by the velocity"),
        ({**FLAT, "velocity": (Q.dot.x, Q.dot.y)}, "by its point, or by the velocity"),
        ({**FLAT, "point": (Q.x, Q.y, Q.z)}, "must have 2 entries, as its normal"),
        ({**FLAT, "normal": "up"}, "must be a list of expressions"),
        ({**SPACE, "pad": 0.1, "spin": Q.dot.phi}, "must be a Pad or PadNodes"),
        (
            {**FLAT, "pad": Pad(0.1), "spin": Q.dot.phi},
            "a pad needs a support in space",
        ),
        ({**SPACE, "pad": Pad(0.1)}, "both or neither of pad and spin"),
    ],
)
def test_what_makes_no_support_is_refused(given, sentence):
    with pytest.raises(PosingError, match=sentence):
        Support(**given)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("two words", [Support(**FLAT)] * 2), "is no word"),
        (("pair", [Support(**FLAT)] * 2, "loose"), "must be two-sided or unilateral"),
        (("pair", [Support(**FLAT)]), "takes 2 supports, not 1"),
        (("pair", [Support(**FLAT)] * 2, "unilateral"), "takes 1 support, not 2"),
        (
            ("pair", [Support(**FLAT), Support(**SPACE)]),
            "in the plane or in space",
        ),
        (("pair", [FLAT, FLAT]), "takes a list of Supports"),
    ],
)
def test_what_makes_no_pair_is_refused(arguments, sentence):
    with pytest.raises(PosingError, match=sentence):
        VariantPair(*arguments)
