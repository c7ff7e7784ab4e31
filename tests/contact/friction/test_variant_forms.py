"""Forms 1, 2 and 3, (3.3) and Z, against the prism's closed form and the library's own answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from daesolve_problems.guided import cam_follower, drawer

import daesolve as ds
from daesolve.errors import OutOfRangeError
from tests.latex import compiled
from tests.reference.prisms import VARIANTS, Prism

SIGNS = np.array([-1.0, 1.0])


@pytest.fixture(params=["unique-lower", "three-solutions", "two-solutions", "none-jam"])
def prism(request):
    case = ds.problem("prism").case(request.param)
    values = case.full_parameters
    problem = ds.friction.variant_problem(case.system, case.values)
    state = {"x": 0.0, "x_dot": values["slip_sign"]}

    def pairs(name):
        return np.array([[values[f"{s}_{name}_{k}"] for s in ("upper", "lower")] for k in (1, 2)])

    closed = Prism(
        pairs("a"),
        pairs("b"),
        pairs("friction"),
        int(values["slip_sign"]),
        values["force_x"],
        values["force_y"],
        values["moment"],
        values["mass"],
    )
    return problem, state, closed


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_three_forms_are_the_closed_form_of_the_prism(prism, variant):
    problem, state, closed = prism
    wanted, accelerated = closed.reactions(variant), closed.acceleration(variant)
    signs = SIGNS[np.array(variant) - 1]
    for number in (1, 2, 3):
        matrices = problem.form(number).matrices(state, variant)
        accelerations, reactions = matrices.solve()
        signed = reactions if number == 3 else signs * reactions
        scale = np.abs(wanted).max()
        # A backward stable solution of 5 rows: rounding times the condition, which is below 1e3.
        assert signed == pytest.approx(wanted, abs=1e-12 * scale)
        assert accelerations == pytest.approx([accelerated, 0.0, 0.0], abs=1e-12 * scale)
        assert matrices.holds(reactions) == (variant in closed.answers())


def test_z_is_zero_at_each_answer_and_nowhere_else_among_the_variants(prism):
    problem, state, closed = prism
    gauss = problem.gauss_function(state)
    assert gauss.unknowns == 3
    for variant in VARIANTS:
        free = closed.acceleration(variant) * np.sign(gauss.balance.accelerations(np.ones(1))[0])
        value = gauss(np.array([free, *closed.reactions(variant)]))
        scale = closed.force_y**2
        assert (value < 1e-24 * scale) == (variant in closed.answers())


def test_a_search_from_zero_ends_in_the_only_answer_where_every_load_has_one():
    case = ds.problem("three-supports").case()
    problem = ds.friction.variant_problem(case.system, case.values)
    state = {"x_dot": 0.3, "y_dot": -0.2, "phi_dot": 0.7}
    found, value = problem.gauss_function(state).minimise()
    chosen = problem.solve(state).chosen
    assert value < 1e-20
    # Z ~ |J dN|^2 and det J is of the order of 1: N is right to its root.
    assert found[-3:] == pytest.approx(chosen.reactions, abs=1e-8)
    told = problem.report(state)["answers"]
    for entry, variant in zip(told, itertools.product((1, 2), repeat=3), strict=True):
        assert tuple(entry["variant"]) == variant
        accelerations, reactions = problem.form(3).matrices(state, variant).solve()
        assert reactions == pytest.approx(list(entry["reactions"].values()), abs=1e-11)
        assert accelerations == pytest.approx(list(entry["acceleration"].values()), abs=1e-10)


def test_weights_scale_the_rows_of_z(prism):
    problem, state, _ = prism
    at = np.array([0.3, 1.0, -2.0])
    plain = problem.gauss_function(state)
    residual = plain.balance.residual(plain.balance.accelerations(at[:1]), at[1:])
    weighted = problem.gauss_function(state, weights=[1.0, 2.0, 5.0])
    assert weighted(at) == pytest.approx(residual**2 @ [1.0, 2.0, 5.0])


def test_ideal_reactions_are_not_in_the_rows_of_z():
    """A block between two guides that a rod holds besides, by its own reaction."""
    q = ds.coordinates(x="m", y="m", z="m")
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, sign), friction=0.3) for sign in (-1, 1)
    ]
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + 2.0 * q.dot.z**2) / 2.0,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("height", q.y, ideal=False, scale=1.0), ds.Holonomic("rod", q.z - q.x)],
        pairs=[ds.friction.VariantPair("guide", supports)],
    )
    problem = ds.friction.variant_problem(block)
    state = {"x": 0.0, "x_dot": 1.0}
    gauss = problem.gauss_function(state)
    found, value = gauss.minimise()
    assert value < 1e-20
    assert found[-1] == pytest.approx(9.81)
    # The rod makes the block three times as heavy along x.
    assert gauss.balance.accelerations(found[:1])[0] == pytest.approx(-0.3 * 9.81 / 3.0)
    accelerations, reactions = problem.form(1).matrices(state, (2,)).solve()
    assert reactions == pytest.approx([9.81])
    assert accelerations[0] == pytest.approx(-0.3 * 9.81 / 3.0)


def test_the_forms_of_the_prism_as_latex_have_the_factors_of_the_paper(prism):
    problem, _, _ = prism
    first, second, third = (problem.form(number).latex() for number in (1, 2, 3))
    assert r"\nu_{1,y}^i N_1(i, j)" in first
    assert r"(-1)^i n_{1,y} N_1(i, j) + (-1)^j n_{2,y} N_2(i, j)" in second
    assert r"h_{y} + n_{1,y} N_1(i, j) + n_{2,y} N_2(i, j)" in third
    assert r"(-1)^i\varphi_{1,x}^i N_1(i, j)" in third
    assert r"(-1)^i N_1(\ldots) \ge 0" in third
    assert "(-1)" not in first.splitlines()[-2]


@pytest.mark.parametrize("number", [0, 4, True, "1"])
def test_there_are_three_forms(prism, number):
    with pytest.raises(OutOfRangeError, match="must be 1, 2 or 3"):
        prism[0].form(number)


def test_bad_variants_and_weights_are_refused(prism):
    problem, state, _ = prism
    with pytest.raises(OutOfRangeError, match="1 or 2 for each of 2 pairs"):
        problem.form(1).matrices(state, (1, 3))
    with pytest.raises(OutOfRangeError, match="3 positive numbers"):
        problem.gauss_function(state, weights=[1.0, -1.0, 1.0])


def test_the_form_without_indices_as_latex_has_the_terms_of_the_paper(prism):
    problem, _, _ = prism
    switched, plain, whole, gauss = (
        problem.nonlinear_latex(number) for number in ("3.1", "3.2", "3.3", "Z")
    )
    assert r"\delta_k^1 &= \tfrac12\bigl(1 - \operatorname{sgn} N_k\bigr)" in switched  # not -1/2
    assert r"\varphi_{1,x}^{1} \delta_{1}^{1} |N_{1}|" in switched
    assert r"\lambda_{y} &= n_{1,y} N_{1} + n_{2,y} N_{2}" in plain
    assert r"\varphi_{2,x}^{2} \frac{|N_{2}| + N_{2}}{2}" in plain
    assert r"(M\dot v)_{y} &= h_{y} + n_{1,y} N_{1} + n_{2,y} N_{2} \\" in whole
    assert (
        r"\mu_{y} \bigl\{ (M\dot v)_{y} - h_{y} - n_{1,y} N_{1} - n_{2,y} N_{2} \bigr\}^2" in gauss
    )
    assert gauss.count(r"|N_{1}| + N_{1}") == gauss.count(r"|N_{1}| - N_{1}")
    with pytest.raises(OutOfRangeError, match=r"must be 3.1, 3.2, 3.3 or Z"):
        problem.nonlinear_latex("3.4")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prism", "three-supports", "drawer", "cam-follower"])
def test_the_forms_compile_as_latex(name, tmp_path):
    case = {"drawer": drawer, "cam-follower": cam_follower}.get(name)
    bound = (ds.problem(name) if case is None else case.problem).case()
    problem = ds.friction.variant_problem(bound.system, bound.values)
    parts = [problem.form(number).latex() for number in (1, 2, 3)]
    parts += [problem.nonlinear_latex(number) for number in ("3.1", "3.2", "3.3", "Z")]
    body = "\n".join(f"\\[{part}\\]" for part in parts)
    head = "\\documentclass[a4paper,landscape]{article}\\usepackage{amsmath}"
    compiled(f"{head}\\begin{{document}}{body}\\end{{document}}", tmp_path)


# -- the equations as they are printed, entry by entry ---------------------------------------------


def printed_prism(number, closed, variant):
    """(2.5), (2.6) or (2.7) of N_1 and N_2: rows x, y, phi, as printed but for scan errors."""
    entries = np.zeros((3, 2))
    sense = closed.slip
    for k, p in enumerate(variant):
        a, b, f = (part[k][p - 1] for part in (closed.along, closed.height, closed.friction))
        sign = (-1.0) ** p
        gamma = np.pi if p == 1 else 0.0
        entries[:, k] = {
            1: [f * sense, np.cos(gamma), a * np.cos(gamma) + f * b * sense],
            2: [f * sense, sign, sign * a + f * b * sense],
            3: [sign * f * sense, 1.0, a + sign * f * b * sense],
        }[number]
    return entries


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_prisms_forms_are_the_printed_ones_entry_by_entry(prism, number, variant):
    """The paper has friction on the left of row x, and loads and normals on one side elsewhere."""
    problem, state, closed = prism
    columns = problem.form(number).matrices(state, variant).columns
    signs = np.array([[-1.0], [1.0], [1.0]])
    assert signs * columns == pytest.approx(printed_prism(number, closed, variant), abs=1e-14)


def printed_body(pads, state, corrected):
    """The factors of N_s in (4.1), rows x, y, z, M_x, M_y, M_z: as printed, or corrected."""
    entries = np.zeros((6, 3))
    phi, rate = state["phi"], state["phi_dot"]
    for s, (p, a, b, h, radius, friction) in enumerate(pads):
        sign = (-1.0) ** p
        A, B = a * np.cos(phi) - b * np.sin(phi), a * np.sin(phi) + b * np.cos(phi)
        velocity = np.array([state["x_dot"] - rate * B, state["y_dot"] + rate * A])
        speed = np.linalg.norm(velocity)
        e = velocity / speed
        reduced = ds.friction.reduced_friction([speed / (radius * abs(rate))], exponent=0.0)
        slide, turn = (friction * part[0] for part in reduced)
        below = -1.0 if corrected else 1.0
        arms = (B, A) if corrected else (b, a)
        entries[:, s] = [
            -slide * e[0],
            -slide * e[1],
            sign,
            sign * B + h * slide * e[1],
            below * (sign * A + h * slide * e[0]),
            slide * (e[0] * arms[0] - e[1] * arms[1]) - radius * turn * np.sign(rate),
        ]
    return entries


@pytest.mark.parametrize("variant", list(itertools.product((1, 2), repeat=3)))
def test_the_bodys_form_2_is_4_1_but_for_the_misprints_that_are_named(variant):
    """Row M_y has +, and row M_z body-fixed b and a: both are wrong, and nothing else is."""
    case = ds.problem("three-supports").case()
    given = case.full_parameters
    names = ("a", "b", "height", "pad_radius", "friction")
    pads = [
        (p, *(given[f"{('upper', 'lower')[p - 1]}_{name}_{s}"] for name in names))
        for s, p in enumerate(variant, 1)
    ]
    problem = ds.friction.variant_problem(case.system, case.values)
    state = {"x_dot": 0.3, "y_dot": -0.2, "phi_dot": 0.7, "phi": 0.6, "x": 0.0, "y": 0.0}
    columns = problem.form(2).matrices(state, variant).columns
    assert [name[:-4] for name in problem.velocity_names] == [
        "x", "y", "z", "phi", "tilt_x", "tilt_y"
    ]  # fmt: skip
    rows = columns[[0, 1, 2, 4, 5, 3]]
    # The pads' closed form is right to 1e-14.
    assert rows == pytest.approx(printed_body(pads, state, corrected=True), abs=1e-13)
    differs = np.abs(rows - printed_body(pads, state, corrected=False)) > 1e-6
    assert set(np.flatnonzero(differs.any(axis=1))) == {4, 5}
