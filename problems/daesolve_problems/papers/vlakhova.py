"""Vlakhova 2013: gyroscopes and wheelsets whose fast motions are left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Paper, Shown
from daesolve_problems.papers.common import figure
from daesolve_problems.papers.vlakhova_limits import (
    bound,
    derailment,
    flange,
    growth,
    limits,
    loads,
    odd_matrix,
    singular,
)
from daesolve_problems.wheelset.vehicles import kinematic_frequency

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def time_constant(quick: bool) -> Shown:
    """(14): T_1, by the eigenvalues of a wheelset in SI units and in those of the paper."""
    mass, gravity = 1500.0, 9.81
    case = ds.problem("wheelset").case("hunting", speed=1.5, axle_load=mass * gravity)
    at_rest = case.starting(dict.fromkeys(case.full_start, 0.0))
    p = case.full_parameters
    omega = kinematic_frequency(p)
    found = at_rest.analyse("linearization").values["eigenvalues"]
    eigenvalues = (np.array(found["real"]) + 1j * np.array(found["imaginary"])) / omega
    e = omega * 2.0 * p["eps"] * p["speed"] / (p["friction"] * gravity)
    rows: list[Compared] = []
    for words, time in (("T₁ = 2εV/(κg)", e), ("εV/(κg), as the words have it", e / 2.0)):
        known = _normalised(time, p["rho_z"])
        off = max(float(np.min(np.abs(known - value))) for value in eigenvalues)
        rows.append(Compared(f"error of the eigenvalues with {words}", "0", off, "of ω₀"))
    return Shown(rows, note=f"e = ω₀T₁ = {e:.5f}")


def _normalised(e: float, rho: float) -> np.ndarray:
    """Return the eigenvalues of (13), e = omega_0 T_1, without gravity's stiffness."""
    matrix = np.zeros((4, 4))
    matrix[0, 2] = matrix[1, 3] = 1.0
    matrix[2, 1:3] = 2.0 / e, -2.0 / e
    matrix[3, [0, 3]] = -2.0 / (e * rho**2)
    return np.linalg.eigvals(matrix)


def slips(quick: bool) -> Shown:
    """Say whether slips may be neglected where they are small."""
    rows: list[Compared] = []
    found: dict[str, Figure] = {}
    for name, says, why in (
        ("forced", "no, however small ε is", "the main point of the paper, and it is right"),
        ("free", "yes", "without forces the distance is proportional to ε"),
    ):
        answer = ds.problem("wheelset").case(name).analyse("no-slip")
        found[f"{name}: slips and distance"] = answer.figures["slips"]
        values = answer.values
        distance = ", ".join(f"{value:.4f}" for value in values["distance"])
        rows.append(Compared(f"{name}: slips may be neglected", says, "as published", "", why))
        rows.append(Compared(f"{name}: distance from rolling", "not given", distance))
        size = "finite" if name == "forced" else "tends to 0"
        rows.append(Compared(f"{name}: largest slip across", size, values["slip_y"][-1], "εV"))
    return Shown(rows, found, note="At ε = 0.04, 0.02, 0.01, 0.005, 0.0025.")


def orders(quick: bool) -> Shown:
    """(17) to (19): how good the models without and with the next order are."""
    answer = ds.problem("wheelset").case().analyse("orders")
    values = answer.values
    wanted = {"dirac": ("O(ε)", "Dirac's constraints"), "refined": ("O(ε²)", "(19)")}
    rows = [
        Compared(f"order of {words}, {kind}", says, values["slopes"][f"{model} {kind}"])
        for model, (says, words) in wanted.items()
        for kind in ("positions", "velocities")
    ]
    return Shown(rows, dict(answer.figures))


def gyroscope(quick: bool) -> Shown:
    """(3) to (6): the theory of precession of a gyroscope in gimbals."""
    problem = ds.problem("gyroscope")
    case = problem.case("on-manifold")
    answer = case.analyse("orders")
    rows = [
        Compared(f"order of {model}, angles, no nutation", says, answer.values["slopes"][name])
        for model, says in (("dirac", "O(ε)"), ("refined", "not treated for the gyroscope"))
        if (name := f"{model} angles") in answer.values["slopes"]
    ]
    other = problem.case("nutation").analyse("orders").values["slopes"]
    rows += [
        Compared("order of dirac, angles, with nutation", "O(ε)", other["dirac angles"]),
        Compared(
            "order of dirac, velocities, with nutation",
            "O(ε) outside of the boundary layer",
            other["dirac velocities"],
            "",
            "without damping nutation never dies out: velocities do not converge at all",
        ),
    ]
    run = problem.case("nutation").solve()
    title = "path of the rotor's axis"
    return Shown(rows, {title: figure(problem.case("nutation"), run, title), **answer.figures})


