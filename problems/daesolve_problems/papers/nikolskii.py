"""Nikolskii and Smirnov 1985: forms of the equations of systems with dry friction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

import daesolve as ds
from daesolve.reporting.papers import Compared, Item, Paper, Shown
from daesolve.typing import BoundCase
from daesolve_problems.figures import new_figure
from daesolve_problems.papers.common import document_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-3
"""N^2 or (N m)^2: anything larger is more than rounding of an answer."""
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
            "none-jam": "no answer: self-locking, as the paper says",
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
    document = document_of(case, run)
    figures = {name: rule(document) for name, rule in case.problem.figures.items()}
    return Shown(
        [
            Compared(
                "reactions at the start, N",
                "9.26, 1.12, 4.34",
                exact,
                "",
                "three terms of (4.1) have wrong signs or places; with them all loaded pads are "
                "the lower ones",
            ),
            Compared("variant at the start", "(2, 2, 2)", f"{tuple(report['chosen'])}"),
            Compared("all supports stop at the same time", "yes", run.end_time, "s", "confirmed"),
            Compared("changes of the loaded pads", "not given", _switches(run)),
        ],
        figures,
        note="The published reactions follow from (4.1) as printed, with the numbers of this case.",
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
    found: dict[str, Figure] = {}
    for exponent in (1.0,) if quick else (1.0, 0.0, -0.5, 2.0):
        near = ds.friction.simplified_lengths(exponent)
        lengths = f"K, K₁, K₂ = {near.slide:.3f}, {near.turn:.3f}, {near.decay:.3f} r"
        off = f"off by {near.slide_error:.3f} f in f', {near.turn_error:.3f} f in f''"
        rows.append(Compared(f"n = {exponent:g}: nearest exponentials", "K, K₁, K₂", lengths))
        rows.append(Compared(f"n = {exponent:g}: their largest errors", "not given", off))
        found[f"coefficients, n = {exponent:g}"] = _coefficients(exponent, near)
    far = 10.0
    exact = float(ds.friction.reduced_friction([far], exponent=1.0)[1][0])
    near = ds.friction.simplified_lengths(1.0)
    simple = near.turn * math.exp(-far / near.decay)
    why = "the moment falls as r/ρ, and not exponentially"
    rows.append(Compared("f''/f at ρ = 10 r, n = 1", f"{simple:.2g}", exact, "", why))
    note = "One potential gives both: f' = f d'(x), f'' = f (d − x d'). The exponentials are good "
    note += "to some hundredths of f, and lose the moment where the velocity centre is far away."
    return Shown(rows, found, note=note)


def _coefficients(exponent: float, near: ds.friction.SimplifiedLengths) -> Figure:
    ratios = np.linspace(0.0, 5.0, 301)
    slides, turns = ds.friction.reduced_friction(ratios, exponent=exponent)
    drawn = new_figure(7.0, 3.2)
    axes = drawn.add_subplot()
    axes.plot(ratios, slides, color="C0", label="f'/f")
    axes.plot(ratios, 1.0 - np.exp(-ratios / near.slide), "--", color="C0", label="simplified")
    axes.plot(ratios, turns, color="C1", label="f''/f")
    axes.plot(ratios, near.turn * np.exp(-ratios / near.decay), "--", color="C1")
    axes.set_xlabel("ρ / r")
    axes.legend(frameon=False)
    return drawn


LIMITS = {"force_y": 5.98866, "moment_z": 0.70390, "force_x": 5.5538}
"""Loads at which the body on three pairs of pads can no longer rest."""


def start(quick: bool) -> Shown:
    """Compare the test of stagnation and the successive approximations with stiction."""
    case = ds.problem("three-supports").case("reference")
    system = case.system
    assert isinstance(system, ds.MechanicalSystem)
    rows: list[Compared] = []
    for name, limit in LIMITS.items():
        for share in (0.5, 0.95):
            values = {**case.values, name: share * limit}
            tested = ds.friction.stagnation_test(system, {"x": 0.0}, values)
            held = ds.friction.stiction(system, {"x": 0.0}, values).sticks
            says = f"{'rests' if tested.stays else 'moves'}, R/fN = {tested.ratio:.3g}"
            wrong = "" if tested.stays == held else "sufficient, and not necessary"
            label = f"{name} at {share:g} of the limit of rest"
            rows.append(Compared(label, says, "rests" if held else "moves", "", wrong))
    for factor in (5.0,) if quick else (1.2, 2.0, 5.0, 20.0):
        values = {**case.values, "force_y": factor * LIMITS["force_y"]}
        found = ds.friction.successive_approximations(system, {"x": 0.0}, values)
        count = len(found.accelerations) - 1
        words = f"converge, {count} steps" if found.converged else f"diverge, {count} steps"
        exact = ds.friction.stiction(system, {"x": 0.0}, values)
        growth = f"slides at once, {exact.growth:.4g} in the metric of masses"
        why = "" if found.converged else "near the limit the directions turn farther at each step"
        label = f"approximations at {factor:g} times the limit"
        rows.append(Compared(label, words, growth, "", why))
    note = "Left: the paper's procedures. Right: stiction over all directions."
    return Shown(rows, note=note)


def without_indices(quick: bool) -> Shown:
    """(3.1) to (3.3): the form without indices."""
    problem = _guided(ds.problem("prism").case("three-solutions"))
    formulas = {number: problem.nonlinear_latex(number) for number in ("3.1", "3.2", "3.3", "Z")}
    state, worst = _sliding(ds.problem("prism").case("three-solutions")), 0.0
    balance = problem.balance(state)
    found = problem.solve(state, policy="all")
    for answer, rates in zip(found.answers, found.accelerations, strict=True):
        accelerations = np.array(list(rates.values()))
        residual = balance.residual(accelerations, answer.reactions)
        worst = max(worst, float(np.max(np.abs(residual))))
    signs = "before (3.1) both δ are printed with −½: an upper support would pull"
    return Shown(
        [
            Compared("δ¹ and δ²", "−½(1 − sgn N), −½(1 + sgn N)", "+½ in both", "", signs),
            Compared("residual of (3.3) at the three answers", "0", worst, "N"),
        ],
        formulas=formulas,
    )


def reversal(quick: bool) -> Shown:
    """Run motions that reverse and stop: the method along a motion."""
    rows: list[Compared] = []
    found: dict[str, Figure] = {}
    for name, case_name in (("cam-follower", "turns"), ("drawer", "plain"), ("drawer", "wheels")):
        case = ds.problem(name).case(case_name)
        run = case.solve()
        turned = sum(event.name == "at_rest" for event in run.events)
        words = f"slips that end: {turned}; changes of supports: {_switches(run)}"
        rows.append(Compared(f"{name}, {case_name}", "not treated", words))
        balance = run.drift["energy"].max_relative
        rows.append(Compared(f"{name}, {case_name}: energy less work", "0", balance))
        if case_name != "wheels":
            kind = next(iter(case.problem.figures))
            found[f"{name}: {kind}"] = case.problem.figures[kind](document_of(case, run))
    return Shown(rows, found)


def shaken(quick: bool) -> Shown:
    """Shake the body on three pairs of pads: it breaks loose and sticks, again and again."""
    case = ds.problem("three-supports").case("shaken")
    run = case.solve(1.5 if quick else None)
    system = case.system
    assert isinstance(system, ds.MechanicalSystem)
    first = next(event.time for event in run.events if event.name == "breaks_loose")
    loads = {"push_x": 1.0, "push_y": 7.0 * math.sin(2.0 * first)}
    limit = ds.friction.stiction_limit(
        system,
        {"x": 0.0},
        "push_y",
        (0.0, 20.0),
        {**case.parameters, "push_x": 1.0, "twist": 0.1 * math.cos(2.0 * first)},
        first,
    )
    told = {"breaks_loose": "breaks loose", "at_rest": "sticks"}
    instants = [f"{told[e.name]} {e.time:.9f} s" for e in run.events[1:] if e.name in told]
    drawn = new_figure(7.0, 4.0)
    upper, lower = drawn.subplots(2, sharex=True)
    upper.plot(run.times, 1e3 * run["y"], label="y (mm)")
    upper.plot(run.times, 1e3 * run["phi"], label="φ (mrad)")
    lower.plot(run.times, 7.0 * np.sin(2.0 * run.times), label="force along y (N)")
    for event in run.events[1:]:
        if event.name in told:
            for axes in (upper, lower):
                axes.axvline(event.time, color="0.8", linewidth=0.8)
    lower.set_xlabel("t (s)")
    for axes in (upper, lower):
        axes.legend(frameon=False)
    return Shown(
        [
            Compared(
                "force along y where it breaks loose, and the exact limit",
                f"{limit.value:.9f} N",
                loads["push_y"],
                "N",
                "left: the convex programme of rest, at the other loads of this instant",
            ),
            Compared("what happens", "not treated", "; ".join(instants)),
        ],
        {"shaken: places and load": drawn},
        note="Force 7 sin 2t N along y, 1 N along x, moment 0.1 cos 2t N m.",
    )


def flight(quick: bool) -> Shown:
    """Throw the cam follower off: it flies, lands, and goes on."""
    case = ds.problem("cam-follower").case("flies")
    run = case.solve(0.15 if quick else None)
    guided = ds.problem("cam-follower").case("thrown-off", stem=0.0).solve()
    lost = next(event.time for event in run.events if event.name == "cam_lost")
    landed = next(event for event in run.events if event.name == "cam_closed")
    assert landed.impact is not None
    rule, why = case.problem.figures["lift"], "left: where the force of pairs of supports ends"
    return Shown(
        [
            Compared("leaves the cam", f"{guided.end_time:.12g} s", lost, "s", why),
            Compared("lands", "not treated", landed.time, "s"),
            Compared("impulse of the cam", "not treated", landed.impact.impulses["cam"], "N s"),
            Compared("impacts", "not treated", sum(e.impact is not None for e in run.events)),
        ],
        {"cam-follower: flight": rule(document_of(case, run))},
        note="A thin stem: its friction is that of one contact, in forces and in impulses.",
    )


def impact(quick: bool) -> Shown:
    """Compare an impact with friction, reference 2, with the closed form of a rod."""
    case = ds.problem("thrown-rod").case("thrown")
    run = case.solve()
    first = next(event for event in run.events if event.impact is not None)
    struck = first.impact
    assert struck is not None
    by_hand = _rod_impulse(case.values, first.detail)
    lost = min(
        event.impact.kinetic_before - event.impact.kinetic_after
        for event in run.events
        if event.impact is not None
    )
    impulse = struck.impulses["A"]
    return Shown(
        [
            Compared("the first normal impulse, of a rod", f"{by_hand:.10g} N s", impulse, "N s"),
            Compared("the least energy that an impact takes", ">= 0", lost, "J"),
        ],
        note=(
            "Left: the closed form, two equations for the normal impulse and the friction impulse "
            "that ends the slip. The paper has no impacts; its reference 2 has."
        ),
    )


def _rod_impulse(p: Mapping[str, float], before: Mapping[str, float]) -> float:
    """Return the normal impulse of end A by Newton's law, in closed form, N s."""
    angle, half = before["theta"], p["half_length"]
    cosine, sine = math.cos(angle), math.sin(angle)
    normal = before["y_dot"] - half * cosine * before["theta_dot"]
    slip = before["x_dot"] + half * sine * before["theta_dot"]
    own, cross, along = 1.0 + 3.0 * cosine**2, -3.0 * sine * cosine, 1.0 + 3.0 * sine**2
    left = -p["mass"] * np.array([(1.0 + p["restitution"]) * normal, slip])
    pushed, rubbed = np.linalg.solve([[own, cross], [cross, along]], left)
    if abs(rubbed) <= p["friction"] * pushed:
        return float(pushed)
    sense = math.copysign(1.0, slip)
    return float(left[0] / (own - sense * p["friction"] * cross))


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
        Item("(3.1) to (3.3)", "the form without indices", without_indices),
        Item("(3.3) and Z", "the non-linear form, and the function of Gauss", gauss),
        Item("section 4, pads", "reduced coefficients of friction", pads),
        Item(
            "(4.1)",
            "a body on three pairs of pads",
            body,
            ["daesolve run three-supports --out body", "daesolve analyse three-supports variants"],
        ),
        Item("(4.1), forms", "the body in the forms 1, 2 and 3", body_forms),
        Item(
            "section 4, start",
            "the test of stagnation and the successive approximations",
            start,
            ["daesolve analyse three-supports stiction"],
        ),
        Item(
            "beyond: along a motion",
            "slips that turn round; a cam follower and a drawer",
            reversal,
            ["daesolve run cam-follower --out cam", "daesolve run drawer --out drawer"],
        ),
        Item(
            "beyond: from rest, again and again",
            "three pairs of pads under loads that change with time",
            shaken,
            ["daesolve run three-supports --case shaken --out shaken"],
        ),
        Item(
            "beyond: flight",
            "the cam follower that is thrown off flies and lands",
            flight,
            ["daesolve run cam-follower --case flies --out flight"],
        ),
        Item("reference 2", "impact with friction", impact, ["daesolve run thrown-rod --out rod"]),
    ],
)
