"""Many runs of one case, each with values of its own, on all cores or on a cluster.

A sweep is a list of members whose values are decided before the first runs. Each member is a run
like any other: its result does not depend on who ran it, beside whom, or after what. Workers load
the problem by its name and keep the code that is compiled for it; members that differ in numbers
share it. Results go to one directory as they come, and what is there is never computed again.
"""

from daesolve.ensembles.chunks import WorkerError
from daesolve.ensembles.dispatch import SweepState
from daesolve.ensembles.members import Distribution, log_uniform, normal, uniform
from daesolve.ensembles.stability_maps import sweep_stability
from daesolve.ensembles.sweep_results import Sweep
from daesolve.ensembles.sweeping import resume_sweep, sweep

__all__ = [
    "Distribution",
    "Sweep",
    "SweepState",
    "WorkerError",
    "log_uniform",
    "normal",
    "resume_sweep",
    "sweep",
    "sweep_stability",
    "uniform",
]
