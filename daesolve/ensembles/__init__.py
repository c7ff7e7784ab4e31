"""Many runs of one case with different values, on all cores or on a cluster.

A sweep is a list of members whose values are fixed before the first one runs. The result of a
member does not depend on the worker, on the members beside it, or on their order. Workers load the
problem by its name and keep its compiled code, which members that differ only in numbers share.
Results go to one directory as they arrive, and are never computed twice.
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
