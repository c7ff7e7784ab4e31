"""Options that take one of several names: formulations, solvers, and what to do at doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args

import typer

from daesolve.core.events.choices import LAWS, ON_AMBIGUOUS, ON_GAIN, ON_JAM, VariantPolicy
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.preparation.request import RankLoss, Redundant
from daesolve.core.solvers import SOLVERS
from daesolve.errors import OutOfRangeError

KNOWN = {
    "redundant": get_args(Redundant),
    "rank_loss": get_args(RankLoss),
    "variant_policy": get_args(VariantPolicy),
    "impact": LAWS,
    "on_gain": ON_GAIN,
    "on_jam": ON_JAM,
    "on_ambiguous": ON_AMBIGUOUS,
}


def _one_of(name: str, what: str, default: str = "") -> Any:
    """Return an option that takes one of a few words; the help lists them."""
    words = KNOWN[name]
    chosen = default or words[0]
    return typer.Option(
        f"--{name.replace('_', '-')}", help=f"{what}: {listed(words)}; by default {chosen}."
    )


def listed(words: Sequence[str]) -> str:
    """Return words as a choice in a sentence: A, B or C."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


OF_CASE = "the case's choice"
RedundantRows = Annotated[
    str | None, _one_of("redundant", "What to do with dependent constraints", OF_CASE)
]
AtRankLoss = Annotated[
    str | None, _one_of("rank_loss", "What to do where constraints become dependent", OF_CASE)
]
OfVariants = Annotated[
    str | None, _one_of("variant_policy", "How to change the loaded supports of a guide")
]
ImpactLaw = Annotated[str | None, _one_of("impact", "Impact law of the contacts")]
ImpactOrder = Annotated[
    str | None,
    typer.Option(
        "--impact-order",
        metavar="A,B,...",
        help="The contacts in their order for sequential or Routh impacts.",
    ),
]
OfGain = Annotated[str | None, _one_of("on_gain", "What to do where an impact would add energy")]
OfJam = Annotated[
    str | None, _one_of("on_jam", "What to do where no forces let the contacts slide on")
]
OfAmbiguity = Annotated[
    str | None,
    _one_of("on_ambiguous", "What to do where contacts can continue in several ways"),
]
FormulationName = Annotated[
    str | None,
    typer.Option(
        "--formulation",
        help=f"Formulation of the equations: {listed(tuple(FORMULATIONS))}, or one of an installed "
        "package; by default feedback, or projected to pass a rank loss.",
    ),
]
SolverName = Annotated[
    str | None,
    typer.Option(
        "--solver",
        help=f"The solver: {listed(tuple(SOLVERS))}, or one of an installed package; "
        "`daesolve doctor` shows which you can use here.",
    ),
]


def decisions(*, impact_order: str | None, **given: str | None) -> dict[str, Any]:
    """Return the options of `solve`; those that are not given are None.

    Raises
    ------
    OutOfRangeError
        An option does not know a word.
    """
    for name, word in given.items():
        if word is not None and word not in KNOWN[name]:
            option = "--" + name.replace("_", "-")
            raise OutOfRangeError(f"{option} is {word!r}, but must be {listed(KNOWN[name])}")
    return {**given, "impact_order": None if impact_order is None else impact_order.split(",")}
