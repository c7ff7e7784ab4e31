"""Reads sections of equations back: the value of every left-hand side, by what is printed."""

import re
from collections.abc import Mapping

from tests.export.reading import value

IN_LATEX = re.compile(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}|\\\[\n(.*?)\n\\\]", re.DOTALL)
DISPLAY = re.compile(r"\$\$\n(.*?)\n\$\$", re.DOTALL)


def displays(text: str) -> str:
    """Return the displayed formulas of LaTeX as those of Markdown, which `equations` reads."""
    return "\n\n".join(f"$$\n{one or other}\n$$" for one, other in IN_LATEX.findall(text))


def equations(text: str) -> dict[str, str]:
    """Return the right-hand sides of printed equations by their left-hand sides."""
    found: dict[str, str] = {}
    for shown in DISPLAY.findall(text):
        body = shown.removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}")
        left = ""
        for row in body.split(" \\\\\n"):
            if row.startswith("&\\quad "):
                found[left] += " " + row.removeprefix("&\\quad ")
                continue
            left, _, right = row.replace("&= ", "= ", 1).partition(" = ")
            found[left] = right
    return found


def printed_values(text: str, symbols: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of printed equations; what one names, others may contain."""
    rest = equations(text)
    known = dict(symbols)
    found: dict[str, float] = {}
    while rest:
        before = len(rest)
        for left, right in list(rest.items()):
            try:
                found[left] = known[left] = value(right, known)
            except (KeyError, AssertionError, IndexError):
                continue  # it needs what comes later, or is an equation of something else
            del rest[left]
        if len(rest) == before:
            break
    return found
