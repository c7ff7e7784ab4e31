"""The reduced equations of the omni-wheel vehicle, N = 3 and n = 4, beside those of the thesis.

K. V. Gerasimov, Dynamics of an omni-wheel vehicle with the inertia of its rollers and with
friction, Moscow State University (2018), chapter 1, (2.3) to (2.8): written out here by hand from
its text, with R, r, l, M, I_S, J, B, Lambda, alpha_i, chi_i and rho_i of the thesis. Where its text
has a slip of the pen, both versions stand here, and the equations say which is meant.
"""

import math

import casadi as ca
import numpy as np
import pytest

from daesolve.export.equation_sections import constants_of, symbols_of
from daesolve.export.reduced_equations import reduced_equations
from daesolve.export.reduced_sections import ReducedSections, pseudo_symbols
from daesolve.export.sections import DOCUMENT, EquationWriter
from daesolve.plugins import registry
from tests.export.printed import printed_values

N, ROLLERS = 3, 4
ALPHA = [2 * math.pi * i / N for i in range(N)]
K = 3 + N * (ROLLERS - 1)
ROUNDING = 1e-12
"""Of the largest term: each sum has fewer than 50 terms of a dozen factors, 600 roundings, and
denominators rho lose a digit of the difference l cos(chi) - r."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def omni():
    bound = registry.problem("omni-rolling").case("spin").changed({"wheels": N, "rollers": ROLLERS})
    system = bound.system
    values = {n: v for n, v in bound.values.items() if n in system.dynamics.values}
    return system, reduced_equations(system, system.dynamics, values)


class Thesis:
    """The formulas of the thesis at one state."""

    def __init__(self, seed):
        generator = np.random.default_rng(seed)
        self.R, self.r, self.l = 0.15, 0.05, 0.1
        self.M, self.I_S, self.J, self.B, self.Lambda = 2.05, 0.037, 1.1e-3, 0.7e-3, 1.7
        self.chi = generator.uniform(-0.7, 0.7, N)
        self.theta = 0.4
        self.nu = generator.uniform(-1.0, 1.0, K)
        self.rho = self.l * np.cos(self.chi) - self.r

    def known(self, mode):
        """Return the numbers by the names of the problem."""
        return {
            "platform_radius": self.R, "roller_axis_radius": self.r, "wheel_radius": self.l,
            "total_mass": self.M, "vehicle_inertia": self.I_S, "wheel_inertia": self.J,
            "roller_inertia": self.B, "velocity_scale": self.Lambda, "theta": self.theta,
            **{f"chi_{i + 1}": chi for i, chi in enumerate(self.chi)},
            **dict(zip(mode.pseudo.names, self.nu, strict=True)),
        }  # fmt: skip

    def free(self):
        """Return the free rollers in the order of the thesis: s, wheel, and angle chi_kl."""
        pairs = [(k, j) for k in range(N) for j in range(1, ROLLERS)]
        return [
            (3 + s, k, self.chi[k] + 2 * math.pi * j / ROLLERS) for s, (k, j) in enumerate(pairs)
        ]

    def mass(self, *, as_printed=False):
        """(2.3); m33 is printed with 1 / Lambda in place of its square."""
        R, J, B, L = self.R, self.J, self.B, self.Lambda
        c, s = np.cos(ALPHA), np.sin(ALPHA)
        wheel, roller = J * R**2 / self.l**2, B * R**2 / self.rho**2
        m = np.zeros((K, K))
        m[0, 0] = self.M * R**2 + np.sum(wheel * s**2 + roller * c**2)
        m[1, 1] = self.M * R**2 + np.sum(wheel * c**2 + roller * s**2)
        m[0, 1] = m[1, 0] = np.sum((-wheel + roller) * s * c)
        m[2, 2] = (self.I_S + N * wheel) / (L if as_printed else L**2)
        mixed = B * R / self.rho * np.sin(self.chi) / L
        m[0, 2] = m[2, 0] = np.sum(mixed * c)
        m[1, 2] = m[2, 1] = np.sum(mixed * s)
        for place, _, angle in self.free():
            m[place, place] = B
            m[2, place] = m[place, 2] = B * math.sin(angle) / L
        return m

    def slopes(self):
        """M*_i = dM*/dchi_i."""
        R, B, L = self.R, self.B, self.Lambda
        found = []
        for i in range(N):
            c, s, rho, chi = np.cos(ALPHA[i]), np.sin(ALPHA[i]), self.rho[i], self.chi[i]
            sine = self.l * np.sin(chi)
            square = 2 * B * R**2 * sine / rho**3
            mixed = B * R / L * (np.cos(chi) / rho + np.sin(chi) * sine / rho**2)
            m = np.zeros((K, K))
            m[0, 0], m[1, 1], m[0, 1] = square * c**2, square * s**2, square * s * c
            m[0, 2], m[1, 2] = mixed * c, mixed * s
            for place, k, angle in self.free():
                if k == i:
                    m[2, place] = B * math.cos(angle) / L
            found.append(m + np.triu(m, 1).T)
        return found

    def turning(self):
        """chi_i' by (1.4)."""
        nu_1, nu_2, nu_3 = self.nu[:3]
        return self.R / self.l * (nu_1 * np.sin(ALPHA) - nu_2 * np.cos(ALPHA) - nu_3 / self.Lambda)

    def sigma(self, values):
        return float(np.sum(values * np.sin(self.chi) / self.rho**3))

    def rows(self, *, as_printed=False):
        """p_12, p_13 and p_23; the first entry of p_12 is printed without its R."""
        c, s, R, L = np.cos(ALPHA), np.sin(ALPHA), self.R, self.Lambda
        sine = self.rho * np.sin(self.chi)
        sigma = self.sigma
        first = sigma(c) if as_printed else R * sigma(c)
        return {
            (0, 1): np.array([first, R * sigma(s), sigma(sine) / L]),
            (0, 2): np.array([R * sigma(c**2), R * sigma(s * c), sigma(c * sine) / L]) / L,
            (1, 2): np.array([R * sigma(s * c), R * sigma(s**2), sigma(s * sine) / L]) / L,
        }

    def brackets(self, **how):
        """The brackets {P_a, P_b} after the substitution of the momenta."""
        B, R, M, L = self.B, self.R, self.M, self.Lambda
        rows = self.rows(**how)
        found = {pair: -B * R**2 * row @ self.nu[:3] for pair, row in rows.items()}
        found[0, 2] += M * R**2 / L * self.nu[1]
        found[1, 2] -= M * R**2 / L * self.nu[0]
        return found

    def slopes_of_energy(self):
        """{P_a, L*}, summed over the wheels, as its first line forgets to say."""
        forms = np.array([self.nu @ m @ self.nu for m in self.slopes()])
        found = np.zeros(K)
        found[0] = -self.R / (2 * self.l) * np.sum(forms * np.sin(ALPHA))
        found[1] = self.R / (2 * self.l) * np.sum(forms * np.cos(ALPHA))
        found[2] = self.R / (2 * self.l * self.Lambda) * np.sum(forms)
        return found

    def push(self, *, second=-1.0):
        """The right side of (2.7): `second` is the sign with which {P_a, L*} goes there."""
        turned = sum(
            rate * m @ self.nu for rate, m in zip(self.turning(), self.slopes(), strict=True)
        )
        found = second * self.slopes_of_energy() - turned
        for (a, b), bracket in self.brackets().items():
            found[a] += self.nu[b] * bracket
            found[b] -= self.nu[a] * bracket
        return found


