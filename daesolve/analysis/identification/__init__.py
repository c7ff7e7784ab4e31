"""Parameters and start values identified from measured outputs."""

from daesolve.analysis.identification.experiment import Experiment
from daesolve.analysis.identification.identifiability import NullDirection
from daesolve.analysis.identification.identification import ExperimentFit, Identification
from daesolve.analysis.identification.identifying import identify
from daesolve.analysis.identification.profiles import Profile

__all__ = ["Experiment", "ExperimentFit", "Identification", "NullDirection", "Profile", "identify"]
