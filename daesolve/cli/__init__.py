"""The command line: `daesolve list`, `show`, `run`, `report`, `animate`, `analyse`, ..."""

from daesolve.cli.app import main

__all__ = ["main"]
