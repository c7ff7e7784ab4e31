"""Options of `run` and `sweep` that decide how a motion continues where its equations do not."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import typer

from daesolve.contact.laws import LAWS, ON_AMBIGUOUS, ON_GAIN, ON_JAM
from daesolve.errors import OutOfRangeError
from daesolve.friction.sliding import VariantPolicy
from daesolve.preparation.request import RankLoss, Redundant

KNOWN = {
    "redundant": get_args(Redundant),
    "rank_loss": get_args(RankLoss),
    "variant_policy": get_args(VariantPolicy),
    "impact": LAWS,
    "on_gain": ON_GAIN,
    "on_jam": ON_JAM,
    "on_ambiguous": ON_AMBIGUOUS,
}

RedundantRows = Annotated[
    str | None,
    typer.Option(
        "--redundant",
        help=(
            "What to do with dependent constraints: error, drop, minimum-norm; by default the "
            "case's choice."
        ),
    ),
]
AtRankLoss = Annotated[
    str | None,
    typer.Option(
        "--rank-loss",
        help="What to do where constraints become dependent: stop, pass, raise, viscous; by "
        "default the case's choice.",
    ),
]
OfVariants = Annotated[
    str | None,
    typer.Option(
        "--variant-policy",
        help="How to change the loaded supports of a guide: continuity, homotopy, strict.",
    ),
]
ImpactLaw = Annotated[
    str | None,
    typer.Option(
        "--impact", help="Impact law of the contacts: newton, poisson, routh, sequential."
    ),
]
ImpactOrder = Annotated[
    str | None,
    typer.Option(
        "--impact-order",
        metavar="A,B,...",
        help="The contacts in their order for sequential or Routh impacts.",
    ),
]
OfGain = Annotated[
    str | None,
    typer.Option(
        "--on-gain", help="What to do where an impact would add energy: refuse, report, poisson."
    ),
]
OfJam = Annotated[
    str | None,
    typer.Option(
        "--on-jam", help="What to do where no forces let the contacts slide on: end, impact."
    ),
]
OfAmbiguity = Annotated[
    str | None,
    typer.Option(
        "--on-ambiguous",
        help="What to do where contacts can continue in several ways: refuse, keep.",
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
            raise OutOfRangeError(
                f"{option} is {word!r}, but must be one of {', '.join(KNOWN[name])}"
            )
    return {**given, "impact_order": None if impact_order is None else impact_order.split(",")}
