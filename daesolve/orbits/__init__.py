"""Periodic motions: orbits up to symmetries, their multipliers, branches and bifurcations."""

from daesolve.orbits.finding import periodic_orbit
from daesolve.orbits.orbit import PeriodicOrbit
from daesolve.orbits.symmetry import Reflect, Relabel, Shift

__all__ = ["PeriodicOrbit", "Reflect", "Relabel", "Shift", "periodic_orbit"]
