"""Names as LaTeX: `x_dot` is a dotted x, `theta_1` has an index, a `mass` is m."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
        *("lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi"),
        *("omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi"),
        *("Psi", "Omega"),
    )
)
USUAL = {
    "eps": r"\varepsilon",
    "friction": r"\mu",
    "gravity": "g",
    "height": "h",
    "inertia": "J",
    "length": "l",
    "mass": "m",
    "radius": "r",
    "stiffness": "k",
    "width": "w",
}
"""Letters that mechanics has for words, in names of parameters."""

KEPT = {"reaction": "R", "force": "F", "torque": r"\tau", "N": "N"}
"""Words of which the letter behind them is a component."""


def symbol(name: str) -> str:
    r"""Return a name as LaTeX: one word of it with the others as indices, `dot` as dots.

    That word is the first, unless it is long and a single letter comes later.

    Parameters
    ----------
    name
        Words of letters and digits, joined by underscores.

    Examples
    --------
    >>> symbol("theta_dot_1"), symbol("speed"), symbol("contact_x_dot")
    ('\\dot{\\theta}_{1}', '\\mathrm{speed}', '\\dot{x}_{\\mathrm{contact}}')
    """
    words = [word for word in name.split("_") if word]
    dots = words.count("dot")
    words = [word for word in words if word != "dot"] or words[:1]
    first = words.pop(_leading(words))
    numbered = re.fullmatch(r"([A-Za-z]+)(\d+)", first)
    if numbered:
        first, words = numbered[1], [numbered[2], *words]
    return _indexed(_dotted(_word(first), dots), words)


def _leading(words: Sequence[str]) -> int:
    """Return the place of the word that becomes the symbol."""
    if len(words[0]) > 1 and words[0] not in (*GREEK, *KEPT):
        for place, word in enumerate(words):
            if re.fullmatch(r"[A-Za-z]\d?", word):
                return place
    return 0


def parameter_symbol(name: str) -> str:
    r"""Return the name of a parameter as LaTeX, with the usual letter of one of its words.

    Examples
    --------
    >>> parameter_symbol("wheel_mass"), parameter_symbol("mass_1"), parameter_symbol("curve_a")
    ('m_{\\mathrm{wheel}}', 'm_{1}', 'a_{\\mathrm{curve}}')
    """
    words = [word for word in name.split("_") if word]
    for place in reversed(range(len(words))):
        if words[place] in USUAL:
            letter = words.pop(place)
            return _indexed(USUAL[letter], words)
    return symbol(name)


def letters(parameters: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Return a symbol for each name, no two of which are the same.

    Parameters
    ----------
    parameters
        Names whose words may have usual letters.
    others
        Names of states, reactions and the like.
    """
    found = {name: symbol(name) for name in others}
    own = {name: parameter_symbol(name) for name in parameters}
    taken = Counter([*found.values(), *own.values()])
    plain = {name: text if taken[text] == 1 else symbol(name) for name, text in own.items()}
    found |= plain
    taken = Counter(found.values())
    return {
        name: text if taken[text] == 1 else f"\\mathrm{{{name.replace('_', chr(92) + '_')}}}"
        for name, text in found.items()
    }


def _word(word: str) -> str:
    if word in GREEK:
        return f"\\{word}"
    if word in KEPT:
        return KEPT[word]
    return word if re.fullmatch(r"[A-Za-z]\d*|\d+", word) else f"\\mathrm{{{word}}}"


def _dotted(text: str, dots: int) -> str:
    return f"\\{'d' * dots}ot{{{text}}}" if 0 < dots <= 4 else text


def _indexed(text: str, words: Iterable[str]) -> str:
    indices = ",".join(map(_word, words))
    return f"{text}_{{{indices}}}" if indices else text
