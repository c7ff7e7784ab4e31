"""How settings are compared, and that tables in the documentation have the programs' columns."""

import math

import pytest

from benchmarks.chain import tables as chain
from benchmarks.chain.measuring import Measurement as Chain
from benchmarks.common.figures import Figures
from benchmarks.omni_rolling import run as omni_rolling
from benchmarks.peers.comparing import ahead, best_of, closest, compared, failures
from benchmarks.peers.measuring import Measurement
from benchmarks.peers.tables import tables, text
from benchmarks.variants.__main__ import tables as tables_of_variants
from benchmarks.variants.measuring import Measurement as Variant

from .programs import ROOT

TASK = "pendulum-10"


def one(peer, setting, seconds, error, **more):
    return Measurement(
        peer, TASK, "RK", setting, seconds=seconds, error=error, gap=0.0, energy=0.0, **more
    )


FOUND = [
    one("daesolve", "fine", 3.0, 1e-12),
    one("daesolve", "coarse", 2.0, 1e-5),
    one("daesolve", "useless", 0.1, 0.5),
    one("mujoco", "fine", 6.0, 1e-13),
    one("mujoco", "middle", 6.0, 1e-8),
    one("mujoco", "coarse", 1.0, 1e-3),
    one("mujoco", "coarser", 0.5, 1e-2),
    one("mujoco", "wild", 0.1, 2.0),
    one("mujoco", "early", 0.0, math.nan, reason="at t = 2 s: it fell"),
    one("mujoco", "late", 0.0, math.nan, reason="at t = 5 s: it fell"),
]


def test_a_setting_is_compared_with_the_cheapest_of_no_larger_error():
    found = {entry.peer.setting: entry for entry in compared(FOUND, TASK, "mujoco")}
    assert list(found) == ["fine", "middle", "coarse", "coarser"]
    assert {name: entry.ratio for name, entry in found.items()} == {
        "fine": None,
        "middle": 2.0,
        "coarse": 0.5,
        "coarser": 0.25,
    }
    assert ahead(list(found.values())) is found["coarse"]
    assert closest(list(found.values())[1:]) is found["coarser"]


def test_failures_are_listed_once_with_their_times():
    assert failures(FOUND, TASK, "mujoco") == [
        "RK wild: left the motion: not one digit is right",
        "RK early; RK late: between t = 2 s and 5 s: it fell",
    ]


def test_of_several_rounds_the_best_that_came_to_an_end_counts():
    failed = one("mujoco", "fine", 0.0, math.nan, reason="it fell")
    slow, quick = one("mujoco", "fine", 4.0, 1e-13), one("mujoco", "fine", 3.0, 1e-13)
    assert best_of([failed, slow, quick, slow]) == [quick]


def rows(table, heading):
    """The rows of a Markdown table by its first heads."""
    lines = table[table.index(heading) :].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line]


def test_the_tables_of_packages_have_the_settings_that_matter_and_the_columns_of_the_page():
    told = tables(FOUND)
    heading = next(line for line in told.splitlines() if line.startswith("| package |"))
    found = rows(told.split("\n\nWithout")[0], heading)
    assert [(row[0], row[1], row[6]) for row in found] == [
        ("daesolve", "RK, fine", "1"),
        ("daesolve", "RK, coarse", "1"),
        ("mujoco", "RK, fine", "none as exact"),
        ("mujoco", "RK, coarse", "**0.5**"),
    ]
    assert heading in (ROOT / "docs/benchmarks/index.md").read_text(encoding="utf-8")
    assert "mujoco, RK, middle" in text(FOUND)


def test_the_tables_of_chains_have_ratios_exponents_and_the_columns_of_the_page():
    settings = [("daesolve", "taylor", 1e-12, 1.0), ("mujoco", "RK4", 1e-9, 1.0)]
    found = [
        Chain(package, rods, 1.0, method, "x", True, 0.1 * rods**2, rods * power, 10, error, 0, 0)
        for rods in (5, 50, 200)
        for package, method, error, power in settings
    ]
    found.append(Chain("exudyn", 5, 1.0, reason="not installed"))
    told = chain.tables(found)
    assert "| daesolve | taylor, x | 500 | 5e+03 | 2e+04 | 1.00 |" in told
    assert "| mujoco | RK4, x | 2.5 | 250 | 4e+03 | 2.00 |" in told
    assert "- exudyn, N = 5: not installed" in told
    page = (ROOT / "docs/benchmarks/chains.md").read_text(encoding="utf-8")
    heads = [line for line in told.splitlines() if line.startswith("| package | method | error")]
    assert len(heads) == 3
    assert set(heads) <= set(page.splitlines())
    titles = [line for line in told.splitlines() if line.startswith("###")]
    assert [line for line in page.splitlines() if line.startswith("###")] == titles


def test_the_table_of_the_program_by_hand_has_the_columns_of_the_page():
    outcome = omni_rolling.Outcome(0.1, 0.0, 10, 3, 1e-9, 1e-8)
    found = [
        omni_rolling.Measurement("twist", "by hand", outcome, 0.1),
        omni_rolling.Measurement("twist", "ours", outcome, 0.4),
        omni_rolling.Measurement("twist", "broken", None, reason="it fell"),
    ]
    heading, _, ours, broken = omni_rolling.table("twist", found).splitlines()
    assert ours.split() == ["ours", "0.4000", "4.00", "-", "10", "3", "1.0e-09", "1.0e-08"]
    assert broken.split() == ["broken", "it", "fell"]
    page = (ROOT / "docs/benchmarks/index.md").read_text(encoding="utf-8")
    printed = next(line for line in page.splitlines() if line.startswith("twist  "))
    assert printed.split() == heading.split()
    names = {f"C by hand, DOP853 {tolerance}" for tolerance in omni_rolling.TOLERANCES}
    names |= {f"daesolve {name}, taylor" for name in omni_rolling.MODELS}
    assert all(f"\n{name}  " in page for name in names)


def test_wrong_answers_stand_out_among_variants():
    found = [
        Variant("Newton", 4, unique, 10, 8, 6, wrong, 0, 0.125)
        for unique, wrong in ((True, 0), (False, 2))
    ]
    told = tables_of_variants(found)
    assert "| Newton | 75 %, 0.12 ms |" in told
    assert "| Newton | 75 %, **2 wrong**, 0.12 ms |" in told
    assert told.count("| *members with an answer* | 8 of 10 |") == 2


def test_figures_of_both_comparisons_are_fields_of_their_measurements():
    names = set(Figures.__dataclass_fields__)
    assert names <= set(Measurement.__dataclass_fields__)
    assert names <= set(Chain.__dataclass_fields__)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_the_exponent_of_a_power_law_is_its_power(power):
    sizes = [5, 10, 200]
    assert chain.exponent(sizes, [3.0 * n**power for n in sizes]) == pytest.approx(power)
