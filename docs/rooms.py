"""Draw the rooms of the library, docs/_static/rooms.svg: `python docs/rooms.py`.

Rooms follow the order of the data, one row for each station. Every room in the layers of
`pyproject.toml` must have a place.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).parent.parent
WANTED = Path(__file__).parent / "_static" / "rooms.svg"

STATIONS = {
    "foundations": ("errors", "interruptions", "algebra", "storage", "complementarity", "contact"),
    "what is posed": ("posing", "multibody", "nonholonomic", "friction"),
    "its equations": ("system", "equations", "elimination"),
    "what is integrated": ("formulations",),
    "by whom": ("solvers", "taylor_kernel"),
    "the run": ("preparation", "modes", "integration", "diagnostics"),
    "its result": ("trajectory", "audit", "verification", "analysis", "drawing"),
    "how one asks for it": ("solving", "referee", "plugins", "typing", "ensembles"),
    "how one sees it": (
        "showing",
        "reporting",
        "papers",
        "gallery",
        "drift_testing",
        "template",
        "cli",
    ),
    "how others have it": ("export", "fmu"),
}
"""Each station in the order of the data, and its rooms."""

WIDTH, HEIGHT, GAP = 1.2, 0.3, 0.07
"""A room's width and height, and the space around it, inches."""
HEAD = 0.27
"""The height of a station's name, inches."""
COLUMNS = 4
"""Rooms side by side: letters stay legible on a telephone."""
COLOURS = ("#eceff4", "#dbe9f6", "#c6dbef", "#b3d3e8", "#b3d3e8", "#fde0c5", "#d5ecd4", "#e6e0f0")
FRAME = "#4c566a"


def rooms_in_layers() -> list[str]:
    """Return the rooms of `pyproject.toml`, the lowest layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return list(reversed(contract["layers"]))


def draw(axes: Axes) -> float:
    """Draw a station below each other with an arrow to the next; return the height, inches."""
    y = 0.0
    for row, (station, rooms) in enumerate(STATIONS.items()):
        if row:
            arrow = FancyArrowPatch(
                (0.15, y), (0.15, y - HEAD), arrowstyle="-|>", mutation_scale=9, color=FRAME
            )
            axes.add_patch(arrow)
        axes.text(0.3, y - 0.6 * HEAD, station, va="center", fontsize=9, style="italic")
        y -= HEAD
        colour = COLOURS[min(row, len(COLOURS) - 1)]
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
    placed = [room for rooms in STATIONS.values() for room in rooms]
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
