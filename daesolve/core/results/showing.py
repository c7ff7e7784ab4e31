"""Notebook methods of results.

They are implemented in the higher layer `reporting/notebook/`, which is imported when one of them
is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daesolve.reporting.notebook import Animation, Plot


class Shown:
    """Something that a notebook shows as HTML when it is the last line of a cell."""

    def _repr_html_(self) -> str:
        from daesolve.reporting.notebook import html_of

        return html_of(self)


class ShownRun(Shown):
    """The plots and animations of a trajectory."""

    def plot(self, *names: str) -> Plot:
        """Draw series against time; long motions get a second panel with the first oscillations.

        Parameters
        ----------
        *names
            Of states, reactions and outputs; by default all states.

        Returns
        -------
        Plot
            A notebook shows it; `plot.save("x.png")` writes it, and `plot.figures` are Matplotlib
            figures.

        Raises
        ------
        UnknownNameError
            A name is unknown.

        Examples
        --------
        `run.plot("x", "rod")`
        """
        from daesolve.reporting.notebook import plot_of

        return plot_of(self, names)

    def plot_drift(self) -> Plot:
        """Draw the residuals over time, with the growth of rounding errors for comparison.

        Returns
        -------
        Plot
            As in `plot`.
        """
        from daesolve.reporting.notebook import plot_of_drift

        return plot_of_drift(self)

    def animate(self, **options: Any) -> Animation:
        """Return the animation of the run, which a notebook plays.

        Parameters
        ----------
        **options
            `seconds` of playing time, `rate` in pictures per second, `begin` and `end` of the part
            to show, and `drawing`: see `daesolve.reporting.animate`.

        Returns
        -------
        Animation
            `animation.save("run.gif")` writes it, also as .html or .mp4.

        Raises
        ------
        ReportError
            Nothing can be drawn, or there are fewer than two samples.
        """
        from daesolve.reporting.notebook import animation_of

        return animation_of(self, options)
