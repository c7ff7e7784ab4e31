"""Periodic motions: orbits up to symmetries, multipliers, branches and bifurcations."""

from daesolve.analysis.orbits.branch import Branch, SpecialPoint
from daesolve.analysis.orbits.circle_maps import CircleMap, RotationNumber, circle_map
from daesolve.analysis.orbits.continuation import continue_orbit
from daesolve.analysis.orbits.monodromy import DirectionalRates
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.orbits.orbit_search import periodic_orbit
from daesolve.analysis.orbits.stability_maps import StabilityMap, stability_map
from daesolve.analysis.orbits.symmetry import Reflect, Relabel, Shift
from daesolve.analysis.orbits.tongues import Tongue

__all__ = [
    "Branch",
    "CircleMap",
    "DirectionalRates",
    "PeriodicOrbit",
    "Reflect",
    "Relabel",
    "RotationNumber",
    "Shift",
    "SpecialPoint",
    "StabilityMap",
    "Tongue",
    "circle_map",
    "continue_orbit",
    "periodic_orbit",
    "stability_map",
]
