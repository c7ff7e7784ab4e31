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
    "foundations": ("errors", "algebra", "storage", "complementarity", "contact"),
    "what is posed": ("posing", "multibody", "nonholonomic", "friction"),
    "its equations": ("system", "equations", "elimination"),
    "what is integrated": ("formulations",),
    "by whom": ("solvers", "taylor_kernel"),
    "the run": ("preparation", "modes", "integration", "diagnostics"),
    "its result": ("trajectory", "verification", "analysis", "drawing"),
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

WIDTH, HEIGHT, GAP = 1.75, 0.62, 0.22
COLOURS = ("#eceff4", "#dbe9f6", "#c6dbef", "#b3d3e8", "#b3d3e8", "#fde0c5", "#d5ecd4", "#e6e0f0")


def rooms_in_layers() -> list[str]:
    """Return the rooms of `pyproject.toml`, the lowest layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return list(reversed(contract["layers"]))


def draw(axes: Axes) -> None:
    """Draw a row for each station, and an arrow to the next."""
    for row, (station, rooms) in enumerate(STATIONS.items()):
        y = -row * (HEIGHT + GAP)
        axes.text(
            -0.15, y + HEIGHT / 2, station, ha="right", va="center", fontsize=9, style="italic"
        )
        colour = COLOURS[min(row, len(COLOURS) - 1)]
        for column, room in enumerate(rooms):
            x = column * (WIDTH + 0.12)
            box = FancyBboxPatch(
                (x, y),
                WIDTH,
                HEIGHT,
                boxstyle="round,pad=0,rounding_size=0.08",
                fc=colour,
                ec="#4c566a",
            )
            axes.add_patch(box)
            axes.text(x + WIDTH / 2, y + HEIGHT / 2, room, ha="center", va="center", fontsize=9)
        if row + 1 < len(STATIONS):
            arrow = FancyArrowPatch(
                (0.3, y), (0.3, y - GAP), arrowstyle="-|>", mutation_scale=9, color="#4c566a"
            )
            axes.add_patch(arrow)


def main() -> None:
    """Draw the picture."""
    placed = [room for rooms in STATIONS.values() for room in rooms]
    missing = set(rooms_in_layers()) ^ set(placed)
    if missing:
        raise SystemExit(
            f"these rooms have no place in the picture, or are none: {sorted(missing)}"
        )
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rooms"}):
        figure, axes = plt.subplots(figsize=(11.0, 6.2))
        draw(axes)
        axes.set_xlim(-2.3, max(map(len, STATIONS.values())) * (WIDTH + 0.12))
        axes.set_ylim(-(len(STATIONS) - 1) * (HEIGHT + GAP) - 0.1, HEIGHT + 0.1)
        axes.axis("off")
        figure.tight_layout(pad=0.3)
        figure.savefig(WANTED, metadata={"Date": None})


if __name__ == "__main__":
    main()
