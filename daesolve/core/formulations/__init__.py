"""Formulations: ways to turn any system into an integrable problem, one file each."""

from daesolve.core.formulations.feedback import Feedback, controlled, target
from daesolve.core.formulations.formulation import Elimination, Formulation
from daesolve.core.formulations.ggl import GGL
from daesolve.core.formulations.implicit import ImplicitForm, implicit
from daesolve.core.formulations.index_1 import Index1
from daesolve.core.formulations.index_2 import Index2
from daesolve.core.formulations.index_3 import Index3
from daesolve.core.formulations.null_space import NullSpace
from daesolve.core.formulations.overdetermined import Overdetermined
from daesolve.core.formulations.problem import (
    FORMS,
    Chart,
    DaeProblem,
    OdeProblem,
    Watched,
)
from daesolve.core.formulations.projected import Projected
from daesolve.core.formulations.regularised import Regularised
from daesolve.core.formulations.viscous import Viscous

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
