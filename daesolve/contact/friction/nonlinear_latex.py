"""The nonlinear form of the equations of a body in guides, (3.1) to (3.3), and Z, as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from daesolve.contact.posing.guides import Guides, SupportAction

NUMBERS = ("3.1", "3.2", "3.3", "Z")
"""The available equations: with switches delta, with |N|, with both substituted, and Z."""
Letter = Callable[[str], str]


A_LINE = 4
"""The number of terms in a line."""
SWITCHES = (
    r"\delta_k^1 &= \tfrac12\bigl(1 - \operatorname{sgn} N_k\bigr),\quad "
    r"\delta_k^2 = \tfrac12\bigl(1 + \operatorname{sgn} N_k\bigr)"
)
ENTRIES = (
    r"\varphi_{k,t}^p &= f_k^p\, \tau_k^p \cdot \frac{\partial r_k^p}{\partial q_t},\quad "
    r"\nu_{k,t}^p = \nu_k^p \cdot \frac{\partial r_k^p}{\partial q_t}"
)


def nonlinear_latex(
    guides: Guides,
    velocities: Sequence[str],
    number: str,
    letter: Letter,
    entry: Callable[..., str],
) -> str:
    r"""Return one of the paper's equations for the rows of a system.

    Parameters
    ----------
    guides
        The pairs.
    velocities
        The names of the rows.
    number
        One of `NUMBERS`.
    letter, entry
        Return the letter of a velocity; and whether an entry exists, and whether a pair has it with
        both signs.
    """
    names = [letter(name) for name in velocities]
    if number == "Z":
        return _gauss(guides, names, entry)
    lines: list[str] = []
    factors = _switches if number == "3.1" else _moduli
    if number == "3.1":
        lines.append(SWITCHES)
    if number != "3.3":
        lines.append(ENTRIES)
    for row, name in enumerate(names):
        normal, friction = (
            _terms(guides, row, name, kind, entry, factors) for kind in ("normal", "friction")
        )
        if number == "3.3":
            lines += _broken(rf"(M\dot v)_{{{name}}} &= h_{{{name}}}", normal + friction)
            continue
        for left, terms in ((rf"Q_{{\tau,{name}}}", friction), (rf"\lambda_{{{name}}}", normal)):
            if terms:
                lines += _broken(f"{left} &=", [terms[0].removeprefix(" +"), *terms[1:]])
    return _aligned(lines)


def _broken(left: str, terms: Sequence[str]) -> list[str]:
    """Return the lines of a row."""
    if not terms:
        return [left]
    parts = ["".join(terms[k : k + A_LINE]) for k in range(0, len(terms), A_LINE)]
    return [left + parts[0], *(r"&\quad" + part for part in parts[1:])]


def _aligned(lines: Sequence[str]) -> str:
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])


def _moduli(k: int, p: int) -> str:
    sign = "-" if p == 1 else "+"
    return rf"\frac{{|N_{{{k}}}| {sign} N_{{{k}}}}}{{2}}"


def _switches(k: int, p: int) -> str:
    return rf"\delta_{{{k}}}^{{{p}}} |N_{{{k}}}|"


def _terms(
    guides: Guides,
    row: int,
    name: str,
    kind: str,
    entry: Callable[..., str],
    factor: Callable[[int, int], str],
) -> list[str]:
    """Return the contributions of the reactions to a row, as friction or as normals."""
    found: list[str] = []
    symbol = r"\varphi" if kind == "friction" else r"\nu"
    for k, (first, second) in enumerate(guides.supports, 1):
        sign_pattern = entry(first, second, row, kind)
        if kind == "normal" and sign_pattern == "opposite":
            found.append(f" + n_{{{k},{name}}} N_{{{k}}}")
            continue
        for p, support in ((1, first), (2, second)):
            if support is not None and not _is_zero(support, row, kind):
                found.append(f" + {symbol}_{{{k},{name}}}^{{{p}}} {factor(k, p)}")
    return found


def _is_zero(support: SupportAction, row: int, kind: str) -> bool:
    part: ca.SX = support.normal if kind == "normal" else support.friction
    return bool(part[row].is_zero())


def _gauss(guides: Guides, names: Sequence[str], entry: Callable[..., str]) -> str:
    """Return Z, a sum over the rows."""
    lines: list[str] = []
    for row, name in enumerate(names):
        terms = [
            " -" + term.removeprefix(" +")
            for kind in ("normal", "friction")
            for term in _terms(guides, row, name, kind, entry, _moduli)
        ]
        left = "Z &= " if not row else r"&\quad + "
        first = rf"{left}\mu_{{{name}}} \bigl\{{ (M\dot v)_{{{name}}} - h_{{{name}}}"
        found = _broken(first, terms)
        lines += [*found[:-1], rf"{found[-1]} \bigr\}}^2"]
    return _aligned(lines)