def bogie(quick: bool) -> Shown:
    """Return the frequency of a bogie of two axles, for which rolling permits no oscillation."""
    problem = ds.problem("wheelset-bogie")
    case = problem.case("free", model="dirac")
    p = case.full_parameters
    run = case.solve(20.0 if quick else None, at=ds.every(0.01))
    y, before = run["y"], np.flatnonzero(np.diff(np.sign(run["y"])) != 0.0)
    turns = run.times[before] + 0.01 * y[before] / (y[before] - y[before + 1])
    measured = math.pi / float(np.mean(np.diff(turns)))
    formula = kinematic_frequency(p) / math.hypot(1.0, p["half_wheelbase"] / p["half_track"])
    return Shown(
        [
            Compared(
                "frequency of the bogie by Dirac's constraints",
                "not zero; rolling leaves only the trivial motion",
                measured,
                "rad/s",
                f"the classical ω₀/√(1 + (a/l)²) = {formula:.6g} rad/s",
            )
        ],
        {"slips": figure(case, run, "slips")},
    )


def speed(quick: bool) -> Shown:
    """Say for which speeds the models hold, and what a suspension does."""
    answer = ds.problem("wheelset").case("suspended").analyse("root-locus")
    rows: list[Compared] = []
    for model in ("full", "refined", "dirac"):
        lost = [entry["speed"] for entry in answer.values[model]["critical"] if entry["lost"]]
        exact = f"{lost[0]:.5g} m/s" if lost else "cannot be said"
        rows.append(Compared(f"critical speed, {model}", "no suspension is treated", exact))
    return Shown(rows, dict(answer.figures))


paper = Paper(
    "vlakhova",
    "Small velocities: gyroscopes and wheelsets",
    "A. V. Vlakhova, On 'nonholonomic motions' of gyroscopic and wheeled systems, Vestnik "
    "Moskov. Univ., Ser. 1, Mat. Mekh. (2013) 5, 67-73 (in Russian)",
    [
        Item(
            "(1), (2), (4), (5), (16)",
            "constraints of singular Lagrangians",
            singular,
        ),
        Item(
            "(3) to (5)",
            "the precession of a gyroscope",
            gyroscope,
            ["daesolve analyse gyroscope orders --case nutation --out orders"],
        ),
        Item("section 2, its end", "a gyroscopic matrix of odd order", odd_matrix),
        Item(
            "(6) to (10)",
            "rolling or Dirac's constraints",
            limits,
            [
                "daesolve analyse wheelset limit --out limit",
                "daesolve analyse wheelset-bogie limit --out bogie",
                "daesolve analyse gyroscope limit --case damped",
            ],
        ),
        Item("(6) to (9), N", "normal loads by releasing constraints", loads),
        Item("(14)", "the time of the slips", time_constant),
        Item(
            "(15) to (17)",
            "slips that must not be neglected",
            slips,
            ["daesolve analyse wheelset no-slip --out slips"],
        ),
        Item("after (18)", "the forces up to which there is a slow motion", bound),
        Item(
            "(18) and (19)",
            "the orders of the models of a wheelset",
            orders,
            ["daesolve analyse wheelset orders --out orders"],
        ),
        Item("after (19)", "the growth of the oscillation", growth),
        Item(
            "section 4, a bogie",
            "a bogie of two axles",
            bogie,
            ["daesolve run wheelset-bogie --model dirac"],
        ),
        Item(
            "section 4, critical speed",
            "what a suspension does",
            speed,
            ["daesolve analyse wheelset root-locus --case suspended --out locus"],
        ),
        Item(
            "section 4, its end",
            "derailment, and loads by a table",
            derailment,
            ["daesolve analyse wheelset derailment --case gust --out derailment"],
        ),
        Item(
            "section 4, after its end",
            "a flange that holds, and climbs at Nadal's limit",
            flange,
            ["daesolve analyse wheelset-flanges derailment --case climbing --out flange"],
        ),
    ],
    missing={
        "the figure": "a sketch that names Y, Ψ and the axes; `daesolve animate` draws a run of "
        "the wheelset in motion",
        "after (19), [15]": "higher orders without iterations: the library has the orders 0 and 1",
    },
)
