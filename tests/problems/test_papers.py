"""The papers made again quickly: nothing fails, and values agree with what is known of each."""

from __future__ import annotations

import importlib
import math
import tomllib
from pathlib import Path

import pytest

from daesolve.reporting.papers import make

PROJECT = Path(__file__).parents[2] / "problems" / "pyproject.toml"
POINTS = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["daesolve.papers"]
PAGES = Path(__file__).parents[2] / "docs" / "papers"


def quickly(name):
    module, _, attribute = POINTS[name].partition(":")
    made = make(getattr(importlib.import_module(module), attribute), quick=True)
    assert made.paper.name == name
    assert [entry.why for entry in made.failed] == []
    return {
        row.quantity: row for entry in made.items if entry.shown for row in entry.shown.rows
    }, made


def test_each_page_of_the_documentation_has_its_paper():
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == set(POINTS)


@pytest.mark.long
def test_borisov_kilin_mamaev():
    rows, made = quickly("borisov-kilin-mamaev")
    assert rows["combinations that may be substituted"].exact == 4
    assert rows["distance between wheel and sleigh after 20 s"].exact < 1e-13
    # The local theory's root, and the motion 1.4 ms before the point, to first order in the time.
    assert rows["rate of turn at the end"].exact == pytest.approx(-1.0770551063, abs=1e-3)
    critical = rows["|C₂ − C₁| below which there are such motions"].exact
    assert critical == pytest.approx(1.524205, abs=1e-6)
    # Two other programs, by Newton's method.
    locked = rows["multiplier of the attracting motion"].exact
    assert locked == pytest.approx(0.48234060450977, abs=1e-11)
    tongue = rows["tongue 3/1 at C₂ − C₁ = -2: C₁"].exact
    assert tongue.startswith("2.898635606328 to 3.251586155492")
    assert rows["volume, bogies"].exact == "none at all"
    assert rows["volume, rolling-disc"].exact == "kept"
    assert rows["growth vector, front across"].exact == "(3, 4, 5)"
    cart = "distance of a cart of four wheels with symmetric pairs, after 3 s"
    assert rows[cart].exact < 2e-12
    assert sum(len(entry.shown.figures) for entry in made.items) >= 12


@pytest.mark.long
def test_vlakhova():
    rows, _ = quickly("vlakhova")
    assert rows["error of the eigenvalues with T₁ = 2εV/(κg)"].exact < 1e-9
    assert rows["error of the eigenvalues with εV/(κg), as the words have it"].exact > 1.0
    assert rows["order of (19), positions"].exact == pytest.approx(2.0, abs=0.1)
    formula = rows["frequency of the bogie by Dirac's constraints"]
    assert formula.exact == pytest.approx(0.499237312, rel=1e-6)
    assert rows["(4), constraints of the second class"].exact == 2
    assert rows["(4), p_α − p_γ sin β = 0: difference of what follows from L"].exact < 1e-15
    assert rows["wheelset, forced"].exact == "Dirac's constraints"
    assert rows["wheelset, free"].exact == "rolling"
    assert rows["wheelset-bogie, free"].exact == "mixed: 2 of 4 combinations of slips roll"
    # Creep is saturated where the two forces on a wheel come to Coulomb's together.
    for moment in (0.0, 1.2, 1.8):
        largest = rows[f"largest f_y beside m_z = {moment:g}"].exact
        assert largest == pytest.approx(math.sqrt(4 - moment**2), abs=1e-5)
    assert rows["(19), growth at ε = 0.01"].exact == pytest.approx(0.005)
    assert rows["20 kN, strong wind, limited creep: L/N beyond the limit"].exact > 0.0
    nadal = rows["climbing: L/N of the loads where the tread loses its rail"]
    assert (nadal.published, nadal.exact) == ("Nadal: 1.4805399199", "1.4805399199")
    for model, order in (("Dirac's model", 1.0), ("refined", 2.0)):
        load = rows[f"{model}, N: relative error at ε = 0.0025, order in ε"].exact
        assert float(load.split(", ")[1]) == pytest.approx(order, abs=0.1)


