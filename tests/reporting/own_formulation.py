"""A formulation of a user's own, with settings that no command line takes."""

from __future__ import annotations

from dataclasses import dataclass, field

import daesolve as ds


@dataclass(frozen=True)
class Weighted(ds.Formulation):
    """Another formulation, with settings that change nothing."""

    weights: tuple[float, ...] = ()
    kind: str = "hard"
    inner: ds.Formulation = field(default_factory=ds.Feedback)
    name = "weighted"

    def chosen_rates(self, dynamics, default):
        return self.inner.chosen_rates(dynamics, default)

    def problem(self, elimination):
        return self.inner.problem(elimination)
