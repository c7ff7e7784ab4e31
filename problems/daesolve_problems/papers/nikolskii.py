"""Nikolskii and Smirnov 1985: forms of the equations of systems with dry friction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.papers import Compared, Item, Paper, Shown
from daesolve.typing import BoundCase
from daesolve_problems.papers.common import told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-3
"""N^2 or (N m)^2: what is more than the rounding of an answer."""
STATED = ("three-solutions", "two-solutions", "none-jam", "unique-but-negative-det")


def prism_forms(quick: bool) -> Shown:
    """(2.5) to (2.7): the prism in the forms 1, 2 and 3."""
    case = ds.problem("prism").case("three-solutions")
    problem = _guided(case)
    state = _sliding(case)
    rows: list[Compared] = []
    worst = 0.0
    for variant in ((1, 1), (1, 2), (2, 1), (2, 2)):
        found = {n: problem.form(n).matrices(state, variant).solve() for n in (1, 2, 3)}
        signs = np.array([(-1.0) ** p for p in variant])
        reactions = found[3][1]
        for number in (1, 2):
            worst = max(worst, float(np.max(np.abs(signs * found[number][1] - reactions))))
        holds = "holds" if problem.form(3).matrices(state, variant).holds(reactions) else "fails"
        words = f"N = ({reactions[0]:.6g}, {reactions[1]:.6g}) N, x'' = {found[3][0][0]:.6g} m/s²"
        rows.append(Compared(f"variant {variant}, (2.4) {holds}", "", words))
    related = "N⁽²⁾ = (−1)^p N⁽³⁾; below (2.7) both sides have one symbol"
    rows.append(Compared("forms 1 and 2 differ from form 3 by", "identical", worst, "N", related))
    return Shown(
        rows,
        formulas={f"form {n}": problem.form(n).latex() for n in (1, 2, 3)},
        note="Loads of the case three-solutions.",
    )


def _guided(case: BoundCase) -> ds.friction.VariantProblem:
    system = case.system
    assert isinstance(system, ds.MechanicalSystem)
    return ds.friction.variant_problem(system, case.values)


def _sliding(case: BoundCase) -> dict[str, float]:
    return {"x": 0.0, "x_dot": case.full_parameters["slip_sign"]}


def gauss(quick: bool) -> Shown:
    """(3.3), Z: where a search from many starts ends."""
    random = np.random.default_rng(0)
    rows: list[Compared] = []
    for name in STATED[1:]:
        case = ds.problem("prism").case(name)
        problem = _guided(case)
        function = problem.gauss_function(_sliding(case))
        ends: dict[str, int] = {}
        for _ in range(8 if quick else 40):
            found, value = function.minimise(40.0 * random.normal(size=function.unknowns))
            reactions = ", ".join(f"{entry:.4g}" for entry in found[-2:])
            words = (
                f"Z = {value:.3g} at N = ({reactions})" if value > 1e-6 else f"N = ({reactions})"
            )
            ends[words] = ends.get(words, 0) + 1
        listed = "; ".join(f"{words}: {count}" for words, count in sorted(ends.items()))
        says = "Z = 0 is the motion, Z > 0 self-locking"
        why = {
            "two-solutions": "Z = 0 at both, and one of them is not physical",
            "none-jam": "no answer: self-locking, as the paper has it",
            "unique-but-negative-det": "the only answer, Z = 0, is not physical",
        }[name]
        rows.append(Compared(name, says, listed, "", why))
    return Shown(rows)


def loads(quick: bool) -> Shown:
    """Figure 1: how many answers a load of the prism has."""
    found: dict[str, Figure] = {}
    rows: list[Compared] = []
    for name in STATED[:1] if quick else STATED:
        case = ds.problem("prism").case(name)
        answer = case.analyse("regions")
        found[f"{name}: answers over the load"] = answer.figures["regions"]
        report = _guided(case).report(_sliding(case))
        physical = sum(entry["valid"] and entry["physical"] for entry in report["answers"])
        exact = f"{report['count']} answers, {physical} of them physical"
        rows.append(Compared(f"{name}: variants that meet (2.4)", "one", exact))
    sweep = ds.problem("prism").case("three-solutions").analyse("hysteresis")
    return Shown(rows, {**found, "hysteresis": sweep.figures["hysteresis"]})


def body(quick: bool) -> Shown:
    """(4.1): a body on three pairs of pads, from its start to its stop."""
    case = ds.problem("three-supports").case("reference")
    report = case.analyse("variants").values
    chosen = next(e for e in report["answers"] if e["variant"] == report["chosen"])
    exact = ", ".join(f"{value:.4f}" for value in chosen["reactions"].values())
    run = case.solve()
    document = told(case, run)
    figures = {name: rule(document) for name, rule in case.problem.figures.items()}
    return Shown(
        [
            Compared(
                "reactions at the start, N",
                "9.26, 1.12, 4.34",
                exact,
                "",
                "three terms of (4.1) have wrong signs or places; with them all pads are below",
            ),
            Compared("variant at the start", "(2, 2, 2)", f"{tuple(report['chosen'])}"),
            Compared("all supports stop at the same time", "yes", run.end_time, "s", "confirmed"),
            Compared("changes of the loaded pads", "not given", _switches(run)),
        ],
        figures,
        note="Published reactions are those of (4.1) as printed, with the numbers of this case.",
    )


def _switches(run: ds.Trajectory) -> int:
    return sum(event.name == "support_switch" for event in run.events)


def body_forms(quick: bool) -> Shown:
    """(2.1) and (2.2) for the body on three pairs of pads."""
    case = ds.problem("three-supports").case("reference")
    problem = _guided(case)
    state = {"x_dot": 0.3, "y_dot": -0.2, "phi_dot": 0.7}
    chosen = problem.solve(state).chosen
    assert chosen is not None
    found, value = problem.gauss_function(state).minimise()
    apart = float(np.max(np.abs(found[-3:] - chosen.reactions)))
    return Shown(
        [
            Compared("variant while it slides", "by (2.3) or (2.4)", f"{chosen.variant}"),
            Compared("Z where a search from zero ends", "0", value),
            Compared("its reactions differ from the answer by", "0", apart, "N"),
        ],
        formulas={f"form {n}": problem.form(n).latex() for n in (1, 2, 3)},
    )


def pads(quick: bool) -> Shown:
    """Compare the reduced coefficients of friction of a pad with their approximation."""
    rows: list[Compared] = []
    ratios = (0.1, 0.5, 1.0, 2.0)
    found = np.column_stack(ds.friction.reduced_friction(ratios))
    for ratio, (slide, spin) in zip(ratios, found.tolist(), strict=True):
        shape = 1.0 - math.exp(-ratio / 0.634)
        rows.append(
            Compared(
                f"f'/f at ρ/R = {ratio:g}",
                f"1 − e^(−ρ/K): {shape:.4f}",
                slide,
                "",
                "with the best constant, K = 0.634 R" if ratio == ratios[0] else "",
            )
        )
        rows.append(Compared(f"f''/f at ρ/R = {ratio:g}", "a double integral", spin))
    return Shown(rows, note="One potential gives both: f' = f d'(x), f'' = f (d − x d').")


paper = Paper(
    "nikolskii-smirnov",
    "Forms of the equations with dry friction",
    "V. V. Nikolskii, Yu. P. Smirnov, On the forms of the equations of dynamics of a system with "
    "dry friction (received 30 October 1985, in Russian)",
    [
        Item(
            "(2.5) to (2.7)",
            "the prism in the forms 1, 2 and 3",
            prism_forms,
            ["daesolve analyse prism variants --case three-solutions"],
        ),
        Item(
            "figure 1",
            "how many variants a load of the prism has",
            loads,
            [
                "daesolve analyse prism regions --case three-solutions --out regions",
                "daesolve analyse prism hysteresis --case three-solutions --out hysteresis",
            ],
        ),
        Item("(3.3) and Z", "the non-linear form, and the function of Gauss", gauss),
        Item("section 4, pads", "reduced coefficients of friction", pads),
        Item(
            "(4.1)",
            "a body on three pairs of pads",
            body,
            ["daesolve run three-supports --out body", "daesolve analyse three-supports variants"],
        ),
        Item("(4.1), forms", "the body in the forms 1, 2 and 3", body_forms),
    ],
)
