"""Problems: what a plugin offers. A system by structure, its cases, its figures."""

from daesolve.bound_case import BoundCase, Problem
from daesolve.cases import AnalysisRule, Answer, Case, Choice, Measure, choice

__all__ = [
    "AnalysisRule",
    "Answer",
    "BoundCase",
    "Case",
    "Choice",
    "Measure",
    "Problem",
    "choice",
]
