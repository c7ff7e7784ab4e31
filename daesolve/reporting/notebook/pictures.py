"""Pictures in a notebook: figures, and an animation that plays in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from daesolve.errors import UnknownNameError
from daesolve.reporting.animation import animate, players
from daesolve.reporting.content import ContentPart
from daesolve.reporting.document import ReportError
from daesolve.reporting.filming import Films
from daesolve.reporting.notebook.blocks import block, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 660
"""The height of the player of an animation, pixels."""
KINDS = (".png", ".svg", ".pdf")


@dataclass(frozen=True, eq=False)
class Plot:
    """Figures that a notebook shows.

    Parameters
    ----------
    figures
        Matplotlib figures, which you can change or show elsewhere.
    """

    figures: tuple[Figure, ...]

    def __repr__(self) -> str:
        count = len(self.figures)
        what = "1 figure" if count == 1 else f"{count} figures"
        return f"Plot of {what}; plot.save(FILE) writes it as .svg, .png or .pdf"

    def _repr_html_(self) -> str:
        return block("", parts=[ContentPart("", drawn(self.figures))])

    def save(self, file: Path | str) -> list[Path]:
        """Write each figure to its own file; return the files.

        Parameters
        ----------
        file
            Its suffix sets the kind: .svg, .png or .pdf. A second figure is written to `NAME-2`,
            and so on.

        Raises
        ------
        UnknownNameError
            The suffix is none of the three.
        ReportError
            The directory does not exist.
        OSError
            A file cannot be written.
        """
        first = Path(file)
        if first.suffix.lower() not in KINDS:
            raise UnknownNameError(
                f"unknown figure format {first.suffix!r}: choose a file ending in "
                f"{', '.join(KINDS)}"
            )
        if not first.parent.is_dir():
            raise ReportError(f"the directory {str(first.parent)!r} for the figure does not exist")
        files = [
            first if number == 1 else first.with_stem(f"{first.stem}-{number}")
            for number in range(1, len(self.figures) + 1)
        ]
        for figure, path in zip(self.figures, files, strict=True):
            figure.savefig(path, dpi=200)
        return files


@dataclass(frozen=True, eq=False)
class Animation:
    """An animation that a notebook plays.

    Parameters
    ----------
    run, options
        The run, and the options of the animation.
    films
        The films.
    """

    run: Any
    options: Mapping[str, Any]
    films: Films

    def __repr__(self) -> str:
        film = self.films[0]
        return (
            f"Animation of {len(film.pictures)} pictures, {film.seconds:.3g} s ({film.speed}); "
            "animation.save(FILE) writes it as .html, .gif or .mp4"
        )

    def _repr_html_(self) -> str:
        page = players(self.films, lambda done, total: None)
        frame = Markup(
            '<iframe srcdoc="{}" height="{}" title="Animation" sandbox="allow-scripts"></iframe>'
        ).format(page, HEIGHT)
        return block("", parts=[ContentPart("", frame)])

    def save(self, file: Path | str, **options: Any) -> Path:
        """Write the animation and return the file.

        Parameters
        ----------
        file
            Its suffix sets the kind: .html, .gif or .mp4.
        **options
            `width` in pixels, `progress`; see `daesolve.reporting.animate`.

        Raises
        ------
        UnknownNameError, AnimationError
            The suffix is none of the three, or the file cannot be written.
        """
        animate(self.run, file, **{**self.options, **options})
        return Path(file)
