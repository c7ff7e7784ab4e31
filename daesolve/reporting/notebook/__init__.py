"""Notebook output: a block of HTML for each kind of result, figures, animations."""

from __future__ import annotations

from collections.abc import Callable

from daesolve.analysis.orbits.branch import Branch
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.sections import Section
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.system.system import ControlSystem, MechanicalSystem
from daesolve.ensembles.sweep_results import Sweep
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.registry import Problem
from daesolve.reporting.notebook.found import (
    branch_block,
    comparison_block,
    orbit_block,
    section_block,
    sweep_block,
)
from daesolve.reporting.notebook.pictures import Animation, Plot
from daesolve.reporting.notebook.posed import case_block, problem_block, system_block
from daesolve.reporting.notebook.runs import animate, plot, plot_drift, run_block
from daesolve.verification.comparison import Comparison

__all__ = ["Animation", "Plot", "animate", "html_of", "plot", "plot_drift"]

_BLOCKS: dict[type, Callable[..., str]] = {
    Trajectory: run_block,
    MechanicalSystem: system_block,
    ControlSystem: system_block,
    Problem: problem_block,
    BoundCase: case_block,
    Sweep: sweep_block,
    Comparison: comparison_block,
    Section: section_block,
    PeriodicOrbit: orbit_block,
    Branch: branch_block,
}


def html_of(thing: object) -> str | None:
    """Return the HTML of a result for a notebook; None if its kind has none."""
    blocks = (_BLOCKS[kind] for kind in type(thing).__mro__ if kind in _BLOCKS)
    block = next(blocks, None)
    return None if block is None else block(thing)
