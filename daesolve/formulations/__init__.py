"""Ways to make an integrable problem of any system, one file each."""

from daesolve.formulations.feedback import Feedback
from daesolve.formulations.problem import Formulation, OdeProblem, Watched

FORMULATIONS: dict[str, type[Formulation]] = {Feedback.name: Feedback}
"""Every formulation by its name on the command line."""

__all__ = ["FORMULATIONS", "Feedback", "Formulation", "OdeProblem", "Watched"]
