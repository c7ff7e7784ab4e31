"""Formulations: ways to turn any system into an integrable problem, one file each."""

from daesolve.formulations.feedback import Feedback, controlled, target
from daesolve.formulations.formulation import Elimination, Formulation
from daesolve.formulations.ggl import GGL
from daesolve.formulations.implicit import ImplicitForm, implicit
from daesolve.formulations.index_1 import Index1
from daesolve.formulations.index_2 import Index2
from daesolve.formulations.index_3 import Index3
from daesolve.formulations.null_space import NullSpace
from daesolve.formulations.overdetermined import Overdetermined
from daesolve.formulations.problem import (
    FORMS,
    Chart,
    DaeProblem,
    OdeProblem,
    Watched,
)
from daesolve.formulations.projected import Projected
from daesolve.formulations.regularised import Regularised
from daesolve.formulations.viscous import Viscous

FORMULATIONS: dict[str, type[Formulation]] = {
    formulation.name: formulation
    for formulation in (
        Feedback,
        NullSpace,
        Projected,
        Index1,
        Index2,
        Index3,
        GGL,
        Overdetermined,
        Viscous,
        Regularised,
    )
}
"""Every formulation by its name on the command line."""

__all__ = [
    "FORMS",
    "FORMULATIONS",
    "GGL",
    "Chart",
    "DaeProblem",
    "Elimination",
    "Feedback",
    "Formulation",
    "ImplicitForm",
    "Index1",
    "Index2",
    "Index3",
    "NullSpace",
    "OdeProblem",
    "Overdetermined",
    "Projected",
    "Regularised",
    "Viscous",
    "Watched",
    "controlled",
    "implicit",
    "target",
]
