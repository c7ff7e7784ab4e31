"""What to cite for a run: the papers behind its formulation, its solver and its problem.

citation -> what was run -> its formulation, solver and problem -> their sources
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from daesolve.core.preparation.naming import named_in
from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory, latest
from daesolve.errors import DaesolveError, OutOfRangeError
from daesolve.plugins.stored_problem import sources_of


@dataclass(frozen=True)
class Literature:
    """What to cite: for the library, and by the names of formulations and solvers."""

    library: Sequence[str]
    papers: Mapping[str, str]
    formulations: Mapping[str, Sequence[str]]
    solvers: Mapping[str, Sequence[str]]

    def of(self, formulations: Iterable[str], solver: str) -> list[str]:
        """Return what a run is cited with, besides the sources of its problem."""
        words = [*self.library]
        words += [word for name in formulations for word in self.formulations.get(name, ())]
        words += self.solvers.get(solver, ())
        return [self.papers[word] for word in words]


@cache
def literature() -> Literature:
    """Return what `citations.toml` lists."""
    text = files("daesolve.plugins").joinpath("citations.toml").read_text("utf-8")
    return Literature(**tomllib.loads(text))


def citation(run: Trajectory | None = None) -> None:
    """Print what to cite for a run: the library, its formulation, its solver and its problem.

    Parameters
    ----------
    run
        A trajectory; by default the last run of this process.

    Raises
    ------
    OutOfRangeError
        Nothing has been run yet.

    Examples
    --------
    >>> import daesolve as ds
    >>> case = ds.problem("pendulum").case()
    >>> run = case.solve(until=1.0, formulation=ds.GGL(), solver=ds.Idas())
    >>> ds.citation()  # doctest: +ELLIPSIS
    To cite for ggl with idas:
      [1] daesolve: ...
    """
    cited = latest() if run is None else (run.description, run.sources)
    if cited is None:
        raise OutOfRangeError(
            "nothing has been run yet: give a run, `daesolve.plugins.citation(run)`"
        )
    description, sources = cited
    formulation, solver = description["formulation"], description["solver"]
    of_problem = sources or (_kept_sources(run) if run is not None else ())
    cited_papers = dict.fromkeys([*literature().of(_names_in(formulation), solver), *of_problem])
    print(f"To cite for {formulation} with {solver}:")
    for number, source in enumerate(cited_papers, start=1):
        print(f"  [{number}] {source}")


def _names_in(title: str) -> Iterator[str]:
    """Yield the name of a formulation and of what it wraps, up to one that is not installed."""
    while title:
        try:
            kind, behind = named_in(title)
        except DaesolveError:
            return
        yield kind.name
        title = "" if kind.wraps is None else behind


def _kept_sources(run: Trajectory) -> Sequence[str]:
    """Return the sources of the problem of a run on disk, where it is installed."""
    if not isinstance(run.samples, StoredSamples):
        return ()
    return sources_of(run.samples.stored.manifest["source"])
