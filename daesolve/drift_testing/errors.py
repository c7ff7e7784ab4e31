"""What is wrong with a drift test itself, or with a baseline."""

from __future__ import annotations

from daesolve.errors import DaesolveError


class DriftError(DaesolveError, ValueError):
    """A limit, an accuracy or a baseline that has no meaning."""
