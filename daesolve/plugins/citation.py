"""What to cite for a run: the papers behind its formulation, its solver and its problem.

citation -> what was run -> its formulation, solver and problem -> their sources
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from daesolve.core.preparation.naming import named_in
from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory, latest
from daesolve.errors import DaesolveError, OutOfRangeError
from daesolve.plugins.stored_problem import sources_of

LIBRARY = (
    "daesolve: constrained mechanical systems over very long horizons (CITATION.cff)",
    "J. A. E. Andersson, J. Gillis, G. Horn, J. B. Rawlings, M. Diehl, CasADi: a software "
    "framework for nonlinear optimization and optimal control, Mathematical Programming "
    "Computation 11 (2019) 1-36, doi:10.1007/s12532-018-0139-4",
)
"""The papers behind every run."""

BAUMGARTE = (
    "J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, "
    "Computer Methods in Applied Mechanics and Engineering 1 (1972) 1-16, "
    "doi:10.1016/0045-7825(72)90018-7"
)
INDEX = (
    "K. E. Brenan, S. L. Campbell, L. R. Petzold, Numerical Solution of Initial-Value Problems in "
    "Differential-Algebraic Equations (1996), doi:10.1137/1.9781611971224"
)
FORMULATIONS: Mapping[str, tuple[str, ...]] = {
    "feedback": (
        "Yu. V. Morozov, I. V. Matrosov, A. V. Pesterev, The use of control theory for the "
        "numerical integration of the equations of rolling of robotic systems (in Russian)",
        BAUMGARTE,
    ),
    "null-space": (
        "J. Garcia de Jalon, A. Callejo, A. F. Hidalgo, Efficient solution of Maggi's equations, "
        "Journal of Computational and Nonlinear Dynamics 7 (2012) 021003",
    ),
    "projected": (
        "E. Eich, Convergence results for a coordinate projection method applied to mechanical "
        "systems with algebraic constraints, SIAM Journal on Numerical Analysis 30 (1993) "
        "1467-1482, doi:10.1137/0730076",
    ),
    "index-1": (INDEX, BAUMGARTE),
    "index-2": (INDEX,),
    "index-3": (INDEX,),
    "ggl": (
        "C. W. Gear, B. Leimkuhler, G. K. Gupta, Automatic integration of Euler-Lagrange equations "
        "with constraints, Journal of Computational and Applied Mathematics 12-13 (1985) 77-90, "
        "doi:10.1016/0377-0427(85)90008-1",
    ),
    "overdetermined": (
        "C. Fuhrer, B. J. Leimkuhler, Numerical solution of differential-algebraic equations for "
        "constrained mechanical motion, Numerische Mathematik 59 (1991) 55-69, "
        "doi:10.1007/BF01385770",
    ),
    "viscous": (
        "A. V. Karapetyan, On realizing nonholonomic constraints by viscous friction forces and "
        "Celtic stones stability, Journal of Applied Mathematics and Mechanics 45 (1981)",
    ),
    "regularised": (BAUMGARTE,),
}
"""Formulation -> its papers; a wrapped formulation has its own."""

SUNDIALS = (
    "A. C. Hindmarsh and others, SUNDIALS: suite of nonlinear and differential/algebraic equation "
    "solvers, ACM Transactions on Mathematical Software 31 (2005) 363-396, "
    "doi:10.1145/1089014.1089020"
)
SCIPY = (
    "P. Virtanen and others, SciPy 1.0: fundamental algorithms for scientific computing in Python, "
    "Nature Methods 17 (2020) 261-272, doi:10.1038/s41592-019-0686-2"
)
SUNDAE = "C. R. Randall, scikit-sundae: Python bindings to SUNDIALS, software"
ASSIMULO = (
    "C. Andersson, C. Fuhrer, J. Akesson, Assimulo: a unified framework for ODE solvers, "
    "Mathematics and Computers in Simulation 116 (2015) 26-43, doi:10.1016/j.matcom.2015.04.007"
)
RADAU = (
    "E. Hairer, G. Wanner, Stiff differential equations solved by Radau methods, Journal of "
    "Computational and Applied Mathematics 111 (1999) 93-111, doi:10.1016/S0377-0427(99)00134-X"
)
SOLVERS: Mapping[str, tuple[str, ...]] = {
    "taylor": (
        "F. Biscani, D. Izzo, Revisiting high-order Taylor methods for astrodynamics and celestial "
        "mechanics, Monthly Notices of the Royal Astronomical Society 504 (2021) 2614-2628, "
        "doi:10.1093/mnras/stab1032",
        "A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of "
        "high-order Taylor methods, Experimental Mathematics 14 (2005) 99-117, "
        "doi:10.1080/10586458.2005.10128904",
    ),
    "radau": (RADAU,),
    "cvodes": (SUNDIALS,),
    "idas": (SUNDIALS,),
    "dop853": (
        "E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I: Nonstiff "
        "Problems (1993), doi:10.1007/978-3-540-78862-1",
        SCIPY,
    ),
    "lsoda": (
        "L. Petzold, Automatic selection of methods for solving stiff and nonstiff systems of "
        "ordinary differential equations, SIAM Journal on Scientific and Statistical Computing 4 "
        "(1983) 136-148, doi:10.1137/0904010",
        SCIPY,
    ),
    "sundae-cvode": (SUNDAE, SUNDIALS),
    "sundae-ida": (SUNDAE, SUNDIALS),
    "assimulo-cvode": (ASSIMULO, SUNDIALS),
    "assimulo-ida": (ASSIMULO, SUNDIALS),
    "assimulo-radau5": (ASSIMULO, RADAU),
    "assimulo-odassl": (
        ASSIMULO,
        "C. Fuhrer, Differential-algebraic equation systems in mechanical multibody systems, "
        "thesis, Technische Universitat Munchen (1988)",
    ),
}
"""Solver -> its papers."""


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
    papers = [paper for name in _names_in(formulation) for paper in FORMULATIONS.get(name, ())]
    cited_papers = dict.fromkeys((*LIBRARY, *papers, *SOLVERS.get(solver, ()), *of_problem))
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