@pytest.mark.long
def test_nikolskii_smirnov():
    rows, made = quickly("nikolskii-smirnov")
    assert rows["forms 1 and 2 differ from form 3 by"].exact < 1e-12
    assert rows["variant at the start"].exact == "(1, 2, 2)"
    assert rows["all supports stop at the same time"].exact == pytest.approx(0.8248380516608)
    assert "not physical" in rows["unique-but-negative-det"].why
    assert r"\ge 0" in made.items[0].shown.formulas["form 3"]
    assert rows["residual of (3.3) at the three answers"].exact < 1e-13
    assert rows["force_y at 0.5 of the limit of rest"].published.startswith("rests")
    assert rows["force_y at 0.95 of the limit of rest"].published.startswith("moves")
    assert rows["force_y at 0.95 of the limit of rest"].exact == "rests"
    assert rows["f''/f at ρ = 10 r, n = 1"].exact == pytest.approx(0.016021, abs=1e-6)
    assert rows["cam-follower, turns: energy less work"].exact < 1e-10
    impulse = rows["the first normal impulse, of a rod"]
    assert impulse.exact == pytest.approx(float(impulse.published.split()[0]), rel=1e-9)
    assert rows["the least energy that an impact takes"].exact > 0.0


@pytest.mark.long
def test_gerasimov_rolling():
    rows, _ = quickly("gerasimov-rolling")
    times = [rows[f"change of rollers number {n}"].exact for n in (1, 2, 3, 4)]
    assert times == pytest.approx([1.069495, 3.208416, 5.347336, 7.486482], abs=1e-6)
    assert rows["its limit in closed form"].exact == pytest.approx(0.960655295924533, rel=1e-14)
    assert rows["T / T(0) at the end"].exact == pytest.approx(0.960655295924533, rel=1e-12)
    assert rows["by multipliers"].exact < 1e-13
    assert rows["Λ"].exact == pytest.approx(3.610781, abs=1e-6)
    assert rows["5: (2.8) varies by"].exact < 1e-13
    assert rows["T after an impact, reactions against projection"].exact < 1e-13
    assert rows["error of Carnot's theorem in each impact, reduced"].exact < 1e-14
    assert abs(rows["the same, less the closed form"].exact) < 1e-9
    # The next order changes it by 6e-4 at the B of the quick form.
    assert rows["|ν₃ − 1| / B"].exact == pytest.approx(7296.74, rel=1e-3)


@pytest.mark.long
def test_gerasimov_sliding():
    rows, _ = quickly("gerasimov-sliding")
    assert rows["0.1: peak of the slip"].exact == pytest.approx(0.495285, abs=1e-6)
    assert rows["0.1: largest deviation"].exact == pytest.approx(0.1722658, abs=1e-7)
    assert rows["distance of the vehicle at the end"].exact > 1.0
    assert rows["height of the lowest point, over the tilt"].exact < 1e-7
    assert rows["the lowest point, where the axis points up steeply"].exact == "B₋"
    assert rows["spin: largest jump of a state at 1 changes of rollers"].exact == 0.0
    imposed = rows["ends of 10 mm: duration of a slip over the time between changes"]
    assert imposed.exact == pytest.approx(0.0349, abs=1e-4)
    assert rows["motors stop at 0.6 s: it"].exact == "rolls on"
    assert rows["motors stop at 1 s: it"].exact == "tips over"
    order = float(rows["straight: order of the deviation in the share"].exact)
    assert order == pytest.approx(1.0 / 3.0, abs=0.03)


@pytest.mark.long
def test_morozov_matrosov_pesterev():
    rows, made = quickly("morozov-matrosov-pesterev")
    assert rows["period of the hoop"].exact == pytest.approx(3.311959, abs=1e-6)
    assert rows["period of the hoop"].published == "3.331705 s"
    assert rows["rank of the equations for the reactions, at rest"].exact == "2 of 4"
    # By statics, in test_largest.py.
    for name in ("coefficient of friction", "friction that the hoop needs"):
        assert rows[name].exact == pytest.approx(1.1144156018845695, rel=1e-12)
    closed = next(entry for entry in made.items if entry.item.name == "(6)").shown
    assert "the reactions, in closed form" in closed.formulas
    assert rows["its energy less the work of the drive"].exact < 1e-13
    # By a quadrature, in test_rolling_wheel_drive.py.
    slips = rows["hoop on ground of 1.0: rolls until"].exact
    assert slips == pytest.approx(0.703644832, abs=1e-9)
    # The spline has samples 2e-4 s apart: its error is far below that of even samples.
    assert rows["width of the bundle of curves, hoop"].exact < 1e-9
    assert rows["width of the bundle, with pendulum"].exact > 0.1
    pendulum = rows["frequency of the pendulum on a fixed axle"].exact
    assert pendulum == pytest.approx(math.sqrt(9.81 / 0.008))
