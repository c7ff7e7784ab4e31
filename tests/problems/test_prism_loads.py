"""Which loads the prism answers to, and how it leaps from branch to branch."""

import json
import math
from functools import cache

import numpy as np
import pytest
from daesolve_problems.prism import problem
from daesolve_problems.prism.guide import Guide, sliding
from daesolve_problems.prism.loads import loads
from daesolve_problems.prism.pictures import REGIONS
from daesolve_problems.prism.regions import compared, extent, rasterised
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgba
from matplotlib.path import Path
from typer.testing import CliRunner

from daesolve.cli.app import app
from daesolve.errors import FrictionlessIllPosed, OutOfRangeError
from tests.reference.prisms import random_prism
from tests.reference.yielding_prism import YieldingPrism, told_prism

CASES = tuple(case.name for case in problem.cases)
KINDS = {
    "unique-lower": "one",
    "unique-mixed": "one",
    "two-solutions": "several",
    "none-jam": "none",
    "three-solutions": "several",
    "unique-but-negative-det": "unphysical",
    "tall-rough-upper-two": "several",
}


@cache
def answer(name, analysis):
    return problem.case(name).analyse(analysis)


# -- regions -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_enumeration_finds_the_same_regions_as_the_closed_form():
    name = "three-solutions"
    told = answer(name, "regions").values
    assert told["raster"]["loads"] > 500
    assert told["raster"]["differences"] == 0
    assert told["at_the_load"] == KINDS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_so_it_does_in_all_cases(name):
    told = answer(name, "regions").values
    assert told["raster"]["differences"] == 0
    assert told["at_the_load"] == KINDS[name]


@pytest.mark.slow
def test_a_wrong_map_is_seen():
    case = problem.case("three-solutions")
    other = problem.case("three-solutions", lower_friction_1=0.45)
    raster = rasterised(loads(case), extent(sliding(case), (-8.0, -10.0)))
    assert compared(raster, sliding(case).sectors())["differences"] == 0
    assert compared(raster, sliding(other).sectors())["differences"] > 0


