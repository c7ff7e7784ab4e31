"""How a program ends: it prints its results and writes the files that the user requested."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .conditions import Conditions, as_json
from .tables import update


def end(
    given: argparse.Namespace, known: Conditions, found: Sequence[Any], tables: str, mark: str
) -> None:
    """Print the tables under their conditions; write what `--json` and `--update` request."""
    text = f"{known}\n\n{tables}"
    print(text)
    if given.json:
        given.json.write_text(as_json(known, found))
    if given.update:
        update(given.update, mark, text)
