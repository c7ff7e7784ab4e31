"""Borisov, Kilin, Mamaev 2015: wheels, skates, and a cart on two bogies."""

from __future__ import annotations

import numpy as np

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Paper, Shown
from daesolve_problems.cart.symmetric import symmetric
from daesolve_problems.figures import new_figure
from daesolve_problems.papers import borisov_open
from daesolve_problems.papers.common import figure


def unicycle(quick: bool) -> Shown:
    """Section 3: a wheel moves like a sleigh with a heavier skate."""
    runs = {
        model: ds.problem("unicycle").case(model=model).solve(at=ds.every(0.01))
        for model in ("wheel", "sleigh")
    }
    wheel, sleigh = runs["wheel"], runs["sleigh"]
    apart = max(float(np.max(np.abs(wheel[n] - sleigh[n]))) for n in ("x", "y", "psi"))
    case = ds.problem("unicycle").case()
    title = "forces of the ground"
    return Shown(
        [
            Compared("distance between wheel and sleigh after 20 s", "0", apart, "m, rad"),
            Compared(
                "the forces on wheel and skate are equal",
                "multipliers change by α",
                "no",
                "",
                "they differ by ω φ' i / h: the skate's force is not the wheel's",
            ),
        ],
        {title: figure(case, wheel, title)},
    )


def cart(quick: bool) -> Shown:
    """Section 2: how many combinations of the constraints may be substituted."""
    case = ds.problem("cart").case()
    found = case.analyse("substitutable").values
    run = case.solve()
    return Shown(
        [
            Compared(
                "combinations that may be substituted",
                f"{found['bound']}, Hadamard's number",
                found["dimension"],
                "",
                "the number is a lower bound: all four conditions of rolling may be substituted",
            )
        ],
        {"forces along the axles": figure(case, run, "forces along the axles")},
    )


def bogies(quick: bool) -> Shown:
    """(4.5) to (4.8): the cart on two bogies, far from degenerate points."""
    problem = ds.problem("bogies")
    full, reduced = (problem.case("regular", model=model).solve() for model in ("full", "reduced"))
    apart = max(float(np.max(np.abs(full[n] - reduced[n]))) for n in ("x", "y", "psi"))
    drift = max(full.drift[f"integral_{k}"].max_relative for k in (1, 2))
    case = problem.case("regular")
    central = case.analyse("degeneracy").values["central_square"]
    symmetric_cart, same = symmetric()
    like = problem.case("regular").changed(same)
    short, names = 3.0, ("x", "y", "psi")
    ones = like.solve(short, at=[short])
    twos = ds.problem("cart").case("free").changed(symmetric_cart)
    other = twos.solve(short, initial=dict(like.guess()[0]), at=[short])
    equal = max(abs(float(ones[n][-1] - other[n][-1])) for n in names)
    p = case.full_parameters
    scanned = p["inertia"] / p["mass"] - p["centre"] ** 2
    return Shown(
        [
            Compared("distance between two skates and the reduced equations", "0", apart, "m, rad"),
            Compared(
                "distance of a cart of four wheels with symmetric pairs, after 3 s",
                "0",
                equal,
                "m, rad",
                "the cart of section 2, with its wheels as skates heavier by 2i/h²",
            ),
            Compared("drift of θ_k' + ψ'", "0, an integral", drift, "of its scale"),
            Compared(
                "ρ_c², after (4.7)",
                f"I and no j in the scan: {scanned:.4g} m²",
                central,
                "m²",
                "(I − 2j)/m − a²: the bogies keep their absolute rates",
            ),
        ],
        {"path and rates of turn": figure(case, full, "path and rates of turn")},
    )


