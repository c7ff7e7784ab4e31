"""Time stepping by impulses, without events."""

from daesolve.time_stepping.moreau import TimeStepping, moreau

__all__ = ["TimeStepping", "moreau"]