def at(expression, known):
    symbols = ca.symvar(ca.SX(expression))
    function = ca.Function("f", [ca.vertcat(ca.SX(0, 1), *symbols)], [ca.densify(expression)])
    return np.asarray(function([known[symbol.name()] for symbol in symbols]))


def close(found, wanted):
    return np.all(np.abs(found - wanted) <= ROUNDING * np.max(np.abs(wanted)))


@pytest.mark.parametrize("seed", range(4))
def test_the_reduced_mass_matrix_is_that_of_the_thesis_but_for_the_scale_of_m33(omni, seed):
    _, found = omni
    thesis = Thesis(seed)
    mass = at(found.mass, thesis.known(found))
    assert close(mass, thesis.mass())
    printed = thesis.mass(as_printed=True)
    wrong = np.argwhere(np.abs(mass - printed) > 1e-6 * np.abs(printed))
    assert wrong.tolist() == [[2, 2]]


@pytest.mark.parametrize("seed", range(4))
def test_the_brackets_are_those_of_the_thesis_but_for_a_lost_radius(omni, seed):
    _, found = omni
    thesis = Thesis(seed)
    known = thesis.known(found)
    ours = {pair: at(b, known).item() for pair, b in found.lagrangian.brackets.items()}
    wanted = thesis.brackets()
    assert ours.keys() == wanted.keys()
    # What cancels is the largest term, of which rounding is a part.
    largest = thesis.B * thesis.R**3 * float(np.sum(1 / np.abs(thesis.rho) ** 3))
    largest += thesis.M * thesis.R**2 / thesis.Lambda
    for pair, value in wanted.items():
        assert abs(ours[pair] - value) <= ROUNDING * largest
    lost = thesis.brackets(as_printed=True)[0, 1]
    assert abs(lost - ours[0, 1]) > 1e-3 * abs(ours[0, 1])


