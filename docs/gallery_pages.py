"""Writes the gallery pages during the build of the documentation: one for each problem.

A page is rewritten only after changes to the sources of the library or of its problem. If the page
of a problem cannot be written, the build fails.
"""

import hashlib
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from re import MULTILINE, search

from sphinx.application import Sphinx

import daesolve as ds
from daesolve.plugins.registry import problems
from daesolve.reporting.gallery import write_page

GALLERY = Path(__file__).parent / "gallery"
LIST, STAMP = "problems.inc", ".sources"
WORKERS = 2
HORIZONS = {
    "omni-rolling": 60.0,  # 1618 events in 1000 s would crowd a figure
}
"""Horizons that replace those of the cases, s."""
LIVE = {
    "rolling-wheel": {"hoop": {"until": 60.0}, "pendulum": {"until": 60.0}},
    "omni-rolling": {"twist": {"until": 60.0}},
    "rattleback": {"reversal": {}},
    "n-trailer": {"slalom": {"inputs": {"steer": "swing * sin(6.283185307179586 * t / period)"}}},
    "chaplygin-sleigh": {"turn": {}},
    "rolling-disc": {None: {}},
    "spinning-top": {None: {}},
    "four-bar": {None: {}},
    "walker": {"long": {}},
}
"""The cases of problems that have live pages, and the options of their runs."""
BRIEF = 0.2 if os.environ.get("DAESOLVE_GALLERY") == "brief" else 1.0
"""The part of each horizon that is shown: checks of the site need no whole runs."""
GROUPS = {
    "Rolling and sliding": [
        "rolling-wheel",
        "rolling-ball",
        "rolling-disc",
        "rolling-coin",
        "rattleback",
        "chaplygin-sleigh",
        "knife-edge",
    ],
    "Vehicles": [
        "unicycle",
        "cart",
        "n-trailer",
        "caster",
        "roller-racer",
        "bottema-car",
        "bogies",
        "bicycle",
        "omni-rolling",
        "omni-friction",
        "omni-inertialess",
        "omni-laws",
        "omni-wheel",
        "omni-lifting",
        "wheelset",
        "wheelset-bogie",
        "wheelset-flanges",
    ],
    "Mechanisms": [
        "four-bar",
        "five-bar",
        "robot-arm",
        "clutches",
        "bricard",
        "andrews",
        "slider-crank",
        "slider-crank-flexible",
        "flyball-governor",
        "pendulum-chain",
    ],
    "Dry friction in guides": ["prism", "three-supports", "cam-follower", "drawer"],
    "Contacts and impacts": [
        "block",
        "rocking-block",
        "block-on-belt",
        "thrown-rod",
        "woodpecker",
        "newtons-cradle",
        "slider-crank-clearance",
        "painleve-rod",
        "bouncing-ball-3d",
        "tripod",
        "free-roller",
        "quadruped",
        "biped",
        "gripper",
        "humanoid",
    ],
    "Periodic motions": [
        "bouncing-ball",
        "rimless-wheel",
        "walker",
        "belt-oscillator",
        "forced-pendulum",
        "impact-oscillator",
    ],
    "Points, tops and axes": [
        "pendulum",
        "particle-on-circle",
        "spinning-top",
        "gyroscope",
        "car-axis",
    ],
}
IN_DEPTH = {
    "contact-problems": [
        "block",
        "rocking-block",
        "block-on-belt",
        "thrown-rod",
        "woodpecker",
        "newtons-cradle",
        "slider-crank-clearance",
    ],
    "bogies": ["bogies"],
    "gyroscope": ["gyroscope"],
    "mechanism-problems": [
        "bricard",
        "five-bar",
        "robot-arm",
        "clutches",
        "flyball-governor",
        "rolling-coin",
        "spinning-top",
        "pendulum-chain",
    ],
    "robot-problems": ["quadruped", "biped", "gripper", "humanoid"],
    "omni-friction": ["omni-friction", "omni-inertialess"],
    "omni-rolling": ["omni-rolling"],
    "omni-laws": ["omni-laws"],
    "omni-lifting": ["omni-lifting"],
    "omni-wheel": ["omni-wheel", "free-roller"],
    "periodic-problems": [
        "bouncing-ball",
        "rimless-wheel",
        "walker",
        "belt-oscillator",
        "forced-pendulum",
        "impact-oscillator",
    ],
    "guided-problems": ["cam-follower", "drawer"],
    "prism": ["prism"],
    "rolling-wheel": ["rolling-wheel", "rolling-ball"],
    "three-supports": ["three-supports"],
    "wheeled-vehicles": ["unicycle", "cart"],
    "trailers-casters": ["n-trailer", "caster", "roller-racer", "bottema-car"],
    "wheelset": ["wheelset", "wheelset-bogie", "wheelset-flanges"],
    "classics": [
        "pendulum",
        "four-bar",
        "slider-crank",
        "slider-crank-flexible",
        "andrews",
        "car-axis",
        "particle-on-circle",
        "chaplygin-sleigh",
        "knife-edge",
        "rolling-disc",
        "bicycle",
        "rattleback",
    ],
}
"""The pages of `docs/problems`, and the problems that each covers."""
PAPERS = {
    "gerasimov-rolling": ["omni-rolling", "omni-laws"],
    "gerasimov-sliding": [
        "omni-friction",
        "omni-inertialess",
        "omni-laws",
        "omni-wheel",
        "free-roller",
        "omni-lifting",
    ],
    "morozov-matrosov-pesterev": ["rolling-wheel"],
    "borisov-kilin-mamaev": ["unicycle", "cart", "bogies"],
    "vlakhova": ["gyroscope", "wheelset", "wheelset-bogie"],
    "nikolskii-smirnov": ["prism", "three-supports"],
}
"""The pages of `docs/papers`, and the problems that come from each paper."""
AFTER = "[how to repeat it](#repeat-it).\n"
"""The line near the top of a page after which the links to these pages are inserted."""


