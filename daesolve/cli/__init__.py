"""The command line: `daesolve list | show | run | report | doctor`."""

from daesolve.cli.app import main

__all__ = ["main"]
