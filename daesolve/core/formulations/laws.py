"""Linear laws for residuals: any stable polynomial for each goal, instead of one rate.

A residual of relative degree r obeys

    delta^(r) + a_(r-1) delta^(r-1) + ... + a_0 delta = 0,

and decays if all roots of s^r + a_(r-1) s^(r-1) + ... + a_0 have negative real parts. Its rate is
the geometric mean of their magnitudes, omega = a_0^(1/r), and its shape is given by the numbers c_k
= a_k / omega^(r-k). Thus the rate may change from run to run, and its sign with the direction of
time, which reverses every root. (s + omega)^r has c_k = binomial(r, k).

Source: Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev, (7), with independent coefficients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from daesolve.core.encoding import is_array, is_list, is_tuple
from daesolve.core.equations.dynamics import GoalRow
from daesolve.errors import OutOfRangeError, check_names, is_number

Law = Sequence[float]
"""a_(r-1), ..., a_0: the coefficients of a monic polynomial, highest power first."""


def roots_of(law: Law) -> np.ndarray:
    """Return the roots of a law's polynomial, (r,) 1/s."""
    return np.asarray(np.roots([1.0, *law]))


def check_laws(laws: Mapping[str, Law], rates: Collection[str]) -> None:
    """Refuse laws that are not stable polynomials, or whose goals also have a rate.

    Raises
    ------
    OutOfRangeError
        The message names the goal and the root that does not decay.
    """
    if not isinstance(laws, Mapping):
        raise OutOfRangeError(f"laws must map goals to coefficients, not {laws!r}")
    for goal, law in laws.items():
        listed = _numbers(law)
        if not listed:
            raise OutOfRangeError(
                f"the law of {goal!r} is {law!r}, but must be the coefficients of its "
                "residual's derivatives, highest first: (20.0, 100.0) for s^2 + 20 s + 100"
            )
        slowest = max(roots_of(listed), key=lambda root: root.real)
        if not slowest.real < 0.0:
            raise OutOfRangeError(
                f"the law of {goal!r} is not stable: its polynomial has the root {slowest:.6g}, "
                "whose real part must be negative"
            )
        if goal in rates:
            raise OutOfRangeError(
                f"{goal!r} has a law and a rate, but the law already determines the rate: "
                "leave one of them out"
            )


def _numbers(law: Any) -> list[float]:
    """Return the numbers of a list; [] if it is not a list or contains something else."""
    listed = law.tolist() if is_array(law) else law
    if not (is_list(listed) or is_tuple(listed)):
        return []
    return [float(entry) for entry in listed] if all(map(is_number, listed)) else []


def rates_of(laws: Mapping[str, Law], rows: Iterable[GoalRow]) -> dict[str, float]:
    """Return the rate of each law.

    Raises
    ------
    UnknownNameError
        There is no constraint of this name.
    OutOfRangeError
        The degree of the law differs from the degree of the goal.
    """
    degrees = {row.name: row.degree for row in rows}
    check_names("constraint that reactions fulfil", laws, degrees)
    for goal, law in laws.items():
        if len(law) != degrees[goal]:
            raise OutOfRangeError(
                f"the law of {goal!r} has {len(law)} coefficients, but the relative degree of "
                f"the goal is {degrees[goal]}: give that many"
            )
    return {goal: float(law[-1]) ** (1.0 / len(law)) for goal, law in laws.items()}


def shape_of(law: Law) -> tuple[float, ...]:
    """Return c_0, ..., c_(r-1): the coefficients for a rate of 1."""
    degree = len(law)
    rate = float(law[-1]) ** (1.0 / degree)
    return tuple(float(law[degree - 1 - k]) / rate ** (degree - k) for k in range(degree))


def formula(goal: str, law: Law) -> str:
    """Return a law as a formula, and the roots of its polynomial.

    Examples
    --------
    >>> formula("rod", (50.0, 400.0))
    "rod'' + 50 rod' + 400 rod = 0, roots -10, -40 1/s"
    """
    degree = len(law)
    terms = [f"{goal}{_primes(degree)}"]
    for place, factor in enumerate(law, start=1):
        if factor:
            sign = "-" if factor < 0.0 else "+"
            size = "" if abs(factor) == 1.0 else f"{abs(factor):g} "
            terms.append(f"{sign} {size}{goal}{_primes(degree - place)}")
    roots = sorted(roots_of(law), key=lambda root: (-root.real, root.imag))
    listed = ", ".join(f"{r.real:.6g}" if r.imag == 0.0 else f"{complex(r):.6g}" for r in roots)
    return f"{' '.join(terms)} = 0, roots {listed} 1/s"


def _primes(count: int) -> str:
    return "'" * count if count < 4 else f"^({count})"