def near_miss(quick: bool) -> Shown:
    """(4.11), second open problem: the cart passes a degenerate point."""
    case = ds.problem("bogies").case("near-miss")
    answer = case.analyse("passage")
    found = answer.values
    return Shown(
        [
            Compared("rate of turn before", "changes abruptly", found["psi_dot_before"], "rad/s"),
            Compared("rate of turn after", "", found["psi_dot_after"], "rad/s"),
            Compared(
                "force on a skate, times distance² over m",
                "not given",
                found["forces_by_mass_distance_squared"]["skate_1"],
                "m³/s²",
                "forces grow without bound near the point, their sum more slowly",
            ),
            Compared(
                "resultant, times distance over m",
                "not given",
                found["resultant_by_mass_distance"],
                "m²/s²",
            ),
        ],
        dict(answer.figures),
    )


def collapse(quick: bool) -> Shown:
    """(4.11): motions that run into the degenerate point in finite time."""
    problem = ds.problem("bogies")
    answer = problem.case("collapse").analyse("degeneracy")
    reduced = problem.case("collapse", model="reduced")
    starts = np.arange(0.0, np.pi, np.pi / (8 if quick else 64))
    drawn = new_figure(8.0, 3.6)
    axes = drawn.add_subplot()
    into = 0
    for theta in starts:
        start = {"theta_1": float(theta), "theta_2": float(theta) - 0.3}
        run = reduced.solve(0.5, initial=start, at=np.linspace(-1.0, 0.5, 301))
        ended = not run.outcome.good
        into += ended
        axes.plot(run.times, run["psi_dot"], color="C1" if ended else "0.75", linewidth=0.9)
    run = problem.case("collapse").solve()
    limit = float(run.end_state["psi_dot"])
    axes.set(xlabel="t (s)", ylabel="rate of turn (rad/s)", title="orange: ends in the point")
    return Shown(
        [
            Compared(
                "motions that run into the point",
                "the field is not defined there",
                f"{into} of {len(starts)} starts",
                "",
                "an open set of motions collapses in finite time",
            ),
            Compared("rate of turn at the end", "", limit, "rad/s", "a root of the local theory"),
            Compared(
                "|C₂ − C₁| below which there are such motions",
                "",
                answer.values["critical_difference"],
                "rad/s",
            ),
        ],
        {"rates of turn": drawn, **answer.figures},
    )


paper = Paper(
    "borisov-kilin-mamaev",
    "Wheels and skates: the Hadamard–Hamel problem",
    "A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics of "
    "wheeled vehicles, Regular and Chaotic Dynamics 20 (2015) 6, 752-766",
    [
        Item(
            "section 2",
            "substitutable constraints of a cart",
            cart,
            ["daesolve analyse cart substitutable"],
        ),
        Item("figures 2 and 3", "a unicycle and its sleigh", unicycle, ["daesolve run unicycle"]),
        Item(
            "(4.5) to (4.8)",
            "the cart on two bogies",
            bogies,
            ["daesolve run bogies --case regular --out regular"],
        ),
        Item(
            "(4.11), passing",
            "a degenerate point is passed",
            near_miss,
            ["daesolve analyse bogies passage --case near-miss --out passage"],
        ),
        Item(
            "(4.11), collapse",
            "motions that end in a degenerate point",
            collapse,
            [
                "daesolve run bogies --case collapse",
                "daesolve analyse bogies degeneracy --case collapse --out degeneracy",
            ],
        ),
        Item(
            "first open problem",
            "two-dimensional integral manifolds: the circle map of the two bogies",
            borisov_open.circle,
        ),
        Item(
            "first open problem, tongues",
            "for which C₁/V and C₂/V the motion is phase locked",
            borisov_open.tongues,
        ),
        Item(
            "growth vector",
            "where a skate stands across the frame",
            borisov_open.growth,
            ["daesolve analyse bogies growth --out growth"],
        ),
        Item(
            "invariant measures",
            "whether these motions keep a volume",
            borisov_open.volume,
            ["daesolve analyse bogies invariant-measure"],
        ),
    ],
    missing={
        "figure 1": "a sketch of the cart and of one of its pairs: the problem's scene shows it",
    },
)
