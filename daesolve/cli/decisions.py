"""Options that decide how a motion goes on where its equations alone do not; `run`, `sweep`."""

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
        help="Constraints that depend on each other: error, drop, minimum-norm; else the case's.",
    ),
]
AtRankLoss = Annotated[
    str | None,
    typer.Option(
        "--rank-loss",
        help="Where constraints come to depend on each other: stop, pass, raise, viscous; else the "
        "case's.",
    ),
]
OfVariants = Annotated[
    str | None,
    typer.Option(
        "--variant-policy",
        help="Where other supports of a guide are loaded: continuity, homotopy, strict.",
    ),
]
ImpactLaw = Annotated[
    str | None,
    typer.Option(
        "--impact", help="The law of impacts of contacts: newton, poisson, routh, sequential."
    ),
]
ImpactOrder = Annotated[
    str | None,
    typer.Option(
        "--impact-order",
        metavar="A,B,...",
        help="The contacts, in the order of sequential impacts, or of Routh's.",
    ),
]
OfGain = Annotated[
    str | None,
    typer.Option("--on-gain", help="Where an impact would give energy: refuse, report, poisson."),
]
OfJam = Annotated[
    str | None,
    typer.Option("--on-jam", help="Where no forces let contacts slide on: end, impact."),
]
OfAmbiguity = Annotated[
    str | None,
    typer.Option("--on-ambiguous", help="Where contacts may go on in several ways: refuse, keep."),
]


def decisions(*, impact_order: str | None, **given: str | None) -> dict[str, Any]:
    """Return the options of `solve`, those that are not given as None.

    Raises
    ------
    OutOfRangeError
        A word is none that the option knows.
    """
    for name, word in given.items():
        if word is not None and word not in KNOWN[name]:
            option = "--" + name.replace("_", "-")
            raise OutOfRangeError(
                f"{option} is {word!r}, but must be one of {', '.join(KNOWN[name])}"
            )
    return {**given, "impact_order": None if impact_order is None else impact_order.split(",")}
