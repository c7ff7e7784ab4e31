"""Draw the rooms of the library, docs/_static/rooms.svg: `python docs/rooms.py`.

The core below, the features that stand on it, and the services for those who use it. Every room in
the layers of `pyproject.toml` must have a place.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).parent.parent
WANTED = Path(__file__).parent / "_static" / "rooms.svg"

BANDS = {
    "services": ("cli", "reporting", "ensembles", "plugins", "typing"),
    "features": (
        *("analysis", "multibody", "nonholonomic", "export"),
        *("simulator", "verification", "contact", "solvers"),
    ),
    "the core": (
        *("run", "preparation", "events", "solvers", "system"),
        *("formulations", "equations", "results", "posing", "expressions"),
        *("interruptions", "encoding", "features"),
    ),
    "below all": ("errors",),
}
"""Each band, the highest first, and its rooms."""

WIDTH, HEIGHT, GAP = 1.2, 0.3, 0.07
"""A room's width and height, and the space around it, inches."""
HEAD = 0.27
"""The height of a band's name, inches."""
COLUMNS = 4
"""Rooms side by side: letters stay legible on a telephone."""
COLOURS = ("#e6e0f0", "#fde0c5", "#c6dbef", "#eceff4")
FRAME = "#4c566a"


def rooms_in_layers() -> list[str]:
    """Return the rooms of `pyproject.toml`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    core, top = (entry["layers"] for entry in settings["tool"]["importlinter"]["contracts"][:2])
    return [*core, *(room for room in top if room != "core")]


def draw(axes: Axes) -> float:
    """Draw the bands, each with an arrow to the one on which it stands; return the height."""
    y = 0.0
    for row, (band, rooms) in enumerate(BANDS.items()):
        if row:
            arrow = FancyArrowPatch(
                (0.15, y), (0.15, y - HEAD), arrowstyle="-|>", mutation_scale=9, color=FRAME
            )
            axes.add_patch(arrow)
        axes.text(0.3, y - 0.6 * HEAD, band, va="center", fontsize=9, style="italic")
        y -= HEAD
        colour = COLOURS[row]
        for place, room in enumerate(rooms):
            if place and place % COLUMNS == 0:
                y -= HEIGHT + GAP
            _room(axes, place % COLUMNS * (WIDTH + GAP), y - HEIGHT, room, colour)
        y -= HEIGHT
    return -y


def _room(axes: Axes, x: float, y: float, name: str, colour: str) -> None:
    box = FancyBboxPatch(
        (x, y), WIDTH, HEIGHT, boxstyle="round,pad=0,rounding_size=0.05", fc=colour, ec=FRAME
    )
    axes.add_patch(box)
    axes.text(x + WIDTH / 2, y + HEIGHT / 2, name, ha="center", va="center", fontsize=9)


def main() -> None:
    """Draw the picture."""
    placed = [room for rooms in BANDS.values() for room in rooms]
    missing = set(rooms_in_layers()) ^ set(placed)
    if missing:
        raise SystemExit(
            f"these rooms have no place in the picture, or are none: {sorted(missing)}"
        )
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rooms"}):
        figure, axes = plt.subplots(layout="none")
        height = draw(axes) + 2 * GAP
        width = COLUMNS * (WIDTH + GAP) + GAP
        figure.set_size_inches(width, height)
        axes.set_position((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(-GAP, width - GAP)
        axes.set_ylim(GAP - height, GAP)
        axes.axis("off")
        figure.savefig(WANTED, metadata={"Date": None})


if __name__ == "__main__":
    main()
