"""Periodic motions of a case, whose start is the guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from daesolve.core.posing.events import EITHER, Direction

if TYPE_CHECKING:
    import casadi as ca

    from daesolve.analysis.orbits import Branch, PeriodicOrbit
    from daesolve.analysis.orbits.symmetry import UpTo
    from daesolve.core.results.trajectory.trajectory import Trajectory
    from daesolve.core.run.integration.run_options import BoundProblem, RunOptions
    from daesolve.core.solvers import Solver


class OrbitingCase:
    """The analyses of periodic motions of a case."""

    def periodic_orbit(
        self,
        near: Mapping[str, float] | Trajectory | PeriodicOrbit | None = None,
        /,
        period: float | ca.SX | None = None,
        *,
        section: ca.SX | str | None = None,
        direction: Direction = EITHER,
        passages: int = 1,
        up_to: UpTo = None,
        family: Mapping[str, float] | None = None,
        steady: bool = False,
        pieces: int | None = None,
        verify: bool | Solver = True,
        **options: Unpack[RunOptions],
    ) -> PeriodicOrbit:
        """Find a periodic motion of the case, with its multipliers.

        Parameters
        ----------
        near
            The guess: a state by name, a run (its end), or an orbit; None takes the start of the
            case.
        period, section, direction, passages
            The condition that the motion has returned.
        up_to, family
            The symmetry up to which it returns, and the member of a family of orbits.
        steady, pieces, verify, **options
            As in `daesolve.analysis.periodic_orbit`, which describes all of them.

        Returns
        -------
        PeriodicOrbit
            The orbit.

        Raises
        ------
        NotPeriodicError
            No orbit was found, or it is not the only one nearby; the message says what to change.
        DaesolveError
            As in `daesolve.analysis.periodic_orbit`.
        """
        from daesolve.analysis.orbits import periodic_orbit  # which only this method needs

        return periodic_orbit(
            cast("BoundProblem", self),
            near,
            period,
            section=section,
            direction=direction,
            passages=passages,
            up_to=up_to,
            family=family,
            steady=steady,
            pieces=pieces,
            verify=verify,
            **options,
        )

    def continue_orbit(
        self,
        over: Mapping[str, tuple[float, float]],
        near: Mapping[str, float] | Trajectory | PeriodicOrbit | None = None,
        /,
        period: float | ca.SX | None = None,
        *,
        section: ca.SX | str | None = None,
        direction: Direction = EITHER,
        passages: int = 1,
        up_to: UpTo = None,
        family: Mapping[str, float] | None = None,
        steady: bool = False,
        pieces: int | None = None,
        step: float = 0.02,
        most: int = 400,
        detect: tuple[str, ...] = ("fold", "doubling", "torus", "grazing", "degenerate"),
        out: str | Path | None = None,
        progress: Callable[[int, float], None] | None = None,
        **options: Unpack[RunOptions],
    ) -> Branch:
        """Find a periodic motion of the case, and follow it.

        Parameters
        ----------
        over
            The range of one quantity: a parameter, a first integral, or a state that names a
            family. It contains the orbit of the case.
        near, period, section, direction, passages, up_to, family, steady, pieces, **options
            Which orbit, as in `periodic_orbit`.
        step, most
            The longest step, as a fraction of the range, and the number of points in one direction.
        detect
            What to look for, of "fold", "doubling", "torus", "grazing" and "degenerate".
        out
            A directory that stores the points, and from which an interrupted branch resumes.
        progress
            Called after each point with the number of points and the value there.

        Returns
        -------
        Branch
            Its points, including the special ones.

        Raises
        ------
        NotPeriodicError
            The case has no such orbit.
        DaesolveError
            As in `daesolve.analysis.continue_orbit`.
        """
        from daesolve.analysis.orbits import continue_orbit, periodic_orbit

        orbit = periodic_orbit(
            cast("BoundProblem", self),
            near,
            period,
            section=section,
            direction=direction,
            passages=passages,
            up_to=up_to,
            family=family,
            steady=steady,
            pieces=pieces,
            verify=False,
            **options,
        )
        return continue_orbit(
            orbit, over, step=step, most=most, detect=detect, out=out, progress=progress
        )
