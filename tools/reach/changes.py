"""What git says of a checkout: its files, and which of them changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

UPSTREAM = "origin/main"


class UnknownBaseError(Exception):
    """There is no commit to compare with."""


def tracked_files(root: Path) -> list[str]:
    """Return the files of a checkout, those not yet added included."""
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted(path for path in set(listed.split("\0")) if path and (root / path).is_file())


def changed_files(root: Path, base: str | None = None, *, moved: bool = True) -> list[str]:
    """Return what changed since the branch left a commit, uncommitted and deleted files included.

    Parameters
    ----------
    root
        The checkout.
    base
        A commit or branch; by default `origin/main`.
    moved
        Whether files that moved, and changed in less than a tenth, are among them.

    Raises
    ------
    UnknownBaseError
        There is no such commit, or without a base nothing tells where the change began: on the
        newest commit of `origin/main`, what was tested before is not known.
    """
    try:
        start = _git(root, "merge-base", base or UPSTREAM, "HEAD").strip()
        head = _git(root, "rev-parse", "HEAD").strip()
    except subprocess.CalledProcessError:
        raise UnknownBaseError(
            f"there is no commit {base or UPSTREAM!r} in common with HEAD"
        ) from None
    if base is None and start == head:
        raise UnknownBaseError(
            f"HEAD is a commit of {UPSTREAM}: give --base with the last tested one"
        )
    which = ("--no-renames",) if moved else ("-M90%", "--diff-filter=r")
    changed = _git(root, "diff", "--name-only", *which, "-z", start)
    added = _git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted({path for path in f"{changed}\0{added}".split("\0") if path})


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout
