r"""The equations of a body in guides in the forms of Nikolskii and Smirnov, and Z.

For a unit reaction, support p of pair k pushes with the generalised force :math:`\nu_k^p` and has
the friction :math:`\varphi_k^p`, including the coefficient of friction. For a variant (p_1, ...,
p_m),

    M v' = h + sum_k w_k N_k,    J v' + b = 0,

form 1: :math:`w_k = \nu_k^p + \varphi_k^p`, N_k >= 0, with normals in one common direction;
form 2: the same columns, written with :math:`(-1)^p` times a common normal, N_k >= 0;
form 3: :math:`w_k = (-1)^p(\nu_k^p + \varphi_k^p)`, :math:`(-1)^p N_k \ge 0`.

(3.1) to (3.3) have no variant index: with N signed as in form 3,

    M v' = h + sum_k (nu_k^1 + phi_k^1) (|N_k| - N_k) / 2 + (nu_k^2 + phi_k^2) (|N_k| + N_k) / 2,

and Z is the sum of the weighted squares of the residuals of these rows.

Source: V. V. Nikolskii, Yu. P. Smirnov, "On the forms of the equations of dynamics of a system with
dry friction", (2.1) to (3.3), with normals inward: the sign of (3.2) is corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.contact.posing.guides import Guides, SupportAction
from daesolve.errors import OutOfRangeError

FORMS = (1, 2, 3)
NUMBERS = ("3.1", "3.2", "3.3", "Z")
"""The available equations: with switches delta, with |N|, with both substituted, and Z."""
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
INDICES = "ijklmnopq"
"""The letters of the variant indices, pair by pair."""
GREEK = {
    "phi": r"\varphi",
    "psi": r"\psi",
    "theta": r"\theta",
    "alpha": r"\alpha",
    "beta": r"\beta",
}


@dataclass(frozen=True, eq=False)
class SupportBalance:
    """The parts of the equations in a state.

    Parameters
    ----------
    mass
        M, (nv, nv).
    force
        h, (nv,), without the reactions of the supports.
    normals, frictions
        The generalised forces of a unit reaction of the first and of the second support of each
        pair, as normal and as friction, (2, nv, m).
    jacobian, bias
        J, (r, nv), and b, (r,): rows that the supports keep, then all others.
    others
        The forces of unit reactions of the others, (nv, n); the rows themselves if they are ideal.
    """

    mass: np.ndarray
    force: np.ndarray
    normals: np.ndarray
    frictions: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray
    others: np.ndarray

    @property
    def columns(self) -> np.ndarray:
        """The generalised force of a unit reaction of each support, (2, nv, m)."""
        return self.normals + self.frictions

    @cached_property
    def _free(self) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations that keep every row: a particular one (nv,), and directions (nv, n)."""
        size = len(self.force)
        if not len(self.jacobian):
            return np.zeros(size), np.eye(size)
        found: Any = scipy.linalg.null_space(self.jacobian)
        return -np.linalg.pinv(self.jacobian) @ self.bias, np.asarray(found)

    @cached_property
    def _rows(self) -> np.ndarray:
        """Return directions in which other reactions do not push, (r, nv)."""
        if not self.others.size:
            return np.eye(len(self.force))
        return np.asarray(scipy.linalg.null_space(self.others.T)).T

    @property
    def freedom(self) -> int:
        """The number n of free accelerations."""
        return self._free[1].shape[1]

    def accelerations(self, free: np.ndarray) -> np.ndarray:
        """Return v' (nv,) that keeps every row, from its free part (n,)."""
        start, directions = self._free
        return start + directions @ free

    def residual(self, accelerations: np.ndarray, reactions: np.ndarray) -> np.ndarray:
        """Return the residual of (3.3), from v' (nv,) and signed reactions N (m,).

        If there are other reactions, the rows are combined so that these drop out.
        """
        upper, lower = np.maximum(-reactions, 0.0), np.maximum(reactions, 0.0)
        pushed = self.columns[0] @ upper + self.columns[1] @ lower
        return self._rows @ (self.mass @ accelerations - self.force - pushed)


