"""Periodic motions: orbits up to symmetries, their multipliers, branches and bifurcations."""

from daesolve.orbits.branch import Branch, SpecialPoint
from daesolve.orbits.finding import periodic_orbit
from daesolve.orbits.following import continue_orbit
from daesolve.orbits.orbit import PeriodicOrbit
from daesolve.orbits.symmetry import Reflect, Relabel, Shift

__all__ = [
    "Branch",
    "PeriodicOrbit",
    "Reflect",
    "Relabel",
    "Shift",
    "SpecialPoint",
    "continue_orbit",
    "periodic_orbit",
]