@pytest.mark.parametrize("seed", range(4))
def test_momentum_equations_are_2_7_with_the_second_term_on_the_other_side(omni, seed):
    _, found = omni
    thesis = Thesis(seed)
    known = thesis.known(found)
    assert close(at(found.lagrangian.slopes, known).ravel(), thesis.slopes_of_energy())
    push = at(found.push, known).ravel()
    assert close(push, thesis.push())
    # In (2.7) {P_a, L*} stands on the right with the sign that it has on the left of (2.1).
    printed = thesis.push(second=1.0)
    assert np.max(np.abs(push - printed)) > 1e-3 * np.max(np.abs(push))


def test_free_rollers_keep_2_8(omni):
    _, found = omni
    thesis = Thesis(0)
    known = thesis.known(found)
    kept = [v for n, v in found.integrals.items() if n.startswith("roller_momentum")]
    ours = [at(value, known).item() for value in kept]
    wanted = [
        thesis.nu[s] + thesis.nu[2] * math.sin(a) / thesis.Lambda for s, _, a in thesis.free()
    ]
    assert close(np.array(ours), np.array(wanted))


def test_what_is_printed_says_the_same(omni):
    """The LaTeX is read back by the rules of mathematics, and evaluated."""
    system, found = omni
    symbols = {**symbols_of(system)}
    symbols |= pseudo_symbols(found, symbols)
    writer = EquationWriter(symbols, constants_of(system), DOCUMENT)
    sections = {s.title: s.text for s in ReducedSections(found, symbols, writer).all()}
    thesis = Thesis(2)
    known = thesis.known(found)
    letters = {symbols[name]: value for name, value in known.items()}
    texts = [text for title, text in sections.items() if title != "Mode"]
    values = printed_values("\n\n".join(texts), letters)
    mass = thesis.mass()
    for i in range(K):
        for j in range(i, K):
            shown = values.get(f"m^*_{{{i + 1},{j + 1}}}", 0.0)
            assert abs(shown - mass[i, j]) <= ROUNDING * np.max(np.abs(mass))
    largest = max(map(abs, thesis.brackets().values()))
    for (a, b), wanted in thesis.brackets().items():
        shown = values[f"\\{{P_{{{a + 1}}}, P_{{{b + 1}}}\\}}"]
        assert abs(shown - wanted) <= 10 * ROUNDING * largest
    slopes = thesis.slopes_of_energy()
    for k in range(3):
        shown = values[f"\\{{P_{{{k + 1}}}, L^*\\}}"]
        assert abs(shown - slopes[k]) <= ROUNDING * np.max(np.abs(slopes))
