"""Commands, called within the process of the tests."""

import json
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from daesolve.cli.app import app


def call(*words: object, code: int = 0) -> Result:
    """Call `daesolve WORDS`, which must end with a code."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def document(*words: object) -> Any:
    """Return what a command prints as JSON."""
    return json.loads(call(*words, "--json").stdout)