def write_pages(app: Sphinx) -> None:
    """Write the page of every installed problem, and the list of problems."""
    app.connect("build-finished", copy_animations)
    found, broken = problems()
    if broken:
        raise RuntimeError("; ".join(plugin.reason for plugin in broken))
    titles = {problem.name: problem.title for problem in found}
    stamp = _stamp()
    stale = [name for name in titles if not _is_written(name, stamp)]
    if stale:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), context) as pool:
            for name, _ in zip(stale, pool.map(_write, stale), strict=True):
                (GALLERY / name / STAMP).write_text(stamp)
                print(f"gallery: {name}")
    (GALLERY / LIST).write_text(_list(titles), encoding="utf-8")
    for page, names in IN_DEPTH.items():
        cards = [_card(name, titles[name], "../gallery/") for name in names if name in titles]
        lines = [":::{container} pictures", *cards, ":::", ""]
        (GALLERY / f"{page}.inc").write_text("\n".join(lines), encoding="utf-8")


def _card(name: str, title: str, folder: str = "") -> str:
    """Return a problem's entry in a list of pictures: its picture and title, with links."""
    page = f"{folder}{name}.md"
    return f"- [{_picture(name, folder)}]({page})\n\n  [{title}]({page})<br>`{name}`"


def _is_written(name: str, stamp: str) -> bool:
    """Return whether a page exists and was made from these sources."""
    mark = GALLERY / name / STAMP
    return (GALLERY / f"{name}.md").is_file() and mark.is_file() and mark.read_text() == stamp


def copy_animations(app: Sphinx, error: Exception | None) -> None:
    """Copy the animations next to the pages that show them."""
    if error is not None or app.builder.format != "html":
        return
    for file in (*GALLERY.glob("*/animation.html"), *GALLERY.glob("*/live-*.html")):
        target = Path(app.outdir) / "gallery" / file.parent.name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / file.name)


def _write(name: str) -> None:
    """Write one page, with links to the pages that cover its problem and its paper in depth."""
    problem = ds.problem(name)
    case = problem.case().case
    horizon = HORIZONS.get(name, case.until)
    until = case.start_time + BRIEF * (horizon - case.start_time)
    page = write_page(problem, GALLERY, until=until)
    lines = [*_live(name)]
    lines += [
        f"{label}: {', '.join(links)}."
        for label, links in (
            ("More about this problem", _links("problems", IN_DEPTH, name)),
            ("The paper", _links("papers", PAPERS, name)),
        )
        if links
    ]
    if lines:
        before, after, rest = page.read_text(encoding="utf-8").partition(AFTER)
        if not after:
            raise RuntimeError(f"the page of {name} has no place for links")
        page.write_text("\n".join([before + after, *lines, rest]), encoding="utf-8")


def _live(name: str) -> list[str]:
    """Write the live pages of a problem; return lines that show the first and link all of them."""
    frames, links = list[str](), list[str]()
    for case, options in LIVE.get(name, {}).items():
        bound = ds.problem(name).case(case)
        page = bound.solve(**options).live()
        title = f"{name}, {bound.case.name}"
        file = page.save(GALLERY / name / f"live-{bound.case.name}.html")
        links.append(f'<a href="{name}/{file.name}">{title}</a>')
        frames.append(
            f'<iframe src="{name}/{file.name}" title="{title}, live" width="100%" height="760" '
            'style="border: 0" loading="lazy"></iframe>'
        )
    if not frames:
        return []
    words = "Move the sliders: this page computes the motion anew, in your browser"
    return [frames[0], "", f"{words}. On a page of its own: {', '.join(links)}.", ""]


def _links(folder: str, pages: dict[str, list[str]], name: str) -> list[str]:
    """Return links to the pages of a folder that cover a problem."""
    treating = [page for page, treated in pages.items() if name in treated]
    return [f"[{_title(folder, page)}](../{folder}/{page}.md)" for page in treating]


def _title(folder: str, page: str) -> str:
    text = (GALLERY.parent / folder / f"{page}.md").read_text(encoding="utf-8")
    found = search(r"^# (.+)$", text, MULTILINE)
    if found is None:
        raise RuntimeError(f"{folder}/{page}.md has no title")
    return found[1]


def _list(titles: dict[str, str]) -> str:
    """Return the problems in groups, each with its scene or its first figure, and the toctree."""
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "Others": [name for name in titles if name not in grouped]}
    parts, order = list[str](), list[str]()
    for title, names in groups.items():
        here = [name for name in names if name in titles]
        if here:
            cards = [_card(name, titles[name]) for name in here]
            parts.append("\n".join([f"## {title}", "", ":::{container} pictures", *cards, ":::"]))
            order += here
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *order, "```"]))
    return "\n\n".join(parts) + "\n"


def _picture(name: str, folder: str) -> str:
    """Return a problem's picture: that for a card, or else a special figure, or its motion."""
    files = sorted(file.name for file in (GALLERY / name).glob("*.svg"))
    usual = ("residuals.svg", "energy.svg")
    own = [file for file in files if file not in usual and not file.startswith("positions")]
    motion = [file for file in files if file.startswith("positions")]
    chosen = "card.svg" if "card.svg" in files else [*own, *motion, *files][0]
    return f"![{name}]({folder}{name}/{chosen})"


def _stamp() -> str:
    """Return a digest of every source that a page depends on."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in ("daesolve", "daesolve_problems"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        root = Path(spec.origin).parent
        for file in sorted([*root.rglob("*.py"), *root.rglob("*.jinja")]):
            digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()