def drawn(seed):
    """A random prism, by the reference and by the problem."""
    prism = random_prism(np.random.default_rng(seed))
    places, levers, friction = (
        {(k + 1, p + 1): float(table[k, p]) for k in range(2) for p in range(2)}
        for table in (prism.along, prism.arms(), prism.friction)
    )
    return prism, Guide(places, levers, friction, prism.mass, prism.slip)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_sectors_hold_the_answers_of_the_loads_in_them(seed):
    prism, known = drawn(seed)
    sectors = known.sectors()
    assert sectors[-1].end == pytest.approx(sectors[0].start + math.tau)
    angle = math.atan2(prism.moment, prism.force_y)
    turned = sectors[0].start + (angle - sectors[0].start) % math.tau
    (sector,) = (s for s in sectors if s.start <= turned < s.end)
    assert set(sector.variants) == set(prism.answers())
    for each in known.answers(prism.force_x, prism.force_y, prism.moment):
        assert each.reactions == pytest.approx(prism.reactions(each.variant), rel=1e-12)
        assert each.acceleration == pytest.approx(prism.acceleration(each.variant), rel=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_physical_answers_less_the_others_are_as_many_in_every_sector(seed):
    prism, known = drawn(seed)
    for sector in known.sectors():
        count = 2 * len(sector.physical) - len(sector.variants)
        assert count == prism.degree()


def test_a_ray_is_what_one_support_balances_alone():
    prism = told_prism(problem.case("three-solutions").values)
    rays = answer("three-solutions", "regions").values["rays"]
    for k, p in np.ndindex(2, 2):
        ray, lever, up = rays[f"{('upper', 'lower')[p]}_{k + 1}"], prism.arms()[k, p], 2 * p - 1
        assert ray["lever"] == pytest.approx(lever, rel=1e-15)
        # t > 0 pushes by up t with the moment up c t, and the load is the opposite
        assert ray["angle"] == pytest.approx(math.atan2(-up * lever, -up), rel=1e-15)


def test_the_map_shows_its_regions_and_rays():
    figure = answer("three-solutions", "regions").figures["regions"]
    (axes,) = figure.axes
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    rays = {f"{side} {k} alone" for side in ("upper", "lower") for k in (1, 2)}
    assert labels == {
        "one",
        "three, two physical",
        "by enumeration",
        "load of the case",
        *rays,
    }
    (star,) = (line for line in axes.lines if line.get_marker() == "*")
    assert star.get_xydata().tolist() == [[-8.0, -10.0]]
    # the wedge of three answers holds the load
    (wedge,) = (p for p in axes.patches if p.get_facecolor() == to_rgba(REGIONS[3, 2][1]))
    assert Path(wedge.get_xy()).contains_point((-8.0, -10.0))


@pytest.mark.parametrize("analysis", ["regions", "hysteresis"])
def test_supports_that_cannot_hold_the_prism_are_refused(analysis):
    above = problem.case("unique-lower", upper_a_1=1.0)
    with pytest.raises(FrictionlessIllPosed, match="vanish"):
        above.analyse(analysis)


# -- hysteresis ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_prism_with_three_answers_leaps_up_at_minus_8_and_down_at_minus_12():
    told = answer("three-solutions", "hysteresis").values
    (up,), (down,) = told["up"], told["down"]
    assert up["moment"] == pytest.approx(-8.0, abs=1e-12)
    assert (up["before"], up["after"]) == ([1, 2], [2, 1])
    assert up["acceleration_before"] == pytest.approx(1.5, rel=1e-12)
    assert up["acceleration_after"] == pytest.approx(6.3, rel=1e-12)
    assert down["moment"] == pytest.approx(-12.0, abs=1e-12)
    assert (down["before"], down["after"]) == ([2, 1], [1, 2])
    assert down["acceleration_before"] == pytest.approx(3.5, rel=1e-12)
    assert down["acceleration_after"] == pytest.approx(1.5, rel=1e-12)
    spans = {tuple(b["variant"]): (b["physical"], b["from"], b["to"]) for b in told["branches"]}
    assert spans[1, 2] == (True, told["from"], pytest.approx(-8.0))
    assert spans[2, 1] == (True, pytest.approx(-12.0), told["to"])
    assert spans[2, 2] == (False, pytest.approx(-12.0), pytest.approx(-8.0))


@pytest.mark.slow
@pytest.mark.slow_rows("moments1--12.1-ends1")
@pytest.mark.parametrize(
    ("moments", "leap", "ends"),
    [
        ((-12.1, -10.0, -9.0, -8.5, -8.2, -7.9), -7.9, (2, 1)),
        ((-7.9, -10.0, -11.0, -11.5, -11.8, -12.1), -12.1, (1, 2)),
    ],
)
def test_supports_that_yield_leap_there_too(moments, leap, ends):
    values = problem.case("three-solutions").values
    state = np.zeros(4)
    for moment in moments:
        prism = told_prism({**values, "moment": moment})
        supports = YieldingPrism(prism)
        state = supports.after(0.5, state)
        variant = ends if moment == leap else tuple(3 - side for side in ends)
        assert supports.reactions(state) == pytest.approx(prism.reactions(variant), abs=1e-4)


@pytest.mark.slow
def test_a_prism_without_hysteresis_leaps_nowhere():
    told = answer("unique-lower", "hysteresis").values
    assert told["up"] == told["down"] == []
    assert all(branch["physical"] for branch in told["branches"])


@pytest.mark.slow
def test_a_sweep_into_a_jam_tells_where_and_why():
    told = answer("none-jam", "hysteresis").values
    (jam,) = told["up"]
    # where the pair of branches (1, 1) and (2, 1) begins: N_1 = 0, M = c_2^1 P_y
    assert jam["moment"] == pytest.approx(-15.0, abs=1e-12)
    assert jam["after"] is None
    assert math.isnan(jam["acceleration_after"])
    assert "self-locking" in jam["message"]
    assert told["down"] == []


@pytest.mark.slow
def test_branches_that_are_short_are_not_passed_by():
    # (1, 1) is an answer between the moments c_1^1 P_y and c_2^1 P_y, 0.01 N m apart
    case = problem.case("none-jam", upper_friction_2=(0.5 + 1.749) / 2.0)
    told, ends = case.analyse("hysteresis").values, [-17.5, -17.49]
    (short,) = (each for each in told["branches"] if each["variant"] == [1, 1])
    assert [short["from"], short["to"]] == pytest.approx(ends, rel=1e-12)
    (jam,) = told["up"]
    assert jam["before"] == [1, 1]
    assert jam["moment"] == pytest.approx(ends[1], rel=1e-12)


def test_without_a_force_across_the_guide_there_is_nothing_to_sweep():
    with pytest.raises(OutOfRangeError, match="force_y is 0"):
        problem.case("three-solutions", force_y=0.0).analyse("hysteresis")


def test_the_sweeps_are_drawn_over_all_branches():
    figure = answer("three-solutions", "hysteresis").figures["hysteresis"]
    (axes,) = figure.axes
    labels = [line.get_label() for line in axes.lines]
    assert labels == [
        "upper 1, lower 2",
        "lower 1, upper 2",
        "lower 1, lower 2 (unphysical)",
        "moment up",
        "moment down",
    ]
    for line in axes.lines[3:]:
        moments, values = line.get_data()
        # no line joins two branches: beyond a leap there is a gap
        steps = np.abs(np.diff(values))
        assert np.nanmax(steps) < 0.5
        assert np.isnan(values).sum() == 1
        assert np.all(np.diff(moments) >= 0.0) or np.all(np.diff(moments) <= 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ["hysteresis", "regions"])
def test_the_command_line_writes_the_figures(analysis, tmp_path):
    there = tmp_path / "answer"
    words = ["analyse", "prism", analysis, "--case", "three-solutions", "--out", str(there)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (result.output, result.exception)
    assert json.loads((there / "answer.json").read_text())["slip_sign"] == -1.0
    for ending in ("svg", "png"):
        assert (there / f"{analysis}.{ending}").stat().st_size > 0
