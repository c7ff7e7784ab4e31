"""Gradients of an objective by many numbers at once, carried back along a run, and theirs."""

from daesolve.analysis.gradients.objective import Objective
from daesolve.analysis.gradients.objective_gradient import Gradient, gradient
from daesolve.analysis.gradients.second_derivatives import HessianProduct, hessian_product

__all__ = ["Gradient", "HessianProduct", "Objective", "gradient", "hessian_product"]
