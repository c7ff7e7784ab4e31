"""Command-line options shared by all benchmarks."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from .tables import replaced


def options(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser that describes the program by its module's docstring.

    The help of an option says whether it is repeatable, and ends in the default if there is one.
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_repeats(parser: argparse.ArgumentParser, default: int, help_text: str) -> None:
    """Add `--repeats N`."""
    parser.add_argument(
        "--repeats", type=whole, default=default, metavar="N", help=f"{help_text} (%(default)s)"
    )


def add_until(parser: argparse.ArgumentParser, default: float, help_text: str = "horizon") -> None:
    """Add `--until S`."""
    parser.add_argument(
        "--until",
        type=above_zero,
        default=default,
        metavar="S",
        help=f"{help_text}, s (%(default)g)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json FILE`."""
    parser.add_argument(
        "--json",
        type=new_file,
        metavar="FILE",
        help="write all measurements and their conditions to this file",
    )


def add_read(parser: argparse.ArgumentParser) -> None:
    """Add `--read FILE`."""
    parser.add_argument(
        "--read",
        type=file,
        metavar="FILE",
        help="read the results of an earlier --json instead of measuring",
    )


def add_update(parser: argparse.ArgumentParser, mark: str, document: str) -> None:
    """Add `--update FILE`: a document that contains the two marks."""

    def marked(text: str) -> Path:
        path = file(text)
        try:
            replaced(path.read_text(encoding="utf-8"), mark, "")
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return path

    parser.add_argument(
        "--update",
        type=marked,
        metavar="FILE",
        help=f"replace the tables between the two marks in this document: {document}",
    )


def file(text: str) -> Path:
    """Return the path of an existing file.

    Raises
    ------
    argparse.ArgumentTypeError
        There is no such file.
    """
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return path


def new_file(text: str) -> Path:
    """Return the path of a file in an existing directory, so that hours of results can be saved.

    Raises
    ------
    argparse.ArgumentTypeError
        The directory does not exist, or the path is itself a directory.
    """
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: no such directory")
    return path


def above_zero(text: str) -> float:
    """Return a positive, finite number.

    Raises
    ------
    argparse.ArgumentTypeError
        The text is no such number.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return value


def whole(text: str) -> int:
    """Return a whole number of at least one.

    Raises
    ------
    argparse.ArgumentTypeError
        The text is no such number.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