@dataclass(frozen=True, eq=False)
class FormMatrices:
    """The linear equations of a form, for a variant in a state.

    Parameters
    ----------
    mass, force, jacobian, bias, others
        M, h, J, b and the forces of other reactions: see `SupportBalance`.
    columns
        w, (nv, m).
    signs
        The factors for which N_k times the factor must not be negative, (m,).
    """

    mass: np.ndarray
    force: np.ndarray
    columns: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray
    others: np.ndarray
    signs: np.ndarray

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the accelerations v' (nv,) and the reactions N (m,) of the variant.

        Raises
        ------
        numpy.linalg.LinAlgError
            The determinant of the variant is zero.
        """
        size, pairs = self.columns.shape
        whole = np.zeros((size + len(self.jacobian),) * 2)
        whole[:size, :size], whole[size:, :size] = self.mass, self.jacobian
        whole[:size, size : size + pairs] = -self.columns
        whole[:size, size + pairs :] = self.others
        found = np.linalg.solve(whole, np.concatenate([self.force, -self.bias]))
        return found[:size], found[size : size + pairs]

    def holds(self, reactions: np.ndarray) -> bool:
        """Return whether reactions satisfy (2.3), or (2.4) in form 3."""
        return bool(np.all(self.signs * reactions >= 0.0))


@dataclass(frozen=True, eq=False)
class VariantForm:
    """One of the three linear forms.

    Parameters
    ----------
    number
        1, 2 or 3.
    guides
        The pairs of supports.
    velocities
        The names of the velocities.
    at
        (state, time, direction) -> `SupportBalance`.
    """

    number: int
    guides: Guides
    velocities: tuple[str, ...]
    at: Callable[..., SupportBalance]

    def matrices(
        self, state: Any, variant: Sequence[int], time: float = 0.0, direction: Any = None
    ) -> FormMatrices:
        """Return the equations of a variant in a state.

        Parameters
        ----------
        state, time, direction
            As in `VariantProblem.at`.
        variant
            1 or 2 for each pair: its loaded support.

        Raises
        ------
        OutOfRangeError
            The variant is invalid.
        """
        count = len(self.guides.pairs)
        loaded = np.asarray(variant)
        if loaded.shape != (count,) or not np.isin(loaded, (1, 2)).all():
            raise OutOfRangeError(
                f"a variant must be 1 or 2 for each of {count} pairs, not {variant!r}"
            )
        parts = self.at(state, time, direction)
        places = [int(support) - 1 for support in loaded]
        columns = np.column_stack([parts.columns[p][:, k] for k, p in enumerate(places)])
        signs: np.ndarray = np.ones(count)
        if self.number == 3:
            signs = np.where(loaded == 2, 1.0, -1.0)
        rows = parts.jacobian, parts.bias, parts.others
        return FormMatrices(parts.mass, parts.force, signs * columns, *rows, signs)

    def latex(self) -> str:
        r"""Return the equations with variant indices, as a LaTeX environment `aligned`.

        Each velocity has a row. For a unit reaction of support p of pair k, :math:`\nu_{k,t}^p` is
        its normal force in row t, and :math:`\varphi_{k,t}^p` its friction. Entries that are zero
        for both supports are left out, and common normals are written as such.
        """
        rows = [self._row(place) for place in range(len(self.velocities))]
        lines = [
            f"{_matrix_row(name)} &= h_{{{letter_of(name)}}}{row}"
            for name, row in zip(self.velocities, rows, strict=True)
        ]
        return _aligned([*lines, self._condition()])

    def _condition(self) -> str:
        conditions = [
            f"(-1)^{INDICES[k]} N_{k + 1}(\\ldots) \\ge 0" if self.number == 3
            else f"N_{k + 1}(\\ldots) \\ge 0"
            for k in range(len(self.guides.pairs))
        ]  # fmt: skip
        return "&" + r",\quad ".join(conditions)

    def _row(self, place: int) -> str:
        """Return the contribution of the reactions to a row."""
        indices = ", ".join(INDICES[: len(self.guides.pairs)])
        terms = [self._factor(k, place) for k in range(len(self.guides.pairs))]
        return "".join(
            f" {'-' if term.startswith('-') else '+'} {term.removeprefix('-')}N_{k + 1}({indices})"
            for k, term in enumerate(terms)
            if term
        )

    def _factor(self, k: int, place: int) -> str:
        """Return the factor of a reaction in a row; empty if it is zero."""
        first, second = self.guides.supports[k]
        index = INDICES[k]
        at = f"{{{k + 1},{letter_of(self.velocities[place])}}}"
        normal = entry_kind(first, second, place, "normal")
        friction = entry_kind(first, second, place, "friction")
        sign = f"(-1)^{index}"
        parts: list[str] = []
        if normal == "opposite":
            common = {1: rf"\nu_{at}^{index}", 2: f"{sign} n_{at}", 3: f"n_{at}"}[self.number]
            parts.append(common)
        elif normal:
            parts.append(f"{sign if self.number == 3 else ''}\\nu_{at}^{index}")
        if friction:
            parts.append(f"{sign if self.number == 3 else ''}\\varphi_{at}^{index}")
        if len(parts) == 2:
            return rf"\bigl[{parts[0]} + {parts[1]}\bigr] "
        return f"{parts[0]} " if parts else ""


@dataclass(frozen=True, eq=False)
class GaussFunction:
    """Z in a state, as a function of the free accelerations and of the signed reactions.

    Parameters
    ----------
    balance
        The equations in the state.
    weights
        mu, (r,): the weight of each row.
    """

    balance: SupportBalance
    weights: np.ndarray

    @property
    def unknowns(self) -> int:
        """The number of arguments: n free accelerations, then m reactions."""
        return self.balance.freedom + self.balance.normals.shape[-1]

    def __call__(self, unknowns: np.ndarray) -> float:
        """Return Z of n free accelerations and m signed reactions."""
        return float(self.weights @ self._residual(np.asarray(unknowns, dtype=float)) ** 2)

    def _residual(self, unknowns: np.ndarray) -> np.ndarray:
        free, reactions = np.split(unknowns, [self.balance.freedom])
        return self.balance.residual(self.balance.accelerations(free), reactions)

    def minimise(self, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """Return the unknowns at the end of a search from a start, and Z there.

        Z has its minimum, zero, at each answer. If determinants of variants have both signs, a
        search may end elsewhere.
        """
        begin = np.zeros(self.unknowns) if start is None else np.asarray(start, dtype=float)

        def residual(values: np.ndarray) -> np.ndarray:
            return np.sqrt(self.weights) * self._residual(values)

        found: Any = scipy.optimize.least_squares(
            residual, begin, xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        return np.asarray(found.x), self(found.x)


def gauss_of(balance: SupportBalance, weights: Sequence[float] | None) -> GaussFunction:
    """Return Z of a state.

    Raises
    ------
    OutOfRangeError
        The weights are not one positive number per row.
    """
    still, unloaded = np.zeros(balance.freedom), np.zeros(len(balance.normals[0].T))
    count = len(balance.residual(balance.accelerations(still), unloaded))
    given = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    if given.shape != (count,) or not np.all(given > 0.0):
        raise OutOfRangeError(f"the weights of Z must be {count} positive numbers, one per row")
    return GaussFunction(balance, given)


def entry_kind(first: SupportAction | None, second: SupportAction, place: int, kind: str) -> str:
    """Return "" for a zero entry, "opposite" if a pair has it with both signs, else "own"."""
    parts = [getattr(support, kind)[place] for support in (first, second) if support is not None]
    if all(part.is_zero() for part in parts):
        return ""
    opposite = len(parts) == 2 and (parts[0] + parts[1]).is_zero()
    constant = len(parts) == 2 and all(part.is_constant() for part in parts)
    return "opposite" if opposite or (constant and float(parts[0]) == -float(parts[1])) else "own"


def _matrix_row(name: str) -> str:
    return rf"(M\dot v)_{{{letter_of(name)}}}"


def letter_of(name: str) -> str:
    """Return the letter of the coordinate of a velocity."""
    stem = name.replace("_dot", "")
    head, _, rest = stem.partition("_")
    letter = GREEK.get(head, head if len(head) == 1 else rf"\mathrm{{{head}}}")
    return f"{letter}_{{{rest.replace('_', ',')}}}" if rest else letter


def nonlinear_latex(
    guides: Guides,
    velocities: Sequence[str],
    number: str,
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
    """
    names = [letter_of(name) for name in velocities]
    if number == "Z":
        return _gauss(guides, names)
    lines: list[str] = []
    factors = _switches if number == "3.1" else _moduli
    if number == "3.1":
        lines.append(SWITCHES)
    if number != "3.3":
        lines.append(ENTRIES)
    for row, name in enumerate(names):
        normal, friction = (
            _terms(guides, row, name, kind, factors) for kind in ("normal", "friction")
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
    factor: Callable[[int, int], str],
) -> list[str]:
    """Return the contributions of the reactions to a row, as friction or as normals."""
    found: list[str] = []
    symbol = r"\varphi" if kind == "friction" else r"\nu"
    for k, (first, second) in enumerate(guides.supports, 1):
        sign_pattern = entry_kind(first, second, row, kind)
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


def _gauss(guides: Guides, names: Sequence[str]) -> str:
    """Return Z, a sum over the rows."""
    lines: list[str] = []
    for row, name in enumerate(names):
        terms = [
            " -" + term.removeprefix(" +")
            for kind in ("normal", "friction")
            for term in _terms(guides, row, name, kind, _moduli)
        ]
        left = "Z &= " if not row else r"&\quad + "
        first = rf"{left}\mu_{{{name}}} \bigl\{{ (M\dot v)_{{{name}}} - h_{{{name}}}"
        found = _broken(first, terms)
        lines += [*found[:-1], rf"{found[-1]} \bigr\}}^2"]
    return _aligned(lines)
