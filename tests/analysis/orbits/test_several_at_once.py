"""Special points that lie near to each other or at one value, on maps with closed forms."""

from collections.abc import Callable, Sequence

import casadi as ca
import pytest

import daesolve as ds
from daesolve.analysis import continue_orbit, periodic_orbit

Rule = Callable[[Sequence[ca.SX], ca.SX], Sequence[ca.SX]]


def ticking(rule: Rule, start: Sequence[float], value: float) -> ds.ControlSystem:
    """Return a map as a system: each second the states are what the rule makes of them."""
    names = [f"x{k}" for k in range(len(start))]
    s, p = ds.states(clock="s", **dict.fromkeys(names, "")), ds.parameters(r=value)
    new = rule([s[name] for name in names], p.r)
    reset = ds.Reset({"clock": 0.0, **dict(zip(names, new, strict=True))})
    rates = {"clock": 1.0, **dict.fromkeys(names, 0.0)}
    return ds.ControlSystem(s, rates, p, events=[ds.Event("tick", s.clock - 1, ds.RISING, reset)])


def special(
    rule: Rule, start: Sequence[float], value: float, over: tuple[float, float], passages: int = 1
) -> list[tuple[str, float]]:
    guess = {"clock": 0.0, **{f"x{k}": x for k, x in enumerate(start)}}
    system = ticking(rule, start, value)
    orbit = periodic_orbit(system, guess, section="tick", passages=passages, verify=False)
    found = continue_orbit(orbit, {"r": over}, step=0.1).special
    return sorted(((point.kind, point.value) for point in found), key=lambda one: one[1])


def logistic(*lags: float) -> Rule:
    return lambda x, r: [(r - lag) * one * (1 - one) for one, lag in zip(x, lags, strict=True)]


def delayed(*lags: float) -> Rule:
    # A fixed point at 1 - 1/r, which loses its stability to a pair at r = 2.
    return lambda x, r: [
        new
        for k, lag in enumerate(lags)
        for new in ((r - lag) * x[2 * k] * (1 - x[2 * k + 1]), x[2 * k])
    ]


def pitchfork(x: Sequence[ca.SX], r: ca.SX) -> list[ca.SX]:
    return [r * one - one**3 for one in x]


CASES = [
    (logistic(0.0), [0.6], 2.5, (2.2, 3.3), [("period doubling", 3.0)]),
    (logistic(0.0, 0.0), [0.6] * 2, 2.5, (2.2, 3.3), [("several at once", 3.0)]),
    (
        logistic(0.0, 1e-4),
        [0.6] * 2,
        2.5,
        (2.2, 3.3),
        [("period doubling", 3.0), ("neutral saddle", 3.00005), ("period doubling", 3.0001)],
    ),
    (delayed(0.0), [0.375] * 2, 1.6, (1.5, 2.3), [("Neimark-Sacker", 2.0)]),
    (delayed(0.0, 0.0), [0.375] * 4, 1.6, (1.5, 2.3), [("several at once", 2.0)]),
    (
        delayed(0.0, 1e-3),
        [0.375] * 4,
        1.6,
        (1.5, 2.3),
        [("Neimark-Sacker", 2.0), ("Neimark-Sacker", 2.001)],
    ),
    (
        pitchfork,
        [0.0] * 2,
        0.5,
        (-1.5, 1.5),
        [("several at once", -1.0), ("several at once", 1.0)],
    ),
]


@pytest.mark.long_rows(
    "<lambda>-start1-2.5-over1-expected1",
    "<lambda>-start4-1.6-over4-expected4",
    "pitchfork-start6-0.5-over6-expected6",
)
@pytest.mark.slow
@pytest.mark.parametrize(("rule", "start", "value", "over", "expected"), CASES)
def test_points_in_one_step_are_parted_or_said_to_be_several(
    rule: Rule,
    start: Sequence[float],
    value: float,
    over: tuple[float, float],
    expected: list[tuple[str, float]],
) -> None:
    found = special(rule, start, value, over)
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    # The neutral saddle lies between both to the square of their distance.
    for (kind, place), (_, exact) in zip(found, expected, strict=True):
        assert abs(place - exact) < (1e-8 if kind == "neutral saddle" else 1e-10), (place, exact)


@pytest.mark.long
def test_a_point_of_several_says_how_many_and_does_not_switch() -> None:
    guess = {"clock": 0.0, "x0": 0.6, "x1": 0.6}
    system = ticking(logistic(0.0, 0.0), [0.6, 0.6], 2.9)
    orbit = periodic_orbit(system, guess, section="tick", verify=False)
    (point,) = continue_orbit(orbit, {"r": (2.9, 3.05)}, step=0.5).special
    assert point.detail == "0 multipliers are outside the unit circle on one side, 2 on the other"
    with pytest.raises(ds.errors.UnsupportedError, match="no single direction leads"):
        point.switch()


@pytest.mark.slow
def test_a_branch_that_passes_onto_orbits_of_half_the_period_says_so() -> None:
    # There are no orbits of period 2 below r = 3, where they come back to their doubling.
    guess = {"clock": 0.0, "x0": 0.59}
    system = ticking(logistic(0.0), [0.59], 3.05)
    orbit = periodic_orbit(system, guess, section="tick", passages=2, verify=False)
    ends = continue_orbit(orbit, {"r": (2.9, 3.06)}, step=0.1).ends
    assert ends[0].startswith("reached r = 2.9, where orbits go round 2 times in this period")
    assert ends[1] == "reached r = 3.06"
