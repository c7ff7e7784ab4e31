"""Gradients of an objective by many numbers at once, carried back along a run."""

from daesolve.analysis.gradients.objective import Objective
from daesolve.analysis.gradients.objective_gradient import Gradient, gradient

__all__ = ["Gradient", "Objective", "gradient"]
