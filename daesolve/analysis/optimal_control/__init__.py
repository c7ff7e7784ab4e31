"""Optimal control: motions that cost least, found by collocation and replayed by a run."""

from daesolve.analysis.optimal_control.optimise import optimise
from daesolve.analysis.optimal_control.optimum import Mesh, Optimum

__all__ = ["Mesh", "Optimum", "optimise"]
