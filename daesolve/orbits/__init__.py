"""Periodic motions: orbits up to symmetries, their multipliers, branches and bifurcations."""

from daesolve.orbits.branch import Branch, SpecialPoint
from daesolve.orbits.circle_maps import CircleMap, RotationNumber, Tongue, circle_map
from daesolve.orbits.finding import periodic_orbit
from daesolve.orbits.following import continue_orbit
from daesolve.orbits.orbit import PeriodicOrbit
from daesolve.orbits.stability_maps import StabilityMap, stability_map
from daesolve.orbits.symmetry import Reflect, Relabel, Shift

__all__ = [
    "Branch",
    "CircleMap",
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
